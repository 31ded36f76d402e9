// tw_check names each invariant that is broken. The tests break them by hand, one at
// a time, in a wheel whose other parts are all in use.
#include <cstring>

#include "checked_wheel.hpp"

namespace {

using namespace tickwheel::core;
using shape = library_shape;

constexpr std::uint64_t top_slot = shape::span(shape::top);

tw_node near, twin, middle, far, later, farther, due;  // named for where they stand

unsigned slot_of(unsigned level, std::uint64_t t) { return shape::slot(level, shape::low(t)); }

void put(tw_node &node, unsigned slot) {
    unlink(node.link);
    inside().slots().put(node, slot);
}

int fresh(void **) {
    tw_init(&storage, 1, TW_UNLOCKED);
    pend(near, 5);
    pend(twin, 5);
    pend(middle, 2 * shape::span(1) + 3);
    pend(far, 3 * top_slot + 3);
    pend(later, top_slot + 3 + shape::round);
    pend(due, 1);
    return tw_check(&storage, nullptr, nullptr);
}

FIXTURE(fresh, nullptr);

TEST(check_finds_nothing_in_a_whole_wheel) { assert_int_equal(tw_check(&storage, collect, nullptr), 0); }

TEST(check_finds_a_wheel_whose_own_state_is_wrong) {
    assert_names_each(fresh, {
        {"count is the number of pending nodes", [] { ++inside().count(); }},
            {"count is the number of pending nodes", [] { --inside().count(); }},
            {"the origin is not after the cursor", [] { inside().at().origin = 2; }},
            {"the cursor is not ahead of now", [] { inside().at().cursor = inside().at().origin = 2; }},
            {"now is a tick", [] { inside().at().now = never; }},
            {"a slot's bit says whether it holds timers", [] { inside().slots().busy.clear(slot_of(0, 5)); }},
            {"a slot's bit says whether it holds timers", [] { inside().slots().busy.set(slot_of(0, 77)); }},
            {"origin is cursor unless a slot is open", [] { inside().at().origin = 0; }},
            {"a quiet wheel has caught up",
             [] {
                 inside().at().now = 2;
                 inside().quiet_until() = 4;
             }},
            {"a quiet wheel has caught up",
             [] {
                 inside().open_level() = 1;
                 inside().quiet_until() = inside().at().now + 1;
             }},
            {"no slot opens while the wheel is quiet", [] { inside().quiet_until() = 6; }},
#if TW_RUNTIME
            {"places is the number of places of walks", [] { ++inside().at().places; }},
#endif
    });
}

TEST(check_finds_nodes_that_stand_where_they_should_not) {
    assert_names_each(
        fresh,
        {
            {"timers stand in the running or the next block",
             [] { put(middle, slot_of(1, inside().at().cursor)); }},
            {"timers stand in the running or the next block",
             [] { put(middle, slot_of(0, inside().at().cursor + shape::width(0) - 1)); }},
            {"no slot opens after a node in it is due", [] { middle.expiry -= shape::span(1); }, &middle},
            {"no slot opens after a node in it is due", [] { near.expiry -= 1; }, &near},
            {"no slot opens after a node in it is due", [] { far.expiry -= top_slot; }, &far},
            {"no slot opens after a node in it is due", [] { later.expiry -= shape::round; }, &later},
            {"no slot opens after a node in it is due",
             [] {
                 pend(farther, 5 * shape::round);
                 while (inside().open_level() != shape::far)
                     assert_int_equal(tw_advance(&storage, shape::round, 1), 1);
                 farther.expiry -= 3 * shape::round;
             },
             &farther},
        });
}

TEST(check_finds_links_that_are_wrong) {
    assert_names_each(
        fresh,
        {
            {"the links of a ring agree", [] { twin.link.prev = &twin.link; }, &twin},
            {"the links of a ring agree", [] { std::memset(static_cast<void *>(&twin), 0xCC, sizeof twin); },
             &twin},
            {"the links of a ring agree", [] { near.link.prev->prev = &near.link; }, &twin},
            {"the links of a ring agree", [] { near.link.next = nullptr; }, &near},
            {"the links of a ring agree", [] { inside().slots().rings[slot_of(0, 5)].next = nullptr; }},
        });
}

TEST(check_comes_back_from_a_ring_that_does_not_lead_to_its_head) {
    twin.link.next = &near.link;
    near.link.prev = &twin.link;
    assert_true(tw_check(&storage, nullptr, nullptr) > 0);
}

TEST(check_finds_nodes_that_do_not_look_pending) {
    assert_names_each(fresh, {
                                 {"a node in a ring is pending", [] { near.state = TW_IDLE; }, &near},
                                 {"a node in a ring is pending", [] { middle.state = TW_IDLE; }, &middle},
                                 {"a node in a ring is pending", [] { far.state = TW_IDLE; }, &far},
                                 {"a node in a ring is pending", [] { due.state = TW_IDLE; }, &due},
                                 {"a pending node names its wheel", [] { far.wheel ^= 8; }, &far},
                                 {"a pending node has a callback", [] { due.fn = nullptr; }, &due},
                                 {"a pending node has a tick", [] { far.expiry = never; }, &far},
                             });
}

TEST(check_allows_postponed_nodes_where_they_are) {
    for (tw_node *node : {&near, &twin, &middle, &far, &later, &due})
        assert_int_equal(tw_postpone(&storage, node, node->expiry + 3 * top_slot + 1), 0);
    assert_int_equal(tw_check(&storage, nullptr, nullptr), 0);
}

TEST(check_finds_no_fault_in_far_nodes_that_look_ahead_has_sorted) {
    assert_int_equal(tw_idle(&storage, TW_UNBOUNDED), 0);
    assert_int_equal(tw_check(&storage, collect, nullptr), 0);
}

}  // namespace

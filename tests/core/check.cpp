// tw_check names each invariant that is broken. The tests break them by hand, one at
// a time, in a wheel that is otherwise as busy as one gets.
#include <cstring>

#include "checked_wheel.hpp"

namespace {

using namespace tickwheel::core;
using shape = library_shape;

constexpr std::uint64_t top_slot = shape::span(shape::top);

tw_node near, twin, middle, far, later, due;  // by where they stand

unsigned slot_of(unsigned level, std::uint64_t t) { return shape::slot(level, shape::low(t)); }

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

TEST(check_finds_a_wrong_count) {
    ++inside().count();
    assert_names("count is the number of pending nodes");
    inside().count() -= 2;
    assert_names("count is the number of pending nodes");
}

TEST(check_finds_a_cursor_before_what_slots_are_counted_from) {
    inside().at().origin = 2;
    assert_names("no slot is counted from after the cursor");
}

TEST(check_finds_a_cursor_ahead_of_now) {
    inside().at().cursor = inside().at().origin = 2;
    assert_names("the cursor is not ahead of now");
}

TEST(check_finds_a_now_that_is_no_tick) {
    inside().at().now = never;
    assert_names("now is a tick");
}

TEST(check_finds_a_bit_that_is_missing) {
    inside().slots().busy.clear(slot_of(0, near.expiry));
    assert_names("a slot has its bit set if it holds nodes");
}

TEST(check_finds_a_bit_too_many) {
    inside().slots().busy.set(slot_of(0, 77));
    assert_names("a slot has its bit set if it holds nodes");
}

TEST(check_finds_a_cursor_that_is_not_what_slots_are_counted_from) {
    inside().at().origin = 0;
    assert_names("slots are counted from the cursor");
}

TEST(check_finds_a_node_in_a_slot_that_has_opened) {
    unlink(middle.link);
    inside().slots().put(middle, slot_of(1, inside().at().cursor));
    assert_names("nodes stand in the running or the next block");
}

TEST(check_finds_a_quiet_wheel_that_has_not_caught_up) {
    inside().at().now = 2;
    inside().quiet_until() = 4;
    assert_names("a quiet wheel has caught up");
}

TEST(check_finds_a_quiet_wheel_whose_slots_are_being_emptied) {
    inside().open_level() = 1;
    inside().quiet_until() = inside().at().now + 1;
    assert_names("a quiet wheel has caught up");
}

TEST(check_finds_a_slot_that_opens_while_the_wheel_is_quiet) {
    inside().quiet_until() = 6;
    assert_names("no slot opens while the wheel is quiet");
}

TEST(check_finds_a_node_in_a_block_too_far) {
    if (!shape::ahead)
        return;  // there are no slots to be found in
    unlink(middle.link);
    inside().slots().put(middle, slot_of(0, inside().at().cursor + shape::width(0) - 1));
    assert_names("nodes stand in the running or the next block");
}

TEST(check_finds_a_link_back_that_is_wrong) {
    twin.link.prev = &twin.link;
    assert_names("the links of a ring agree", &twin);
}

TEST(check_finds_a_node_that_was_overwritten) {
    const tw_node before = twin;
    std::memset(static_cast<void *>(&twin), 0xCC, sizeof twin);
    assert_names("the links of a ring agree", &twin);
    twin = before;
}

TEST(check_finds_a_ring_whose_head_has_lost_its_last) {
    near.link.prev->prev = &near.link;
    assert_names("the links of a ring agree", &twin);
}

TEST(check_finds_a_link_that_is_null) {
    tw_link *const next = near.link.next;
    near.link.next = nullptr;
    assert_names("the links of a ring agree", &near);
    near.link.next = next;
}

TEST(check_comes_back_from_a_ring_that_does_not_lead_to_its_head) {
    twin.link.next = &near.link;
    near.link.prev = &twin.link;
    assert_true(tw_check(&storage, nullptr, nullptr) > 0);
}

TEST(check_finds_a_node_in_a_ring_that_is_not_pending) {
    for (tw_node *node : {&near, &middle, &far, &due}) {
        node->state = TW_IDLE;
        assert_names("a node in a ring is pending", node);
        node->state = TW_PENDING;
    }
}

TEST(check_finds_a_node_that_names_another_wheel) {
    static tw other;
    far.wheel = &other;
    assert_names("a pending node names its wheel", &far);
}

TEST(check_finds_a_node_without_a_callback) {
    due.fn = nullptr;
    assert_names("a pending node has a callback", &due);
}

TEST(check_finds_a_node_that_is_due_never) {
    far.expiry = never;
    assert_names("a pending node has a tick", &far);
}

TEST(check_finds_nodes_whose_slot_opens_too_late) {
    middle.expiry -= shape::span(1);
    assert_names("no slot opens after a node in it is due", &middle);
    middle.expiry += shape::span(1);
    near.expiry -= 1;
    assert_names("no slot opens after a node in it is due", &near);
    near.expiry += 1;
    far.expiry -= top_slot;
    assert_names("no slot opens after a node in it is due", &far);
}

TEST(check_allows_postponed_nodes_where_they_are) {
    for (tw_node *node : {&near, &twin, &middle, &far, &later, &due})
        assert_int_equal(tw_postpone(&storage, node, node->expiry + 3 * top_slot + 1), 0);
    assert_int_equal(tw_check(&storage, nullptr, nullptr), 0);
}

TEST(check_finds_a_far_node_whose_slot_opens_too_late) {
    later.expiry -= shape::round;
    assert_names("no slot opens after a node in it is due", &later);
}

TEST(check_finds_no_fault_in_far_nodes_that_look_ahead_has_sorted) {
    assert_int_equal(tw_idle(&storage, TW_UNBOUNDED), 0);
    assert_int_equal(tw_check(&storage, collect, nullptr), 0);
}

}  // namespace

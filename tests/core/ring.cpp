// src/core/ring.hpp: rings of links keep their order and lose no link.
#include "core/ring.hpp"

#include <csetjmp>

#include "core/engine.hpp"

#include "support/test.h"

namespace {

using namespace tickwheel::core;

std::jmp_buf stopped;
const void *named;

}  // namespace

void tw_port_tell(const char *, const void *node, unsigned) {
    named = node;
    std::longjmp(stopped, 1);
}

namespace {

// Asserts that these statements stop the program with a message that names the node.
#define assert_stops_for(node, ...) \
    do { \
        if (setjmp(stopped) == 0) { \
            __VA_ARGS__; \
            fail_msg("not stopped: %s", #__VA_ARGS__); \
        } \
        assert_ptr_equal(named, &(node)); \
    } while (0)

struct fixture {
    tw_link a, b;  // two rings
    tw_node n[6];

    fixture() : a(), b(), n() {
        make_empty(a);
        make_empty(b);
    }
};

// Asserts that a ring holds exactly these, from the front and from the back.
template <class... Nodes> void assert_holds(const tw_link &ring, Nodes &...nodes) {
    const tw_link *const expected[] = {&nodes.link..., &ring};
    const tw_link *forth = ring.next;
    for (const tw_link *link : expected) {
        assert_ptr_equal(forth, link);
        assert_ptr_equal(link->next->prev, link);
        assert_ptr_equal(link->prev->next, link);
        forth = forth->next;
    }
}

TEST(ring_keeps_the_order_of_its_links) {
    fixture f;
    assert_true(is_empty(f.a));
    for (tw_node &node : f.n)
        append(f.a, node.link);
    assert_false(is_empty(f.a));
    assert_holds(f.a, f.n[0], f.n[1], f.n[2], f.n[3], f.n[4], f.n[5]);
    unlink(f.n[0].link);
    unlink(f.n[3].link);
    unlink(f.n[5].link);
    assert_holds(f.a, f.n[1], f.n[2], f.n[4]);
    insert_after(f.n[2].link, f.n[0].link);
    insert_after(f.a, f.n[3].link);
    assert_holds(f.a, f.n[3], f.n[1], f.n[2], f.n[0], f.n[4]);
}

TEST(ring_append_all_moves_everything_behind_what_is_there) {
    fixture f;
    append_all(f.a, f.b);
    append(f.b, f.n[0].link);
    append_all(f.a, f.b);
    assert_holds(f.a, f.n[0]);
    append(f.b, f.n[1].link);
    append(f.b, f.n[2].link);
    append_all(f.a, f.b);
    assert_holds(f.a, f.n[0], f.n[1], f.n[2]);
    assert_holds(f.b);
}

TEST(ring_names_a_node_that_its_neighbours_contradict) {
    fixture f;
    for (tw_node &node : f.n)
        append(f.a, node.link);
    f.n[1].link = {};
    assert_stops_for(f.n[1], unlink(f.n[0].link));
    assert_stops_for(f.n[1], unlink(f.n[2].link));
    assert_stops_for(f.n[1], behind(f.n[0].link));
    assert_stops_for(f.n[1], preceding(f.n[2].link));
    tw_node copy = f.n[4];
    assert_stops_for(copy, unlink(copy.link));
}

TEST(ring_names_a_node_that_is_not_pending) {
    fixture f;
    f.n[0].state = TW_PENDING;
    stop_if_not_pending(f.n[0]);
    f.n[0].state = TW_IDLE;
    assert_stops_for(f.n[0], stop_if_not_pending(f.n[0]));
}

TEST(ring_names_a_broken_node_at_its_end) {
    fixture f;
    append(f.a, f.n[3].link);
    append(f.a, f.n[0].link);
    append(f.b, f.n[1].link);
    f.n[0].link = {};
    assert_stops_for(f.n[0], append(f.a, f.n[2].link));
    assert_stops_for(f.n[0], append_all(f.a, f.b));
    assert_stops_for(f.n[0], append_all(f.b, f.a));
}

// Takes members off the front of a ring during a walk, and leaves in each a link that would crash the
// walk if it stood there.
void empty_behind_a_walk(unsigned members) {
    fixture f;
    for (unsigned i = 0; i < members; ++i)
        append(f.a, f.n[i].link);
    back_walk walk(f.a);
    for (unsigned i = 0; i < members; ++i) {
        walk.touch_next(f.n[i].link);
        unlink(f.n[i].link);
        f.n[i].link = {};
    }
    assert_holds(f.a);
}

// The node's links may be sound, if both its neighbours have left since.
TEST(wheel_stops_for_a_node_that_is_due_and_does_not_name_the_wheel) {
    library_wheel wheel = {};  // init() expects memory that is all zero
    wheel.init();
    tw_node node = {};
    wheel.arm_once(node, 1);
    wheel.begin_advance(1);
    while (wheel.look() == next_step::move)
        wheel.move_some(1);
    assert_stops_for(node, wheel.take_due());
}

TEST(ring_back_walk_never_touches_what_has_left) {
    for (unsigned members = 1; members <= 6; ++members)
        empty_behind_a_walk(members);
}

TEST(ring_back_walk_names_a_broken_node_before_its_turn) {
    if (!has_room)
        skip();  // in such a build the walk does nothing
    fixture f;
    for (tw_node &node : f.n)
        append(f.a, node.link);
    f.n[4].link = {};
    back_walk walk(f.a);
    walk.touch_next(f.n[0].link);
    assert_stops_for(f.n[4], walk.touch_next(f.n[1].link));
}

}  // namespace

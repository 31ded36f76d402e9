// tw_check names each invariant of the tree that is broken. The tests break them by hand, one at a time.
#include "checked_wheel.hpp"

namespace {

using namespace tickwheel::core;

// Two nodes due at 3, in one ring; below them, the nodes stand where the bits of their ticks lead:
//
//                  3
//           6             5
//        8                   7
tw_node top, twin, left, right, left_left, right_right;

int fresh(void **) {
    tw_init(&storage, 1, 0);
    pend(top, 3);
    pend(twin, 3);
    pend(left, 6);
    pend(right, 5);
    pend(left_left, 8);
    pend(right_right, 7);
    assert_ptr_equal(inside().top(), &top);
    assert_ptr_equal(left.child[0], &left_left);
    assert_ptr_equal(right.child[1], &right_right);
    return tw_check(&storage, nullptr, nullptr);
}

FIXTURE(fresh, nullptr);

TEST(check_finds_nothing_in_a_whole_tree) { assert_int_equal(tw_check(&storage, collect, nullptr), 0); }

TEST(check_finds_nothing_in_an_empty_tree) {
    tw_init(&storage, 1, 0);
    assert_int_equal(tw_check(&storage, collect, nullptr), 0);
}

// Each tick differs from the one before it in the highest bit alone.
TEST(check_finds_nothing_in_as_deep_a_tree_as_can_be_armed) {
    constexpr unsigned levels = 8 * sizeof(tick);
    static tw_node nodes[levels];
    tw_init(&storage, 0, 0);
    for (unsigned i = 0; i < levels; ++i)
        pend(nodes[i], (tick{1} << i) - 1);
    for (unsigned i = 1; i < levels; ++i)
        assert_ptr_equal(nodes[i - 1].child[1], &nodes[i]);
    assert_int_equal(tw_check(&storage, collect, nullptr), 0);
}

TEST(check_finds_a_tree_whose_own_state_is_wrong) {
    assert_names_each(
        fresh, {
                   {"count is the number of pending nodes", [] { ++inside().count(); }},
                   {"count is the number of pending nodes", [] { --inside().count(); }},
                   {"the cursor is not ahead of now", [] { inside().cursor() = 2; }},
                   {"no key is before the cursor", [] { inside().now() = inside().cursor() = 4; }, &top},
               });
}

TEST(check_finds_a_node_that_stands_where_it_should_not) {
    const char *const bits = "a node stands where the bits of its key lead";
    const char *const later = "a node is later than the one above it";
    assert_names_each(fresh, {
                                 {bits, [] { std::swap(top.child[0], top.child[1]); }, &left},
                                 {bits, [] { std::swap(top.child[0], top.child[1]); }, &right},
                                 {bits, [] { std::swap(right.child[0], right.child[1]); }, &right_right},
                                 {later, [] { left_left.key = left_left.expiry = 4; }, &left_left},
                                 {later, [] { left_left.key = left_left.expiry = 6; }, &left_left},
                                 {"the tree has an end", [] { left.child[0] = &top; }},
                                 {"the tree has an end",
                                  [] { left_left.child[0] = left_left.child[1] = &left_left; }, &left_left},
                             });
}

// The count promises more nodes than any path can have, so only its bound ends the search.
TEST(check_comes_back_from_a_tree_without_end) {
    inside().count() = 10000000;
    left_left.child[1] = &left_left;
    assert_names("the tree has an end", &left_left);
}

TEST(check_comes_back_from_a_ring_that_is_longer_than_there_are_nodes) {
    static tw_node third;
    pend(third, 3);
    inside().count() = 1;
    assert_names("count is the number of pending nodes");
}

TEST(check_finds_rings_that_are_wrong) {
    assert_names_each(
        fresh, {
                   {"the links of a ring agree", [] { twin.link.prev = &twin.link; }, &twin},
                   {"the links of a ring agree", [] { top.link.prev = &top.link; }, &top},
                   {"the links of a ring agree", [] { top.link.next = nullptr; }, &top},
                   {"the head of a ring alone stands in the tree", [] { twin.child[0] = nullptr; }, &twin},
                   {"the nodes of a ring have one key", [] { twin.key = 4; }, &twin},
               });
}

TEST(check_finds_nodes_that_do_not_look_pending) {
    assert_names_each(fresh,
                      {
                          {"a node in a ring is pending", [] { top.state = TW_IDLE; }, &top},
                          {"a node in a ring is pending", [] { twin.state = TW_IDLE; }, &twin},
                          {"a node in a ring is pending", [] { right.state = TW_IDLE; }, &right},
                          {"a node in a ring is pending", [] { left_left.state = TW_IDLE; }, &left_left},
                          {"a pending node has a callback", [] { right.fn = nullptr; }, &right},
                      });
}

#if TW_TICK_BITS != 32  // every value is a tick, and nodes do not name their wheel
TEST(check_finds_what_is_no_tick_and_a_node_that_names_another_wheel) {
    const char *const key = "a key is a tick, that of the node or a later one";
    assert_names_each(fresh, {
                                 {"now is a tick", [] { inside().now() = never; }},
                                 {"a pending node names its wheel", [] { twin.wheel ^= 8; }, &twin},
                                 {"a pending node has a tick", [] { twin.expiry = never; }, &twin},
                                 {key, [] { right_right.key = never; }, &right_right},
                                 {key, [] { right_right.expiry = right_right.key + 1; }, &right_right},
                             });
}
#endif

TEST(check_allows_postponed_nodes_where_they_are) {
    for (tw_node *node : {&top, &twin, &left, &right, &left_left, &right_right})
        assert_int_equal(tw_postpone(&storage, node, node->expiry + 100), 0);
    assert_int_equal(tw_check(&storage, nullptr, nullptr), 0);
}

// The checker also looks at the nodes that a cancel_all has not handed out yet.
void find_in_cancel_all(tw_node *, void *arg) {
    if (inside().count() != 3)
        return;
    *static_cast<bool *>(arg) = true;
    assert_int_equal(tw_check(&storage, collect, nullptr), 0);
    left_left.state = TW_IDLE;
    assert_names("a node in a ring is pending", &left_left);
    left_left.state = TW_PENDING;
}

TEST(check_finds_nodes_that_a_cancel_all_still_holds) {
    bool has_looked = false;
    assert_int_equal(tw_cancel_all(&storage, find_in_cancel_all, &has_looked), 0);
    assert_true(has_looked);
}

}  // namespace

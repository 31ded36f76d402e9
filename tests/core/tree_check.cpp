// tw_check names each invariant of the tree that is broken. The tests break them by hand, one at a time.
#include "checked_wheel.hpp"

namespace {

using namespace tickwheel::core;

// Two nodes due at 3, in one ring, and below them nodes where the bits of their ticks lead:
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

TEST(check_finds_a_wrong_count) {
    ++inside().count();
    assert_names("count is the number of pending nodes");
    inside().count() -= 2;
    assert_names("count is the number of pending nodes");
}

TEST(check_finds_a_now_that_is_no_tick) {
    if (wraps)  // every value is one
        skip();
    inside().now() = never;
    assert_names("now is a tick");
}

TEST(check_finds_a_cursor_ahead_of_now) {
    inside().cursor() = 2;
    assert_names("the cursor is not ahead of now");
}

TEST(check_finds_a_key_before_the_cursor) {
    inside().now() = inside().cursor() = 4;
    assert_names("no key is before the cursor", &top);
}

TEST(check_finds_a_node_on_the_wrong_side) {
    std::swap(top.child[0], top.child[1]);
    assert_names("a node stands where the bits of its key lead", &left);
    assert_names("a node stands where the bits of its key lead", &right);
}

TEST(check_finds_a_node_that_is_lost_below_a_wrong_turn) {
    std::swap(right.child[0], right.child[1]);
    assert_names("a node stands where the bits of its key lead", &right_right);
}

TEST(check_finds_a_node_that_is_earlier_than_the_one_above_it) {
    left_left.key = left_left.expiry = 4;
    assert_names("a node is later than the one above it", &left_left);
}

TEST(check_finds_a_second_node_of_a_key) {
    left_left.key = left_left.expiry = 6;
    assert_names("a node is later than the one above it", &left_left);
}

TEST(check_comes_back_from_a_tree_that_leads_back_to_its_top) {
    left.child[0] = &top;
    assert_names("the tree has an end");
}

// More nodes are expected than a way down can have.
TEST(check_comes_back_from_a_tree_without_end) {
    inside().count() = 1000;
    left_left.child[1] = &left_left;
    assert_names("the tree has an end", &left_left);
}

TEST(check_comes_back_from_a_ring_that_is_longer_than_there_are_nodes) {
    static tw_node third;
    pend(third, 3);
    inside().count() = 1;
    assert_names("count is the number of pending nodes");
}

TEST(check_finds_a_link_back_that_is_wrong) {
    twin.link.prev = &twin.link;
    assert_names("the links of a ring agree", &twin);
}

TEST(check_finds_a_ring_whose_head_has_lost_its_last) {
    top.link.prev = &top.link;
    assert_names("the links of a ring agree", &top);
}

TEST(check_finds_a_link_that_is_null) {
    top.link.next = nullptr;
    assert_names("the links of a ring agree", &top);
}

TEST(check_finds_a_node_of_a_ring_that_stands_in_the_tree) {
    twin.child[0] = nullptr;
    assert_names("the head of a ring alone stands in the tree", &twin);
}

TEST(check_finds_a_node_in_a_ring_that_is_not_pending) {
    for (tw_node *node : {&top, &twin, &right, &left_left}) {
        node->state = TW_IDLE;
        assert_names("a node in a ring is pending", node);
        node->state = TW_PENDING;
    }
}

#if TW_TICK_BITS != 32
TEST(check_finds_a_node_that_names_another_wheel) {
    static tw other;
    twin.wheel = &other;
    assert_names("a pending node names its wheel", &twin);
}

TEST(check_finds_a_node_that_is_due_never) {
    twin.expiry = never;
    assert_names("a pending node has a tick", &twin);
}

TEST(check_finds_a_key_that_is_no_tick) {
    right_right.key = never;
    assert_names("a key is a tick, that of the node or a later one", &right_right);
}
#endif

TEST(check_finds_a_node_without_a_callback) {
    right.fn = nullptr;
    assert_names("a pending node has a callback", &right);
}

TEST(check_finds_a_ring_with_another_key) {
    twin.key = 4;
    assert_names("the nodes of a ring have one key", &twin);
}

TEST(check_allows_postponed_nodes_where_they_are) {
    for (tw_node *node : {&top, &twin, &left, &right, &left_left, &right_right})
        assert_int_equal(tw_postpone(&storage, node, node->expiry + 100), 0);
    assert_int_equal(tw_check(&storage, nullptr, nullptr), 0);
}

// What a clear has not handed out yet is checked, too.
void find_in_clear(tw_node *, void *arg) {
    if (inside().count() != 3)
        return;
    *static_cast<bool *>(arg) = true;
    assert_int_equal(tw_check(&storage, collect, nullptr), 0);
    left_left.state = TW_IDLE;
    assert_names("a node in a ring is pending", &left_left);
    left_left.state = TW_PENDING;
}

TEST(check_finds_nodes_that_a_clear_still_holds) {
    bool has_looked = false;
    assert_int_equal(tw_clear(&storage, find_in_clear, &has_looked), 0);
    assert_true(has_looked);
}

}  // namespace

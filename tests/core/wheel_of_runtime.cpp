// What only the wheel of a library with the runtime has: grids that count in parts of a tick, shifts that
// other calls interrupt, and a lock that a race detector observes.
#include <tickwheel/tw.h>

#include <vector>

#include "core/api_guard.hpp"
#include "core/engine.hpp"
#include "core/wheel_state.hpp"
#include "support/test.h"
#include "support/walk.h"

static int is_observed;
static unsigned observed_locks, observed_unlocks;
static const void *hidden;

extern "C" {
int __wrap_tw_port_is_observed(void);
void __wrap_tw_port_lock_observed(std::uint32_t *word);
void __wrap_tw_port_unlock_observed(std::uint32_t *word);
void __wrap_tw_port_hide(const void *from, std::size_t size);

int __wrap_tw_port_is_observed() { return is_observed; }
void __wrap_tw_port_lock_observed(std::uint32_t *word) {
    tw_port_lock(word);
    ++observed_locks;
}
void __wrap_tw_port_unlock_observed(std::uint32_t *word) {
    ++observed_unlocks;
    tw_port_unlock(word);
}
void __wrap_tw_port_hide(const void *from, std::size_t) { hidden = from; }
}

namespace {

using namespace tickwheel::core;

tw storage;
tw_node node, other;
std::vector<tick> fires, missed;

library_wheel &inside() { return wheel_in<library_wheel>(&storage); }

void note(tw_node *, void *) {
    fires.push_back(tw_due(&storage));
    missed.push_back(tw_overruns(&storage));
}

int fresh(void **) {
    fires.clear();
    missed.clear();
    tw_init(&storage, 0, 0);
    tw_node_init(&node, note, nullptr);
    tw_node_init(&other, note, nullptr);
    return 0;
}

int advance(tick now) { return tw_advance(&storage, now, TW_UNBOUNDED); }

void assert_fires(const std::vector<tick> &expected) {
    assert_int_equal(fires.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i)
        assert_int_equal(fires[i], expected[i]);
}

// With ten parts in a tick, the resolution is 0.1 tick.
tw_core_grid every_25_parts(tw_missed policy, std::uint32_t times) {
    return {3, 5, 10, 25, policy, times, 0};
}

void arm(const tw_core_grid &grid) { assert_int_equal(tw_core_arm_grid(&storage, &node, &grid), 0); }

FIXTURE(fresh, nullptr);

TEST(a_grid_rounds_each_deadline_up) {
    arm({3, 5, 10, 33, TW_BURST, 0, 0});
    advance(1000);
    assert_int_equal(fires.size(), 303);
    for (std::size_t i = 0; i < fires.size(); ++i) {
        assert_int_equal(fires[i], (25 + 33 * i + 9) / 10);  // 2.5, 5.8, 9.1 and so on
        assert_int_equal(missed[i], fires.size() - 1 - i);
    }
    assert_int_equal(node.fires_left, 0);
}

// The first deadline is at 2.5; periods are 2.5 and 3.1 ticks.
TEST(a_grid_that_leaves_missed_fires_out_goes_on_as_its_policy_says) {
    static const struct {
        tw_missed policy;
        tick period, now, left_out;
        std::vector<tick> fires;
    } series[] = {
        {TW_COALESCE, 25, 11, 3, {3, 13, 15, 18}},  // on the grid
        {TW_DELAY, 31, 11, 2, {3, 15, 18, 21}},     // one period after the late fire, and so on
        {TW_COALESCE, 25, 10, 3, {3, 13, 15, 18}}, {TW_COALESCE, 25, 3, 0, {3, 5, 8, 10}},
        {TW_DELAY, 31, 3, 0, {3, 6, 9, 12}},
    };
    for (const auto &one : series) {
        fresh(nullptr);
        arm({3, 5, 10, one.period, one.policy, 0, 0});
        advance(one.now);
        for (std::size_t i = 1; i < one.fires.size(); ++i)
            advance(one.fires[i]);
        assert_fires(one.fires);
        assert_int_equal(missed[0], one.left_out);
        assert_int_equal(missed[1], 0);
    }
}

TEST(a_grid_ends_with_its_last_fire_and_counts_no_overruns_beyond_it) {
    for (const tw_missed policy : {TW_BURST, TW_COALESCE, TW_DELAY}) {
        fresh(nullptr);
        arm(every_25_parts(policy, 2));
        advance(100);
        advance(200);
        assert_int_equal(fires.size(), 2);
        assert_int_equal(missed[0], policy == TW_BURST ? 1 : 39);
        assert_int_equal(tw_pending(&storage, &node), 0);
    }
}

TEST(a_limited_grid_counts_the_fires_that_are_left) {
    arm(every_25_parts(TW_BURST, 10));
    advance(8);
    assert_fires({3, 5, 8});
    assert_true(missed == std::vector<tick>({2, 1, 0}));
    fresh(nullptr);
    arm(every_25_parts(TW_BURST, 2));
    advance(8);
    assert_true(missed == std::vector<tick>({1, 0}));
}

TEST(a_grid_that_is_moved_or_postponed_begins_again_at_a_whole_tick) {  // 4, 7.1, 10.2
    for (int (*const change)(tw *, tw_node *, tw_tick) : {tw_move, tw_postpone}) {
        fresh(nullptr);
        arm({3, 5, 10, 31, TW_BURST, 0, 0});
        assert_int_equal(change(&storage, &node, 4), 0);
        advance(12);
        assert_fires({4, 8, 11});
    }
}

TEST(p5_a_grid_that_is_postponed_to_its_own_tick_goes_on) {  // 2.5, 5.6, 8.7, 11.8
    arm({3, 5, 10, 31, TW_BURST, 0, 0});
    assert_int_equal(tw_postpone(&storage, &node, 3), 0);
    advance(12);
    assert_fires({3, 6, 9, 12});
}

TEST(a_grid_ends_where_time_does) {
    for (const tw_missed policy : {TW_BURST, TW_COALESCE, TW_DELAY}) {
        fresh(nullptr);
        arm({last_tick - 3, 0, 10, 25, policy, 0, 0});
        advance(last_tick - 3);
        advance(last_tick);
        assert_fires({last_tick - 3, last_tick});
        assert_int_equal(tw_pending(&storage, &node), 0);
    }
}

TEST(overruns_of_a_grid_are_counted_as_far_as_numbers_go) {
    arm(every_25_parts(TW_COALESCE, 0));
    advance(last_tick - 100);
    assert_fires({3});
    assert_int_equal(missed[0], never / 25);
}

TEST(periods_in_ticks_stay_what_they_are_beside_grids) {
    const tw_core_grid grid = every_25_parts(TW_BURST, 0);
    assert_int_equal(tw_core_arm_grid(&storage, &other, &grid), 0);
    arm(every_25_parts(TW_BURST, 2));
    assert_int_equal(tw_arm_every(&storage, &other, 2, 3, TW_BURST, 0), 0);
    assert_int_equal(tw_move(&storage, &other, 4), 0);
    advance(10);
    assert_fires({3, 4, 5, 7, 10});
}

// Here and below: the state in which another thread finds the wheel while tw_core_shift has released the
// lock.
void note_expiry(const tw_node *visited, const tw_node *was, void *) {
    assert_true(visited == &node || visited == &other);
    fires.push_back(was->expiry);
}

TEST(a_shift_is_finished_by_the_calls_that_concern_all_nodes) {
    static int (*const calls[])() = {
        [] { return tw_core_shift(&storage, 0), 0; },
        [] { return static_cast<int>(walk_through(&storage, note_expiry, nullptr)) - 2; },
        [] { return tw_cancel_all(&storage, note, nullptr); },
        [] { return advance(2); },  // though nothing is due
    };
    for (const auto call : calls) {
        fresh(nullptr);
        tw_arm_at(&storage, &node, 10);
        tw_arm_at(&storage, &other, 10);
        advance(1);
        inside().begin_shift(7);
        assert_int_equal(call(), 0);
        assert_false(tw_pending(&storage, &node) && tw_expiry(&storage, &node) != 17);
        assert_false(tw_pending(&storage, &other) && tw_expiry(&storage, &other) != 17);
        assert_true(fires.size() == 2 || tw_count(&storage) == 2);
        assert_int_equal(tw_check(&storage, nullptr, nullptr), 0);
    }
}

TEST(a_shift_is_finished_by_the_first_advance) {
    tw_arm_at(&storage, &node, 10);
    tw_arm_at(&storage, &other, 10);
    advance(1);
    inside().begin_shift(7);
    assert_int_equal(tw_next(&storage), 1);
    assert_null(tw_first(&storage, TW_UNBOUNDED));
    assert_int_equal(tw_check(&storage, nullptr, nullptr), 0);
    assert_int_equal(tw_advance(&storage, 16, 1), 1);
    assert_int_equal(advance(16), 0);
    assert_fires({});
    assert_int_equal(tw_next(&storage), 17);
    advance(17);
    assert_fires({17, 17});
}

TEST(no_shift_goes_beyond_the_last_tick) {
    tw_arm_at(&storage, &node, last_tick - 2);
    inside().begin_shift(7);
    advance(1);
    assert_int_equal(tw_expiry(&storage, &node), last_tick);
}

TEST(a_wheel_that_is_observed_works_as_others_do) {
    is_observed = 1;
    assert_int_equal(tw_init(&storage, 0, 0), 0);
    assert_true(inside().how == locking::observed);
    assert_ptr_equal(hidden, static_cast<wheel_sharing *>(&inside()));
    tw_arm_at(&storage, &node, 3);
    assert_int_equal(observed_locks, 1);
    assert_int_equal(observed_unlocks, 1);
    assert_int_equal(advance(3), 0);
    assert_fires({3});
    assert_int_equal(observed_locks, observed_unlocks);
    hidden = nullptr;
    assert_int_equal(tw_init(&storage, 0, TW_UNLOCKED), 0);
    assert_true(inside().how == locking::unlocked);
    is_observed = 0;
    assert_int_equal(tw_init(&storage, 0, 0), 0);
    assert_true(inside().how == locking::locked);
    assert_null(hidden);
    observed_locks = observed_unlocks = 0;
    tw_arm_at(&storage, &node, 3);
    assert_int_equal(observed_locks + observed_unlocks, 0);
}

TEST(a_cancel_all_that_is_over_is_forgotten) {
    assert_int_equal(tw_cancel_all(&storage, nullptr, nullptr), 0);
    assert_null(inside().first_cancel_all());
}

}  // namespace

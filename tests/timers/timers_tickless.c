/* P9 for timers that the library keeps: timers that were cancelled or moved to a later deadline cost no
 * wake-up. The wheel passes over the entries that they leave behind, as long as these are few. */
#include "timers_test.h"

#include <tickwheel/observe.h>

enum { GONE = 20 };

/* The last timer fires at `until`. The others would fire from `first` on, but the test cancels them or moves
 * them to a later deadline. */
static const int64_t until = 300 * MS;
static const int64_t first = 150 * MS;

static struct probe last, gone[GONE];

static struct tw_stats stats_of(struct tw_runtime *rt) {
    struct tw_stats stats;
    assert_ok(tw_runtime_stats(rt, &stats));
    return stats;
}

static void start_all(struct tw_timers *set) {
    memset(&last, 0, sizeof last);
    memset(gone, 0, sizeof gone);
    for (unsigned i = 0; i < GONE; ++i)
        start_after(set, &gone[i], first + (until - first) / (GONE + 1) * i);
    start_after(set, &last, until);
}

static bool stop_one(struct tw_timers *set, struct probe *probe) {
    return tw_timer_cancel(set, probe->id) == 1;
}
static bool move_one(struct tw_timers *set, struct probe *probe) {
    return tw_timer_move(set, probe->id, 3600 * TW_SECOND) == 0;
}
static bool postpone_one(struct tw_timers *set, struct probe *probe) {
    return tw_timer_move(set, probe->id, 3600 * TW_SECOND) == 0;
}

typedef bool let_go(struct tw_timers *set, struct probe *probe);

static let_go *const ways_to_go[] = {stop_one, move_one, postpone_one};

/* Returns false if a timer had fired already. */
static bool let_all_go(struct tw_timers *set, let_go *way) {
    for (unsigned i = 0; i < GONE; ++i)
        if (!way(set, &gone[i]))
            return false;
    return true;
}

/* Returns false if this thread was held up for so long that the scene shows nothing. */
typedef bool scene(struct tw_runtime *rt, struct tw_timers *set, let_go *way);

static bool play(scene *shown, struct tw_runtime_options options, let_go *way) {
    struct tw_runtime *rt = new_runtime(options);
    const bool has_shown = shown(rt, new_set(rt, (struct tw_set_options){0}), way);
    tw_runtime_free(rt);
    return has_shown;
}

/* Plays the scene for each driver, with short and long ticks. Each combination lets the timers go in another
 * of the ways, because a driver does not see in which way a timer went. In real time, because the test counts
 * the wake-ups of a thread: 2.4 s, eight times `until`. */
static void assert_few_wake_ups(scene *shown) {
    unsigned turn = 0;
    for (unsigned d = 0; d < thread_drivers_here(); ++d)
        for (int64_t tick_ns = 1000; tick_ns <= MS; tick_ns *= 1000) {
            const struct tw_runtime_options options = {.driver = thread_drivers[d], .tick_ns = tick_ns};
            let_go *const way = ways_to_go[turn++ % COUNT_OF(ways_to_go)];
            while (!play(shown, options, way)) {
            }
        }
}

static bool go_before_it_sleeps(struct tw_runtime *rt, struct tw_timers *set, let_go *way) {
    start_all(set);
    assert_true(let_all_go(set, way));
    assert_ok(tw_runtime_start(rt));
    wait_for(last.fires == 1);
    assert_in_range(stats_of(rt).wakeups, 0, 1); /* 0 if the timer became due before the thread slept */
    return true;
}

TEST(p9_timers_that_went_before_the_thread_slept_do_not_wake_it) { assert_few_wake_ups(go_before_it_sleeps); }

/* The thread already sleeps until the first timer, and this one wake-up happens all the same. */
static bool go_while_it_sleeps(struct tw_runtime *rt, struct tw_timers *set, let_go *way) {
    static struct probe far;
    const int64_t first_due = tw_runtime_now(rt) + first;
    start_after(set, &far, 3600 * TW_SECOND);
    start_all(set);
    assert_ok(tw_runtime_start(rt));
    if (!let_all_go(set, way) || tw_runtime_now(rt) >= first_due)
        return false;
    wait_for(last.fires == 1);
    const struct tw_stats stats = stats_of(rt);
    assert_in_range(stats.wakeups - stats.wakes, 0, 2);
    return true;
}

TEST(p9_timers_that_go_while_the_thread_sleeps_cost_one_wake_up_at_most) {
    assert_few_wake_ups(go_while_it_sleeps);
}

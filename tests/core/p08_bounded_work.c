/* P8: no call holds the lock for more than a fixed number of node moves, and no tick pays for
 * timers that are not due.
 *
 * The library under test uses this test's own port, which reports when the lock is taken and
 * released, and the nodes report when they are touched. A move touches a node and its
 * neighbours at both ends of the move: four nodes. */
#include "counting_port.h"
#include "promise.h"
#include "support/walk.h"
#include "watched.h"

#ifndef MOVES_PER_HOLD
#define MOVES_PER_HOLD 64 /* steps_per_hold in the core; 1 on small parts */
#endif
#define TOUCHES_PER_MOVE 4
#define LOOKS 33 /* nodes that the wheel may read to find the exact next tick */
#define PER_HOLD (MOVES_PER_HOLD * TOUCHES_PER_MOVE + LOOKS)
enum { CROWD = PER_HOLD + 111 };

static int locks_held; /* 0 or 1; more would be a deadlock */
static int worst_locks_held;
static size_t holds;
static size_t worst_hold;   /* most nodes touched while the lock was held once */
static size_t touched_held; /* nodes touched under the lock, summed over holds */
static void (*between_holds)(void);

void counting_locked(uint32_t held) {
    assert_int_equal(held, 1);
    if (++locks_held > worst_locks_held)
        worst_locks_held = locks_held;
    watch_again();
    ++holds;
}

void counting_unlocked(void) {
    --locks_held;
    const size_t touched = watched_touched();
    touched_held += touched;
    if (touched > worst_hold)
        worst_hold = touched;
    watch_again();
    if (between_holds) {
        void (*const once)(void) = between_holds;
        between_holds = NULL; /* the calls of `once` also take the lock */
        once();
        between_holds = once;
    }
}

static void forget_counts(void) {
    holds = worst_hold = touched_held = 0;
    watch_again();
}

static uint64_t locked_callbacks;

static void count_fire(UNUSED struct tw_node *node, UNUSED void *arg) {
    locked_callbacks += locks_held != 0;
    ++fires;
}

static size_t crowd;

static void open_crowd(size_t n, uint64_t start) {
    start_at(start);
    crowd = n;
    watched_open(n, count_fire, NULL);
}

/* Arms for random ticks from `first` on, within `span`. From then on the nodes are not watched. */
static void arm_unwatched(uint64_t first, uint64_t span) {
    uint64_t seed = 80;
    watch_pause();
    for (size_t i = 0; i < crowd; ++i)
        assert_int_equal(tw_arm_at(&wheel, watched_node(i), first + random_below(&seed, span)), 0);
    forget_counts();
}

static void arm_crowd(uint64_t first, uint64_t span) {
    arm_unwatched(first, span);
    watch_resume();
}

static int fresh(void **state) {
    between_holds = counting_wait = NULL;
    locks_held = worst_locks_held = 0;
    locked_callbacks = 0;
    return fresh_wheel(state);
}

static int close_crowd(UNUSED void **state) {
    between_holds = NULL;
    watched_close();
    return 0;
}

static void assert_bounded(void) {
    assert_int_equal(worst_locks_held, 1);
    assert_int_equal(locks_held, 0);
    assert_in_range(worst_hold, 0, PER_HOLD);
}

FIXTURE(fresh, close_crowd);

TEST(p8_advance_over_a_full_top_slot_holds_the_lock_for_a_bounded_number_of_nodes) {
    open_crowd(CROWD, 0);
    arm_crowd(TOP_SLOT, TOP_SLOT);
    advance(2 * TOP_SLOT);
    assert_int_equal(fires, crowd);
    assert_bounded();
}

TEST(p8_a_cascade_at_the_boundary_holds_the_lock_for_a_bounded_number_of_nodes) {
    open_crowd(CROWD, 0);
    arm_crowd(TOP_SLOT + 1, TOP_SLOT - 1);
    advance(TOP_SLOT);
    assert_int_equal(fires, 0);
    assert_bounded();
}

TEST(p8_a_tick_on_which_all_are_due_holds_the_lock_for_a_bounded_number_of_nodes) {
    open_crowd(CROWD, 0);
    arm_crowd(TOP_SLOT + 3, 1);
    advance(TOP_SLOT + 3);
    assert_int_equal(fires, crowd);
    assert_bounded();
}

TEST(p8_idle_holds_the_lock_for_a_bounded_number_of_nodes) {
    open_crowd(CROWD, 0);
    arm_crowd(TOP_SLOT, TOP_SLOT);
    advance(1);
    assert_int_equal(tw_idle(&wheel, TW_UNBOUNDED), 0);
    assert_bounded();
    advance(TOP_SLOT - BLOCK / 2);
    assert_int_equal(tw_idle(&wheel, TW_UNBOUNDED), 0);
    assert_bounded();
}

/* A cancel_all takes all slots at once: one splice for each, however many nodes they hold. */
TEST(p8_cancel_all_holds_the_lock_for_a_bounded_number_of_nodes) {
    open_crowd(CROWD, 0);
    arm_crowd(TOP_SLOT, TOP_SLOT);
    assert_int_equal(tw_cancel_all(&wheel, count_fire, NULL), 0);
    assert_int_equal(fires, crowd);
    assert_bounded();
}

static void assert_looks_in(size_t most_holds, uint64_t at_most) {
    assert_in_range(worst_hold, 0, at_most);
    assert_in_range(holds, 1, most_holds);
    forget_counts();
}

static void assert_looks(uint64_t at_most) { assert_looks_in(1, at_most); }

TEST(p8_single_calls_touch_a_node_and_its_neighbours) {
    open_crowd(CROWD, 0);
    struct tw_node *node = watched_node(crowd / 2);
    arm_crowd(TOP_SLOT, TOP_SLOT);
    IGNORE(tw_next(&wheel));
    assert_looks(LOOKS);
    tw_cancel(&wheel, node);
    assert_looks(3);
    tw_arm_at(&wheel, node, TOP_SLOT + 5);
    assert_looks(3);
    tw_arm_at(&wheel, node, TOP_SLOT + 7);
    assert_looks(5);
    tw_arm_within(&wheel, node, TOP_SLOT + 7, 1000);
    assert_looks_in(2, 5); /* short ticks or built for size: chooses in one hold, arms in the next */
    tw_arm_every(&wheel, node, TOP_SLOT + 7, 1, TW_BURST, 0);
    assert_looks(5);
    IGNORE(tw_count(&wheel));
    assert_looks(0);
    IGNORE(tw_expiry(&wheel, node));
    assert_looks(1);
    assert_int_equal(tw_wait(&wheel, node), 0);
    assert_looks(0);
    assert_int_equal(locks_held, 0);
}

TEST(p8_postpone_touches_its_node_alone) {
    open_crowd(100, 0);
    arm_crowd(5, 2 * TOP_SLOT);
    for (size_t i = 0; i < crowd; ++i) {
        assert_int_equal(tw_postpone(&wheel, watched_node(i), 3 * TOP_SLOT), 0);
        assert_looks(1);
    }
}

TEST(p8_next_looks_at_a_bounded_number_of_nodes_at_any_time) {
    open_crowd(1500, 0);
    arm_crowd(1, 4 * ROUND);
    for (uint64_t now = 0; now < 2 * ROUND; now += ROUND / 50 + 1) {
        advance(now);
        forget_counts();
        IGNORE(tw_next(&wheel));
        assert_looks(LOOKS);
    }
}

TEST(p8_callbacks_run_with_no_lock_held) {
    open_crowd(CROWD, 0);
    arm_crowd(1, ROUND);
    advance(ROUND / 2);
    assert_bounded();
    tw_cancel_all(&wheel, count_fire, NULL);
    assert_int_equal(fires, crowd);
    assert_int_equal(locked_callbacks, 0);
}

TEST(p8_an_unlocked_wheel_takes_no_lock) {
    open_crowd(100, 0);
    assert_int_equal(tw_init(&wheel, 0, TW_UNLOCKED), 0);
    arm_unwatched(1, 2 * TOP_SLOT);
    advance(TOP_SLOT);
    tw_idle(&wheel, TW_UNBOUNDED);
    IGNORE(tw_next(&wheel));
    tw_cancel_all(&wheel, NULL, NULL);
    assert_int_equal(holds, 0);
    assert_int_equal(locks_held, 0);
}

#if TW_RUNTIME
static struct tw_node waiting;
static unsigned waits;

static void end_the_callback(void) {
    ++waits;
    assert_int_equal(locks_held, 0);
    counting_self = 0; /* the thread that advances */
    tw_core_abandon(&wheel);
}

static void wait_on_another_thread(struct tw_node *node, UNUSED void *arg) {
    counting_self = 1;
    assert_int_equal(tw_wait(&wheel, node), 0);
}

TEST(p8_a_wait_holds_no_lock_and_only_who_waits_is_woken) {
    open_crowd(1, 0);
    tw_node_init(&waiting, wait_on_another_thread, NULL);
    tw_arm_at(&wheel, &waiting, 1);
    counting_wait = end_the_callback;
    waits = counting_wakes = 0;
    advance(1);
    assert_int_equal(waits, 1);
    assert_int_equal(counting_wakes, 1);
    arm_crowd(2, 1);
    advance(2);
    assert_int_equal(counting_wakes, 1);
    assert_bounded();
}

TEST(p8_a_fork_is_prepared_for_with_the_lock_held) {
    open_crowd(1, 0);
    tw_core_fork(&wheel, TW_CORE_FORK_PREPARE);
    assert_int_equal(locks_held, 1);
    tw_core_fork(&wheel, TW_CORE_FORK_PARENT);
    assert_int_equal(locks_held, 0);
}

static void make(const struct tw_fire *fire, UNUSED unsigned label, UNUSED void *arg) {
    if (fire != NULL)
        fire->fn(fire->node, fire->arg);
}

TEST(p8_fires_that_a_caller_makes_hold_no_lock) {
    open_crowd(CROWD, 0);
    tw_core_set_caller(&wheel, make, NULL);
    arm_crowd(1, BLOCK);
    advance(BLOCK);
    assert_int_equal(fires, crowd);
    assert_int_equal(locked_callbacks, 0);
    assert_bounded();
}

static void count_visit_of(UNUSED const struct tw_node *node, UNUSED const struct tw_node *was,
                           UNUSED void *arg) {
    locked_callbacks += locks_held != 0;
}

TEST(p8_calls_that_concern_all_nodes_hold_the_lock_for_a_bounded_number_of_nodes) {
    open_crowd(CROWD, 0);
    arm_crowd(TOP_SLOT, TOP_SLOT);
    tw_core_shift(&wheel, TOP_SLOT);
    assert_bounded();
    assert_int_equal(walk_through(&wheel, count_visit_of, NULL), crowd);
    assert_int_equal(locked_callbacks, 0);
    assert_bounded();
}
#endif

/* Each call spends at most its budget. How much of it goes into opening slots or look-ahead is
 * up to the wheel, but the work must come to an end. */
static void advance_counting(uint64_t now, uint32_t budget) {
    uint64_t calls = 0;
    for (int more = 1; more; ++calls) {
        const uint64_t fired_before = fires;
        forget_counts();
        more = tw_advance(&wheel, now, budget);
        assert_in_range(more, 0, 1);
        assert_in_range(fires - fired_before, 0, budget);
        assert_in_range(touched_held, 0, TOUCHES_PER_MOVE * budget + LOOKS * (budget + 1));
        assert_in_range(calls, 0, 1 + crowd * (shape->levels + 2) * 2 / budget + 2 * BLOCK * shape->levels);
    }
    assert_int_equal(fires, crowd);
}

TEST(p8_a_budget_bounds_the_callbacks_and_moves_of_one_call) {
    const uint32_t budgets[] = {1, 7, 65, 500};
    for (size_t i = 0; i < COUNT_OF(budgets); ++i) {
        open_crowd(300, 0);
        arm_crowd(TOP_SLOT, TOP_SLOT);
        advance_counting(2 * TOP_SLOT, budgets[i]);
        watched_close();
    }
    open_crowd(1, 0);
}

/* With nothing to look ahead at and nothing due, touches are moves of the lowering. */
TEST(p8_a_small_budget_moves_few_nodes_though_many_wait) {
    open_crowd(1500, 0);
    arm_crowd(TOP_SLOT + BLOCK, TOP_SLOT - BLOCK);
    for (unsigned i = 0; i < 100; ++i) {
        forget_counts();
        assert_int_equal(tw_advance(&wheel, TOP_SLOT, 3), 1);
        assert_in_range(touched_held, 0, 3 * TOUCHES_PER_MOVE + LOOKS);
    }
}

TEST(p8_idle_moves_no_more_than_its_budget) {
    open_crowd(1500, 0);
    arm_crowd(TOP_SLOT, TOP_SLOT);
    uint64_t calls = 0;
    for (int more = 1; more; ++calls) {
        forget_counts();
        more = tw_idle(&wheel, 10);
        assert_in_range(touched_held, 0, 10 * TOUCHES_PER_MOVE);
    }
    if (shape->ahead)
        assert_in_range(calls, crowd / 10, crowd / 10 + 2);
}

/* The most nodes that look-ahead moves in one tick; ahead_per_tick in the core. */
#define SHARE (sizeof(void *) == 8 ? 256 : 16)
#define PER_TICK (SHARE * TOUCHES_PER_MOVE + LOOKS)

static void assert_no_tick_pays_for_more_than_is_due(uint64_t until) {
    while (tw_now(&wheel) < until) {
        const uint64_t fired_before = fires;
        forget_counts();
        assert_int_equal(tw_update(&wheel), 0);
        if (touched_held > PER_TICK + (fires - fired_before) * TOUCHES_PER_MOVE)
            fail_msg("tick %llu touched %zu nodes", (unsigned long long)tw_now(&wheel), touched_held);
    }
}

TEST(p8_no_tick_pays_for_timers_that_are_not_due_with_look_ahead) {
    open_crowd(1500, 0);
    arm_crowd(TOP_SLOT, TOP_SLOT);
    assert_no_tick_pays_for_more_than_is_due(2 * TOP_SLOT);
    assert_int_equal(fires, crowd);
}

/* The wheel has stored the tick until which it has nothing to do; arming must update that tick. */
TEST(p8_a_crowd_armed_while_all_is_quiet_is_looked_ahead_to_in_time) {
    open_crowd(1500, 0);
    advance(1);
    advance(2);
    arm_crowd(BLOCK, BLOCK);
    assert_no_tick_pays_for_more_than_is_due(2 * BLOCK);
    assert_int_equal(fires, crowd);
}

/* Look-ahead needs six shares for the near crowd, and has seven before that crowd's slot opens. */
TEST(p8_a_far_crowd_does_not_delay_look_ahead_to_a_near_one) {
    open_crowd(14 * SHARE, BLOCK - 8);
    watch_pause();
    for (size_t i = 0; i < crowd; ++i)
        assert_int_equal(tw_arm_at(&wheel, watched_node(i), i % 5 < 2 ? BLOCK + 9 : ROUND + 9), 0);
    watch_resume();
    assert_no_tick_pays_for_more_than_is_due(BLOCK + 4);
}

TEST(p8_a_driver_with_large_steps_finds_nothing_left_to_do_at_a_boundary_either) {
    open_crowd(2000, 0);
    for (uint64_t step = 10; step <= 10000; step *= 1000) {
        start_at(0);
        arm_unwatched(2 * TOP_SLOT, TOP_SLOT);
        for (uint64_t t = step; t < 2 * TOP_SLOT; t += step)
            advance(t);
        assert_int_equal(tw_idle(&wheel, 1), 0);
        tw_cancel_all(&wheel, NULL, NULL);
    }
}

TEST(p9_a_loop_that_only_advances_does_not_spin_before_a_crowded_slot) {
    open_crowd(1000, 0);
    arm_unwatched(3 * TOP_SLOT, TOP_SLOT);
    size_t wakes_for_nothing = 0;
    for (uint64_t now = 0; tw_count(&wheel) > 0;) {
        const uint64_t fired_before = fires;
        const uint64_t next = tw_next(&wheel);
        now = next > now ? next : now + 1; /* a clock does not stand still */
        advance(now);
        wakes_for_nothing += fires == fired_before;
    }
    assert_int_equal(fires, crowd);
    assert_in_range(wakes_for_nothing, 0, crowd / SHARE + 29);
}

TEST(p8_with_look_ahead_done_a_boundary_finds_nothing_left_to_do) {
    open_crowd(1500, 0);
    arm_crowd(TOP_SLOT + BLOCK, TOP_SLOT - BLOCK);
    idle_until_done(100);
    advance(TOP_SLOT - 1);
    idle_until_done(100);
    forget_counts();
    assert_int_equal(tw_advance(&wheel, TOP_SLOT, 2), 0);
    assert_in_range(touched_held, 0, 2 * TOUCHES_PER_MOVE + LOOKS);
}

/* tw_next asks for a call a block before a full slot opens. */
TEST(p8_a_sleeper_does_not_meet_a_full_slot_at_its_boundary) {
    open_crowd(1500, 0);
    arm_crowd(9 * TOP_SLOT, TOP_SLOT);
    size_t worst = 0;
    while (tw_now(&wheel) < 9 * TOP_SLOT) {
        const uint64_t next = tw_next(&wheel);
        assert_true(next <= 10 * TOP_SLOT);
        forget_counts();
        if (next == tw_now(&wheel))
            tw_idle(&wheel, SHARE);
        else
            assert_int_equal(tw_advance(&wheel, next, TW_UNBOUNDED), 0);
        worst = touched_held > worst ? touched_held : worst;
    }
    assert_in_range(worst, 0, PER_TICK + crowd / 100);
}

TEST(p8_an_advance_to_the_tick_where_the_wheel_is_touches_nothing) {
    open_crowd(CROWD, 0);
    arm_crowd(BLOCK, TOP_SLOT);
    advance(1);
    forget_counts();
    for (unsigned i = 0; i < 10; ++i)
        advance(1);
    assert_int_equal(touched_held, 0);
}

/* n nodes of later rounds share a slot with nodes due now. A round passes each of them a fixed
 * number of times, however many ticks and calls it consists of. */
TEST(p8_nodes_of_later_rounds_are_not_walked_again_and_again) {
    open_crowd(1500, 0);
    arm_crowd(3 * TOP_SLOT + 20 * ROUND, TOP_SLOT);
    uint64_t steps = 0;
    for (uint64_t now = 2 * TOP_SLOT - 5; now <= 5 * TOP_SLOT; now += TOP_SLOT / 40 + 1, ++steps) {
        advance(now);
        tw_idle(&wheel, 64);
        tw_idle(&wheel, TW_UNBOUNDED);
    }
    assert_in_range(touched_held, 0, 2 * TOUCHES_PER_MOVE * crowd + steps * LOOKS / 2);
    assert_bounded();
}

TEST(p8_steps_through_a_tick_with_nothing_due_touch_nothing_below_the_top_slot) {
    open_crowd(1500, 0);
    arm_crowd(3 * TOP_SLOT, ROUND - 4 * TOP_SLOT);
    idle_until_done(1000);
    while (tw_now(&wheel) < BLOCK * 4) {
        forget_counts();
        assert_int_equal(tw_update(&wheel), 0);
        assert_in_range(touched_held, 0, LOOKS);
    }
}

/* Whenever the lock is free, the wheel's invariants hold. */
static void check_now(void) {
    if (holds % 7 == 0)
        assert_whole();
}

TEST(p8_the_wheel_is_whole_whenever_the_lock_is_free) {
    open_crowd(300, 0);
    arm_unwatched(TOP_SLOT, TOP_SLOT);
    between_holds = check_now;
    tw_idle(&wheel, 150);
    advance(TOP_SLOT + TOP_SLOT / 2);
    tw_idle(&wheel, TW_UNBOUNDED);
    tw_cancel_all(&wheel, count_fire, NULL);
    between_holds = NULL;
    assert_int_equal(fires, crowd);
}

static void let_a_top_slot_open(void) { tw_advance(&wheel, TOP_SLOT, TW_UNBOUNDED); }

TEST(p8_cancel_all_leaves_nothing_behind_though_nodes_move_while_the_lock_is_free) {
    open_crowd(CROWD, 0);
    arm_unwatched(TOP_SLOT + 1, 50); /* the wheel will lower them to slots that the call empties first */
    tw_arm_every(&wheel, watched_node(0), 100, TOP_SLOT, TW_COALESCE, 0);
    between_holds = let_a_top_slot_open;
    tw_cancel_all(&wheel, count_fire, NULL);
    between_holds = NULL;
    assert_int_equal(tw_count(&wheel), 0);
    assert_int_equal(fires, crowd); /* a node that comes due meanwhile is cancelled with the others */
    assert_int_equal(tw_check(&wheel, NULL, NULL), 0);
}

static struct tw_node visitor;
static unsigned visits;

static void count_visit(UNUSED struct tw_node *node, UNUSED void *arg) { ++visits; }

static void let_a_visitor_fire(void) {
    if (visits > 0)
        return;
    visits = 1; /* once */
    tw_arm_every(&wheel, &visitor, tw_now(&wheel), 5, TW_BURST, 0);
    tw_advance(&wheel, tw_now(&wheel), TW_UNBOUNDED);
}

/* A cancel_all covers the nodes pending at one moment; a node armed later stays. */
TEST(p8_a_periodic_that_is_armed_and_fires_while_others_are_handed_out_stays) {
    open_crowd(CROWD, 0);
    arm_unwatched(TOP_SLOT + 1, 50);
    tw_node_init(&visitor, count_visit, NULL);
    visits = 0;
    between_holds = let_a_visitor_fire;
    tw_cancel_all(&wheel, NULL, NULL);
    between_holds = NULL;
    assert_int_equal(visits, 2);
    assert_int_equal(tw_count(&wheel), 1);
    assert_int_equal(tw_cancel(&wheel, &visitor), 1);
}

/* Arms for the ticks being worked on, as another thread could in each gap between holds. */
#define GUESTS 2000
static struct timer *guests;
static size_t guests_used;

static void arm_guest(void) {
    if (guests_used == GUESTS)
        return;
    const uint64_t tick = TOP_SLOT + guests_used % 5 * (TOP_SLOT / 5 + 1);
    arm(&guests[guests_used], tick > tw_now(&wheel) ? tick : tw_now(&wheel));
    ++guests_used;
}

TEST(p8_nodes_armed_while_the_lock_is_free_in_a_cascade_keep_their_order) {
    open_crowd(1, 0);
    guests = new_timers(GUESTS);
    guests_used = 0;
    for (unsigned i = 0; i < 500; ++i)
        arm_guest();
    between_holds = arm_guest;
    tw_idle(&wheel, 200);
    advance(TOP_SLOT);
    assert_true(guests_used > 500);
    between_holds = NULL;
    advance(2 * TOP_SLOT + 5);
    assert_int_equal(fires, guests_used);
    free(guests);
}

/* Once look-ahead has moved some of the crowd. */
static void arm_visitor_for_now(void) {
    if ((touched_held != 0 || !shape->ahead) && visits == 0 && !tw_pending(&wheel, &visitor))
        tw_arm_at(&wheel, &visitor, tw_now(&wheel));
}

TEST(p8_a_node_armed_for_now_while_look_ahead_lets_the_lock_go_fires_on_the_next_tick) {
    open_crowd(100, TOP_SLOT - 3);
    arm_crowd(TOP_SLOT + 1, 50);
    tw_node_init(&visitor, count_visit, NULL);
    visits = 0;
    between_holds = arm_visitor_for_now;
    advance(TOP_SLOT - 2); /* time enough to move all of the crowd */
    between_holds = NULL;
    assert_int_equal(tw_pending(&wheel, &visitor), 1);
    assert_int_equal(tw_next(&wheel), TOP_SLOT - 2);
    assert_int_equal(tw_check(&wheel, NULL, NULL), 0);
    advance(TOP_SLOT - 1);
    assert_int_equal(visits, 1);
    tw_cancel(&wheel, &visitor);
}

static size_t guests_cancelled;

static void cancel_guest(void) {
    if (guests_cancelled == GUESTS)
        return;
    struct timer *guest = &guests[(guests_cancelled * 17) % GUESTS];
    const int was_pending = !guest->fires && tw_running(&wheel) != &guest->node;
    assert_int_equal(tw_cancel(&wheel, &guest->node), was_pending);
    guest->due = was_pending ? TW_NEVER : guest->due; /* fire() fails if it is called */
    ++guests_cancelled;
}

TEST(p8_nodes_cancelled_while_the_lock_is_free_do_not_fire) {
    open_crowd(1, 0);
    guests = new_timers(GUESTS);
    guests_cancelled = 0;
    for (unsigned i = 0; i < GUESTS; ++i)
        arm(&guests[i], TOP_SLOT + i % 11 * (TOP_SLOT / 11));
    between_holds = cancel_guest;
    tw_idle(&wheel, TW_UNBOUNDED);
    advance(TOP_SLOT);
    advance(2 * TOP_SLOT);
    between_holds = NULL;
    assert_int_equal(tw_count(&wheel), 0);
    assert_true(fires < GUESTS);
    free(guests);
}

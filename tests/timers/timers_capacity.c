/* P10: a set with a capacity allocates when it is made, and never again. */
#include "timers_test.h"

#include "support/counted_heap.h"
#include "support/sanitized.h"

enum { CAPACITY = 500 };

static void copy_probe(void *to, void *from) { memcpy(to, from, sizeof(struct probe)); }
static int64_t once_more(int64_t due_ns, UNUSED void *arg) {
    return due_ns > TW_SECOND ? TW_NO_DEADLINE : due_ns + MS;
}

static void use_every_call(struct tw_runtime *rt, struct tw_timers *set) {
    static struct probe probes[CAPACITY];
    for (unsigned i = 0; i < CAPACITY; ++i) {
        struct tw_task task = task_of(&probes[i]);
        task.drop = NULL; /* a drop would call free with null pointers */
        if (i % 3 == 0)
            task.next = once_more;
        if (i % 5 == 0)
            task.arg_size = sizeof probes[i];
        if (i % 10 == 0)
            task.copy = copy_probe;
        const bool is_periodic = i % 3 != 0 && i % 2 != 0;
        const struct tw_when when = {
            .due_ns = i * MS, .period_ns = is_periodic ? MS : 0, .fires = is_periodic ? i % 7 : 0};
        assert_int_equal(tw_timer_start(set, &probes[i].id, i % 9 == 0 ? NULL : &when, &task), 0);
    }
    assert_int_equal(tw_timer_after(set, &(tw_handle){0}, 0, note_fire, probes), -ENOSPC);
    assert_int_equal(tw_timers_count(set), CAPACITY);
    assert_ok(tw_runtime_advance(rt, 100 * MS));
    for (unsigned i = 0; i < CAPACITY; ++i) {
        IGNORE(timer_remaining(set, probes[i].id));
        (void)tw_timer_move(set, probes[i].id, i * MS);
        (void)tw_timer_move(set, probes[i].id, 2 * i * MS);
        (void)tw_timer_again(set, probes[i].id);
        (void)(i % 2 ? tw_timer_cancel : tw_timer_cancel_wait)(set, probes[i].id);
    }
    assert_int_equal(tw_timers_count(set), 0);
}

TEST(p10_a_set_with_a_capacity_does_not_allocate) {
    struct tw_runtime *rt = virtual_runtime();
    struct tw_timers *set =
        new_set(rt, (struct tw_set_options){.capacity = CAPACITY, .storage = sizeof(struct probe)});
    allocations = 0;
    for (unsigned round = 0; round < 3; ++round)
        use_every_call(rt, set);
    assert_int_equal(allocations, 0);
    tw_runtime_free(rt);
}

/* A set without a capacity does not allocate, either, as long as it never has more timers than before. */
TEST(p10_a_set_that_has_grown_does_not_allocate) {
    struct tw_runtime *rt = virtual_runtime();
    struct tw_timers *set = new_set(rt, (struct tw_set_options){.storage = sizeof(struct probe)});
    struct probe probes[CAPACITY];
    memset(probes, 0, sizeof probes);
    allocations = 0;
    for (unsigned round = 0; round < 3; ++round) {
        for (unsigned i = 0; i < CAPACITY; ++i)
            start_after(set, &probes[i], MS);
        assert_ok(tw_runtime_advance(rt, MS));
        assert_true(round > 0 || allocations > 0);
        allocations = 0;
    }
    for (unsigned i = 0; i < CAPACITY; ++i)
        start_after(set, &probes[i], MS);
    assert_int_equal(allocations, 0);
    tw_runtime_free(rt);
}

static void no_drop(UNUSED void *arg) {}
static int64_t never(UNUSED int64_t due_ns, UNUSED void *arg) { return TW_NO_DEADLINE; }

/* The library allocates the memory for more than a deadline only for timers that need it. */
TEST(p10_only_timers_with_a_period_a_schedule_or_a_drop_need_more_memory) {
    const struct {
        struct tw_when when;
        struct tw_task task;
    } ways[] = {{{.due_ns = MS}, {.fn = note_fire}},
                {{.due_ns = MS, .absolute = 1}, {.fn = note_fire}},
                {{.due_ns = MS, .period_ns = MS}, {.fn = note_fire}},
                {{.due_ns = MS}, {.fn = note_fire, .next = never}},
                {{.due_ns = MS}, {.fn = note_fire, .drop = no_drop}}};
    unsigned needed[COUNT_OF(ways)];
    for (unsigned way = 0; way < COUNT_OF(ways); ++way) {
        struct tw_runtime *rt = virtual_runtime();
        struct tw_timers *set = new_set(rt, (struct tw_set_options){0});
        tw_handle id;
        allocations = 0;
        for (unsigned i = 0; i < CAPACITY; ++i)
            assert_int_equal(tw_timer_start(set, &id, &ways[way].when, &ways[way].task), 0);
        needed[way] = allocations;
        tw_runtime_free(rt);
    }
    assert_int_equal(needed[0], needed[1]);
    for (unsigned way = 2; way < COUNT_OF(ways); ++way)
        assert_true(needed[way] > needed[0]);
}

/* --- patterns that leave entries of timers behind on the wheel ------------------------------------ */

enum { FULL = 3000, CALLS = SLOW ? 60000 : 300000 };

static struct tw_timers *full;
static tw_handle ids[FULL];
static uint64_t seed;

static void start_one(unsigned i, int64_t delay) {
    static struct probe probe;
    assert_int_equal(tw_timer_after(full, &ids[i], delay, note_fire, &probe), 0);
}

static int64_t random_delay(void) {
    return (1 + (int64_t)random_below(&seed, UINT64_C(1) << (1 + random_below(&seed, 40)))) * MS;
}

/* Each move leaves an entry further away. */
static void move_to_earlier(unsigned call) {
    const int64_t left = timer_remaining(full, ids[call % FULL]);
    assert_int_equal(tw_timer_move(full, ids[call % FULL], left > 2 * MS ? left - MS : 1000000 * MS), 0);
}

static void stop_and_start_a_random_one(UNUSED unsigned call) {
    const unsigned i = (unsigned)random_below(&seed, FULL);
    assert_int_equal(tw_timer_cancel(full, ids[i]), 1);
    start_one(i, random_delay());
}

static void move_a_random_one(UNUSED unsigned call) {
    assert_int_equal(tw_timer_move(full, ids[random_below(&seed, FULL)], random_delay()), 0);
}

static void stop_all_and_start_all(unsigned call) {
    if (call % FULL != 0)
        return;
    for (unsigned i = 0; i < FULL; ++i)
        assert_int_equal(tw_timer_cancel(full, ids[i]), 1);
    for (unsigned i = 0; i < FULL; ++i)
        start_one(i, random_delay());
}

/* Time goes on, but the deadlines never come nearer. */
static void let_a_tick_pass_and_start_again(struct tw_runtime *rt, unsigned call) {
    assert_int_equal(tw_timer_again(full, ids[call % FULL]), 0);
    if (call % FULL == 0)
        assert_ok(tw_runtime_leap(rt, 300 * MS));
}

static void (*const patterns[])(unsigned) = {move_to_earlier, move_a_random_one, stop_all_and_start_all,
                                             stop_and_start_a_random_one};

static void start_all(void) {
    for (unsigned i = 0; i < FULL; ++i)
        start_one(i, 1000 * MS);
}

/* On the wall clock there are two wheels for records. */
static void storm(enum tw_clock clock) {
    struct tw_runtime *rt = new_runtime((struct tw_runtime_options){.driver = "manual", .clock = clock});
    full = new_set(rt, (struct tw_set_options){.capacity = FULL});
    new_set(rt, (struct tw_set_options){.capacity = 1});
    allocations = 0;
    start_all();
    for (unsigned p = 0; p < COUNT_OF(patterns); ++p)
        for (unsigned call = 0; call < CALLS; ++call)
            patterns[p](call);
    assert_int_equal(tw_timers_cancel_all(full, NULL, NULL), FULL);
    start_all();
    for (unsigned call = 0; call < CALLS; ++call)
        let_a_tick_pass_and_start_again(rt, call);
    assert_int_equal(tw_timers_count(full), FULL);
    assert_int_equal(tw_timer_after(full, &(tw_handle){0}, 0, note_fire, NULL), -ENOSPC);
    assert_int_equal(allocations, 0);
    tw_runtime_free(rt);
}

TEST(p10_no_pattern_of_calls_makes_a_set_with_a_capacity_allocate) {
    storm(TW_CLOCK_DEFAULT);
    storm(TW_CLOCK_WALL);
}

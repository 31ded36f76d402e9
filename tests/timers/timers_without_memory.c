/* The memory of sets. If the system has none, a call that needs memory returns the error, changes nothing and
 * loses nothing. Sets that a program makes and frees forever, or at the same time, take no more memory than
 * they need. */
#include "support/faults.h"

#include "support/child.h"
#include "support/gate.h"
#include "support/sanitized.h"
#include "timers_test.h"

/* Growths of cells: from 64 on, each doubles the number. Growths of rests, which timers with a `drop` need:
 * the first one comes with the first cells. */
enum { GROWTHS_TO_1000 = 5, RESTS_OF_A_GROWTH = 63, FURTHER_RESTS_TO_1000 = 999 / RESTS_OF_A_GROWTH };

static unsigned fires, drops, copies;

static void count_fire(UNUSED const struct tw_event *event, UNUSED void *arg) { ++fires; }
static void count_drop(UNUSED void *arg) { ++drops; }
static void count_copy(UNUSED void *to, UNUSED void *from) { ++copies; }

static int open_set(struct tw_runtime *rt, uint32_t capacity, struct tw_timers **set) {
    const struct tw_set_options options = {.capacity = capacity, .storage = 8};
    return tw_timers_new(set, rt, &options);
}

static int start_copied(struct tw_timers *set, tw_handle *id) {
    static char argument[8];
    const struct tw_when soon = {.due_ns = TW_MILLISECOND};
    const struct tw_task task = {
        .fn = count_fire, .arg = argument, .drop = count_drop, .arg_size = 8, .copy = count_copy};
    return tw_timer_start(set, id, &soon, &task);
}

/* Asserts that exactly so many timers fire and are dropped. */
static void assert_all_fire(struct tw_runtime *rt, struct tw_timers *set, unsigned timers) {
    fires = drops = 0;
    assert_int_equal(tw_timers_count(set), timers);
    assert_int_equal(tw_runtime_advance(rt, TW_MILLISECOND), 0);
    assert_int_equal(fires, timers);
    assert_int_equal(drops, timers);
    assert_int_equal(tw_timers_count(set), 0);
}

/* The directory of all cells stays with the process once there is one. */
static int make_directory(UNUSED void **state) {
    struct tw_runtime *rt = runtime_on("manual");
    struct tw_timers *set;
    assert_int_equal(open_set(rt, 1, &set), 0);
    return tw_runtime_free(rt);
}

/* Makes a set on a new runtime while one call fails. Returns false if no call has failed, and then the set
 * works. Memory of a set stays with the runtime for the next set, and is freed with the runtime. */
static bool fail_one(int spared, uint32_t capacity, enum tw_clock clock) {
    struct tw_timers *const untouched = (struct tw_timers *)(uintptr_t)16, *set = untouched;
    const struct holdings before = holdings_now();
    struct tw_runtime *rt = new_runtime((struct tw_runtime_options){.driver = "manual", .clock = clock});
    tw_handle id;
    inject(EVERY_CALL, USUAL_ERROR, spared, 1);
    const int result = open_set(rt, capacity, &set);
    const int failed = injected();
    inject_nothing();
    assert_int_equal(result, failed ? -ENOMEM : 0);
    assert_true((set == untouched) == (failed != 0));
    if (failed)
        assert_int_equal(open_set(rt, capacity, &set), 0);
    assert_int_equal(start_copied(set, &id), 0);
    assert_all_fire(rt, set, 1);
    if (spared % 2)
        assert_int_equal(tw_timers_free(set), 0);
    tw_runtime_free(rt);
    assert_nothing_leaked(before);
    return failed != 0;
}

GROUP_FIXTURE(make_directory, NULL);

TEST(a_set_is_made_or_not_and_leaks_nothing) {
    const struct {
        uint32_t capacity;
        int allocations; /* the set, the spaces of all lanes, that of the first one, the set's records there,
                            the store; its cells, their entries, their table; the numbers of more than 64
                            blocks of cells. In turns of lanes, also the lane of a set with a capacity */
    } kinds[] = {{0, 5}, {1, 8}, {64, 8}, {65, 8}, {1000, 8}, {5000, 8}, {64 * 1024 + 1, 9}};
    for (size_t i = 0; i < COUNT_OF(kinds); ++i)
        for (int on_wall = 0; on_wall < 2; ++on_wall) {
            int spared = 0;
            while (fail_one(spared, kinds[i].capacity, on_wall ? TW_CLOCK_WALL : TW_CLOCK_DEFAULT))
                ++spared;
            const bool makes_lane = getenv("TW_TEST_LANES") != NULL && kinds[i].capacity != 0 && !on_wall;
            assert_int_equal(spared, kinds[i].allocations + (makes_lane ? 1 : 0));
        }
}

/* Otherwise the directory would grow. */
TEST(sets_that_were_not_made_give_back_their_cells) {
    struct tw_runtime *rt = runtime_on("manual");
    struct tw_timers *set = NULL;
    int64_t after_first = 0;
    inject(ONLY(CALL_POSIX_MEMALIGN), USUAL_ERROR, 0, FOREVER);
    for (unsigned i = 0; i < 5000; ++i) {
        assert_int_equal(open_set(rt, 10, &set), -ENOMEM);
        if (i == 0)
            after_first = live_allocations();
    }
    inject_nothing();
    assert_null(set);
    assert_int_equal(live_allocations(), after_first);
    tw_runtime_free(rt);
}

/* Refuses each growth once. Returns how many growths it has refused. */
static int grow_to(struct tw_timers *set, unsigned timers) {
    int refusals = 0;
    copies = drops = 0;
    for (unsigned i = 0; i < timers; ++i) {
        tw_handle id = 99;
        inject(EVERY_CALL, USUAL_ERROR, 0, 1);
        const int result = start_copied(set, &id);
        const int failed = injected();
        inject_nothing();
        assert_int_equal(result, failed ? -ENOMEM : 0);
        refusals += failed;
        if (failed) {
            assert_int_equal(id, 99);
            assert_int_equal(tw_timers_count(set), i);
            assert_int_equal(start_copied(set, &id), 0);
        }
        assert_int_equal(copies, i + 1); /* tw_timer_start copies only if it has room */
    }
    assert_int_equal(drops, 0);
    return refusals;
}

TEST(a_set_that_cannot_grow_says_so_and_grows_later) {
    const struct holdings before = holdings_now();
    struct tw_runtime *rt = virtual_runtime_with_one_lane();
    struct tw_timers *set = NULL;
    assert_int_equal(open_set(rt, 0, &set), 0);
    assert_int_equal(grow_to(set, 1000), GROWTHS_TO_1000 + FURTHER_RESTS_TO_1000);
    assert_all_fire(rt, set, 1000);
    assert_int_equal(tw_timers_free(set), 0);
    tw_runtime_free(rt);
    assert_nothing_leaked(before);
}

/* The set grows by the blocks of a freed set, and allocates once: a larger table of its blocks. */
TEST(a_set_that_cannot_grow_by_the_memory_of_another_says_so_and_grows_later) {
    enum { OF_OTHER = 8000, TIMERS = 3000 };
    const struct holdings before = holdings_now();
    struct tw_runtime *rt = virtual_runtime_with_one_lane();
    struct tw_timers *set = NULL, *other = NULL;
    tw_handle id;
    assert_int_equal(open_set(rt, 0, &set), 0);
    assert_int_equal(open_set(rt, 0, &other), 0);
    for (unsigned i = 0; i < OF_OTHER; ++i)
        assert_int_equal(start_copied(other, &id), 0);
    assert_int_equal(tw_timers_free(other), 0);
    assert_int_equal(grow_to(set, TIMERS), GROWTHS_TO_1000 + 1);
    assert_all_fire(rt, set, TIMERS);
    tw_runtime_free(rt);
    assert_nothing_leaked(before);
}

/* --- growing while another call grows ---------------------------------------------------------- */

static struct tw_runtime *churned;
static struct tw_timers *grown[2];
static unsigned wanted_in_second;

static void start_one_in(struct tw_timers *set) {
    tw_handle id;
    assert_int_equal(tw_timer_after(set, &id, TW_MILLISECOND, count_fire, NULL), 0);
}

/* The library calls this without a lock, after the first set has chosen the size of its growth. */
static void grow_second(void) {
    while (tw_timers_count(grown[1]) < wanted_in_second)
        start_one_in(grown[1]);
}

static void make_second(void) { assert_int_equal(open_set(churned, 1, &grown[1]), 0); }

/* The second set is made before the first, second ... allocation of the first set. The first set of a runtime
 * also makes the record space. */
TEST(sets_that_are_made_at_the_same_time_work) {
    int spared = 0;
    do {
        const struct holdings before = holdings_now();
        tw_handle id;
        churned = runtime_on("manual");
        grown[1] = NULL;
        call_before_allocation(spared++, make_second);
        assert_int_equal(open_set(churned, 1, &grown[0]), 0);
        call_before_allocation(0, NULL);
        for (int s = 0; s < 2 && grown[s] != NULL; ++s)
            assert_int_equal(start_copied(grown[s], &id), 0);
        fires = 0;
        assert_ok(tw_runtime_advance(churned, TW_MILLISECOND));
        assert_int_equal(fires, grown[1] != NULL ? 2 : 1);
        tw_runtime_free(churned);
        assert_nothing_leaked(before);
    } while (grown[1] != NULL);
    assert_true(spared > 3);
}

/* Two sets grow, or one set grows twice at once, and then needs only one of the two growths. */
TEST(sets_that_grow_at_the_same_time_have_room_for_all_timers) {
    enum { TIMERS = 5000 };
    for (int is_same = 0; is_same < 2; ++is_same) {
        const struct holdings before = holdings_now();
        struct tw_runtime *rt = runtime_on("manual");
        for (int s = 0; s < 2 - is_same; ++s)
            assert_int_equal(open_set(rt, 0, &grown[s]), 0);
        if (is_same)
            grown[1] = grown[0];
        fires = 0;
        while (tw_timers_count(grown[0]) < TIMERS) {
            wanted_in_second = (unsigned)tw_timers_count(grown[0]) + 1;
            call_before_allocation(0, grow_second);
            start_one_in(grown[0]);
        }
        call_before_allocation(0, NULL);
        grow_second();
        const size_t timers = tw_runtime_count(rt);
        assert_int_equal(timers, tw_timers_count(grown[0]) + (is_same ? 0 : tw_timers_count(grown[1])));
        assert_ok(tw_runtime_advance(rt, TW_MILLISECOND));
        assert_int_equal(fires, timers);
        tw_runtime_free(rt);
        assert_nothing_leaked(before);
    }
}

static struct tw_timers *freed_set;
static tw_handle first_of_freed;
static pthread_t freeing;

static int freed = 1;

static void *free_set(UNUSED void *arg) {
    freed = tw_timers_free(freed_set);
    return NULL;
}

/* The library calls this when the set is about to grow. Returns when the set is being freed, which ends the
 * first timer. */
static void have_set_freed(void) {
    pthread_create(&freeing, NULL, free_set, NULL);
    wait_for(timer_remaining(freed_set, first_of_freed) == TW_NO_DEADLINE);
}

static void start_until_set_is_freed(UNUSED const struct tw_event *event, void *result) {
    tw_handle id;
    call_before_allocation(0, have_set_freed);
    while ((*(int *)result = tw_timer_after(freed_set, &id, TW_SECOND, count_fire, NULL)) == 0) {
    }
}

/* Otherwise the set would go, and the timer would stay. */
TEST(a_set_that_is_freed_while_it_grows_starts_no_timer) {
    struct tw_runtime *rt = runtime_on("manual");
    int result = 0;
    tw_handle id;
    fires = 0;
    assert_int_equal(tw_timers_new(&freed_set, rt, NULL), 0);
    assert_int_equal(tw_timer_after(freed_set, &first_of_freed, TW_SECOND, count_fire, NULL), 0);
    assert_int_equal(tw_timer_after(freed_set, &id, 0, start_until_set_is_freed, &result), 0);
    assert_int_equal(tw_runtime_advance(rt, 0), 0);
    assert_int_equal(result, -EPERM);
    pthread_join(freeing, NULL);
    assert_int_equal(freed, 0);
    assert_int_equal(tw_runtime_count(rt), 0);
    assert_int_equal(tw_runtime_advance(rt, 2 * TW_SECOND), 0);
    assert_int_equal(fires, 0);
    tw_runtime_free(rt);
}

/* --- on workers ------------------------------------------------------------------------------- */

static struct gate gate;
static void wait_in_task(UNUSED const struct tw_event *event, UNUSED void *arg) { pass(&gate); }

/* A fire on its way to a worker keeps the memory of its set. The child has no such fires. */
TEST(a_set_on_workers_leaks_nothing_in_a_child_either) {
    const struct holdings before = holdings_now();
    struct tw_runtime *rt = runtime_on("manual");
    struct tw_set_options options = {0};
    tw_handle id;
    assert_ok(tw_workers_new(&options.workers, rt, &(struct tw_workers_options){.threads = 1}));
    struct tw_timers *const set = new_set(rt, options);
    for (unsigned i = 0; i < 3; ++i)
        assert_int_equal(tw_timer_after(set, &id, 0, wait_in_task, NULL), 0);
    assert_ok(tw_runtime_advance(rt, 0));
    wait_for(gate.inside == 1);
    wait_until_others_sleep();
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        expect(tw_runtime_free(rt) == 0);
        expect(live_allocations() == before.allocations);
        leave(0);
    }
    assert_child_is_well(child);
    atomic_store(&gate.open, true);
    assert_ok(tw_workers_wait(options.workers));
    assert_int_equal(tw_timers_free(set), 0);
    tw_runtime_free(rt);
    assert_nothing_leaked(before);
}

/* --- one set after another ------------------------------------------------------------------------ */

static void use_and_free(uint32_t capacity, size_t storage, unsigned timers) {
    struct tw_timers *set =
        new_set(churned, (struct tw_set_options){.capacity = capacity, .storage = storage});
    tw_handle id;
    for (unsigned i = 0; i < timers; ++i)
        assert_int_equal(tw_timer_after(set, &id, (int64_t)(1 + i) * MS, note_fire, NULL), 0);
    if (timers % 2)
        assert_int_equal(tw_timer_cancel(set, id), 1);
    assert_int_equal(tw_timers_free(set), 0);
}

/* The timers of freed sets leave entries on the wheel, which name their cells. */
TEST(sets_that_are_made_and_freed_forever_do_not_take_more_and_more_memory) {
    int64_t after_first = 0;
    churned = virtual_runtime();
    for (unsigned round = 0; round < (SLOW ? 2000 : 20000); ++round) {
        use_and_free(round % 2 ? 100 : 0, 0, 77 + round % 2);
        use_and_free(0, 24, 3);
        if (round == 1)
            after_first = live_allocations();
    }
    assert_int_equal(live_allocations(), after_first);
    tw_runtime_free(churned);
}

/* Sets reuse the stores of freed sets of other sizes, so the memory is bounded by that of AT_A_TIME sets of
 * the largest size. Each growth of a store makes two allocations; up to 2,048 cells it grows six times. */
TEST(sets_of_changing_sizes_take_no_more_memory_than_as_many_of_the_largest) {
    enum { AT_A_TIME = 10, LARGEST = 2000 };
    struct tw_timers *sets[AT_A_TIME] = {NULL};
    uint64_t seed = 7;
    churned = virtual_runtime_with_one_lane();
    const int64_t before = live_allocations();
    for (unsigned round = 0; round < (SLOW ? 500 : 3000); ++round) {
        const uint64_t which = random_below(&seed, AT_A_TIME);
        assert_int_equal(tw_timers_free(sets[which]), 0);
        sets[which] =
            new_set(churned, (struct tw_set_options){.capacity = 1 + (uint32_t)random_below(&seed, LARGEST)});
    }
    assert_in_range(live_allocations() - before, 0, 1 + AT_A_TIME * (3 + 2 * 6 + 1));
    tw_runtime_free(churned);
}

/* A freed large set leaves its memory to whichever set grows, and not all of it to one small set. Only its
 * first 1,024 cells may go to a small set as a whole, and the next large set then makes four more
 * allocations. */
TEST(small_sets_do_not_keep_the_memory_of_large_ones) {
    enum { SMALL = 60, LARGE = 8000 };
    struct tw_timers *small[SMALL];
    tw_handle id;
    churned = virtual_runtime_with_one_lane();
    for (unsigned s = 0; s < SMALL; ++s)
        small[s] = new_set(churned, (struct tw_set_options){0});
    use_and_free(0, 0, LARGE);
    const int64_t of_large = live_allocations();
    for (unsigned s = 0; s < SMALL; ++s) {
        assert_int_equal(tw_timers_free(small[s]), 0);
        small[s] = new_set(churned, (struct tw_set_options){0});
        assert_int_equal(tw_timer_after(small[s], &id, MS, note_fire, NULL), 0);
        use_and_free(0, 0, LARGE);
    }
    assert_in_range(live_allocations() - of_large, 0, 4 * SMALL);
    tw_runtime_free(churned);
}

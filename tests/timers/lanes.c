/* Lanes: timers that different threads start stand on different wheels, and still fire in one order (P3);
 * calls that concern all timers of a set see each once. The tests run with a lane for each thread, and with
 * five lanes that timers take in turn. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "support/lanes.h"

#include "support/child.h"
#include "support/sanitized.h"
#include "timers_test.h"

#include <pthread.h>
#include <sched.h>

#include <tickwheel/keyed.h>
#include <tickwheel/observe.h>

enum { LANES = 5 };

/* --- processors ----------------------------------------------------------------------------- */

static cpu_set_t usable;

/* Pins this thread to the n-th processor that the process may use, counted around, so that threads run at the
 * same time. */
static void go_to_processor(unsigned n) {
    n %= (unsigned)CPU_COUNT(&usable);
    for (size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu)
        if (CPU_ISSET(cpu, &usable) && n-- == 0) {
            cpu_set_t one;
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            sched_setaffinity(0, sizeof one, &one);
            return;
        }
}

static int look_at_processors(UNUSED void **state) { return sched_getaffinity(0, sizeof usable, &usable); }

GROUP_FIXTURE(look_at_processors, NULL);

static int end_turns(UNUSED void **state) {
    choose_lanes();
    return 0;
}

static int take_turns(UNUSED void **state) {
    use_lanes_in_turn(LANES);
    return 0;
}

static int use_own_lanes(UNUSED void **state) {
    use_lanes_in_turn(0);
    return 0;
}

/* --- options -------------------------------------------------------------------------------- */

FIXTURE(use_own_lanes, end_turns);

TEST(p14_a_runtime_has_no_more_than_64_lanes) {
    struct tw_runtime *rt = NULL;
    const struct tw_runtime_options too_many = {.lanes = 65};
    assert_int_equal(tw_runtime_new(&rt, &too_many), -EINVAL);
    assert_string_equal(tw_explain(-EINVAL), "lanes is more than 64");
    assert_null(rt);
}

/* --- one order -------------------------------------------------------------------------------- */

enum { THREADS = 4, ARMS = 240, TICK = 20 * MS };

/* The threads arm one timer each in turn: timers are numbered in the order of arming. */
static struct {
    struct tw_runtime *rt;
    struct tw_timers *timers;
    struct tw_keyed *keyed;
    struct tw_node nodes[ARMS];
    unsigned numbers[ARMS];
    int64_t due_ns;
    bool is_manual;
    bool moves; /* each timer is armed for another tick first */
    atomic_uint token, failures;
    atomic_bool is_disturbed; /* a move took so long that it may have missed the common tick */
    unsigned fired[ARMS];
    atomic_uint fires;
} relay;

static void note_number(void *arg) {
    const unsigned place = atomic_load(&relay.fires); /* only the firing thread counts */
    if (place < ARMS)
        relay.fired[place] = *(unsigned *)arg;
    atomic_store(&relay.fires, place + 1);
}
static void note_node(UNUSED struct tw_node *node, void *arg) { note_number(arg); }
static void note_task(UNUSED const struct tw_event *event, void *arg) { note_number(arg); }

/* The order between lanes needs a clock that advances (P3). Some virtual machines' clocks show two processors
 * the same nanosecond. */
static void let_clock_advance(void) {
    const int64_t before = tw_runtime_now(relay.rt);
    while (!relay.is_manual && tw_runtime_now(relay.rt) == before) {
    }
}

static int arm_for(unsigned number, int64_t due_ns, tw_handle *handle) {
    const struct tw_when when = {.due_ns = due_ns, .absolute = 1};
    const struct tw_task task = {.fn = note_task, .arg = &relay.numbers[number]};
    if (number % 3 == 0)
        return tw_runtime_arm(relay.rt, &relay.nodes[number], &when);
    if (number % 3 == 1)
        return tw_keyed_set(relay.keyed, tw_key_number(number), &when, &task);
    return tw_timer_start(relay.timers, handle, &when, &task);
}

/* Moves a timer to the common tick, which begins a tick after the deadline. */
static int move_to_common(unsigned number, tw_handle handle) {
    const int64_t before = tw_runtime_now(relay.rt), delay = relay.due_ns - before;
    const int result = number % 3 == 0   ? tw_runtime_move(relay.rt, &relay.nodes[number], delay)
                       : number % 3 == 1 ? tw_keyed_move(relay.keyed, tw_key_number(number), delay)
                                         : tw_timer_move(relay.timers, handle, delay);
    if (tw_runtime_now(relay.rt) - before > TICK / 2)
        atomic_store(&relay.is_disturbed, true);
    return result;
}

static void *arm_in_turn(void *thread) {
    const unsigned own = *(unsigned *)thread;
    go_to_processor(own);
    for (unsigned number = own; number < ARMS; number += THREADS) {
        tw_handle handle = TW_NO_HANDLE;
        while (atomic_load(&relay.token) != number)
            sched_yield();
        int result = arm_for(number, relay.due_ns + (relay.moves ? 77 * TW_SECOND : 0), &handle);
        if (result >= 0 && relay.moves)
            result = move_to_common(number, handle);
        if (result < 0)
            atomic_fetch_add(&relay.failures, 1);
        let_clock_advance();
        atomic_fetch_add(&relay.token, 1);
    }
    return NULL;
}

static void begin_relay(const char *driver, bool moves, int64_t delay_ns) {
    memset(&relay, 0, sizeof relay);
    relay.rt = new_runtime((struct tw_runtime_options){.driver = driver, .tick_ns = TICK, .lanes = LANES});
    relay.timers = new_set(relay.rt, (struct tw_set_options){0});
    assert_int_equal(tw_keyed_new(&relay.keyed, relay.rt, NULL), 0);
    relay.is_manual = strcmp(driver, "manual") == 0;
    relay.moves = moves;
    for (unsigned i = 0; i < ARMS; ++i) {
        relay.numbers[i] = i;
        assert_int_equal(tw_node_init(&relay.nodes[i], note_node, &relay.numbers[i]), 0);
    }
    relay.due_ns = (tw_runtime_now(relay.rt) + delay_ns) / TICK * TICK + 1;
}

/* Returns true if all was armed in time, before the tick is due, and for that tick. */
static bool run_relay(void) {
    pthread_t threads[THREADS];
    unsigned own[THREADS];
    for (unsigned i = 0; i < THREADS; ++i) {
        own[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, arm_in_turn, &own[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; ++i)
        pthread_join(threads[i], NULL);
    const size_t count = tw_runtime_count(relay.rt);
    const bool is_in_time = tw_runtime_now(relay.rt) < relay.due_ns;
    assert_true(!is_in_time || (count == ARMS && relay.failures == 0));
    return is_in_time && !relay.is_disturbed;
}

static void assert_fired_in_order(void) {
    assert_int_equal(relay.fires, ARMS);
    for (unsigned i = 0; i < ARMS; ++i)
        assert_int_equal(relay.fired[i], i);
    tw_runtime_free(relay.rt);
}

/* Takes more time on a busy machine. */
static void arm_in_turn_and_fire(const char *driver, bool moves) {
    for (int64_t delay_ns = 200 * MS;; delay_ns *= 2) {
        begin_relay(driver, moves, delay_ns);
        if (!relay.is_manual)
            assert_ok(tw_runtime_start(relay.rt));
        if (run_relay())
            break;
        assert_true(delay_ns < 60 * TW_SECOND);
        tw_runtime_free(relay.rt);
    }
    if (relay.is_manual)
        assert_ok(tw_runtime_advance(relay.rt, relay.due_ns + TICK - tw_runtime_now(relay.rt)));
    wait_for(relay.fires >= ARMS);
    assert_fired_in_order();
}

#define ORDER_TESTS(suffix) \
    TEST(p3_timers_of_threads_that_pass_a_token_fire_in_its_order_##suffix) { \
        for (int moves = 0; moves < 2; ++moves) { \
            arm_in_turn_and_fire("epoll", moves); \
            arm_in_turn_and_fire("manual", moves); \
        } \
    }

ORDER_TESTS(by_thread)
FIXTURE(take_turns, end_turns);
ORDER_TESTS(in_turn)

/* --- calls of callbacks ---------------------------------------------------------------------- */

enum { CHILDREN = 2 * LANES };

static struct {
    struct tw_timers *set;
    unsigned started, failures;
} family;

static void start_child(void) {
    tw_handle id;
    unsigned *const number = &relay.numbers[family.started++];
    family.failures += tw_timer_after(family.set, &id, 0, note_task, number) != 0;
    let_clock_advance();
}

static void start_children(UNUSED const struct tw_event *event, UNUSED void *arg) {
    for (unsigned i = 0; i < CHILDREN; ++i)
        start_child();
}

/* Most of the lanes are made by the first callback, while its tick fires. */
TEST(p3_timers_that_a_callback_starts_in_other_lanes_for_its_own_tick_fire_in_order) {
    const char *const drivers[] = {"manual", "epoll"};
    for (unsigned d = 0; d < COUNT_OF(drivers); ++d) {
        tw_handle id;
        begin_relay(drivers[d], false, 0);
        family.set = relay.timers;
        family.started = family.failures = 0;
        assert_int_equal(tw_timer_after(family.set, &id, MS, start_children, NULL), 0);
        assert_int_equal(tw_timer_after(family.set, &id, MS, start_children, NULL), 0);
        if (relay.is_manual)
            assert_ok(tw_runtime_advance(relay.rt, TICK));
        else
            assert_ok(tw_runtime_start(relay.rt));
        wait_for(relay.fires >= 2 * CHILDREN);
        assert_int_equal(relay.fires, 2 * CHILDREN);
        assert_int_equal(family.failures, 0);
        for (unsigned i = 0; i < 2 * CHILDREN; ++i)
            assert_int_equal(relay.fired[i], i);
        tw_runtime_free(relay.rt);
    }
}

static void copy_and_arm(void *to, void *from) {
    memcpy(to, from, sizeof(unsigned *));
    const struct tw_when when = {.due_ns = relay.due_ns, .absolute = 1};
    assert_int_equal(tw_runtime_arm(relay.rt, &relay.nodes[0], &when), 0);
}
static void note_copied(UNUSED const struct tw_event *event, void *arg) { note_number(*(unsigned **)arg); }

/* The first timer takes lane 0, where the node will be, too. */
TEST(p3_a_timer_that_copy_arms_fires_before_the_timer_for_which_it_copies) {
    begin_relay("manual", false, MS);
    struct tw_timers *set = new_set(relay.rt, (struct tw_set_options){.storage = sizeof(unsigned *)});
    unsigned *const number = &relay.numbers[1];
    const struct tw_task task = {.fn = note_copied,
                                 .arg = (void *)&number, /* NOLINT: a pointer is what is copied */
                                 .arg_size = sizeof number,
                                 .copy = copy_and_arm};
    const struct tw_when when = {.due_ns = relay.due_ns};
    tw_handle id;
    assert_int_equal(tw_timer_after(set, &id, TW_SECOND, no_task, NULL), 0);
    assert_int_equal(tw_timer_start(set, &id, &when, &task), 0);
    assert_ok(tw_runtime_advance(relay.rt, relay.due_ns + TICK));
    assert_int_equal(relay.fires, 2);
    assert_int_equal(relay.fired[0], 0);
    assert_int_equal(relay.fired[1], 1);
    tw_runtime_free(relay.rt);
}

FIXTURE(use_own_lanes, end_turns);

/* --- calls on all timers of a set ------------------------------------------------------------ */

enum { STAYING = 100, CHURNERS = 2, OF_CHURNER = 8 };

static struct {
    struct tw_timers *timers;
    struct tw_keyed *keyed;
    struct probe staying[STAYING];
    unsigned visits[STAYING];
    atomic_bool over;
    atomic_uint failures, rounds;
} crowd;

static void *churn(void *thread) {
    const unsigned own = *(unsigned *)thread;
    go_to_processor(own);
    while (!atomic_load(&crowd.over)) {
        tw_handle ids[OF_CHURNER];
        for (unsigned i = 0; i < OF_CHURNER; ++i) {
            const struct tw_key key = tw_key_number(1000 * (own + 1) + i);
            int failed = tw_timer_after(crowd.timers, &ids[i], TW_SECOND * 1000, no_task, NULL) != 0;
            failed += tw_keyed_after(crowd.keyed, key, TW_SECOND * 1000, no_task, NULL) != 0;
            atomic_fetch_add(&crowd.failures, (unsigned)failed);
        }
        for (unsigned i = 0; i < OF_CHURNER; ++i) {
            (void)tw_timer_cancel(crowd.timers, ids[i]); /* a cancel_all may have been faster */
            (void)tw_keyed_cancel(crowd.keyed, tw_key_number(1000 * (own + 1) + i));
        }
        atomic_fetch_add(&crowd.rounds, 1);
    }
    return NULL;
}

static int note_visit(const struct tw_entry *entry, UNUSED void *arg) {
    if (entry->arg != NULL)
        ++crowd.visits[(struct probe *)entry->arg - crowd.staying];
    return 0;
}

static void assert_each_was_visited_once(void) {
    for (unsigned i = 0; i < STAYING; ++i)
        assert_int_equal(crowd.visits[i], 1);
    memset(crowd.visits, 0, sizeof crowd.visits);
}

static void start_staying(bool by_key) {
    for (unsigned i = 0; i < STAYING; ++i) {
        const struct tw_when when = {.due_ns = 1000 * TW_SECOND};
        struct tw_task task = task_of(&crowd.staying[i]);
        task.drop = NULL;
        assert_int_equal(by_key ? tw_keyed_set(crowd.keyed, tw_key_number(i), &when, &task)
                                : tw_timer_start(crowd.timers, &crowd.staying[i].id, &when, &task),
                         0);
    }
}

static void see_each_once(struct tw_runtime *rt) {
    const unsigned most = STAYING + CHURNERS * OF_CHURNER;
    for (unsigned round = 0; round < (SLOW ? 3 : 5); ++round) {
        for (unsigned by_key = 0; by_key < 2; ++by_key) {
            start_staying(by_key);
            const size_t count = by_key ? tw_keyed_count(crowd.keyed) : tw_timers_count(crowd.timers);
            assert_in_range(count, STAYING, most);
            assert_int_equal(by_key ? tw_keyed_each(crowd.keyed, note_visit, NULL)
                                    : tw_timers_each(crowd.timers, note_visit, NULL),
                             0);
            assert_each_was_visited_once();
            assert_int_equal(tw_runtime_each(rt, note_visit, NULL), 0);
            assert_each_was_visited_once();
            const int64_t cancelled = by_key ? tw_keyed_cancel_all(crowd.keyed, note_visit, NULL)
                                             : tw_timers_cancel_all(crowd.timers, note_visit, NULL);
            assert_in_range(cancelled, STAYING, most);
            assert_each_was_visited_once();
        }
    }
}

static void see_each_once_beside_churn(void) {
    struct tw_runtime *rt = started_runtime((struct tw_runtime_options){.driver = "epoll"});
    pthread_t threads[CHURNERS];
    unsigned own[CHURNERS];
    memset(&crowd, 0, sizeof crowd);
    crowd.timers = new_set(rt, (struct tw_set_options){0});
    assert_int_equal(tw_keyed_new(&crowd.keyed, rt, NULL), 0);
    for (unsigned i = 0; i < CHURNERS; ++i) {
        own[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, churn, &own[i]), 0);
    }
    wait_for(crowd.rounds > 0);
    see_each_once(rt);
    atomic_store(&crowd.over, true);
    for (unsigned i = 0; i < CHURNERS; ++i)
        pthread_join(threads[i], NULL);
    assert_int_equal(crowd.failures, 0);
    assert_int_equal(tw_runtime_count(rt), 0);
    tw_runtime_free(rt);
}

TEST(walks_counts_and_cancel_alls_see_each_timer_once_while_others_start_and_stop) {
    see_each_once_beside_churn();
}
FIXTURE(take_turns, end_turns);
TEST(walks_counts_and_cancel_alls_see_each_timer_once_while_others_start_and_stop_in_turn) {
    see_each_once_beside_churn();
}

/* --- freeing ----------------------------------------------------------------------------------- */

static atomic_uint fires_of_others, fires_of_freed;
static atomic_uint freed_sets;

static void count_other(UNUSED const struct tw_event *event, UNUSED void *arg) {
    atomic_fetch_add(&fires_of_others, 1);
}
static void count_freed(UNUSED const struct tw_event *event, void *number_of_set) {
    if ((uintptr_t)number_of_set < atomic_load(&freed_sets))
        atomic_fetch_add(&fires_of_freed, 1);
}

TEST(a_set_is_freed_while_timers_of_all_lanes_fire) {
    struct tw_runtime *rt =
        started_runtime((struct tw_runtime_options){.driver = "epoll", .tick_ns = MS / 10});
    struct tw_timers *others = new_set(rt, (struct tw_set_options){0});
    tw_handle id;
    for (unsigned i = 0; i < 2 * LANES; ++i)
        assert_int_equal(tw_timer_every(others, &id, MS / 10, TW_COALESCE, count_other, NULL), 0);
    atomic_store(&freed_sets, 0);
    for (uintptr_t number = 0; number < (SLOW ? 30 : 200); ++number) {
        struct tw_timers *set = new_set(rt, (struct tw_set_options){0});
        const unsigned before = fires_of_others;
        for (unsigned i = 0; i < 40; ++i)
            assert_int_equal(
                tw_timer_every(set, &id, (1 + i % 3) * MS / 10, TW_COALESCE, count_freed, (void *)number), 0);
        wait_for(fires_of_others != before);
        assert_int_equal(tw_timers_free(set), 0);
        atomic_store(&freed_sets, (unsigned)number + 1);
    }
    const unsigned at_the_end = fires_of_others;
    wait_for(fires_of_others >= at_the_end + 4 * LANES);
    assert_int_equal(fires_of_freed, 0);
    assert_int_equal(tw_runtime_count(rt), 2 * LANES);
    tw_runtime_free(rt);
}

/* --- fork ---------------------------------------------------------------------------------------- */

enum { OF_FORK = 4 * LANES };

static struct {
    struct tw_runtime *rt;
    struct tw_timers *set;
    unsigned fires;
    pid_t child;
} forked;

static void count_fire(UNUSED const struct tw_event *event, UNUSED void *arg) { ++forked.fires; }
static void fork_inside(UNUSED const struct tw_event *event, UNUSED void *arg) {
    ++forked.fires;
    forked.child = fork();
}

static void make_forking(tw_task_callback *first) {
    tw_handle id;
    forked.rt = virtual_runtime();
    forked.set = new_set(forked.rt, (struct tw_set_options){0});
    forked.fires = 0;
    for (unsigned i = 0; i < OF_FORK; ++i)
        assert_int_equal(tw_timer_after(forked.set, &id, MS, i == 0 ? first : count_fire, NULL), 0);
}

/* In the child: nothing fires, and then the runtime and the set work as new ones. */
static void revive_and_leave(unsigned fires) {
    tw_handle id;
    alarm(60);
    expect(forked.fires == fires);
    expect(tw_runtime_advance(forked.rt, MS) == -ECHILD);
    expect(tw_timer_after(forked.set, &id, 0, count_fire, NULL) == -ECHILD);
    expect(tw_timers_cancel_all(forked.set, NULL, NULL) == -ECHILD);
    expect(tw_runtime_after_fork(forked.rt) == 0);
    expect(forked.fires == fires);
    expect(tw_timers_count(forked.set) == 0 && tw_runtime_count(forked.rt) == 0);
    for (unsigned i = 0; i < OF_FORK; ++i)
        expect(tw_timer_after(forked.set, &id, MS, count_fire, NULL) == 0);
    expect(tw_timers_count(forked.set) == OF_FORK);
    expect(tw_runtime_advance(forked.rt, MS) == 0);
    expect(forked.fires == fires + OF_FORK);
    expect(tw_timers_free(forked.set) == 0);
    expect(tw_runtime_free(forked.rt) == 0);
    leave(0);
}

TEST(p13_a_child_fires_in_no_lane_until_it_is_revived) {
    make_forking(count_fire);
    const pid_t child = fork();
    if (child == 0)
        revive_and_leave(0);
    assert_child_is_well(child);
    assert_ok(tw_runtime_advance(forked.rt, MS));
    assert_int_equal(forked.fires, OF_FORK);
    tw_runtime_free(forked.rt);
}

TEST(p13_a_callback_that_forks_is_the_last_one_of_all_lanes_in_the_child) {
    make_forking(fork_inside);
    forked.child = -1;
    const int result = tw_runtime_advance(forked.rt, MS);
    if (forked.child == 0) {
        expect(result == -ECHILD);
        revive_and_leave(1);
    }
    assert_child_is_well(forked.child);
    assert_int_equal(result, 0);
    assert_int_equal(forked.fires, OF_FORK);
    tw_runtime_free(forked.rt);
}

/* Other threads start timers while this one forks, so a child may inherit lanes that are being made. */
static void *start_forever(void *over) {
    while (!atomic_load((atomic_bool *)over)) {
        tw_handle id;
        struct tw_timers *set = NULL;
        if (tw_timers_new(&set, forked.rt, NULL) != 0)
            continue;
        for (unsigned i = 0; i < LANES; ++i)
            IGNORE(tw_timer_after(set, &id, TW_SECOND, count_fire, NULL));
        IGNORE(tw_timers_free(set));
    }
    return NULL;
}

TEST_IF(!SANITIZED, p13_a_child_is_whole_although_lanes_were_being_made) {
    for (unsigned round = 0; round < 30; ++round) {
        atomic_bool over = false;
        pthread_t thread;
        forked.fires = 0;
        forked.rt = virtual_runtime();
        forked.set = new_set(forked.rt, (struct tw_set_options){0});
        assert_int_equal(pthread_create(&thread, NULL, start_forever, &over), 0);
        if (round % 3 != 0)
            pause_ms(round % 3);
        const pid_t child = fork();
        if (child == 0)
            revive_and_leave(0);
        atomic_store(&over, true);
        pthread_join(thread, NULL);
        assert_child_is_well(child);
        tw_runtime_free(forked.rt);
    }
}

/* --- capacity ------------------------------------------------------------------------------------ */

TEST(a_capacity_is_exact_whatever_lanes_there_are) {
    enum { CAPACITY = 7 };
    struct tw_runtime *rt = virtual_runtime();
    struct tw_timers *set = new_set(rt, (struct tw_set_options){.capacity = CAPACITY});
    struct tw_keyed *keyed = NULL;
    tw_handle ids[CAPACITY + 1];
    assert_int_equal(tw_keyed_new(&keyed, rt, &(struct tw_set_options){.capacity = CAPACITY}), 0);
    for (unsigned round = 0; round < 3; ++round) {
        for (unsigned i = 0; i <= CAPACITY; ++i) {
            const int expected = i < CAPACITY ? 0 : -ENOSPC;
            assert_int_equal(tw_timer_after(set, &ids[i], MS, no_task, NULL), expected);
            assert_int_equal(tw_keyed_after(keyed, tw_key_number(i), MS, no_task, NULL), expected);
        }
        assert_int_equal(tw_keyed_after(keyed, tw_key_number(3), MS, no_task, NULL), 0); /* replaces one */
        assert_int_equal(tw_timer_cancel(set, ids[round]), 1);
        assert_int_equal(tw_timer_after(set, &ids[round], MS, no_task, NULL), 0);
        assert_int_equal(tw_timers_count(set), CAPACITY);
        assert_int_equal(tw_keyed_count(keyed), CAPACITY);
        assert_ok(tw_runtime_advance(rt, MS));
        assert_int_equal(tw_runtime_count(rt), 0);
    }
    tw_runtime_free(rt);
}

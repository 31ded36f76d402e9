/* P3 for timers that the library keeps: they fire in the order of their ticks, and on one tick in the order
 * in which they were armed or moved, across all sets of a runtime and its nodes. Random
 * operations through all levels of the wheel, compared with an oracle, and the cases that these rarely meet.
 */
#include "timers_test.h"

#include "fuzz/play.h"
#include "support/environment.h"
#include "support/sanitized.h"

/* Ends the program at once, because a failure in a callback must not jump out of the callback. */
#define check(condition) \
    do { \
        if (!(condition)) { \
            print_error("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            abort(); \
        } \
    } while (0)

static struct played play_seed(uint64_t seed) {
    enum { BYTES = 4096 };
    static uint8_t bytes[BYTES];
    static char name[64];
    snprintf(name, sizeof name, "TW_SEED=%llu", (unsigned long long)seed);
    play_name = name;
    const size_t size = 64 + (size_t)random_below(&seed, BYTES - 64);
    for (size_t i = 0; i < size; ++i)
        bytes[i] = (uint8_t)random_next(&seed);
    return play_timers(bytes, size);
}

/* Each life has its own random bytes. A failure prints its seed, and TW_SEED plays that life alone. */
TEST(p3_random_lives_are_as_the_oracle_says) {
    const uint64_t first = seed_of_run();
    const uint64_t lives = is_set("TW_SEED") ? 1 : SLOW ? 400 : 2000;
    struct played all = {0, 0};
    for (uint64_t seed = first; seed < first + lives; ++seed) {
        const struct played one = play_seed(seed);
        all.timers += one.timers;
        all.fires += one.fires;
    }
    print_message("%llu timers, %llu fires\n", (unsigned long long)all.timers, (unsigned long long)all.fires);
    assert_true(all.timers > 10 * lives && all.fires > 10 * lives);
}

static struct tw_runtime *rt;
static struct tw_timers *sets[2];

/* --- one tick ------------------------------------------------------------------------------------- */

static unsigned places[5000], count;
static void note_place(UNUSED const struct tw_event *event, void *arg) { places[count++] = *(unsigned *)arg; }
static void note_node_place(UNUSED struct tw_node *node, void *arg) { places[count++] = *(unsigned *)arg; }

/* Asserts that all timers fired, in the order of their numbers. */
static void assert_fired_in_order(unsigned all) {
    assert_int_equal(count, all);
    for (unsigned i = 0; i < all; ++i)
        assert_int_equal(places[i], i);
}

/* The wheel sorts late entries of a slot when the slot opens: here thousands, moved in random order. */
TEST(p3_thousands_that_were_postponed_to_one_tick_fire_in_the_order_of_that) {
    static tw_handle ids[COUNT_OF(places)];
    static unsigned numbers[COUNT_OF(places)], position[COUNT_OF(places)];
    uint64_t random = 5;
    rt = virtual_runtime();
    sets[0] = new_set(rt, (struct tw_set_options){0});
    sets[1] = new_set(rt, (struct tw_set_options){0});
    for (unsigned i = 0; i < COUNT_OF(ids); ++i) {
        numbers[i] = i;
        const int64_t delay = (1 + (int64_t)random_below(&random, 500)) * MS;
        assert_int_equal(tw_timer_after(sets[i % 2], &ids[i], delay, note_place, &numbers[i]), 0);
    }
    for (unsigned i = 0; i < COUNT_OF(ids); ++i)
        position[i] = i;
    for (unsigned i = COUNT_OF(ids) - 1; i > 0; --i) {
        const unsigned other = (unsigned)random_below(&random, i + 1), swapped = position[i];
        position[i] = position[other];
        position[other] = swapped;
    }
    for (unsigned i = 0; i < COUNT_OF(ids); ++i)
        assert_int_equal(tw_timer_move(sets[position[i] % 2], ids[position[i]], 600 * MS), 0);
    count = 0;
    assert_ok(tw_runtime_advance(rt, 600 * MS - 1));
    assert_int_equal(count, 0);
    assert_ok(tw_runtime_advance(rt, 1));
    assert_int_equal(count, COUNT_OF(ids));
    for (unsigned i = 0; i < COUNT_OF(ids); ++i)
        assert_int_equal(places[i], position[i]);
    tw_runtime_free(rt);
}

/* Nodes and timers in runs of random lengths; half of them were moved from another tick. */
TEST(p3_nodes_and_timers_of_one_tick_fire_in_the_order_of_arming) {
    static struct tw_node nodes[COUNT_OF(places)];
    static unsigned numbers[COUNT_OF(places)];
    uint64_t random = 7;
    rt = virtual_runtime();
    sets[0] = new_set(rt, (struct tw_set_options){0});
    tw_handle id;
    for (unsigned i = 0; i < COUNT_OF(places); ++i) {
        const int64_t delay = (1 + (int64_t)random_below(&random, 500)) * MS;
        const bool is_moved = random_below(&random, 2) == 0;
        numbers[i] = i;
        if (random_below(&random, 1 + i % 7) == 0) {
            assert_ok(tw_node_init(&nodes[i], note_node_place, &numbers[i]));
            assert_ok(tw_runtime_after(rt, &nodes[i], is_moved ? delay : 600 * MS));
            if (is_moved)
                assert_ok(tw_runtime_move(rt, &nodes[i], 600 * MS));
        } else {
            assert_int_equal(
                tw_timer_after(sets[0], &id, is_moved ? delay : 600 * MS, note_place, &numbers[i]), 0);
            if (is_moved)
                assert_int_equal(tw_timer_move(sets[0], id, 600 * MS), 0);
        }
    }
    count = 0;
    assert_ok(tw_runtime_advance(rt, 600 * MS));
    assert_fired_in_order(COUNT_OF(places));
    tw_runtime_free(rt);
}

static tw_handle neighbour_of_node;
static void stop_neighbour(UNUSED struct tw_node *node, UNUSED void *arg) {
    assert_int_equal(tw_timer_cancel(sets[0], neighbour_of_node), 1);
}

TEST(p4_a_moved_timer_fires_though_a_node_of_its_tick_stops_the_only_other_one) {
    struct probe probe = {0};
    struct tw_node node;
    rt = virtual_runtime();
    sets[0] = new_set(rt, (struct tw_set_options){0});
    assert_ok(tw_node_init(&node, stop_neighbour, NULL));
    start_after(sets[0], &probe, 5 * MS);
    assert_int_equal(tw_timer_move(sets[0], probe.id, 10 * MS), 0);
    assert_ok(tw_runtime_after(rt, &node, 10 * MS));
    assert_int_equal(tw_timer_after(sets[0], &neighbour_of_node, 10 * MS, note_place, NULL), 0);
    assert_ok(tw_runtime_advance(rt, 10 * MS));
    assert_int_equal(probe.fires, 1);
    tw_runtime_free(rt);
}

static struct tw_node first_node;
static void arm_first_node(const struct tw_event *event, void *arg) {
    const struct tw_when when = {.due_ns = 15 * MS, .absolute = 1};
    note_place(event, arg);
    check(tw_runtime_arm(rt, &first_node, &when) == 0);
}

TEST(p3_the_first_node_of_all_fires_in_its_turn_though_time_has_passed_it) {
    static unsigned numbers[] = {0, 1, 2};
    tw_handle id;
    rt = virtual_runtime();
    sets[0] = new_set(rt, (struct tw_set_options){0});
    assert_ok(tw_node_init(&first_node, note_node_place, &numbers[1]));
    assert_int_equal(tw_timer_after(sets[0], &id, 10 * MS, arm_first_node, &numbers[0]), 0);
    assert_int_equal(tw_timer_after(sets[0], &id, 20 * MS, note_place, &numbers[2]), 0);
    count = 0;
    assert_ok(tw_runtime_leap(rt, 30 * MS));
    assert_fired_in_order(3);
    tw_runtime_free(rt);
}

static unsigned started_inside;
static void make_first_set(UNUSED struct tw_node *node, UNUSED void *arg) {
    tw_handle id;
    sets[0] = new_set(rt, (struct tw_set_options){0});
    check(tw_timer_after(sets[0], &id, 0, note_place, &started_inside) == 0);
}

/* Before this set, the wheel had only nodes. */
TEST(p2_a_timer_of_the_first_set_of_all_fires_in_its_turn_though_a_callback_has_made_the_set) {
    struct tw_node node;
    rt = virtual_runtime();
    assert_ok(tw_node_init(&node, make_first_set, NULL));
    assert_ok(tw_runtime_after(rt, &node, 10 * MS));
    count = 0;
    assert_ok(tw_runtime_advance(rt, 10 * MS));
    assert_int_equal(count, 1);
    tw_runtime_free(rt);
}

/* A node or a timer by handle arms another node or timer, with a node pending and without. */
static struct tw_node inner_node;
static bool inner_is_node;
static void arm_another(void) {
    static unsigned number = 1;
    tw_handle id;
    places[count++] = 0;
    check(tw_node_init(&inner_node, note_node_place, &number) == 0);
    check(inner_is_node ? tw_runtime_after(rt, &inner_node, 0) == 0
                        : tw_timer_after(sets[0], &id, 0, note_place, &number) == 0);
}
static void arm_from_node(UNUSED struct tw_node *node, UNUSED void *arg) { arm_another(); }
static void arm_from_task(UNUSED const struct tw_event *event, UNUSED void *arg) { arm_another(); }

TEST(p3_a_timer_that_a_callback_arms_without_a_delay_fires_in_the_same_turn) {
    for (unsigned kinds = 0; kinds < 8; ++kinds) {
        struct tw_node outer, far;
        tw_handle id;
        rt = virtual_runtime();
        sets[0] = new_set(rt, (struct tw_set_options){0});
        assert_ok(tw_node_init(&outer, arm_from_node, NULL));
        assert_ok(tw_node_init(&far, note_node_place, NULL));
        inner_is_node = (kinds & 1) != 0;
        assert_ok((kinds & 2) != 0 ? tw_runtime_after(rt, &outer, 10 * MS)
                                   : tw_timer_after(sets[0], &id, 10 * MS, arm_from_task, NULL));
        if ((kinds & 4) != 0)
            assert_ok(tw_runtime_after(rt, &far, TW_SECOND));
        count = 0;
        assert_ok(tw_runtime_leap(rt, 20 * MS));
        assert_fired_in_order(2);
        tw_runtime_free(rt);
    }
}

/* P8: nodes count, too, when they fire between records. */
TEST(p8_a_turn_ends_though_nodes_and_records_alternate) {
    enum { BUDGET = 64, GROUPS = 64, NODES = 60 };
    static struct tw_node nodes[GROUPS][NODES];
    static unsigned number;
    tw_handle id;
    const struct tw_task task = {.fn = note_place, .arg = &number};
    rt = new_runtime((struct tw_runtime_options){.driver = "timerfd", .tick_ns = 1000, .budget = BUDGET});
    sets[0] = new_set(rt, (struct tw_set_options){0});
    struct tw_when when = {.due_ns = tw_runtime_now(rt) + MS, .absolute = 1};
    for (unsigned g = 0; g < GROUPS; ++g) {
        for (unsigned i = 0; i < NODES; ++i) {
            assert_ok(tw_node_init(&nodes[g][i], note_node_place, &number));
            assert_ok(tw_runtime_arm(rt, &nodes[g][i], &when));
        }
        when.due_ns += 1000;
        assert_int_equal(tw_timer_start(sets[0], &id, &when, &task), 0);
        when.due_ns += 1000;
    }
    wait_for(tw_runtime_now(rt) > when.due_ns);
    count = 0;
    while (tw_runtime_count(rt) != 0) {
        const unsigned before = count;
        assert_ok(tw_runtime_dispatch(rt));
        assert_in_range(count - before, 0, BUDGET);
    }
    assert_int_equal(count, GROUPS * (NODES + 1));
    tw_runtime_free(rt);
}

/* P3 for timers that the library keeps: they fire in the order of their ticks, and on one tick in the order
 * in which they were armed or moved, across all sets of a runtime; nodes of the tick come first. Random calls
 * beside a plain list, through all levels of the wheel. */
#include "handles_test.h"

#include "support/sanitized.h"

#include <tickwheel/keyed.h>

enum { ITEMS = 160, SETS = 3, MOST_BITS = 44 };

enum kind { HANDLE, KEY, NODE };

struct item {
    enum kind kind;
    struct tw_handles *set;
    tw_handle id;
    struct tw_node node;
    bool pending;
    int64_t due;
    uint64_t order; /* of arming */
    int64_t delay, period;
    unsigned fires_left; /* of a periodic one */
};

static struct tw_runtime *rt;
static struct tw_handles *sets[SETS];
static struct tw_keyed *table;
static struct item items[ITEMS];
static uint64_t seed, last_order;
static unsigned fires;
static bool is_inside; /* a callback */

static struct tw_key key_of(const struct item *it) { return tw_key_number((uint64_t)(it - items)); }

/* Fails in callbacks too, which must not be left by a jump. */
#define check(condition) \
    do { \
        if (!(condition)) { \
            print_error("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            abort(); \
        } \
    } while (0)

/* --- the model ----------------------------------------------------------------------------------- */

static bool is_before(const struct item *a, const struct item *b) {
    if (a->due != b->due)
        return a->due < b->due;
    if ((a->kind == NODE) != (b->kind == NODE))
        return a->kind == NODE;
    return a->order < b->order;
}

static struct item *first_pending(void) {
    struct item *first = NULL;
    for (struct item *it = items; it < items + ITEMS; ++it)
        if (it->pending && (first == NULL || is_before(it, first)))
            first = it;
    return first;
}

static void arm(struct item *it, int64_t due) {
    it->pending = true;
    it->due = due;
    it->order = ++last_order;
}

/* A tick is 1 ns, and nothing is rounded. */
static void arm_after(struct item *it, int64_t delay) { arm(it, tw_runtime_now(rt) + delay); }

/* --- random calls --------------------------------------------------------------------------------- */

/* On every level, and often on a tick that is busy already. */
static int64_t random_delay(const struct item *it) {
    const uint64_t range = UINT64_C(1) << random_below(&seed, MOST_BITS);
    int64_t delay = (int64_t)random_below(&seed, range);
    const struct item *other = &items[random_below(&seed, ITEMS)];
    if (other->pending && random_below(&seed, 3) == 0 && other->due >= tw_runtime_now(rt))
        delay = other->due - tw_runtime_now(rt);
    /* a node that is armed for a tick while records of that tick fire comes after them */
    return is_inside && it->kind == NODE && delay == 0 ? 1 : delay;
}

static void on_fire(const struct tw_event *event, void *arg);
static void on_node(struct tw_node *node, void *arg);

static void start_one(struct item *it) {
    struct tw_when when = {.due_ns = random_delay(it)};
    const struct tw_task task = {.fn = on_fire, .arg = it};
    it->period = 0;
    it->delay = when.due_ns;
    if (random_below(&seed, 4) == 0) {
        it->period = it->delay = when.period_ns =
            1 + (int64_t)random_below(&seed, 1 << random_below(&seed, 30));
        it->fires_left = when.fires = 1 + (unsigned)random_below(&seed, 5);
    }
    const int64_t now = tw_runtime_now(rt);
    if (random_below(&seed, 8) == 0 && it->kind != NODE) {
        when.absolute = 1;
        when.due_ns += now;
    }
    if (it->period == 0 && when.absolute)
        it->delay = -1;
    arm(it, when.absolute ? when.due_ns : now + when.due_ns);
    if (it->kind == NODE)
        check(tw_runtime_arm(rt, &it->node, &when) == 0);
    else if (it->kind == KEY)
        check(tw_keyed_set(table, key_of(it), &when, &task) == 0);
    else
        check(tw_handle_start(it->set, &it->id, &when, &task) == 0);
}

static void move_one(struct item *it) {
    const int64_t delay = random_delay(it);
    if (it->kind == NODE)
        check(tw_runtime_move(rt, &it->node, delay) == 0);
    else if (it->kind == KEY)
        check(tw_keyed_move(table, key_of(it), delay) == 0);
    else
        check(tw_handle_move(it->set, it->id, delay) == 0);
    arm_after(it, delay);
    if (it->period == 0)
        it->delay = delay;
}

static void postpone_one(struct item *it) {
    const int64_t delay = random_delay(it);
    if (it->kind == NODE)
        return; /* its place is not fixed */
    check((it->kind == KEY ? tw_keyed_postpone(table, key_of(it), delay)
                           : tw_handle_postpone(it->set, it->id, delay)) == 0);
    if (tw_runtime_now(rt) + delay > it->due)
        arm_after(it, delay);
}

static void start_one_again(struct item *it) {
    if (it->kind == NODE)
        return;
    const int result = it->kind == KEY ? tw_keyed_again(table, key_of(it)) : tw_handle_again(it->set, it->id);
    check(result == (it->delay < 0 ? -EINVAL : 0));
    if (result == 0)
        arm_after(it, it->delay);
}

static void stop_one(struct item *it) {
    if (it->kind == NODE)
        check(tw_runtime_cancel(rt, &it->node) == 1);
    else if (it->kind == KEY)
        check(tw_keyed_remove(table, key_of(it)) == 1);
    else
        check(tw_handle_stop(it->set, it->id) == 1);
    it->pending = false;
}

static struct item *firing;

static void one_call(void) {
    struct item *it = &items[random_below(&seed, ITEMS)];
    static void (*const calls[])(struct item *) = {move_one, move_one, postpone_one, start_one_again,
                                                   stop_one};
    if (it == firing)
        return;
    if (it->pending)
        calls[random_below(&seed, COUNT_OF(calls))](it);
    else
        start_one(it);
}

/* --- firing ------------------------------------------------------------------------------------------ */

static void fire(struct item *it, int64_t due) {
    const struct item *first = first_pending();
    if (first != it)
        print_error("item %d, armed as %llu, fired before item %d, armed as %llu\n", (int)(it - items),
                    (unsigned long long)it->order, (int)(first - items), (unsigned long long)first->order);
    check(first == it);
    check(it->due <= tw_runtime_now(rt));
    check(due == it->due);
    ++fires;
    it->pending = false;
    if (it->period != 0 && --it->fires_left != 0)
        arm(it, it->due + it->period);
    firing = it;
    is_inside = true;
    while (random_below(&seed, 3) == 0)
        one_call();
    is_inside = false;
    firing = NULL;
}

static void on_fire(const struct tw_event *event, void *arg) { fire(arg, event->due_ns); }
static void on_node(UNUSED struct tw_node *node, void *arg) { fire(arg, tw_runtime_due(rt)); }

static void assert_nothing_is_late(void) {
    const struct item *first = first_pending();
    assert_true(first == NULL || first->due > tw_runtime_now(rt));
    size_t pending = 0;
    for (unsigned i = 0; i < ITEMS; ++i)
        pending += items[i].pending;
    assert_int_equal(tw_runtime_count(rt), pending);
}

/* Far, near, and next to what is due. */
static void let_time_pass(void) {
    const struct item *first = first_pending();
    int64_t by = (int64_t)random_below(&seed, UINT64_C(1) << random_below(&seed, MOST_BITS));
    if (first != NULL && random_below(&seed, 2) == 0)
        by = first->due - tw_runtime_now(rt) - (int64_t)random_below(&seed, 2);
    if (by < 0)
        by = 0;
    assert_ok((random_below(&seed, 2) == 0 ? tw_runtime_advance : tw_runtime_leap)(rt, by));
    assert_nothing_is_late();
}

static void run(uint64_t with_seed, unsigned budget, unsigned steps) {
    const struct tw_handles_options kinds[SETS] = {{0}, {.capacity = ITEMS}, {.storage = 16}};
    seed = with_seed;
    last_order = 0;
    rt = new_runtime((struct tw_runtime_options){.driver = "manual", .tick_ns = 1, .budget = budget});
    for (unsigned s = 0; s < SETS; ++s)
        sets[s] = new_set(rt, kinds[s]);
    assert_int_equal(tw_keyed_new(&table, rt, NULL), 0);
    for (unsigned i = 0; i < ITEMS; ++i) {
        items[i] = (struct item){.kind = i % 8 < 5 ? HANDLE : i % 8 < 7 ? KEY : NODE, .set = sets[i % SETS]};
        assert_ok(tw_node_init(&items[i].node, on_node, &items[i]));
    }
    for (unsigned step = 0; step < steps; ++step) {
        for (uint64_t calls = random_below(&seed, 20); calls != 0; --calls)
            one_call();
        let_time_pass();
    }
    assert_ok(tw_runtime_free(rt));
}

TEST(p3_all_fire_in_the_order_of_ticks_and_of_arming) {
    const unsigned runs = SLOW ? 20 : 60;
    fires = 0;
    for (uint64_t with_seed = 1; with_seed <= runs; ++with_seed)
        run(with_seed, 0, 300);
    assert_true(fires > 800 * runs);
}

/* Turns end in the middle of a tick. */
TEST(p3_all_fire_in_order_also_with_small_budgets) {
    for (uint64_t with_seed = 1; with_seed <= (SLOW ? 10 : 30); ++with_seed)
        run(with_seed, 1 + (unsigned)with_seed % 5, 300);
}

/* --- one tick ------------------------------------------------------------------------------------- */

static unsigned places[5000], count;
static void note_place(UNUSED const struct tw_event *event, void *arg) { places[count++] = *(unsigned *)arg; }
static void note_node_place(UNUSED struct tw_node *node, void *arg) { places[count++] = *(unsigned *)arg; }

/* Each number of a timer is its place. */
static void assert_fired_in_order(unsigned all) {
    assert_int_equal(count, all);
    for (unsigned i = 0; i < all; ++i)
        assert_int_equal(places[i], i);
}

/* Late entries of one slot are sorted when it opens: here thousands, moved in random order. */
TEST(p3_thousands_that_were_postponed_to_one_tick_fire_in_the_order_of_that) {
    static tw_handle ids[COUNT_OF(places)];
    static unsigned numbers[COUNT_OF(places)], position[COUNT_OF(places)];
    uint64_t random = 5;
    rt = virtual_runtime();
    sets[0] = new_set(rt, (struct tw_handles_options){0});
    sets[1] = new_set(rt, (struct tw_handles_options){0});
    for (unsigned i = 0; i < COUNT_OF(ids); ++i) {
        numbers[i] = i;
        const int64_t delay = (1 + (int64_t)random_below(&random, 500)) * MS;
        assert_int_equal(tw_handle_after(sets[i % 2], &ids[i], delay, note_place, &numbers[i]), 0);
    }
    for (unsigned i = 0; i < COUNT_OF(ids); ++i)
        position[i] = i;
    for (unsigned i = COUNT_OF(ids) - 1; i > 0; --i) {
        const unsigned other = (unsigned)random_below(&random, i + 1), swapped = position[i];
        position[i] = position[other];
        position[other] = swapped;
    }
    for (unsigned i = 0; i < COUNT_OF(ids); ++i)
        assert_int_equal(tw_handle_postpone(sets[position[i] % 2], ids[position[i]], 600 * MS), 0);
    count = 0;
    assert_ok(tw_runtime_advance(rt, 600 * MS - 1));
    assert_int_equal(count, 0);
    assert_ok(tw_runtime_advance(rt, 1));
    assert_int_equal(count, COUNT_OF(ids));
    for (unsigned i = 0; i < COUNT_OF(ids); ++i)
        assert_int_equal(places[i], position[i]);
    tw_runtime_free(rt);
}

/* It left its entry in the slot, ahead of that of `older`. */
TEST(p3_a_timer_that_was_moved_away_holds_up_no_older_one) {
    static unsigned numbers[] = {0, 1, 2};
    tw_handle moved_away, older, younger;
    rt = virtual_runtime();
    sets[0] = new_set(rt, (struct tw_handles_options){0});
    assert_int_equal(tw_handle_after(sets[0], &moved_away, 10 * MS, note_place, &numbers[2]), 0);
    assert_int_equal(tw_handle_after(sets[0], &older, 10 * MS, note_place, &numbers[0]), 0);
    assert_int_equal(tw_handle_after(sets[0], &younger, 5 * MS, note_place, &numbers[1]), 0);
    assert_int_equal(tw_handle_move(sets[0], younger, 10 * MS), 0);
    assert_int_equal(tw_handle_move(sets[0], moved_away, 20 * MS), 0);
    count = 0;
    assert_ok(tw_runtime_advance(rt, 20 * MS));
    assert_fired_in_order(3);
    tw_runtime_free(rt);
}

static tw_handle neighbour_of_node;
static void stop_neighbour(UNUSED struct tw_node *node, UNUSED void *arg) {
    assert_int_equal(tw_handle_stop(sets[0], neighbour_of_node), 1);
}

/* The node fires when the records of its tick are in order already. */
TEST(p4_a_postponed_timer_fires_though_a_node_of_its_tick_stops_the_only_other_one) {
    struct probe it = {0};
    struct tw_node node;
    rt = virtual_runtime();
    sets[0] = new_set(rt, (struct tw_handles_options){0});
    assert_ok(tw_node_init(&node, stop_neighbour, NULL));
    start_after(sets[0], &it, 5 * MS);
    assert_int_equal(tw_handle_postpone(sets[0], it.id, 10 * MS), 0);
    assert_int_equal(tw_handle_after(sets[0], &neighbour_of_node, 10 * MS, note_place, NULL), 0);
    assert_ok(tw_runtime_after(rt, &node, 10 * MS));
    assert_ok(tw_runtime_advance(rt, 10 * MS));
    assert_int_equal(it.fires, 1);
    tw_runtime_free(rt);
}

/* Until then the wheel of nodes was not looked at. */
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
    sets[0] = new_set(rt, (struct tw_handles_options){0});
    assert_ok(tw_node_init(&first_node, note_node_place, &numbers[1]));
    assert_int_equal(tw_handle_after(sets[0], &id, 10 * MS, arm_first_node, &numbers[0]), 0);
    assert_int_equal(tw_handle_after(sets[0], &id, 20 * MS, note_place, &numbers[2]), 0);
    count = 0;
    assert_ok(tw_runtime_leap(rt, 30 * MS));
    assert_fired_in_order(3);
    tw_runtime_free(rt);
}

static unsigned started_inside;
static void make_first_set(UNUSED struct tw_node *node, UNUSED void *arg) {
    tw_handle id;
    sets[0] = new_set(rt, (struct tw_handles_options){0});
    check(tw_handle_after(sets[0], &id, 0, note_place, &started_inside) == 0);
}

/* Until then the runtime had no keeper that it could have asked. */
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

/* P8: nodes count, too, when they fire between records. */
TEST(p8_a_turn_ends_though_nodes_and_records_alternate) {
    enum { BUDGET = 64, GROUPS = 64, NODES = 60 };
    static struct tw_node nodes[GROUPS][NODES];
    static unsigned number;
    tw_handle id;
    const struct tw_task task = {.fn = note_place, .arg = &number};
    rt = new_runtime((struct tw_runtime_options){.driver = "timerfd", .tick_ns = 1000, .budget = BUDGET});
    sets[0] = new_set(rt, (struct tw_handles_options){0});
    struct tw_when when = {.due_ns = tw_runtime_now(rt) + MS, .absolute = 1};
    for (unsigned g = 0; g < GROUPS; ++g) {
        for (unsigned i = 0; i < NODES; ++i) {
            assert_ok(tw_node_init(&nodes[g][i], note_node_place, &number));
            assert_ok(tw_runtime_arm(rt, &nodes[g][i], &when));
        }
        when.due_ns += 1000;
        assert_int_equal(tw_handle_start(sets[0], &id, &when, &task), 0);
        when.due_ns += 1000;
    }
    wait_for(tw_runtime_now(rt) > when.due_ns);
    count = 0;
    while (tw_runtime_count(rt) != 0) {
        const unsigned before = count;
        assert_ok(tw_runtime_dispatch(rt));
        assert_in_range(count - before, 0, GROUPS * NODES / 4);
    }
    assert_int_equal(count, GROUPS * (NODES + 1));
    tw_runtime_free(rt);
}

TEST(p3_a_leap_fires_nodes_and_records_tick_by_tick_and_nodes_first) {
    enum { TICKS = 700, PER_TICK = 3 };
    static struct tw_node nodes[TICKS];
    static unsigned numbers[TICKS * PER_TICK];
    tw_handle id;
    rt = virtual_runtime();
    sets[0] = new_set(rt, (struct tw_handles_options){0});
    sets[1] = new_set(rt, (struct tw_handles_options){0});
    for (unsigned i = 0; i < TICKS * PER_TICK; ++i)
        numbers[i] = i;
    for (unsigned t = TICKS; t-- != 0;) { /* the records of each tick are armed before its node */
        const int64_t delay = (int64_t)(t + 1) * MS;
        assert_int_equal(tw_handle_after(sets[t % 2], &id, delay, note_place, &numbers[t * PER_TICK + 1]), 0);
        assert_int_equal(tw_handle_after(sets[1 - t % 2], &id, delay, note_place, &numbers[t * PER_TICK + 2]),
                         0);
        assert_ok(tw_node_init(&nodes[t], note_node_place, &numbers[t * PER_TICK]));
        assert_ok(tw_runtime_after(rt, &nodes[t], delay));
    }
    count = 0;
    assert_ok(tw_runtime_leap(rt, TICKS * MS));
    assert_fired_in_order(TICKS * PER_TICK);
    tw_runtime_free(rt);
}

/* What a callback arms for the tick that is firing fires in the same turn, behind all others. */
static void arm_for_this_tick(struct probe *it) {
    start_after(it->set, it->other, 0);
    assert_int_equal(it->other->fires, 0);
}

TEST(p3_what_is_started_for_the_tick_that_fires_comes_last_on_it) {
    struct probe last, neighbour, first, of_next_tick;
    rt = virtual_runtime();
    sets[0] = new_set(rt, (struct tw_handles_options){0});
    sets[1] = new_set(rt, (struct tw_handles_options){0});
    last = neighbour = of_next_tick = (struct probe){.rt = rt};
    first = (struct probe){.rt = rt, .inside = arm_for_this_tick, .other = &last};
    start_after(sets[0], &first, 10 * MS);
    start_after(sets[1], &neighbour, 10 * MS);
    start_after(sets[0], &of_next_tick, 11 * MS);
    assert_ok(tw_runtime_advance(rt, 10 * MS));
    assert_int_equal(first.fires + neighbour.fires + last.fires, 3);
    assert_int_equal(last.due_ns, 10 * MS);
    assert_int_equal(of_next_tick.fires, 0);
    tw_runtime_free(rt);
}

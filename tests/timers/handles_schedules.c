/* Timers with a custom schedule: a user's function returns the next deadline. On virtual time. */
#include "handles_test.h"

/* A probe with a schedule. */
struct planned {
    struct probe probe; /* first, so that callbacks can use its address as their argument */
    unsigned asked, ends_after;
    int64_t asked_with[16];
    int64_t (*plan)(struct planned *, int64_t due_ns);
    void (*inside_next)(struct planned *);
};

static int64_t ask(int64_t due_ns, void *arg) {
    struct planned *it = arg;
    it->asked_with[it->asked++ % COUNT_OF(it->asked_with)] = due_ns;
    if (it->inside_next != NULL)
        it->inside_next(it);
    return it->ends_after != 0 && it->asked > it->ends_after ? TW_NO_DEADLINE : it->plan(it, due_ns);
}

static struct tw_task plan_of(struct planned *it) {
    return (struct tw_task){.fn = note_fire, .arg = it, .next = ask, .drop = note_drop};
}

static struct tw_handles *new_plan(struct tw_runtime *rt, struct planned *it) {
    struct tw_handles *set = new_set(rt, (struct tw_handles_options){.capacity = 4});
    const struct tw_task task = plan_of(it);
    it->probe.set = set;
    it->probe.rt = rt;
    assert_int_equal(tw_handle_start(set, &it->probe.id, NULL, &task), 0);
    return set;
}

static void assert_ended(struct planned *it, unsigned fires) {
    assert_int_equal(it->probe.fires, fires);
    assert_int_equal(it->probe.drops, 1);
    assert_int_equal(tw_handle_stop(it->probe.set, it->probe.id), -ESTALE);
    assert_int_equal(tw_handles_count(it->probe.set), 0);
}

/* --- uses of schedules ----------------------------------------------------------------------- */

static const int64_t intervals[] = {MS, 3 * MS, 9 * MS, 2 * MS};

static int64_t next_interval(struct planned *it, int64_t due_ns) {
    return it->asked > COUNT_OF(intervals) ? TW_NO_DEADLINE : due_ns + intervals[it->asked - 1];
}

TEST(a_list_of_intervals) {
    struct planned it = {.plan = next_interval};
    struct tw_runtime *rt = virtual_runtime();
    assert_ok(tw_runtime_advance(rt, 100 * MS));
    new_plan(rt, &it);
    int64_t due = 100 * MS;
    assert_int_equal(it.asked_with[0], due); /* the present reading */
    for (unsigned i = 0; i < COUNT_OF(intervals); ++i) {
        due += intervals[i];
        assert_int_equal(tw_handle_remaining(it.probe.set, it.probe.id), intervals[i]);
        assert_ok(tw_runtime_advance(rt, intervals[i]));
        assert_int_equal(it.probe.fires, i + 1);
        assert_int_equal(it.probe.due_ns, due);
        assert_int_equal(it.asked_with[i + 1], due);
    }
    assert_ended(&it, COUNT_OF(intervals));
    tw_runtime_free(rt);
}

static int64_t every_7_ms(UNUSED struct planned *it, int64_t due_ns) { return due_ns + 7 * MS; }

/* Late fires do not shift later ones, and deadlines that have passed fire at once. */
TEST(counting_from_due_does_not_drift) {
    struct planned it = {.plan = every_7_ms};
    struct tw_runtime *rt = virtual_runtime();
    new_plan(rt, &it);
    for (unsigned stall = 1; stall < 50; ++stall) {
        assert_ok(tw_runtime_leap(rt, stall * MS));
        assert_int_equal(it.probe.fires, tw_runtime_now(rt) / (7 * MS));
        assert_int_equal(it.probe.due_ns, it.probe.fires * 7 * MS);
        assert_int_equal(it.probe.overruns, 0);
    }
    tw_runtime_free(rt);
    assert_int_equal(it.probe.drops, 1);
}

static int64_t twice_as_late(struct planned *it, int64_t due_ns) { return due_ns + (MS << it->asked); }

TEST(exponential_back_off) {
    struct planned it = {.plan = twice_as_late, .ends_after = 10};
    struct tw_runtime *rt = virtual_runtime();
    new_plan(rt, &it);
    for (unsigned n = 1; n <= 10; ++n) {
        const int64_t due = ((MS << n) - MS) * 2; /* 2 + 4 + ... + 2^n */
        assert_ok(tw_runtime_advance(rt, due - 1 - tw_runtime_now(rt)));
        assert_int_equal(it.probe.fires, n - 1);
        assert_ok(tw_runtime_advance(rt, 1));
        assert_int_equal(it.probe.fires, n);
    }
    assert_ended(&it, 10);
    tw_runtime_free(rt);
}

#define HOUR (3600 * TW_SECOND)
#define DAY (24 * HOUR)

/* At 6:30 of each day, but not at weekends; 1970 began on a Thursday. */
static int64_t on_workdays(UNUSED struct planned *it, int64_t due_ns) {
    int64_t at = due_ns - due_ns % DAY + 6 * HOUR + HOUR / 2;
    while (at <= due_ns || (at / DAY + 4) % 7 % 6 == 0) /* 0 and 6: Sunday and Saturday */
        at += DAY;
    return at;
}

TEST(a_calendar_on_the_wall_clock) {
    struct planned it = {.plan = on_workdays};
    struct tw_runtime *rt = new_runtime(
        (struct tw_runtime_options){.driver = "manual", .clock = TW_CLOCK_WALL, .tick_ns = TW_SECOND});
    assert_ok(tw_runtime_set_wall(rt, 7 * HOUR)); /* Thursday, after the hour */
    new_plan(rt, &it);
    static const int64_t days[] = {1, 4, 5, 6, 7, 8, 11};
    for (unsigned i = 0; i < COUNT_OF(days); ++i) {
        const int64_t due = days[i] * DAY + 6 * HOUR + HOUR / 2;
        /* as if the machine was suspended until then */
        assert_ok(tw_runtime_set_wall(rt, due - TW_SECOND));
        assert_ok(tw_runtime_advance(rt, 0));
        assert_int_equal(it.probe.fires, i);
        assert_ok(tw_runtime_advance(rt, TW_SECOND));
        assert_int_equal(it.probe.fires, i + 1);
        assert_int_equal(it.probe.due_ns, due);
    }
    tw_runtime_free(rt);
}

static int64_t in_the_past(UNUSED struct planned *it, int64_t due_ns) { return due_ns - TW_SECOND; }

TEST(a_deadline_that_has_passed_fires_at_once) {
    struct planned it = {.plan = in_the_past, .ends_after = 5};
    struct tw_runtime *rt = virtual_runtime();
    assert_ok(tw_runtime_advance(rt, MS));
    new_plan(rt, &it); /* negative readings count as 0 */
    assert_ok(tw_runtime_advance(rt, 0));
    assert_ended(&it, 5);
    tw_runtime_free(rt);
}

TEST(the_first_deadline_may_be_given) {
    struct planned it = {.plan = every_7_ms, .ends_after = 2};
    struct tw_runtime *rt = virtual_runtime();
    struct tw_handles *set = new_set(rt, (struct tw_handles_options){0});
    const struct tw_task task = plan_of(&it);
    const struct tw_when first = {.due_ns = 2 * MS};
    it.probe.set = set;
    assert_int_equal(tw_handle_start(set, &it.probe.id, &first, &task), 0);
    assert_int_equal(it.asked, 0);
    assert_ok(tw_runtime_advance(rt, 2 * MS));
    assert_int_equal(it.probe.fires, 1);
    assert_int_equal(it.asked_with[0], 2 * MS);
    assert_ok(tw_runtime_advance(rt, 7 * MS));
    assert_int_equal(it.probe.fires, 2);
    assert_ok(tw_runtime_advance(rt, TW_SECOND));
    assert_int_equal(it.asked, 3);
    assert_ended(&it, 3);
    tw_runtime_free(rt);
}

TEST(a_schedule_without_a_first_deadline_does_not_start) {
    struct planned it = {.plan = next_interval, .asked = COUNT_OF(intervals), .probe.id = 99};
    struct tw_runtime *rt = virtual_runtime();
    struct tw_handles *set = new_set(rt, (struct tw_handles_options){.capacity = 1});
    const struct tw_task task = plan_of(&it);
    for (unsigned again = 0; again < 3; ++again)
        assert_int_equal(tw_handle_start(set, &it.probe.id, NULL, &task), -ENOENT);
    assert_int_equal(it.probe.id, 99);
    assert_int_equal(it.probe.drops, 0);
    assert_int_equal(tw_handles_count(set), 0);
    assert_ok(tw_runtime_advance(rt, TW_SECOND));
    tw_runtime_free(rt);
    assert_int_equal(it.probe.fires + it.probe.drops, 0);
}

/* --- calls on them --------------------------------------------------------------------------- */

TEST(stop_between_fires) {
    struct planned it = {.plan = every_7_ms};
    struct tw_runtime *rt = virtual_runtime();
    new_plan(rt, &it);
    assert_ok(tw_runtime_advance(rt, 20 * MS));
    assert_int_equal(tw_handle_stop(it.probe.set, it.probe.id), 1);
    assert_ok(tw_runtime_advance(rt, TW_SECOND));
    assert_int_equal(it.asked, 3);
    assert_ended(&it, 2);
    tw_runtime_free(rt);
}

TEST(move_between_fires_moves_the_one_to_come) {
    struct planned it = {.plan = every_7_ms};
    struct tw_runtime *rt = virtual_runtime();
    new_plan(rt, &it);
    assert_int_equal(tw_handle_move(it.probe.set, it.probe.id, 30 * MS), 0);
    assert_ok(tw_runtime_advance(rt, 29 * MS));
    assert_int_equal(it.probe.fires, 0);
    assert_ok(tw_runtime_advance(rt, 8 * MS));
    assert_int_equal(it.probe.fires, 2); /* at 30 and at 37 */
    assert_int_equal(it.probe.due_ns, 37 * MS);
    tw_runtime_free(rt);
}

static void use_in_callback(struct probe *it) {
    assert_int_equal(tw_handle_remaining(it->set, it->id), 0);
    assert_int_equal(tw_handle_move(it->set, it->id, MS), -EBUSY); /* `next` was not asked yet */
    if (it->fires == 2)
        it->answer = tw_handle_stop_wait(it->set, it->id);
}

TEST(stop_and_move_in_the_callback) {
    struct planned it = {.plan = every_7_ms, .probe.inside = use_in_callback};
    struct tw_runtime *rt = virtual_runtime();
    new_plan(rt, &it);
    assert_ok(tw_runtime_advance(rt, TW_SECOND));
    assert_int_equal(it.probe.answer, 1);
    assert_int_equal(it.asked, 3); /* not asked after the third fire */
    assert_ended(&it, 3);
    tw_runtime_free(rt);
}

static void use_in_next(struct planned *it) {
    struct probe *probe = &it->probe;
    if (it->asked == 1)
        return; /* it is being started */
    assert_int_equal(tw_handle_remaining(probe->set, probe->id), 0);
    assert_int_equal(tw_handle_move(probe->set, probe->id, MS), -EBUSY);
    if (it->asked < 4)
        return;
    probe->answer = tw_handle_stop_wait(probe->set, probe->id);
    assert_int_equal(probe->drops, 0);
    assert_int_equal(tw_handle_stop(probe->set, probe->id), -ESTALE);
}

TEST(stop_and_move_in_next) {
    struct planned it = {.plan = every_7_ms, .inside_next = use_in_next};
    struct tw_runtime *rt = virtual_runtime();
    new_plan(rt, &it);
    assert_ok(tw_runtime_advance(rt, TW_SECOND));
    assert_int_equal(it.probe.answer, 1);
    assert_int_equal(it.asked, 4);
    assert_ended(&it, 3);
    tw_runtime_free(rt);
}

static void start_another(struct planned *it) {
    if (it->asked == 2)
        start_after(it->probe.set, it->probe.other, MS);
}

TEST(next_may_start_timers) {
    struct planned it = {.plan = every_7_ms, .inside_next = start_another, .ends_after = 2};
    struct probe other = {.answer = 0};
    struct tw_runtime *rt = virtual_runtime();
    it.probe.other = &other;
    new_plan(rt, &it);
    assert_ok(tw_runtime_advance(rt, 100 * MS));
    assert_int_equal(other.fires, 1);
    assert_ended(&it, 2);
    tw_runtime_free(rt);
}

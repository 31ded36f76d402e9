/* P14 on a runtime: each call returns its documented errors and changes nothing. */
#include "runtime/node_calls.h"
#include "support/meaning.h"

#include <tickwheel/keyed.h>
#include <tickwheel/observe.h>
#include <tickwheel/timers.h>
#include <tickwheel/workers.h>

#include <limits.h>

static struct tw_runtime *rt, *other; /* `other` has two timelines */
static struct tw_node idle, pending, periodic, away, retired;
static struct tw_node raw; /* all zeroes */
static int64_t now;

static void never(UNUSED struct tw_node *node, UNUSED void *arg) { fail_msg("a callback was called"); }

static int begin(UNUSED void **state) {
    rt = new_runtime((struct tw_runtime_options){.driver = "manual", .tick_ns = 1000});
    other = new_runtime((struct tw_runtime_options){.driver = "manual", .clock = TW_CLOCK_WALL});
    assert_int_equal(tw_runtime_advance(rt, TW_SECOND), 0);
    now = TW_SECOND;
    memset(&raw, 0, sizeof raw);
    struct tw_node *nodes[] = {&idle, &pending, &periodic, &away, &retired};
    for (unsigned i = 0; i < COUNT_OF(nodes); ++i)
        tw_node_init(nodes[i], never, NULL);
    tw_runtime_after(rt, &pending, 5 * TW_SECOND);
    tw_runtime_every(rt, &periodic, 7 * TW_SECOND, TW_COALESCE);
    tw_runtime_after(other, &away, TW_SECOND);
    tw_runtime_retire(rt, &retired);
    return 0;
}

static int end_all(UNUSED void **state) {
    tw_runtime_free(rt);
    tw_runtime_free(other);
    return 0;
}

static struct everything {
    struct tw_node nodes[6];
    size_t count, count_elsewhere;
    int64_t remaining[2], reading;
} saved, found;

static void copy(struct everything *to) {
    const struct tw_node *nodes[] = {&idle, &pending, &periodic, &away, &retired, &raw};
    memset(to, 0, sizeof *to);
    for (unsigned i = 0; i < COUNT_OF(nodes); ++i)
        memcpy(&to->nodes[i], nodes[i], sizeof *nodes[i]);
    to->count = tw_runtime_count(rt);
    to->count_elsewhere = tw_runtime_count(other);
    to->remaining[0] = tw_runtime_remaining(rt, &pending);
    to->remaining[1] = tw_runtime_remaining(rt, &periodic);
    to->reading = tw_runtime_now(rt);
}

#define REFUSED(call, error) \
    do { \
        copy(&saved); \
        const int result = (call); \
        if (result != (error)) \
            fail_msg("%s returned %d, not %s", #call, result, #error); \
        copy(&found); \
        if (memcmp(&saved, &found, sizeof saved) != 0) \
            fail_msg("%s changed something", #call); \
        assert_true(strcmp(tw_explain(result), "unknown error") != 0); \
    } while (0)

/* As REFUSED, for the calls on a node from `first` to before `end`. */
static void assert_refused(unsigned first, unsigned end, struct tw_runtime *by, struct tw_node *node,
                           int error) {
    for (unsigned i = first; i < end; ++i) {
        copy(&saved);
        const int result = node_calls[i].call(by, node);
        copy(&found);
        if (result != error || memcmp(&saved, &found, sizeof saved) != 0)
            fail_msg("%s returned %d, not %d, or changed something", node_calls[i].name, result, error);
    }
}

FIXTURE(begin, end_all);

TEST(p14_null_and_forgotten_arguments) {
    struct tw_runtime *const runtimes[] = {NULL, rt, other};
    struct tw_node *const nodes[] = {&idle, NULL, NULL};
    struct tw_stats stats;
    for (unsigned i = 0; i < COUNT_OF(nodes); ++i) {
        assert_refused(0, NODE_CALLS, runtimes[i], nodes[i], -EINVAL);
        assert_int_equal(tw_runtime_remaining(runtimes[i], nodes[i]), TW_NO_DEADLINE);
    }
    assert_refused(0, ARMING_CALLS, rt, &raw, -EINVAL);
    assert_refused(ARMING_CALLS, TIMING_CALLS, rt, &raw, -ENOENT);
    assert_refused(TIMING_CALLS, NODE_CALLS - 1, rt, &raw, 0);
    assert_int_equal(tw_runtime_retire(rt, &raw), 0);
    assert_int_equal(tw_runtime_remaining(rt, &raw), TW_NO_DEADLINE);
    memset(&raw, 0, sizeof raw);
    REFUSED(tw_runtime_arm(rt, &idle, NULL), -EINVAL);
    REFUSED(tw_runtime_start(NULL), -EINVAL);
    REFUSED(tw_runtime_stop(NULL), -EINVAL);
    REFUSED(tw_runtime_after_fork(NULL), -EINVAL);
    REFUSED(tw_runtime_stats(NULL, &stats), -EINVAL);
    REFUSED(tw_runtime_stats(rt, NULL), -EINVAL);
    REFUSED(tw_runtime_check(NULL, NULL, NULL), -EINVAL);
    REFUSED(tw_runtime_watch(NULL, 0, 1, NULL, NULL), -EINVAL);
    REFUSED(tw_runtime_watch_modify(NULL, 0, 1), -EINVAL);
    REFUSED(tw_runtime_unwatch(NULL, 0), -EINVAL);
    REFUSED(tw_runtime_fd(NULL), -EINVAL);
    REFUSED(tw_runtime_dispatch(NULL), -EINVAL);
    REFUSED(tw_runtime_advance(NULL, 1), -EINVAL);
    REFUSED(tw_runtime_leap(NULL, 1), -EINVAL);
    REFUSED(tw_runtime_set_wall(NULL, 1), -EINVAL);
    assert_int_equal(tw_runtime_free(NULL), 0);
    assert_int_equal(tw_runtime_now(NULL), TW_NO_DEADLINE);
    assert_int_equal(tw_runtime_due(NULL), TW_NO_DEADLINE);
    assert_int_equal(tw_runtime_overruns(NULL), 0);
    assert_int_equal(tw_runtime_count(NULL), 0);
    assert_null(tw_driver_named(NULL));
    assert_null(tw_driver_named(""));
    assert_null(tw_driver_named("Sleep"));
}

TEST(p14_times_and_schedules_out_of_range) {
    static const struct tw_when bad[] = {
        {.due_ns = -1},
        {.due_ns = INT64_MIN},
        {.due_ns = -1, .absolute = 1},
        {.slack_ns = -1},
        {.period_ns = -1000},
        {.period_ns = 1}, /* shorter than the tick */
        {.period_ns = 999},
        {.period_ns = 1000, .missed = (enum tw_missed)(TW_BURST + 1)},
        {.period_ns = 1000, .missed = (enum tw_missed)(-1)},
        {.period_ns = 1000, .fires = TW_FIRES_MAX + 1},
        {.missed = (enum tw_missed)3},
        {.missed = TW_BURST}, /* without a period */
        {.fires = 1},
    };
    for (unsigned i = 0; i < COUNT_OF(bad); ++i) {
        REFUSED(tw_runtime_arm(rt, &idle, &bad[i]), -EINVAL);
        REFUSED(tw_runtime_arm(rt, &pending, &bad[i]), -EINVAL);
    }
    REFUSED(tw_runtime_after(rt, &pending, -1), -EINVAL);
    REFUSED(tw_runtime_after(rt, &pending, INT64_MIN), -EINVAL);
    REFUSED(tw_runtime_at(rt, &pending, -1), -EINVAL);
    REFUSED(tw_runtime_every(rt, &periodic, 0, TW_BURST), -EINVAL);
    REFUSED(tw_runtime_every(rt, &periodic, -1000, TW_BURST), -EINVAL);
    REFUSED(tw_runtime_every(rt, &periodic, 999, TW_BURST), -EINVAL);
    REFUSED(tw_runtime_every(rt, &periodic, 1000, (enum tw_missed)9), -EINVAL);
    REFUSED(tw_runtime_move(rt, &pending, -1), -EINVAL);
    REFUSED(tw_runtime_postpone(rt, &pending, -1), -EINVAL);
    REFUSED(tw_runtime_advance(rt, -1), -EINVAL);
    REFUSED(tw_runtime_leap(rt, -1), -EINVAL);
    REFUSED(tw_runtime_advance(rt, INT64_MAX), -ERANGE);
    REFUSED(tw_runtime_leap(rt, INT64_MAX), -ERANGE);
    REFUSED(tw_runtime_set_wall(rt, -1), -EOPNOTSUPP); /* `rt` has no wall clock */
}

TEST(p14_nodes_that_are_elsewhere_idle_or_retired) {
    assert_refused(0, NODE_CALLS, rt, &away, -EBUSY);
    assert_refused(0, NODE_CALLS, other, &pending, -EBUSY);
    assert_refused(0, ARMING_CALLS, rt, &retired, -EPERM);
    REFUSED(tw_runtime_move(rt, &idle, 1), -ENOENT);
    REFUSED(tw_runtime_move(rt, &retired, 1), -ENOENT);
    REFUSED(tw_runtime_postpone(rt, &idle, 1), -ENOENT);
    assert_int_equal(tw_runtime_remaining(rt, &away), TW_NO_DEADLINE);
    assert_int_equal(tw_runtime_remaining(rt, &idle), TW_NO_DEADLINE);
    assert_int_equal(tw_runtime_cancel(rt, &idle), 0);
}

TEST(p14_options_out_of_range) {
    static const struct {
        struct tw_runtime_options options;
        int error;
    } bad[] = {
        {{.tick_ns = -1}, -EINVAL},
        {{.tick_ns = 3600 * TW_SECOND + 1}, -EINVAL},
        {{.slack_ns = -1}, -EINVAL},
        {{.priority = -1}, -EINVAL},
        {{.priority = 100}, -EINVAL},
        {{.clock = (enum tw_clock)(TW_CLOCK_VIRTUAL + 1)}, -EINVAL},
        {{.clock = (enum tw_clock)(-1)}, -EINVAL},
        {{.thread_name = "sixteen letters!"}, -EINVAL},
    };
    for (unsigned i = 0; i < COUNT_OF(bad); ++i) {
        struct tw_runtime *made = (struct tw_runtime *)&raw;
        const int result = tw_runtime_new(&made, &bad[i].options);
        if (result != bad[i].error)
            fail_msg("row %u: %d, not %d", i, result, bad[i].error);
        assert_ptr_equal(made, &raw);
    }
    assert_int_equal(tw_runtime_new(NULL, NULL), -EINVAL);
    struct tw_runtime *made = NULL;
    assert_int_equal(tw_runtime_new(&made, NULL), 0);
    tw_runtime_free(made);
    const struct tw_runtime_options most = {
        .thread_name = "fifteen letters", .tick_ns = 3600 * TW_SECOND, .priority = 99};
    assert_int_equal(tw_runtime_new(&made, &most), 0);
    tw_runtime_free(made);
}

/* Each refusal names the argument at fault, also after another refusal with the same errno. */
#define EXPLAINED(call, words) \
    do { \
        const char *const said = tw_explain(call); \
        if (strstr(said, words) == NULL) \
            fail_msg("%s: \"%s\" has no \"%s\"", #call, said, words); \
    } while (0)

TEST(p14_refusals_name_the_argument) {
    const struct tw_when short_one = {.period_ns = 500},
                         fires = {.period_ns = 1000, .fires = TW_FIRES_MAX + 1}, fires_once = {.fires = 1},
                         misses_once = {.missed = TW_DELAY};
    struct tw_runtime *made = NULL;
    EXPLAINED(tw_runtime_new(&made, &(struct tw_runtime_options){.driver = "sundial"}), "no driver");
    EXPLAINED(tw_runtime_new(&made, &(struct tw_runtime_options){.tick_ns = -1}), "tick_ns");
    EXPLAINED(tw_runtime_new(&made, &(struct tw_runtime_options){.priority = 100}), "priority");
    EXPLAINED(tw_runtime_new(&made, &(struct tw_runtime_options){.clock = TW_CLOCK_VIRTUAL}), "clock");
    EXPLAINED(tw_runtime_after(NULL, &idle, 1), "runtime is null");
    EXPLAINED(tw_runtime_after(rt, NULL, 1), "node is null");
    EXPLAINED(tw_runtime_after(rt, &raw, 1), "tw_node_init was forgotten");
    EXPLAINED(tw_runtime_after(rt, &idle, -1), "delay is negative");
    EXPLAINED(tw_runtime_at(rt, &idle, -1), "deadline is negative");
    EXPLAINED(tw_runtime_every(rt, &idle, 0, TW_COALESCE), "period is 0");
    EXPLAINED(tw_runtime_every(rt, &idle, -1, TW_COALESCE), "period is negative");
    EXPLAINED(tw_runtime_every(rt, &idle, 1000, (enum tw_missed)9), "missed");
    EXPLAINED(tw_runtime_arm(rt, &idle, NULL), "when is null");
    EXPLAINED(tw_runtime_arm(rt, &idle, &short_one), "shorter than the runtime's tick");
    EXPLAINED(tw_runtime_arm(rt, &idle, &fires), "fires");
    EXPLAINED(tw_runtime_arm(rt, &idle, &fires_once), "fires is set, but there is no period");
    EXPLAINED(tw_runtime_arm(rt, &idle, &misses_once), "missed is set, but there is no period");
    EXPLAINED(tw_runtime_move(rt, &idle, 1), "not pending");
    EXPLAINED(tw_runtime_cancel(NULL, NULL), "runtime is null");
    EXPLAINED(tw_runtime_cancel(rt, &away), "another runtime");
    EXPLAINED(tw_runtime_after(rt, &retired, 1), "retired");
    EXPLAINED(tw_runtime_advance(rt, -1), "time");
    EXPLAINED(tw_runtime_start(rt), "does not wait");
    EXPLAINED(tw_runtime_fd(rt), "no descriptor");
    EXPLAINED(tw_runtime_watch(rt, 0, 1, NULL, NULL), "function is null");
    EXPLAINED(tw_runtime_stats(rt, NULL), "stats is null");
}

static void on_event(UNUSED const struct tw_event *event, UNUSED void *arg) { fail_msg("it fired"); }

TEST(p14_refusals_of_timers_and_workers_name_the_argument) {
    const struct tw_task none = {0}, large = {.fn = on_event, .arg = rt, .arg_size = 8};
    const struct tw_when when = {.due_ns = 1};
    const struct tw_set_options one = {.capacity = 1};
    struct tw_workers *workers = NULL;
    struct tw_timers *handles = NULL, *foreign = NULL;
    struct tw_keyed *keyed = NULL;
    tw_handle handle = 0;
    EXPLAINED(tw_workers_new(&workers, rt, &(struct tw_workers_options){.threads = TW_WORKERS_MAX + 1}),
              "threads");
    assert_ok(tw_workers_new(&workers, other, NULL));
    EXPLAINED(tw_timers_new(&foreign, rt, &(struct tw_set_options){.workers = workers}), "another runtime");
    assert_ok(tw_timers_new(&handles, rt, &one));
    assert_ok(tw_keyed_new(&keyed, rt, NULL));
    EXPLAINED(tw_timer_after(NULL, &handle, 1, on_event, NULL), "set or table is null");
    EXPLAINED(tw_timer_after(handles, NULL, 1, on_event, NULL), "handle");
    EXPLAINED(tw_timer_after(handles, &handle, 1, NULL, NULL), "function is null");
    EXPLAINED(tw_timer_after(handles, &handle, -1, on_event, NULL), "delay is negative");
    EXPLAINED(tw_timer_start(handles, &handle, &when, NULL), "task is null");
    EXPLAINED(tw_timer_start(handles, &handle, &when, &none), "function is null");
    EXPLAINED(tw_timer_start(handles, &handle, &when, &large), "larger than the storage");
    EXPLAINED(tw_timer_cancel(handles, 12345), "handle");
    assert_ok(tw_timer_after(handles, &handle, TW_SECOND, on_event, NULL));
    EXPLAINED(tw_timer_after(handles, &(tw_handle){0}, 1, on_event, NULL), "as many timers");
    assert_int_equal(tw_timer_cancel(handles, handle), 1);
    EXPLAINED(tw_timer_cancel(handles, handle), "the timer is gone");
    EXPLAINED(tw_keyed_cancel(keyed, tw_key_string("unknown")), "there is no timer under this key");
    EXPLAINED(tw_keyed_after(keyed, tw_key_bytes(NULL, 1), 1, on_event, NULL), "bytes are null");
    EXPLAINED(tw_keyed_cancel(keyed, tw_key_bytes("", TW_KEY_MAX + 1)), "longer than TW_KEY_MAX");
    EXPLAINED(tw_workers_free(NULL), "no error");
}

/* Calls that succeed leave the explanation alone. For an error other than that of the last refusal,
 * tw_explain says what the number means in general. */
static int refuse_as_a_visitor(UNUSED const struct tw_entry *entry, UNUSED void *arg) { return -EINVAL; }

TEST(p14_explanations_are_of_the_last_refusal_alone) {
    assert_int_equal(tw_runtime_after(rt, &idle, -1), -EINVAL);
    assert_int_equal(tw_runtime_cancel(rt, &pending), 1);
    tw_runtime_free(virtual_runtime());
    EXPLAINED(-EINVAL, "delay is negative");
    assert_ok(tw_runtime_after(rt, &pending, TW_SECOND));
    assert_int_equal(tw_runtime_each(rt, refuse_as_a_visitor, NULL), -EINVAL);
    assert_string_equal(tw_explain(-EINVAL), meaning_of(-EINVAL));
    assert_string_equal(tw_explain(-ENOENT), meaning_of(-ENOENT));
    assert_int_equal(tw_runtime_move(rt, &idle, 1), -ENOENT);
    assert_string_equal(tw_explain(-EINVAL), meaning_of(-EINVAL));
    assert_string_equal(tw_explain(-9999), "unknown error");
    assert_string_equal(tw_explain(INT_MIN), "unknown error");
    assert_string_equal(tw_explain(0), "no error");
}

TEST(p14_every_documented_error_has_words) {
    static const int documented[] = {-EINVAL, -ECHILD, -EBUSY,  -EPERM,    -ENOENT, -EOPNOTSUPP,
                                     -ENOMEM, -EMFILE, -ENFILE, -EALREADY, -EAGAIN, -EEXIST,
                                     -EBADF,  -ENOSPC, -ERANGE, -ESHUTDOWN};
    for (unsigned i = 0; i < COUNT_OF(documented); ++i)
        assert_true(strlen(meaning_of(documented[i])) > 10 &&
                    strcmp(meaning_of(documented[i]), "unknown error") != 0);
    assert_string_equal(meaning_of(-9999), "unknown error");
    assert_string_equal(meaning_of(INT_MIN), "unknown error");
    assert_string_equal(meaning_of(0), "no error");
    assert_string_equal(meaning_of(7), "no error");
}

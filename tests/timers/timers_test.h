/* Shared by the tests of handles: a timer that records what happens to it. */
#ifndef TICKWHEEL_TESTS_TIMERS_TEST_H
#define TICKWHEEL_TESTS_TIMERS_TEST_H

#include "support/runtime_test.h"
#include "support/timer_remaining.h"

#include <stdbool.h>

#include <tickwheel/timers.h>
#include <tickwheel/workers.h>

#define MS TW_MILLISECOND

/* The argument of a timer. */
struct probe {
    tw_handle id;
    struct tw_timers *set;
    atomic_uint fires, drops;
    int64_t due_ns; /* of the last fire, from its event */
    uint64_t overruns;
    int64_t fired_at;
    struct tw_runtime *rt;
    void (*inside)(struct probe *); /* called by the callback; may be null */
    int answer;                     /* result of `inside` */
    struct probe *other;            /* used by `inside` */
};

static inline void note_fire(const struct tw_event *event, void *arg) {
    struct probe *probe = arg;
    probe->due_ns = event->due_ns;
    probe->overruns = event->overruns;
    probe->fired_at = probe->rt != NULL ? tw_runtime_now(probe->rt) : TW_NO_DEADLINE;
    if (probe->inside != NULL)
        probe->inside(probe);
    atomic_fetch_add(&probe->fires, 1);
}

static inline void note_drop(void *arg) { atomic_fetch_add(&((struct probe *)arg)->drops, 1); }

static inline struct tw_task task_of(struct probe *probe) {
    return (struct tw_task){.fn = note_fire, .arg = probe, .drop = note_drop};
}

/* Every call that takes a handle refuses it. */
static inline void assert_refused(struct tw_timers *set, tw_handle id, int error) {
    assert_int_equal(tw_timer_cancel(set, id), error);
    assert_int_equal(tw_timer_cancel_wait(set, id), error);
    assert_int_equal(tw_timer_move(set, id, 0), error);
    assert_int_equal(tw_timer_again(set, id), error);
    assert_int_equal(tw_timer_get(set, id, NULL), error);
}

static inline struct tw_timers *new_set(struct tw_runtime *rt, struct tw_set_options options) {
    struct tw_timers *set = NULL;
    assert_int_equal(tw_timers_new(&set, rt, &options), 0);
    return set;
}

static inline void start(struct tw_timers *set, struct probe *probe, struct tw_when when) {
    const struct tw_task task = task_of(probe);
    probe->set = set;
    assert_int_equal(tw_timer_start(set, &probe->id, &when, &task), 0);
}

static inline void start_after(struct tw_timers *set, struct probe *probe, int64_t delay_ns) {
    start(set, probe, (struct tw_when){.due_ns = delay_ns});
}

static inline void start_every(struct tw_timers *set, struct probe *probe, int64_t period_ns) {
    start(set, probe, (struct tw_when){.due_ns = period_ns, .period_ns = period_ns, .missed = TW_BURST});
}

#endif

/* A store that passes each call on to the database in memory, and lets a test break some of them: before the
 * call is carried out, or after, as if its answer were lost. All connections through it belong to one
 * process, whose database also has a clock that the test can set. Other processes of the test use
 * "memory:test" directly. */
#ifndef TICKWHEEL_TESTS_SCRIPTED_STORE_H
#define TICKWHEEL_TESTS_SCRIPTED_STORE_H

#include "durable_test.h"

#include <tickwheel/durable_store.h>

/* What happens to the next calls of one function of the store. */
struct plan {
    unsigned times; /* the number of calls that the plan is for */
    int before,
        after; /* what they return instead: without being carried out, or afterwards; 0: nothing else */
    void (*act)(void); /* called when the database has carried a call out; NULL: nothing */
};

static const unsigned each_time = UINT32_MAX;

static struct script {
    struct plan open, put, remove, join, renew, resume, bury, claim, start, settle;
    int outage;             /* what every call returns, without being carried out; 0: the database is there */
    int64_t clock_ahead_ns; /* how far the database's clock is ahead of the runtime's */
    unsigned opened;        /* calls of `open` */

    int64_t (*local_now)(void *arg);
    void *local_now_arg;
} script;

static const struct tw_store *inner_store(void) { return tw_store_for("memory:test"); }

static int error_before(const struct plan *plan) {
    if (script.outage != 0 || plan->times == 0)
        return script.outage;
    return plan->before;
}

static int error_after(struct plan *plan, int result) {
    if (plan->times == 0)
        return result;
    --plan->times;
    if (plan->act != NULL)
        plan->act();
    return plan->after != 0 ? plan->after : result;
}

/* A function of the store that passes its call on, if the script allows it. */
#define PASSES_ON(name, parameters, ...) \
    static int scripted_##name parameters { \
        const int error = error_before(&script.name); \
        return error_after(&script.name, error != 0 ? error : inner_store()->name(__VA_ARGS__)); \
    }

PASSES_ON(put,
          (void *of, struct tw_store_put *puts, size_t count, int keep, const struct tw_store_member *member),
          of, puts, count, keep, member)
PASSES_ON(remove, (void *of, const char *kind, const char *key), of, kind, key)
PASSES_ON(join, (void *of, const char *name, int64_t lease_ns, struct tw_store_member *member), of, name,
          lease_ns, member)
PASSES_ON(renew, (void *of, const struct tw_store_member *member, int64_t lease_ns, int64_t *now_ns), of,
          member, lease_ns, now_ns)
PASSES_ON(resume, (void *of, struct tw_store_member *member, tw_store_visitor *each, void *arg), of, member,
          each, arg)
PASSES_ON(claim,
          (void *of, const struct tw_store_claim *claim, tw_store_visitor *each, void *arg,
           struct tw_store_look *look),
          of, claim, each, arg, look)
PASSES_ON(start,
          (void *of, const struct tw_store_member *member, struct tw_store_start *starts, size_t count,
           int64_t *now_ns),
          of, member, starts, count, now_ns)
PASSES_ON(settle,
          (void *of, const struct tw_store_member *member, struct tw_store_outcome *outcomes, size_t count),
          of, member, outcomes, count)

static int64_t scripted_bury(void *of, size_t limit) {
    const int error = error_before(&script.bury);
    return error != 0 ? error : inner_store()->bury(of, limit);
}

static int64_t scripted_clock(UNUSED void *arg) {
    return script.local_now(script.local_now_arg) + script.clock_ahead_ns;
}

static int scripted_open(void **out, const struct tw_store_place *place, char *why, size_t room) {
    struct tw_store_place there = *place;
    const int error = error_before(&script.open);
    ++script.opened;
    snprintf(why, room, "the script");
    script.local_now = place->local_now;
    script.local_now_arg = place->local_now_arg;
    there.local_now = scripted_clock;
    return error_after(&script.open, error != 0 ? error : inner_store()->open(out, &there, why, room));
}

/* A process with this store, and with what the test has changed in the options. */
static struct process *begin_scripted(struct tw_durable_options options) {
    static struct tw_store table;
    table = *inner_store();
    table.open = scripted_open;
    table.put = scripted_put;
    table.remove = scripted_remove;
    table.join = scripted_join;
    table.renew = scripted_renew;
    table.resume = scripted_resume;
    table.bury = scripted_bury;
    table.claim = scripted_claim;
    table.start = scripted_start;
    table.settle = scripted_settle;
    script = (struct script){0};
    options.store = &table;
    return begin_with(options);
}

#endif

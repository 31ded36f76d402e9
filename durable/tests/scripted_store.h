/* A store that passes each call on to the database in memory, and lets a test break some calls: before the
 * database carries them out, or after that, as if the answer were lost. All connections through this store
 * belong to one process, for which the test can also set the database's clock. The other processes of the
 * test use the database directly. */
#ifndef TICKWHEEL_TESTS_SCRIPTED_STORE_H
#define TICKWHEEL_TESTS_SCRIPTED_STORE_H

#include "durable_test.h"

#include <tickwheel/durable_store.h>

/* What happens to the next calls of one function of the store. */
struct plan {
    unsigned times; /* the number of calls that the plan is for */
    int before,     /* the call returns this instead of being carried out; 0: the database carries it out */
        after; /* the call returns this after the database has carried it out; 0: the database's result */
    void (*act)(void); /* called when the database has carried out a call; NULL: nothing */
    unsigned calls;    /* result: the number of calls since the plan was made */
};

static UNUSED const unsigned each_time = UINT32_MAX;

static struct script {
    struct plan open, put, remove, change, join, renew, resume, bury, claim, start, settle, listen, announce,
        now;
    unsigned claims_within_limits;
    const char *locked;     /* the key of a job that another transaction has locked; NULL: none */
    int outage;             /* every call returns this without being carried out; 0: there is no outage */
    int64_t clock_ahead_ns; /* how far the database's clock is ahead of the runtime's */
    int64_t shortest_timeout_ns, longest_timeout_ns; /* of all connections */

    int64_t (*local_now)(void *arg);
    void *local_now_arg;
} script;

/* Plans for the next calls: they fail, their answers are lost, or an act follows. */
static UNUSED struct plan broken(unsigned times, int error) {
    return (struct plan){.times = times, .before = error};
}
static UNUSED struct plan unanswered(unsigned times, int error) {
    return (struct plan){.times = times, .after = error};
}
static UNUSED struct plan followed_by(void (*act)(void)) { return (struct plan){.times = 1, .act = act}; }

static const struct tw_store *inner_store(void) { return &memory_store; }

static int error_before(const struct plan *plan) {
    if (script.outage != 0 || plan->times == 0)
        return script.outage;
    return plan->before;
}

static int error_after(struct plan *plan, int result) {
    ++plan->calls;
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
PASSES_ON(change,
          (void *of, const struct tw_durable_filter *filter, const char *key, enum tw_store_change what,
           tw_store_changed *each, void *arg),
          of, filter, key, what, each, arg)
PASSES_ON(remove, (void *of, const char *kind, const char *key), of, kind, key)
PASSES_ON(join, (void *of, const char *name, int64_t lease_ns, struct tw_store_member *member), of, name,
          lease_ns, member)
PASSES_ON(renew, (void *of, const struct tw_store_member *member, int64_t lease_ns, int64_t *now_ns), of,
          member, lease_ns, now_ns)
PASSES_ON(resume,
          (void *of, struct tw_store_member *member, const int64_t *running, size_t count,
           tw_store_visitor *each, void *arg),
          of, member, running, count, each, arg)
PASSES_ON(announce,
          (void *of, const struct tw_store_member *member, const char *const *kinds, size_t count,
           int64_t clock_offset_ns),
          of, member, kinds, count, clock_offset_ns)
PASSES_ON(now, (void *of, int64_t *now_ns), of, now_ns)
PASSES_ON(listen, (void *of), of)

static bool is_locked(const char *key) { return script.locked != NULL && strcmp(script.locked, key) == 0; }

/* These two do not touch the locked job. */
static int start_unlocked(void *of, const struct tw_store_member *member, struct tw_store_start *starts,
                          size_t count, int64_t *now_ns) {
    int error = inner_store()->now(of, now_ns);
    for (size_t i = 0; i < count && error == 0; ++i) {
        starts[i].started = 0;
        starts[i].ready_ns = *now_ns;
        if (!is_locked(starts[i].key))
            error = inner_store()->start(of, member, &starts[i], 1, now_ns);
    }
    return error;
}

static int settle_unlocked(void *of, const struct tw_store_member *member, struct tw_store_outcome *outcomes,
                           size_t count) {
    int error = 0;
    for (size_t i = 0; i < count && error == 0; ++i) {
        outcomes[i].matched = -EBUSY;
        if (!is_locked(outcomes[i].key))
            error = inner_store()->settle(of, member, &outcomes[i], 1);
    }
    return error;
}

static int scripted_claim(void *of, const struct tw_store_claim *claim, tw_store_taker *each, void *arg,
                          struct tw_store_look *look) {
    const int error = error_before(&script.claim);
    script.claims_within_limits += claim->running != 0;
    return error_after(&script.claim, error != 0 ? error : inner_store()->claim(of, claim, each, arg, look));
}

static int scripted_start(void *of, const struct tw_store_member *member, struct tw_store_start *starts,
                          size_t count, int64_t *now_ns) {
    const int error = error_before(&script.start);
    return error_after(&script.start, error != 0 ? error : start_unlocked(of, member, starts, count, now_ns));
}

static int scripted_settle(void *of, const struct tw_store_member *member, struct tw_store_outcome *outcomes,
                           size_t count) {
    const int error = error_before(&script.settle);
    return error_after(&script.settle, error != 0 ? error : settle_unlocked(of, member, outcomes, count));
}

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
    snprintf(why, room, "the script");
    if (script.shortest_timeout_ns == 0 || place->timeout_ns < script.shortest_timeout_ns)
        script.shortest_timeout_ns = place->timeout_ns;
    if (place->timeout_ns > script.longest_timeout_ns)
        script.longest_timeout_ns = place->timeout_ns;
    script.local_now = place->local_now;
    script.local_now_arg = place->local_now_arg;
    there.local_now = scripted_clock;
    return error_after(&script.open, error != 0 ? error : inner_store()->open(out, &there, why, room));
}

static const struct tw_store *scripted_store(void) {
    static struct tw_store table;
    table = *inner_store();
    table.open = scripted_open;
    table.put = scripted_put;
    table.remove = scripted_remove;
    table.change = scripted_change;
    table.join = scripted_join;
    table.renew = scripted_renew;
    table.resume = scripted_resume;
    table.bury = scripted_bury;
    table.claim = scripted_claim;
    table.start = scripted_start;
    table.settle = scripted_settle;
    table.listen = scripted_listen;
    table.announce = scripted_announce;
    table.now = scripted_now;
    return &table;
}

/* Begins the process with this store, and nothing planned yet. */
static UNUSED void begin_scripted(struct tw_durable_options options) {
    end(&other);
    end(&self); /* while the former script still holds */
    script = (struct script){0};
    options.store = scripted_store();
    begin_with(options);
}

/* The error with which the database refuses a call; the connection stays open. */
#define REFUSAL (-EBUSY)

/* Options with which a process soon notices changes of the database. */
static UNUSED const struct tw_durable_options watchful = {.lease_ns = 3 * SECOND, .poll_ns = 20 * MS};

static int64_t an_hour_later(void *rt) { return tw_runtime_now(rt) + HOUR; }

/* A connection of another process, whose clock is an hour ahead. */
static void *open_another(void) {
    char why[64];
    void *connection = NULL;
    const struct tw_store_place place = {
        .address = database, .schema = "tickwheel", .local_now = an_hour_later, .local_now_arg = self->rt};
    assert_int_equal(inner_store()->open(&connection, &place, why, sizeof why), 0);
    return connection;
}

/* Declares all members dead, as another process does when all leases have ended. */
static UNUSED void declare_all_dead(void) {
    void *const another = open_another();
    assert_true(inner_store()->bury(another, 1000) >= 0);
    inner_store()->close(another);
}

#endif

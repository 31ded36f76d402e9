/* Shared by the tests of jobs: a process on virtual time, and a handler that writes down what it sees.
 *
 * The database in memory goes by the same virtual time, and each test has its own. It lasts as long as one
 * connection is open, so a test that closes its own keeps another. */
#ifndef TICKWHEEL_TESTS_DURABLE_TEST_H
#define TICKWHEEL_TESTS_DURABLE_TEST_H

#include "support/runtime_test.h"

#include <stdbool.h>

#include <tickwheel/durable.h>

#define MS TW_MILLISECOND
#define SECOND TW_SECOND
#define MINUTE (60 * TW_SECOND)
#define HOUR (60 * MINUTE)

/* A tick, and what the clocks may drift apart until a job is due. */
#define LATE (10 * MS)

struct fire_seen {
    char kind[16], key[64];
    int64_t due_ns, token, at_ns;
    uint64_t overruns;
    uint32_t attempt;
};

/* A process: a runtime, its connection, and the fires that it has seen. */
struct process {
    struct tw_runtime *rt;
    struct tw_durable *jobs, *keeper;
    unsigned count;
    struct fire_seen fires[128];

    /* What the handler does and answers; null: it is done. */
    enum tw_durable_answer (*inside)(struct tw_durable_fire *fire, struct process *it);
};

static inline enum tw_durable_answer note(struct tw_durable_fire *fire, void *arg) {
    struct process *it = arg;
    struct fire_seen *seen = &it->fires[it->count % COUNT_OF(it->fires)];
    *seen = (struct fire_seen){.due_ns = fire->due_ns,
                               .token = fire->token,
                               .at_ns = tw_runtime_now(it->rt),
                               .overruns = fire->overruns,
                               .attempt = fire->attempt};
    snprintf(seen->kind, sizeof seen->kind, "%s", fire->kind);
    snprintf(seen->key, sizeof seen->key, "%s", fire->key);
    ++it->count;
    return it->inside != NULL ? it->inside(fire, it) : TW_DURABLE_DONE;
}

static char database[32];

static int name_database(UNUSED void **state) {
    static unsigned count;
    snprintf(database, sizeof database, "memory:test %u", ++count);
    return 0;
}

FIXTURE(name_database, NULL);

static inline void connect_with(struct process *it, struct tw_durable_options options) {
    options.single_thread = 1;
    assert_int_equal(tw_durable_open(&it->jobs, it->rt, database, &options), 0);
}

static inline void handle(struct process *it, const char *kind) {
    assert_int_equal(tw_durable_handle(it->jobs, kind, note, it, NULL), 0);
}

static inline void advance(struct process *it, int64_t ns) {
    assert_int_equal(tw_runtime_advance(it->rt, ns), 0);
}

/* A process that handles "mail". */
static inline struct process *begin_with(struct tw_durable_options options) {
    struct process *it = calloc(1, sizeof *it);
    assert_non_null(it);
    it->rt = new_runtime((struct tw_runtime_options){.driver = "manual"});
    assert_int_equal(tw_durable_open(&it->keeper, NULL, database, NULL), 0);
    connect_with(it, options);
    handle(it, "mail");
    advance(it, SECOND);
    return it;
}

static inline struct process *begin(void) { return begin_with((struct tw_durable_options){0}); }

/* Closes its connection, and lets time go by without it. */
static inline void go_away(struct process *it, int64_t ns) {
    assert_int_equal(tw_durable_close(it->jobs), 0);
    it->jobs = NULL;
    advance(it, ns);
}

static inline void come_back(struct process *it) {
    connect_with(it, (struct tw_durable_options){0});
    handle(it, "mail");
}

static inline void end(struct process *it) {
    assert_int_equal(tw_durable_close(it->jobs), 0);
    assert_int_equal(tw_durable_close(it->keeper), 0);
    tw_runtime_free(it->rt);
    free(it);
}

/* A second process on the time and the database of the first. */
static inline struct process *join(struct process *first, struct tw_durable_options options) {
    struct process *it = calloc(1, sizeof *it);
    assert_non_null(it);
    it->rt = first->rt;
    connect_with(it, options);
    return it;
}

static inline void part(struct process *it) {
    assert_int_equal(tw_durable_close(it->jobs), 0);
    free(it);
}

static inline struct tw_durable_job mail(const char *key, int64_t delay) {
    return (struct tw_durable_job){.kind = "mail", .key = key, .due_ns = delay};
}

static inline int put(struct process *it, struct tw_durable_job job) {
    return tw_durable_put(it->jobs, &job, TW_DURABLE_REPLACE);
}

static inline void put_mail(struct process *it, const char *key, int64_t delay) {
    assert_int_equal(put(it, mail(key, delay)), 0);
}

/* Puts a job as another process does: by the keeper, whose own clock is the system's. */
static inline int put_elsewhere(struct process *it, const char *key, int64_t delay) {
    struct tw_durable_job job = mail(key, tw_runtime_now(it->rt) + delay);
    job.absolute = 1;
    return tw_durable_put(it->keeper, &job, TW_DURABLE_REPLACE);
}

static inline struct tw_durable_counts stats_of(struct process *it) {
    struct tw_durable_counts counts;
    assert_int_equal(tw_durable_stats(it->jobs, &counts), 0);
    return counts;
}

/* What the database has of a job. Its texts are gone. */
static inline int copy_entry(const struct tw_durable_entry *entry, void *arg) {
    *(struct tw_durable_entry *)arg = *entry;
    return 0;
}

static inline struct tw_durable_entry entry_of(struct process *it, const char *key) {
    struct tw_durable_entry entry = {0};
    assert_int_equal(tw_durable_get(it->jobs, "mail", key, copy_entry, &entry), 0);
    return entry;
}

static inline bool exists(struct process *it, const char *key) {
    const int result = tw_durable_get(it->jobs, "mail", key, NULL, NULL);
    assert_true(result == 0 || result == -ENOENT);
    return result == 0;
}

/* Asserts that a fire was for this due time, at that time or a little later. */
static inline void assert_fired(struct process *it, unsigned which, int64_t due_ns) {
    assert_true(which < it->count);
    const struct fire_seen *seen = &it->fires[which];
    assert_int_equal(seen->due_ns, due_ns);
    assert_in_range(seen->at_ns, due_ns, due_ns + LATE);
}

#endif

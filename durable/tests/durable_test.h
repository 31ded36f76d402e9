/* Shared by the tests of jobs: processes on virtual time, and a handler that records its fires.
 *
 * Each test has a database in memory of its own, which follows the same virtual time. The database lasts as
 * long as one connection is open, so each process keeps a second one, `keeper`. Each test begins with the
 * process `self`, which handles "mail"; a test that needs other options begins that process again. The end of
 * a test also ends `other`, if there is one. */
#ifndef TICKWHEEL_TESTS_DURABLE_TEST_H
#define TICKWHEEL_TESTS_DURABLE_TEST_H

#include "support/runtime_test.h"

#include <stdbool.h>

#include <tickwheel/durable.h>

#include "memory/memory_store.h"

#define MS TW_MILLISECOND
#define SECOND TW_SECOND
#define MINUTE (60 * TW_SECOND)
#define HOUR (60 * MINUTE)

/* How late a fire may be: a tick, and the drift between the clocks until a job is due. */
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

    /* Called by the handler, and returns its answer; null: the handler answers TW_DURABLE_DONE. */
    enum tw_durable_answer (*inside)(struct tw_durable_fire *fire, struct process *self);
};

static inline enum tw_durable_answer note(struct tw_durable_fire *fire, void *arg) {
    struct process *process = arg;
    struct fire_seen *seen = &process->fires[process->count % COUNT_OF(process->fires)];
    *seen = (struct fire_seen){.due_ns = fire->due_ns,
                               .token = fire->token,
                               .at_ns = tw_runtime_now(process->rt),
                               .overruns = fire->overruns,
                               .attempt = fire->attempt};
    snprintf(seen->kind, sizeof seen->kind, "%s", fire->kind);
    snprintf(seen->key, sizeof seen->key, "%s", fire->key);
    ++process->count;
    return process->inside != NULL ? process->inside(fire, process) : TW_DURABLE_DONE;
}

static char database[32];
static struct process *self, *other;

static inline void connect_with(struct process *process, struct tw_durable_options options) {
    options.single_thread = 1;
    assert_int_equal(open_in_memory(&process->jobs, process->rt, database, options), 0);
}

static inline void handle(struct process *process, const char *kind) {
    assert_int_equal(tw_durable_register(process->jobs, kind, note, process, NULL), 0);
}

static inline void advance(struct process *process, int64_t ns) {
    assert_int_equal(tw_runtime_advance(process->rt, ns), 0);
}

/* Closes a process's connections, and frees its runtime unless it shares that of another process. */
static inline void end(struct process **process) {
    if (*process == NULL)
        return;
    assert_int_equal(tw_durable_close((*process)->jobs), 0);
    assert_int_equal(tw_durable_close((*process)->keeper), 0);
    if ((*process)->keeper != NULL)
        tw_runtime_free((*process)->rt);
    free(*process);
    *process = NULL;
}

static inline struct process *new_process(void) {
    struct process *process = calloc(1, sizeof *process);
    assert_non_null(process);
    return process;
}

/* Begins a process that handles "mail", on a runtime and a time of its own. */
static inline struct process *begin_another(struct tw_durable_options options) {
    struct process *process = new_process();
    process->rt = new_runtime((struct tw_runtime_options){.driver = "manual"});
    assert_int_equal(open_in_memory(&process->keeper, NULL, database, (struct tw_durable_options){0}), 0);
    connect_with(process, options);
    handle(process, "mail");
    advance(process, SECOND);
    return process;
}

static inline void begin_with(struct tw_durable_options options) {
    end(&other);
    end(&self);
    self = begin_another(options);
}

static inline void begin(void) { begin_with((struct tw_durable_options){0}); }

static int begin_test(UNUSED void **state) {
    static unsigned count;
    snprintf(database, sizeof database, "memory:test %u", ++count);
    begin();
    return 0;
}

static int end_test(UNUSED void **state) {
    end(&other);
    end(&self);
    return 0;
}

FIXTURE(begin_test, end_test);

/* Begins `other`, a second process with the runtime and the database of `self`, which handles nothing yet. */
static inline void join(struct tw_durable_options options) {
    other = new_process();
    other->rt = self->rt;
    connect_with(other, options);
}

/* Closes the process's connection, and then lets time pass. */
static inline void go_away(struct process *process, int64_t ns) {
    assert_int_equal(tw_durable_close(process->jobs), 0);
    process->jobs = NULL;
    advance(process, ns);
}

static inline void come_back(struct process *process) {
    connect_with(process, (struct tw_durable_options){0});
    handle(process, "mail");
}

static inline struct tw_durable_job mail(const char *key, int64_t delay) {
    return (struct tw_durable_job){.kind = "mail", .key = key, .due_ns = delay};
}

static inline int put(struct process *process, struct tw_durable_job job) {
    return tw_durable_put(process->jobs, &job, TW_DURABLE_REPLACE);
}

static inline void put_mail(struct process *process, const char *key, int64_t delay) {
    assert_int_equal(put(process, mail(key, delay)), 0);
}

/* Puts `count` jobs like this one in one call. Their keys are "0", "1" and so on. */
static inline void put_many(struct tw_durable *by, unsigned count, struct tw_durable_job like) {
    static char keys[2000][8];
    static struct tw_durable_job jobs[COUNT_OF(keys)];
    assert_true(count <= COUNT_OF(keys));
    for (unsigned i = 0; i < count; ++i) {
        snprintf(keys[i], sizeof keys[i], "%u", i);
        jobs[i] = like;
        jobs[i].key = keys[i];
    }
    assert_int_equal(tw_durable_put_many(by, jobs, count, TW_DURABLE_REPLACE), 0);
}

/* Puts a job as another process does: by the keeper, whose own clock is the system's. */
static inline int put_elsewhere(struct process *process, const char *key, int64_t delay) {
    struct tw_durable_job job = mail(key, tw_runtime_now(process->rt) + delay);
    job.absolute = 1;
    return tw_durable_put(process->keeper, &job, TW_DURABLE_REPLACE);
}

static inline struct tw_durable_counts stats_of(struct process *process) {
    struct tw_durable_counts counts;
    assert_int_equal(tw_durable_stats(process->jobs, &counts), 0);
    return counts;
}

/* A visitor that copies the entry; the copy's texts are not valid after the visit. */
static inline int copy_entry(const struct tw_durable_entry *entry, void *arg) {
    *(struct tw_durable_entry *)arg = *entry;
    return 0;
}

static inline struct tw_durable_entry entry_of(struct process *process, const char *key) {
    struct tw_durable_entry entry = {0};
    assert_int_equal(tw_durable_get(process->jobs, "mail", key, copy_entry, &entry), 0);
    return entry;
}

static inline bool exists(struct process *process, const char *key) {
    const int result = tw_durable_get(process->jobs, "mail", key, NULL, NULL);
    assert_true(result == 0 || result == -ENOENT);
    return result == 0;
}

/* Asserts that a fire was for this due time, and came at that time or at most LATE later. */
static inline void assert_fired(struct process *process, unsigned which, int64_t due_ns) {
    assert_true(which < process->count);
    const struct fire_seen *seen = &process->fires[which];
    assert_int_equal(seen->due_ns, due_ns);
    assert_in_range(seen->at_ns, due_ns, due_ns + LATE);
}

#endif

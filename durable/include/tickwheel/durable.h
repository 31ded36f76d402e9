/* tickwheel/durable.h - timers that a database keeps: they survive the process, and many machines share them.
 *
 *     struct tw_durable *jobs;
 *     struct tw_durable_job reminder = {.kind = "reminder", .key = "order 17", .due_ns = 180 * TW_SECOND};
 *     tw_durable_open(&jobs, rt, "sqlite:jobs.db", NULL);
 *     tw_durable_register(jobs, "reminder", on_reminder, NULL, NULL);
 *     int error = tw_durable_put(jobs, &reminder, TW_DURABLE_REPLACE);  // 0: the job is on disk
 *     ...
 *     tw_durable_close(jobs);
 *
 * This is a separate library, tickwheel_durable. A timer here is called a job. The database keeps all jobs.
 * Each process that handles a kind of jobs is a member of the database: the process claims those that are due
 * soon, holds them on its wheel, and runs the handler of each on a worker when the job is due.
 * durable/docs/DURABLE.md says what is promised, and what is not.
 *
 * Conventions are those of runtime.h, and:
 *   Arguments  `durable` is the connection of this process with a database. `kind` and `key` name the job
 *              that the call is about. `options` and `how` may be null. Texts end with a zero byte.
 *   Names      The name of a job is its kind and its key: texts in UTF-8 of 1 to TW_DURABLE_NAME_MAX bytes,
 *              with any character but the zero byte. There is at most one job of each name.
 *   Time       Of the database's clock: nanoseconds since 1970, UTC. Times are kept in whole
 *              microseconds, and round up. They range from 1970 to the end of the year 2200.
 *   Results    Each function that asks the database can return these errors, and those documented with it:
 *   -ENOTCONN    the database cannot be reached now, or the connection broke. A call that changes
 *                something may have taken effect; repeating it does no harm
 *   -ETIMEDOUT   the database did not answer within the timeout of the options; otherwise as -ENOTCONN
 *   -EBUSY       another connection keeps the database, a table or a row locked, or a deadlock or a
 *                timeout of the server ended the call; the call has changed nothing
 *   -EACCES      the database refuses the user, or the permissions of the file do
 *   -EROFS       the database is read-only
 *   -ENOSPC      the database has no space left
 *   -EBADMSG     the database is damaged, the file is not a database, or its log was deleted
 *   -EPROTO      the tables are those of a later release, or have been changed
 *   -EDEADLK     called by a visitor of the same connection
 *   -EIO         another error of the database, which tw_durable_explain describes
 *   -ENOMEM      out of memory
 *   -ECHILD      this process is a fork of the one that opened the database
 *   Threads    Every function may be called from any thread, handlers included, unless it says otherwise.
 *              Functions that ask the database block: do not call them on the runtime's thread.
 */
#ifndef TICKWHEEL_DURABLE_H
#define TICKWHEEL_DURABLE_H

#include <stddef.h>
#include <stdint.h>

#include <tickwheel/must_check.h>
#include <tickwheel/observe.h>
#include <tickwheel/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TW_DURABLE_NAME_MAX 512      /* length of the longest kind or key, in bytes */
#define TW_DURABLE_PAYLOAD_MAX 65536 /* size of the largest payload, in bytes */

/* This process's connection with a database of jobs. */
struct tw_durable;
struct tw_store;
struct tw_workers;

/* --- jobs ------------------------------------------------------------------------------- */

/* The policy for the due times of a periodic job that have passed by more than its grace, because the process
 * was down or a fire took longer than the period. Due times that have passed by less fire one after the
 * other. */
enum tw_durable_missed {
    TW_DURABLE_COALESCE, /* one fire stands for all of them; see `overruns` */
    TW_DURABLE_BURST,    /* each of them fires */
    TW_DURABLE_SKIP      /* none of them fires */
};

/* A job. All zeroes but kind and key: fires once, at once. */
struct tw_durable_job {
    const char *kind, *key;

    const void *payload; /* bytes for the handler, of any value; NULL only if `size` is 0 */
    size_t size;         /* at most TW_DURABLE_PAYLOAD_MAX. Larger data belongs in tables of your own */

    int64_t due_ns; /* when it fires, or fires first: a delay from the put, or a time if `absolute` */
    int absolute;   /* not 0: `due_ns` is a time */

    /* A periodic job has a period or a cron expression. The fields below are for periodic jobs alone. */
    int64_t period_ns;             /* at least 1 ms; the n-th fire is due n periods after the first */
    const char *cron;              /* NULL: none. With one, due_ns must be 0. See durable/docs/DURABLE.md */
    const char *zone;              /* the time zone of `cron`, as in "Europe/Berlin"; NULL: UTC */
    enum tw_durable_missed missed; /* 0: TW_DURABLE_COALESCE */
    int64_t grace_ns;              /* 0: 1 s */

    /* For jobs that fire once. See "Chains" in durable/docs/DURABLE.md. Groups have names like keys. */
    const char *group;     /* the job belongs to this group until it has ended or was removed. A failed job
                              still belongs to its group. NULL: none */
    const char *waits_for; /* the job fires when no job of this group is left, and not before it is due; not
                              its own group. NULL: none */
    int64_t within_ns;     /* for puts of the same job again and again: its first put sets an end, this long
                              after itself. The puts that replace the job before it fires, and have a
                              `within_ns` too, keep that end, and none makes it due later. 0: no end */
};

/* What a put does with an existing job of the same name. */
enum tw_durable_existing {
    TW_DURABLE_REPLACE, /* the new job takes its place. If the former job was started, its handler goes on, or
                           still begins if the job waits for a worker of another process; the database
                           ignores the answer. The handlers of both jobs can run at the same time */
    TW_DURABLE_KEEP,    /* the existing job stays, and the put changes nothing */
    TW_DURABLE_ADD      /* the existing job stays, and the put returns -EEXIST */
};

enum tw_durable_state {
    TW_DURABLE_PENDING = 1,   /* waits until it is due, or for its next try */
    TW_DURABLE_HELD = 2,      /* a member holds it, because it is due soon */
    TW_DURABLE_STARTED = 4,   /* its handler runs, or will as soon as a worker of its member is free */
    TW_DURABLE_FAILED = 8,    /* its last try has failed; it stays until you requeue, replace or remove it */
    TW_DURABLE_GIVEN_UP = 16, /* periodic: the last try for the former due time has failed, and the job waits
                                 for the next due time; `error` says why */
    TW_DURABLE_WAITING = 32   /* waits for the jobs of a group to end: `job.waits_for` */
};

/* A job as the database stores it. Its pointers are valid during the visit. */
struct tw_durable_entry {
    struct tw_durable_job job; /* `absolute`, and due_ns is the due time that fires next; without the
                                  `within_ns` of the put. `waits_for` is null unless the job is waiting */
    enum tw_durable_state state;
    int64_t ready_ns;   /* when it can fire: due_ns, or later after a failure; TW_NO_DEADLINE: waiting */
    uint32_t attempts;  /* tries for this due time that have failed */
    int64_t token;      /* of the last claim; 0: none yet */
    const char *holder; /* name of the member that holds the job; NULL: none */
    int64_t holder_id;  /* its `id` in struct tw_durable_member: names need not be unique; 0: none */
    const char *error;  /* why the last try failed; NULL: none has */
};

/* Receives an entry. Returns 0 to go on; any other value ends the walk, whose function returns that value. A
 * visitor must not call functions of the same `durable`. */
typedef int tw_durable_visitor(const struct tw_durable_entry *entry, void *arg);

/* Selects jobs. All zeroes: all, in the order of kind and key, byte by byte. A long list can be read in
 * pages: the next page continues after the last job of this one, whose kind, key and ready time go into
 * `after_kind`, `after` and `ready_from_ns`. */
struct tw_durable_filter {
    const char *kind;       /* NULL: of any kind */
    unsigned states;        /* values of tw_durable_state, added; 0: any */
    const char *after;      /* only jobs that sort after this key of the kind `after_kind`; NULL: all */
    size_t limit;           /* at most this many jobs; 0: no limit */
    const char *after_kind; /* NULL: `kind` */

    /* Not 0: only jobs that are ready before this time, in the order of ready time, kind and key;
     * TW_NO_DEADLINE: all in that order. The database then finds pending jobs by an index, so the first
     * thousand of millions take milliseconds. */
    int64_t ready_before_ns;

    /* With ready_before_ns: only jobs that are ready at this time or later. With `after`, of the jobs that
     * are ready at this very time only those after that name. */
    int64_t ready_from_ns;

    const char *group; /* only jobs of this group; NULL: of any or none */
};

/* --- opening ---------------------------------------------------------------------------- */

/* Events of a connection. `on_event` reports each change once, however often the library retries. */
enum tw_durable_event {
    TW_DURABLE_CONNECTED,    /* the database carries out requests, for the first time or again */
    TW_DURABLE_DISCONNECTED, /* the database cannot be reached. Held jobs fire while the lease lasts; the
                                library tries again */
    TW_DURABLE_LEASE_LOST,   /* the lease has ended: other processes may fire the jobs that this one held */
    TW_DURABLE_REFUSED /* the database can be reached but refuses claims, starts, answers or the renewal of
                          the lease: a lock, a missing right or table. Jobs wait and the library retries.
                          It reports equal errors in a row once. The report waits for the request that
                          is in progress, so it may be late by the timeout. The statistics show the
                          error at once */
};

/* Options of tw_durable_open, which copies them. All zeroes, or a null pointer instead of this struct, gives
 * the defaults. */
struct tw_durable_options {
    const char *schema; /* where the tables are: the schema in PostgreSQL, the start of their names in
                           SQLite. Small letters, digits and underscores, at most 32; NULL: "tickwheel" */
    const char *name;   /* of this process, for people who inspect the database; NULL: host and
                           process number */
    int64_t lease_ns;   /* how long after the end of this process others take over; 1 s to 1 h. 0: 15 s.
                           The library renews the lease when a third of it has passed. A lease should
                           outlast a failover. An idle process renews its lease at most once a minute */
    int64_t poll_ns;    /* how often this process asks the database for new jobs without a
                           notification; 10 ms to 30 s. 0: 20 s, or 100 ms if the database sends no
                           notifications */
    int64_t horizon_ns; /* this process claims jobs that are due within this time; 10 ms to 1 min. 0: 2 s */
    uint32_t hold;      /* the most jobs that this process holds at a time, up to 2^20. 0: 4096. For more than
                           2,000 jobs a second, choose a higher number */
    uint32_t backlog;   /* how many held jobs may be late by more than a second, as after an outage. Such jobs
                           run in the order in which they were ready, while other jobs fire on time. 0: as
                           many as the workers run in 25 ms, at least one less than `threads` */
    int64_t timeout_ns; /* longest wait for one answer of the database; 10 ms to 1 min, and with a runtime not
                           longer than the lease. 0: 5 s, or the lease if that is shorter */
    struct tw_workers *workers; /* run the handlers; NULL: the connection has a pool of its own */
    unsigned threads;           /* how many handlers run at a time, at most 256; 0: 4. A pool of the
                                   connection has this many threads. With `workers`, handlers use at
                                   most this many of them */

    const char *grant_to; /* a role of the server, which gets the rights that a process needs, and no others,
                             in the transaction that creates the tables or brings them up to date. The user
                             must own the tables. Only PostgreSQL has roles. NULL: none */

    int must_exist; /* not 0: the call creates neither the database nor its tables, and fails if they are
                       missing */

    int confirmed_only; /* not 0: while the database cannot be reached, nothing fires. 0: held jobs fire while
                           the lease lasts. Either way, jobs wait while the database can be reached and
                           refuses to start them */

    /* Not 0: the library starts no threads, but calls the database and the handlers on the thread that drives
     * the runtime. For tests on virtual time with "sqlite::memory:"; other databases would delay every
     * timer. */
    int single_thread;

    const struct tw_store *store; /* a kind of database of your own, instead of those that the address names.
                                     It must outlive the connection. NULL: none. See durable_store.h */

    /* Called at each event on a thread of the library, or with `single_thread` on the thread that drives the
     * runtime. That thread waits until the function returns. `why` is for people to read. NULL: none. */
    void (*on_event)(enum tw_durable_event event, const char *why, void *arg);
    void *on_event_arg;
};

/* Opens a database, creates its tables if there are none, and stores the connection in *durable. `rt` may be
 * null: then jobs can be put, listed and so on, but not handled. The address is
 *
 *     sqlite:PATH           a file, which the call creates if its folder exists. Processes of one machine
 *                           share it
 *     sqlite::memory:NAME   nothing on disk, for tests. The connections of this process that give the same
 *                           name, which may be empty, share one database, which ends with the last of
 *                           them. With `single_thread` its clock is the runtime's, so it follows virtual
 *                           time
 *     postgresql://...      an address of libpq (postgres:// as well), see its manual. It may lead through
 *                           a connection pooler that gives each session a connection
 *
 * Close the connection before you free the runtime. Returns 0.
 *   -EINVAL      also: an option is out of range, or `workers` belongs to another runtime; the address is
 *                malformed
 *   -ENOENT      the database does not exist; with `must_exist` also: it has no tables; with `grant_to` also:
 *                there is no such role
 *   -EOPNOTSUPP  no store of this build has such addresses; with `grant_to`: the database has no roles; the
 *                address leads through a connection pooler that gives each transaction another connection
 *   -EAGAIN      the system cannot create a thread */
TW_MUST_CHECK int tw_durable_open(struct tw_durable **durable, struct tw_runtime *rt, const char *address,
                                  const struct tw_durable_options *options);

/* Waits for the handlers that are running and for answers that come later, sends the answers to the
 * database, releases the held jobs, so that other processes fire them, and closes the connection;
 * `durable` may be null. If the database does not take the answers, the function retries until the timeout
 * of the options has passed, and then once more; a request in progress at the call, or at the end of that
 * time, adds its own timeout. If the database cannot be reached, other processes can claim the held jobs
 * when the lease has ended. No other thread may be in a call on the connection. In the child of a fork the
 * function frees what it can, and does not touch the connection. Returns 0.
 *   -EBUSY      called from a handler, a visitor or `on_event`; the connection is open as before
 *   -ETIMEDOUT  the connection is closed, but some answers have not reached the database: their jobs fire
 *               again. With `single_thread` the function tries once, and does not wait for answers that come
 *               later: their fires are no longer valid */
int tw_durable_close(struct tw_durable *durable);

/* Returns the meaning of `error` in words. If `error` is the result of this thread's last failed call of this
 * library, the text tells the cause, and quotes the database if the error came from there. Otherwise it is
 * the general text for the error, as in tw_explain. Never null; valid until this thread calls a function of
 * this header again. The text contains no passwords. */
TW_MUST_CHECK const char *tw_durable_explain(int error);

/* --- handling --------------------------------------------------------------------------- */

/* A fire, as its handler sees it. Valid until the handler has returned; if the answer comes later, also until
 * that answer. */
struct tw_durable_fire {
    const char *kind, *key;
    const void *payload;
    size_t size;
    int64_t due_ns;    /* the due time that this fire is for: the same at each try */
    uint64_t overruns; /* earlier due times that this fire stands for, too; see TW_DURABLE_COALESCE */
    uint32_t attempt;  /* 1: the first try for this due time */
    int64_t token;     /* rises with each claim of a job, and so with each fire in any process. Pass the token
                          to the systems that you write to, and make them refuse any token lower than the
                          highest that they have seen: then a handler that was stopped for longer than its
                          lease does no harm */
    void *fields_of_the_library;
};

/* A handler's answer. Use the functions below for the last three. */
enum tw_durable_answer {
    TW_DURABLE_DONE,  /* the job ends, or waits for its next due time */
    TW_DURABLE_AGAIN, /* the job must fire once more for this due time: at once, or after the delay of
                         tw_durable_again. This does not count as a failure */
    TW_DURABLE_RETRY, /* the try has failed; the handler's options say when the job is tried again. Other
                         numbers count as this */
    TW_DURABLE_LATER  /* the answer comes by tw_durable_answer_later. Until then the worker is free for other
                         handlers, and the library renews the lease as while a handler runs */
};

/* Called on a worker when a job is due. The library may call a handler again for the same due time: after a
 * crash of the process or of the database, after an answer that did not reach the database, and after the
 * process lost its lease. A handler must return; an exception must not leave it. */
typedef enum tw_durable_answer tw_durable_handler(struct tw_durable_fire *fire, void *arg);

/* Returns the answer that makes the job of this `fire` fire again `delay_ns` from now; a negative delay
 * counts as 0. */
enum tw_durable_answer tw_durable_again(struct tw_durable_fire *fire, int64_t delay_ns);

/* Returns the answer that this `fire` has failed, and stores the first 200 bytes of `why` for people to read.
 * Null: a general text. */
enum tw_durable_answer tw_durable_failed(struct tw_durable_fire *fire, const char *why);

/* Gives the `answer` to a `fire` whose handler returns TW_DURABLE_LATER: once, also before the handler has
 * returned. Each fire must get its answer, because tw_durable_close waits for it: do not close the connection
 * on a thread that is to give one. Only `hold` in the options limits how many fires wait for their answers.
 * Does not ask the database. Returns 0.
 *   -EINVAL    also: `fire` is null, or `answer` is TW_DURABLE_LATER
 *   -EALREADY  the fire has an answer already, and its handler has not returned yet */
int tw_durable_answer_later(struct tw_durable *durable, struct tw_durable_fire *fire,
                            enum tw_durable_answer answer);

/* Returns for how many more nanoseconds no other process can take over the job of this `fire`; 0: another
 * process can. The result grows when the library renews the lease, even while the handler runs. The result
 * does not tell whether the job was replaced or removed: a job that replaced this one may be running in
 * another process. */
TW_MUST_CHECK int64_t tw_durable_lease(const struct tw_durable_fire *fire);

/* How a process handles a kind: the options of tw_durable_register. All zeroes, or a null pointer instead,
 * gives the defaults.
 *
 * The two limits hold for all processes together. A process that has a limit claims a job of the kind only
 * when the job is due, and then only if the database allows one more by this process's own numbers. So while
 * processes have different numbers, as during a deployment, the highest one holds, and a process without a
 * limit ignores that of the others. Jobs that processes without a limit have claimed need not count. */
struct tw_durable_handling {
    uint32_t attempts;      /* tries for a due time, the first included. After the last a job is
                               TW_DURABLE_FAILED; a periodic one goes on with its next due time. 0: 20. A try
                               whose process ends counts */
    int64_t backoff_ns;     /* the delay after the first failure; each further one doubles it. 0: 1 s */
    int64_t backoff_max_ns; /* the longest delay, not less than the first. 0: 1 h */

    uint32_t running; /* the most jobs of this kind that run at a time. 0: no limit. A job counts from its
                         claim until the database has its answer: also while the job waits for a worker or
                         for an answer that comes later, and after the process has ended or was cut off,
                         until others take over its jobs. A job that waits for its next try does not count.
                         Nor does a handler whose job was removed, replaced or taken over: in these cases
                         more than `running` handlers can run */
    uint32_t rate;    /* at most this many jobs of this kind start within any time of the length `per_ns`. 0:
                         no limit. The starts are evenly spread, and each try is one. A start counts when the
                         database has noted it; the handler is called when a worker is free */
    int64_t per_ns;   /* 1 ms to 366 days; 0: 1 s. For 600 a minute: .rate = 600, .per_ns = 60 * TW_SECOND */
};

/* Makes this process handle a kind of jobs: calls fn(fire, arg) when one is due. A kind has one handler,
 * until the connection is closed. Returns 0.
 *   -EINVAL  also: an option is out of range
 *   -EEXIST  the kind has a handler already
 *   -EPERM   the connection was opened without a runtime */
int tw_durable_register(struct tw_durable *durable, const char *kind, tw_durable_handler *fn, void *arg,
                        const struct tw_durable_handling *how);

/* --- putting and removing --------------------------------------------------------------- */

/* Puts a job; `existing` says what happens to an existing job of the same name. When the call has returned 0,
 * the job is on disk, and fires at least once unless it is removed or replaced. Calls of several threads at
 * the same time share a transaction. Returns 0.
 *   -EEXIST  with TW_DURABLE_ADD: there is a job of this name. A call that is repeated after -ENOTCONN or
 *            -ETIMEDOUT may find the job that the first attempt has put
 *   -EINVAL  also: a name, time or schedule is out of range or malformed; no such time zone; or the cron
 *            expression is never due */
TW_MUST_CHECK int tw_durable_put(struct tw_durable *durable, const struct tw_durable_job *job,
                                 enum tw_durable_existing existing);

/* Puts `count` jobs in one transaction: all or none; `existing` as in tw_durable_put. If several
 * have the same name, the last stays, or the first with TW_DURABLE_KEEP. On PostgreSQL the whole
 * call must finish within the timeout of the options, so split more than about 10,000 jobs over
 * several calls. Returns 0.
 *   -EINVAL  also: as tw_durable_put, for any of them; `existing` is TW_DURABLE_ADD */
TW_MUST_CHECK int tw_durable_put_many(struct tw_durable *durable, const struct tw_durable_job *jobs,
                                      size_t count, enum tw_durable_existing existing);

/* Removes a job. Returns 1 if this prevented a fire: the handler was not started, and will not be. Returns 0
 * if the job was started: its handler is running, or waits for a worker of another process. The job does not
 * fire again.
 * Exception: a process that cannot reach the database fires the jobs that it holds without asking, unless it
 * is `confirmed_only`. Such a process may fire a job that was removed during the outage or shortly before. A
 * transaction that locks such a job after the outage, before the process can mark the job as started, may
 * remove a job that has fired.
 *   -EINVAL  also: a malformed name
 *   -ENOENT  there is no such job */
int tw_durable_cancel(struct tw_durable *durable, const char *kind, const char *key);

/* Makes a failed job fire again, at once and with all its tries. With `key` null, all failed jobs of the
 * kind, as tw_durable_requeue_many; with both null, all. Returns how many.
 *   -EINVAL  also: a malformed name; a key without a kind
 *   -ENOENT  `key` is not null, and no failed job has this name */
int64_t tw_durable_requeue(struct tw_durable *durable, const char *kind, const char *key);

/* Makes a job fire now, even if it waits for its due time, its next try or a group, or has failed. A job that
 * fires once keeps its due time. A periodic job keeps its schedule: it fires once more, a cron job for the
 * present time, a job with a period for the due time before the next, and then goes on with the due time for
 * which it was waiting.
 * Returns 1, or 0 if the job was started: then the call changes nothing.
 *   -EINVAL  also: a malformed name
 *   -ENOENT  there is no such job */
int tw_durable_fire_now(struct tw_durable *durable, const char *kind, const char *key);

/* As tw_durable_cancel and tw_durable_requeue, for all jobs that `filter` selects; only failed jobs are
 * requeued. The calls go once through the jobs, in transactions of at most 1,000, and skip those that
 * another transaction has locked. `limit` bounds how many they change. Each returns how many jobs it has
 * removed or requeued. Removed jobs count although their handlers were started, unless `states` leaves these
 * out.
 *   -EINVAL  also: the filter has a malformed name or state, or is null */
int64_t tw_durable_cancel_many(struct tw_durable *durable, const struct tw_durable_filter *filter);
int64_t tw_durable_requeue_many(struct tw_durable *durable, const struct tw_durable_filter *filter);

/* --- asking ------------------------------------------------------------------------------ */

/* Looks up a job, and calls each(entry, arg); `each` may be null. Returns 0, or what `each` returned.
 *   -EINVAL  also: a malformed name
 *   -ENOENT  there is no such job */
int tw_durable_get(struct tw_durable *durable, const char *kind, const char *key, tw_durable_visitor *each,
                   void *arg);

/* Calls each(entry, arg) on the jobs that `filter` selects, in its order; `filter` may be null. The walk may
 * or may not visit jobs that are put or removed meanwhile. Returns 0, or the value with which `each` ended
 * the walk.
 *   -EINVAL  also: `each` is null, or the filter has a malformed name or state */
int tw_durable_list(struct tw_durable *durable, const struct tw_durable_filter *filter,
                    tw_durable_visitor *each, void *arg);

/* Returns how many jobs `filter` selects; `filter` may be null. The time rises with the result.
 *   -EINVAL  also: the filter has a malformed name or state */
TW_MUST_CHECK int64_t tw_durable_count(struct tw_durable *durable, const struct tw_durable_filter *filter);

/* Returns this process's estimate of the present time of the database's clock, from the local
 * steady clock and the database's answers so far. If there was no answer yet, the function asks the
 * database. The estimate is never later than the true time, as long as neither clock is set. */
TW_MUST_CHECK int64_t tw_durable_now(struct tw_durable *durable);

/* How many jobs of one kind there are. Valid during the visit. */
struct tw_durable_tally {
    const char *kind;
    uint64_t held, started, failed;
    uint64_t given_up;      /* these count as pending, too */
    uint64_t waiting;       /* for the jobs of a group; these do not count as pending */
    int64_t first_ready_ns; /* when the first pending job is ready; TW_NO_DEADLINE: none is pending */
    const uint64_t
        *pending; /* pending[i]: pending jobs that are ready before times[i], and not before
                     times[i - 1]. The last element, pending[count], has those that are ready later */
};

typedef int tw_durable_tally_visitor(const struct tw_durable_tally *tally, void *arg);

/* Counts the jobs of each kind that has any, in the order of kinds, by state, and pending ones by the time at
 * which they are ready: `times` has `count` times, which rise. No number exceeds `most` (0: no limit), so
 * that millions of jobs take no longer to count than `most`. Returns 0, or the value with which `each` ended
 * the walk.
 *   -EINVAL  also: `each` is null, or the times do not rise */
int tw_durable_tallies(struct tw_durable *durable, const int64_t *times, size_t count, uint64_t most,
                       tw_durable_tally_visitor *each, void *arg);

/* A member of the database: a process that handles jobs. Valid during the visit. */
struct tw_durable_member {
    int64_t id;
    const char *name;
    int64_t joined_ns;    /* 0: not known, because an older release has made the row */
    int64_t lease_end_ns; /* after this time others take over its jobs */
    int dead;             /* not 0: others are taking over its jobs */
    uint64_t held;        /* jobs that it holds and has not started */
    uint64_t started;
    const char *const *kinds; /* the kinds that it handles */
    size_t kinds_count;
    int knows_kinds;         /* 0: it has not reported its kinds and clock yet, or has an older release */
    int64_t clock_offset_ns; /* how far its machine's time of day was ahead of the database's clock when it
                                reported its kinds, or when that had changed by more than a second */
};

typedef int tw_durable_member_visitor(const struct tw_durable_member *member, void *arg);

/* Calls each(member, arg) on all members, in the order of their ids. Returns 0, or the value with which
 * `each` ended the walk.
 *   -EINVAL  also: `each` is null */
int tw_durable_members(struct tw_durable *durable, tw_durable_member_visitor *each, void *arg);

/* Writes an English sentence into `text`, which has `room` bytes: why a job has not run yet. The sentence
 * quotes names and errors as they are. If the database cannot be reached, the sentence says so, and since
 * when, if this process handles jobs. Returns 0 or the error, as every function does.
 *   -EINVAL  also: a malformed name; `text` is null or `room` is 0
 *   -ENOENT  there is no such job: it has fired, was removed or was never put */
int tw_durable_why(struct tw_durable *durable, const char *kind, const char *key, char *text, size_t room);

/* --- seeing ------------------------------------------------------------------------------ */

/* What this process has done since it opened the database, and its present state. */
struct tw_durable_counts {
    uint64_t claimed;              /* jobs that it has claimed */
    uint64_t started;              /* calls of handlers */
    uint64_t unconfirmed;          /* of these, calls without the database, which could not be reached */
    uint64_t done, again, retried; /* answers */
    uint64_t failed;               /* last tries that have failed */
    uint64_t skipped;              /* how often due times were skipped, see TW_DURABLE_SKIP */
    uint64_t taken_back; /* held jobs that it lost before their start: removed, replaced, or the lease lost */
    uint64_t unmatched;  /* answers that the database ignored, for the same reasons. Their jobs may
                            fire again */
    uint64_t connects;   /* how often it has connected to handle jobs */
    uint64_t errors;     /* requests that the database has not answered, or has answered with an
                            error */
    uint64_t lost_leases; /* after a lost lease, jobs that were running may fire again */
    uint64_t released;    /* jobs that it has released because the processes that held them had ended */

    uint64_t late_count;              /* calls of handlers that the next two fields cover */
    int64_t late_sum_ns, late_max_ns; /* from the time at which the job was ready to the call */

    size_t held, running, unsettled; /* now: jobs that it holds, those whose handlers run, wait for a worker
                                        or answer later, and answers that the database does not have yet */
    int connected;                   /* now: not 0 if it is connected; always 0 without a handler */
    int error;                       /* now: why jobs may wait: an error of this header, with which the
                                        database refuses something or cannot be reached; 0: none */
    char why[256];                   /* the last such error in words, even when it is over; "": none yet */
    int64_t lease_ns;                /* now: for how long the lease still lasts; 0: there is none */
    int64_t clock_uncertainty_ns;    /* how far off tw_durable_now may be; -1: not known yet */
    uint64_t late_by[9];             /* of the calls of handlers, those that were late by at most 1 ms, 10 ms,
                                        100 ms, 1 s, 10 s, 1 min, 10 min, 1 h, and by more */
};

/* Fills in *stats and returns 0. Does not ask the database. */
int tw_durable_stats(struct tw_durable *durable, struct tw_durable_counts *stats);

/* Writes these statistics in the text format of Prometheus, for the program's own endpoint, by calls of
 * write(text, size, arg): claims, calls, retries, lost leases, the connection with its last error, and a
 * histogram of lateness. `name`, unless null, is the value of the label "name", for programs with several
 * connections. Does not ask the database. Returns 0.
 *   -EINVAL  also: `write` is null */
int tw_durable_metrics(struct tw_durable *durable, const char *name, tw_text *write, void *arg);

/* Writes these statistics and each job that this process holds, as a text for people, by calls of
 * write(text, size, arg). The text contains neither addresses nor payloads. Does not ask the database.
 * Returns 0.
 *   -EINVAL  also: `write` is null */
int tw_durable_dump(struct tw_durable *durable, tw_text *write, void *arg);

#ifdef __cplusplus
}
#endif

#endif

/* tickwheel/durable_store.h - what durable timers need from a database; to add your own.
 *
 * A store is a table of functions. SQLite and PostgreSQL are stores as well; durable/docs/DURABLE.md has
 * their tables. Pass another in tw_durable_options.store, and have durable/tests/store.cpp run on it. The
 * store in durable/tests/memory is an example.
 *
 * A store keeps jobs and members. A job is one of these:
 *
 *     pending   no member holds it; can be claimed from `ready_ns` on, or earlier by members that wait
 *     held      a member has claimed it: `holder`, and a `token` that is higher than any before
 *     started   held, and its handler may be running
 *     failed    no member holds it, and none may claim it
 *
 * A member is a process that handles jobs: a number that is never used again, an epoch, and the time at which
 * its lease ends. A member whose lease has ended may renew it until it is declared dead (`bury`), and from
 * then on it may do nothing. Its epoch goes up when its connection has broken: a claim that the database
 * still carries out for the former connection then claims nothing.
 *
 * Each function is one transaction: it happens as a whole or not at all. The effects of `put`, `remove`,
 * `requeue` and `claim` survive a power cut once they have returned. The effect of `start` survives a crash
 * of the database that the process survives; otherwise `remove` could report a running job as
 * prevented. Other effects may be lost in either case; at worst, that repeats fires. `now` is
 * always the database's clock, as it reads while the function runs.
 *
 * Conventions
 *   Threads  A connection is used by one thread at a time, but not always by the same one.
 *   Time     Nanoseconds since 1970, a multiple of 1000, from 0 to TW_STORE_TIME_MAX. Periods and graces are
 *            multiples of 1000, too. Other spans are any number of nanoseconds, and the times that they give
 *            round up.
 *   Names    Kinds and keys are valid, as durable.h says, and end with a zero byte.
 *   Errors   Those of durable.h. After -ENOTCONN or -ETIMEDOUT the connection is closed and another opened.
 *   Visits   What a visitor was called with counts only if the function then returns 0. If it fails, or the
 *            visitor ended the walk, a claim may have been carried out or not: `resume` tells what the member
 *            holds.
 *   Nothing here is called in the child of a fork, except `abandon`.
 */
#ifndef TICKWHEEL_DURABLE_STORE_H
#define TICKWHEEL_DURABLE_STORE_H

#include <stddef.h>
#include <stdint.h>

#include <tickwheel/durable.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TW_STORE_TIME_MAX INT64_C(7289654399999999000) /* the last microsecond of the year 2200 */
#define TW_STORE_NEVER INT64_MAX

/* Where a database is, and how to use it. Valid during `open`. */
struct tw_store_place {
    const char *address; /* as it was given to tw_durable_open */
    const char *schema;  /* valid, as durable.h says */
    int64_t timeout_ns;  /* longest wait for an answer; `list` and `count` may take longer */
    int must_exist;      /* not 0: nothing is created; -ENOENT if it is not there */

    /* The local steady clock, virtual on virtual time; for stores that have no clock of their own. */
    int64_t (*local_now)(void *arg);
    void *local_now_arg;
    int local_is_virtual; /* not 0: it is the runtime's, which may be virtual */
};

/* A job to put. */
struct tw_store_put {
    const struct tw_durable_job *job; /* checked, defaults filled in; `absolute` or a delay; of a job with
                                         `cron` due_ns is absolute */
    int hold;                         /* not 0: the member holds it as soon as it is put; see `put` */

    /* Results. Not 0 if there was a job of this name. */
    int existed;

    /* Of the claim; 0: the job is not held. Otherwise `ready_ns` is when it is ready, and `started` not 0 if
     * it was ready by now, and is started. */
    int64_t token;
    int64_t ready_ns;
    int started;
};

/* A member, as it knows itself. */
struct tw_store_member {
    int64_t id;
    int64_t epoch;
};

/* A claim: jobs of these kinds that are ready within `horizon_ns` from now, those that are ready first of
 * each kind. */
struct tw_store_claim {
    struct tw_store_member member;
    const char *const *kinds;
    size_t kinds_count;
    int64_t horizon_ns;
    size_t limit; /* at most this many in all */
};

/* What else a claim returns. */
struct tw_store_look {
    int64_t now_ns;
    int64_t next_ns; /* when the first of these kinds that it has not claimed is ready, or, if it has claimed
                        as many as its limit, any time before that; TW_STORE_NEVER: there is none */
    int has_dead; /* not 0: the lease of some member has ended, and `bury` has something to do; a claim that
                     has reached its limit need not look */
};

/* A held job to start. */
struct tw_store_start {
    const char *kind, *key;
    int64_t token;

    /* Results. `started`: the member holds the job with this token, its lease lasts, and the job is ready; it
     * is started now, or was before. Otherwise `ready_ns` is when the job is ready. If that time has passed,
     * the lease has ended or another transaction has locked the job. TW_STORE_NEVER: the member no longer
     * holds the job with this token. */
    int started;
    int64_t ready_ns;
};

/* What becomes of a held job, if the member still holds it with this token. */
enum tw_store_outcome_kind {
    TW_STORE_END,    /* it is deleted */
    TW_STORE_MOVE,   /* it is pending, with the values below */
    TW_STORE_FAIL,   /* it is failed, with the values below */
    TW_STORE_RELEASE /* it is pending as it was before it was claimed */
};

struct tw_store_outcome {
    const char *kind, *key;
    int64_t token;
    enum tw_store_outcome_kind what;
    int64_t due_ns;   /* absolute */
    int64_t ready_ns; /* a delay from now if `ready_is_delay`, else absolute */
    int ready_is_delay;
    uint32_t attempts;
    const char *error; /* NULL: none */
    int matched; /* result: 1 if settled; 0 if the member no longer holds the job, and nothing has changed;
                    -EBUSY if another transaction has locked the job: the caller must settle it again */
};

/* Receives an entry; as tw_durable_visitor. */
typedef int tw_store_visitor(const struct tw_durable_entry *entry, void *arg);

struct tw_store {
    const char *scheme; /* how its addresses begin, up to the colon */

    /* Opens a connection and stores it in *connection; creates the tables if there are none and they need not
     * exist, and brings those of former releases up to date. On error it has released everything,
     * and has written a message for people, without the address, into `why`, which has `room`
     * bytes. */
    int (*open)(void **connection, const struct tw_store_place *place, char *why, size_t room);

    /* Closes it. */
    void (*close)(void *connection);

    /* Frees what it can in the child of a fork, and sends nothing to the database: the parent is using it. */
    void (*abandon)(void *connection);

    /* The last error of this connection in words. Valid until its next use. */
    const char *(*explain)(void *connection);

    /* Reads the clock. */
    int (*now)(void *connection, int64_t *now_ns);

    /* --- jobs --- */

    /* Puts all jobs, in order. If `keep`, a job that exists stays as it is. Otherwise it is
     * replaced: pending, whichever member held it, with no attempts; its token stays. If a pending
     * one is due within a minute, the store notifies the connections that listen.
     *
     * A job that is put with `hold`, and is not one that stays, is claimed for `member` in the same
     * transaction, as by `claim`. It is pending like the rest if `member` is null or dead, if its lease has
     * ended, or if its epoch is another. If several puts replace one job, only the last has `hold`.
     */
    int (*put)(void *connection, struct tw_store_put *puts, size_t count, int keep,
               const struct tw_store_member *member);

    /* Deletes a job, whichever member holds it. Returns 1, or 0 if it was started; -ENOENT if there is none.
     */
    int (*remove)(void *connection, const char *kind, const char *key);

    /* Makes failed jobs pending, ready now, with no attempts and no error, and notifies the
     * connections that listen. A null text stands for all kinds or all keys. Returns how many. */
    int64_t (*requeue)(void *connection, const char *kind, const char *key);

    /* Calls each(entry, arg) on jobs in the order of kind and key, byte by byte; `key` null or one key.
     * Returns 0, or what `each` returned if that is not 0. */
    int (*list)(void *connection, const struct tw_durable_filter *filter, const char *key,
                tw_store_visitor *each, void *arg);

    /* Counts what `list` would list. */
    int64_t (*count)(void *connection, const struct tw_durable_filter *filter);

    /* --- members --- */

    /* Makes a member, with a lease that ends lease_ns from now. */
    int (*join)(void *connection, const char *name, int64_t lease_ns, struct tw_store_member *member);

    /* Makes the lease end lease_ns from now. -ESTALE: it is dead, or its epoch is another. */
    int (*renew)(void *connection, const struct tw_store_member *member, int64_t lease_ns, int64_t *now_ns);

    /* After the connection has broken: raises its epoch, whatever it was, also in *member. Marks as started
     * those jobs that it holds with one of the `count` tokens `started`: their handlers run or are about to,
     * and the database has lost their start, or could not be asked. Then calls each(entry, arg) on what it
     * holds, of which only name, state, token and ready_ns are given. If another transaction has locked a
     * job, the store may leave it unmarked and report it as held: the caller must then resume again. If the
     * epoch has risen and the rest fails, *member has the new epoch. -ESTALE: it is dead. */
    int (*resume)(void *connection, struct tw_store_member *member, const int64_t *started, size_t count,
                  tw_store_visitor *each, void *arg);

    /* Releases what the member holds, and deletes it, whatever its epoch. Notifies the connections
     * that listen. If another transaction has locked a job, the member stays as a dead one, and
     * `bury` releases the job later. -ESTALE: it is dead. */
    int (*leave)(void *connection, const struct tw_store_member *member);

    /* Declares the members dead whose lease has ended, and releases what they hold, at most `limit` jobs; a
     * started one counts one more attempt. Deletes members that hold nothing any more. Notifies the
     * connections that listen. Returns how many it has released. */
    int64_t (*bury)(void *connection, size_t limit);

    /* --- holding --- */

    /* Claims jobs and calls each(entry, arg) on them, in the order of `ready_ns`. The call also starts those
     * that are ready by now. -ESTALE: the member is dead, its lease has ended, or its epoch is another. */
    int (*claim)(void *connection, const struct tw_store_claim *claim, tw_store_visitor *each, void *arg,
                 struct tw_store_look *look);

    /* Starts held jobs. -ESTALE: the member is dead, or its epoch is another. */
    int (*start)(void *connection, const struct tw_store_member *member, struct tw_store_start *starts,
                 size_t count, int64_t *now_ns);

    /* Settles held jobs. The store notifies the connections that listen of the jobs that it releases.
     * -ESTALE: the member is dead, or its epoch is another. */
    int (*settle)(void *connection, const struct tw_store_member *member, struct tw_store_outcome *outcomes,
                  size_t count);

    /* --- notifications --- */

    /* Returns a descriptor that becomes readable when other connections have put, requeued or released jobs
     * that are ready within a minute, from the first call on. -EOPNOTSUPP, or a null pointer here: this
     * database sends no notifications. */
    int (*listen)(void *connection);

    /* Reads the notifications. Call it before each wait for the descriptor, too: one that came while another
     * function used the connection need not make it readable. Returns 1 and the time at which the first of
     * these jobs is ready, 0 for now; or returns 0 if there was none. */
    int (*told)(void *connection, int64_t *ready_ns);
};

/* Returns the store of this build for an address, or NULL. */
TW_MUST_CHECK const struct tw_store *tw_store_for(const char *address);

#ifdef __cplusplus
}
#endif

#endif

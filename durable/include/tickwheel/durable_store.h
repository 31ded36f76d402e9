/* tickwheel/durable_store.h - what durable timers need from a database; to add your own.
 *
 * A store is a table of functions for one kind of database. The library has one for SQLite and one for
 * PostgreSQL, whose tables are in durable/docs/DURABLE.md. Pass your own in tw_durable_options.store, and
 * test it with the suite in durable/tests/store*.cpp. The store in durable/tests/memory is an example.
 *
 * A store keeps jobs and members. A job is one of these:
 *
 *     pending   no member holds it; a member may claim it, also before `ready_ns`, but must then wait
 *     held      a member has claimed it: `holder`, and a `token` that is higher than any before
 *     started   held, and its handler may be running
 *     failed    no member holds it, and none may claim it
 *     given up  pending and periodic, with an error and no attempts, and ready when it is due: so `settle`
 *               leaves a periodic job when its last try has failed. Members treat it as a pending job
 *     waiting   `waits_for` names a group. No member holds it, and none may claim it: `ready_ns` is
 *               TW_NO_DEADLINE
 *
 * A group is the jobs that have its name in `group`, of any state. When no job of a group is left, the store
 * releases the jobs that wait for it: each becomes pending, without `waits_for`, and ready when it is due, or
 * now if that has passed; and the store notifies the connections that listen. The store looks whether a group
 * has jobs left
 *
 *   - after `settle` has ended jobs of the group, or `remove` or `change` has removed some,
 *   - after `put` has put jobs that wait for the group,
 *   - after `put` has replaced jobs of the group by jobs that do not belong to it.
 *
 * A store that carries out one transaction at a time looks within that of the function. Any other store must
 * look in a further transaction, which begins when the first is committed: if two transactions that each end
 * one of the last two jobs looked within themselves, both would see the other's job, and no look would
 * release the waiting jobs. That look can fail, or the process can end before it. So such a store also looks
 * in each `claim` with `from_ns` 0 that does not reach its limit, for all groups, before it sets `next_ns`.
 * If a look fails, the function has succeeded nevertheless. A release may survive a power cut only if the
 * ends before it do.
 *
 * A member is a process that handles jobs. It has a number that is never used again, an epoch, and a time at
 * which its lease ends. A member whose lease has ended may renew it until another member declares it dead
 * (`bury`); from then on it may do nothing. The epoch goes up when the member's connection has broken: a
 * claim that the database still carries out for the former connection then claims nothing. A database that
 * goes back in time, by a failover or a restored backup, can give a number twice. So epochs begin at random.
 *
 * Each function is one transaction: it happens as a whole or not at all. The effects of `put`, `remove`,
 * `change` and `claim` survive a power cut once they have returned. The effect of `start` survives a crash
 * of the database that the process survives; otherwise `remove` could report that it prevented a fire whose
 * handler is running. A crash or a power cut may undo other effects; at worst, that repeats fires. `now` is
 * always a reading of the database's clock while the function runs.
 *
 * Conventions
 *   Threads  The library uses a connection on one thread at a time, but not always on the same one.
 *   Time     Nanoseconds since 1970, a multiple of 1000, from 0 to TW_STORE_TIME_MAX; TW_NO_DEADLINE stands
 *            for never. Periods and graces are multiples of 1000, too. Other spans are any number of
 *            nanoseconds, and the store rounds up the times that result from them.
 *   Names    Kinds and keys are valid, as durable.h says, and end with a zero byte.
 *   Errors   Those of durable.h. After -ENOTCONN or -ETIMEDOUT the library closes the connection and opens
 *            another.
 *   Visits   The entries that a visitor received count only if the function then returns 0. If the function
 *            fails, or the visitor ended the walk, the database may or may not have carried out the claim:
 *            `resume` tells which jobs the member holds.
 *   Rows     With each job that it holds, the library keeps a number for the store, `row`, and passes it back
 *            to `start` and `settle`. A store may use the number to find the job faster, but must not depend
 *            on it: the number may be 0 or out of date.
 *   Forks    In the child of a fork the library calls only `abandon`.
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

/* Where a database is, and how to use it. Valid during `open`. */
struct tw_store_place {
    const char *address;  /* as it was given to tw_durable_open */
    const char *schema;   /* valid, as durable.h says */
    int64_t timeout_ns;   /* longest wait for an answer; `list` and `count` may take longer */
    const char *grant_to; /* `open` gives this role the rights that a process needs; NULL: none. -EOPNOTSUPP:
                             the database has no roles */
    int must_exist;       /* not 0: `open` creates nothing, and returns -ENOENT if something is missing */

    /* The local steady clock, for stores that have no clock of their own. */
    int64_t (*local_now)(void *arg);
    void *local_now_arg;
    int local_is_virtual; /* not 0: `local_now` reads the runtime's clock, which may be on virtual time */
};

/* A job to put. */
struct tw_store_put {
    const struct tw_durable_job *job; /* checked, with defaults filled in. A job with `cron` is `absolute`:
                                         its due_ns is the first due time */
    int hold;                         /* not 0: the put also claims the job for the member; see `put`. 0 for
                                         a job that waits for a group */

    /* Results. */
    int existed; /* with `keep`: not 0 if there was a job of this name */

    /* If the put has claimed the job, `token` is that of the claim, `ready_ns` the time at which the job is
     * ready, and `started` is not 0 if that time has come and the put has started the job. Otherwise `token`
     * is 0. */
    int64_t token;
    int64_t ready_ns;
    int started;
    int64_t row;
};

/* A member, with the epoch that its process knows. */
struct tw_store_member {
    int64_t id;
    int64_t epoch;
};

/* A claim of the jobs of these kinds that are ready within `horizon_ns` from now. A negative horizon means
 * the jobs that have been ready for at least that long. If there are more than `limit`, the claim takes of
 * each kind the jobs that are ready first. */
struct tw_store_claim {
    struct tw_store_member member;
    const char *const *kinds;
    size_t kinds_count;
    int64_t horizon_ns;
    size_t limit;     /* at most this many jobs of all kinds together; 0: the call only looks */
    int64_t from_ns;  /* jobs that are ready before this time are left out, also from `next_ns` */
    int64_t until_ns; /* if `limit` is 0: so are jobs that are ready at this time or later; 0: none are */

    /* The limits of a claim of one kind, with the horizon 0. The claims of a kind by which limits are kept
     * happen one after the other; those of other kinds do not wait for them.
     *
     * `running`, unless 0: the claim leaves at most this many jobs that claims with `running` have taken and
     * that members still hold, dead members included. Jobs that other calls have taken may count as well.
     *
     * `pause_ns`, unless 0: the store keeps a time for each kind, which begins in the past. A job may be
     * claimed as long as this time is at most `tolerance_ns` from now; it then becomes pause_ns after itself,
     * or after now if it has passed. */
    uint32_t running;
    int64_t pause_ns, tolerance_ns;
};

/* The results of a claim, apart from the jobs. A claim that has reached a limit other than 0 need not look
 * further: it may set `next_ns` to any time before the true one, and `lease_end_ns` to TW_NO_DEADLINE. */
struct tw_store_look {
    int64_t now_ns;
    int64_t next_ns;      /* when the first pending job of these kinds that the claim has not taken is ready;
                             TW_NO_DEADLINE: there is none */
    int64_t lease_end_ns; /* when the first of the other members' leases ends; `bury` has work to do if this
                             time has come. The store may leave out members that hold no jobs and whose lease
                             lasts. TW_NO_DEADLINE: there is none */

    /* Of a claim with limits that has not reached `limit`. */
    int is_full;       /* not 0: as many jobs are held as `running` allows */
    int64_t starts_ns; /* when another claim may take a job, by `pause_ns`, or because another transaction
                          claims jobs of this kind just now; 0: now */
};

/* A held job to start. */
struct tw_store_start {
    const char *kind, *key;
    int64_t token;
    int64_t row; /* also a result, if the start has changed it */

    /* Results. `started` is not 0 if the member holds the job with this token, its lease lasts, and the job
     * is ready: the job is now started, or was before. Otherwise `ready_ns` is when the job is ready. If that
     * time has passed, the lease has ended or another transaction has locked the job. TW_NO_DEADLINE: the
     * member no longer holds the job with this token. */
    int started;
    int64_t ready_ns;
};

/* What `settle` does with a held job, if the member still holds it with this token. */
enum tw_store_outcome_kind {
    TW_STORE_END,    /* deletes it */
    TW_STORE_MOVE,   /* makes it pending, with the values below */
    TW_STORE_FAIL,   /* makes it failed, with the values below */
    TW_STORE_RELEASE /* makes it pending, as it was before the claim */
};

struct tw_store_outcome {
    const char *kind, *key;
    int64_t token;
    int64_t row;
    enum tw_store_outcome_kind what;
    int64_t due_ns;   /* absolute */
    int64_t ready_ns; /* a delay from now if `ready_is_delay`, else absolute */
    int ready_is_delay;
    uint32_t attempts;
    const char *error; /* NULL: none */
    int matched; /* result: 1 if settled; 0 if the member no longer holds the job, and nothing has changed;
                    -EBUSY if another transaction has locked the job: the caller must settle it again */
};

/* What `change` does with a job. */
enum tw_store_change {
    TW_STORE_REMOVE, /* deletes it, whichever member holds it */
    TW_STORE_FIRE    /* makes it ready now and pending, unless it is started or ready. A failed job then has
                        no attempts and no error, and a waiting job no group for which it waits. If the due
                        time is still to come, that of a job with a cron expression becomes now, and that of a
                        job with a period a period earlier, so that the
                        schedule stays. Notifies the connections that listen */
};

/* Receives a job that `change` has selected, as it was before: the entry has only name, state, ready_ns and
 * token. `changed` is 1; or 0 if this change leaves such a job as it is; or -EBUSY if the job should have
 * changed, but another transaction has locked or changed it. */
typedef int tw_store_changed(const struct tw_durable_entry *entry, int changed, void *arg);

/* Receives an entry, as tw_durable_visitor does. */
typedef int tw_store_visitor(const struct tw_durable_entry *entry, void *arg);

/* Receives a claimed job; otherwise like tw_store_visitor. */
typedef int tw_store_taker(const struct tw_durable_entry *entry, int64_t row, void *arg);

/* Receives a notification. */
typedef void tw_store_notice(const char *kind, int64_t ready_ns, void *arg);

struct tw_store {
    const char *scheme; /* the start of its addresses, up to the colon */

    /* Opens a connection and stores it in *connection. Creates missing tables, unless they must exist, and
     * brings tables of former releases up to date. On error it has freed everything, and has written a
     * message for people, without passwords, into `why`, which has `room` bytes. */
    int (*open)(void **connection, const struct tw_store_place *place, char *why, size_t room);

    void (*close)(void *connection);

    /* Frees what it can in the child of a fork, and sends nothing to the database: the parent is using it. */
    void (*abandon)(void *connection);

    /* The last error of this connection in words. Valid until its next use. */
    const char *(*explain)(void *connection);

    /* Reads the clock. */
    int (*now)(void *connection, int64_t *now_ns);

    /* --- jobs --- */

    /* Puts all jobs, in order. With `keep`, an existing job stays as it is. Otherwise the new job replaces
     * the existing one, whichever member held that: the new one is pending, with no attempts, and keeps the
     * token. If a job that is now pending is due within a minute, the store notifies the connections that
     * listen.
     *
     * A put of a job with `within_ns` sets its end, now + within_ns. If the job replaces one that has an end
     * and no failed attempts, and has neither started nor failed, it takes over that end. Its due time is not
     * later than its end. `settle` removes the end, except with TW_STORE_RELEASE.
     *
     * If a put has `hold`, and `keep` did not leave an existing job in place, the put also claims its job for
     * `member` in the same transaction, as `claim` does. The job stays pending if `member` is null or dead,
     * if its lease has ended, or if its epoch has changed. If several puts replace one job, only the last has
     * `hold`. */
    int (*put)(void *connection, struct tw_store_put *puts, size_t count, int keep,
               const struct tw_store_member *member);

    /* Deletes a job, whichever member holds it. Returns 1, or 0 if the job was started. -ENOENT: there is no
     * such job. */
    int (*remove)(void *connection, const char *kind, const char *key);

    /* Changes the jobs that the filter selects, and calls each(entry, changed, arg) on them, in the order of
     * `list`; if `key` is not null, only the job with this key. Skips jobs that another transaction has
     * locked, but waits for a job with a key. Returns 0, or what `each` returned if that is not 0. */
    int (*change)(void *connection, const struct tw_durable_filter *filter, const char *key,
                  enum tw_store_change what, tw_store_changed *each, void *arg);

    /* Calls each(entry, arg) on the jobs that the filter selects, in its order; if `key` is not null, only on
     * the job with this key. Returns 0, or what `each` returned if that is not 0. */
    int (*list)(void *connection, const struct tw_durable_filter *filter, const char *key,
                tw_store_visitor *each, void *arg);

    /* Counts what `list` would list. */
    int64_t (*count)(void *connection, const struct tw_durable_filter *filter);

    /* --- members --- */

    /* Makes a member, with a lease that ends lease_ns from now. */
    int (*join)(void *connection, const char *name, int64_t lease_ns, struct tw_store_member *member);

    /* Makes the lease end lease_ns from now. -ESTALE: the member is dead, or its epoch has changed. */
    int (*renew)(void *connection, const struct tw_store_member *member, int64_t lease_ns, int64_t *now_ns);

    /* After the connection has broken: raises the member's epoch, which may be higher than in *member, and
     * stores the new epoch there. Marks as started those of the member's jobs that have one of the `count`
     * tokens `started`: their handlers run or are about to, and the database has lost their start, or could
     * not be asked. Then calls each(entry, arg) on all jobs that the member holds; the entries have only
     * name, state, token and ready_ns. If another transaction has locked a job, the store may leave it
     * unmarked and report it as held: the caller must then resume again. If the epoch has risen and the rest
     * fails, *member has the new epoch. -ESTALE: the member is dead. */
    int (*resume)(void *connection, struct tw_store_member *member, const int64_t *started, size_t count,
                  tw_store_visitor *each, void *arg);

    /* Releases the member's jobs, and deletes the member, whose epoch may be higher than in *member. Notifies
     * the connections that listen, with the time 0, also if the member held nothing: only this member may
     * have known of jobs that it has just settled. If another transaction has locked a job, the store
     * declares the member dead instead, and `bury` releases the job later. -ESTALE: the member is dead. */
    int (*leave)(void *connection, const struct tw_store_member *member);

    /* Declares the members dead whose leases have ended, and releases the jobs of dead members, at most
     * `limit`; a started job counts one more attempt. Deletes dead members that no longer hold jobs. Notifies
     * the connections that listen. Returns how many jobs it has released. */
    int64_t (*bury)(void *connection, size_t limit);

    /* --- holding --- */

    /* Claims jobs, starts those that are ready by now, and calls each(entry, arg) on all of them, in the
     * order of `ready_ns`. -ESTALE: the member is dead, its lease has ended, or its epoch has changed. */
    int (*claim)(void *connection, const struct tw_store_claim *claim, tw_store_taker *each, void *arg,
                 struct tw_store_look *look);

    /* Starts held jobs. -ESTALE: the member is dead, or its epoch has changed. */
    int (*start)(void *connection, const struct tw_store_member *member, struct tw_store_start *starts,
                 size_t count, int64_t *now_ns);

    /* Settles held jobs. The store notifies the connections that listen of the jobs that it releases.
     * -ESTALE: the member is dead, or its epoch has changed. */
    int (*settle)(void *connection, const struct tw_store_member *member, struct tw_store_outcome *outcomes,
                  size_t count);

    /* --- notifications --- */

    /* Makes the connection listen. Returns a descriptor that becomes readable when other connections have
     * put, requeued or released jobs that are ready within a minute, or have called `notify`. -EOPNOTSUPP, or
     * a null pointer instead of this function: the database sends no notifications. */
    int (*listen)(void *connection);

    /* Reads the notifications, and calls each(kind, ready_ns, arg) for them: the first job of this kind, or
     * of any kind if `kind` is null, is ready at this time; 0: now. The library also calls this before each
     * wait for the descriptor, because a notification that came while another function used the connection
     * need not make the descriptor readable. */
    int (*read_notifications)(void *connection, tw_store_notice *each, void *arg);

    /* Notifies the connections that listen that a job of this kind may be claimed now: a limit leaves room
     * again. Called only if `listen` has returned a descriptor. */
    int (*notify)(void *connection, const char *kind);

    /* --- for people who look --- */

    /* Stores which kinds the member handles, and how far its machine's time of day is ahead of the database's
     * clock. -ESTALE: the member is dead, or its epoch has changed. */
    int (*announce)(void *connection, const struct tw_store_member *member, const char *const *kinds,
                    size_t count, int64_t clock_offset_ns);

    /* As tw_durable_members and tw_durable_tallies. */
    int (*members)(void *connection, tw_durable_member_visitor *each, void *arg);
    int (*tallies)(void *connection, const int64_t *times, size_t count, uint64_t most,
                   tw_durable_tally_visitor *each, void *arg);
};

/* Returns the store of this build for an address, or NULL. */
TW_MUST_CHECK const struct tw_store *tw_store_for(const char *address);

#ifdef __cplusplus
}
#endif

#endif

/* tickwheel/durable_sqlite.h - durable jobs in your own transaction, with SQLite.
 *
 *     sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
 *     insert_order(db, order);
 *     struct tw_durable_job cancel = {.kind = "cancel", .key = order->id, .due_ns = 180 * TW_SECOND};
 *     if (tw_durable_put_sqlite(db, NULL, &cancel, TW_DURABLE_REPLACE) < 0)
 *         ...                                            // ROLLBACK: there is neither order nor job
 *     sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);      // now there are both
 *
 * The order and its job are in one database: either both exist, or neither does. The commit notifies the
 * processes that handle the job's kind.
 *
 * Only in builds with SQLite. Conventions are those of durable.h, and:
 *   Arguments    `db` is your connection with the database of the jobs, in which tw_durable_open has already
 *                created the tables. That database may be attached under another name. `schema` is the one in
 *                the options of tw_durable_open, or null for the same default.
 *   Transaction  The effects of a call are part of the transaction that `db` has begun, and appear when you
 *                commit it. Begin it with BEGIN IMMEDIATE: in a transaction that has only read so far, SQLite
 *                refuses to write if another connection has written since (-EBUSY). Without a transaction,
 *                each call is one of its own.
 *   Durability   That of `db`: a commit survives the end of the process. With PRAGMA synchronous = FULL,
 *                SQLite's default, a commit also survives a power cut. If you have turned off the write-ahead
 *                log, which tw_durable_open turns on, use EXTRA instead: otherwise a power cut can undo the
 *                last commit.
 *   Results      A call that fails has changed nothing, and leaves the transaction open: roll the transaction
 *                back or go on. But after -ENOSPC, -EIO and -ENOMEM SQLite may have rolled the transaction
 *                back; sqlite3_get_autocommit then returns 1. Both functions can return:
 *   -EBUSY         another connection keeps the database locked for longer than the busy timeout of
 *                  `db`
 *   -EACCES, -EROFS, -ENOSPC, -EBADMSG, -EIO, -ENOMEM
 *                  as in durable.h
 *   -ENOTCONN      the file was moved or deleted (with a write-ahead log SQLite does not notice)
 *   -EPROTO        there are no tables of this schema, or the tables are those of another release
 *   -EINVAL        `db` is null, or the schema malformed
 *   Threads      Any thread, if no other thread uses `db` at the same time.
 */
#ifndef TICKWHEEL_DURABLE_SQLITE_H
#define TICKWHEEL_DURABLE_SQLITE_H

#include <tickwheel/durable.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sqlite3;

/* Puts a job as tw_durable_put does, with the same meaning of `existing`; a delay counts from the call, not
 * from the commit. Returns 0.
 *   -EEXIST  with TW_DURABLE_ADD: there is a job of this name
 *   -EINVAL  also: a name, time or schedule is out of range or malformed; no such time zone; or the cron
 *            expression is never due */
int tw_durable_put_sqlite(struct sqlite3 *db, const char *schema, const struct tw_durable_job *job,
                          enum tw_durable_existing existing);

/* Removes the job of this `kind` and `key`, as tw_durable_cancel does. Returns 1 if the removal,
 * once committed, prevents a fire, and 0 if the handler was started.
 *   -EINVAL  also: a malformed name
 *   -ENOENT  there is no such job */
int tw_durable_cancel_sqlite(struct sqlite3 *db, const char *schema, const char *kind, const char *key);

#ifdef __cplusplus
}
#endif

#endif

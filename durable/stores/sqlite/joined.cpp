// The functions of durable_sqlite.h: puts and removals in the caller's transaction, on the caller's
// connection.
#include <tickwheel/durable_sqlite.h>

#include <cerrno>

#include "operations.hpp"
#include "schema.hpp"
#include "src/check_job.hpp"
#include "src/explain.hpp"
#include "src/guard.hpp"

namespace tickwheel::durable {
namespace {

using sqlite::session;

// Runs `body` as a part of the caller's transaction, and rolls the whole part back if `body` fails.
template <typename F> int in_part(session &of, F body) {
    of.set_open();
    const int error = of.begin_part();
    const auto result = error != 0 ? error : static_cast<int>(of.end_part(sqlite::result_of(of, body)));
    return result < 0 ? refuse(result, of.explain()) : result;
}

int check_place(const sqlite3 *db, const char *schema) {
    if (db == nullptr)
        return refuse(-EINVAL, "the connection is null");
    return check_schema(schema);
}

// Checks a job, and fills in its first due time.
int check_whole(const tw_durable_job *job, std::int64_t now, tw_durable_job &checked) {
    if (job == nullptr)
        return refuse(-EINVAL, "the job is null");
    calendar dates;
    if (const int error = check_job(*job, checked, &dates); error != 0)
        return error;
    if (job->cron != nullptr) {
        checked.due_ns = tw_calendar_next(dates.get(), now);
        checked.absolute = 1;
    }
    return checked.due_ns != TW_NO_DEADLINE ? 0 : refuse(-EINVAL, "the cron expression is never due");
}

int put_joined(session &to, const tw_durable_job &job, bool keep) {
    if (const int error = sqlite::check_version(to); error != 0)
        return error;
    const std::int64_t now = to.now();
    sqlite::effects done;
    const int existed = sqlite::put_one(to, job, keep, now, done);
    if (existed < 0)
        return existed;
    const int error = sqlite::conclude(to, done, now);
    return error != 0 ? error : existed;
}

int remove_joined(session &to, const char *kind, const char *key) {
    if (const int error = sqlite::check_version(to); error != 0)
        return error;
    const int prevented = sqlite::remove_one(to, kind, key);
    return prevented == -ENOENT ? to.fail(-ENOENT, "there is no such job") : prevented;
}

const char *or_default(const char *schema) { return schema != nullptr ? schema : "tickwheel"; }

}  // namespace
}  // namespace tickwheel::durable

using namespace tickwheel::durable;

TW_API int tw_durable_put_sqlite(sqlite3 *db, const char *schema, const tw_durable_job *job,
                                 tw_durable_existing existing) {
    return guarded([=] {
        const char *const prefix = or_default(schema);
        tw_durable_job checked{};
        if (const int error = check_existing(existing); error != 0)
            return error;
        if (const int error = check_place(db, prefix); error != 0)
            return error;
        session to(db, prefix);
        if (const int error = check_whole(job, to.now(), checked); error != 0)
            return error;
        const int existed =
            in_part(to, [&] { return put_joined(to, checked, existing != TW_DURABLE_REPLACE); });
        if (existing == TW_DURABLE_ADD && existed == 1)
            return refuse_taken_name();
        return existed < 0 ? existed : 0;
    });
}

TW_API int tw_durable_cancel_sqlite(sqlite3 *db, const char *schema, const char *kind, const char *key) {
    return guarded([=] {
        const char *const prefix = or_default(schema);
        if (const int error = check_place(db, prefix); error != 0)
            return error;
        if (const int error = check_name(kind, "kind"); error != 0)
            return error;
        if (const int error = check_name(key, "key"); error != 0)
            return error;
        session to(db, prefix);
        return in_part(to, [&] { return remove_joined(to, kind, key); });
    });
}

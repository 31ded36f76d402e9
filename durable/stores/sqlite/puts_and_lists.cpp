#include "operations.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>

#include "stores/selection.hpp"

namespace tickwheel::durable::sqlite {

namespace {

// Binds the parameters of insert_job and replace_job.
query &with_job(query &to, const tw_durable_job &job, std::int64_t due) {
    to.with(job.kind).with(job.key).with_time(due).with_bytes(job.payload, job.size);
    to.with_time(time_after(0, job.period_ns)).with(job.cron).with(job.zone);
    return to.with(static_cast<std::int64_t>(job.missed)).with_time(time_after(0, job.grace_ns));
}

int replace(session &to, const tw_durable_job &job, std::int64_t due) {
    query replacing(to, sql::replace_job);
    return with_job(replacing, job, due).run();
}

// Returns 1 if it has inserted the job, 0 if a job of this name exists.
int insert(session &to, const tw_durable_job &job, std::int64_t due) {
    query inserting(to, sql::insert_job);
    return with_job(inserting, job, due).run();
}

}  // namespace

int put_one(session &to, const tw_durable_job &job, bool keep, std::int64_t now, std::int64_t &first) {
    const std::int64_t due = due_time(job, now);
    if (!keep) {
        const int replaced = replace(to, job, due);
        if (replaced != 0) {
            first = std::min(first, due);
            return replaced;
        }
    }
    const int inserted = insert(to, job, due);
    if (inserted < 0)
        return inserted;
    if (inserted == 1)
        first = std::min(first, due);
    return 1 - inserted;
}

namespace {

// Takes a token for each job to hold, and stores the token before the first in `last_used`. Leaves
// `last_used` empty if there is no job to hold, or if the member must not hold jobs.
int take_for(session &to, const tw_store_put *puts, std::size_t count, const tw_store_member *who,
             std::int64_t now, std::optional<std::int64_t> &last_used) {
    std::int64_t lease = 0;
    const auto wanted =
        std::count_if(puts, puts + count, [](const tw_store_put &each) { return each.hold != 0; });
    if (who == nullptr || wanted == 0)
        return 0;
    const int error = lease_of(to, *who, lease);
    if (error == -ESTALE || (error == 0 && lease <= now))
        return 0;
    if (error != 0)
        return error;
    return take_tokens(to, static_cast<std::size_t>(wanted), last_used.emplace());
}

// Puts one job, and holds the job if `put.hold` is set and `last_used` has a value. If the put leaves the job
// pending, lowers `first` to the job's ready time.
int put_and_hold(session &to, tw_store_put &put, bool keep, const tw_store_member *who, std::int64_t now,
                 std::optional<std::int64_t> &last_used, std::int64_t &first) {
    std::int64_t ready = TW_NO_DEADLINE;
    put.token = 0;
    put.existed = put_one(to, *put.job, keep, now, ready);
    if (put.existed < 0)
        return put.existed;
    if (put.hold == 0 || !last_used || ready == TW_NO_DEADLINE) {
        first = std::min(first, ready);
        return 0;
    }
    put.token = ++*last_used;
    put.ready_ns = ready;
    put.started = ready <= now ? 1 : 0;
    const int held = hold(to, put.job->kind, put.job->key, who->id, put.token, now);
    return held < 0 ? held : 0;
}

}  // namespace

int put(session &to, tw_store_put *puts, std::size_t count, bool keep, const tw_store_member *who) {
    return in_small_transaction(to, durability::full, [=, &to] {
        const std::int64_t now = to.now();
        std::int64_t first = TW_NO_DEADLINE;
        std::optional<std::int64_t> last_used;
        if (const int error = take_for(to, puts, count, who, now, last_used); error != 0)
            return error;
        for (tw_store_put *each = puts; each != puts + count; ++each)
            if (const int error = put_and_hold(to, *each, keep, who, now, last_used, first); error != 0)
                return error;
        return to.ring(first, now);
    });
}

namespace {

// Returns 1 if the job has not started, 0 if it has, or -ENOENT.
int has_to_start(session &of, const char *kind, const char *key) {
    query find(of, sql::is_started);
    const int found = find.with(kind).with(key).row();
    if (found != 1)
        return found < 0 ? found : -ENOENT;
    return find.number(0) == 0 ? 1 : 0;
}

}  // namespace

int remove_one(session &to, const char *kind, const char *key) {
    const int prevented = has_to_start(to, kind, key);
    if (prevented < 0)
        return prevented;
    const int removed = query(to, sql::delete_job).with(kind).with(key).run();
    return removed < 0 ? removed : prevented;
}

int remove(session &to, const char *kind, const char *key) {
    return in_small_transaction(to, durability::full, [=, &to] { return remove_one(to, kind, key); });
}

// --- entries ---------------------------------------------------------------------------------

namespace {

// The columns, in the order of JOB_COLUMNS.
enum column {
    kind,
    key,
    payload,
    due,
    period,
    cron,
    zone,
    missed,
    grace,
    ready,
    attempts,
    token,
    started,
    failed,
    error,
    holder,
    holder_name
};

}  // namespace

tw_durable_state state_of(bool is_held, bool is_started, bool has_failed) {
    if (is_held)
        return is_started ? TW_DURABLE_STARTED : TW_DURABLE_HELD;
    return has_failed ? TW_DURABLE_FAILED : TW_DURABLE_PENDING;
}

int entry_of(session &of, query &row, tw_durable_entry &entry) {
    entry = {};
    entry.job.kind = row.text(kind);
    entry.job.key = row.text(key);
    entry.job.payload = row.bytes(payload, entry.job.size);
    entry.job.due_ns = row.time(due);
    entry.job.absolute = 1;
    entry.job.period_ns = row.time(period);
    entry.job.cron = row.text(cron);
    entry.job.zone = row.text(zone);
    entry.job.missed = static_cast<tw_durable_missed>(row.number(missed));
    entry.job.grace_ns = row.time(grace);
    entry.state = state_of(!row.is_null(holder), row.number(started) != 0, row.number(failed) != 0);
    entry.ready_ns = row.time(ready);
    entry.attempts = static_cast<std::uint32_t>(row.number(attempts));
    entry.token = row.number(token);
    entry.holder = row.text(holder_name);
    entry.holder_id = row.number(holder);
    entry.error = row.text(error);
    if (entry.state == TW_DURABLE_PENDING)
        entry.state = state_at_rest(entry);
    return row.is_cut() ? of.fail(-ENOMEM, "no memory") : 0;
}

}  // namespace tickwheel::durable::sqlite

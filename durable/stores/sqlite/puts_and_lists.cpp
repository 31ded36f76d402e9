#include "operations.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "stores/selection.hpp"

namespace tickwheel::durable::sqlite {

namespace {

// Binds the parameters of insert_job and replace_job. `end` is TW_NO_DEADLINE if the job has none.
query &with_job(query &to, const tw_durable_job &job, std::int64_t due, std::int64_t end) {
    to.with(job.kind).with(job.key).with_time(due);
    to.with_time(job.waits_for == nullptr ? due : TW_NO_DEADLINE).with_bytes(job.payload, job.size);
    to.with_time(time_after(0, job.period_ns)).with(job.cron).with(job.zone);
    to.with(static_cast<std::int64_t>(job.missed)).with_time(time_after(0, job.grace_ns));
    to.with(job.group).with(job.waits_for);
    return end != TW_NO_DEADLINE ? to.with_time(end) : to.with(nullptr);
}

// Looks up the job that a put replaces: adds its group to `into`, and lowers `end` to that of the job, if
// both have one. Returns 1 if there is such a job.
int find_replaced(session &of, const tw_durable_job &job, std::int64_t &end, effects &into) {
    query former(of, sql::find_replaced);
    const int found = former.with(job.kind).with(job.key).row();
    if (found != 1)
        return found;
    if (const char *const group = former.text(0); group != nullptr)
        into.groups.insert(group);
    if (end != TW_NO_DEADLINE && !former.is_null(1))
        end = former.time(1);
    return former.is_cut() ? of.fail(-ENOMEM, "no memory") : 1;
}

int put_new(session &to, sql how, const tw_durable_job &job, std::int64_t due, std::int64_t end) {
    query putting(to, how);
    return with_job(putting, job, due, end).run();
}

}  // namespace

int put_one(session &to, const tw_durable_job &job, bool keep, std::int64_t now, effects &into) {
    std::int64_t end = job.within_ns != 0 ? time_after(now, job.within_ns) : TW_NO_DEADLINE;
    const int existed = keep ? 0 : find_replaced(to, job, end, into);
    if (existed < 0)
        return existed;
    const std::int64_t due = std::min(due_time(job, now), end);
    const int changed = put_new(to, existed == 1 ? sql::replace_job : sql::insert_job, job, due, end);
    if (changed < 0)
        return changed;
    if (job.waits_for != nullptr)
        into.groups.insert(job.waits_for);
    else if (changed == 1)
        into.first = std::min(into.first, due);
    return existed == 1 ? 1 : 1 - changed;
}

namespace {

// Releases the jobs that wait for a group, if it is empty. Lowers `first` to the ready time of the first.
int release_waiting(session &to, const char *group, std::int64_t now, std::int64_t &first) {
    {
        query earliest(to, sql::first_waiting);
        const int found = earliest.with(group).with_time(now).row();
        if (found < 0 || earliest.is_null(0))
            return std::min(found, 0);
        first = std::min(first, earliest.time(0));
    }
    const int released = query(to, sql::release_waiting).with(group).with_time(now).run();
    return std::min(released, 0);
}

}  // namespace

int conclude(session &to, effects &of, std::int64_t now) {
    for (const std::string &group : of.groups)
        if (const int error = release_waiting(to, group.c_str(), now, of.first); error != 0)
            return error;
    return to.ring(of.first, now);
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
// pending, lowers `into.first` to the job's ready time.
int put_and_hold(session &to, tw_store_put &put, bool keep, const tw_store_member *who, std::int64_t now,
                 std::optional<std::int64_t> &last_used, effects &into) {
    const std::int64_t first = std::exchange(into.first, TW_NO_DEADLINE);
    put.token = 0;
    put.existed = put_one(to, *put.job, keep, now, into);
    if (put.existed < 0)
        return put.existed;
    const std::int64_t ready = std::exchange(into.first, first);
    if (put.hold == 0 || !last_used || ready == TW_NO_DEADLINE) {
        into.first = std::min(first, ready);
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
        effects done;
        std::optional<std::int64_t> last_used;
        if (const int error = take_for(to, puts, count, who, now, last_used); error != 0)
            return error;
        for (tw_store_put *each = puts; each != puts + count; ++each)
            if (const int error = put_and_hold(to, *each, keep, who, now, last_used, done); error != 0)
                return error;
        return conclude(to, done, now);
    });
}

namespace {

// Returns 1 if the job has not started, 0 if it has, or -ENOENT. Adds its group to `groups`.
int has_to_start(session &of, const char *kind, const char *key, std::set<std::string> &groups) {
    query find(of, sql::is_started);
    const int found = find.with(kind).with(key).row();
    if (found != 1)
        return found < 0 ? found : -ENOENT;
    if (const char *const group = find.text(1); group != nullptr)
        groups.insert(group);
    return find.number(0) == 0 ? 1 : 0;
}

}  // namespace

int remove_one(session &to, const char *kind, const char *key) {
    effects done;
    const int prevented = has_to_start(to, kind, key, done.groups);
    if (prevented < 0)
        return prevented;
    if (const int removed = query(to, sql::delete_job).with(kind).with(key).run(); removed < 0)
        return removed;
    const int error = conclude(to, done, to.now());
    return error != 0 ? error : prevented;
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
    of_group,
    waits_for,
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
    entry.job.group = row.text(of_group);
    entry.job.waits_for = row.text(waits_for);
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

// See simulation_oracle.hpp.
#include "simulation_oracle.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace tickwheel::durable::tests {

namespace {

using ll = long long;

const tw_store &store() { return *tw_store_for("memory:simulation"); }

int copy_entry(const tw_durable_entry *entry, void *arg) {
    *static_cast<tw_durable_entry *>(arg) = *entry;
    return 0;
}

// What the database has of a job; its state is 0 if it has none. Its texts are gone.
tw_durable_entry entry_of(const world &in, const char *key) {
    tw_durable_entry entry = {};
    tw_durable_filter filter = {};
    filter.kind = "job";
    if (store().list(in.observer, &filter, key, copy_entry, &entry) != 0)
        in.fail("the observer cannot look");
    return entry;
}

}  // namespace

// --- what users do -------------------------------------------------------------------------------

void oracle::before_change(const char *key) {
    former_ = entry_of(world_, key);
    job_model &it = jobs_[key];
    if (!it.exists || former_.state != 0)
        return;
    check_ended(key, it);
    it.exists = false;
}

// What was started may still begin: a process may be in another handler, and come to it later.
void oracle::end_former(job_model &it) {
    if (former_.state == 0)
        return;
    it.former_token = former_.token;
    it.allowed_token = former_.state == TW_DURABLE_STARTED ? former_.token : 0;
}

void oracle::put(const tw_durable_job &job, bool keep, int result, bool took_effect) {
    job_model &it = jobs_[job.key];
    if (result >= 0 && (result == 1) != it.exists)
        world_.fail("put of %s returns %d, and the job %s", job.key, result,
                    it.exists ? "exists" : "does not");
    if (!took_effect || (keep && it.exists))
        return;
    const tw_durable_entry entry = entry_of(world_, job.key);
    if (entry.state == 0)
        world_.fail("%s was put, and is not there", job.key);
    end_former(it);
    job_model fresh;
    fresh.exists = true;
    fresh.period = job.cron != nullptr ? 5 * minute : job.period_ns;
    fresh.grace = job.grace_ns != 0 ? job.grace_ns : second;
    fresh.missed = job.missed;
    fresh.due = entry.job.due_ns;
    fresh.put_at = world_.database_now();
    fresh.changed_at = world_.now();
    fresh.former_token = it.former_token;
    fresh.allowed_token = it.allowed_token;
    fresh.last_token = it.last_token;
    fresh.last = it.last;
    if (job.cron != nullptr && fresh.due % (5 * minute) != 0)
        world_.fail("%s is due at another time than its expression says", job.key);
    it = fresh;
}

void oracle::removed(const char *key, int result, bool took_effect) {
    job_model &it = jobs_[key];
    if (result == -ENOENT && it.exists)
        world_.fail("%s is removed, and it is said not to be there", key);
    if (!took_effect || result == -ENOENT)
        return;
    end_former(it);
    if (result == 1 && it.allowed_token != 0)
        world_.fail("%s was started, and its removal is said to prevent that", key);
    tally_.removed += it.exists ? 1 : 0;
    it.exists = false;
    it.changed_at = world_.now();
}

void oracle::requeued(const char *key, std::int64_t result, bool took_effect) {
    const bool has_failed = former_.state == TW_DURABLE_FAILED;
    if (result != -ENOTCONN && result != -ETIMEDOUT && result != (has_failed ? 1 : -ENOENT))
        world_.fail("requeue of %s returns %lld", key, static_cast<ll>(result));
    if (!has_failed || !took_effect)
        return;
    job_model &it = jobs_[key];
    it.was_last_try = false;
    it.not_before = world_.database_now();
    it.answer = TW_DURABLE_RETRY;
}

// --- fires ---------------------------------------------------------------------------------------

// O2, O3
void oracle::check_permission(process &by, const tw_durable_fire &fire, const job_model &) {
    const bool is_confirmed = by.started.count(fire.token) != 0;
    if (by.lease_end <= world_.database_now() && !clock_was_set_since(by.renewed_at))
        world_.fail("O2: %s begins in process %u, whose lease ended %.3f s ago", fire.key, by.number,
                    static_cast<double>(world_.database_now() - by.lease_end) / 1e9);
    if (is_confirmed)
        return;
    ++tally_.unconfirmed;
    if (world_.what.confirmed_only)
        world_.fail("O3: %s begins in process %u unconfirmed", fire.key, by.number);
    if (by.faulted_at < world_.now() - world_.what.lease)
        world_.fail("O3: %s begins in process %u, which has not asked", fire.key, by.number);
    world_.fault(by);  // which goes on
}

// O4
void oracle::check_alone(process &by, const tw_durable_fire &fire, const job_model &it) {
    for (const auto &[token, other] : it.running) {
        if (token <= it.former_token || other->lease_end <= world_.database_now() || other->is_dead)
            continue;
        if (clock_was_set_since(world_.now() - 2 * world_.what.lease))
            continue;
        world_.fail("O4: %s begins in process %u while process %u runs it", fire.key, by.number,
                    other->number);
    }
}

// True if something has befallen one of the two processes since the last fire.
bool oracle::is_excused(const process &by, const job_model &it) const {
    const std::int64_t since = it.begun_at;
    return by.faulted_at >= since || (it.last != nullptr && it.last->faulted_at >= since) ||
           clock_was_set_since(since - world_.what.lease);
}

// O6
bool oracle::is_of_former_job(process &by, const tw_durable_fire &fire, const job_model &it,
                              bool is_confirmed) {
    if (it.exists && fire.token > it.former_token)
        return false;
    if (fire.token == it.allowed_token || !is_confirmed)
        return true;
    const auto allowed = by.started.find(fire.token);
    if (allowed->second <= it.changed_at && by.faulted_at >= allowed->second)
        return true;  // it was allowed to start before that, and then stalled
    world_.fail("O6: %s begins in process %u, and was removed or replaced", fire.key, by.number);
}

void oracle::begins(process &by, const tw_durable_fire &fire) {
    job_model &it = jobs_[fire.key];
    const bool is_confirmed = by.started.count(fire.token) != 0;
    const unsigned tries = std::exchange(world_.tries[fire.key], 0);
    world_.tell("process %u begins %s for %.6f, attempt %u, token %lld%s", by.number, fire.key,
                static_cast<double>(fire.due_ns - world_.database_now()) / 1e9, fire.attempt,
                static_cast<ll>(fire.token), is_confirmed ? "" : ", unconfirmed");
    ++tally_.fires;
    check_permission(by, fire, it);
    if (!is_of_former_job(by, fire, it, is_confirmed)) {
        check_alone(by, fire, it);
        if (fire.token <= it.last_token && !is_excused(by, it))
            world_.fail("O5: %s begins with token %lld after %lld", fire.key, static_cast<ll>(fire.token),
                        static_cast<ll>(it.last_token));
        follow(by, fire, it, is_confirmed, tries);
    }
    it.running[fire.token] = &by;
    by.started.erase(fire.token);
}

// O1, O7, O8
void oracle::follow(process &by, const tw_durable_fire &fire, job_model &it, bool is_confirmed,
                    unsigned tries) {
    const std::int64_t now = world_.database_now();
    const std::int64_t ready = fire.due_ns == it.due && it.times_begun != 0 ? it.not_before : fire.due_ns;
    const bool is_early =
        it.times_begun != 0 && fire.due_ns == it.due ? now < ready && !is_excused(by, it) : now < fire.due_ns;
    const std::int64_t allowed_at =
        is_confirmed ? by.started.at(fire.token) : world_.now() - world_.what.lease;
    if (is_early && !clock_was_set_since(allowed_at))
        world_.fail("O1: %s begins %.6f s early", fire.key, static_cast<double>(ready - now) / 1e9);
    if (!clock_was_set_since(it.changed_at) && (it.times_begun == 0 || fire.due_ns > it.due))
        note_late(fire, now - std::max({ready, it.put_at, it.answered_at}));
    if (fire.due_ns == it.due && (it.times_begun == 0 || fire.overruns == 0)) {
        check_repeat(by, fire, it);
    } else if (fire.due_ns < it.due) {
        ++tally_.repeats;
        if (!is_excused(by, it))
            world_.fail("O8: %s fires for a due time that has been done before", fire.key);
        return;
    } else {
        move_on(fire, it, tries);
        it.due = fire.due_ns;
        it.times_begun = 0;
        it.was_last_try = false;
        it.not_before = 0;
    }
    ++it.times_begun;
    it.last_token = std::max(it.last_token, fire.token);
    it.last = &by;
    it.begun_at = world_.now();
}

void oracle::note_late(const tw_durable_fire &fire, std::int64_t late) {
    tally_.latest = std::max(tally_.latest, late);
    if (late > 10 * minute)
        world_.tell("%s is late by %.3f s", fire.key, static_cast<double>(late) / 1e9);
}

void oracle::check_repeat(process &by, const tw_durable_fire &fire, const job_model &it) {
    if (it.times_begun == 0 || it.answer != TW_DURABLE_DONE)
        return;
    ++tally_.repeats;
    if (!is_excused(by, it))
        world_.fail("O8: %s fires again, and nothing has happened", fire.key);
}

void oracle::move_on(const tw_durable_fire &fire, job_model &it, unsigned tries) {
    if (it.period == 0)
        world_.fail("O7: %s fires once, and now for another time", fire.key);
    std::int64_t next = it.times_begun == 0 ? it.due : it.due + it.period;
    const bool is_lost_answer = it.times_begun != 0 && it.answer != TW_DURABLE_DONE && !it.was_last_try;
    const auto overruns = static_cast<std::int64_t>(fire.overruns) * it.period;
    std::int64_t left_out = (fire.due_ns - overruns - next) / it.period;
    // The answer was lost, and then it was missed with others.
    if (left_out < 0 && left_out >= -1 - static_cast<std::int64_t>(fire.overruns) && is_excused(*it.last, it))
        left_out = 0;
    // All tries of one were those of processes that have ended before its handler began: then came the one
    // that gave it up, and this one.
    if (left_out == 1 && tries >= retries.attempts + 2)
        left_out = 0;
    if ((fire.due_ns - next) % it.period != 0 || (left_out != 0 && it.missed != TW_DURABLE_SKIP) ||
        (overruns != 0 && it.missed != TW_DURABLE_COALESCE))
        world_.fail("O7: %s leaves out %lld due times", fire.key, static_cast<ll>(left_out));
    // The tries of processes that have ended count, also where the handler has not begun.
    if (is_lost_answer && world_.last_fault_at < it.begun_at && !is_excused(*it.last, it))
        world_.fail("O7: %s goes on, and was to fire again", fire.key);
    const std::int64_t missed = it.missed == TW_DURABLE_SKIP ? fire.due_ns - it.period : fire.due_ns;
    if ((left_out != 0 || overruns != 0) && missed >= world_.database_now() - it.grace &&
        !clock_was_set_since(it.begun_at - hour))
        world_.fail("O7: %s leaves out due times within its grace", fire.key);
}

void oracle::answers(process &by, const tw_durable_fire &fire, tw_durable_answer answer, std::int64_t delay) {
    job_model &it = jobs_[fire.key];
    world_.tell("process %u answers %d for %s, %.6f", by.number, static_cast<int>(answer), fire.key,
                static_cast<double>(delay) / 1e9);
    const auto mine = it.running.find(fire.token);
    if (mine != it.running.end() && mine->second == &by)
        it.running.erase(mine);
    if (!it.exists || fire.token != it.last_token || fire.due_ns != it.due)
        return;
    it.answer = answer;
    it.not_before = answer == TW_DURABLE_DONE ? 0 : world_.database_now() + delay;
    it.answered_at = world_.database_now();
    it.was_last_try = answer == TW_DURABLE_RETRY && fire.attempt >= retries.attempts;
}

// --- at the end ----------------------------------------------------------------------------------

// A job that the database has no more, and that nobody has removed.
void oracle::check_ended(const std::string &key, const job_model &it) {
    if (it.period != 0)
        world_.fail("O9: %s is gone, and periodic", key.c_str());
    if (it.times_begun == 0)
        world_.fail("O9: %s is gone, and has not fired", key.c_str());
    if (it.answer != TW_DURABLE_DONE && !is_excused(*it.last, it))
        world_.fail("O9: %s is gone, and was to fire again", key.c_str());
}

// O9
void oracle::check_left(const std::string &key, const job_model &it) {
    const tw_durable_entry entry = entry_of(world_, key.c_str());
    const std::int64_t now = world_.database_now();
    if (!it.exists && entry.state != 0)
        world_.fail("O9: %s was removed, and is there", key.c_str());
    if (!it.exists)
        return;
    if (entry.state == 0) {
        check_ended(key, it);
        return;
    }
    if (entry.state == TW_DURABLE_FAILED) {
        ++tally_.failed;
        if (it.period != 0 || it.times_begun == 0)
            world_.fail("O9: %s has failed without %s", key.c_str(), it.period != 0 ? "cause" : "a try");
        return;
    }
    if (entry.ready_ns < now - minute)
        world_.fail("O9: %s is left, %.3f s after it was due, in state %d", key.c_str(),
                    static_cast<double>(now - entry.ready_ns) / 1e9, static_cast<int>(entry.state));
}

void oracle::check_all_is_well() {
    for (const auto &[key, it] : jobs_)
        check_left(key, it);
}

}  // namespace tickwheel::durable::tests

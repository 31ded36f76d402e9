// Clusters on virtual time with random faults, and an oracle that checks each fire.
//
// The calls of a process break before or after the database has acted; processes crash, pause for longer than
// their leases, and are cut off; the database is away, and its clock is set. There is one true time, from
// which the database's clock and those of the processes differ. The oracle knows all puts and all fires, and
// checks:
//
//     O1  No handler begins before its job is due by the database's clock, nor before the delay of an answer.
//     O2  A handler begins while its process has a lease, as the database sees it.
//     O3  It begins only after the database has allowed it, or when the process cannot ask the database.
//     O4  Tokens rise.
//     O5  A job that was removed or replaced does not begin any more.
//     O6  The due times of a periodic job fire one after the other, and only a policy leaves any out.
//     O7  A due time that was done fires again only if a fault has hit a process since that fire.
//     O8  When all faults have ended, no due job is left.
//
// The simulation also checks the invariants of claimed_jobs.hpp after each turn of a process. TW_NIGHTLY=1
// runs ten times as many clusters. TW_SEED=N runs the clusters of one seed, which decides everything; a
// failure prints its seed.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tickwheel/durable_store.h>

#include "claimed_jobs_inspector.hpp"
#include "memory/memory_store.h"
#include "runtime/turn.hpp"
#include "support/environment.h"
#include "support/random.h"
#include "support/sanitized.h"

namespace tickwheel::durable::tests {
namespace {

constexpr std::int64_t ms = 1'000'000, second = 1000 * ms, minute = 60 * second, hour = 60 * minute,
                       lease = 5 * second;

struct scenario {
    const char *name;
    bool has_faults, sets_clock, confirmed_only;
    std::uint32_t hold;
};

struct process {
    std::int64_t skew;  // of its clock
    tw_runtime *rt = nullptr;
    tw_durable *jobs = nullptr;
    bool is_dead = false;  // has crashed: none of its calls reaches the database any more
    std::int64_t paused_until = 0, cut_off_until = 0;
    std::int64_t faulted_at = -hour;               // true time of its last fault
    std::int64_t lease_end = 0, renewed_at = 0;    // of the lease in the database
    std::map<std::int64_t, std::int64_t> started;  // tokens of jobs that it was allowed to start, and when
    bool took_effect = false;  // the database carried out the last change of jobs, whatever the call returned
};

// The oracle's knowledge of a job: how users have put it, and how it has fired. Times are the database's,
// except those that say "true time".
struct job_model {
    bool exists = false;
    std::int64_t period = 0, grace = second;
    tw_durable_missed missed = TW_DURABLE_COALESCE;
    std::int64_t due = 0;             // the due time that fires next, or has fired last
    std::int64_t changed_at = -hour;  // true time of the put or the removal
    std::int64_t not_before = 0;      // by the last answer
    bool has_begun = false;           // for this due time
    bool is_unanswered = false;       // the handler of the last fire answers later
    tw_durable_answer answer = TW_DURABLE_DONE;
    std::int64_t begun_at = 0;  // true time of the last fire
    process *last = nullptr;    // the process of the last fire
    std::int64_t last_token = 0;
    std::int64_t former_token = 0;   // fires with tokens up to this one are of a former job
    std::int64_t allowed_token = 0;  // of these, the one that may still begin because it was started
};

// --- the world -----------------------------------------------------------------------------------

const scenario *scene;
std::uint64_t first_seed, seed;
std::int64_t now, database_offset, outage_until, clock_set_at, next_act, next_fault;
bool is_over;                                     // no more faults; each handler answers "done" at once
std::vector<std::unique_ptr<process>> processes;  // also those that have crashed
std::map<std::string, job_model> jobs;
void *observer;  // a connection with the database that has no faults
std::uint64_t fires, repeats, unconfirmed, removed, later;

// The fires that get their answers later.
struct unanswered_fire {
    process *by;
    tw_durable_fire *fire;
    std::int64_t answer_at;  // true time

    std::int64_t next() const { return std::max({now, by->paused_until, answer_at}); }
};
std::vector<unanswered_fire> unanswered;

const tw_store &inner() { return memory_store; }
std::int64_t database_now() { return now + database_offset; }
std::int64_t now_of_database(void *) { return database_now(); }
std::uint64_t below(std::uint64_t bound) { return random_below(&seed, bound); }
std::int64_t time_below(std::int64_t bound) {
    return static_cast<std::int64_t>(below(static_cast<std::uint64_t>(bound)));
}
bool clock_was_set_since(std::int64_t time) { return clock_set_at >= time; }

void require(bool holds, const char *what, const char *key = "") {
    if (holds)
        return;
    std::fprintf(stderr, "%s, at %.6f s: %s %s\nAgain: TW_SEED=%llu\n", scene->name,
                 static_cast<double>(now) / 1e9, what, key, static_cast<unsigned long long>(first_seed));
    std::_Exit(1);
}

bool reaches(const process &member) {
    return !member.is_dead && std::max(member.cut_off_until, outage_until) <= now;
}

// --- the store: the memory store, unless the connection breaks ---------------------------------------

struct connection {
    process *whose;
    void *inside;
};

template <auto tw_store::*function> struct faulty;
template <class Result, class... Arguments, Result (*tw_store::*function)(void *, Arguments...)>
struct faulty<function> {
    static Result call(void *raw, Arguments... arguments) {
        const connection &by = *static_cast<connection *>(raw);
        process &whose = *by.whose;
        const bool breaks = !reaches(whose) || (scene->has_faults && !is_over && below(50) == 0);
        whose.took_effect = !breaks || (reaches(whose) && below(2) == 0);
        if (breaks)
            whose.faulted_at = now;
        if (!whose.took_effect)
            return -ENOTCONN;
        const Result result = (inner().*function)(by.inside, arguments...);
        return breaks ? -ETIMEDOUT : result;
    }
};

int open(void **out, const tw_store_place *place, char *why, std::size_t room) {
    process &whose = *processes.at(std::strtoul(std::strchr(place->address, ':') + 1, nullptr, 10));
    tw_store_place there = *place;
    there.address = "memory:simulation";
    there.local_now = now_of_database;
    std::snprintf(why, room, "the simulation");
    void *inside = nullptr;
    const int error = reaches(whose) ? inner().open(&inside, &there, why, room) : -ENOTCONN;
    if (error == 0)
        *out = new connection{&whose, inside};
    else
        whose.faulted_at = now;
    return error;
}

void close(void *raw) {
    inner().close(static_cast<connection *>(raw)->inside);
    delete static_cast<connection *>(raw);
}

const char *explain(void *) { return "the simulation"; }

process &of(void *raw) { return *static_cast<connection *>(raw)->whose; }

// A put that needs the time reads the clock first, so `took_effect` must not be left from an earlier call.
int read_clock(void *raw, std::int64_t *now_ns) {
    const int error = faulty<&tw_store::now>::call(raw, now_ns);
    of(raw).took_effect = false;
    return error;
}

int put(void *raw, tw_store_put *puts, std::size_t count, int keep, const tw_store_member *member) {
    const int result = faulty<&tw_store::put>::call(raw, puts, count, keep, member);
    for (const tw_store_put *one = puts; result == 0 && one != puts + count; ++one)
        if (one->token != 0 && one->started != 0)
            of(raw).started[one->token] = now;
    return result;
}

void note_lease(process &whose, std::int64_t length) {
    if (!whose.took_effect)
        return;
    whose.lease_end = database_now() + length;
    whose.renewed_at = now;
}

int join(void *raw, const char *name, std::int64_t lease_ns, tw_store_member *member) {
    const int result = faulty<&tw_store::join>::call(raw, name, lease_ns, member);
    note_lease(of(raw), lease_ns);
    return result;
}

int renew(void *raw, const tw_store_member *member, std::int64_t lease_ns, std::int64_t *now_ns) {
    const int result = faulty<&tw_store::renew>::call(raw, member, lease_ns, now_ns);
    if (result == 0 || result == -ETIMEDOUT)
        note_lease(of(raw), lease_ns);
    return result;
}

struct claiming {
    tw_store_taker *each;
    void *arg;
    std::vector<std::int64_t> started;

    static int visit(const tw_durable_entry *entry, std::int64_t row, void *arg) {
        claiming &self = *static_cast<claiming *>(arg);
        if (entry->state == TW_DURABLE_STARTED)
            self.started.push_back(entry->token);
        return self.each(entry, row, self.arg);
    }
};

int claim(void *raw, const tw_store_claim *claim, tw_store_taker *each, void *arg, tw_store_look *look) {
    claiming seen{each, arg, {}};
    const int result = faulty<&tw_store::claim>::call(raw, claim, claiming::visit, &seen, look);
    for (const std::int64_t token : seen.started)
        if (result == 0)
            of(raw).started[token] = now;
    return result;
}

int start(void *raw, const tw_store_member *member, tw_store_start *starts, std::size_t count,
          std::int64_t *now_ns) {
    const int result = faulty<&tw_store::start>::call(raw, member, starts, count, now_ns);
    for (std::size_t i = 0; result == 0 && i < count; ++i)
        if (starts[i].started != 0)
            of(raw).started[starts[i].token] = now;
    return result;
}

constexpr tw_store store = {
    .scheme = "simulation",
    .open = open,
    .close = close,
    .abandon = close,
    .explain = explain,
    .now = read_clock,
    .put = put,
    .remove = faulty<&tw_store::remove>::call,
    .change = faulty<&tw_store::change>::call,
    .list = faulty<&tw_store::list>::call,
    .count = faulty<&tw_store::count>::call,
    .join = join,
    .renew = renew,
    .resume = faulty<&tw_store::resume>::call,
    .leave = faulty<&tw_store::leave>::call,
    .bury = faulty<&tw_store::bury>::call,
    .claim = claim,
    .start = start,
    .settle = faulty<&tw_store::settle>::call,
    .listen = nullptr,
    .read_notifications = nullptr,
    .announce = faulty<&tw_store::announce>::call,
    .members = faulty<&tw_store::members>::call,
    .tallies = faulty<&tw_store::tallies>::call,
};

// --- the oracle ----------------------------------------------------------------------------------

// The database's entry of a job, without its texts. If there is no such job, the entry's state is 0.
tw_durable_entry entry_of(const char *key) {
    tw_durable_entry entry = {};
    tw_durable_filter filter = {};
    filter.kind = "job";
    const auto copy = [](const tw_durable_entry *found, void *arg) {
        *static_cast<tw_durable_entry *>(arg) = *found;
        return 0;
    };
    require(inner().list(observer, &filter, key, copy, &entry) == 0, "the observer cannot look");
    return entry;
}

// True if, since the last fire, a fault has hit this process or the process of that fire, or the clock was
// set.
bool is_excused(const process &by, const job_model &model) {
    return by.faulted_at >= model.begun_at ||
           (model.last != nullptr && model.last->faulted_at >= model.begun_at) ||
           clock_was_set_since(model.begun_at - lease);
}

// Checks a job that the database no longer has, although no user removed it.
void check_ended(const char *key, const job_model &model) {
    require(model.period == 0, "O8: a periodic job is gone", key);
    require(model.has_begun, "O8: it is gone, and has not fired", key);
    require((model.answer == TW_DURABLE_DONE && !model.is_unanswered) || is_excused(*model.last, model),
            "O8: it is gone, and was to fire again", key);
}

// Notes that a job was removed or replaced. If it was started, it may still begin, because it may wait for a
// worker.
void end_former(job_model &model, const tw_durable_entry &former) {
    model.exists = false;
    model.changed_at = now;
    if (former.state == 0)
        return;
    model.former_token = former.token;
    model.allowed_token = former.state == TW_DURABLE_STARTED ? former.token : 0;
}

void check_move(const process &by, const tw_durable_fire &fire, const job_model &model) {
    require(model.period != 0, "O6: it fires once, and now for another time", fire.key);
    const std::int64_t next = model.has_begun ? model.due + model.period : model.due;
    const auto overruns = static_cast<std::int64_t>(fire.overruns) * model.period;
    std::int64_t left_out = (fire.due_ns - overruns - next) / model.period;
    // The answer was lost, so the due time fires again as one of several missed ones.
    if (left_out < 0 && left_out >= -1 - static_cast<std::int64_t>(fire.overruns) && is_excused(by, model))
        left_out = 0;
    require((fire.due_ns - next) % model.period == 0 && (left_out == 0 || model.missed == TW_DURABLE_SKIP) &&
                (overruns == 0 || model.missed == TW_DURABLE_COALESCE),
            "O6: due times are left out", fire.key);
    require(!model.has_begun || (model.answer == TW_DURABLE_DONE && !model.is_unanswered) ||
                is_excused(by, model),
            "O6: it goes on, and was to fire again", fire.key);
    const std::int64_t missed = model.missed == TW_DURABLE_SKIP ? fire.due_ns - model.period : fire.due_ns;
    require((left_out == 0 && overruns == 0) || missed < database_now() - model.grace ||
                clock_was_set_since(model.begun_at - hour),
            "O6: due times within the grace are left out", fire.key);
}

void begins(process &by, const tw_durable_fire &fire) {
    job_model &model = jobs[fire.key];
    const auto allowed = by.started.find(fire.token);
    const bool is_confirmed = allowed != by.started.end();
    const std::int64_t allowed_at = is_confirmed ? allowed->second : now - lease;
    ++fires;
    require(by.lease_end > database_now() || clock_was_set_since(by.renewed_at), "O2: the lease has ended",
            fire.key);
    if (is_confirmed) {
        by.started.erase(allowed);
    } else {
        ++unconfirmed;
        require(!scene->confirmed_only && by.faulted_at >= now - lease, "O3: it has not asked", fire.key);
        by.faulted_at = now;  // the fault that kept the process from asking goes on
    }
    if (!model.exists || fire.token <= model.former_token) {
        require(!is_confirmed || fire.token == model.allowed_token ||
                    (allowed_at <= model.changed_at && by.faulted_at >= allowed_at),
                "O5: it was removed or replaced", fire.key);
        return;
    }
    require(fire.token > model.last_token || is_excused(by, model), "O4: the token has not risen", fire.key);
    const bool is_repeat = model.has_begun && fire.due_ns <= model.due;
    const std::int64_t ready = !is_repeat ? fire.due_ns : is_excused(by, model) ? 0 : model.not_before;
    require(database_now() >= ready || clock_was_set_since(allowed_at), "O1: it is early", fire.key);
    if (is_repeat && (fire.due_ns < model.due || model.answer == TW_DURABLE_DONE || model.is_unanswered)) {
        ++repeats;
        require(is_excused(by, model), "O7: it fires again, and nothing has happened", fire.key);
    }
    if (fire.due_ns < model.due)
        return;
    if (fire.due_ns > model.due || fire.overruns != 0)
        check_move(by, fire, model);
    model.due = fire.due_ns;
    model.has_begun = true;
    model.last_token = std::max(model.last_token, fire.token);
    model.last = &by;
    model.begun_at = now;
}

// Checks O8.
void check_left(const char *key, const job_model &model) {
    const tw_durable_entry entry = entry_of(key);
    require(model.exists || entry.state == 0, "O8: it was removed, and is there", key);
    if (model.exists && entry.state == 0)
        check_ended(key, model);
    require(entry.state == 0 || entry.ready_ns >= database_now() - minute, "O8: it is left", key);
}

// --- users, handlers and faults ------------------------------------------------------------------------

bool is_last(const tw_durable_fire &fire, const job_model &model) {
    return model.exists && fire.token == model.last_token && fire.due_ns == model.due;
}

tw_durable_answer answer_to(tw_durable_fire *fire) {
    job_model &model = jobs[fire->key];
    const std::int64_t delay = time_below(20 * second);
    const std::uint64_t which = is_over ? 2 : below(12);
    if (is_last(*fire, model)) {
        model.is_unanswered = false;
        model.answer = which == 0 ? TW_DURABLE_AGAIN : which == 1 ? TW_DURABLE_RETRY : TW_DURABLE_DONE;
        model.not_before = which == 0 ? database_now() + delay : which == 1 ? database_now() + 2 * second : 0;
    }
    return which == 0   ? tw_durable_again(fire, delay)
           : which == 1 ? tw_durable_failed(fire, "as it happens")
                        : TW_DURABLE_DONE;
}

tw_durable_answer on_fire(tw_durable_fire *fire, void *arg) {
    process &by = *static_cast<process *>(arg);
    begins(by, *fire);
    if (is_over || below(3) != 0)
        return answer_to(fire);
    ++later;
    unanswered.push_back({&by, fire, now + time_below(below(2) == 0 ? second : 3 * lease)});
    if (job_model &model = jobs[fire->key]; is_last(*fire, model)) {
        model.is_unanswered = true;
        model.answer = TW_DURABLE_DONE;
        model.not_before = 0;
    }
    return TW_DURABLE_LATER;
}

void begin_process() {
    processes.push_back(std::make_unique<process>());
    process &member = *processes.back();
    member.skew = time_below(hour) - now;
    tw_runtime_options of_runtime = {};
    of_runtime.driver = "manual";
    require(tw_runtime_new(&member.rt, &of_runtime) == 0 &&
                tw_runtime_advance(member.rt, now + member.skew) == 0,
            "no runtime");
    tw_durable_options options = {};
    options.lease_ns = lease;
    options.poll_ns = second;
    options.horizon_ns = 2 * second;
    options.hold = scene->hold;
    options.confirmed_only = scene->confirmed_only ? 1 : 0;
    options.single_thread = 1;
    options.store = &store;
    const std::string address = "simulation:" + std::to_string(processes.size() - 1);
    const std::int64_t outage = std::exchange(outage_until, 0);  // tw_durable_open needs the database
    const tw_durable_retries retries = {1000, 2 * second, 10 * second};
    require(tw_durable_open(&member.jobs, member.rt, address.c_str(), &options) == 0 &&
                tw_durable_register(member.jobs, "job", on_fire, &member, &retries) == 0,
            "a process does not begin");
    outage_until = outage;
}

void crash(process &member) {
    member.is_dead = true;
    member.faulted_at = now;
    std::erase_if(unanswered, [&](const unanswered_fire &each) { return each.by == &member; });
    const int result = tw_durable_close(member.jobs);
    require(result == 0 || result == -ETIMEDOUT, "a crashed process does not close");
    tw_runtime_free(member.rt);
}

// Moves the process's clock to the present, so that due jobs fire.
void turn(process &member) {
    require(tw_runtime_leap(member.rt, now + member.skew - tw_runtime_now(member.rt)) == 0, "no leap");
    const char *const invariant = claimed_jobs_inspector::broken_invariant(member.jobs->member->jobs);
    require(invariant == nullptr, "does not hold:", invariant != nullptr ? invariant : "");
}

void give_answer(std::vector<unanswered_fire>::iterator which) {
    const unanswered_fire due = *which;
    unanswered.erase(which);
    turn(*due.by);
    require(tw_durable_answer_later(due.by->jobs, due.fire, answer_to(due.fire)) == 0, "it takes no answer");
    turn(*due.by);
}

process *random_process() {
    process *chosen = nullptr;
    std::uint64_t count = 0;
    for (const auto &each : processes)
        if (!each->is_dead && each->paused_until <= now && below(++count) == 0)
            chosen = each.get();
    return chosen;
}

void put_job(process &by, const std::string &key, const tw_durable_entry &former) {
    job_model &model = jobs[key];
    tw_durable_job job = {};
    job.kind = "job";
    job.key = key.c_str();
    job.missed = static_cast<tw_durable_missed>(below(3));
    job.grace_ns = 1 + time_below(10 * second);
    job.period_ns = below(3) == 0 ? second + time_below(3 * minute) / ms * ms : 0;
    job.due_ns = time_below(below(2) == 0 ? 3 * minute : 3 * second);
    const auto existing = static_cast<tw_durable_existing>(below(3));
    by.took_effect = false;
    const int result = tw_durable_put(by.jobs, &job, existing);
    require(result <= 0, "a put counts", job.key);
    require((result == -EEXIST) <= model.exists, "a job that is not there was found", job.key);
    require(result != 0 || existing != TW_DURABLE_ADD || !model.exists, "a job was not found", job.key);
    if (!by.took_effect || (existing != TW_DURABLE_REPLACE && model.exists))
        return;
    end_former(model, former);
    const tw_durable_entry entry = entry_of(job.key);
    require(entry.state != 0, "it was put, and is not there", job.key);
    job_model fresh;
    fresh.exists = true;
    fresh.period = job.period_ns;
    fresh.grace = entry.job.grace_ns;
    fresh.missed = job.missed;
    fresh.due = entry.job.due_ns;
    fresh.changed_at = now;
    fresh.former_token = model.former_token;
    fresh.allowed_token = model.allowed_token;
    fresh.last_token = model.last_token;
    fresh.last = model.last;
    model = fresh;
}

void remove_job(process &by, const std::string &key, const tw_durable_entry &former) {
    job_model &model = jobs[key];
    by.took_effect = false;
    const int result = tw_durable_cancel(by.jobs, "job", key.c_str());
    require(result != -ENOENT || !model.exists, "it is removed, and said not to be there", key.c_str());
    if (!by.took_effect || result == -ENOENT)
        return;
    removed += model.exists ? 1 : 0;
    end_former(model, former);
    require(result != 1 || model.allowed_token == 0, "its removal is said to prevent what was started",
            key.c_str());
}

void act_as_user() {
    process *const by = random_process();
    if (by == nullptr)
        return;
    turn(*by);  // the user's thread would see the present time
    const std::string key = "job " + std::to_string(below(24));
    const tw_durable_entry former = entry_of(key.c_str());
    job_model &model = jobs[key];
    if (model.exists && former.state == 0) {
        check_ended(key.c_str(), model);
        model.exists = false;
    }
    below(3) != 0 ? put_job(*by, key, former) : remove_job(*by, key, former);
}

void act_as_fate() {
    process *const victim = random_process();
    const std::int64_t some = time_below(below(2) == 0 ? lease / 4 : 4 * lease);
    switch (victim != nullptr ? below(scene->sets_clock ? 5 : 4) : 3) {
    case 0:
        crash(*victim);
        begin_process();
        break;
    case 1:
        victim->paused_until = victim->faulted_at = now + some;
        break;
    case 2:
        victim->cut_off_until = now + some;
        victim->faulted_at = now;
        break;
    case 3:
        outage_until = now + some;
        break;
    default:
        database_offset += time_below(2 * minute) - minute;
        clock_set_at = now;
    }
}

// --- a run -----------------------------------------------------------------------------------------

std::int64_t next_of(const process &member) {
    if (member.is_dead)
        return INT64_MAX;
    const std::int64_t deadline = tickwheel::runtime::what_is_next(*member.rt).steady_ns;
    return deadline == TW_NO_DEADLINE ? INT64_MAX
                                      : std::max({now, member.paused_until, deadline - member.skew});
}

void run_until(std::int64_t time) {
    for (;;) {
        process *first = nullptr;
        std::int64_t soonest = std::min(next_act, next_fault);
        for (const auto &each : processes)
            if (const std::int64_t next = next_of(*each); next < soonest) {
                soonest = next;
                first = each.get();
            }
        const auto answer = std::min_element(unanswered.begin(), unanswered.end(),
                                             [](const unanswered_fire &one, const unanswered_fire &other) {
                                                 return one.next() < other.next();
                                             });
        const bool is_answered = answer != unanswered.end() && answer->next() <= soonest;
        if (is_answered)
            soonest = answer->next();
        if (soonest > time)
            break;
        now = std::max(now, soonest);
        if (is_answered) {
            give_answer(answer);
        } else if (first != nullptr) {
            turn(*first);
        } else if (next_act <= now) {
            act_as_user();
            next_act = now + 1 + time_below(6 * second);
        } else {
            act_as_fate();
            next_fault = now + 1 + time_below(40 * second);
        }
    }
    now = time;
}

void run(const scenario &what, std::uint64_t seed_of_all) {
    scene = &what;
    first_seed = seed = seed_of_all;
    now = outage_until = next_act = 0;
    next_fault = what.has_faults ? 0 : INT64_MAX;
    database_offset = 1'700'000'000 * second;
    clock_set_at = -hour;
    is_over = false;
    char why[200];
    tw_store_place place{};
    place.address = "memory:simulation";
    place.schema = "tickwheel";
    place.timeout_ns = second;
    place.local_now = now_of_database;
    place.local_is_virtual = 1;
    require(inner().open(&observer, &place, why, sizeof why) == 0, why);
    for (int i = 0; i < 3; ++i)
        begin_process();
    run_until(hour);

    // Without faults, run long enough for leases to end, for all tries, and for all missed due times to fire.
    is_over = true;
    outage_until = 0;
    for (const auto &each : processes)
        each->cut_off_until = each->paused_until = 0;
    next_act = next_fault = INT64_MAX;
    run_until(now + 15 * minute);
    for (const auto &[key, each] : jobs)
        check_left(key.c_str(), each);
    for (const auto &each : processes)
        if (!each->is_dead)
            crash(*each);
    processes.clear();
    jobs.clear();
    inner().close(observer);
}

constexpr scenario scenarios[] = {
    {"calm", false, false, false, 0},       {"calm_narrow", false, false, true, 2},
    {"stormy", true, false, false, 0},      {"stormy_confirmed", true, false, true, 4},
    {"stormy_clock", true, true, false, 0},
};

// Also checks that the events of the scenario have happened, because a run without them proves nothing.
void run_all(const scenario &what, std::uint64_t first, std::uint64_t count) {
    fires = repeats = unconfirmed = removed = later = 0;
    for (std::uint64_t each = first; each < first + count; ++each)
        run(what, each);
    std::printf("%-16s %llu fires, %llu repeats, %llu unconfirmed, %llu removed, %llu answered later\n",
                what.name, static_cast<unsigned long long>(fires), static_cast<unsigned long long>(repeats),
                static_cast<unsigned long long>(unconfirmed), static_cast<unsigned long long>(removed),
                static_cast<unsigned long long>(later));
    const bool is_calm = !what.has_faults, asks_always = is_calm || what.confirmed_only;
    require(fires != 0 && removed != 0 && later != 0 && asks_always == (unconfirmed == 0) &&
                (asks_always || repeats != 0) && !(is_calm && repeats != 0),
            "not all that must happen has happened");
}

}  // namespace
}  // namespace tickwheel::durable::tests

int main() {
    using namespace tickwheel::durable::tests;
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    const char *const given = std::getenv("TW_SEED");
    const std::uint64_t count = is_nightly() && !SLOW ? 200 : SLOW ? 10 : 20;
    for (const scenario &what : scenarios)
        run_all(what, given != nullptr ? std::strtoull(given, nullptr, 10) : 1, given != nullptr ? 1 : count);
    return 0;
}

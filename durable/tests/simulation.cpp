// Clusters on virtual time with random faults, and an oracle that checks each fire.
//
// The calls of a process break before or after the database has acted, or between two statements; processes
// crash, close, pause for longer than their leases, and are cut off; other transactions lock jobs, members
// and whole tables; the database is away, its clock is set, and it fails over; notifications come late or
// never. There is one true time, from which the database's clock and those of the processes differ. The
// oracle knows all puts and all fires, and checks:
//
//     O1   No handler begins before its job is due by the database's clock, nor before the delay of an
//     answer. O2   A handler begins while its process has a lease, as the database sees it. O3   It begins
//     only after the database has allowed it, or when the process cannot ask the database. O4   Tokens rise.
//     O5   A job that was removed or replaced does not begin any more.
//     O6   The due times of a periodic job fire one after the other, and only a policy leaves any out.
//     O7   A due time that was done fires again only if a fault has hit a process since that fire.
//     O8   When all faults have ended, no due job is left.
//     O9   Without faults, no job is late by more than the poll, also while a backlog runs.
//     O10  The backlog runs in the order in which its jobs were ready.
//     O11  No process holds more than `hold` jobs, nor claims more than `backlog` late ones.
//     O12  No process asks the database again and again without a pause.
//
// A failover leads to another server, whose state lacks the last changes. What the oracle knows of the jobs
// belongs to a server, and goes back with it: as far as changes were lost, the oracle forgets the same puts,
// removals and fires. Each fire is checked against the server to whose history its claim belongs. So after a
// split, each side must keep all promises by itself.
//
// The simulation also checks the invariants of claimed_jobs.hpp after each turn of a process. TW_NIGHTLY=1
// runs ten times as many clusters, each night others. TW_SEED=N runs the clusters of one seed, which decides
// everything; the name of a scenario as the argument runs only that one. A failure prints the command that
// repeats its cluster.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <tickwheel/durable_store.h>

#include "claimed_jobs_inspector.hpp"
#include "memory/memory_connection.hpp"
#include "memory/memory_store.h"
#include "runtime/turn.hpp"
#include "support/environment.h"
#include "support/random.h"
#include "support/sanitized.h"

namespace tickwheel::durable::tests {
namespace {

constexpr std::int64_t ms = 1'000'000, second = 1000 * ms, minute = 60 * second, hour = 60 * minute,
                       lease = 5 * second, poll = second, busy = 40 * ms;

// What may happen in addition to breaking calls and processes.
enum class extra {
    nothing,
    locks,     // nothing breaks, so that no fault hides what a lock does
    clock,     // the database's clock is set
    failover,  // the database fails over; after an asynchronous failover the tokens are raised
    no_raise,  // the same without raising the tokens
    herd       // nothing breaks but the whole database, and a backlog waits when it is back
};

struct scenario {
    const char *name;
    bool has_faults;
    extra also;
    bool confirmed_only;
    std::uint32_t hold, backlog;
    std::vector<const char *> events;  // that must happen, because a run without them proves nothing
};

struct connection;

struct process {
    std::int64_t skew;  // of its clock
    tw_runtime *rt = nullptr;
    tw_durable *jobs = nullptr;
    bool is_dead = false;  // has crashed: none of its calls reaches the database any more
    bool listens = false;
    connection *listening = nullptr;  // the one that listens
    bool is_told = false;             // the process will read its notifications
    std::size_t where = 0;            // the server that its calls reach
    std::int64_t paused_until = 0, cut_off_until = 0;
    std::int64_t row_locked_until = 0;           // the row of its member
    std::int64_t faulted_at = -hour;             // true time of its last fault
    std::int64_t lease_at_risk_until = -hour;    // because a lock has kept it from renewing
    std::int64_t lease_end = 0, renewed_at = 0;  // of the lease in the database

    struct claim {
        std::size_t where;        // the server
        std::int64_t started_at;  // when the database allowed it to start, if it has not begun since
    };
    static constexpr std::int64_t not_started = -hour;
    std::map<std::int64_t, claim> claims;  // by token
    std::int64_t called_at = 0;
    unsigned calls = 0;        // at that time
    bool took_effect = false;  // the database carried out the last change of jobs, whatever the call returned
};

// The oracle's knowledge of a job: how users have put it, and how it has fired. Times are the database's,
// except those that say "true time".
struct job_model {
    bool exists = false;  // as far as users know: it may have ended
    std::int64_t period = 0, grace = second;
    tw_durable_missed missed = TW_DURABLE_COALESCE;
    std::int64_t due = 0;             // the due time that fires next, or has fired last
    std::int64_t changed_at = -hour;  // true time of the put or the removal
    std::int64_t not_before = 0;      // by the last answer
    std::int64_t answered_at = 0;     // time of the last answer
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

// A state of the database that processes can reach.
struct server {
    server();
    server(const server &) = delete;
    server &operator=(const server &) = delete;
    ~server();

    memory::database &content() const { return *static_cast<memory::connection *>(observer)->base; }

    const std::string address;
    void *observer = nullptr;  // a connection that has no faults
    std::map<std::string, job_model> jobs;
    std::int64_t last_common_token = 0;  // claims up to this one also belong to the former server
};

// What a failover undoes: the effects that do not survive it.
enum class loss { of_crash, of_power_cut, of_replication };

const scenario *scene;
const char *program;
std::uint64_t first_seed, seed, servers_made;
std::int64_t now, database_offset, outage_until, tables_locked_until, clock_set_at;
bool is_over;                                     // no more faults; each handler answers "done" at once
std::vector<std::unique_ptr<server>> servers;     // the last one is the primary
std::unique_ptr<server> standby;                  // null: no failover will come
loss lost;                                        // by that failover
std::vector<std::unique_ptr<process>> processes;  // also those that have crashed
std::multimap<std::int64_t, std::function<void()>> events;  // by true time
std::set<std::pair<std::int64_t, std::string>> herd;        // due times and keys of those that have not begun
std::set<std::string> herd_in_outage;                       // keys of those that have begun during the outage
std::map<std::string, std::uint64_t> seen;                  // how often what has happened

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
    std::fprintf(stderr, "%s, at %.6f s: %s %s\nAgain: TW_SEED=%llu %s %s\n", scene->name,
                 static_cast<double>(now) / 1e9, what, key, static_cast<unsigned long long>(first_seed),
                 program, scene->name);
    std::_Exit(1);
}

void later(std::int64_t delay, std::function<void()> what) { events.emplace(now + delay, std::move(what)); }

bool reaches(const process &member) {
    return !member.is_dead && std::max(member.cut_off_until, outage_until) <= now;
}

int open_inside(const std::string &address, void **out) {
    tw_store_place place{};
    place.address = address.c_str();
    place.schema = "tickwheel";
    place.timeout_ns = second;
    place.local_now = now_of_database;
    place.local_is_virtual = 1;
    char why[200];
    return inner().open(out, &place, why, sizeof why);
}

server::server() : address("memory:" + std::to_string(servers_made++)) {
    require(open_inside(address, &observer) == 0, "a server does not begin");
}

server::~server() { inner().close(observer); }

server &primary() { return *servers.back(); }

// The server to whose history the claim with this token belongs: of those that the process has used, the last
// one that knows the claim.
server &server_of(const process &by, std::int64_t token) {
    const auto found = by.claims.find(token);
    require(found != by.claims.end(), "a token of no claim");
    std::size_t which = found->second.where;
    while (which < by.where && token <= servers[which + 1]->last_common_token)
        ++which;
    return *servers[which];
}

// --- the store: the memory store, unless the connection breaks ---------------------------------------

struct connection {
    process *whose;
    std::size_t where;
    void *inside;

    bool is_up() const { return reaches(*whose) && whose->where == where; }
};

bool strikes() { return scene->has_faults && !is_over && below(50) == 0; }

// What a function of the store uses, and what its effects survive.
enum : unsigned { of_jobs = 1, of_member = 2, survives_crash = 4, survives_power_cut = 8 };

// True if another transaction has locked what the function uses.
bool is_locked(process &whose, unsigned traits) {
    const bool row = (traits & of_member) != 0 && whose.row_locked_until > now;
    if (row)
        whose.lease_at_risk_until = now + lease;
    return row || ((traits & of_jobs) != 0 && tables_locked_until > now);
}

// Brings the standby up to date after a call whose effects must survive the failover.
void replicate(const connection &by, unsigned traits) {
    unsigned surviving = 0;
    if (lost != loss::of_replication)
        surviving = lost == loss::of_crash ? survives_crash : survives_power_cut;
    if (standby != nullptr && (traits & surviving) != 0 && servers[by.where].get() == &primary())
        standby->content().become(primary().content());
}

template <auto tw_store::*function, unsigned traits> struct faulty;
template <class Result, class... Arguments, Result (*tw_store::*function)(void *, Arguments...),
          unsigned traits>
struct faulty<function, traits> {
    static Result call(void *raw, Arguments... arguments) {
        const connection &by = *static_cast<connection *>(raw);
        process &whose = *by.whose;
        whose.took_effect = false;
        whose.calls = whose.called_at == now ? whose.calls + 1 : 0;
        whose.called_at = now;
        require(whose.calls < 2000, "O12: it asks again and again");
        const bool breaks = !by.is_up() || strikes();
        if (breaks)
            whose.faulted_at = now;
        if (!by.is_up() || (breaks && below(2) == 0))
            return -ENOTCONN;
        if (is_locked(whose, traits)) {
            ++seen["refused by a lock"];
            return -EBUSY;
        }
        const Result result = (inner().*function)(by.inside, arguments...);
        whose.took_effect = result >= 0;
        replicate(by, traits);
        return breaks ? -ETIMEDOUT : result;
    }
};

int open(void **out, const tw_store_place *place, char *why, std::size_t room) {
    process &whose = *processes.at(std::strtoul(std::strchr(place->address, ':') + 1, nullptr, 10));
    std::snprintf(why, room, "the simulation");
    void *inside = nullptr;
    const int error = reaches(whose) ? open_inside(servers[whose.where]->address, &inside) : -ENOTCONN;
    if (error == 0)
        *out = new connection{&whose, whose.where, inside};
    else
        whose.faulted_at = now;
    return error;
}

void close(void *raw) {
    const std::unique_ptr<connection> self(static_cast<connection *>(raw));
    inner().close(self->inside);
    if (self->whose->listening == self.get())
        self->whose->listening = nullptr;
}

const char *explain(void *) { return "the simulation"; }

process &of(void *raw) { return *static_cast<connection *>(raw)->whose; }

// A put that needs the time reads the clock first, so `took_effect` must not be left from an earlier call.
int read_clock(void *raw, std::int64_t *now_ns) {
    const int error = faulty<&tw_store::now, 0>::call(raw, now_ns);
    of(raw).took_effect = false;
    return error;
}

void note_claim(process &by, std::int64_t token, bool is_started) {
    by.claims[token] = {by.where, is_started ? now : process::not_started};
}

int put(void *raw, tw_store_put *puts, std::size_t count, int keep, const tw_store_member *member) {
    const int result = faulty<&tw_store::put, of_jobs | survives_crash | survives_power_cut>::call(
        raw, puts, count, keep, member);
    for (const tw_store_put *one = puts; result == 0 && one != puts + count; ++one)
        if (one->token != 0)
            note_claim(of(raw), one->token, one->started != 0);
    return result;
}

void note_lease(process &whose, std::int64_t length) {
    if (!whose.took_effect)
        return;
    whose.lease_end = database_now() + length;
    whose.renewed_at = now;
}

// Epochs begin at random, because a server that has gone back gives the number of a member twice.
int join(void *raw, const char *name, std::int64_t lease_ns, tw_store_member *member) {
    const int result = faulty<&tw_store::join, survives_crash>::call(raw, name, lease_ns, member);
    note_lease(of(raw), lease_ns);
    if (result != 0)
        return result;
    member->epoch = static_cast<std::int64_t>(below(UINT64_C(1) << 62));
    servers[of(raw).where]->content().members.at(member->id).epoch = member->epoch;
    return 0;
}

int renew(void *raw, const tw_store_member *member, std::int64_t lease_ns, std::int64_t *now_ns) {
    const int result =
        faulty<&tw_store::renew, of_member | survives_crash>::call(raw, member, lease_ns, now_ns);
    note_lease(of(raw), lease_ns);
    return result;
}

// The connection can break after the epoch has risen.
int resume(void *raw, tw_store_member *member, const std::int64_t *started, std::size_t count,
           tw_store_visitor *each, void *arg) {
    constexpr unsigned traits = of_jobs | of_member | survives_crash;
    if (!strikes())
        return faulty<&tw_store::resume, traits>::call(raw, member, started, count, each, arg);
    const auto nothing = [](const tw_durable_entry *, void *) { return 0; };
    const int result =
        faulty<&tw_store::resume, traits>::call(raw, member, nullptr, std::size_t{0}, +nothing, nullptr);
    of(raw).faulted_at = now;
    return result == 0 ? -ETIMEDOUT : result;
}

// The connection can break after members have been declared dead.
std::int64_t bury(void *raw, std::size_t limit) {
    constexpr unsigned traits = of_jobs | survives_crash;
    if (!strikes())
        return faulty<&tw_store::bury, traits>::call(raw, limit);
    const std::int64_t result = faulty<&tw_store::bury, traits>::call(raw, std::size_t{0});
    of(raw).faulted_at = now;
    return result == 0 ? -ETIMEDOUT : result;
}

struct claiming {
    tw_store_taker *each;
    void *arg;
    std::vector<std::pair<std::int64_t, bool>> claimed;  // tokens, and whether they are started

    static int visit(const tw_durable_entry *entry, std::int64_t row, void *arg) {
        claiming &self = *static_cast<claiming *>(arg);
        self.claimed.emplace_back(entry->token, entry->state == TW_DURABLE_STARTED);
        return self.each(entry, row, self.arg);
    }
};

// A claim looks after it has claimed, and a lock of the members can keep it from that.
int claim(void *raw, const tw_store_claim *claim, tw_store_taker *each, void *arg, tw_store_look *look) {
    require(scene->backlog == 0 || claim->horizon_ns >= 0 || claim->limit <= scene->backlog,
            "O11: it claims too much of the backlog");
    claiming taking{each, arg, {}};
    const int result =
        faulty<&tw_store::claim, of_jobs | of_member | survives_crash | survives_power_cut>::call(
            raw, claim, claiming::visit, &taking, look);
    if (result != 0)
        return result;
    if (strikes())
        return -EBUSY;
    for (const auto &[token, is_started] : taking.claimed)
        note_claim(of(raw), token, is_started);
    return 0;
}

int start(void *raw, const tw_store_member *member, tw_store_start *starts, std::size_t count,
          std::int64_t *now_ns) {
    const int result = faulty<&tw_store::start, of_jobs | of_member | survives_crash>::call(
        raw, member, starts, count, now_ns);
    for (std::size_t i = 0; result == 0 && i < count; ++i) {
        if (starts[i].started != 0)
            note_claim(of(raw), starts[i].token, true);
        else if (starts[i].ready_ns <= *now_ns)
            ++seen["not started"];
    }
    return result;
}

int settle(void *raw, const tw_store_member *member, tw_store_outcome *outcomes, std::size_t count) {
    const int result = faulty<&tw_store::settle, of_jobs | of_member>::call(raw, member, outcomes, count);
    for (std::size_t i = 0; result == 0 && i < count; ++i)
        seen["not settled"] += outcomes[i].matched == -EBUSY ? 1 : 0;
    return result;
}

int listen(void *raw) {
    process &whose = of(raw);
    if (!whose.listens)
        return -EOPNOTSUPP;
    const int result = faulty<&tw_store::listen, 0>::call(raw);
    if (result >= 0)
        whose.listening = static_cast<connection *>(raw);
    return result;
}

std::int64_t &first_told(const process &by) {
    return static_cast<memory::connection *>(by.listening->inside)->listening.first_ready;
}

int read_notifications(void *raw, tw_store_notice *each, void *arg) {
    const bool is_told = first_told(of(raw)) != TW_NO_DEADLINE;  // saves system calls
    return is_told ? faulty<&tw_store::read_notifications, 0>::call(raw, each, arg) : 0;
}

// Lets the process read a notification at once or later, or loses the notification.
void tell(process &whom) {
    if (whom.listening == nullptr || whom.is_told || first_told(whom) == TW_NO_DEADLINE)
        return;
    if (below(4) == 0) {
        const auto lose = [](const char *, std::int64_t, void *) {};
        ++seen["lost notifications"];
        require(inner().read_notifications(whom.listening->inside, lose, nullptr) == 0, "nothing is lost");
        return;
    }
    whom.is_told = true;
    later(below(3) == 0 ? time_below(2 * second) : 0, [&whom] {
        whom.is_told = false;
        if (!whom.is_dead)
            whom.jobs->member->membership_loop->ring();
    });
}

constexpr tw_store store = {
    .scheme = "simulation",
    .open = open,
    .close = close,
    .abandon = close,
    .explain = explain,
    .now = read_clock,
    .put = put,
    .remove = faulty<&tw_store::remove, of_jobs | survives_crash | survives_power_cut>::call,
    .change = faulty<&tw_store::change, of_jobs | survives_crash | survives_power_cut>::call,
    .list = faulty<&tw_store::list, of_jobs>::call,
    .count = faulty<&tw_store::count, of_jobs>::call,
    .join = join,
    .renew = renew,
    .resume = resume,
    .leave = faulty<&tw_store::leave, of_jobs | of_member | survives_crash>::call,
    .bury = bury,
    .claim = claim,
    .start = start,
    .settle = settle,
    .listen = listen,
    .read_notifications = read_notifications,
    .notify = faulty<&tw_store::notify, 0>::call,
    .announce = faulty<&tw_store::announce, of_member | survives_crash>::call,
    .members = faulty<&tw_store::members, 0>::call,
    .tallies = faulty<&tw_store::tallies, of_jobs>::call,
};

// --- the oracle ----------------------------------------------------------------------------------

// The server's entry of a job, without its texts. If there is no such job, the entry's state is 0.
tw_durable_entry entry_of(const server &of, const char *key) {
    tw_durable_entry entry = {};
    tw_durable_filter filter = {};
    filter.kind = "job";
    const auto copy = [](const tw_durable_entry *found, void *arg) {
        *static_cast<tw_durable_entry *>(arg) = *found;
        return 0;
    };
    require(inner().list(of.observer, &filter, key, copy, &entry) == 0, "the observer cannot look");
    return entry;
}

// True if, since the last fire, a fault or a lock has hit this process or the process of that fire, or the
// clock was set.
bool is_excused(const process &by, const job_model &model) {
    const auto is_hit = [&](const process &each) {
        return std::max(each.faulted_at, each.lease_at_risk_until) >= model.begun_at;
    };
    return is_hit(by) || (model.last != nullptr && is_hit(*model.last)) ||
           clock_was_set_since(model.begun_at - lease);
}

// True if a token may have come again: then nothing says to which fire an answer belongs.
bool is_unsure() { return scene->also == extra::no_raise && servers.size() > 1; }

// Checks a job that the database no longer has, although no user removed it.
void check_ended(const char *key, const job_model &model) {
    if (is_unsure())
        return;
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

// Checks O9. The job was ready at this time of the database.
void check_promptness(const tw_durable_fire &fire, std::int64_t ready) {
    const std::int64_t back_at = outage_until + database_offset + 3 * second;
    if (scene->has_faults || scene->also == extra::locks || ready < back_at)
        return;
    require(database_now() <= ready + poll + 100 * ms, "O9: it is late", fire.key);
}

// Checks O10 for a job of a herd.
void begins_of_herd(process &by, const tw_durable_fire &fire) {
    const auto found = herd.find({fire.due_ns, fire.key});
    by.paused_until = now + busy;
    if (found == herd.end()) {
        require(herd_in_outage.erase(fire.key) == 1, "O7: it fires again, and nothing has happened",
                fire.key);
        return;
    }
    const auto most_held = static_cast<std::ptrdiff_t>(3 * scene->backlog);
    const bool is_in_turn = std::distance(herd.begin(), found) < most_held;
    require(is_over || outage_until > now || is_in_turn, "O10: it is not its turn", fire.key);
    if (outage_until > now)
        herd_in_outage.insert(fire.key);
    herd.erase(found);
    ++seen["of the herd"];
}

void begins(process &by, const tw_durable_fire &fire) {
    ++seen["fires"];
    require(by.lease_end > database_now() || clock_was_set_since(by.renewed_at), "O2: the lease has ended",
            fire.key);
    if (std::strncmp(fire.key, "herd", 4) == 0)
        return begins_of_herd(by, fire);
    if (is_unsure())
        return;
    job_model &model = server_of(by, fire.token).jobs[fire.key];
    process::claim &allowed = by.claims.at(fire.token);
    const bool is_confirmed = allowed.started_at != process::not_started;
    const std::int64_t allowed_at =
        is_confirmed ? std::exchange(allowed.started_at, process::not_started) : now - lease;
    if (!is_confirmed) {
        ++seen["unconfirmed"];
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
    check_promptness(fire, std::max({ready, model.answered_at, model.changed_at + database_offset}));
    if (is_repeat && (fire.due_ns < model.due || model.answer == TW_DURABLE_DONE || model.is_unanswered)) {
        ++seen["repeats"];
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
    const tw_durable_entry entry = entry_of(primary(), key);
    require(model.exists || entry.state == 0, "O8: it was removed, and is there", key);
    if (model.exists && entry.state == 0)
        check_ended(key, model);
    require(entry.state == 0 || entry.ready_ns >= database_now() - minute, "O8: it is left", key);
}

// --- users, handlers and faults ------------------------------------------------------------------------

bool is_last(const tw_durable_fire &fire, const job_model &model) {
    return model.exists && fire.token == model.last_token && fire.due_ns == model.due;
}

constexpr tw_durable_handling how = {1000, 2 * second, 10 * second, 0, 0, 0};

std::int64_t delay_after(std::uint32_t failed_tries) {
    return failed_tries < 4 ? std::min(how.backoff_ns << (failed_tries - 1), how.backoff_max_ns)
                            : how.backoff_max_ns;
}

tw_durable_answer answer_to(const process &by, tw_durable_fire *fire) {
    job_model &model = server_of(by, fire->token).jobs[fire->key];
    const std::int64_t delay = time_below(20 * second);
    const std::uint64_t which = is_over ? 2 : below(12);
    if (is_last(*fire, model)) {
        model.is_unanswered = false;
        model.answer = which == 0 ? TW_DURABLE_AGAIN : which == 1 ? TW_DURABLE_RETRY : TW_DURABLE_DONE;
        model.answered_at = database_now();
        model.not_before = which == 0   ? database_now() + delay
                           : which == 1 ? database_now() + delay_after(fire->attempt)
                                        : 0;
    }
    return which == 0   ? tw_durable_again(fire, delay)
           : which == 1 ? tw_durable_failed(fire, "as it happens")
                        : TW_DURABLE_DONE;
}

tw_durable_answer on_fire(tw_durable_fire *fire, void *arg) {
    process &by = *static_cast<process *>(arg);
    begins(by, *fire);
    if (std::strncmp(fire->key, "herd", 4) == 0)
        return TW_DURABLE_DONE;
    if (is_over || below(3) != 0)
        return answer_to(by, fire);
    ++seen["answered later"];
    unanswered.push_back({&by, fire, now + time_below(below(2) == 0 ? second : 3 * lease)});
    if (job_model &model = server_of(by, fire->token).jobs[fire->key]; is_last(*fire, model)) {
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
    member.listens = below(2) == 0;
    member.where = servers.size() - 1;
    tw_runtime_options of_runtime = {};
    of_runtime.driver = "manual";
    require(tw_runtime_new(&member.rt, &of_runtime) == 0 &&
                tw_runtime_advance(member.rt, now + member.skew) == 0,
            "no runtime");
    tw_durable_options options = {};
    options.lease_ns = lease;
    options.poll_ns = poll;
    options.horizon_ns = 2 * second;
    options.hold = scene->hold;
    options.backlog = scene->backlog;
    options.confirmed_only = scene->confirmed_only ? 1 : 0;
    options.single_thread = 1;
    options.store = &store;
    const std::string address = "simulation:" + std::to_string(processes.size() - 1);
    const std::int64_t outage = std::exchange(outage_until, 0);  // tw_durable_open needs the database
    require(tw_durable_open(&member.jobs, member.rt, address.c_str(), &options) == 0 &&
                tw_durable_register(member.jobs, "job", on_fire, &member, &how) == 0,
            "a process does not begin");
    outage_until = outage;
}

// Moves the process's clock to the present, so that due jobs fire.
void turn(process &member) {
    require(tw_runtime_leap(member.rt, now + member.skew - tw_runtime_now(member.rt)) == 0, "no leap");
    const claimed_jobs &held = member.jobs->member->jobs;
    const char *const invariant = claimed_jobs_inspector::broken_invariant(held);
    require(invariant == nullptr, "does not hold:", invariant != nullptr ? invariant : "");
    const claimed_jobs::census count = held.count();
    require(scene->hold == 0 || count.held + count.unsettled <= scene->hold, "O11: it holds too many");
}

void end_process(process &member, bool crashes) {
    if (!crashes)
        turn(member);
    member.is_dead = crashes;
    member.faulted_at = now;
    std::erase_if(unanswered, [&](const unanswered_fire &each) { return each.by == &member; });
    const int result = tw_durable_close(member.jobs);
    require(result == 0 || result == -ETIMEDOUT, "a process does not close");
    tw_runtime_free(member.rt);
    member.is_dead = true;
}

void give_answer(std::vector<unanswered_fire>::iterator which) {
    const unanswered_fire due = *which;
    unanswered.erase(which);
    turn(*due.by);
    require(tw_durable_answer_later(due.by->jobs, due.fire, answer_to(*due.by, due.fire)) == 0,
            "it takes no answer");
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
    job_model &model = servers[by.where]->jobs[key];
    const bool exists = model.exists && former.state != 0;
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
    require((result == -EEXIST) <= exists, "a job that is not there was found", job.key);
    require(result != 0 || existing != TW_DURABLE_ADD || !exists, "a job was not found", job.key);
    if (!by.took_effect || (existing != TW_DURABLE_REPLACE && exists))
        return;
    end_former(model, former);
    const tw_durable_entry entry = entry_of(*servers[by.where], job.key);
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
    job_model &model = servers[by.where]->jobs[key];
    const bool exists = model.exists && former.state != 0;
    by.took_effect = false;
    const int result = tw_durable_cancel(by.jobs, "job", key.c_str());
    require(result != -ENOENT || !exists, "it is removed, and said not to be there", key.c_str());
    if (!by.took_effect)
        return;
    seen["removed"] += exists ? 1 : 0;
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
    const server &where = *servers[by->where];
    const tw_durable_entry former = entry_of(where, key.c_str());
    if (const auto model = where.jobs.find(key);
        model != where.jobs.end() && model->second.exists && former.state == 0)
        check_ended(key.c_str(), model->second);
    below(3) != 0 ? put_job(*by, key, former) : remove_job(*by, key, former);
}

// Another transaction locks some of the jobs for a while.
void lock_jobs(std::int64_t how_long) {
    server &where = primary();
    const auto lock_all = [&where](const std::vector<std::string> &keys, bool is_locked) {
        for (const std::string &key : keys)
            if (memory::job *const job = where.content().find("job", key.c_str()); job != nullptr)
                job->locked = is_locked;
    };
    std::vector<std::string> keys;
    for (const auto &[key, model] : where.jobs)
        if (below(3) == 0)
            keys.push_back(key);
    lock_all(keys, true);
    later(how_long, [=] { lock_all(keys, false); });
}

// The next server does not have the last fires, but if it has their claims, their processes may still bring
// it the answers.
void carry_over(const server &former, server &next) {
    for (const auto &[key, model] : former.jobs) {
        const auto found = next.jobs.find(key);
        if (found != next.jobs.end() && found->second.changed_at == model.changed_at &&
            found->second.last_token <= model.last_token && model.last_token <= next.last_common_token)
            found->second = model;
    }
}

void move_to_primary(process &each) {
    for (; each.where + 1 < servers.size(); ++each.where)
        carry_over(*servers[each.where], *servers[each.where + 1]);
    each.faulted_at = now;
}

// The standby becomes the primary. In a split some processes still reach the former primary for a while.
void fail_over() {
    const bool is_asynchronous = lost == loss::of_replication;
    server &former = primary();
    server &next = *standby;
    if (!is_asynchronous)
        next.jobs = former.jobs;
    memory::database &content = next.content();
    next.last_common_token = content.last_token;
    if (is_asynchronous && scene->also == extra::failover)
        content.last_token = former.content().last_token + 1'000'000;
    servers.push_back(std::move(standby));
    const bool is_split = is_asynchronous && !is_over && below(2) == 0;
    ++seen[is_split ? "splits" : is_asynchronous ? "asynchronous failovers" : "synchronous failovers"];
    for (std::size_t i = 0, count = processes.size(); i < count; ++i) {
        process &each = *processes[i];
        if (each.is_dead)
            continue;
        if (lost == loss::of_power_cut) {
            end_process(each, true);
            begin_process();
        } else if (is_split && below(2) == 0) {
            later(time_below(4 * lease), [&each] { move_to_primary(each); });
        } else {
            move_to_primary(each);
        }
    }
}

// From now on the standby may lag behind; soon the primary is lost.
void plan_failover() {
    if (standby != nullptr)
        return;
    standby = std::make_unique<server>();
    standby->content().become(primary().content());
    standby->jobs = primary().jobs;
    lost = static_cast<loss>(below(3));
    later(time_below(below(2) == 0 ? 100 * ms : 3 * second), fail_over);
}

// Puts jobs, all of which become ready while the database is away.
void send_herd() {
    constexpr int size = 300;
    process *const by = random_process();
    if (by == nullptr || outage_until > now || !herd.empty())
        return;
    turn(*by);
    const std::int64_t length = 10 * second + time_below(minute);
    for (int i = 0; i < size; ++i) {
        const std::string key = "herd " + std::to_string(i);
        tw_durable_job job = {};
        job.kind = "job";
        job.key = key.c_str();
        job.absolute = 1;
        job.due_ns = (database_now() + second + time_below(length - 5 * second)) / 1000 * 1000;
        const auto put_it = [&] { return tw_durable_put(by->jobs, &job, TW_DURABLE_REPLACE); };
        require(put_it() == 0 || put_it() == 0, "no herd",
                job.key);  // the former outage broke the connection
        herd.insert({job.due_ns, key});
    }
    herd_in_outage.clear();
    outage_until = now + length;
}

void act_as_fate() {
    if (scene->also == extra::herd)
        return send_herd();
    process *const victim = random_process();
    const std::int64_t some = time_below(below(2) == 0 ? lease / 4 : 4 * lease);
    switch (victim == nullptr ? 5 : scene->has_faults ? below(8) : 4 + below(3)) {
    case 0:
        end_process(*victim, below(2) == 0);
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
    case 4:
        lock_jobs(some);
        break;
    case 5:
        tables_locked_until = now + some;
        break;
    case 6:
        victim->row_locked_until = now + some;
        break;
    default:
        if (scene->also != extra::clock)
            return plan_failover();
        database_offset += time_below(2 * minute) - minute;
        clock_set_at = now;
    }
}

// Calls `act` now and then, until all is over.
void repeat(void (*act)(), std::int64_t longest_pause) {
    if (is_over)
        return;
    act();
    later(1 + time_below(longest_pause), [=] { repeat(act, longest_pause); });
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
        std::int64_t soonest = events.empty() ? INT64_MAX : std::max(now, events.begin()->first);
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
        if (is_answered)
            give_answer(answer);
        else if (first != nullptr)
            turn(*first);
        else
            events.extract(events.begin()).mapped()();
        for (const auto &each : processes)
            tell(*each);
    }
    now = time;
}

void run(const scenario &what, std::uint64_t seed_of_all) {
    scene = &what;
    first_seed = seed = seed_of_all;
    now = outage_until = tables_locked_until = 0;
    servers_made = 0;
    database_offset = 1'700'000'000 * second;
    clock_set_at = -hour;
    is_over = false;
    servers.push_back(std::make_unique<server>());
    for (int i = 0; i < 3; ++i)
        begin_process();
    const bool has_herds = what.also == extra::herd;
    repeat(act_as_user, has_herds ? second : 6 * second);
    if (what.also != extra::nothing)
        repeat(act_as_fate, has_herds ? 10 * minute : 40 * second);
    run_until(hour);

    // Without faults, run long enough for leases to end, for all tries, and for all missed due times to fire.
    is_over = true;
    outage_until = std::min(outage_until, now);
    tables_locked_until = 0;
    for (const auto &each : processes)
        each->cut_off_until = each->paused_until = each->row_locked_until = 0;
    while (!events.empty())
        events.extract(events.begin()).mapped()();
    run_until(now + 15 * minute);
    require(herd.empty(), "O8: a part of the herd is left");
    for (const auto &[key, each] : primary().jobs)
        check_left(key.c_str(), each);
    for (const auto &each : processes)
        if (!each->is_dead)
            end_process(*each, true);
    events.clear();
    processes.clear();
    servers.clear();
}

const std::vector<const char *> storm = {"removed",           "answered later", "repeats",
                                         "refused by a lock", "not started",    "not settled",
                                         "lost notifications"};
const std::vector<const char *> failovers = {"synchronous failovers", "asynchronous failovers", "splits"};
const scenario scenarios[] = {
    {"calm", false, extra::nothing, false, 0, 0, {"removed", "answered later", "lost notifications"}},
    {"locks", false, extra::locks, true, 2, 0, {"refused by a lock", "not started", "not settled"}},
    {"stormy", true, extra::failover, false, 0, 0, failovers},
    {"confirmed", true, extra::failover, true, 4, 0, storm},
    {"clock", true, extra::clock, false, 0, 0, storm},
    {"tokens", true, extra::no_raise, false, 8, 0, failovers},
    {"herd", false, extra::herd, false, 64, 4, {"of the herd", "answered later"}},
};

void run_all(const scenario &what, std::uint64_t first, std::uint64_t count) {
    seen.clear();
    for (std::uint64_t each = first; each < first + count; ++each)
        run(what, each);
    std::printf("%s:", what.name);
    for (const auto &[event, times] : seen)
        std::printf(" %llu %s%s", static_cast<unsigned long long>(times), event.c_str(),
                    event == seen.rbegin()->first ? "\n" : ",");
    for (const char *event : what.events)
        require(count == 1 || seen[event] != 0, "this has not happened:", event);
}

}  // namespace
}  // namespace tickwheel::durable::tests

int main(int argc, char **argv) {
    using namespace tickwheel::durable::tests;
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    program = argv[0];
    const std::uint64_t first = seed_of_run();
    const std::uint64_t count = is_set("TW_SEED") ? 1 : SLOW ? 4 : is_nightly() ? 70 : 7;
    for (const scenario &what : scenarios)
        if (argc == 1 || std::strcmp(argv[1], what.name) == 0)
            run_all(what, first, count);
    return 0;
}

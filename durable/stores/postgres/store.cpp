// The store in PostgreSQL: implements durable_store.h with statements.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "looking.hpp"
#include "schema.hpp"
#include "session.hpp"
#include "src/guard.hpp"
#include "src/job_name.hpp"
#include "statements.hpp"
#include "stores/stores.hpp"

namespace tickwheel::durable {

namespace {

using namespace postgres;

struct postgres_connection {
    session server;
    std::string schema;
    // How many more starts (or answers) skip locked jobs without waiting for the lock first.
    unsigned starts_pass_locks = 0, answers_pass_locks = 0;
    bool listens = false;
    std::string swept;  // the group up to which the last look from the start has released jobs that waited

    explicit postgres_connection(const tw_store_place &place)
        : server(place.timeout_ns), schema(place.schema) {}
};

postgres_connection &of(void *connection) { return *static_cast<postgres_connection *>(connection); }

// Makes a function of the store table return -ENOMEM instead of throwing.
template <class Result, class... Arguments> struct like {
    template <Result (*function)(Arguments...)> static Result call(Arguments... arguments) noexcept {
        return guarded([&] { return function(arguments...); });
    }
};
template <class Result, class... Arguments> like<Result, Arguments...> like_this(Result (*)(Arguments...));
template <auto function> constexpr auto guard = decltype(like_this(function))::template call<function>;

// The same for a function of looking.hpp.
template <class Result, class... Arguments> struct looking {
    template <Result (*function)(session &, const std::string &, Arguments...)>
    static Result call(void *connection, Arguments... arguments) noexcept {
        return guarded([&] { return function(of(connection).server, of(connection).schema, arguments...); });
    }
};
template <class Result, class... Arguments>
looking<Result, Arguments...> looking_like(Result (*)(session &, const std::string &, Arguments...));
template <auto function> constexpr auto look = decltype(looking_like(function))::template call<function>;

std::int64_t microseconds(std::int64_t ns) { return ns / 1000 + (ns % 1000 > 0 ? 1 : 0); }

// --- the connection ---------------------------------------------------------------------

// How long a start or an answer waits for a lock: well within the timeout.
std::int64_t lock_limit_ms(std::int64_t timeout_ns) {
    return std::clamp<std::int64_t>(timeout_ns / 1'000'000 / 4, 1, 50);
}

int open_connection(void **connection, const tw_store_place *place, char *why, size_t room) {
    auto made = std::make_unique<postgres_connection>(*place);
    int error = made->server.open(place->address);
    if (error == 0)
        error = bring_up_to_date(made->server, made->schema, place->must_exist != 0, place->grant_to);
    if (error != 0) {
        std::snprintf(why, room, "%s", made->server.why().c_str());
        return error;
    }
    made->server.prepare_later(statements_for(made->schema, lock_limit_ms(place->timeout_ns)));
    *connection = made.release();
    return 0;
}

void close_connection(void *connection) { delete &of(connection); }

void abandon(void *connection) {
    of(connection).server.abandon();
    delete &of(connection);
}

const char *explain(void *connection) { return of(connection).server.why().c_str(); }

int read_now(void *connection, int64_t *now_ns) {
    parameters none;
    rows found;
    const int error = of(connection).server.call(read_clock, none, found);
    if (error == 0)
        *now_ns = found.time(0, 0);
    return error;
}

// --- jobs -------------------------------------------------------------------------------

// One column for each field of a job, in the order of put_fields. Each call adds to the next column. Without
// `groups`, no job has a value for the last three, which stay empty.
class put_columns {
  public:
    put_columns(std::size_t count, bool groups) {
        for (const type each : {type::text, type::text, type::bytes, type::time, type::int8, type::int8,
                                type::text, type::text, type::int4, type::int8})
            all_.emplace_back(each, count);
        for (const type each : {type::text, type::text, type::int8})
            (groups ? all_ : empty_).emplace_back(each, groups ? count : 0);
    }

    put_columns &add_text(const char *text) { return next().add_text(text), *this; }
    put_columns &add_bytes(std::string_view bytes) { return next().add_bytes(bytes), *this; }
    put_columns &add_time(std::int64_t ns) { return next().add_time(ns), *this; }
    put_columns &add_int4(std::int32_t value) { return next().add_int4(value), *this; }
    put_columns &add_int8(std::int64_t value) { return next().add_int8(value), *this; }
    put_columns &add_null() { return next().add_null(), *this; }

    void hand_to(parameters &all) const {
        for (const std::vector<column> *const some : {&all_, &empty_})
            for (const column &each : *some)
                all.add(each);
    }

  private:
    column &next() { return all_[next_++ % all_.size()]; }

    std::vector<column> all_, empty_;
    std::size_t next_ = 0;
};

// Adds the fields of a job, in the order of put_fields, to `parameters` or `put_columns`.
template <class Fields> void add_job(Fields &to, const tw_durable_job &job, bool with_groups) {
    to.add_text(job.kind).add_text(job.key);
    to.add_bytes({static_cast<const char *>(job.payload), job.size});
    if (job.absolute != 0)
        to.add_time(job.due_ns).add_null();
    else
        to.add_null().add_int8(microseconds(job.due_ns));
    if (job.period_ns != 0)
        to.add_int8(microseconds(job.period_ns));
    else
        to.add_null();
    to.add_text(job.cron).add_text(job.zone);
    if (job.period_ns != 0 || job.cron != nullptr)
        to.add_int4(job.missed).add_int8(microseconds(job.grace_ns));
    else
        to.add_null().add_null();
    if (!with_groups)
        return;
    to.add_text(job.group).add_text(job.waits_for);
    if (job.within_ns != 0)
        to.add_int8(microseconds(job.within_ns));
    else
        to.add_null();
}

// A statement can change a row only once. So of several jobs with one name the store sends only one: with
// `keep` the first, otherwise the last. Returns the numbers of the jobs to send. With `keep` the others find
// a job of their name.
std::vector<std::size_t> choose_distinct(tw_store_put *puts, std::size_t count, bool keep) {
    std::unordered_map<std::string, std::size_t> chosen;
    std::vector<bool> is_sent(count, true);
    for (std::size_t i = 0; count > 1 && i < count; ++i) {
        const auto [found, is_new] = chosen.emplace(name_of(*puts[i].job), i);
        if (is_new)
            continue;
        is_sent[keep ? i : found->second] = false;
        if (!keep)
            found->second = i;
    }
    std::vector<std::size_t> sent;
    for (std::size_t i = 0; i < count; ++i)
        if (is_sent[i])
            sent.push_back(i);
    // In one order, so that two processes that put the same jobs do not lock each other out.
    std::sort(sent.begin(), sent.end(), [puts](std::size_t one, std::size_t other) {
        return std::strcmp(puts[one].job->kind, puts[other].job->kind) == 0
                   ? std::strcmp(puts[one].job->key, puts[other].job->key) < 0
                   : std::strcmp(puts[one].job->kind, puts[other].job->kind) < 0;
    });
    return sent;
}

// Calls each(put, row) for the rows that name a job.
template <class Each>
void match_rows(const rows &named, tw_store_put *puts, const std::vector<std::size_t> &sent,
                const Each &each) {
    std::unordered_map<std::string, std::size_t> numbers;
    for (int row = 0; row < named.count(); ++row) {
        if (named.is_null(row, 0))
            continue;
        if (numbers.empty())
            for (const std::size_t i : sent)
                numbers.emplace(name_of(*puts[i].job), i);
        const auto found =
            numbers.find(std::string(named.bytes(row, 0)) + '\0' + std::string(named.bytes(row, 1)));
        if (found != numbers.end())
            each(puts[found->second], row);
    }
}

// Releases the jobs that wait for those of these groups that are empty. The calling function has succeeded
// already, so an error is left to the next use of the connection, and the release to the next look from the
// start.
void release_those_waiting_for(session &server, const std::set<std::string> &groups) {
    if (groups.empty())
        return;
    column names(type::text, groups.size());
    for (const std::string &each : groups)
        names.add_text(each.c_str());
    parameters with;
    with.add(names);
    rows ignored;
    server.call(release_waiting, with, ignored);
}

// For each kind the first job that is due at a time, and the first that is due after a delay. Jobs that wait
// for a group are not among them.
void add_first_of_kinds(parameters &all, const tw_store_put *puts, const std::vector<std::size_t> &sent) {
    std::map<std::pair<std::string_view, bool>, std::int64_t> first;
    for (const std::size_t i : sent) {
        const tw_durable_job &job = *puts[i].job;
        if (job.waits_for != nullptr)
            continue;
        const auto [found, is_new] = first.try_emplace({job.kind, job.absolute != 0}, job.due_ns);
        if (!is_new)
            found->second = std::min(found->second, job.due_ns);
    }
    column kind(type::text, first.size()), due(type::time, first.size()), delay(type::int8, first.size());
    for (const auto &[of, time] : first) {
        kind.add_bytes(of.first);
        if (of.second) {
            due.add_time(time);
            delay.add_null();
        } else {
            due.add_null();
            delay.add_int8(microseconds(time));
        }
    }
    all.add(kind).add(due).add(delay);
}

// The groups for which these jobs wait.
std::set<std::string> groups_of(const tw_store_put *puts, const std::vector<std::size_t> &sent) {
    std::set<std::string> groups;
    for (const std::size_t i : sent)
        if (puts[i].job->waits_for != nullptr)
            groups.insert(puts[i].job->waits_for);
    return groups;
}

// Stores what the statement has returned.
void note_results(const rows &done, tw_store_put *puts, std::size_t count,
                  const std::vector<std::size_t> &sent, int keep, bool returns_rows) {
    for (std::size_t i = 0; i < count; ++i) {
        puts[i].token = 0;
        puts[i].existed = keep;
    }
    match_rows(done, puts, sent, [&done, returns_rows](tw_store_put &job, int row) {
        job.existed = 0;
        if (!returns_rows || !done.truth(row, 2))
            return;
        job.token = done.int8(row, 3);
        job.ready_ns = done.time(row, 4);
        job.started = done.truth(row, 5) ? 1 : 0;
        job.row = done.place(row, 6);
    });
}

int put(void *connection, tw_store_put *puts, size_t count, int keep, const tw_store_member *member) {
    if (count == 0)
        return 0;
    const std::vector<std::size_t> sent = choose_distinct(puts, count, keep != 0);
    const auto holds = [puts](std::size_t i) { return puts[i].hold != 0; };
    const auto has_end = [puts](std::size_t i) { return puts[i].job->within_ns != 0; };
    const auto has_groups = [puts](std::size_t i) {
        return puts[i].job->group != nullptr || puts[i].job->waits_for != nullptr;
    };
    const bool any_end = std::any_of(sent.begin(), sent.end(), has_end);
    const tw_store_member whom = member != nullptr ? *member : tw_store_member{};  // none has the number 0
    // A job may take over the end of the one that it replaces. So only the statement that returns rows can
    // notify others of the time at which the job is due.
    const bool returns_rows = any_end || (member != nullptr && std::any_of(sent.begin(), sent.end(), holds));
    parameters with;
    std::size_t statement = put_one_replacing;
    if (sent.size() == 1 && !returns_rows) {
        add_job(with, *puts[sent[0]].job, true);
    } else {
        const bool groups = any_end || std::any_of(sent.begin(), sent.end(), has_groups);
        put_columns columns(sent.size(), groups);
        column hold(type::int4, sent.size());
        for (const std::size_t i : sent) {
            add_job(columns, *puts[i].job, groups);
            hold.add_int4(holds(i) ? 1 : 0);
        }
        columns.hand_to(with);
        statement = returns_rows ? put_holding_replacing : put_many_replacing;
        if (returns_rows)
            with.add(hold).add_int8(whom.id).add_int8(whom.epoch);
        else if (keep == 0)
            add_first_of_kinds(with, puts, sent);
    }
    rows done;
    if (const int error = of(connection).server.call(statement + (keep != 0 ? 1 : 0), with, done); error != 0)
        return error;
    note_results(done, puts, count, sent, keep, returns_rows);
    release_those_waiting_for(of(connection).server, groups_of(puts, sent));
    return 0;
}

int remove(void *connection, const char *kind, const char *key) {
    parameters with;
    with.add_text(kind).add_text(key);
    rows done;
    if (const int error = of(connection).server.call(remove_job, with, done); error != 0)
        return error;
    if (done.count() == 0)
        return -ENOENT;
    if (!done.is_null(0, 1))
        release_those_waiting_for(of(connection).server, {done.text(0, 1)});
    return done.truth(0, 0) ? 0 : 1;
}

int change_jobs(void *connection, const tw_durable_filter *filter, const char *key, tw_store_change what,
                tw_store_changed *each, void *arg) {
    session &server = of(connection).server;
    std::set<std::string> left;
    const int result = change(server, of(connection).schema, filter, key, what, each, arg, left);
    release_those_waiting_for(server, left);
    return result;
}

// --- members ----------------------------------------------------------------------------

int join(void *connection, const char *name, int64_t lease_ns, tw_store_member *member) {
    parameters with;
    with.add_text(name).add_int8(microseconds(lease_ns));
    rows done;
    if (const int error = of(connection).server.call(join_as_member, with, done); error != 0)
        return error;
    *member = {done.int8(0, 0), done.int8(0, 1)};
    return 0;
}

int renew(void *connection, const tw_store_member *member, int64_t lease_ns, int64_t *now_ns) {
    parameters with;
    with.add_int8(member->id).add_int8(member->epoch).add_int8(microseconds(lease_ns));
    rows done;
    if (const int error = of(connection).server.call(renew_lease, with, done); error != 0)
        return error;
    if (done.count() == 0)
        return -ESTALE;
    *now_ns = done.time(0, 0);
    return 0;
}

int resume(void *connection, tw_store_member *member, const int64_t *started, size_t count,
           tw_store_visitor *each, void *arg) {
    column tokens(type::int8, count);
    for (size_t i = 0; i < count; ++i)
        tokens.add_int8(started[i]);
    parameters who, with;
    who.add_int8(member->id).add_int8(member->epoch);
    with.add_int8(member->id).add(tokens);
    rows raised, held;
    if (const int error = of(connection).server.call(raise_epoch, who, raised); error != 0)
        return error;
    if (raised.count() == 0)
        return -ESTALE;
    member->epoch = raised.int8(0, 0);
    if (const int error = of(connection).server.call(list_held, with, held); error != 0)
        return error;
    for (int row = 0; row < held.count(); ++row) {
        tw_durable_entry entry = {};
        entry.job.kind = held.text(row, 0);
        entry.job.key = held.text(row, 1);
        entry.ready_ns = held.time(row, 2);
        entry.token = held.int8(row, 3);
        entry.state = state_of(true, held.truth(row, 4), false);
        if (const int end = each(&entry, arg); end != 0)
            return end;
    }
    return 0;
}

int64_t bury(void *connection, size_t limit) {
    postgres_connection &here = of(connection);
    parameters none, with;
    rows any_dead, done;
    if (const int error = here.server.call(declare_ended, none, any_dead); error != 0)
        return error;
    if (!any_dead.truth(0, 0))
        return 0;
    with.add_int8(static_cast<std::int64_t>(limit));
    if (const int error = here.server.call(release_of_dead, with, done); error != 0)
        return error;
    rows ignored;
    for (const std::size_t statement : {forget_ranges_of_dead, delete_dead})
        if (const int error = here.server.call(statement, none, ignored); error != 0)
            return error;
    return done.int8(0, 0);
}

int leave_within(session &server, const tw_store_member &member) {
    parameters whole, id, all_ranges;
    whole.add_int8(member.id).add_int8(member.epoch);
    id.add_int8(member.id);
    all_ranges.add_int8(member.id).add_null().add_null();
    rows done;
    if (const int error = server.call(declare_dead, whole, done); error != 0)
        return error;
    if (done.count() == 0)
        return -ESTALE;
    if (const int error = server.call(release_of_one, id, done); error != 0)
        return error;
    if (const int error = server.call(forget_ranges_of_one, all_ranges, done); error != 0)
        return error;
    return server.call(delete_member, id, done);
}

// The member ends as if its lease had ended, but its started jobs count no attempt: their handlers have
// answered, or were never called.
int leave(void *connection, const tw_store_member *member) {
    session &server = of(connection).server;
    if (const int error = server.run("begin"); error != 0)
        return error;
    const int error = leave_within(server, *member);
    if (error == 0)
        return server.run("commit");
    const std::string why = server.why();
    server.run("rollback");
    server.explain_by(why);
    return error;
}

// --- holding ----------------------------------------------------------------------------

void add_end(parameters &to, const tw_store_claim &claim) {
    if (claim.limit == 0 && claim.until_ns != 0)
        to.add_time(claim.until_ns);
    else
        to.add_null();
}

column kinds_of(const tw_store_claim &claim) {
    column kinds(type::text, claim.kinds_count);
    for (std::size_t i = 0; i < claim.kinds_count; ++i)
        kinds.add_text(claim.kinds[i]);
    return kinds;
}

// The first rows of a claim in the order of their ready times.
std::vector<int> in_order(const rows &claimed, int count) {
    std::vector<int> order(static_cast<std::size_t>(count));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int one, int other) { return claimed.time(one, 4) < claimed.time(other, 4); });
    return order;
}

int show(const rows &claimed, int count, tw_store_taker *each, void *arg) {
    for (const int row : in_order(claimed, count)) {
        tw_durable_entry entry = {};
        read_job(claimed, row, entry);
        entry.state = state_of(true, claimed.truth(row, 12), false);
        if (const int end = each(&entry, claimed.place(row, 14), arg); end != 0)
            return end;
    }
    return 0;
}

// Deletes ranges without jobs that a look concerns: all looks together go through all ready times. If the
// jobs are locked, a later look does that.
int forget_ranges(postgres_connection &here, const tw_store_claim &look) {
    parameters with;
    with.add_int8(look.member.id).add_time(look.from_ns);
    add_end(with, look);
    rows ignored;
    const int error = here.server.call(forget_ranges_of_one, with, ignored);
    return error == -ENOTCONN || error == -ETIMEDOUT ? error : 0;
}

int look_at(postgres_connection &here, const tw_store_claim &claim, const column &kinds, bool release,
            rows &seen) {
    parameters with;
    with.add_int8(claim.member.id).add_int8(claim.member.epoch).add(kinds).add_time(claim.from_ns);
    add_end(with, claim);
    if (release)
        with.add_text(here.swept.c_str());
    return here.server.call(release ? look_on_and_release : look_on, with, seen);
}

// A look from the start also releases jobs whose groups are empty. The next one goes on with the groups after
// those that this one has checked. A look that has released jobs, which are ready now or later, has no end.
int look_after(postgres_connection &here, const tw_store_claim &claim, const column &kinds, bool has_claimed,
               tw_store_look &look) {
    const bool from_start = claim.from_ns == 0;
    rows seen;
    if (const int error = look_at(here, claim, kinds, from_start, seen); error != 0)
        return error;
    const std::int64_t released = from_start ? seen.int8(0, 6) : 0;
    if (from_start && released < release_batch)
        here.swept = seen.is_null(0, 5) ? "" : seen.text(0, 5);
    tw_store_claim without_end = claim;
    without_end.until_ns = 0;
    if (released > 0)
        if (const int error = look_at(here, without_end, kinds, false, seen); error != 0)
            return error;
    if (!has_claimed && !seen.truth(0, 0))
        return -ESTALE;
    look.now_ns = seen.time(0, 1);
    look.next_ns = seen.is_null(0, 2) ? TW_NO_DEADLINE : seen.time(0, 2);
    if (released == release_batch)
        look.next_ns = 0;  // there may be more to release
    look.lease_end_ns = seen.is_null(0, 3) ? TW_NO_DEADLINE : seen.time(0, 3);
    const bool has_ranges = seen.truth(0, 4);
    return has_ranges && claim.limit == 0 ? forget_ranges(here, claim) : 0;
}

int claim_within_limits(session &server, const tw_store_claim &claim, rows &done) {
    parameters with;
    with.add_int8(claim.member.id).add_int8(claim.member.epoch).add_text(claim.kinds[0]);
    with.add_int8(static_cast<std::int64_t>(claim.limit)).add_time(claim.from_ns);
    if (claim.running != 0)
        with.add_int8(claim.running);
    else
        with.add_null();
    if (claim.pause_ns != 0)
        with.add_int8(claim.pause_ns);
    else
        with.add_null();
    with.add_int8(claim.tolerance_ns);
    if (const int error = server.call(claim_jobs_within_limits, with, done); error != 0)
        return error;
    return done.count() != 0 ? 0 : -ESTALE;
}

int claim_any(session &server, const tw_store_claim &claim, const column &kinds, rows &done) {
    parameters with;
    with.add_int8(claim.member.id).add_int8(claim.member.epoch).add(kinds);
    with.add_int8(microseconds(claim.horizon_ns)).add_int8(static_cast<std::int64_t>(claim.limit));
    with.add_time(claim.from_ns);
    return server.call(claim_jobs, with, done);
}

// The caller repeats a claim that has reached its limit at once. So such a claim does not look for the next
// ready time, which saves a round trip under load.
int claim(void *connection, const tw_store_claim *claim, tw_store_taker *each, void *arg,
          tw_store_look *look) {
    postgres_connection &here = of(connection);
    const column kinds = kinds_of(*claim);
    if (claim->limit == 0)
        return look_after(here, *claim, kinds, false, *look);
    const bool has_limits = claim->running != 0 || claim->pause_ns != 0;
    rows done;
    if (const int error = has_limits ? claim_within_limits(here.server, *claim, done)
                                     : claim_any(here.server, *claim, kinds, done);
        error != 0)
        return error;
    const int count = done.count() - (has_limits ? 1 : 0);
    if (const int end = show(done, count, each, arg); end != 0)
        return end;
    *look = {};
    if (has_limits) {
        look->is_full = done.truth(count, 15) ? 1 : 0;
        look->starts_ns = done.time(count, 16);
    }
    if (static_cast<std::size_t>(count) == claim->limit) {
        look->now_ns = done.time(0, 13);
        look->lease_end_ns = TW_NO_DEADLINE;
        return 0;
    }
    return look_after(here, *claim, kinds, count > 0, *look);
}

constexpr unsigned passes_after_a_lock = 32;

// Calls the statement `waiting`, which waits for locks, and if that meets a lock, `waiting` + 1, which skips
// locked jobs. `passes` is the number of further calls that use only `waiting` + 1, because the first
// statement would wait again for the same job.
int call_past_locks(session &server, std::size_t waiting, unsigned &passes, parameters &with, rows &out) {
    if (passes == 0) {
        const int error = server.call(waiting, with, out);
        if (!server.met_lock())
            return error;
        passes = passes_after_a_lock;
    }
    --passes;
    return server.call(waiting + 1, with, out);
}

// Asks for the rows of held jobs that a statement did not return: the rows have moved, or other transactions
// have locked them, or the jobs are not ready, or the member no longer holds them. Calls each(job, ready) for
// those that the member holds, stores their rows, and adds those whose rows have moved to `moved`.
template <class Job, class Each>
int find_again(session &server, const tw_store_member &member, const std::vector<Job *> &missing,
               std::vector<Job *> &moved, const Each &each) {
    column kind(type::text, missing.size()), key(type::text, missing.size()),
        token(type::int8, missing.size());
    for (const Job *const job : missing) {
        kind.add_text(job->kind);
        key.add_text(job->key);
        token.add_int8(job->token);
    }
    parameters with;
    with.add_int8(member.id).add(kind).add(key).add(token);
    rows held;
    if (const int error = server.call(find_rows, with, held); error != 0)
        return error;
    for (int row = 0; row < held.count(); ++row) {
        Job &job = *missing[static_cast<std::size_t>(held.int8(row, 0) - 1)];
        each(job, held.time(row, 2));
        const std::int64_t place = held.place(row, 1);
        if (job.row != place)
            moved.push_back(&job);
        job.row = place;
    }
    return 0;
}

template <class Job> std::unordered_map<std::int64_t, Job *> by_token(const std::vector<Job *> &jobs) {
    std::unordered_map<std::int64_t, Job *> all;
    for (Job *const job : jobs)
        all.emplace(job->token, job);
    return all;
}

int start_by_place(postgres_connection &here, const tw_store_member &member,
                   const std::vector<tw_store_start *> &jobs, int64_t &now_ns) {
    const auto of = by_token(jobs);
    column place(type::place, jobs.size()), token(type::int8, jobs.size());
    for (const tw_store_start *const job : jobs) {
        place.add_place(job->row);
        token.add_int8(job->token);
    }
    parameters with;
    with.add_int8(member.id).add_int8(member.epoch).add(place).add(token);
    rows done;
    if (const int error = call_past_locks(here.server, start_jobs, here.starts_pass_locks, with, done);
        error != 0)
        return error;
    for (int row = 0; row < done.count(); ++row) {
        now_ns = done.time(row, 3);
        if (const auto found = of.find(done.int8(row, 0)); found != of.end()) {
            found->second->started = 1;
            found->second->row = done.place(row, 2);
        } else if (!done.truth(row, 1)) {
            return -ESTALE;
        }
    }
    return 0;
}

int start(void *connection, const tw_store_member *member, tw_store_start *starts, size_t count,
          int64_t *now_ns) {
    postgres_connection &here = of(connection);
    std::vector<tw_store_start *> jobs, missing, moved;
    for (tw_store_start *job = starts; job < starts + count; ++job) {
        job->started = 0;
        job->ready_ns = TW_NO_DEADLINE;
        jobs.push_back(job);
    }
    if (const int error = start_by_place(here, *member, jobs, *now_ns); error != 0)
        return error;
    std::copy_if(jobs.begin(), jobs.end(), std::back_inserter(missing),
                 [](const tw_store_start *job) { return job->started == 0; });
    if (missing.empty())
        return 0;
    const int error = find_again(here.server, *member, missing, moved,
                                 [](tw_store_start &job, std::int64_t ready) { job.ready_ns = ready; });
    if (error != 0)
        return error;
    if (!moved.empty())
        if (const int again = start_by_place(here, *member, moved, *now_ns); again != 0)
            return again;
    if (std::any_of(starts, starts + count,
                    [now_ns](const auto &job) { return job.started == 0 && job.ready_ns <= *now_ns; }))
        here.starts_pass_locks = passes_after_a_lock;
    return 0;
}

// The outcomes of jobs that do not end: one column for each field of an outcome.
struct outcome_columns {
    column place, token, what, due, ready, delay, attempts, error;

    explicit outcome_columns(std::size_t count)
        : place(type::place, count), token(type::int8, count), what(type::int4, count),
          due(type::time, count), ready(type::time, count), delay(type::int8, count),
          attempts(type::int4, count), error(type::text, count) {}

    void add(const tw_store_outcome &outcome) {
        place.add_place(outcome.row);
        token.add_int8(outcome.token);
        what.add_int4(outcome.what);
        due.add_time(outcome.due_ns);
        if (outcome.ready_is_delay != 0)
            ready.add_null();
        else
            ready.add_time(outcome.ready_ns);
        delay.add_int8(outcome.ready_is_delay != 0 ? microseconds(outcome.ready_ns) : 0);
        attempts.add_int4(static_cast<std::int32_t>(outcome.attempts));
        error.add_text(outcome.error);
    }

    void hand_to(parameters &all) const {
        for (const column *each : {&place, &token, &what, &due, &ready, &delay, &attempts, &error})
            all.add(*each);
    }
};

// Adds the groups of the jobs that it has ended to `left`.
int settle_by_place(postgres_connection &here, const tw_store_member &member,
                    const std::vector<tw_store_outcome *> &jobs, std::set<std::string> &left) {
    const auto of = by_token(jobs);
    const auto ending = static_cast<std::size_t>(
        std::count_if(jobs.begin(), jobs.end(), [](const auto *job) { return job->what == TW_STORE_END; }));
    column place(type::place, ending), token(type::int8, ending);
    outcome_columns others(jobs.size() - ending);
    for (const tw_store_outcome *const job : jobs) {
        if (job->what != TW_STORE_END) {
            others.add(*job);
            continue;
        }
        place.add_place(job->row);
        token.add_int8(job->token);
    }
    parameters with;
    with.add_int8(member.id).add_int8(member.epoch).add(place).add(token);
    others.hand_to(with);
    rows done;
    if (const int error = call_past_locks(here.server, settle_jobs, here.answers_pass_locks, with, done);
        error != 0)
        return error;
    for (int row = 0; row < done.count(); ++row) {
        if (!done.is_null(row, 2))
            left.insert(done.text(row, 2));
        if (const auto found = of.find(done.int8(row, 0)); found != of.end())
            found->second->matched = 1;
        else if (!done.truth(row, 1))
            return -ESTALE;
    }
    return 0;
}

int settle_all(postgres_connection &here, const tw_store_member *member, tw_store_outcome *outcomes,
               size_t count, std::set<std::string> &left) {
    std::vector<tw_store_outcome *> jobs, missing, moved;
    for (tw_store_outcome *job = outcomes; job < outcomes + count; ++job) {
        job->matched = 0;
        jobs.push_back(job);
    }
    if (const int error = settle_by_place(here, *member, jobs, left); error != 0)
        return error;
    std::copy_if(jobs.begin(), jobs.end(), std::back_inserter(missing),
                 [](const tw_store_outcome *job) { return job->matched == 0; });
    if (missing.empty())
        return 0;
    // A row that is where it was is locked.
    const int error = find_again(here.server, *member, missing, moved,
                                 [](tw_store_outcome &job, std::int64_t) { job.matched = -EBUSY; });
    if (error != 0)
        return error;
    if (!moved.empty())
        if (const int again = settle_by_place(here, *member, moved, left); again != 0)
            return again;
    if (std::any_of(outcomes, outcomes + count, [](const auto &job) { return job.matched == -EBUSY; }))
        here.answers_pass_locks = passes_after_a_lock;
    return 0;
}

int settle(void *connection, const tw_store_member *member, tw_store_outcome *outcomes, size_t count) {
    std::set<std::string> left;
    const int error = settle_all(of(connection), member, outcomes, count, left);
    if (error == 0)
        release_those_waiting_for(of(connection).server, left);
    return error;
}

// --- notifications ----------------------------------------------------------------------

int listen(void *connection) {
    postgres_connection &here = of(connection);
    if (!here.listens) {
        if (const int error = here.server.run(in_schema("listen $S", here.schema)); error != 0)
            return error;
        here.listens = true;
    }
    return here.server.descriptor();
}

int read_notifications(void *connection, tw_store_notice *each, void *arg) {
    // The text of a notification is "MICROSECONDS KIND".
    return of(connection).server.read_notifications([&](const char *text) {
        char *kind = nullptr;
        const std::int64_t ready = std::strtoll(text, &kind, 10);
        each(*kind == ' ' ? kind + 1 : nullptr, ready > 0 && ready < INT64_MAX / 1000 ? ready * 1000 : 0,
             arg);
    });
}

int notify(void *connection, const char *kind) {
    parameters with;
    with.add_text(kind);
    rows ignored;
    return of(connection).server.call(notify_of_kind, with, ignored);
}

}  // namespace

const tw_store postgres_store = {
    .scheme = "postgresql",
    .open = guard<open_connection>,
    .close = close_connection,
    .abandon = abandon,
    .explain = explain,
    .now = guard<read_now>,
    .put = guard<put>,
    .remove = guard<remove>,
    .change = guard<change_jobs>,
    .list = look<list>,
    .count = look<count>,
    .join = guard<join>,
    .renew = guard<renew>,
    .resume = guard<resume>,
    .leave = guard<leave>,
    .bury = guard<bury>,
    .claim = guard<claim>,
    .start = guard<start>,
    .settle = guard<settle>,
    .listen = guard<listen>,
    .read_notifications = guard<read_notifications>,
    .notify = guard<notify>,
    .announce = look<announce>,
    .members = look<members>,
    .tallies = look<tallies>,
};

}  // namespace tickwheel::durable

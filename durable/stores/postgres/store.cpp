// The store in PostgreSQL: implements durable_store.h with statements.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <string>
#include <unordered_map>
#include <unordered_set>
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
    std::vector<std::string> kinds;  // of the last claim; notifications for other kinds are ignored

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
        error = bring_up_to_date(made->server, made->schema, place->must_exist != 0);
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

// One column for each field of a job, in the order of put_values.
struct put_columns {
    column kind, key, payload, due, delay, period, cron, zone, missed, grace, hold;

    explicit put_columns(std::size_t count)
        : kind(type::text, count), key(type::text, count), payload(type::bytes, count),
          due(type::time, count), delay(type::int8, count), period(type::int8, count),
          cron(type::text, count), zone(type::text, count), missed(type::int4, count),
          grace(type::int8, count), hold(type::int4, count) {}

    void add(const tw_store_put &put) {
        const tw_durable_job &job = *put.job;
        kind.add_text(job.kind);
        key.add_text(job.key);
        payload.add_bytes({static_cast<const char *>(job.payload), job.size});
        if (job.absolute != 0) {
            due.add_time(job.due_ns);
            delay.add_null();
        } else {
            due.add_null();
            delay.add_int8(microseconds(job.due_ns));
        }
        if (job.period_ns != 0)
            period.add_int8(microseconds(job.period_ns));
        else
            period.add_null();
        cron.add_text(job.cron);
        zone.add_text(job.zone);
        missed.add_int4(job.missed);
        grace.add_int8(microseconds(job.grace_ns));
        hold.add_int4(put.hold != 0 ? 1 : 0);
    }

    void hand_to(parameters &all) const {
        for (const column *each :
             {&kind, &key, &payload, &due, &delay, &period, &cron, &zone, &missed, &grace, &hold})
            all.add(*each);
    }
};

// A statement can change a row only once. So of several jobs with one name the store sends only one: with
// `keep` the first, otherwise the last. Returns for each job whether to send it; complete_results fills in
// `existed` for the others.
std::vector<bool> choose_distinct(tw_store_put *puts, std::size_t count, bool keep) {
    std::unordered_map<std::string, std::size_t> chosen;
    std::vector<bool> is_sent(count, true);
    for (std::size_t i = 0; i < count; ++i) {
        const auto [found, is_new] = chosen.emplace(name_of(*puts[i].job), i);
        if (is_new)
            continue;
        is_sent[keep ? i : found->second] = false;
        if (!keep)
            found->second = i;
    }
    return is_sent;
}

// Fills in `existed` for the jobs that were not sent, and for those sent in their place: only the first put
// of a name can be new.
void complete_results(tw_store_put *puts, const std::vector<bool> &is_sent) {
    std::unordered_map<std::string, bool> existed;
    for (std::size_t i = 0; i < is_sent.size(); ++i)
        if (is_sent[i])
            existed[name_of(*puts[i].job)] = puts[i].existed != 0;
    for (std::size_t i = 0; i < is_sent.size(); ++i) {
        bool &now = existed[name_of(*puts[i].job)];
        puts[i].existed = now ? 1 : 0;
        now = true;
    }
}

// A replacing statement returns the jobs that existed or are held; a keeping one returns the jobs that did
// not exist.
void read_results(const rows &named, tw_store_put *puts, const std::vector<std::size_t> &sent, bool keep) {
    for (const std::size_t i : sent)
        puts[i].existed = keep ? 1 : 0;
    std::unordered_map<std::string, std::size_t> places;
    for (int row = 0; row < named.count(); ++row) {
        if (named.is_null(row, 0))
            continue;
        if (places.empty())
            for (const std::size_t i : sent)
                places.emplace(name_of(*puts[i].job), i);
        const auto found =
            places.find(std::string(named.bytes(row, 0)) + '\0' + std::string(named.bytes(row, 1)));
        if (found == places.end())
            continue;
        tw_store_put &put = puts[found->second];
        put.existed = !keep && named.truth(row, 2) ? 1 : 0;
        if (!named.truth(row, 3))
            continue;
        put.token = named.int8(row, 4);
        put.ready_ns = named.time(row, 5);
        put.started = named.truth(row, 6) ? 1 : 0;
    }
}

int put(void *connection, tw_store_put *puts, size_t count, int keep, const tw_store_member *member) {
    if (count == 0)
        return 0;
    const std::vector<bool> is_sent = choose_distinct(puts, count, keep != 0);
    std::vector<std::size_t> sent;
    for (std::size_t i = 0; i < count; ++i) {
        puts[i].token = 0;
        if (is_sent[i])
            sent.push_back(i);
    }
    put_columns columns(sent.size());
    for (const std::size_t i : sent)
        columns.add(puts[i]);
    parameters with;
    columns.hand_to(with);
    with.add_int8(member != nullptr ? member->id : 0).add_int8(member != nullptr ? member->epoch : 0);
    rows done;
    if (const int error = of(connection).server.call(keep != 0 ? put_keeping : put_replacing, with, done);
        error != 0)
        return error;
    read_results(done, puts, sent, keep != 0);
    if (sent.size() < count)
        complete_results(puts, is_sent);
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
    return done.truth(0, 0) ? 0 : 1;
}

int64_t requeue(void *connection, const char *kind, const char *key) {
    parameters with;
    with.add_text(kind).add_text(key);
    rows done;
    const int error = of(connection).server.call(requeue_failed, with, done);
    return error != 0 ? error : done.int8(0, 0);
}

int list_jobs(void *connection, const tw_durable_filter *filter, const char *key, tw_store_visitor *each,
              void *arg) {
    return list(of(connection).server, of(connection).schema, *filter, key, each, arg);
}

int64_t count_jobs(void *connection, const tw_durable_filter *filter) {
    return count(of(connection).server, of(connection).schema, *filter);
}

int64_t change_jobs(void *connection, const tw_durable_filter *filter, const char *key,
                    tw_store_change what) {
    return change(of(connection).server, of(connection).schema, *filter, key, what);
}

int tally_jobs(void *connection, const int64_t *times, size_t count, uint64_t most,
               tw_durable_tally_visitor *each, void *arg) {
    return tallies(of(connection).server, of(connection).schema, times, count, most, each, arg);
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

int announce_kinds(void *connection, const tw_store_member *member, const char *const *kinds, size_t count,
                   int64_t clock_offset_ns) {
    return announce(of(connection).server, of(connection).schema, *member, kinds, count, clock_offset_ns);
}

int visit_members(void *connection, tw_durable_member_visitor *each, void *arg) {
    return members(of(connection).server, of(connection).schema, each, arg);
}

int resume(void *connection, tw_store_member *member, const int64_t *started, size_t count,
           tw_store_visitor *each, void *arg) {
    column tokens(type::int8, count);
    for (size_t i = 0; i < count; ++i)
        tokens.add_int8(started[i]);
    parameters who, with;
    who.add_int8(member->id);
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
    const int error = here.server.run(in_schema(
        "delete from $S.member where dead and not exists (select from $S.job where holder = member.id)",
        here.schema));
    return error != 0 ? error : done.int8(0, 0);
}

int leave_within(session &server, parameters &member) {
    rows done;
    if (const int error = server.call(declare_dead, member, done); error != 0)
        return error;
    if (done.count() == 0)
        return -ESTALE;
    if (const int error = server.call(release_of_one, member, done); error != 0)
        return error;
    return server.call(delete_member, member, done);
}

// The member ends as if its lease had ended, but its started jobs count no attempt: their handlers have
// answered, or were never called.
int leave(void *connection, const tw_store_member *member) {
    session &server = of(connection).server;
    parameters with;
    with.add_int8(member->id);
    if (const int error = server.run("begin"); error != 0)
        return error;
    const int error = leave_within(server, with);
    if (error == 0)
        return server.run("commit");
    const std::string why = server.why();
    server.run("rollback");
    server.explain_by(why);
    return error;
}

// --- holding ----------------------------------------------------------------------------

column kinds_of(const tw_store_claim &claim) {
    column kinds(type::text, claim.kinds_count);
    for (std::size_t i = 0; i < claim.kinds_count; ++i)
        kinds.add_text(claim.kinds[i]);
    return kinds;
}

// The rows of a claim in the order of their ready times.
std::vector<int> in_order(const rows &claimed) {
    std::vector<int> order(static_cast<std::size_t>(claimed.count()));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int one, int other) { return claimed.time(one, 4) < claimed.time(other, 4); });
    return order;
}

int show(const rows &claimed, tw_store_visitor *each, void *arg) {
    for (const int row : in_order(claimed)) {
        tw_durable_entry entry = {};
        read_job(claimed, row, entry);
        entry.state = state_of(true, claimed.truth(row, 12), false);
        if (const int end = each(&entry, arg); end != 0)
            return end;
    }
    return 0;
}

// The caller repeats a claim that has reached its limit at once. So such a claim does not look for the next
// ready time, which saves a round trip under load.
int claim(void *connection, const tw_store_claim *claim, tw_store_visitor *each, void *arg,
          tw_store_look *look) {
    postgres_connection &here = of(connection);
    here.kinds.assign(claim->kinds, claim->kinds + claim->kinds_count);
    const column kinds = kinds_of(*claim);
    parameters with, of_next;
    with.add_int8(claim->member.id).add_int8(claim->member.epoch).add(kinds);
    with.add_int8(microseconds(claim->horizon_ns)).add_int8(static_cast<std::int64_t>(claim->limit));
    rows done, next;
    if (const int error = here.server.call(claim_jobs, with, done); error != 0)
        return error;
    if (const int end = show(done, each, arg); end != 0)
        return end;
    if (done.count() > 0 && static_cast<std::size_t>(done.count()) == claim->limit) {
        *look = {done.time(0, 13), 0, 0};
        return 0;
    }
    of_next.add_int8(claim->member.id).add_int8(claim->member.epoch).add(kinds);
    if (const int error = here.server.call(next_ready, of_next, next); error != 0)
        return error;
    if (done.count() == 0 && !next.truth(0, 0))
        return -ESTALE;
    look->now_ns = next.time(0, 1);
    look->next_ns = next.is_null(0, 2) ? TW_NO_DEADLINE : next.time(0, 2);
    look->has_dead = next.truth(0, 3) ? 1 : 0;
    return 0;
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

int start(void *connection, const tw_store_member *member, tw_store_start *starts, size_t count,
          int64_t *now_ns) {
    column token(type::int8, count);
    for (std::size_t i = 0; i < count; ++i)
        token.add_int8(starts[i].token);
    parameters with;
    with.add_int8(member->id).add_int8(member->epoch).add(token);
    rows done;
    postgres_connection &here = of(connection);
    if (const int error = call_past_locks(here.server, start_jobs, here.starts_pass_locks, with, done);
        error != 0)
        return error;
    for (std::size_t i = 0; i < count; ++i) {
        starts[i].started = 0;
        starts[i].ready_ns = TW_NO_DEADLINE;
    }
    for (int row = 0; row < done.count(); ++row) {
        const std::int64_t number = done.int8(row, 0);
        *now_ns = done.time(row, 3);
        if (number == 0 && !done.truth(row, 1))
            return -ESTALE;
        if (number == 0)
            continue;
        tw_store_start &job = starts[number - 1];
        if (done.truth(row, 1))
            job.started = 1;
        else
            job.ready_ns = done.time(row, 2);
    }
    if (std::any_of(starts, starts + count,
                    [now_ns](const auto &job) { return job.started == 0 && job.ready_ns <= *now_ns; }))
        here.starts_pass_locks = passes_after_a_lock;
    return 0;
}

bool is_locked(const tw_store_outcome &job) { return job.matched == -EBUSY; }

// The outcomes of jobs that do not end: one column for each field of an outcome.
struct outcome_columns {
    column token, what, due, ready, delay, attempts, error;

    explicit outcome_columns(std::size_t count)
        : token(type::int8, count), what(type::int4, count), due(type::time, count), ready(type::time, count),
          delay(type::int8, count), attempts(type::int4, count), error(type::text, count) {}

    void add(const tw_store_outcome &outcome) {
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
        for (const column *each : {&token, &what, &due, &ready, &delay, &attempts, &error})
            all.add(*each);
    }
};

// Sets -EBUSY for jobs that the statement has skipped although the member still holds them.
int note_locked(session &server, const tw_store_member &member, tw_store_outcome *outcomes, size_t count) {
    const auto is_missing = [](const tw_store_outcome &job) { return job.matched == 0; };
    const auto missing = static_cast<std::size_t>(std::count_if(outcomes, outcomes + count, is_missing));
    if (missing == 0)
        return 0;
    column tokens(type::int8, missing);
    for (std::size_t i = 0; i < count; ++i)
        if (is_missing(outcomes[i]))
            tokens.add_int8(outcomes[i].token);
    parameters with;
    with.add_int8(member.id).add(tokens);
    rows held;
    if (const int error = server.call(still_held, with, held); error != 0)
        return error;
    std::unordered_set<std::int64_t> locked;
    for (int row = 0; row < held.count(); ++row)
        locked.insert(held.int8(row, 0));
    for (std::size_t i = 0; i < count; ++i)
        if (is_missing(outcomes[i]) && locked.contains(outcomes[i].token))
            outcomes[i].matched = -EBUSY;
    return 0;
}

int settle(void *connection, const tw_store_member *member, tw_store_outcome *outcomes, size_t count) {
    std::unordered_map<std::int64_t, std::size_t> places;
    for (std::size_t i = 0; i < count; ++i)
        places.emplace(outcomes[i].token, i);
    const auto ending = static_cast<std::size_t>(
        std::count_if(outcomes, outcomes + count, [](const auto &job) { return job.what == TW_STORE_END; }));
    column ended(type::int8, ending);
    outcome_columns others(count - ending);
    for (std::size_t i = 0; i < count; ++i) {
        if (outcomes[i].what == TW_STORE_END)
            ended.add_int8(outcomes[i].token);
        else
            others.add(outcomes[i]);
        outcomes[i].matched = 0;
    }
    parameters with;
    with.add_int8(member->id).add_int8(member->epoch).add(ended);
    others.hand_to(with);
    rows done;
    postgres_connection &here = of(connection);
    if (const int error = call_past_locks(here.server, settle_jobs, here.answers_pass_locks, with, done);
        error != 0)
        return error;
    for (int row = 0; row < done.count(); ++row)
        if (const auto found = places.find(done.int8(row, 0)); found != places.end())
            outcomes[found->second].matched = 1;
        else if (!done.truth(row, 1))
            return -ESTALE;
    if (const int error = note_locked(here.server, *member, outcomes, count); error != 0)
        return error;
    if (std::any_of(outcomes, outcomes + count, is_locked))
        here.answers_pass_locks = passes_after_a_lock;
    return 0;
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

int read_notifications(void *connection, int64_t *ready_ns) {
    postgres_connection &here = of(connection);
    bool is_for_us = false;
    std::int64_t first = INT64_MAX;
    // The text of a notification is "MICROSECONDS KIND".
    const int error = here.server.read_notifications([&](const char *text) {
        char *kind = nullptr;
        const std::int64_t ready = std::strtoll(text, &kind, 10);
        bool handled = here.kinds.empty();
        for (const std::string &each : here.kinds)
            handled = handled || (*kind == ' ' && each == kind + 1);
        if (!handled)
            return;
        is_for_us = true;
        first = ready < first ? ready : first;
    });
    if (error != 0 || !is_for_us)
        return error;
    *ready_ns = first > 0 && first < INT64_MAX / 1000 ? first * 1000 : 0;
    return 1;
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
    .requeue = guard<requeue>,
    .list = guard<list_jobs>,
    .count = guard<count_jobs>,
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
    .announce = guard<announce_kinds>,
    .members = guard<visit_members>,
    .tallies = guard<tally_jobs>,
    .change = guard<change_jobs>,
};

}  // namespace tickwheel::durable

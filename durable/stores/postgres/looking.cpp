#include "looking.hpp"

#include <algorithm>
#include <cerrno>
#include <vector>

#include "schema.hpp"
#include "statements.hpp"
#include "stores/selection.hpp"

namespace tickwheel::durable::postgres {

namespace {

// By `ready` rather than by `waits_for`: the index has it, so a search for pending jobs reads no waiting
// ones.
#define IS_IDLE "holder is null and not failed"
#define IS_PENDING IS_IDLE " and ready < 'infinity'"
#define IS_WAITING IS_IDLE " and ready = 'infinity' and waits_for is not null"
#define IS_GIVEN_UP \
    IS_PENDING " and error is not null and attempts = 0 and ready = due and (period is not null or cron is " \
               "not null)"

constexpr const char *columns =
    "kind, key, payload, due, ready, period, cron, zone, missed, grace, attempts, token, holder, started, "
    "failed, error, of_group, waits_for";

struct dialect {
    static constexpr const char *table = "$S.job", *idle = IS_IDLE, *pending = IS_PENDING,
                                *given_up = IS_GIVEN_UP, *waiting = IS_WAITING, *failed = "failed",
                                *started = "started", *not_started = "not started";

    static std::string held() { return "ctid = any (" + rows_held_by("in (select id from $S.member)") + ")"; }

    // Takes the first jobs of each kind by the index.
    static std::string of_each_kind(const std::string &wanted, const std::string &condition,
                                    const std::string &first) {
        return "select near.* from each_kind, lateral (select " + wanted +
               " from $S.job where kind = each_kind.name and " + condition + first + ") as near";
    }

    std::string numbered(const char *type) const { return '$' + std::to_string(all.count()) + "::" + type; }
    std::string text(const char *value) {
        all.add_text(value);
        return numbered("text");
    }
    std::string number(std::uint64_t value) {
        all.add_int8(static_cast<std::int64_t>(value));
        return numbered("int8");
    }
    std::string time(std::int64_t ns) {
        all.add_int8(to_wire_time(ns));
        return numbered("timestamptz");
    }

    parameters all;
};
using selected = selection<dialect>;

// Calls ask(), which may read all jobs, with the longer timeout.
template <class Ask> int patiently(session &server, const Ask &ask) {
    if (const int error = server.be_patient(true); error != 0)
        return error;
    const int answer = ask();
    const std::string why = server.why();
    const int error = server.be_patient(false);
    if (answer == 0)
        return error;
    server.explain_by(why);  // the second error would only say once more that the connection is gone
    return answer;
}

}  // namespace

tw_durable_state state_of(bool held, bool started, bool failed) {
    if (failed)
        return TW_DURABLE_FAILED;
    if (!held)
        return TW_DURABLE_PENDING;
    return started ? TW_DURABLE_STARTED : TW_DURABLE_HELD;
}

void read_job(const rows &from, int row, tw_durable_entry &entry) {
    tw_durable_job &job = entry.job;
    job.kind = from.text(row, 0);
    job.key = from.text(row, 1);
    job.payload = from.bytes(row, 2).data();
    job.size = from.bytes(row, 2).size();
    job.due_ns = from.time(row, 3);
    job.absolute = 1;
    entry.ready_ns = from.time(row, 4);
    job.period_ns = from.is_null(row, 5) ? 0 : from.int8(row, 5) * 1000;
    job.cron = from.text(row, 6);
    job.zone = from.text(row, 7);
    job.missed =
        from.is_null(row, 8) ? TW_DURABLE_COALESCE : static_cast<tw_durable_missed>(from.int4(row, 8));
    job.grace_ns = from.is_null(row, 9) ? 0 : from.int8(row, 9) * 1000;
    entry.attempts = static_cast<std::uint32_t>(from.int4(row, 10));
    entry.token = from.int8(row, 11);
}

int list(session &server, const std::string &schema, const tw_durable_filter *filter, const char *key,
         tw_store_visitor *each, void *arg) {
    selected chosen(*filter, key);
    const std::string from = chosen.from(columns);
    const std::string text =
        chosen.with() + "select kind, key, payload, due, ready, period, cron, zone, missed, grace, " +
        "attempts, token, coalesce(job.holder, 0), started, failed, member.name, error, of_group, waits_for "
        "from " +
        from + " left join $S.member on member.id = job.holder" + chosen.order() + chosen.limit();
    return patiently(server, [&] {
        return server.ask_for_each(
            in_schema(text.c_str(), schema), chosen.values().all, [&](const rows &found, int row) {
                tw_durable_entry entry = {};
                read_job(found, row, entry);
                entry.holder_id = found.int8(row, 12);
                entry.state = state_of(entry.holder_id != 0, found.truth(row, 13), found.truth(row, 14));
                entry.holder = found.text(row, 15);
                entry.error = found.text(row, 16);
                entry.job.group = found.text(row, 17);
                entry.job.waits_for = found.text(row, 18);
                if (entry.state == TW_DURABLE_PENDING)
                    entry.state = state_at_rest(entry);
                return each(&entry, arg);
            });
    });
}

std::int64_t count(session &server, const std::string &schema, const tw_durable_filter *filter) {
    selected chosen(*filter, nullptr);
    const std::string from = chosen.from("kind, key, ready");
    const std::string text =
        chosen.with() + "select count(*) from (select from " + from + chosen.limit() + ") as chosen";
    rows found;
    const int error = patiently(
        server, [&] { return server.ask(in_schema(text.c_str(), schema), chosen.values().all, found); });
    return error != 0 ? error : found.int8(0, 0);
}

namespace {

// A job that another transaction changes meanwhile has a new ctid, and the statement does not touch it. No
// job is due exactly when it is ready: such a fire counts as a try for exactly this due time, however late
// the process takes it up.
constexpr const char *fire = R"(
update $S.job set holder = null, failed = false, ready = now.time, waits_for = null,
    attempts = case when failed then 0 else attempts end, error = case when failed then null else error end,
    due = case when due <= now.time then due
        when cron is not null then now.time - interval '1 microsecond'
        when period is not null then greatest('1970-01-01 UTC', due - period * interval '1 microsecond')
        else due end
from (select clock_timestamp() as time) as now
where ctid = any (array (select place from free)) and not started and (failed or ready > now.time))";

// Whether `change` would change a job that it finds unlocked.
const char *changes(tw_store_change what) {
    return what == TW_STORE_REMOVE ? "true" : "not started and (failed or near.ready > clock_timestamp())";
}

}  // namespace

int change(session &server, const std::string &schema, const tw_durable_filter *filter, const char *key,
           tw_store_change what, tw_store_changed *each, void *arg, std::set<std::string> &left) {
    selected chosen(*filter, key);
    const std::string from =
        chosen.from("ctid as place, kind, key, ready, token, holder is not null as held, started, failed");
    std::string with = chosen.with();
    with += with.empty() ? "with " : ", ";
    const std::string changed = what == TW_STORE_REMOVE
                                    ? "delete from $S.job where ctid = any (array (select place from free))"
                                    : std::string(fire);
    const std::string text =
        with + "near as materialized (select * from " + from + chosen.order() + chosen.limit() +
        "), free as materialized (select ctid as place from $S.job where ctid = any (array (select place "
        "from near)) for update" +
        (key == nullptr ? " skip locked" : "") + "), done as (" + changed +
        " returning kind, key, ready, of_group), " +
        told(what == TW_STORE_FIRE ? "done" : "done where false") +
        " select kind, key, near.ready, token, held, started, failed, done.ready is not null, " +
        changes(what) +
        ", done.of_group, (select count(*) from told) from near left join done using (kind, key)" +
        chosen.order();
    rows found;
    const auto ask = [&] { return server.ask(in_schema(text.c_str(), schema), chosen.values().all, found); };
    if (const int error = key != nullptr ? ask() : patiently(server, ask); error != 0)
        return error;
    for (int row = 0; what == TW_STORE_REMOVE && row < found.count(); ++row)
        if (!found.is_null(row, 9))
            left.insert(found.text(row, 9));
    for (int row = 0; row < found.count(); ++row) {
        tw_durable_entry entry = {};
        entry.job.kind = found.text(row, 0);
        entry.job.key = found.text(row, 1);
        entry.ready_ns = found.time(row, 2);
        entry.token = found.int8(row, 3);
        entry.state = state_of(found.truth(row, 4), found.truth(row, 5), found.truth(row, 6));
        const int is_changed = found.truth(row, 7) ? 1 : found.truth(row, 8) ? -EBUSY : 0;
        if (const int end = each(&entry, is_changed, arg); end != 0)
            return end;
    }
    return 0;
}

int tallies(session &server, const std::string &schema, const std::int64_t *times, std::size_t count,
            std::uint64_t most, tw_durable_tally_visitor *each, void *arg) {
    column from(type::time, count + 1), to(type::time, count + 1);
    from.add_null();
    for (std::size_t i = 0; i < count; ++i) {
        to.add_time(times[i]);
        from.add_time(times[i]);
    }
    to.add_null();
    parameters with;
    with.add(from).add(to).add_int8(
        most != 0 ? static_cast<std::int64_t>(std::min<std::uint64_t>(most, INT64_MAX)) : INT64_MAX);
    const auto counted = [](const char *predicate) {
        return std::string("(select count(*) from (select from $S.job where kind = names.name and ") +
               predicate + " limit $3::int8) as counted)";
    };
    const std::string text = "with recursive " + selected::each_kind("idle", IS_IDLE) + ", " +
                             selected::each_kind("bad", "failed") +
                             R"(, busy as materialized (
    select kind, count(*) filter (where not started) as held, count(*) filter (where started) as started
    from $S.job where )" + dialect::held() +
                             R"( group by kind),
names as materialized (
    select name from idle where name is not null union select name from bad where name is not null
    union select kind from busy)
select names.name, coalesce(busy.held, 0), coalesce(busy.started, 0), )" +
                             counted("failed") + ", " + counted(IS_GIVEN_UP) + ", " + counted(IS_WAITING) +
                             ", (select ready from $S.job where kind = names.name and " IS_PENDING
                             " order by ready limit 1), slot.n, " +
                             counted(IS_PENDING " and ready >= slot.from_time and ready < slot.to_time") +
                             R"( from names left join busy on busy.kind = names.name, lateral (
    select n, coalesce(a, '-infinity') as from_time, coalesce(b, 'infinity') as to_time
    from unnest($1::timestamptz[], $2::timestamptz[]) with ordinality as given (a, b, n)) as slot
order by names.name, slot.n)";
    rows found;
    if (const int error =
            patiently(server, [&] { return server.ask(in_schema(text.c_str(), schema), with, found); });
        error != 0)
        return error;
    std::vector<std::uint64_t> slots(count + 1);
    const auto number = [&found](int row, int field) {
        return static_cast<std::uint64_t>(found.int8(row, field));
    };
    for (int row = 0; row < found.count(); ++row) {
        const auto slot = static_cast<std::size_t>(found.int8(row, 7)) - 1;
        slots[slot] = number(row, 8);
        if (slot != count)
            continue;
        const tw_durable_tally tally = {found.text(row, 0),
                                        number(row, 1),
                                        number(row, 2),
                                        number(row, 3),
                                        number(row, 4),
                                        number(row, 5),
                                        found.is_null(row, 6) ? TW_NO_DEADLINE : found.time(row, 6),
                                        slots.data()};
        if (const int end = each(&tally, arg); end != 0)
            return end;
    }
    return 0;
}

// A row for each kind of a member, or one without a kind.
int members(session &server, const std::string &schema, tw_durable_member_visitor *each, void *arg) {
    parameters none;
    rows found;
    const std::string text = in_schema(
        ("with held as materialized (select holder, started from $S.job where " + dialect::held() + R"()
select id, name, joined, lease_end, dead, (select count(*) from held where holder = id and not started),
    (select count(*) from held where holder = id and started), kinds is not null, clock_offset, kind
from $S.member left join lateral unnest(kinds) with ordinality as handled (kind, n) on true
order by id, n)")
            .c_str(),
        schema);
    if (const int error = server.ask(text, none, found); error != 0)
        return error;
    for (int row = 0; row < found.count();) {
        const int first = row;
        std::vector<const char *> kinds;
        for (; row < found.count() && found.int8(row, 0) == found.int8(first, 0); ++row)
            if (!found.is_null(row, 9))
                kinds.push_back(found.text(row, 9));
        tw_durable_member member = {};
        member.id = found.int8(first, 0);
        member.name = found.text(first, 1);
        member.joined_ns = found.time(first, 2);
        member.lease_end_ns = found.time(first, 3);
        member.dead = found.truth(first, 4) ? 1 : 0;
        member.held = static_cast<std::uint64_t>(found.int8(first, 5));
        member.started = static_cast<std::uint64_t>(found.int8(first, 6));
        member.knows_kinds = found.truth(first, 7) ? 1 : 0;
        member.clock_offset_ns = found.is_null(first, 8) ? 0 : found.int8(first, 8) * 1000;
        member.kinds = kinds.data();
        member.kinds_count = kinds.size();
        if (const int end = each(&member, arg); end != 0)
            return end;
    }
    return 0;
}

int announce(session &server, const std::string &schema, const tw_store_member *member,
             const char *const *kinds, std::size_t count, std::int64_t clock_offset_ns) {
    column handled(type::text, count);
    for (std::size_t i = 0; i < count; ++i)
        handled.add_text(kinds[i]);
    parameters with;
    with.add_int8(member->id).add_int8(member->epoch).add(handled).add_int8(clock_offset_ns / 1000);
    rows done;
    const std::string text = in_schema(R"(
update $S.member set kinds = $3::text[], clock_offset = $4::int8
where id = $1::int8 and epoch = $2::int8 and not dead returning true)",
                                       schema);
    if (const int error = server.ask(text, with, done); error != 0)
        return error;
    return done.count() != 0 ? 0 : -ESTALE;
}

}  // namespace tickwheel::durable::postgres

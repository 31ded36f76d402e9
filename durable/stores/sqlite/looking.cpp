// Lists and counts, changes of all jobs that a filter selects, and what people see of members.
#include <algorithm>
#include <cerrno>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "operations.hpp"
#include "stores/selection.hpp"

namespace tickwheel::durable::sqlite {

namespace {

// `never`, the ready time of a waiting job, stands for itself in the index of idle jobs.
#define NEVER "9223372036854775"
#define IS_IDLE "holder is null and failed = 0"
#define IS_PENDING IS_IDLE " and ready < " NEVER
#define IS_WAITING IS_IDLE " and ready = " NEVER " and waits_for is not null"
#define IS_GIVEN_UP \
    IS_PENDING " and error is not null and attempts = 0 and ready = due and (period <> 0 or cron is not " \
               "null)"

struct value {
    std::int64_t number;
    std::optional<std::string> text;
};

struct dialect {
    static std::string held() { return "holder is not null"; }

    static constexpr const char *table = "@job", *idle = IS_IDLE, *pending = IS_PENDING,
                                *given_up = IS_GIVEN_UP, *waiting = IS_WAITING, *failed = "failed = 1",
                                *started = "started = 1", *not_started = "started = 0";

    static std::string of_each_kind(const std::string &wanted, const std::string &condition,
                                    const std::string &) {
        return "select " + wanted + " from each_kind cross join @job where kind = each_kind.name and " +
               condition;
    }

    std::string text(const char *value) {
        all.push_back({0, value});
        return '?' + std::to_string(all.size());
    }
    std::string number(std::uint64_t value) {
        all.push_back({static_cast<std::int64_t>(value), std::nullopt});
        return '?' + std::to_string(all.size());
    }
    std::string time(std::int64_t ns) { return number(static_cast<std::uint64_t>(ns / microsecond)); }

    void bind_to(query &to) const {
        for (const value &each : all) {
            if (each.text)
                to.with(each.text->c_str());
            else
                to.with(each.number);
        }
    }

    std::deque<value> all;  // never moves its texts
};
using selected = selection<dialect>;

// Reads the only row of a statement.
int read_one(query &from) {
    const int found = from.row();
    return found < 0 ? found : 0;
}

// Calls each(kind) for all kinds of the jobs with this condition.
template <class Each> int for_each_kind(session &of, const char *condition, const Each &each) {
    query kinds(of, "with recursive " + selected::each_kind("each_kind", condition) +
                        "select name from each_kind where name is not null");
    int result = kinds.row();
    for (; result == 1; result = kinds.row())
        if (const int error = each(kinds.text(0)); error != 0)
            return error;
    return result;
}

// Lowers `last` to the ready time of the last job of this kind that the limit lets in.
int read_last(session &of, selected &chosen, const char *kind, std::int64_t &last) {
    query found(of, chosen.last_of(kind));
    chosen.values().bind_to(found);
    const int row = found.row();
    if (row == 1)
        last = std::min(last, found.time(0));
    return row < 0 ? row : 0;
}

// SQLite sorts all jobs of all kinds before it applies the limit. So this lets it read only those that are
// ready no later than the last that the limit lets in of any one kind.
int add_bound(session &of, selected &chosen) {
    std::int64_t last = TW_NO_DEADLINE;
    const int error = for_each_kind(of, IS_IDLE, [&](const char *kind) {
        std::deque<value> &values = chosen.values().all;
        const std::size_t before = values.size();
        const int row = read_last(of, chosen, kind, last);
        values.resize(before);
        return row;
    });
    if (error == 0 && last != TW_NO_DEADLINE)
        chosen.bound(last);
    return error;
}

}  // namespace

int list(session &of, const tw_durable_filter &filter, const char *only, tw_store_visitor *each, void *arg) {
    selected chosen(filter, only);
    if (const int error = chosen.needs_bound() ? add_bound(of, chosen) : 0; error != 0)
        return error;
    const std::string from = chosen.from(JOB_COLUMNS);
    query listed(of, chosen.with() + "select " JOB_COLUMNS ", @member.name from " + from +
                         " left join @member on @member.id = holder" + chosen.order() + chosen.limit());
    chosen.values().bind_to(listed);
    int result = listed.row();
    for (; result == 1; result = listed.row()) {
        tw_durable_entry entry;
        if (const int failure = entry_of(of, listed, entry); failure != 0)
            return failure;
        if (const int ended = each(&entry, arg); ended != 0)
            return ended;
    }
    return result;
}

std::int64_t count(session &of, const tw_durable_filter &filter) {
    selected chosen(filter, nullptr);
    const std::string from = chosen.from("kind, key, ready");
    query counted(of, chosen.with() + "select count(*) from (select 1 from " + from + chosen.limit() + ")");
    chosen.values().bind_to(counted);
    const int error = read_one(counted);
    return error != 0 ? error : counted.number(0);
}

namespace {

struct chosen_job {
    std::int64_t place;
    std::string kind, key;
    tw_durable_entry entry = {};
    bool is_changed = false;

    chosen_job(std::int64_t at, const char *its_kind, const char *its_key)
        : place(at), kind(its_kind), key(its_key) {}
};

int choose(session &of, const tw_durable_filter &filter, const char *only, std::vector<chosen_job> &into) {
    selected chosen(filter, only);
    if (const int error = chosen.needs_bound() ? add_bound(of, chosen) : 0; error != 0)
        return error;
    const std::string from = chosen.from("rowid as place, kind, key, ready, token, holder, started, failed");
    query found(of, chosen.with() + "select * from " + from + chosen.order() + chosen.limit());
    chosen.values().bind_to(found);
    int result = found.row();
    for (; result == 1; result = found.row()) {
        const char *const kind = found.text(1), *const key = found.text(2);
        if (found.is_cut())
            return of.fail(-ENOMEM, "no memory");
        chosen_job &job = into.emplace_back(found.number(0), kind, key);
        job.entry.ready_ns = found.time(3);
        job.entry.token = found.number(4);
        job.entry.state = state_of(!found.is_null(5), found.number(6) != 0, found.number(7) != 0);
    }
    return result;
}

// No job is due exactly when it is ready: such a fire counts as a try for exactly this due time, however late
// the process takes it up.
std::string fire_at(std::int64_t now) {
    const std::string at = std::to_string(now / microsecond);
    return "update @job set holder = null, failed = 0, waits_for = null, ready = " + at +
           ", attempts = case when failed = 1 then 0 else attempts end, "
           "error = case when failed = 1 then null else error end, due = case when due <= " +
           at + " then due when cron is not null then " + at +
           " - 1 when period <> 0 then max(0, due - period) else due end "
           "where started = 0 and (failed = 1 or ready > " +
           at + ") and ";
}

// Notes which of the jobs it has changed.
int carry_out(session &to, std::vector<chosen_job> &jobs, tw_store_change what, std::int64_t now) {
    std::map<std::int64_t, chosen_job *> at;
    std::string places;
    for (chosen_job &job : jobs) {
        at.emplace(job.place, &job);
        places += (places.empty() ? "" : ",") + std::to_string(job.place);
    }
    query changing(to, (what == TW_STORE_REMOVE ? "delete from @job where " : fire_at(now)) + "rowid in (" +
                           places + ") returning rowid, of_group");
    int row = changing.row();
    effects done;
    for (; row == 1; row = changing.row()) {
        at.at(changing.number(0))->is_changed = true;
        if (what == TW_STORE_FIRE)
            done.first = now;
        else if (const char *const group = changing.text(1); group != nullptr)
            done.groups.insert(group);
    }
    if (row != 0)
        return row;
    return changing.is_cut() ? to.fail(-ENOMEM, "no memory") : conclude(to, done, now);
}

int show(std::vector<chosen_job> &jobs, tw_store_changed *each, void *arg) {
    for (chosen_job &job : jobs) {
        job.entry.job.kind = job.kind.c_str();
        job.entry.job.key = job.key.c_str();
        if (const int end = each(&job.entry, job.is_changed ? 1 : 0, arg); end != 0)
            return end;
    }
    return 0;
}

}  // namespace

int change(session &to, const tw_durable_filter &filter, const char *only, tw_store_change what,
           tw_store_changed *each, void *arg) {
    return in_small_transaction(to, durability::full, [&]() -> int {
        std::vector<chosen_job> jobs;
        if (const int error = choose(to, filter, only, jobs); error != 0)
            return error;
        if (const int error = carry_out(to, jobs, what, to.now()); error != 0)
            return error;
        return show(jobs, each, arg);
    });
}

// --- tallies -------------------------------------------------------------------------------------

namespace {

struct tally {
    std::uint64_t held = 0, started = 0;
};

int count_some(session &of, const std::string &condition, const char *kind, std::int64_t from,
               std::int64_t to, std::int64_t most, std::uint64_t &count) {
    query counted(of, "select count(*) from (select 1 from @job where kind = ?1 and " + condition +
                          " and ready >= ?2 and ready < ?3 limit ?4)");
    counted.with(kind).with(from).with(to).with(most);
    const int error = read_one(counted);
    count = error == 0 ? static_cast<std::uint64_t>(counted.number(0)) : 0;
    return error;
}

int tally_kind(session &of, const std::string &kind, const tally &busy, const std::int64_t *times,
               std::size_t count, std::int64_t most, tw_durable_tally_visitor *each, void *arg) {
    std::vector<std::uint64_t> pending(count + 1);
    tw_durable_tally found = {kind.c_str(), busy.held, busy.started, 0, 0, 0, TW_NO_DEADLINE, pending.data()};
    for (std::size_t i = 0; i <= count; ++i)
        if (const int error = count_some(of, IS_PENDING, found.kind, i == 0 ? 0 : times[i - 1] / microsecond,
                                         i == count ? INT64_MAX : times[i] / microsecond, most, pending[i]);
            error != 0)
            return error;
    const std::pair<const char *, std::uint64_t *> states[] = {
        {"failed = 1", &found.failed}, {IS_GIVEN_UP, &found.given_up}, {IS_WAITING, &found.waiting}};
    for (const auto &[condition, counted] : states)
        if (const int error = count_some(of, condition, found.kind, 0, INT64_MAX, most, *counted); error != 0)
            return error;
    query first(of, sql::first_pending);
    const int row = first.with(found.kind).with_time(0).row();
    if (row < 0)
        return row;
    found.first_ready_ns = row == 1 ? first.time(0) : TW_NO_DEADLINE;
    return each(&found, arg);
}

int read_busy(session &of, std::map<std::string, tally> &all) {
    query busy(of,
               "select kind, started, count(*) from @job where holder is not null group by kind, started");
    int result = busy.row();
    for (; result == 1; result = busy.row()) {
        tally &its = all[busy.text(0)];
        (busy.number(1) != 0 ? its.started : its.held) = static_cast<std::uint64_t>(busy.number(2));
    }
    return result;
}

}  // namespace

int tallies(session &of, const std::int64_t *times, std::size_t count, std::uint64_t most,
            tw_durable_tally_visitor *each, void *arg) {
    const std::int64_t limit =
        most != 0 ? static_cast<std::int64_t>(std::min<std::uint64_t>(most, INT64_MAX)) : INT64_MAX;
    std::map<std::string, tally> all;
    const auto add = [&all](const char *kind) { return all.try_emplace(kind), 0; };
    if (const int error = read_busy(of, all); error != 0)
        return error;
    for (const char *const condition : {IS_IDLE, "failed = 1"})
        if (const int error = for_each_kind(of, condition, add); error != 0)
            return error;
    for (const auto &[kind, busy] : all)
        if (const int ended = tally_kind(of, kind, busy, times, count, limit, each, arg); ended != 0)
            return ended;
    return 0;
}

// --- members -------------------------------------------------------------------------------------

// The column `kinds` has each kind with a zero byte at its end.
int announce(session &to, const tw_store_member &who, const char *const *kinds, std::size_t count,
             std::int64_t clock_offset_ns) {
    std::string all;
    for (std::size_t i = 0; i < count; ++i)
        all.append(kinds[i]).push_back('\0');
    return in_small_transaction(to, durability::normal, [&] {
        query telling(
            to, "update @member set kinds = ?3, clock_offset = ?4 where id = ?1 and epoch = ?2 and dead = 0");
        telling.with(who.id).with(who.epoch).with_bytes(all.data(), all.size()).with_time(clock_offset_ns);
        const int told = telling.run();
        if (told < 0)
            return told;
        return told == 1 ? 0 : to.fail(-ESTALE, "the member is dead, or its epoch is another");
    });
}

int members(session &of, tw_durable_member_visitor *each, void *arg) {
    query found(of,
                "select id, name, joined, lease, dead, "
                "(select count(*) from @job where holder = @member.id and started = 0), "
                "(select count(*) from @job where holder = @member.id and started = 1), kinds, clock_offset "
                "from @member order by id");
    int result = found.row();
    for (; result == 1; result = found.row()) {
        tw_durable_member member = {};
        member.id = found.number(0);
        member.name = found.text(1);
        member.joined_ns = found.time(2);
        member.lease_end_ns = found.time(3);
        member.dead = static_cast<int>(found.number(4));
        member.held = static_cast<std::uint64_t>(found.number(5));
        member.started = static_cast<std::uint64_t>(found.number(6));
        member.knows_kinds = found.is_null(7) ? 0 : 1;
        member.clock_offset_ns = found.time(8);
        std::size_t size = 0;
        const char *const all = static_cast<const char *>(found.bytes(7, size));
        std::vector<const char *> kinds;
        for (std::size_t at = 0; at < size; at += std::char_traits<char>::length(all + at) + 1)
            kinds.push_back(all + at);
        member.kinds = kinds.data();
        member.kinds_count = kinds.size();
        if (found.is_cut())
            return of.fail(-ENOMEM, "no memory");
        if (const int ended = each(&member, arg); ended != 0)
            return ended;
    }
    return result;
}

}  // namespace tickwheel::durable::sqlite

#include <algorithm>
#include <cerrno>

#include "operations.hpp"

namespace tickwheel::durable::sqlite {

namespace {

constexpr const char *is_dead = "the member is dead, or its epoch is another";

// Reads the earliest ready time of some jobs; TW_NO_DEADLINE if there are none.
int read_first(query &from, std::int64_t &first) {
    const int found = from.row();
    if (found < 0)
        return found;
    first = found == 1 && !from.is_null(0) ? from.time(0) : TW_NO_DEADLINE;
    return 0;
}

// Visits the jobs that a member holds. Returns 0, or the result of `each`.
int visit_held(session &of, const tw_store_member &who, tw_store_visitor *each, void *arg) {
    query held(of, sql::held_jobs);
    int result = held.with(who.id).row();
    while (result == 1) {
        tw_durable_entry entry;
        if (const int error = entry_of(of, held, entry); error != 0)
            return error;
        if (const int ended = each(&entry, arg); ended != 0)
            return ended;
        result = held.row();
    }
    return result;
}

int read_epoch(session &of, tw_store_member &who) {
    query read(of, sql::find_member);
    const int found = read.with(who.id).row();
    if (found != 1)
        return found < 0 ? found : of.fail(-ESTALE, is_dead);
    who.epoch = read.number(0);
    return 0;
}

}  // namespace

int lease_of(session &of, const tw_store_member &who, std::int64_t &lease) {
    query find(of, sql::find_member);
    const int found = find.with(who.id).row();
    if (found < 0)
        return found;
    if (found == 0 || find.number(0) != who.epoch)
        return of.fail(-ESTALE, is_dead);
    lease = find.time(1);
    return 0;
}

namespace {

// A restored backup can give the number of a member twice, but then with another epoch.
std::int64_t some_epoch() {
    std::uint64_t some = 0;
    sqlite3_randomness(sizeof some, &some);
    return static_cast<std::int64_t>(some >> 12);
}

}  // namespace

int join(session &to, const char *name, std::int64_t lease_ns, tw_store_member &who) {
    return in_small_transaction(to, durability::normal, [&] {
        const std::int64_t now = to.now(), epoch = some_epoch();
        query joining(to, sql::join);
        joining.with(name).with_time(time_after(now, lease_ns)).with_time(now).with(epoch);
        const int joined = joining.run();
        who = {.id = sqlite3_last_insert_rowid(to.handle()), .epoch = epoch};
        return joined < 0 ? joined : 0;
    });
}

int renew(session &to, const tw_store_member &who, std::int64_t lease_ns, std::int64_t &now) {
    return in_small_transaction(to, durability::normal, [&] {
        now = to.now();
        query renewing(to, sql::renew);
        const int renewed = renewing.with(who.id).with(who.epoch).with_time(time_after(now, lease_ns)).run();
        if (renewed < 0)
            return renewed;
        return renewed == 1 ? 0 : to.fail(-ESTALE, is_dead);
    });
}

namespace {

int mark_started(session &to, const tw_store_member &who, const std::int64_t *started, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
        if (const int error = query(to, sql::mark_started).with(who.id).with(started[i]).run(); error < 0)
            return error;
    return 0;
}

}  // namespace

int resume(session &to, tw_store_member &who, const std::int64_t *started, std::size_t count,
           tw_store_visitor *each, void *arg) {
    tw_store_member resumed = who;
    int ended = 0;
    const int error = in_small_transaction(to, durability::normal, [&] {
        const int raised = query(to, sql::resume).with(who.id).with(who.epoch).run();
        if (raised != 1)
            return raised < 0 ? raised : to.fail(-ESTALE, is_dead);
        if (const int missing = read_epoch(to, resumed); missing != 0)
            return missing;
        if (const int marked = mark_started(to, who, started, count); marked != 0)
            return marked;
        ended = visit_held(to, resumed, each, arg);
        return ended != 0 ? -ECANCELED : 0;
    });
    if (error == 0)
        who = resumed;
    return ended != 0 ? ended : error;
}

int leave(session &to, const tw_store_member &who) {
    return in_small_transaction(to, durability::normal, [&] {
        const int left = query(to, sql::delete_member).with(who.id).with(who.epoch).run();
        if (left != 1)
            return left < 0 ? left : to.fail(-ESTALE, is_dead);
        const int released = query(to, sql::release_held).with(who.id).run();
        return released < 0 ? released : to.ring(0, to.now());
    });
}

std::int64_t bury(session &to, std::size_t limit) {
    const auto most = static_cast<std::int64_t>(std::min<std::size_t>(limit, INT64_MAX));
    return in_transaction(to, durability::normal, [&to, most] {
        const std::int64_t now = to.now();
        if (const int declared = query(to, sql::declare_dead).with_time(now).run(); declared < 0)
            return declared;
        std::int64_t first = TW_NO_DEADLINE;
        {
            query earliest(to, sql::first_of_dead);
            if (const int error = read_first(earliest, first); error != 0)
                return error;
        }
        const int released = query(to, sql::release_of_dead).with(most).run();
        if (released < 0)
            return released;
        if (const int deleted = query(to, sql::delete_dead).run(); deleted < 0)
            return deleted;
        const int error = to.ring(first, now);
        return error != 0 ? error : released;
    });
}

}  // namespace tickwheel::durable::sqlite

// See census.hpp.
#include "census.hpp"

#include <algorithm>
#include <map>

namespace tickwheel::jobs {

namespace {

constexpr std::int64_t minute = 60 * TW_SECOND, hour = 60 * minute, day = 24 * hour;
constexpr std::int64_t latenesses[] = {day, hour, minute, 0};

kind_census census_of(const tw_durable_tally &tally, std::size_t slots) {
    kind_census all;
    all.kind = tally.kind;
    all.held = tally.held;
    all.started = tally.started;
    all.failed.add(tally.failed);
    all.given_up.add(tally.given_up);
    all.waiting.add(tally.waiting);
    all.first_ready_ns = tally.first_ready_ns;
    amount *const late[] = {&all.late_a_day, &all.late_an_hour, &all.late_a_minute, &all.late};
    for (std::size_t i = 0; i < std::size(late); ++i)
        for (std::size_t longer = 0; longer <= i; ++longer)
            late[i]->add(tally.pending[longer]);
    for (std::size_t i = 0; i < slots; ++i)
        all.pending.add(tally.pending[i]);
    all.pending.subtract(all.given_up);
    for (std::size_t i = std::size(late); i < slots; ++i)
        all.ahead.emplace_back().add(tally.pending[i]);
    return all;
}

member_census census_of(const tw_durable_member &member, std::int64_t now) {
    return {member.id,
            member.name,
            std::vector<std::string>(member.kinds, member.kinds + member.kinds_count),
            member.joined_ns,
            member.lease_end_ns,
            member.clock_offset_ns,
            member.held,
            member.started,
            member.dead != 0,
            member.dead == 0 && member.lease_end_ns > now,
            member.knows_kinds != 0};
}

}  // namespace

census::census(const connection &to, const char *only, const std::vector<std::int64_t> &ahead)
    : now_ns(to.now()) {
    std::map<std::string, std::size_t> handlers;
    to.members([&](const tw_durable_member &each) {
        members.push_back(census_of(each, now_ns));
        const member_census &added = members.back();
        alive += added.is_alive ? 1 : 0;
        all_tell_kinds = all_tell_kinds && (added.knows_kinds || !added.is_alive);
        for (const std::string &kind : added.kinds)
            handlers[kind] += added.is_alive ? 1 : 0;
    });
    std::vector<std::int64_t> times;
    for (const std::int64_t lateness : latenesses)
        times.push_back(std::max<std::int64_t>(now_ns - lateness, 0));
    for (const std::int64_t time : ahead)
        times.push_back(time);
    to.tallies(times, most_counted, [&](const tw_durable_tally &tally) {
        if (only != nullptr && tally.kind != std::string(only))
            return;
        kind_census each = census_of(tally, times.size() + 1);
        each.handled_by = handlers[each.kind];
        for (amount kind_census::*const field :
             {&kind_census::pending, &kind_census::late, &kind_census::late_a_minute,
              &kind_census::late_an_hour, &kind_census::late_a_day, &kind_census::failed,
              &kind_census::given_up, &kind_census::waiting})
            (sum.*field).add(each.*field);
        sum.held += each.held;
        sum.started += each.started;
        sum.first_ready_ns = std::min(sum.first_ready_ns, each.first_ready_ns);
        kinds.push_back(std::move(each));
    });
}

}  // namespace tickwheel::jobs

// The verbs kinds and members.
#include <cstdio>

#include "census.hpp"
#include "moments.hpp"
#include "plain.hpp"
#include "table.hpp"
#include "verbs.hpp"

namespace tickwheel::jobs {

namespace {

constexpr std::size_t widest = 40;  // of a kind

std::string or_nothing(const amount &count) { return count.least != 0 ? count.text() : ""; }
std::string or_nothing(std::uint64_t count) { return count != 0 ? std::to_string(count) : ""; }

// If there are no rows, says why at a terminal.
void print(const table &all, const char *why_empty) {
    const std::vector<std::string> lines = all.lines();
    for (const std::string &line : lines)
        std::puts(line.c_str());
    if (lines.empty())
        say_at_terminal(why_empty);
}

std::string clock_of(const member_census &member) {
    const std::int64_t ahead = member.clock_offset_ns;
    if (!member.knows_kinds)
        return "";
    if (std::abs(ahead) < TW_SECOND / 10)
        return "right";
    return duration(std::abs(ahead)) + (ahead > 0 ? " ahead" : " behind");
}

std::string kinds_of(const member_census &member) {
    if (!member.knows_kinds)
        return "?";
    std::string all;
    for (const std::string &kind : member.kinds)
        all += (all.empty() ? "" : ", ") + plain(kind);
    return all;
}

std::string lease_of(const member_census &member, std::int64_t now_ns) {
    return member.lease_end_ns > now_ns ? "ends " + relative(member.lease_end_ns, now_ns)
                                        : "ended " + relative(member.lease_end_ns, now_ns, "ago");
}

}  // namespace

int kinds(const options &o) {
    const connection to(o);
    const census all(to, nullptr);
    table shown({"KIND", "PENDING", "LATE", "BY A MINUTE", "BY AN HOUR", "BY A DAY", "FIRST", "HELD",
                 "STARTED", "FAILED", "GIVEN UP", "WAITING", "HANDLED BY"});
    for (const kind_census &each : all.kinds)
        shown.add({cut(plain(each.kind), widest), or_nothing(each.pending), or_nothing(each.late),
                   or_nothing(each.late_a_minute), or_nothing(each.late_an_hour), or_nothing(each.late_a_day),
                   each.first_ready_ns != TW_NO_DEADLINE ? relative(each.first_ready_ns, all.now_ns) : "",
                   or_nothing(each.held), or_nothing(each.started), or_nothing(each.failed),
                   or_nothing(each.given_up), or_nothing(each.waiting),
                   each.handled_by != 0 ? std::to_string(each.handled_by)
                   : all.all_tell_kinds ? "nobody"
                                        : "?"});
    print(shown, "there are no jobs");
    return all_is_well;
}

int members(const options &o) {
    const connection to(o);
    const census all(to, nullptr);
    table shown({"NAME", "ID", "IS", "LEASE", "HOLDS", "STARTED", "CLOCK", "JOINED", "HANDLES"});
    for (const member_census &each : all.members)
        shown.add({plain(each.name), std::to_string(each.id),
                   each.is_alive  ? "alive"
                   : each.is_dead ? "dead"
                                  : "silent",
                   lease_of(each, all.now_ns), std::to_string(each.held), std::to_string(each.started),
                   clock_of(each), each.joined_ns != 0 ? local_time(each.joined_ns) : "", kinds_of(each)});
    print(shown, "no process handles jobs");
    return all_is_well;
}

}  // namespace tickwheel::jobs

// What a database contains at one moment: how many jobs of each kind there are, and which processes handle
// them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "open_database.hpp"

namespace tickwheel::jobs {

// A number of jobs. Counting stops at `most_counted`, because more take time and tell nothing more.
inline constexpr std::uint64_t most_counted = 100'000;

struct amount {
    std::uint64_t least = 0;
    bool is_all = true;  // false: there are this many or more

    void add(std::uint64_t counted) {
        least += counted;
        is_all = is_all && counted < most_counted;
    }
    void add(const amount &other) {
        least += other.least;
        is_all = is_all && other.is_all;
    }
    void subtract(const amount &other) {
        least -= std::min(least, other.least);
        is_all = is_all && other.is_all;
    }
    std::string text() const { return std::to_string(least) + (is_all ? "" : "+"); }
};

struct kind_census {
    std::string kind;
    amount pending, failed, given_up, waiting;             // each job is in one state
    amount late, late_a_minute, late_an_hour, late_a_day;  // jobs that are pending or given up, and due
    std::uint64_t held = 0, started = 0;
    std::int64_t first_ready_ns = TW_NO_DEADLINE;
    std::size_t handled_by = 0;  // processes that are alive
    std::vector<amount> ahead;   // such jobs that are ready between the times `ahead` of the constructor

    // Jobs that no process holds.
    amount waiting() const {
        amount all = pending;
        all.add(given_up);
        return all;
    }
};

struct member_census {
    std::int64_t id;
    std::string name;
    std::vector<std::string> kinds;
    std::int64_t joined_ns, lease_end_ns, clock_offset_ns;
    std::uint64_t held, started;
    bool is_dead, is_alive, knows_kinds;
};

class census {
  public:
    // `ahead`: times after now, which rise. `only` may be null.
    census(const connection &to, const char *only, const std::vector<std::int64_t> &ahead = {});

    std::int64_t now_ns;
    std::vector<kind_census> kinds;
    std::vector<member_census> members;
    kind_census sum;  // of all kinds; its first_ready_ns is that of the first late job
    std::size_t alive = 0;
    bool all_tell_kinds = true;  // each process that is alive has told its kinds

    // True if a process handles this kind.
    bool handles(const std::string &kind) const {
        return std::any_of(members.begin(), members.end(), [&](const member_census &each) {
            return std::find(each.kinds.begin(), each.kinds.end(), kind) != each.kinds.end();
        });
    }

    // True if jobs of this kind wait and no process handles them.
    bool nobody_handles(const kind_census &kind) const {
        return kind.handled_by == 0 && all_tell_kinds && kind.waiting().least != 0;
    }
};

}  // namespace tickwheel::jobs

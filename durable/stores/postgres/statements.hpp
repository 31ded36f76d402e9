// The statements of the store, by number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tickwheel::durable::postgres {

enum statement : std::size_t {
    read_clock,
    put_one_replacing,
    put_one_keeping,
    put_many_replacing,
    put_many_keeping,
    put_holding_replacing,
    put_holding_keeping,
    remove_job,
    join_as_member,
    renew_lease,
    raise_epoch,
    list_held,
    claim_jobs,
    claim_jobs_within_limits,
    look_on,
    look_on_and_release,
    release_waiting,
    start_jobs,
    start_unlocked_jobs,
    settle_jobs,
    settle_unlocked_jobs,
    find_rows,
    declare_ended,
    release_of_dead,
    forget_ranges_of_dead,
    delete_dead,
    declare_dead,
    release_of_one,
    forget_ranges_of_one,
    delete_member,
    notify_of_kind,
    statements_count
};

// How many jobs that wait for groups one statement releases; and how many groups a look from the start
// checks.
inline constexpr int release_batch = 2'000, sweep = 1'000;

// An array of the places of the rows that the members with this condition hold, such as "= $1", by S1 of
// schema.cpp.
std::string rows_held_by(const char *member, const char *lock = "");

// A part of a statement, `told`, that notifies the connections that listen of the first of some jobs of each
// kind, if it is ready soon. `jobs` is a table, and perhaps a condition, with kind and ready.
std::string told(const std::string &jobs);

// In the order of the enum. Starts and answers wait for a lock no longer than `lock_limit_ms`.
std::vector<std::string> statements_for(const std::string &schema, std::int64_t lock_limit_ms);

}  // namespace tickwheel::durable::postgres

// The statements of the store, by number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tickwheel::durable::postgres {

enum statement : std::size_t {
    read_clock,
    put_replacing,
    put_keeping,
    remove_job,
    requeue_failed,
    join_as_member,
    renew_lease,
    raise_epoch,
    list_held,
    claim_jobs,
    next_ready,
    start_jobs,
    start_unlocked_jobs,
    settle_jobs,
    settle_unlocked_jobs,
    still_held,
    declare_ended,
    release_of_dead,
    declare_dead,
    release_of_one,
    delete_member,
    statements_count
};

// In the order of the enum. Starts and answers wait for a lock no longer than `lock_limit_ms`.
std::vector<std::string> statements_for(const std::string &schema, std::int64_t lock_limit_ms);

}  // namespace tickwheel::durable::postgres

// One fire of a job: its due time, the call of the handler, and the answer's outcome in the database.
#pragma once

#include <optional>

#include "claimed_job.hpp"
#include "job_counters.hpp"
#include "lease.hpp"
#include "settings.hpp"

namespace tickwheel::durable {

// Calls the handler, unless the lease has ended or the job must not fire, and returns the answer; nothing if
// the handler answers later. `database_now` is the present time of the database's clock.
std::optional<answer> run_handler(claimed_job &claimed, std::int64_t database_now, const lease &lease,
                                  const local_clock &clock, job_counters &counts);

// The outcome of what a handler has said, which may be any number.
answer outcome_of(const claimed_job &claimed, int said, job_counters &counts);

// True if this thread is in a handler or in an event callback of the library.
bool is_in_user_code();

// While an object of this class exists, is_in_user_code returns true on this thread.
class in_user_code {
  public:
    in_user_code();
    in_user_code(const in_user_code &) = delete;
    in_user_code &operator=(const in_user_code &) = delete;
    ~in_user_code();
};

}  // namespace tickwheel::durable

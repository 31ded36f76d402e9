// One fire of a job: what it is for, the call of its handler, and what its answer means for the database.
#pragma once

#include "claimed_job.hpp"
#include "job_counters.hpp"
#include "lease.hpp"
#include "settings.hpp"

namespace tickwheel::durable {

// Calls the handler, unless the lease has ended or the job is not to fire. `database_now` is the present time
// of the database's clock.
answer run_handler(const claimed_job &claimed, std::int64_t database_now, const lease &lease,
                   const local_clock &clock, job_counters &counts);

// True in a handler or an event of the library's, on this thread.
bool is_in_user_code();

// Marks that this thread calls a function of the user's.
class in_user_code {
  public:
    in_user_code();
    in_user_code(const in_user_code &) = delete;
    in_user_code &operator=(const in_user_code &) = delete;
    ~in_user_code();
};

}  // namespace tickwheel::durable

// The object behind a tw_durable.
#pragma once

#include <sys/types.h>

#include <memory>

#include "dispatcher.hpp"
#include "membership.hpp"
#include "put_queue.hpp"

namespace tickwheel::durable {

// The part of a tw_durable that handles jobs. Unless `single_thread` is set, it has two threads, one for the
// membership and one for the dispatcher. The runtime's thread and the workers call it, too.
struct member {
    const settings &all;
    const local_clock clock;
    database_clock &its_clock;
    job_counters &counts;
    const std::int64_t timeout_ns;
    tickwheel::durable::lease lease;
    claimed_jobs jobs;
    tickwheel::durable::troubles troubles;
    database for_membership;  // its timeout leaves time to renew the lease
    tickwheel::durable::membership membership;
    database for_dispatcher;  // its timeout is shorter: ready jobs do not wait for a hung server
    tickwheel::durable::dispatcher dispatcher;
    tw_timers *rounds = nullptr;  // null unless everything runs on one thread
    std::unique_ptr<agent_loop> membership_loop, dispatcher_loop;

    member(const database &to, const settings &settings, const local_clock &local, database_clock &database,
           job_counters &count);
    member(const member &) = delete;
    member &operator=(const member &) = delete;
    ~member();

    int start(tw_runtime *rt);
    std::size_t end();  // returns the number of answers that did not reach the database
};

}  // namespace tickwheel::durable

struct tw_durable {
    tickwheel::durable::settings settings;
    tickwheel::durable::local_clock clock;
    tickwheel::durable::database database;
    tickwheel::durable::database_clock its_clock;
    tickwheel::durable::job_counters counts;
    tickwheel::durable::put_queue put_queue;
    std::unique_ptr<tickwheel::durable::member> member;  // null without a runtime
    const pid_t process;

    tw_durable();
};

namespace tickwheel::durable {

// Returns 0, -EINVAL or -ECHILD, and notes why (explain.hpp).
int check_usable(const tw_durable *durable);

// Asks the database for the time, and returns it or an error.
std::int64_t read_clock(tw_durable &durable);

}  // namespace tickwheel::durable

// A job that this process holds: a copy of what the database has, from the claim until its answer is settled.
#pragma once

#include <memory>
#include <string>

#include <tickwheel/durable_store.h>
#include <tickwheel/handle.h>

#include "schedule.hpp"

namespace tickwheel::durable {

// How this process handles a kind.
struct handling {
    std::string kind;
    tw_durable_handler *fn;
    void *arg;
    tw_durable_retries retries;  // with the defaults filled in
};

enum class stage {
    waiting,     // on the wheel, until it is ready
    ready,       // among those that are to be started
    confirming,  // the database is being asked whether it may be started
    aside,       // another transaction has locked it, or the lease has ended: it is soon ready again
    queued,      // the database has started it, and it waits for a worker
    running      // its handler was called
};

class claimed_jobs;

struct claimed_job {
    claimed_job(const tw_durable_entry &entry, const handling &handled_by, const tw_store_member &claimed_for,
                claimed_jobs &held_in);
    claimed_job(const claimed_job &) = delete;
    claimed_job &operator=(const claimed_job &) = delete;

    std::string kind, key, payload, cron, zone;
    tw_durable_job job;  // points to these
    calendar dates;      // null also if this machine cannot read it
    const char *why_no_dates = nullptr;
    std::int64_t ready_ns;
    std::uint32_t attempts;
    std::int64_t token;
    const tw_store_member whom;  // that it was claimed for
    const handling &by;
    claimed_jobs &home;

    const bool is_started;  // by the claim

    stage at = stage::waiting;
    bool is_forgotten = false;  // this process does not hold it any more; it is to be freed where it is found
    tw_handle timer = TW_NO_HANDLE;
    claimed_job *next = nullptr;  // in the queue of those that wait for a worker
};

// What becomes of it, for the database.
struct answer {
    std::unique_ptr<claimed_job> job;
    tw_store_outcome_kind what;
    std::int64_t due_ns;
    std::int64_t ready_ns;
    bool ready_is_delay;
    std::uint32_t attempts;
    std::string error;  // empty: none

    tw_store_outcome outcome() const {
        return {job->kind.c_str(),
                job->key.c_str(),
                job->token,
                what,
                due_ns,
                ready_ns,
                ready_is_delay ? 1 : 0,
                attempts,
                error.empty() ? nullptr : error.c_str(),
                0};
    }
};

}  // namespace tickwheel::durable

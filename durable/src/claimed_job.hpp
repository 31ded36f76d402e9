// A job that this process holds. The object is a copy of the database's row, and exists from the claim until
// the dispatcher has settled the answer.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <tickwheel/durable_store.h>
#include <tickwheel/timers.h>

#include "schedule.hpp"

namespace tickwheel::durable {

// How this process handles a kind.
struct handling {
    std::string kind;
    tw_durable_handler *fn;
    void *arg;
    tw_durable_handling how;  // with the defaults filled in

    bool has_limit() const { return how.running != 0 || how.rate != 0; }
};

enum class stage {
    waiting,     // on the wheel, until the job is ready
    ready,       // in the list of jobs to start
    confirming,  // the dispatcher is asking the database whether the job may start
    aside,       // another transaction has locked the job, or the lease has ended; the dispatcher soon makes
                 // the job ready again
    queued,      // the database has started the job, which waits for a worker
    running,     // a worker has called its handler
    unanswered   // the handler has returned, and the user answers later
};

class claimed_jobs;

// A fire from the call of its handler to the answer. `again_ns` and `why` are what the answer carries in
// addition to its value.
struct fire_in_progress {
    tw_durable_fire shown = {};
    fire_plan plan = {};
    std::int64_t again_ns = 0;
    std::string why;
};

struct claimed_job {
    claimed_job(const tw_durable_entry &entry, std::int64_t its_row, const handling &handled_by,
                const tw_store_member &claimed_for, claimed_jobs &held_in);
    claimed_job(const claimed_job &) = delete;
    claimed_job &operator=(const claimed_job &) = delete;

    std::string kind, key, payload, cron, zone;  // `job` points to these
    tw_durable_job job;
    calendar dates;  // null without a cron expression, or if this machine cannot make its calendar
    const char *why_no_dates = nullptr;
    std::int64_t ready_ns;
    std::uint32_t attempts;
    std::int64_t token;
    std::int64_t row;            // for the store
    const tw_store_member whom;  // the member that claimed the job
    const handling &by;
    claimed_jobs &home;

    const bool is_started;  // the claim has also started the job
    bool is_late = false;   // it was claimed as a part of the backlog

    stage at = stage::waiting;
    bool is_forgotten = false;  // this process no longer holds the job; the next owner frees it (H2)
    fire_in_progress fire;
    std::optional<tw_durable_answer> early_answer;  // came later, but before the handler returned
    tw_handle timer = TW_NO_HANDLE;
    claimed_job *next = nullptr;  // in the queue of jobs that wait for a worker
};

// The outcome of a fire, which the dispatcher must store in the database.
struct answer {
    std::unique_ptr<claimed_job> job;
    tw_store_outcome_kind what;
    std::int64_t due_ns;
    std::int64_t ready_ns;
    bool ready_is_delay;
    std::uint32_t attempts;
    std::string error;  // empty: none

    tw_store_outcome outcome() const {
        return {job->by.kind.c_str(),  // outlives the answer
                job->key.c_str(),
                job->token,
                job->row,
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

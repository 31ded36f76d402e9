// The oracle: knows of each job what must and what must not happen, from what users have done and what the
// handlers were called for, and ends the program when it does otherwise.
//
//     O1  No handler begins before its job is due by the database's clock, nor before the delay of an answer.
//     O2  A handler begins while its process has a lease, as the database sees it.
//     O3  It begins after the database has said that it may, or when the process cannot ask.
//     O4  No two begin for one job while both processes have a lease, unless it was replaced in between.
//     O5  Tokens rise.
//     O6  A job that was removed or replaced does not begin any more.
//     O7  The due times of a periodic job fire one after the other, and none is left out unless it is to be.
//     O8  A due time that was done fires again only if something has befallen a process since it fired.
//     O9  When all faults have ended, nothing that is due is left.
#pragma once

#include <map>
#include <string>

#include "simulation_world.hpp"

namespace tickwheel::durable::tests {

// Those of all handlers.
constexpr tw_durable_retries retries = {3, 2 * second, 10 * second};

// A job, as users have put it and as it has fired.
struct job_model {
    bool exists = false;
    std::int64_t period = 0, grace = 0;
    tw_durable_missed missed = TW_DURABLE_COALESCE;

    std::int64_t due = 0;                        // the due time that is to fire, or has fired last
    std::int64_t put_at = 0;                     // by the database's clock
    std::int64_t changed_at = 0;                 // true time of the put or the removal
    std::int64_t not_before = 0;                 // by the last answer
    unsigned times_begun = 0;                    // for this due time
    tw_durable_answer answer = TW_DURABLE_DONE;  // the last one for it
    std::int64_t answered_at = 0;                // by the database's clock
    bool was_last_try = false;                   // it has failed for good

    std::int64_t former_token = 0;   // fires up to this one are of a former job
    std::int64_t allowed_token = 0;  // of these the one that may still begin: it was started
    std::int64_t last_token = 0;
    process *last = nullptr;  // that has begun it last
    std::int64_t begun_at = 0;
    std::map<std::int64_t, process *> running;  // by token
};

struct tally {
    std::uint64_t fires = 0, repeats = 0, unconfirmed = 0, removed = 0, failed = 0;
    std::int64_t latest = 0;
};

class oracle {
  public:
    explicit oracle(world &of) : world_(of) {}

    // --- what users do. `took_effect`: it did, whatever the call has returned.
    void before_change(const char *key);  // the database still has the former job
    void put(const tw_durable_job &job, bool keep, int result, bool took_effect);
    void removed(const char *key, int result, bool took_effect);
    void requeued(const char *key, std::int64_t result, bool took_effect);

    // --- what handlers do
    void begins(process &by, const tw_durable_fire &fire);
    void answers(process &by, const tw_durable_fire &fire, tw_durable_answer answer, std::int64_t delay);

    // Long enough after all faults have ended.
    void check_all_is_well();

    const tally &so_far() const { return tally_; }

  private:
    void end_former(job_model &it);
    void check_permission(process &by, const tw_durable_fire &fire, const job_model &it);
    void check_alone(process &by, const tw_durable_fire &fire, const job_model &it);
    bool is_of_former_job(process &by, const tw_durable_fire &fire, const job_model &it, bool is_confirmed);
    void follow(process &by, const tw_durable_fire &fire, job_model &it, bool is_confirmed, unsigned tries);
    void check_repeat(process &by, const tw_durable_fire &fire, const job_model &it);
    void note_late(const tw_durable_fire &fire, std::int64_t late);
    void move_on(const tw_durable_fire &fire, job_model &it, unsigned tries);
    bool is_excused(const process &by, const job_model &it) const;
    bool clock_was_set_since(std::int64_t time) const { return world_.clock_set_at >= time; }
    void check_ended(const std::string &key, const job_model &it);
    void check_left(const std::string &key, const job_model &it);

    world &world_;
    std::map<std::string, job_model> jobs_;
    tw_durable_entry former_ = {};
    tally tally_;
};

}  // namespace tickwheel::durable::tests

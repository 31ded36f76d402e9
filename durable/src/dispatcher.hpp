// The dispatcher starts ready jobs and settles their answers.
//
// Before a start the dispatcher asks the database whether the job was removed or replaced, whether its time
// has come by the database's clock, and whether the lease lasts. If the connection breaks, the dispatcher
// opens a new one. If that cannot reach the database either, the lease alone decides, unless `confirmed_only`
// is set. If the database answers with an error, jobs wait. One call asks about, or settles, all jobs that
// have arrived since the previous call. The dispatcher asks again later about jobs that another transaction
// has locked.
//
// The dispatcher has its own connection, so that a start does not wait for a claim. In PostgreSQL starts wait
// for the disk, because a handler can outlive a crash of the server; answers never do (DURABLE.md, "Disk").
#pragma once

#include <atomic>

#include "agent_loop.hpp"
#include "claimed_jobs.hpp"
#include "connection.hpp"
#include "membership.hpp"

namespace tickwheel::durable {

class dispatcher final : public agent {
  public:
    dispatcher(const database &to, const settings &all, const local_clock &clock, database_clock &its_clock,
               const lease &held_by, membership &books, claimed_jobs &jobs, troubles &found,
               job_counters &counts);

    // Sets the function that the dispatcher calls when the membership has work: there is room again, a
    // settled job is soon ready again, a resume is needed, or the membership must report an error to the
    // user.
    void call_for_membership(std::function<void()> call) { call_membership_ = std::move(call); }

    std::int64_t step(std::int64_t now) override;

    // From now on `step` only settles answers.
    void start_no_more() { starts_no_more_ = true; }

    // Settles the last answers, after the last handler and the last `step`. Tries for `timeout_ns`. Returns
    // the number of answers that have not reached the database.
    std::size_t settle_rest(std::int64_t timeout_ns);

    void abandon() { connection_.abandon(); }

  private:
    enum class progress { none, some, stuck };
    progress start_some();
    progress settle_some();
    // What `ask` does if the membership cannot reach the database and the dispatcher has no connection.
    enum class if_away { give_up, ask_while_quick };
    bool is_away(if_away then) const {
        const bool may_ask = then == if_away::ask_while_quick && !has_waited_;
        return !connection_.is_open() && membership_.is_away() && !is_closing_ && !may_ask;
    }
    template <class Ask> int ask(const Ask &question, if_away then);
    template <class Ask> int ask_once(const Ask &question, bool &was_connected);
    int ask_to_start(std::int64_t &now);
    void apply(std::int64_t now);
    void watch_what_is_aside();
    bool go_on_alone();

    connection connection_;
    const settings &settings_;
    const local_clock clock_;
    database_clock &database_;
    const lease &lease_;
    membership &membership_;
    claimed_jobs &jobs_;
    troubles &troubles_;
    job_counters &counts_;
    std::function<void()> call_membership_;

    std::atomic<bool> starts_no_more_{false};
    bool has_asked_ = false;   // in this step
    int error_ = 0;            // the last error of this step, even if a later question succeeded
    bool is_lost_ = false;     // the last step that asked could not reach the database
    bool has_waited_ = false;  // the last question could not reach it, and took at least long_wait_ns
    std::int64_t bring_back_at_ = never, aside_since_ = never;  // for locked jobs
    bool is_closing_ = false;  // `settle_rest` runs: ask even if the membership cannot reach the database
    growing_pause pause_;

    // Used within one step. The constructor reserves their capacity, so that a step cannot run out of memory
    // after it has taken jobs.
    std::vector<claimed_job *> taken_, refused_;
    std::vector<tw_store_start> questions_;
    std::vector<tw_store_outcome> outcomes_;
};

}  // namespace tickwheel::durable

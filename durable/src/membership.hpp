// Keeps this process a member in the database: joins, renews the lease, claims jobs that are due soon, and
// releases the jobs of dead members.
//
// The database may hold jobs for this member that this process does not know: the answer to a claim, or to a
// put that claims, was lost, or this process ran out of memory. Or the database may not know that a job was
// started: the dispatcher went on alone, or a server crash undid the start. `doubts_` counts these events.
// After one, the next step resumes: it raises the member's epoch, so that no call from the former epoch can
// claim any more, and compares the database's list with `claimed_jobs`. The membership resumes again once a
// second while another transaction locks a job that the membership must mark or release (`resume_at_`).
//
// Once a third of the lease has passed, the membership renews the lease before the next part of a step. A
// statement times out after another third. So one refused or hanging statement cannot lose the lease, but
// several slow statements in one part can.
#pragma once

#include <list>
#include <mutex>
#include <optional>

#include "agent_loop.hpp"
#include "claimed_jobs.hpp"
#include "connection.hpp"
#include "troubles.hpp"

namespace tickwheel::durable {

class membership final : public agent {
  public:
    membership(const database &to, const settings &all, const local_clock &clock, database_clock &its_clock,
               lease &held_by, claimed_jobs &jobs, troubles &found, job_counters &counts);

    std::int64_t step(std::int64_t now) override;
    int descriptor() override { return notification_fd_; }

    // Adds a handler. -EEXIST: its kind has one already.
    int handle(handling &&what);
    bool handles(const char *kind) const;
    std::uint32_t most_tries(const char *kind) const;  // 0: this process does not handle the kind

    // Sets `hold` in the puts whose jobs this process would soon claim anyway, as far as it has room: each of
    // these puts then claims its job in its own transaction. The room stays reserved until the result goes
    // out of scope.
    [[nodiscard]] claimed_jobs::reservation choose_to_hold(std::vector<tw_store_put> &puts);

    // Called after each put, with its error. Takes over the jobs that the put claimed for this member, or
    // requests a resume if the database may hold jobs that this process does not know. Returns true if the
    // caller must wake the membership.
    bool note_puts(const std::vector<tw_store_put> &puts, const tw_store_member &whom, int error) noexcept;

    // Notes that a pending job of this kind (null: any kind) is ready at this local time. Returns true if the
    // caller must wake the membership.
    bool note_pending(const char *kind, std::int64_t ready_at);

    // Notes that answers were settled, and that the first of their jobs is ready again at this local time
    // (`never`: none is). Returns true if the caller must wake the membership.
    bool note_settled(std::int64_t ready_at);

    // Notes that handlers run whose start the database does not know. The next resume reports them. The
    // caller must wake the membership.
    void note_unconfirmed() { ++doubts_; }

    // Ends the membership in the database and releases the jobs. Called after the last step.
    void leave();

    bool is_connected() const { return is_connected_; }

    // True if the membership's last attempt could not reach the database.
    bool is_away() const { return is_away_; }

    void abandon() { connection_.abandon(); }

  private:
    struct finding {  // a job that the database holds for this member
        std::string kind, key;
        std::int64_t token;
        tw_durable_state state;
    };

    int work();
    bool is_time_to_look() const;
    void look_soon();
    int connect();
    int join();
    int renew_if_due();
    int renew();
    bool has_doubts() const { return doubts_ != resolved_doubts_; }
    int resume();
    std::int64_t ask_what_is_held(const std::vector<std::int64_t> &started, tw_store_member &member,
                                  std::vector<finding> &found);
    int settle(std::vector<tw_store_outcome> &outcomes, const tw_store_member &whom, std::size_t &locked);
    int rejoin();
    int announce();
    int begin_to_listen();
    int listen_to_others();
    int look();
    int claim(std::size_t limit, tw_store_look &seen, std::size_t &count);
    std::vector<const char *> handled_kinds() const;
    int fail(const std::vector<std::unique_ptr<claimed_job>> &jobs, const tw_store_member &whom,
             std::size_t &locked);
    int bury();
    std::size_t note_room(std::size_t room);
    void lose_membership();
    void plan_next_look(const tw_store_look &seen);
    std::int64_t pause_after(int error);
    void watch_lease(std::int64_t now);
    void tell_of_connection();
    void tell(tw_durable_event event, const char *why) const;
    void learn(const database_clock::reading &reading);
    const handling *handling_of(const char *kind) const;
    std::int64_t ready_at(const tw_durable_job &job) const;
    int accept_puts(const std::vector<tw_store_put> &puts, const tw_store_member &whom, bool &has_news);

    connection connection_;
    const settings &settings_;
    const local_clock clock_;
    database_clock &database_;
    lease &lease_;
    claimed_jobs &jobs_;
    troubles &troubles_;
    job_counters &counts_;

    mutable std::mutex mutex_;  // guards the next three members
    std::list<handling> handlings_;
    std::int64_t look_at_ = 0;
    bool wants_room_ = false;

    // `doubts_` counts the events after which the database and this process may disagree on the held jobs;
    // `resolved_doubts_` counts those that are resolved.
    std::atomic<unsigned> doubts_{0};
    unsigned resolved_doubts_ = 0;

    std::atomic<bool> is_connected_{false}, is_away_{false};
    std::optional<tw_durable_event> told_;  // the last reported event, apart from TW_DURABLE_LEASE_LOST
    int told_error_ = 0;                    // the error of that event
    // Whether the end of the present lease was reported; whether there may be dead members to bury.
    bool has_told_lease_ = false, has_dead_ = false;
    std::size_t claim_limit_;  // limit of the next claim; lower after a claim that took too long
    int notification_fd_ = -1;
    std::int64_t poll_ns_ = 0;
    std::int64_t renew_at_ = 0, try_at_ = 0;
    std::int64_t resume_at_ = never;  // when to resume again because a job was locked
    growing_pause pause_;

    // What the member has announced: itself, how many kinds it handles, and how far the machine's time of day
    // is ahead of the database's clock.
    tw_store_member announced_ = {};
    std::size_t announced_kinds_ = 0;
    std::int64_t announced_offset_ns_ = 0;
};

}  // namespace tickwheel::durable

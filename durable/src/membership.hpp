// Keeps the books with the database: joins it, renews the lease, claims what is due soon, and releases what
// dead members have left.
//
// The database may hold jobs for this member that this process does not know of: the answer to a claim, or to
// a put that claims, was lost, or there was no memory for it. Or the database does not know that a job was
// started: the dispatcher went on alone, or a crash of the server took the start back. `doubts_` says so. The
// next step then raises the epoch of the member, after which nothing of the former epoch can claim any more,
// and compares what the database says with what `claimed_jobs` has. The membership does so once a second
// while another transaction keeps a job locked that the membership must mark or release (`resume_at_`).
//
// Once a third of the lease has passed, the membership renews it before the next part of a step. A statement
// times out after another third. So one refused or hanging statement does not cost the lease; several slow
// statements in one part can.
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
    int descriptor() override { return bell_of_database_; }

    // -EEXIST, or 0.
    int handle(handling &&what);
    bool handles(const char *kind) const;

    // Marks the puts that this process would claim soon anyway, as many as there is room for: the put then
    // claims them in its own transaction. The room is reserved until the result goes out of scope.
    [[nodiscard]] claimed_jobs::reservation choose_to_hold(std::vector<tw_store_put> &puts);

    // To be called after each put, with its error. Takes over what is held for this member, or has the
    // membership resume if something may be held that is not known here. Returns true if the membership
    // should be called.
    bool note_puts(const std::vector<tw_store_put> &puts, const tw_store_member &whom, int error) noexcept;

    // A job of this kind, or of any if it is null, is ready at this local time and can be claimed. Returns
    // true if the membership should be called.
    bool note_pending(const char *kind, std::int64_t ready_at);

    // Answers were settled, and the first of these jobs is ready at this local time. Returns true if the
    // membership should be called.
    bool note_settled(std::int64_t ready_at);

    // Handlers run whose start the database does not know of. To resume tells the database. The membership
    // should be called.
    void note_unconfirmed() { ++doubts_; }

    // The last step.
    void leave();

    bool is_connected() const { return is_connected_; }

    // The last try could not reach the database.
    bool is_away() const { return is_away_; }

    void abandon() { connection_.abandon(); }

  private:
    struct finding {  // what the database holds for this member
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
    bool has_doubts() const { return doubts_ != settled_doubts_; }
    int resume();
    std::int64_t ask_what_is_held(const std::vector<std::int64_t> &started, tw_store_member &member,
                                  std::vector<finding> &found);
    int settle(std::vector<tw_store_outcome> &outcomes, const tw_store_member &whom, std::size_t &locked);
    int rejoin();
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

    mutable std::mutex mutex_;  // guards these three
    std::list<handling> handlings_;
    std::int64_t look_at_ = 0;
    bool wants_room_ = false;

    // Each time that the database and this process may not agree on what it holds. Those of which it has made
    // sure.
    std::atomic<unsigned> doubts_{0};
    unsigned settled_doubts_ = 0;

    std::atomic<bool> is_connected_{false}, is_away_{false};
    std::optional<tw_durable_event> told_;  // of the connection, and the error
    int told_error_ = 0;
    bool has_told_lease_ = false, has_dead_ = false;
    std::size_t claim_limit_;  // the most jobs of the next claim: fewer after one that took too long
    int bell_of_database_ = -1;
    std::int64_t poll_ns_ = 0;
    std::int64_t renew_at_ = 0, try_at_ = 0;
    std::int64_t resume_at_ = never;  // when to resume again because a job was locked
    growing_pause pause_;
};

}  // namespace tickwheel::durable

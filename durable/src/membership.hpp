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
// A look asks the database for jobs that are due soon, and claims them; a probe only asks. Both begin at a
// ready time before which no job is pending that this process could know of: whoever makes an earlier job
// pending notifies the membership, which then lowers that time (`search::from`). So looks do not read again,
// and again, what they have claimed already, and what a database cannot clear away while another session
// reads an old state of the tables. From time to time probes sweep all ready times, for jobs whose
// notification was missed.
//
// Jobs that are late by more than a second, as after an outage, are the backlog, which has a search of its
// own. So many of them may wait that they would delay all others: only a part of the room is for them.
//
// Each kind with limits has a search of its own, too, which claims only jobs that are ready and will soon get
// a worker: a job that is held takes the place of one that could run elsewhere. If the database allows no
// more jobs (`is_full`), the search waits until this process has settled one of that kind. If this process
// has no room for the next one, it notifies the others. Puts never hold jobs of such a kind.
//
// The lease of a process that holds no jobs matters to nobody. A process that has held none for the length of
// a lease asks for a longer one, so that it need not renew often. Before its next claim it renews with the
// usual length; no put holds its job meanwhile.
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
#include "probe_sweep.hpp"
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
    const handling *handling_of(const char *kind) const;  // null: this process does not handle the kind

    // Sets `hold` in the puts whose jobs this process would soon claim anyway, as far as it has room: each of
    // these puts then claims its job in its own transaction. The room stays reserved until the result goes
    // out of scope.
    [[nodiscard]] claimed_jobs::reservation choose_to_hold(std::vector<tw_store_put> &puts);

    // Called after each put, with its error and the local time before the call. Takes over the jobs that the
    // put claimed for this member, or requests a resume if the database may hold jobs that this process does
    // not know. Returns true if the caller must wake the membership.
    bool note_puts(const std::vector<tw_store_put> &puts, const tw_store_member &whom, std::int64_t asked,
                   int error) noexcept;

    // Notes that a pending job of this kind (null: any kind) is ready at this time of the database or later.
    // Returns true if the caller must wake the membership.
    bool note_pending(const char *kind, std::int64_t ready);

    // Called with the results of a settle, and the local time before it. Returns true if the caller must wake
    // the membership.
    bool note_settled(const std::vector<tw_store_outcome> &outcomes, std::int64_t asked);

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
    struct search {
        std::int64_t look_at;  // a local time; `never`: nothing is known to be pending
        std::int64_t from;  // of the database's clock; TW_NO_DEADLINE during a look, or if nothing is pending
        // Where a sequence of claims began that each reached their limits; TW_NO_DEADLINE: there is none.
        std::int64_t sequence_from = TW_NO_DEADLINE;
        bool wants_room = false;

        // Of a kind with limits.
        const handling *only = nullptr;  // the kind; null: the search is for all kinds without limits
        bool is_full = false;            // the last claim left ready jobs, because `running` jobs are held
        bool has_freed = false;          // a job was settled since the last claim began
        std::int64_t not_before = 0;     // no notification makes the search look before this local time
    };

    struct due {
        bool present, backlog, limited, probe;
        bool any_search() const { return present || backlog || limited; }
    };

    template <class Each> void each_search(const Each &each);
    search &search_for(const char *kind);
    std::int64_t horizon_of(const search &which) const {
        return which.only != nullptr ? 0 : settings_.horizon_ns;
    }

    void look_soon();
    due what_is_due();
    int connect();
    int join();
    int renew_if_due();
    int renew();
    int renew_for(std::int64_t length);
    bool is_expecting();
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
    std::vector<const char *> kinds_to_probe(std::vector<search *> &whose);
    int probe();
    int sweep_on(const sweep::piece &piece);
    int unless_stale(int error);
    int ask(const tw_store_claim &wanted, tw_store_look &seen);
    int look_within_limits();
    int look_for(search &which);
    int offer_to_others(search &which);
    int claim(const tw_store_claim &wanted, std::int64_t late_before, tw_store_look &seen, std::size_t &count,
              std::int64_t &last);
    bool expect(search &which, std::int64_t ready);
    void part_backlog(std::int64_t now);
    std::int64_t begin_look(search &which);
    void note_limits(search &which, const tw_store_look &seen);
    void end_look(search &by, const tw_store_look &seen, std::int64_t pause);
    void note_others(const tw_store_look &seen);
    void begin_again(search &which, std::int64_t from, std::int64_t look_at);
    std::vector<const char *> handled_kinds() const;
    std::vector<const char *> kinds_of(const search &which) const;
    int fail(const std::vector<std::unique_ptr<claimed_job>> &jobs, const tw_store_member &whom,
             std::size_t &locked);
    int bury();
    void lose_membership();
    std::int64_t pause_after(int error);
    void watch_lease(std::int64_t now);
    void tell_of_connection();
    void tell(tw_durable_event event, const char *why) const;
    void learn(const database_clock::reading &reading);
    std::int64_t ready_of(const tw_durable_job &job, std::int64_t asked) const;
    int accept_puts(const std::vector<tw_store_put> &puts, const tw_store_member &whom, std::int64_t asked,
                    bool &has_news);

    connection connection_;
    const settings &settings_;
    const local_clock clock_;
    database_clock &database_;
    lease &lease_;
    claimed_jobs &jobs_;
    troubles &troubles_;
    job_counters &counts_;

    mutable std::mutex mutex_;  // guards the next six members
    std::list<handling> handlings_;
    bool has_unlimited_ = false;  // one of them has no limits
    search present_ = {0, 0}, backlog_ = {never, TW_NO_DEADLINE};
    std::list<search> limited_;
    std::int64_t probe_at_ = 0;

    // `doubts_` counts the events after which the database and this process may disagree on the held jobs;
    // `resolved_doubts_` counts those that are resolved.
    std::atomic<unsigned> doubts_{0};
    unsigned resolved_doubts_ = 0;

    std::atomic<bool> is_connected_{false}, is_away_{false};
    std::optional<tw_durable_event> told_;  // the last reported event, apart from TW_DURABLE_LEASE_LOST
    int told_error_ = 0;                    // the error of that event
    // Whether the end of the present lease was reported; whether there may be dead members to bury.
    bool has_told_lease_ = false, has_dead_ = false;
    std::atomic<bool> has_long_lease_{false};
    std::uint64_t claimed_by_renewal_ = 0;  // how many jobs this process had claimed at the last renewal
    std::int64_t busy_at_ = 0;              // the last renewal at which it had claimed more, or was about to
    sweep sweep_;
    std::int64_t bury_again_at_ = 0;  // the earliest time of the next burial
    std::int64_t pause_of_locked_ns_;
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

// The jobs that this process holds: waiting on the wheel, ready to start, or running, and the answers that
// the database does not have yet.
//
//     claim -> waiting -> ready -> confirming -> queued -> running ---> answer -> settled
//        |        ^---------------------'           ^         '-> unanswered -^
//        '-- if the claim has started the job ------'
//
// The membership and puts claim jobs. The dispatcher starts them and settles their answers; the wheel makes
// them ready, and the workers run them. `jobs_` owns a job until its answer does. A job's stage changes only
// under the mutex. No lock is held while handlers run.
//
// H1  A job in `jobs_` is in one place: on the wheel if it is waiting, in `ready_` if it is ready, with the
//     dispatcher if it is confirming, in `aside_` if it is aside, in `queue_` if it is queued, with a runner
//     if it is running, with the user if it is unanswered.
// H2  A forgotten job is freed by its current owner (H1): by the function that forgets the job if it could
//     take the job off the wheel, `ready_` or `aside_`, otherwise by the next function that dequeues the job.
//     A running or unanswered job is never forgotten.
// H3  `newest_` has at most one job of each name. That job is in `jobs_`, and no job of the same name there
//     has a higher token.
// H4  If `queue_` is not empty and `has_ended_` is false, a runner is awake.
// H5  `ready_` and `aside_` have capacity for all of `jobs_`, and `answers_` has capacity for all of `jobs_`,
//     `answers_` and `taken_answers_`. So moving a held job or its answer between them never allocates.
// H6  The last `locked_answers_` of `answers_` belong to jobs that another transaction has locked.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <tickwheel/workers.h>

#include "claimed_job.hpp"
#include "database_clock.hpp"
#include "job_counters.hpp"
#include "lease.hpp"
#include "settings.hpp"

namespace tickwheel::durable {

namespace tests {
class claimed_jobs_inspector;
}

class claimed_jobs {
  public:
    claimed_jobs(const settings &all, const local_clock &clock, const database_clock &its_clock,
                 const lease &held_by, job_counters &counts);
    claimed_jobs(const claimed_jobs &) = delete;
    claimed_jobs &operator=(const claimed_jobs &) = delete;
    ~claimed_jobs();

    // Creates the timers and workers on the runtime. From then on this object calls `call_dispatcher`,
    // without a lock, when there are jobs to start or answers to settle. Returns 0 or an error of the
    // runtime.
    int start(tw_runtime *rt, std::function<void()> call_dispatcher);

    // Returns when no handler is running and, unless all is on one thread, no answer is still to come. From
    // then on no job becomes ready and no handler is called. Returns the number of fires without an answer.
    std::size_t end();

    // --- for the membership ---

    // Takes over jobs that were claimed for this member. Returns 0, or an error:
    //   -ESTALE  it took none, because the member or its epoch has changed: the membership finds the jobs in
    //            the database and releases them
    //   -ENOMEM  it took only some
    //   -EEXIST  the same, because the database has given a token twice
    int accept(std::vector<std::unique_ptr<claimed_job>> &&claimed, const tw_store_member &whom) noexcept;

    // Room for jobs that are being claimed, until it goes out of scope.
    class reservation {
      public:
        reservation(claimed_jobs &of, std::size_t size) : of_(of), size_(size) {}
        reservation(reservation &&other) noexcept : of_(other.of_), size_(std::exchange(other.size_, 0)) {}
        reservation &operator=(reservation &&) = delete;
        ~reservation();
        std::size_t size() const { return size_; }

      private:
        claimed_jobs &of_;
        std::size_t size_;
    };

    // Reserves the free room, but for at most `most` jobs. A put gets only half of it: it leaves the rest for
    // jobs that the membership claims. The backlog gets as much as its limit allows. With `soon` the room is
    // only for jobs that will wait no longer for a worker than a part of the backlog does.
    enum class part { all, half, of_backlog };
    [[nodiscard]] reservation reserve(std::size_t most, part which = part::all, bool soon = false);

    // True if no job is held or may be soon, and no answer is left.
    bool is_empty() const;

    // The tokens of started jobs, which run, wait for a worker or are unanswered.
    std::vector<std::int64_t> started() const;

    // True if the job is held, or its answer is not settled.
    bool has(const std::string &kind, const std::string &key, std::int64_t token) const;

    // Forgets jobs that were claimed in other epochs than this one, except those with these tokens and
    // running jobs.
    void forget_others(const std::unordered_set<std::int64_t> &tokens, std::int64_t epoch);
    // Forgets all jobs except running ones, and all answers.
    void forget_all();

    // Arms the timers of all waiting jobs again, because the database's clock was set.
    void arm_again();

    // A job that this process removes or replaces must not take up room until its due time, and must not fire
    // if it waits for a worker. So the caller asks for the token of the held job with this name (0: none)
    // before the change, and drops that token after it. `drop` forgets the job unless it runs. By the token,
    // `drop` spares a job of the same name that was put in between.
    std::int64_t token_of(const char *kind, const char *key) const;
    void drop(std::int64_t token);

    // --- for handlers ---

    // Takes the answer of a handler that said that it answers later. Returns 0, or -EALREADY.
    int answer_later(claimed_job &job, tw_durable_answer said);

    // For how long no other process can take over this job.
    std::int64_t lease_of(const claimed_job &job) const {
        return lease_.remaining(job.whom.id, clock_.now());
    }

    // --- for statistics ---

    struct census {
        std::size_t held, running, unsettled;
    };
    census count() const;

    // Copies of the held jobs, without payloads.
    struct sketch {
        std::string kind, key;
        std::int64_t ready_ns, token;
        stage at;
    };
    std::vector<sketch> sketches() const;

    // --- for the dispatcher ---

    // Takes the answers to settle next. The dispatcher then calls `return_answers` after an error, or
    // `finish_answers` with one outcome for each answer, in the same order. `finish_answers` drops all
    // answers except those of locked jobs, which it puts aside.
    const std::vector<answer> &take_answers();
    static constexpr std::size_t most_answers = 512;
    void return_answers();
    void finish_answers(const std::vector<tw_store_outcome> &outcomes);

    // Puts aside confirming jobs that may not start yet, so that `take_ready` does not take them again until
    // `bring_back`.
    void put_aside(const std::vector<claimed_job *> &them);

    // Makes the jobs that were put aside ready again, and lets `take_answers` take the answers that were.
    void bring_back();
    bool has_aside() const;

    // The number of answers that were dropped because the member lost its jobs.
    std::uint64_t lost_answers() const;

    // Moves up to `limit` ready jobs to `taken`; they are then confirming. For each of them the dispatcher
    // calls one of the functions below, or `put_aside`.
    void take_ready(std::size_t limit, std::vector<claimed_job *> &taken);
    void run(claimed_job &job);
    void wait_again(claimed_job &job, std::int64_t ready_ns);
    void try_again(const std::vector<claimed_job *> &them);
    void forget(claimed_job &job);

  private:
    // A timer whose runs, on a worker, call the handlers of the jobs in `queue_` until the queue is empty. So
    // a thousand jobs wake each worker once, not a thousand times.
    struct runner {
        claimed_jobs &home;
        bool is_awake = false, has_run = false;
        tw_handle timer = TW_NO_HANDLE;
    };

    struct name {
        std::string_view kind, key;
        bool operator==(const name &) const = default;
    };
    struct by_name {
        using is_transparent = void;
        static name of(const claimed_job *job) { return {job->kind, job->key}; }
        static name of(const name &self) { return self; }
        template <class Named> std::size_t operator()(const Named &job) const {
            const std::hash<std::string_view> hash;
            return hash(of(job).kind) * 31 + hash(of(job).key);
        }
        template <class One, class Other> bool operator()(const One &one, const Other &other) const {
            return of(one) == of(other);
        }
    };

    friend tests::claimed_jobs_inspector;  // checks the invariants

    void arm(claimed_job &job);
    bool take_off(claimed_job &job);
    void on_time(claimed_job &job);
    claimed_job *add(std::unique_ptr<claimed_job> &&claimed);
    void note_newest(claimed_job &job);
    void move_to(std::vector<claimed_job *> &list, stage at, const std::vector<claimed_job *> &them);
    void forget_unless_running(claimed_job &job);
    void line_up(claimed_job &job);
    void wake_runners(std::int64_t delay = 0);
    void wake(runner &sleeper, std::int64_t delay);
    void run_some(runner &mine);
    void end_turn(runner &mine);
    claimed_job *next_to_run();
    void call_handler(claimed_job &job);
    std::optional<tw_durable_answer> wait_for_answer(claimed_job &job);
    void conclude(claimed_job &job, answer &&what);
    bool put_back_answers(std::vector<answer>::iterator where);
    void note_lost_answers(std::size_t count);
    void measure(std::int64_t took);
    std::unique_ptr<claimed_job> extract(claimed_job &job);
    std::size_t room() const;
    std::size_t room_for_backlog() const;
    std::size_t runs_within(std::int64_t ns) const;

    const settings &settings_;
    const local_clock clock_;
    const database_clock &database_;
    const lease &lease_;
    job_counters &counts_;
    std::function<void()> call_dispatcher_;

    tw_workers *pool_ = nullptr;  // null if the user passed workers, or with `single_thread`
    tw_timers *wheel_ = nullptr, *runs_ = nullptr;  // timers of waiting jobs, and of runners that are awake

    mutable std::mutex mutex_;
    std::unordered_map<std::int64_t, std::unique_ptr<claimed_job>> jobs_;  // by token
    std::unordered_set<claimed_job *, by_name, by_name> newest_;           // see H3
    std::vector<claimed_job *> aside_;
    std::vector<claimed_job *> ready_;  // in the order in which they became ready
    std::vector<answer> answers_, taken_answers_;
    std::size_t locked_answers_ = 0;  // see H6
    std::uint64_t lost_answers_ = 0;
    std::deque<runner> runners_;
    claimed_job *queue_ = nullptr, *end_of_queue_ = nullptr;  // linked by `next`
    std::size_t started_ = 0;                                 // jobs that are queued or running
    std::size_t late_ = 0;                                    // of `jobs_`, those of the backlog
    std::size_t unanswered_ = 0;  // jobs that are unanswered, or whose answer is just being taken
    std::condition_variable all_answered_;
    std::size_t reserved_ = 0;                         // for jobs that are being claimed
    std::int64_t usual_run_ns_ = 10 * TW_MILLISECOND;  // how long a handler takes; at first a guess
    bool has_ended_ = false;
};

}  // namespace tickwheel::durable

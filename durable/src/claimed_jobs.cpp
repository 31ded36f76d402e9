#include "claimed_jobs.hpp"

#include <algorithm>
#include <cerrno>

#include "run_handler.hpp"

namespace tickwheel::durable {

namespace {

constexpr std::int64_t no_epoch = -1;

// Started jobs should wait no longer than this for a worker, because other processes could run them.
constexpr std::int64_t longest_queue_ns = 250 * TW_MILLISECOND;

// The backlog must not delay the other jobs by more than this, so that much of it may be queued by default.
// If handlers are slow, it may keep all workers but one busy.
constexpr std::int64_t longest_backlog_ns = 25 * TW_MILLISECOND;

// A runner gives its worker back after this time, so that the user's pool can do other work.
constexpr std::int64_t longest_turn_ns = 10 * TW_MILLISECOND;

// The pause after a runner's turn that did not run, because the pool was full or the runtime was stopped.
constexpr std::int64_t until_next_try_ns = 10 * TW_MILLISECOND;

}  // namespace

claimed_job::claimed_job(const tw_durable_entry &entry, std::int64_t its_row, const handling &handled_by,
                         const tw_store_member &claimed_for, claimed_jobs &held_in)
    : kind(entry.job.kind), key(entry.job.key),
      payload(static_cast<const char *>(entry.job.payload), entry.job.size),
      cron(entry.job.cron != nullptr ? entry.job.cron : ""),
      zone(entry.job.zone != nullptr ? entry.job.zone : ""), job(entry.job), ready_ns(entry.ready_ns),
      attempts(entry.attempts), token(entry.token), row(its_row), whom(claimed_for), by(handled_by),
      home(held_in), is_started(entry.state == TW_DURABLE_STARTED) {
    job.kind = kind.c_str();
    job.key = key.c_str();
    job.payload = payload.data();
    job.cron = entry.job.cron != nullptr ? cron.c_str() : nullptr;
    job.zone = entry.job.zone != nullptr ? zone.c_str() : nullptr;
    job.group = job.waits_for = nullptr;  // only the database needs them
    if (job.cron != nullptr)
        make_calendar(job, dates, why_no_dates);
}

claimed_jobs::claimed_jobs(const settings &all, const local_clock &clock, const database_clock &its_clock,
                           const lease &held_by, job_counters &counts)
    : settings_(all), clock_(clock), database_(its_clock), lease_(held_by), counts_(counts) {
    taken_answers_.reserve(most_answers);
}

claimed_jobs::~claimed_jobs() {
    tw_timers_free(wheel_);
    tw_timers_free(runs_);
    tw_workers_free(pool_);
}

int claimed_jobs::start(tw_runtime *rt, std::function<void()> call_dispatcher) {
    call_dispatcher_ = std::move(call_dispatcher);
    for (unsigned i = 0; i < settings_.threads; ++i)
        runners_.push_back({*this});
    tw_set_options run_options = {};
    run_options.capacity = 2 * settings_.threads;  // because the end of a turn may begin another
    run_options.label = "durable job";
    run_options.workers = settings_.workers;
    if (settings_.workers == nullptr && !settings_.single_thread) {
        tw_workers_options options = {};
        options.threads = settings_.threads;
        options.queue =
            settings_.threads;  // so the queue is never full, and no handler runs on the runtime's thread
        options.at_stop = TW_STOP_DISCARD;
        options.thread_name = "durable-work";
        if (const int error = tw_workers_new(&pool_, rt, &options); error != 0)
            return error;
        run_options.workers = pool_;
    }
    tw_set_options wheel_options = {};
    wheel_options.label = "durable job, held";
    const int error = tw_timers_new(&wheel_, rt, &wheel_options);
    return error != 0 ? error : tw_timers_new(&runs_, rt, &run_options);
}

// Started jobs that still wait for a worker stay in `jobs_`. In the database they remain started until
// membership::leave releases them.
std::size_t claimed_jobs::end() {
    {
        const std::lock_guard hold(mutex_);
        has_ended_ = true;
    }
    if (wheel_ != nullptr)
        tw_timers_cancel_all(wheel_, nullptr, nullptr);
    if (runs_ != nullptr)
        tw_timers_cancel_all(runs_, nullptr, nullptr);
    std::unique_lock hold(mutex_);
    if (!settings_.single_thread)
        all_answered_.wait(hold, [this] { return unanswered_ == 0; });
    return unanswered_;
}

// --- on the wheel -------------------------------------------------------------------------

// If memory for a timer runs out, the job counts as ready at once. The database then answers that the job is
// not ready, and `wait_again` arms the timer again.
// REQUIRES: mutex held
void claimed_jobs::arm(claimed_job &job) {
    job.at = stage::waiting;
    const std::int64_t left = database_.when(job.ready_ns) - clock_.now();
    tw_task task = {};
    task.arg = &job;
    task.fn = [](const tw_event *, void *arg) {
        claimed_job &due = *static_cast<claimed_job *>(arg);
        due.home.on_time(due);
    };
    tw_when when = {};
    when.due_ns = std::max<std::int64_t>(left, 0);
    if (tw_timer_start(wheel_, &job.timer, &when, &task) != 0) {
        job.at = stage::ready;
        ready_.push_back(&job);
    }
}

void claimed_jobs::on_time(claimed_job &job) {
    {
        const std::lock_guard hold(mutex_);
        if (job.is_forgotten) {
            extract(job);
            return;
        }
        job.at = stage::ready;
        ready_.push_back(&job);
    }
    call_dispatcher_();
}

// `resume` bumps the epoch before it takes its snapshot of `jobs_`, so a claim from the old epoch is either
// in the snapshot or rejected here.
int claimed_jobs::accept(std::vector<std::unique_ptr<claimed_job>> &&claimed,
                         const tw_store_member &whom) noexcept {
    std::unique_lock hold(mutex_);
    const tw_store_member now = lease_.member();
    if (has_ended_ || now.id != whom.id || now.epoch != whom.epoch)
        return -ESTALE;
    int error = 0;
    try {
        ready_.reserve(jobs_.size() + claimed.size());
        aside_.reserve(jobs_.size() + claimed.size());
        answers_.reserve(jobs_.size() + claimed.size() + answers_.size() + taken_answers_.size());
        for (std::unique_ptr<claimed_job> &each : claimed) {
            claimed_job *const job = add(std::move(each));
            if (job == nullptr) {
                error = -EEXIST;
                continue;
            }
            ++counts_.claimed;
            if (job->is_started)
                line_up(*job);
            else
                arm(*job);
        }
    } catch (const std::bad_alloc &) {
        error = -ENOMEM;
    }
    wake_runners();
    const bool has_ready = !ready_.empty();
    hold.unlock();
    if (has_ready)
        call_dispatcher_();
    return error;
}

// Returns null if a job already has this token: a database that lost its last changes gives tokens twice.
// If it throws std::bad_alloc, it has added nothing.
// REQUIRES: mutex held
claimed_job *claimed_jobs::add(std::unique_ptr<claimed_job> &&claimed) {
    claimed_job &job = *claimed;
    const auto [place, is_new] = jobs_.try_emplace(job.token, std::move(claimed));
    if (!is_new)
        return nullptr;
    try {
        note_newest(job);
    } catch (const std::bad_alloc &) {
        jobs_.erase(place);
        throw;
    }
    late_ += job.is_late ? 1 : 0;
    return &job;
}

// Forgets the former job of this name. Otherwise a job that the user puts again and again before it is due,
// as for debouncing, would fill the wheel with its former versions until they are due.
// REQUIRES: mutex held
void claimed_jobs::note_newest(claimed_job &job) {
    const auto found = newest_.find(&job);
    if (found == newest_.end()) {
        newest_.insert(&job);
        return;
    }
    claimed_job &former = **found;
    if (former.token > job.token)
        return;  // `accept` got the two in reverse order: this job is the former one
    auto place = newest_.extract(found);
    place.value() = &job;
    newest_.insert(std::move(place));
    forget_unless_running(former);
}

std::int64_t claimed_jobs::token_of(const char *kind, const char *key) const {
    const std::lock_guard hold(mutex_);
    const auto found = newest_.find(name{kind, key});
    return found != newest_.end() ? (*found)->token : 0;
}

void claimed_jobs::drop(std::int64_t token) {
    const std::lock_guard hold(mutex_);
    if (const auto found = jobs_.find(token); found != jobs_.end())
        forget_unless_running(*found->second);
}

void claimed_jobs::arm_again() {
    {
        const std::lock_guard hold(mutex_);
        for (auto &[token, job] : jobs_)
            if (job->at == stage::waiting && take_off(*job))
                arm(*job);
    }
    call_dispatcher_();  // for jobs that `arm` made ready because memory ran out
}

// Returns false if the timer has fired: on_time was called or will be.
// REQUIRES: mutex held
bool claimed_jobs::take_off(claimed_job &job) { return tw_timer_cancel(wheel_, job.timer) == 1; }

// --- forgetting ---------------------------------------------------------------------------

// REQUIRES: mutex held
std::unique_ptr<claimed_job> claimed_jobs::extract(claimed_job &job) {
    if (const auto newest = newest_.find(&job); newest != newest_.end() && *newest == &job)
        newest_.erase(newest);
    std::unique_ptr<claimed_job> found;
    const auto place = jobs_.find(job.token);
    found.swap(place->second);
    jobs_.erase(place);
    late_ -= job.is_late ? 1 : 0;
    return found;
}

// REQUIRES: mutex held
void claimed_jobs::forget_unless_running(claimed_job &job) {
    if (job.at == stage::running || job.at == stage::unanswered || job.is_forgotten)
        return;
    ++counts_.taken_back;
    job.is_forgotten = true;
    const bool is_in_list = job.at == stage::ready || job.at == stage::aside;
    if (is_in_list)
        std::erase(job.at == stage::ready ? ready_ : aside_, &job);
    if (is_in_list || (job.at == stage::waiting && take_off(job)))
        extract(job);
}

void claimed_jobs::forget_others(const std::unordered_set<std::int64_t> &tokens, std::int64_t epoch) {
    const std::lock_guard hold(mutex_);
    for (auto next = jobs_.begin(); next != jobs_.end();) {
        claimed_job &job = *next->second;
        ++next;
        if (job.whom.epoch != epoch && !tokens.contains(job.token))
            forget_unless_running(job);
    }
}

void claimed_jobs::forget_all() {
    forget_others({}, no_epoch);
    const std::lock_guard hold(mutex_);
    note_lost_answers(answers_.size());
    answers_.clear();
    locked_answers_ = 0;
}

void claimed_jobs::forget(claimed_job &job) {
    const std::lock_guard hold(mutex_);
    counts_.taken_back += job.is_forgotten ? 0 : 1;  // otherwise it was counted when it was forgotten
    extract(job);
}

bool claimed_jobs::is_empty() const {
    const std::lock_guard hold(mutex_);
    return jobs_.empty() && answers_.empty() && taken_answers_.empty() && reserved_ == 0;
}

std::vector<std::int64_t> claimed_jobs::started() const {
    const std::lock_guard hold(mutex_);
    std::vector<std::int64_t> tokens;
    for (const auto &[token, job] : jobs_)
        if (job->at >= stage::queued && !job->is_forgotten)
            tokens.push_back(token);
    return tokens;
}

bool claimed_jobs::has(const std::string &kind, const std::string &key, std::int64_t token) const {
    const std::lock_guard hold(mutex_);
    if (const auto found = jobs_.find(token); found != jobs_.end()) {
        const claimed_job &job = *found->second;
        return !job.is_forgotten && job.kind == kind && job.key == key;
    }
    const auto has_token = [&](const answer &each) { return each.job->token == token; };
    return std::any_of(answers_.begin(), answers_.end(), has_token) ||
           std::any_of(taken_answers_.begin(), taken_answers_.end(), has_token);
}

// The number of further jobs that this process may hold: the free part of `hold`, but no more jobs than the
// workers can start in time, by the usual length of a run. The rest is for other processes, which may be
// idle.
// REQUIRES: mutex held
std::size_t claimed_jobs::room() const {
    const std::size_t taken = jobs_.size() + answers_.size() + taken_answers_.size() + reserved_;
    if (has_ended_ || taken >= settings_.hold)
        return 0;
    const std::size_t waiting =
        std::size_t{2} * settings_.threads;  // for each worker two, however slow they are
    const std::size_t in_time = runs_within(longest_queue_ns) + waiting;
    const std::size_t in_horizon = runs_within(settings_.horizon_ns) + waiting;
    const std::size_t soon = taken - locked_answers_ - aside_.size() - unanswered_;
    if (started_ >= in_time || soon >= in_horizon)
        return 0;
    return std::min({settings_.hold - taken, in_time - started_, in_horizon - soon});
}

// How many handlers can run within this time, by the usual length of a run.
// REQUIRES: mutex held
std::size_t claimed_jobs::runs_within(std::int64_t ns) const {
    const std::int64_t each = std::max<std::int64_t>(usual_run_ns_, TW_MICROSECOND) / settings_.threads + 1;
    return static_cast<std::size_t>(ns / each);
}

// Only the membership claims jobs of the backlog, one claim at a time, so no other reservation is for them.
// REQUIRES: mutex held
std::size_t claimed_jobs::room_for_backlog() const {
    const std::size_t least = std::max(1u, settings_.threads - 1);
    const std::size_t most =
        settings_.backlog != 0 ? settings_.backlog : std::max(runs_within(longest_backlog_ns), least);
    return late_ < most ? std::min(room(), most - late_) : 0;
}

claimed_jobs::reservation claimed_jobs::reserve(std::size_t most, part which, bool soon) {
    const std::lock_guard hold(mutex_);
    const std::size_t free = which == part::of_backlog ? room_for_backlog() : room();
    std::size_t size = std::min(most, which == part::half ? (free + 1) / 2 : free);
    if (soon) {
        const std::size_t most_started =
            std::max<std::size_t>(settings_.threads, runs_within(longest_backlog_ns));
        size = std::min(size, most_started - std::min(most_started, started_));
    }
    reserved_ += size;
    return {*this, size};
}

claimed_jobs::reservation::~reservation() {
    const std::lock_guard hold(of_.mutex_);
    of_.reserved_ -= size_;
}

// --- statistics ---------------------------------------------------------------------------

claimed_jobs::census claimed_jobs::count() const {
    const std::lock_guard hold(mutex_);
    return {jobs_.size(), started_ + unanswered_, answers_.size() + taken_answers_.size()};
}

std::vector<claimed_jobs::sketch> claimed_jobs::sketches() const {
    const std::lock_guard hold(mutex_);
    std::vector<sketch> all;
    all.reserve(jobs_.size());
    for (const auto &[token, job] : jobs_)
        all.push_back({job->kind, job->key, job->ready_ns, token, job->at});
    return all;
}

// --- starting -----------------------------------------------------------------------------

void claimed_jobs::take_ready(std::size_t limit, std::vector<claimed_job *> &taken) {
    const std::lock_guard hold(mutex_);
    const auto end = ready_.begin() + static_cast<std::ptrdiff_t>(std::min(limit, ready_.size()));
    taken.assign(ready_.begin(), end);
    ready_.erase(ready_.begin(), end);
    for (claimed_job *const job : taken)
        job->at = stage::confirming;
}

void claimed_jobs::try_again(const std::vector<claimed_job *> &them) {
    const std::lock_guard hold(mutex_);
    move_to(ready_, stage::ready, them);
}

// REQUIRES: mutex held
void claimed_jobs::move_to(std::vector<claimed_job *> &list, stage at,
                           const std::vector<claimed_job *> &them) {
    for (claimed_job *const job : them) {
        if (job->is_forgotten) {
            extract(*job);
            continue;
        }
        job->at = at;
        list.push_back(job);
    }
}

void claimed_jobs::wait_again(claimed_job &job, std::int64_t ready_ns) {
    const std::lock_guard hold(mutex_);
    if (job.is_forgotten || has_ended_) {
        extract(job);
        return;
    }
    job.ready_ns = ready_ns;
    arm(job);
}

void claimed_jobs::run(claimed_job &job) {
    const std::lock_guard hold(mutex_);
    if (job.is_forgotten || has_ended_) {
        extract(job);
        return;
    }
    line_up(job);
    wake_runners();
}

// REQUIRES: mutex held
void claimed_jobs::line_up(claimed_job &job) {
    job.at = stage::queued;
    job.next = nullptr;
    (queue_ == nullptr ? queue_ : end_of_queue_->next) = &job;
    end_of_queue_ = &job;
    ++started_;
}

// Wakes a sleeping runner for each queued job. Runners that are awake do not count: each may be busy for
// long.
// REQUIRES: mutex held
void claimed_jobs::wake_runners(std::int64_t delay) {
    const claimed_job *for_this_one = queue_;
    for (runner &each : runners_) {
        if (for_this_one == nullptr)
            return;
        if (each.is_awake)
            continue;
        wake(each, delay);
        for_this_one = for_this_one->next;
    }
}

// REQUIRES: mutex held
void claimed_jobs::wake(runner &sleeper, std::int64_t delay) {
    tw_task turn = {};
    turn.arg = &sleeper;
    turn.fn = [](const tw_event *, void *arg) {
        runner &mine = *static_cast<runner *>(arg);
        mine.home.run_some(mine);
    };
    turn.drop = [](void *arg) {  // after the turn, and if there is none because the pool is full or stops
        runner &mine = *static_cast<runner *>(arg);
        mine.home.end_turn(mine);
    };
    tw_when when = {};
    when.due_ns = delay;
    sleeper.has_run = false;
    sleeper.is_awake = tw_timer_start(runs_, &sleeper.timer, &when, &turn) == 0;
}

// --- running ------------------------------------------------------------------------------

// On virtual time the clock stands still during a turn, so a turn runs one job.
void claimed_jobs::run_some(runner &mine) {
    mine.has_run = true;
    const std::int64_t end = settings_.single_thread ? clock_.now() : clock_.now() + longest_turn_ns;
    do {
        claimed_job *const job = next_to_run();
        if (job == nullptr)
            break;
        call_handler(*job);
    } while (clock_.now() < end);
}

void claimed_jobs::end_turn(runner &mine) {
    const std::lock_guard hold(mutex_);
    mine.is_awake = false;
    if (!has_ended_)
        wake_runners(mine.has_run ? 0 : until_next_try_ns);
}

claimed_job *claimed_jobs::next_to_run() {
    const std::lock_guard hold(mutex_);
    while (queue_ != nullptr && !has_ended_) {
        claimed_job *const first = queue_;
        queue_ = first->next;
        if (!first->is_forgotten) {
            first->at = stage::running;
            return first;
        }
        --started_;
        extract(*first);
    }
    return nullptr;
}

void claimed_jobs::call_handler(claimed_job &job) {
    const std::int64_t begun = clock_.now();
    // The database has said that the job is ready; our estimate of its clock may be behind.
    std::optional<answer> what =
        run_handler(job, std::max(database_.at(begun), job.ready_ns), lease_, clock_, counts_);
    measure(clock_.now() - begun);
    if (!what) {
        const std::optional<tw_durable_answer> early = wait_for_answer(job);
        if (!early)
            return;
        what = outcome_of(job, *early, counts_);
    }
    conclude(job, std::move(*what));
    call_dispatcher_();
}

// Returns the answer if it has come already. Otherwise the job belongs to the user from here on, and may be
// gone.
std::optional<tw_durable_answer> claimed_jobs::wait_for_answer(claimed_job &job) {
    const std::lock_guard hold(mutex_);
    if (!job.early_answer) {
        job.at = stage::unanswered;
        --started_;
        ++unanswered_;
        late_ -= job.is_late ? 1 : 0;  // it keeps no worker from other jobs
        job.is_late = false;
    }
    return job.early_answer;
}

// `end` may return, and this object be gone, once `unanswered_` is 0.
int claimed_jobs::answer_later(claimed_job &job, tw_durable_answer said) {
    {
        const std::lock_guard hold(mutex_);
        if (job.early_answer)
            return -EALREADY;
        if (job.at == stage::running) {
            job.early_answer = said;
            return 0;
        }
    }
    conclude(job, outcome_of(job, said, counts_));
    call_dispatcher_();
    const std::lock_guard hold(mutex_);
    if (--unanswered_ == 0)
        all_answered_.notify_all();
    return 0;
}

void claimed_jobs::conclude(claimed_job &job, answer &&what) {
    const std::lock_guard hold(mutex_);
    started_ -= job.at == stage::running ? 1 : 0;
    what.job = extract(job);
    if (lease_.member().id == what.job->whom.id) {
        answers_.push_back(std::move(what));
        std::swap(answers_.back(), *(answers_.end() - 1 - static_cast<std::ptrdiff_t>(locked_answers_)));
    } else {
        note_lost_answers(1);
    }
}

void claimed_jobs::measure(std::int64_t took) {
    const std::lock_guard hold(mutex_);
    usual_run_ns_ += (took - usual_run_ns_) / 8;
}

// --- answers ------------------------------------------------------------------------------

const std::vector<answer> &claimed_jobs::take_answers() {
    const std::lock_guard hold(mutex_);
    const std::size_t count = std::min(most_answers, answers_.size() - locked_answers_);
    const auto end = answers_.begin() + static_cast<std::ptrdiff_t>(count);
    taken_answers_.assign(std::make_move_iterator(answers_.begin()), std::make_move_iterator(end));
    answers_.erase(answers_.begin(), end);
    return taken_answers_;
}

void claimed_jobs::return_answers() {
    const std::lock_guard hold(mutex_);
    put_back_answers(answers_.end() - static_cast<std::ptrdiff_t>(locked_answers_));
}

void claimed_jobs::finish_answers(const std::vector<tw_store_outcome> &outcomes) {
    const std::lock_guard hold(mutex_);
    std::size_t locked = 0;
    for (std::size_t i = 0; i < outcomes.size(); ++i)
        if (outcomes[i].matched == -EBUSY)
            std::swap(taken_answers_[locked++], taken_answers_[i]);
    taken_answers_.erase(taken_answers_.begin() + static_cast<std::ptrdiff_t>(locked), taken_answers_.end());
    if (put_back_answers(answers_.end()))
        locked_answers_ += locked;
}

// Moves the taken answers back into `answers_`. Drops them and returns false if the member has lost its jobs.
// REQUIRES: mutex held
bool claimed_jobs::put_back_answers(std::vector<answer>::iterator where) {
    const bool is_member = lease_.member().id != 0;
    if (is_member)
        answers_.insert(where, std::make_move_iterator(taken_answers_.begin()),
                        std::make_move_iterator(taken_answers_.end()));
    else
        note_lost_answers(taken_answers_.size());
    taken_answers_.clear();
    return is_member;
}

void claimed_jobs::put_aside(const std::vector<claimed_job *> &them) {
    const std::lock_guard hold(mutex_);
    move_to(aside_, stage::aside, them);
}

void claimed_jobs::bring_back() {
    const std::lock_guard hold(mutex_);
    locked_answers_ = 0;
    move_to(ready_, stage::ready, aside_);
    aside_.clear();
}

bool claimed_jobs::has_aside() const {
    const std::lock_guard hold(mutex_);
    return locked_answers_ != 0 || !aside_.empty();
}

std::uint64_t claimed_jobs::lost_answers() const {
    const std::lock_guard hold(mutex_);
    return lost_answers_;
}

// REQUIRES: mutex held
void claimed_jobs::note_lost_answers(std::size_t count) {
    counts_.unmatched += count;
    lost_answers_ += count;
}

}  // namespace tickwheel::durable

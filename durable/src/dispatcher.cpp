#include "dispatcher.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

#include "explain.hpp"

namespace tickwheel::durable {

namespace {

constexpr std::size_t batch = 512;

// The most rounds of starts and answers in one step.
constexpr unsigned most_rounds = 16;

// How soon the dispatcher asks again about jobs that another transaction has locked, and after how long it
// reports the lock.
constexpr std::int64_t pause_if_locked_ns = 200 * TW_MILLISECOND, long_lock_ns = TW_SECOND;

// If a question takes this long and does not reach the database, the dispatcher asks no more until the
// membership has reached the database: otherwise every due job would wait for that long.
constexpr std::int64_t long_wait_ns = 250 * TW_MILLISECOND;

}  // namespace

dispatcher::dispatcher(const database &to, const settings &all, const local_clock &clock,
                       database_clock &its_clock, const lease &held_by, membership &books, claimed_jobs &jobs,
                       troubles &found, job_counters &counts)
    : connection_(to), settings_(all), clock_(clock), database_(its_clock), lease_(held_by),
      membership_(books), jobs_(jobs), troubles_(found), counts_(counts) {
    taken_.reserve(batch);
    refused_.reserve(batch);
    questions_.reserve(batch);
    outcomes_.reserve(claimed_jobs::most_answers);
}

// Starts go first, because those jobs are due. If this step asked nothing and the last question could not
// reach the database, the dispatcher tries to connect, so that it notices when the database is back.
std::int64_t dispatcher::step(std::int64_t now) {
    has_asked_ = false;
    error_ = 0;
    if (now >= bring_back_at_)
        jobs_.bring_back();
    bool may_start = true, may_settle = true, has_moved = true;
    for (unsigned round = 0; has_moved && round < most_rounds; ++round) {
        const progress starts = may_start && !starts_no_more_ ? start_some() : progress::none;
        const progress answers = may_settle ? settle_some() : progress::none;
        may_start = may_start && starts != progress::stuck;
        may_settle = may_settle && answers != progress::stuck;
        has_moved = starts == progress::some || answers == progress::some;
    }
    if (!has_asked_ && is_lost_)
        ask([](const tw_store &, void *) { return 0; }, if_away::give_up);
    if (has_asked_)
        is_lost_ = is_loss(error_);
    const bool is_at_rest = may_start && may_settle && error_ == 0 && !is_lost_;
    watch_what_is_aside();
    if ((has_asked_ || !is_lost_) && troubles_.note(agent_name::dispatcher, error_))
        call_membership_();
    if (is_at_rest || !has_asked_)  // if the dispatcher did not ask, the membership is trying to connect
        pause_.reset();
    const std::int64_t again = has_moved ? now : is_at_rest ? never : clock_.now() + pause_.next();
    return std::min(again, bring_back_at_);
}

// Schedules the next question about jobs that wait for another transaction, and reports the lock if it lasts.
void dispatcher::watch_what_is_aside() {
    const std::int64_t now = clock_.now();
    if (!jobs_.has_aside()) {
        bring_back_at_ = aside_since_ = never;
        return;
    }
    if (aside_since_ == never)
        aside_since_ = now;
    if (now >= bring_back_at_ || bring_back_at_ == never)
        bring_back_at_ = now + pause_if_locked_ns;
    const bool lease_lasts = lease_.remaining(lease_.member().id, now) > 0;
    if (error_ == 0 && lease_lasts && now - aside_since_ >= long_lock_ns)
        error_ = refuse(-EBUSY, "another transaction has locked jobs that are due, or have been answered");
}

// --- starts -------------------------------------------------------------------------------

dispatcher::progress dispatcher::start_some() {
    jobs_.take_ready(batch, taken_);
    if (taken_.empty())
        return progress::none;
    questions_.clear();
    for (const claimed_job *const job : taken_)
        questions_.push_back({job->kind.c_str(), job->key.c_str(), job->token, job->row, 0, 0});
    std::int64_t now = 0;
    const int error = ask_to_start(now);
    if (error == 0)
        apply(now);
    else if (!is_loss(error) || !go_on_alone()) {
        jobs_.try_again(taken_);
        return progress::stuck;
    }
    return progress::some;
}

// One connection may break or go silent while the database is up, so the dispatcher repeats the question on a
// new one. While the membership cannot reach the database either, the dispatcher asks only about starts, so
// that no removed job fires if the database answers after all, and only as long as such attempts fail
// quickly. -ESTALE is not worth a report: the membership is just raising the epoch, or is about to find that
// other processes have taken over.
template <class Ask> int dispatcher::ask(const Ask &question, if_away then) {
    if (is_away(then))
        return -ENOTCONN;
    bool was_connected = false;
    int error = ask_once(question, was_connected);
    if (is_loss(error) && was_connected)
        error = ask_once(question, was_connected);
    if (error != 0 && error != -ESTALE)
        error_ = error;
    return error;
}

// On virtual time the clock does not move during a question, so a timeout also counts as a long wait.
template <class Ask> int dispatcher::ask_once(const Ask &question, bool &was_connected) {
    has_asked_ = true;
    const std::int64_t begun = clock_.now();
    const auto error = static_cast<int>(connection_.ask([&](const tw_store &store, void *connection) {
        was_connected = true;
        return question(store, connection);
    }));
    counts_.errors += error != 0 ? 1 : 0;
    has_waited_ = error == -ETIMEDOUT || (is_loss(error) && clock_.now() - begun >= long_wait_ns);
    return error;
}

int dispatcher::ask_to_start(std::int64_t &now) {
    const tw_store_member member = lease_.member();
    database_clock::reading reading = {0, 0, 0};
    const int error = ask(
        [&](const tw_store &store, void *connection) {
            reading.asked = clock_.now();
            return store.start(connection, &member, questions_.data(), questions_.size(), &reading.now);
        },
        settings_.confirmed_only ? if_away::give_up : if_away::ask_while_quick);
    reading.answered = clock_.now();
    now = reading.now;
    if (error == 0 && database_.add(reading))
        jobs_.arm_again();
    return error;
}

// Puts aside ready jobs that the database did not start: the lease has ended, and the membership renews it or
// finds that others took over; or another transaction has locked the job.
void dispatcher::apply(std::int64_t now) {
    refused_.clear();
    for (std::size_t i = 0; i < taken_.size(); ++i) {
        const tw_store_start &answer = questions_[i];
        taken_[i]->row = answer.row;
        if (answer.started != 0)
            jobs_.run(*taken_[i]);
        else if (answer.ready_ns == TW_NO_DEADLINE)
            jobs_.forget(*taken_[i]);
        else if (answer.ready_ns > now)
            jobs_.wait_again(*taken_[i], answer.ready_ns);
        else
            refused_.push_back(taken_[i]);
    }
    jobs_.put_aside(refused_);
}

// Starts the taken jobs without the database. Returns false if they have to wait for the database. The jobs
// became ready by an estimate of the database's clock, which may have been set back since.
bool dispatcher::go_on_alone() {
    const tw_store_member member = lease_.member();
    const std::int64_t now = clock_.now();
    if (settings_.confirmed_only || lease_.remaining(member.id, now) == 0)
        return false;
    for (claimed_job *const job : taken_) {
        if (job->ready_ns > database_.at(now)) {
            jobs_.wait_again(*job, job->ready_ns);
            continue;
        }
        ++counts_.unconfirmed;
        jobs_.run(*job);
    }
    membership_.note_unconfirmed();
    call_membership_();
    return true;
}

// --- answers ------------------------------------------------------------------------------

dispatcher::progress dispatcher::settle_some() {
    const std::vector<answer> &answers = jobs_.take_answers();
    if (answers.empty())
        return progress::none;
    outcomes_.clear();
    for (const answer &each : answers)
        outcomes_.push_back(each.outcome());
    const tw_store_member member = lease_.member();
    const std::int64_t asked = clock_.now();
    const int error = ask(
        [&](const tw_store &store, void *connection) {
            return store.settle(connection, &member, outcomes_.data(), outcomes_.size());
        },
        if_away::give_up);
    if (error != 0) {
        jobs_.return_answers();
        return progress::stuck;
    }
    for (const tw_store_outcome &outcome : outcomes_)
        counts_.unmatched += outcome.matched == 0 ? 1 : 0;
    jobs_.finish_answers(outcomes_);
    // On virtual time the membership must look for notifications, see job_calls.cpp.
    if (membership_.note_settled(outcomes_, asked) || settings_.single_thread)
        call_membership_();
    return progress::some;
}

// The membership's thread keeps running meanwhile: it reconnects, and renews the lease. With `single_thread`
// nothing else runs, so the function tries once.
std::size_t dispatcher::settle_rest(std::int64_t timeout_ns) {
    is_closing_ = true;
    const std::int64_t until = clock_.now() + timeout_ns;
    for (;;) {
        error_ = 0;
        jobs_.bring_back();
        progress made;
        do
            made = settle_some();
        while (made == progress::some);
        troubles_.note(agent_name::dispatcher, error_);
        const std::size_t left = jobs_.count().unsettled;
        if (left == 0 || settings_.single_thread)
            return left;
        if (clock_.now() >= until) {
            if (error_ == 0)
                troubles_.note(agent_name::dispatcher, refuse(-EBUSY, "another transaction has locked jobs"));
            return left;
        }
        std::this_thread::sleep_for(std::chrono::nanoseconds(growing_pause::shortest_ns));
    }
}

}  // namespace tickwheel::durable

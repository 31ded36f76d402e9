#include "gate.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

namespace tickwheel::durable {

namespace {

constexpr std::size_t batch = 512;

}  // namespace

gate::gate(const database &to, const settings &all, const local_clock &clock, database_clock &its_clock,
           const lease &held_by, clerk &books, holding &jobs, troubles &found, counters &counts)
    : line_(to), settings_(all), clock_(clock), database_(its_clock), lease_(held_by), clerk_(books),
      jobs_(jobs), troubles_(found), counts_(counts) {
    taken_.reserve(batch);
    refused_.reserve(batch);
    questions_.reserve(batch);
    outcomes_.reserve(holding::most_answers);
}

// Starts go first, as somebody waits for them.
std::int64_t gate::step(std::int64_t) {
    error_ = 0;
    bool may_start = true, may_settle = true, has_moved = true;
    while (has_moved) {
        const progress starts = may_start ? start_some() : progress::none;
        const progress answers = may_settle ? settle_some() : progress::none;
        may_start = may_start && starts != progress::stuck;
        may_settle = may_settle && answers != progress::stuck;
        has_moved = starts == progress::some || answers == progress::some;
    }
    if (troubles_.note(agent_name::gate, error_))
        call_clerk_();
    if (error_ == 0 || is_loss(error_))
        pause_.reset();
    const bool is_at_rest = may_start && may_settle && error_ == 0;  // else this trouble may be over then
    return is_at_rest ? never : clock_.now() + pause_.next();
}

// --- starts -------------------------------------------------------------------------------

gate::progress gate::start_some() {
    jobs_.take_ready(batch, taken_);
    if (taken_.empty())
        return progress::none;
    questions_.clear();
    for (const held_job *const it : taken_)
        questions_.push_back({it->kind.c_str(), it->key.c_str(), it->token, 0, 0});
    refused_.clear();
    std::int64_t now = 0;
    const int error = ask_to_start(now);
    if (error == 0)
        apply(now);
    else if (!is_loss(error) || !go_on_alone())
        refused_ = taken_;
    jobs_.try_again(refused_);
    return refused_.empty() ? progress::some : progress::stuck;
}

// One connection may break although the database is there, so the question is repeated on another; a hung
// database has had its time. The clerk finds out when a database that is away is there again: until then the
// gate makes no tries of its own. -ESTALE is no trouble: the clerk is just raising the epoch, or is about to
// find that others have taken over.
template <class Ask> int gate::ask(const Ask &question) {
    if (is_away())
        return -ENOTCONN;
    std::int64_t error = line_.ask(question);
    counts_.errors += error != 0 ? 1 : 0;
    if (error == -ENOTCONN && !is_away()) {
        error = line_.ask(question);
        counts_.errors += error != 0 ? 1 : 0;
    }
    if (error != 0 && error != -ESTALE)
        error_ = static_cast<int>(error);
    return static_cast<int>(error);
}

int gate::ask_to_start(std::int64_t &now) {
    const tw_store_member member = lease_.member();
    database_clock::reading reading = {0, 0, 0};
    const int error = ask([&](const tw_store &store, void *connection) {
        reading.asked = clock_.now();
        return store.start(connection, &member, questions_.data(), questions_.size(), &reading.now);
    });
    reading.answered = clock_.now();
    now = reading.now;
    if (error == 0 && database_.add(reading))
        jobs_.arm_again();
    return error;
}

// Those that are ready and were not started, because the lease has ended, are refused. The clerk renews it,
// or finds that others have taken over.
void gate::apply(std::int64_t now) {
    for (std::size_t i = 0; i < taken_.size(); ++i) {
        const tw_store_start &answer = questions_[i];
        if (answer.started != 0)
            jobs_.run(*taken_[i]);
        else if (answer.ready_ns == TW_STORE_NEVER)
            jobs_.forget(*taken_[i]);
        else if (answer.ready_ns > now)
            jobs_.wait_again(*taken_[i], answer.ready_ns);
        else
            refused_.push_back(taken_[i]);
    }
}

// Returns false if they have to wait for the database. They became ready by what was known of its clock then,
// and that may have been set back since.
bool gate::go_on_alone() {
    const tw_store_member member = lease_.member();
    const std::int64_t now = clock_.now();
    if (settings_.confirmed_only || lease_.remaining(member.id, now) == 0)
        return false;
    for (held_job *const it : taken_) {
        if (it->ready_ns > database_.at(now)) {
            jobs_.wait_again(*it, it->ready_ns);
            continue;
        }
        ++counts_.unconfirmed;
        jobs_.run(*it);
    }
    clerk_.note_unconfirmed();
    call_clerk_();
    return true;
}

// --- answers ------------------------------------------------------------------------------

gate::progress gate::settle_some() {
    const std::vector<answer> &answers = jobs_.take_answers();
    if (answers.empty())
        return progress::none;
    outcomes_.clear();
    for (const answer &it : answers)
        outcomes_.push_back(it.outcome());
    const tw_store_member member = lease_.member();
    const int error = ask([&](const tw_store &store, void *connection) {
        return store.settle(connection, &member, outcomes_.data(), outcomes_.size());
    });
    if (error != 0) {
        jobs_.give_back_answers();
        return progress::stuck;
    }
    for (const tw_store_outcome &it : outcomes_)
        counts_.unmatched += it.matched == 0 ? 1 : 0;
    const std::int64_t soonest = first_ready(answers);
    jobs_.drop_answers();
    if (clerk_.note_settled(soonest))
        call_clerk_();
    return progress::some;
}

// By the local clock.
std::int64_t gate::first_ready(const std::vector<answer> &answers) const {
    std::int64_t first = never;
    for (const answer &it : answers)
        if (it.what == TW_STORE_MOVE)
            first =
                std::min(first, it.ready_is_delay ? clock_.now() + it.ready_ns : database_.when(it.ready_ns));
    return first;
}

// The clerk goes on meanwhile: it connects again, and keeps the lease. On virtual time there is no meanwhile.
std::size_t gate::settle_rest(std::int64_t timeout_ns) {
    is_closing_ = true;
    const std::int64_t until = clock_.now() + timeout_ns;
    for (;;) {
        error_ = 0;
        const progress made = settle_some();
        troubles_.note(agent_name::gate, error_);
        if (made == progress::none)
            return 0;
        if (made == progress::some)
            continue;
        if (settings_.single_thread || clock_.now() >= until)
            return jobs_.count().unsettled;
        std::this_thread::sleep_for(std::chrono::nanoseconds(growing_pause::shortest_ns));
    }
}

}  // namespace tickwheel::durable

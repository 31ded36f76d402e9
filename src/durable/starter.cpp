#include "starter.hpp"

#include <cerrno>

namespace tickwheel::durable {

namespace {

constexpr std::size_t batch = 512;
constexpr std::int64_t pause_ns = 50 * TW_MILLISECOND;

}  // namespace

starter::starter(const database &to, const settings &all, const local_clock &clock, database_clock &its_clock,
                 const lease &held_by, const std::atomic<bool> &is_connected, holding &jobs, counters &counts)
    : line_(to), settings_(all), clock_(clock), database_(its_clock), lease_(held_by),
      is_connected_(is_connected), jobs_(jobs), counts_(counts) {}

std::int64_t starter::step(std::int64_t) {
    for (;;) {
        const std::vector<held_job *> them = jobs_.take_ready(batch);
        if (them.empty())
            return never;
        std::vector<tw_store_start> questions;
        questions.reserve(them.size());
        for (const held_job *const it : them)
            questions.push_back({it->kind.c_str(), it->key.c_str(), it->token, 0, 0});
        std::int64_t now = 0;
        std::vector<held_job *> refused;
        const int error = ask(questions, now);
        if (error == 0)
            refused = apply(them, questions, now);
        else if (error == -ESTALE || !go_on_alone(them))
            refused = them;
        if (!refused.empty()) {
            jobs_.try_again(refused);
            return clock_.now() + pause_ns;
        }
    }
}

// The clerk finds out when the database is there again. Until then jobs do not wait here for tries of their
// own.
int starter::ask(std::vector<tw_store_start> &questions, std::int64_t &now) {
    if (!line_.is_open() && !is_connected_)
        return -ENOTCONN;
    const tw_store_member member = lease_.member();
    database_clock::reading reading = {clock_.now(), 0, 0};
    const auto error = line_.ask([&](const tw_store &store, void *connection) {
        return store.start(connection, &member, questions.data(), questions.size(), &reading.now);
    });
    reading.answered = clock_.now();
    now = reading.now;
    if (error == 0)
        database_.add(reading);
    else
        ++counts_.errors;
    return static_cast<int>(error);
}

// Returns those that are ready and were not started, because the lease has ended. The clerk renews it, or
// finds that others have taken over.
std::vector<held_job *> starter::apply(const std::vector<held_job *> &them,
                                       const std::vector<tw_store_start> &answers, std::int64_t now) {
    std::vector<held_job *> refused;
    for (std::size_t i = 0; i < them.size(); ++i) {
        if (answers[i].started != 0)
            jobs_.run(*them[i]);
        else if (answers[i].ready_ns == TW_STORE_NEVER)
            jobs_.forget(*them[i]);
        else if (answers[i].ready_ns > now)
            jobs_.wait_again(*them[i], answers[i].ready_ns);
        else
            refused.push_back(them[i]);
    }
    return refused;
}

// Returns false if they have to wait for the database.
bool starter::go_on_alone(const std::vector<held_job *> &them) {
    const tw_store_member member = lease_.member();
    if (settings_.confirmed_only || lease_.remaining(member.id, clock_.now()) == 0)
        return false;
    for (held_job *const it : them) {
        ++counts_.unconfirmed;
        jobs_.run(*it);
    }
    return true;
}

}  // namespace tickwheel::durable

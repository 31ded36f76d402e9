#include "membership.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <unordered_set>
#include <utility>

#include "explain.hpp"
#include "run_handler.hpp"
#include "utf8_text.hpp"

namespace tickwheel::durable {

namespace {

constexpr std::size_t claim_batch = 1000, burial_batch = 1000;

// The pause after a look that has left ready jobs in the database.
constexpr std::int64_t pause_before_next_look_ns = 10 * TW_MILLISECOND;

// The longest pause after a look that has found only jobs that another transaction has locked.
constexpr std::int64_t longest_pause_of_locked_ns = 200 * TW_MILLISECOND;

// The pause after a look for which there was no room. Forgotten jobs make room, too, without waking the
// membership.
constexpr std::int64_t pause_if_no_room_ns = 100 * TW_MILLISECOND;

// The pause after a resume that another transaction's lock has hindered.
constexpr std::int64_t pause_if_locked_ns = TW_SECOND;

constexpr std::int64_t poll_if_told_ns = 20 * TW_SECOND, poll_if_not_ns = 100 * TW_MILLISECOND;

// The lease of a process that holds no jobs, if it is not longer anyway.
constexpr std::int64_t long_lease_ns = 180 * TW_SECOND;

// A job that is late by more than this belongs to the backlog.
constexpr std::int64_t late_ns = TW_SECOND;

// Notifications tell of jobs that are ready within a minute; some of it may pass before the put commits.
constexpr std::int64_t announced_within_ns = 50 * TW_SECOND;

// The pause after a look of a kind of which as many jobs are held as may be, unless this process settles one.
// Otherwise each put would make each process look.
constexpr std::int64_t pause_if_full_ns = 50 * TW_MILLISECOND;

// Starts of a kind with a rate may come early by this, or by this part of the rate's time if that is shorter.
// So a timer that is late slows nothing down, and one claim takes several jobs.
constexpr std::int64_t longest_tolerance_ns = 20 * TW_MILLISECOND, part_of_tolerance = 50;

// Within any time of the length `per_ns` there are at most (per_ns + tolerance_ns) / pause_ns starts.
void set_limits(tw_store_claim &wanted, const tw_durable_handling &how) {
    wanted.running = how.running;
    if (how.rate == 0)
        return;
    wanted.tolerance_ns = std::min(longest_tolerance_ns, how.per_ns / part_of_tolerance);
    wanted.pause_ns = (how.per_ns + wanted.tolerance_ns + how.rate - 1) / how.rate;
}

}  // namespace

membership::membership(const database &to, const settings &all, const local_clock &clock,
                       database_clock &its_clock, lease &held_by, claimed_jobs &jobs, troubles &found,
                       job_counters &counts)
    : connection_(to), settings_(all), clock_(clock), database_(its_clock), lease_(held_by), jobs_(jobs),
      troubles_(found), counts_(counts), pause_of_locked_ns_(pause_before_next_look_ns),
      claim_limit_(claim_batch) {}

// --- calls from other threads -------------------------------------------------------------

const handling *membership::handling_of(const char *kind) const {
    const std::lock_guard hold(mutex_);
    for (const handling &known : handlings_)
        if (known.kind == kind)
            return &known;
    return nullptr;
}

int membership::handle(handling &&what) {
    std::list<search> added(what.has_limit() ? 1 : 0, search{0, 0});
    const std::lock_guard hold(mutex_);
    for (const handling &known : handlings_)
        if (known.kind == what.kind)
            return -EEXIST;
    handlings_.push_back(std::move(what));
    for (search &of_kind : added)
        of_kind.only = &handlings_.back();
    limited_.splice(limited_.end(), added);
    if (!handlings_.back().has_limit()) {
        has_unlimited_ = true;
        present_.look_at = present_.from = 0;
    }
    return 0;
}

// REQUIRES: mutex held
template <class Each> void membership::each_search(const Each &each) {
    if (has_unlimited_) {
        each(present_);
        each(backlog_);
    }
    for (search &of_kind : limited_)
        each(of_kind);
}

// The search that claims jobs of this kind when they become ready.
// REQUIRES: mutex held
membership::search &membership::search_for(const char *kind) {
    for (search &of_kind : limited_)
        if (of_kind.only->kind == kind)
            return of_kind;
    return present_;
}

// A lower bound of the time of the database at which a job is ready, if its put began at this local time; 0
// if the database's clock is not known yet.
std::int64_t membership::ready_of(const tw_durable_job &job, std::int64_t asked) const {
    if (job.absolute != 0)
        return job.due_ns;
    return database_.is_known() ? database_.at(asked) + std::min(job.due_ns, TW_STORE_TIME_MAX) : 0;
}

// Notes that a job may be pending that is ready at this time of the database or later.
// REQUIRES: mutex held
bool membership::expect(search &which, std::int64_t ready) {
    which.from = std::min(which.from, ready);
    const std::int64_t enters = (database_.is_known() ? database_.when(ready) : 0) - horizon_of(which);
    const std::int64_t look_at = std::max(enters, which.not_before);
    if (look_at >= which.look_at)
        return false;
    which.look_at = look_at;
    return true;
}

// A held job waits by the database's clock. So as long as that is unknown, no put may hold its job.
claimed_jobs::reservation membership::choose_to_hold(std::vector<tw_store_put> &puts) {
    const std::int64_t now = clock_.now();
    std::vector<tw_store_put *> chosen;
    if (database_.is_known())
        for (tw_store_put &put : puts) {
            const handling *const by = handling_of(put.job->kind);
            if (put.job->waits_for == nullptr && by != nullptr && !by->has_limit() &&
                ready_of(*put.job, now) <= database_.at(now) + settings_.horizon_ns)
                chosen.push_back(&put);
        }
    claimed_jobs::reservation room = jobs_.reserve(chosen.size(), claimed_jobs::part::half);
    chosen.resize(has_long_lease_ ? 0 : room.size());  // after `reserve`: see renew
    for (tw_store_put *const put : chosen)
        put->hold = 1;
    return room;
}

bool membership::note_puts(const std::vector<tw_store_put> &puts, const tw_store_member &whom,
                           std::int64_t asked, int error) noexcept {
    const bool may_have_happened =
        error == -ENOTCONN || error == -ETIMEDOUT || error == -ENOMEM || error == -EIO;
    if (error != 0 && !may_have_happened)
        return false;
    bool has_news = false;
    if (error == 0 && guarded([&] { return accept_puts(puts, whom, asked, has_news); }) == 0)
        return has_news;
    if (std::none_of(puts.begin(), puts.end(), [](const tw_store_put &put) { return put.hold != 0; }))
        return has_news;
    ++doubts_;
    return true;
}

// Returns 0, or an error if the database may hold jobs that this process does not know.
int membership::accept_puts(const std::vector<tw_store_put> &puts, const tw_store_member &whom,
                            std::int64_t asked, bool &has_news) {
    std::vector<std::unique_ptr<claimed_job>> held;
    for (const tw_store_put &put : puts) {
        if (put.token == 0) {
            has_news = note_pending(put.job->kind, ready_of(*put.job, asked)) || has_news;
            continue;
        }
        tw_durable_entry entry = {};
        entry.job = *put.job;
        entry.job.due_ns = entry.ready_ns = put.ready_ns;
        entry.job.absolute = 1;
        entry.state = put.started != 0 ? TW_DURABLE_STARTED : TW_DURABLE_HELD;
        entry.token = put.token;
        held.push_back(
            std::make_unique<claimed_job>(entry, put.row, *handling_of(put.job->kind), whom, jobs_));
    }
    const int error = jobs_.accept(std::move(held), whom);
    return error == -ESTALE ? 0 : error;
}

bool membership::note_pending(const char *kind, std::int64_t ready) {
    if (kind != nullptr && handling_of(kind) == nullptr)
        return false;
    const std::lock_guard hold(mutex_);
    if (kind != nullptr)
        return expect(search_for(kind), ready);
    bool has_news = false;
    each_search([&](search &each) { has_news = (&each != &backlog_ && expect(each, ready)) || has_news; });
    return has_news;
}

bool membership::note_settled(const std::vector<tw_store_outcome> &outcomes, std::int64_t asked) {
    const std::lock_guard hold(mutex_);
    bool has_settled = false, has_news = false;
    for (const tw_store_outcome &job : outcomes) {
        if (job.matched < 0)
            continue;
        has_settled = true;
        search &of = search_for(job.kind);
        if (job.what == TW_STORE_MOVE && job.matched == 1) {
            const std::int64_t begins = job.ready_is_delay != 0 ? database_.at(asked) : 0;
            has_news = expect(of, begins + job.ready_ns) || has_news;
        }
        if (of.only == nullptr)
            continue;
        of.has_freed = true;
        if (of.is_full) {
            of.look_at = 0;
            has_news = true;
        }
    }
    if (!has_settled)
        return false;
    each_search([&](search &each) {
        if (std::exchange(each.wants_room, false)) {
            each.look_at = 0;
            has_news = true;
        }
    });
    return has_news;
}

// --- a step -------------------------------------------------------------------------------

std::int64_t membership::step(std::int64_t now) {
    {
        const std::lock_guard hold(mutex_);
        if (handlings_.empty())
            return never;
    }
    watch_lease(now);
    if (now < try_at_) {
        tell_of_connection();  // the dispatcher may have recorded an error
        return try_at_;
    }
    int error;
    try {
        error = work();
    } catch (const std::bad_alloc &) {
        error = refuse(-ENOMEM, "no memory");
    }
    const std::int64_t pause = error != 0 ? pause_after(error) : 0;
    troubles_.note(agent_name::membership, error);
    tell_of_connection();
    if (error != 0)
        return clock_.now() + pause;
    pause_.reset();
    const std::lock_guard hold(mutex_);
    std::int64_t next = std::min({renew_at_, probe_at_, sweep_.at(), resume_at_});
    each_search([&](const search &each) { next = std::min(next, each.look_at); });
    return next;
}

int membership::work() {
    if (const int error = connect(); error != 0)
        return error;
    // Reads the notifications again at the end: those that arrived during a call are already in the
    // connection, and do not make its descriptor readable.
    for (const auto part :
         {&membership::begin_to_listen, &membership::resume, &membership::listen_to_others, &membership::look,
          &membership::bury, &membership::announce, &membership::listen_to_others}) {
        if (const int error = renew_if_due(); error != 0)
            return error;
        if (const int error = (this->*part)(); error != 0)
            return error;
    }
    return 0;
}

// Makes the rest of this step, or else the next one, look for jobs from the start.
void membership::look_soon() {
    const std::lock_guard hold(mutex_);
    each_search([&](search &each) {
        if (&each != &backlog_)
            each.look_at = each.from = 0;
    });
}

std::int64_t membership::pause_after(int error) {
    ++counts_.errors;
    is_away_ = is_loss(error);
    if (!connection_.is_open()) {
        is_connected_ = false;
        notification_fd_ = -1;
        renew_at_ = 0;  // the next connection may lead to another server
        ++doubts_;
    }
    const std::int64_t pause = std::min(pause_.next(), settings_.lease_ns / 6);
    try_at_ = clock_.now() + pause;
    return pause;
}

// Reports each change once, however often the membership retries meanwhile.
void membership::tell_of_connection() {
    const trouble now = troubles_.now();
    if (now.error == 0 && !is_connected_)
        return;
    const tw_durable_event event = now.error == 0       ? TW_DURABLE_CONNECTED
                                   : is_loss(now.error) ? TW_DURABLE_DISCONNECTED
                                                        : TW_DURABLE_REFUSED;
    const int error = event == TW_DURABLE_REFUSED ? now.error : 0;
    if (told_ == event && told_error_ == error)
        return;
    told_ = event;
    told_error_ = error;
    tell(event, now.error != 0 ? now.why : "");
}

void membership::tell(tw_durable_event event, const char *why) const {
    if (settings_.on_event == nullptr)
        return;
    const in_user_code inside;
    settings_.on_event(event, why, settings_.on_event_arg);
}

void membership::learn(const database_clock::reading &reading) {
    if (!database_.add(reading))
        return;
    jobs_.arm_again();
    look_soon();  // the times of the former clock mean nothing now
}

// --- membership ---------------------------------------------------------------------------

int membership::connect() {
    if (const int error = connection_.open(); error != 0)
        return error;
    is_away_ = false;
    return lease_.member().id == 0 ? join() : 0;
}

// Tells people which kinds this member handles and what its machine's clock shows. The kinds only grow.
int membership::announce() {
    const tw_store_member member = lease_.member();
    const std::vector<const char *> kinds = handled_kinds();
    const std::int64_t offset =
        settings_.single_thread ? 0
                                : time_of_day() - database_.at(clock_.now()) - database_.uncertainty() / 2;
    const bool is_told = announced_.id == member.id && announced_kinds_ == kinds.size() &&
                         std::abs(offset - announced_offset_ns_) <= TW_SECOND;
    if (is_told || !database_.is_known())
        return 0;
    const auto error = connection_.ask([&](const tw_store &store, void *connection) {
        return store.announce(connection, &member, kinds.data(), kinds.size(), offset);
    });
    if (error != 0)
        return unless_stale(static_cast<int>(error));
    announced_ = member;
    announced_kinds_ = kinds.size();
    announced_offset_ns_ = offset;
    return 0;
}

int membership::begin_to_listen() {
    if (is_connected_)
        return 0;
    const auto bell = connection_.ask([](const tw_store &store, void *connection) {
        return store.listen != nullptr ? store.listen(connection) : -EOPNOTSUPP;
    });
    if (bell < 0 && !connection_.is_open())
        return static_cast<int>(bell);
    notification_fd_ = bell >= 0 ? static_cast<int>(bell) : -1;
    poll_ns_ = settings_.poll_ns;
    if (poll_ns_ == 0)
        poll_ns_ = bell >= 0 ? poll_if_told_ns : poll_if_not_ns;
    is_connected_ = true;
    ++counts_.connects;
    look_soon();
    return 0;
}

int membership::join() {
    tw_store_member member = {};
    const std::int64_t asked = clock_.now();
    const unsigned doubts = doubts_;
    const auto error = connection_.ask([&](const tw_store &store, void *connection) {
        return store.join(connection, settings_.name.c_str(), settings_.lease_ns, &member);
    });
    if (error != 0)
        return static_cast<int>(error);
    lease_.begin(member, asked, settings_.lease_ns);
    has_long_lease_ = false;
    busy_at_ = asked;
    resolved_doubts_ = doubts;  // the database holds no jobs for a new member
    resume_at_ = never;
    has_told_lease_ = false;
    renew_at_ = 0;
    return 0;
}

int membership::rejoin() {
    lose_membership();
    return join();
}

int membership::renew_if_due() { return clock_.now() >= renew_at_ ? renew() : 0; }

int membership::renew() {
    // A put reserves room before it reads `has_long_lease_`; here the order is the reverse. So no put holds
    // its job under the long lease: either the put sees the flag, or this function sees the reservation.
    const std::int64_t now = clock_.now();
    const std::uint64_t claimed = counts_.claimed;
    if (std::exchange(claimed_by_renewal_, claimed) != claimed || is_expecting())
        busy_at_ = now;
    has_long_lease_ = now - busy_at_ >= settings_.lease_ns;
    if (has_long_lease_ && !jobs_.is_empty())
        has_long_lease_ = false;
    return renew_for(has_long_lease_ ? std::max(long_lease_ns, settings_.lease_ns) : settings_.lease_ns);
}

int membership::renew_for(std::int64_t length) {
    const tw_store_member member = lease_.member();
    database_clock::reading reading = {clock_.now(), 0, 0};
    lease_.shorten(reading.asked, length);  // the database may carry this out, and the answer get lost
    const auto error = connection_.ask([&](const tw_store &store, void *connection) {
        return store.renew(connection, &member, length, &reading.now);
    });
    if (error == -ESTALE)
        return has_doubts() ? resume() : rejoin();  // if an answer was lost, the epoch may have changed
    if (error != 0)
        return static_cast<int>(error);
    reading.answered = clock_.now();
    lease_.set_length(reading.asked, length);
    has_long_lease_ = length > settings_.lease_ns;
    has_told_lease_ = false;
    learn(reading);
    renew_at_ = reading.asked + length / 3;
    return 0;
}

// True if a claim is due soon.
bool membership::is_expecting() {
    const std::lock_guard hold(mutex_);
    std::int64_t next = never;
    each_search([&](const search &each) { next = std::min(next, each.look_at); });
    return next < clock_.now() + settings_.horizon_ns;
}

void membership::lose_membership() {
    lease_.end();
    jobs_.forget_all();
    if (!has_told_lease_) {
        ++counts_.lost_leases;
        tell(TW_DURABLE_LEASE_LOST, "the lease has ended, and others took over");
    }
    has_told_lease_ = true;
}

// If the database is away for too long, the lease ends by the local clock, and no call reports that.
void membership::watch_lease(std::int64_t now) {
    if (lease_.member().id == 0 || has_told_lease_ || now < lease_.until())
        return;
    has_told_lease_ = true;
    ++counts_.lost_leases;
    tell(TW_DURABLE_LEASE_LOST, "it was not renewed in time");
}

std::int64_t membership::ask_what_is_held(const std::vector<std::int64_t> &started, tw_store_member &member,
                                          std::vector<finding> &found) {
    return connection_.ask([&](const tw_store &store, void *connection) {
        return store.resume(
            connection, &member, started.data(), started.size(),
            [](const tw_durable_entry *entry, void *arg) {
                return guarded([&] {
                    static_cast<std::vector<finding> *>(arg)->push_back(
                        {entry->job.kind, entry->job.key, entry->token, entry->state});
                    return 0;
                });
            },
            &found);
    });
}

int membership::resume() {
    if (!has_doubts() && clock_.now() < resume_at_)
        return 0;
    const unsigned doubts = doubts_;
    tw_store_member member = lease_.member();
    const std::vector<std::int64_t> started = jobs_.started();
    std::vector<finding> found;
    const auto error = ask_what_is_held(started, member, found);
    if (error == -ESTALE)
        return rejoin();
    lease_.set_epoch(member.epoch);  // the epoch may have risen even if the rest failed; renewals need it
    if (error != 0)
        return static_cast<int>(error);

    const std::unordered_set<std::int64_t> to_mark(started.begin(), started.end());
    std::unordered_set<std::int64_t> tokens;
    std::vector<tw_store_outcome> unknown;
    bool is_unmarked = false;
    for (const finding &job : found) {
        tokens.insert(job.token);
        is_unmarked = is_unmarked || (job.state == TW_DURABLE_HELD && to_mark.contains(job.token));
        if (!jobs_.has(job.kind, job.key, job.token))
            unknown.push_back(
                {job.kind.c_str(), job.key.c_str(), job.token, 0, TW_STORE_RELEASE, 0, 0, 0, 0, nullptr, 0});
    }
    jobs_.forget_others(tokens, member.epoch);
    std::size_t locked = 0;
    if (!unknown.empty()) {
        look_soon();  // a connection gets no notification of its own release
        if (const int failed = settle(unknown, member, locked); failed != 0)
            return failed;
    }
    resolved_doubts_ = doubts;
    resume_at_ = is_unmarked || locked != 0 ? clock_.now() + pause_if_locked_ns : never;
    return 0;
}

int membership::settle(std::vector<tw_store_outcome> &outcomes, const tw_store_member &whom,
                       std::size_t &locked) {
    const auto error = connection_.ask([&](const tw_store &store, void *connection) {
        return store.settle(connection, &whom, outcomes.data(), outcomes.size());
    });
    for (const tw_store_outcome &job : outcomes)
        locked += error == 0 && job.matched == -EBUSY ? 1 : 0;
    return static_cast<int>(error);
}

// --- claims -------------------------------------------------------------------------------

int membership::listen_to_others() {
    if (notification_fd_ < 0)
        return 0;
    return static_cast<int>(connection_.ask([&](const tw_store &store, void *connection) {
        return store.read_notifications(
            connection,
            [](const char *kind, std::int64_t ready, void *arg) {
                static_cast<membership *>(arg)->note_pending(kind, ready);
            },
            this);
    }));
}

// Moves what is late from the present search to that of the backlog.
// REQUIRES: mutex held
void membership::part_backlog(std::int64_t now) {
    if (!database_.is_known())
        return;
    const std::int64_t present_begins = database_.at(now) - late_ns;
    const std::int64_t late_from = std::min(present_.from, present_.sequence_from);
    if (late_from >= present_begins)
        return;
    backlog_.from = std::min(backlog_.from, late_from);
    backlog_.look_at = std::min(backlog_.look_at, now);
    present_.from = std::max(present_.from, present_begins);
    if (present_.sequence_from < present_begins)
        present_.sequence_from = present_begins;
}

// Returns where to begin, and plans the next look in case that this one does not.
std::int64_t membership::begin_look(search &which) {
    const std::lock_guard hold(mutex_);
    which.look_at = never;
    return std::exchange(which.from, TW_NO_DEADLINE);
}

void membership::begin_again(search &which, std::int64_t from, std::int64_t look_at) {
    const std::lock_guard hold(mutex_);
    which.from = std::min(which.from, from);
    which.look_at = std::min(which.look_at, look_at);
}

// Takes in what a look or a probe has seen of other members. Another one may claim jobs just now, and may
// die: its jobs must not be late by more than its lease and a third.
void membership::note_others(const tw_store_look &seen) {
    const std::int64_t now = clock_.now();
    has_dead_ = has_dead_ || (seen.lease_end_ns <= seen.now_ns && now >= bury_again_at_);
    const std::lock_guard hold(mutex_);
    probe_at_ = now + std::min(poll_ns_, settings_.lease_ns + settings_.lease_ns / 3);
    if (seen.lease_end_ns != TW_NO_DEADLINE)
        probe_at_ =
            std::min(probe_at_, std::max(database_.when(seen.lease_end_ns), now + pause_if_locked_ns));
}

// Takes in what a claim with limits that has not reached its own limit says of them.
void membership::note_limits(search &which, const tw_store_look &seen) {
    const std::int64_t now = clock_.now();
    const std::lock_guard hold(mutex_);
    which.is_full = seen.is_full != 0 && seen.next_ns <= seen.now_ns;
    which.not_before = seen.starts_ns > seen.now_ns ? database_.when(seen.starts_ns) : 0;
    if (which.is_full)
        which.not_before = std::max(which.not_before, now + pause_if_full_ns);
}

// Takes in what a look or a probe has seen that left no jobs but those at `next_ns` and later. Jobs that
// enter the horizon one after the other are claimed in batches: the look after a look comes after a part of
// the horizon if no job is due much sooner.
void membership::end_look(search &by, const tw_store_look &seen, std::int64_t pause) {
    const std::int64_t now = clock_.now();
    const std::lock_guard hold(mutex_);
    const std::int64_t next = std::min(seen.next_ns, std::exchange(by.sequence_from, TW_NO_DEADLINE));
    const bool is_late = &by == &backlog_ && next < seen.now_ns - late_ns;
    search &which = &by == &backlog_ && !is_late ? present_ : by;  // the backlog may have ended
    // If a job becomes pending that is ready before that, this process puts it or is notified.
    const bool is_told = notification_fd_ >= 0;
    which.from = std::min({which.from, next, is_told ? seen.now_ns + announced_within_ns : 0});
    if (next == TW_NO_DEADLINE || (which.is_full && !which.has_freed))
        return;
    const std::int64_t ready = is_late ? 0 : database_.when(next), horizon = horizon_of(which);
    const bool can_wait = pause != 0 && ready > now + horizon / 2;
    const std::int64_t soonest = now + (can_wait ? horizon / 4 : pause);
    const std::int64_t allowed = which.is_full ? now : which.not_before;
    which.look_at = std::min(which.look_at, std::max({ready - horizon, soonest, allowed}));
}

membership::due membership::what_is_due() {
    const std::int64_t now = clock_.now();
    const std::lock_guard hold(mutex_);
    part_backlog(now);
    return {has_unlimited_ && now >= present_.look_at, has_unlimited_ && now >= backlog_.look_at,
            std::any_of(limited_.begin(), limited_.end(),
                        [now](const auto &each) { return now >= each.look_at; }),
            now >= std::min(probe_at_, sweep_.at())};
}

// Looks or probes, if it is time to. If a claim took as many jobs as it could, the next step looks again at
// once, after it has renewed the lease if that is due, and read the notifications.
int membership::look() {
    due what = what_is_due();
    if (what.probe && (!what.any_search() || clock_.now() >= sweep_.at())) {
        if (const int error = probe(); error != 0)
            return error;
        what = what_is_due();
    }
    if (!what.any_search())
        return 0;
    if (has_long_lease_) {
        if (const int error = renew_for(settings_.lease_ns); error != 0)
            return error;
        if (has_long_lease_) {  // the member had to resume first
            renew_at_ = 0;
            return 0;
        }
    }
    int error = what.present ? look_for(present_) : 0;
    if (error == 0 && what.backlog)
        error = look_for(backlog_);
    return error == 0 && what.limited ? look_within_limits() : error;
}

int membership::look_within_limits() {
    std::vector<search *> those;
    {
        const std::lock_guard hold(mutex_);
        for (search &of_kind : limited_)
            if (clock_.now() >= of_kind.look_at)
                those.push_back(&of_kind);
    }
    for (search *const of_kind : those) {
        if (const int error = renew_if_due(); error != 0)
            return error;
        if (const int error = look_for(*of_kind); error != 0)
            return error;
    }
    return 0;
}

// Tells the others that this process has settled a job of a kind with limits, and has no room for the next.
int membership::offer_to_others(search &which) {
    {
        const std::lock_guard hold(mutex_);
        if (!std::exchange(which.has_freed, false) || notification_fd_ < 0)
            return 0;
    }
    const auto error = connection_.ask([&](const tw_store &store, void *connection) {
        return store.notify(connection, which.only->kind.c_str());
    });
    if (error == 0)
        return 0;
    const std::lock_guard hold(mutex_);
    which.has_freed = true;
    return static_cast<int>(error);
}

int membership::look_for(search &which) {
    const bool has_limits = which.only != nullptr, is_backlog = &which == &backlog_;
    const std::vector<const char *> kinds = kinds_of(which);
    const std::int64_t from = begin_look(which);
    const std::int64_t now = database_.is_known() ? database_.at(clock_.now()) : 0;
    // The claimed jobs that are ready before this time belong to the backlog.
    const std::int64_t late_before = has_limits ? now - late_ns : is_backlog ? TW_NO_DEADLINE : 0;
    const bool is_late = is_backlog || from < late_before;
    const claimed_jobs::reservation room = jobs_.reserve(
        claim_limit_, is_late ? claimed_jobs::part::of_backlog : claimed_jobs::part::all, has_limits);
    if (room.size() == 0) {  // `note_settled` makes the membership look again
        begin_again(which, from, clock_.now() + pause_if_no_room_ns);
        {
            const std::lock_guard hold(mutex_);
            which.wants_room = true;
        }
        return has_limits ? offer_to_others(which) : 0;
    }
    tw_store_claim wanted = {
        lease_.member(), kinds.data(), kinds.size(), horizon_of(which), room.size(), from, 0, 0, 0, 0};
    if (is_backlog)
        wanted.horizon_ns = -late_ns;
    if (has_limits) {
        set_limits(wanted, which.only->how);
        const std::lock_guard hold(mutex_);
        which.has_freed = false;
    }
    tw_store_look seen = {};
    std::size_t count = 0;
    std::int64_t last = from;
    const int error = claim(wanted, late_before, seen, count, last);
    if (error != 0)
        begin_again(which, from, 0);
    if (error == -EBUSY || error == -ETIMEDOUT)  // the claim may have been too large for the timeout
        claim_limit_ = std::max<std::size_t>(1, claim_limit_ / 4);
    if (error != 0)
        return unless_stale(error);
    if (count == claim_limit_)  // raise the limit slowly, because a claim that fails costs a timeout
        claim_limit_ = std::min(claim_batch, claim_limit_ + claim_limit_ / 16 + 1);
    if (count < room.size()) {
        note_others(seen);
        if (has_limits)
            note_limits(which, seen);
        // Jobs that are ready and could not be claimed are locked. The first looks follow each other quickly.
        const bool is_limited = seen.is_full != 0 || seen.starts_ns > seen.now_ns;
        const bool is_locked = count == 0 && seen.next_ns <= seen.now_ns && !is_limited;
        pause_of_locked_ns_ = is_locked ? std::min(2 * pause_of_locked_ns_, longest_pause_of_locked_ns)
                                        : pause_before_next_look_ns;
        end_look(which, seen, pause_of_locked_ns_);
        return 0;
    }
    // The claims of a sequence may pass over jobs that other transactions have locked: end_look returns to
    // its start.
    begin_again(which, last, 0);
    const std::lock_guard hold(mutex_);
    which.sequence_from = std::min(which.sequence_from, from);
    return 0;
}

int membership::ask(const tw_store_claim &wanted, tw_store_look &seen) {
    const std::int64_t begun = clock_.now();
    const auto error = connection_.ask([&](const tw_store &store, void *connection) {
        return store.claim(connection, &wanted, nullptr, nullptr, &seen);
    });
    if (error == 0)
        learn({begun, clock_.now(), seen.now_ns});
    return static_cast<int>(error);
}

// The renewal finds out whether the member is dead.
int membership::unless_stale(int error) {
    if (error != -ESTALE)
        return error;
    renew_at_ = 0;
    return 0;
}

// The kinds of which this process does not know that jobs wait. Notes their searches in `whose`.
std::vector<const char *> membership::kinds_to_probe(std::vector<search *> &whose) {
    {
        const std::lock_guard hold(mutex_);
        each_search([&](search &each) {
            if (&each != &backlog_ && !each.is_full)
                whose.push_back(&each);
        });
    }
    std::vector<const char *> kinds;
    for (const search *const each : whose)
        for (const char *const kind : kinds_of(*each))
            kinds.push_back(kind);
    return kinds;
}

// Probes from where the next looks begin; or, if a sweep is due, from before that. The searches of full kinds
// look: a probe would find the jobs that wait.
int membership::probe() {
    const std::int64_t begun = clock_.now();
    const bool sweeps = begun >= sweep_.at();
    const sweep::piece piece = sweep_.next(database_.is_known() ? database_.at(begun) : 0);
    if (sweeps && piece.until != 0)
        return sweep_on(piece);
    std::vector<search *> whose;
    const std::vector<const char *> kinds = kinds_to_probe(whose);
    std::vector<std::int64_t> former;
    std::int64_t from = sweeps ? piece.from : TW_NO_DEADLINE;
    for (search *const each : whose) {
        former.push_back(begin_look(*each));
        from = std::min(from, former.back());
    }
    {
        const std::lock_guard hold(mutex_);
        for (search &of_kind : limited_)
            if (of_kind.is_full)
                of_kind.look_at = std::min(of_kind.look_at, begun);
    }
    tw_store_look seen = {};
    const int error =
        ask({lease_.member(), kinds.data(), kinds.size(), settings_.horizon_ns, 0, from, 0, 0, 0, 0}, seen);
    if (error != 0) {
        for (std::size_t i = 0; i < whose.size(); ++i)
            begin_again(*whose[i], former[i], never);
        if (sweeps && error != -ESTALE)
            sweep_.note_failure(begun, clock_.now());
        return unless_stale(error);
    }
    note_others(seen);
    for (search *const each : whose)
        end_look(*each, seen, 0);
    if (sweeps)
        sweep_.note(piece, begun, clock_.now(), poll_ns_);
    return 0;
}

int membership::sweep_on(const sweep::piece &piece) {
    const std::int64_t begun = clock_.now();
    std::vector<search *> whose;
    const std::vector<const char *> kinds = kinds_to_probe(whose);
    tw_store_look seen = {};
    const int error = ask({lease_.member(), kinds.data(), kinds.size(), settings_.horizon_ns, 0, piece.from,
                           piece.until, 0, 0, 0},
                          seen);
    if (error != 0) {
        sweep_.note_failure(begun, clock_.now());
        return unless_stale(error);
    }
    sweep_.note(piece, begun, clock_.now(), poll_ns_);
    const std::lock_guard hold(mutex_);
    if (seen.next_ns != TW_NO_DEADLINE)
        for (search *const each : whose)
            expect(*each, seen.next_ns);
    return 0;
}

std::vector<const char *> membership::handled_kinds() const {
    const std::lock_guard hold(mutex_);
    std::vector<const char *> kinds;
    for (const handling &known : handlings_)
        kinds.push_back(known.kind.c_str());
    return kinds;
}

std::vector<const char *> membership::kinds_of(const search &which) const {
    if (which.only != nullptr)
        return {which.only->kind.c_str()};
    const std::lock_guard hold(mutex_);
    std::vector<const char *> kinds;
    for (const handling &known : handlings_)
        if (!known.has_limit())
            kinds.push_back(known.kind.c_str());
    return kinds;
}

namespace {

// False for a row that another program has inserted with texts that are not UTF-8: no handler must see such
// texts. A database that checks texts has no such rows.
bool is_readable(const tw_durable_job &job) {
    return is_utf8(job.key) && (job.cron == nullptr || is_utf8(job.cron)) &&
           (job.zone == nullptr || is_utf8(job.zone));
}

}  // namespace

// `last` becomes the latest ready time of the claimed jobs.
int membership::claim(const tw_store_claim &wanted, std::int64_t late_before, tw_store_look &seen,
                      std::size_t &count, std::int64_t &last) {
    struct context {
        membership &self;
        const tw_store_member &whom;
        const std::int64_t late_before;
        std::int64_t &last;
        std::vector<std::unique_ptr<claimed_job>> claimed, unreadable;  // valid if the claim returns 0
    } taking = {*this, wanted.member, late_before, last, {}, {}};
    database_clock::reading reading = {clock_.now(), 0, 0};
    const auto error = connection_.ask([&](const tw_store &store, void *connection) {
        return store.claim(
            connection, &wanted,
            [](const tw_durable_entry *entry, std::int64_t row, void *arg) {
                return guarded([&] {
                    auto &into = *static_cast<context *>(arg);
                    into.last = std::max(into.last, entry->ready_ns);
                    auto &jobs = is_readable(entry->job) ? into.claimed : into.unreadable;
                    jobs.push_back(std::make_unique<claimed_job>(
                        *entry, row, *into.self.handling_of(entry->job.kind), into.whom, into.self.jobs_));
                    jobs.back()->is_late = entry->ready_ns < into.late_before;
                    return 0;
                });
            },
            &taking, &seen);
    });
    if (error != 0) {
        if (error != -ESTALE)
            ++doubts_;  // the call may have claimed jobs that did not arrive here
        return static_cast<int>(error);
    }
    reading.answered = clock_.now();
    reading.now = seen.now_ns;
    learn(reading);
    count = taking.claimed.size() + taking.unreadable.size();
    const int left_out = jobs_.accept(std::move(taking.claimed), wanted.member);
    std::size_t locked = 0;
    const int failed = fail(taking.unreadable, wanted.member, locked);
    if (failed != 0 || locked != 0)
        ++doubts_;  // the next resume releases the jobs
    if (failed != 0)
        return failed;
    if (left_out == 0 || left_out == -ESTALE)
        return 0;
    ++doubts_;  // the next resume releases the rest
    return refuse(left_out, left_out == -ENOMEM ? "no memory" : "the database has given a token twice");
}

// Settles unreadable jobs as failed, with the reason.
int membership::fail(const std::vector<std::unique_ptr<claimed_job>> &jobs, const tw_store_member &whom,
                     std::size_t &locked) {
    if (jobs.empty())
        return 0;
    std::vector<tw_store_outcome> outcomes;
    outcomes.reserve(jobs.size());
    for (const auto &job : jobs)
        outcomes.push_back({job->kind.c_str(), job->key.c_str(), job->token, job->row, TW_STORE_FAIL,
                            job->job.due_ns, job->ready_ns, 0, job->attempts,
                            "its key, cron expression or zone is not UTF-8", 0});
    const int error = settle(outcomes, whom, locked);
    for (const tw_store_outcome &job : outcomes)
        counts_.failed += error == 0 && job.matched == 1 ? 1 : 0;
    return error;
}

int membership::bury() {
    if (!has_dead_)
        return 0;
    const auto released = connection_.ask(
        [](const tw_store &store, void *connection) { return store.bury(connection, burial_batch); });
    if (released < 0)
        return static_cast<int>(released);
    counts_.released += static_cast<std::uint64_t>(released);
    has_dead_ = released == burial_batch;
    bury_again_at_ = clock_.now() + pause_if_locked_ns;  // a dead member may hold locked jobs
    look_soon();  // a member that has died may have been about to claim jobs that nobody else knows of
    return 0;
}

// --- the end ------------------------------------------------------------------------------

void membership::leave() {
    const tw_store_member member = lease_.member();
    if (member.id == 0 || !connection_.is_open())
        return;
    connection_.ask(
        [&](const tw_store &store, void *connection) { return store.leave(connection, &member); });
    lease_.end();
}

}  // namespace tickwheel::durable

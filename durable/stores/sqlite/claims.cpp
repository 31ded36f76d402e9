#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "operations.hpp"
#include "stores/kinds.hpp"

namespace tickwheel::durable::sqlite {

namespace {

// --- claiming --------------------------------------------------------------------------------

struct chosen {
    std::int64_t ready;
    const char *kind;
    std::string key;
};

// The jobs that a claim takes, and the row numbers of jobs that another program inserted with keys that are
// not texts. No statement can name such a job, so the claim fails it; otherwise every claim would meet it.
struct choice {
    std::vector<chosen> jobs;
    std::vector<std::int64_t> unnamed;
};

// Appends the first pending jobs of a kind.
int choose_of_kind(session &of, const char *kind, std::int64_t from, std::int64_t until, std::size_t limit,
                   choice &into) {
    query choosing(of, sql::choose);
    const auto most = static_cast<std::int64_t>(std::min<std::size_t>(limit, INT64_MAX));
    int result = choosing.with(kind).with_time(until).with(most).with_time(from).row();
    while (result == 1) {
        const bool is_named = choosing.is_text(1);  // before `text`, which changes the type
        const char *const key = choosing.text(1);
        if (choosing.is_cut())
            return of.fail(-ENOMEM, "no memory");
        if (is_named)
            into.jobs.push_back({choosing.time(0), kind, key});
        else
            into.unnamed.push_back(choosing.number(2));
        result = choosing.row();
    }
    return result;
}

// Chooses the jobs that are ready first, over all kinds.
int choose(session &of, const tw_store_claim &claim, std::int64_t now, choice &into) {
    const std::int64_t until = time_after(now, claim.horizon_ns);
    for (std::size_t i = 0; i < claim.kinds_count; ++i) {
        if (is_named_before(claim, i))
            continue;
        if (const int error = choose_of_kind(of, claim.kinds[i], claim.from_ns, until, claim.limit, into);
            error != 0)
            return error;
    }
    std::vector<chosen> &jobs = into.jobs;
    std::stable_sort(jobs.begin(), jobs.end(),
                     [](const chosen &one, const chosen &other) { return one.ready < other.ready; });
    if (jobs.size() > claim.limit)
        jobs.erase(jobs.begin() + static_cast<std::ptrdiff_t>(claim.limit), jobs.end());
    return 0;
}

int fail_unnamed(session &to, const std::vector<std::int64_t> &rows) {
    for (const std::int64_t row : rows)
        if (const int error = query(to, sql::fail_unnamed).with(row).run(); error < 0)
            return error;
    return 0;
}

// Returns 0, the result of `each`, or an error.
int visit(session &of, const chosen &job, tw_store_taker *each, void *arg) {
    query read(of, sql::find_job);
    const int found = read.with(job.kind).with(job.key.c_str()).row();
    if (found != 1)
        return found < 0 ? found : of.fail(-EIO, "a job that was held just now is missing");
    tw_durable_entry entry;
    const int error = entry_of(of, read, entry);
    return error != 0 ? error : each(&entry, 0, arg);
}

// What the limits of a claim depend on.
struct usage {
    std::size_t held = 0;
    std::int64_t next = 0;  // see tw_store_claim.pause_ns
};

int read_usage(session &of, const tw_store_claim &claim, usage &use) {
    if (claim.running != 0) {
        query count(of, sql::count_held);
        if (const int found = count.with(claim.kinds[0]).row(); found < 0)
            return found;
        use.held = static_cast<std::size_t>(count.number(0));
    }
    if (claim.pause_ns == 0)
        return 0;
    query read(of, sql::read_pace);
    const int found = read.with(claim.kinds[0]).row();
    use.next = found == 1 ? read.time(0) : 0;
    return found < 0 ? found : 0;
}

// The number of jobs that a claim may take.
std::size_t most_of(const tw_store_claim &claim, const usage &use, std::int64_t now) {
    std::size_t most = claim.limit;
    if (claim.running != 0)
        most = std::min(most, claim.running - std::min<std::size_t>(claim.running, use.held));
    if (claim.pause_ns == 0)
        return most;
    const std::int64_t left = claim.tolerance_ns - std::max<std::int64_t>(use.next - now, 0);
    return left < 0 ? 0 : std::min(most, static_cast<std::size_t>(left / claim.pause_ns) + 1);
}

int note_usage(session &to, const tw_store_claim &claim, usage use, std::size_t taken, tw_store_look &look) {
    look.is_full = claim.running != 0 && use.held + taken >= claim.running ? 1 : 0;
    if (claim.pause_ns == 0)
        return 0;
    if (taken != 0) {
        const std::int64_t pauses = static_cast<std::int64_t>(taken) * claim.pause_ns;
        use.next = time_after(std::max(use.next, look.now_ns), pauses);
        if (const int error = query(to, sql::set_pace).with(claim.kinds[0]).with_time(use.next).run();
            error < 0)
            return error;
    }
    look.starts_ns = std::max<std::int64_t>(use.next - claim.tolerance_ns, 0);
    return 0;
}

int look_on(session &of, const tw_store_claim &claim, tw_store_look &look) {
    look.next_ns = TW_NO_DEADLINE;
    for (std::size_t i = 0; i < claim.kinds_count; ++i) {
        query first(of, sql::first_pending);
        const int found = first.with(claim.kinds[i]).with_time(claim.from_ns).row();
        if (found < 0)
            return found;
        const std::int64_t until = claim.limit == 0 && claim.until_ns != 0 ? claim.until_ns : TW_NO_DEADLINE;
        if (found == 1 && first.time(0) < until)
            look.next_ns = std::min(look.next_ns, first.time(0));
    }
    query ends(of, sql::first_end);
    const int found = ends.with(claim.member.id).with_time(look.now_ns).row();
    look.lease_end_ns = found == 1 && !ends.is_null(0) ? ends.time(0) : TW_NO_DEADLINE;
    return found < 0 ? found : 0;
}

// A visitor's nonzero result ends the claim, and is not always an error.
struct ending {
    int of_visitor = 0;
};

int claim_in_transaction(session &to, const tw_store_claim &request, tw_store_taker *each, void *arg,
                         tw_store_look &look, ending &ended) {
    std::int64_t lease = 0, token = 0;
    const std::int64_t now = look.now_ns = to.now();
    if (const int error = lease_of(to, request.member, lease); error != 0)
        return error;
    if (lease <= now)
        return to.fail(-ESTALE, "the lease has ended");
    choice found;
    usage use;
    if (const int error = read_usage(to, request, use); error != 0)
        return error;
    tw_store_claim allowed = request;
    allowed.limit = most_of(request, use, now);
    if (const int error = choose(to, allowed, now, found); error != 0)
        return error;
    if (const int error = note_usage(to, request, use, found.jobs.size(), look); error != 0)
        return error;
    if (const int error = fail_unnamed(to, found.unnamed); error != 0)
        return error;
    if (const int error = take_tokens(to, found.jobs.size(), token); error != 0)
        return error;
    for (const chosen &job : found.jobs) {
        if (const int error = hold(to, job.kind, job.key.c_str(), request.member.id, ++token, now); error < 0)
            return error;
        ended.of_visitor = visit(to, job, each, arg);
        if (ended.of_visitor != 0)
            return -ECANCELED;
    }
    return look_on(to, request, look);
}

// --- starting and settling -------------------------------------------------------------------

template <typename Of> query &with_held(query &to, const Of &job, const tw_store_member &who) {
    return to.with(job.kind).with(job.key).with(who.id).with(job.token);
}

// Stores the ready time of a held job; TW_NO_DEADLINE if the member does not hold it with this token.
template <typename Of>
int ready_of_held(session &of, const tw_store_member &who, const Of &job, std::int64_t &ready) {
    query read(of, sql::ready_of_held);
    const int found = with_held(read, job, who).row();
    ready = found == 1 ? read.time(0) : TW_NO_DEADLINE;
    return found < 0 ? found : 0;
}

int start_one(session &to, const tw_store_member &who, bool lease_lasts, std::int64_t now,
              tw_store_start &job) {
    job.started = 0;
    if (const int error = ready_of_held(to, who, job, job.ready_ns); error != 0)
        return error;
    if (!lease_lasts || job.ready_ns > now)
        return 0;
    query starting(to, sql::start);
    job.started = with_held(starting, job, who).with_time(now).run();
    return job.started < 0 ? job.started : 0;
}

// Binds the remaining parameters of move_held.
query &with_outcome(query &to, const tw_store_outcome &outcome, std::int64_t now) {
    to.with_time(time_after(0, outcome.due_ns)).with_time(ready_time(outcome, now));
    const std::int64_t failed = outcome.what == TW_STORE_FAIL ? 1 : 0;
    return to.with(static_cast<std::int64_t>(outcome.attempts)).with(outcome.error).with(failed);
}

// Ends a job, and adds its group to `groups`. Returns whether the member holds the job, or an error.
int end_one(session &to, const tw_store_member &who, const tw_store_outcome &outcome,
            std::set<std::string> &groups) {
    query ending(to, sql::end_held);
    const int ended = with_held(ending, outcome, who).row();
    if (ended != 1)
        return ended;
    if (const char *const group = ending.text(0); group != nullptr)
        groups.insert(group);
    return ending.is_cut() ? to.fail(-ENOMEM, "no memory") : 1;
}

int settle_one(session &to, const tw_store_member &who, std::int64_t now, tw_store_outcome &outcome,
               effects &into) {
    if (outcome.what == TW_STORE_END) {
        outcome.matched = end_one(to, who, outcome, into.groups);
        return std::min(outcome.matched, 0);
    }
    std::int64_t ready = TW_NO_DEADLINE;
    if (outcome.what == TW_STORE_RELEASE) {
        if (const int error = ready_of_held(to, who, outcome, ready); error != 0)
            return error;
        into.first = std::min(into.first, ready);
    }
    query settling(to, outcome.what == TW_STORE_RELEASE ? sql::release_one : sql::move_held);
    with_held(settling, outcome, who);
    if (outcome.what != TW_STORE_RELEASE)
        with_outcome(settling, outcome, now);
    outcome.matched = settling.run();
    return std::min(outcome.matched, 0);
}

}  // namespace

int take_tokens(session &of, std::size_t number, std::int64_t &token) {
    const auto many = static_cast<std::int64_t>(number);
    if (many == 0)
        return 0;
    const int error = query(of, sql::next_token).with(many).run();
    query read(of, sql::read_meta);
    const int found = error < 0 ? error : read.with("token").row();
    if (found != 1)
        return found < 0 ? found : of.fail(-EPROTO, "a row of the meta table is missing");
    token = read.number(0) - many;
    return 0;
}

int hold(session &to, const char *kind, const char *key, std::int64_t holder, std::int64_t token,
         std::int64_t now) {
    query holding(to, sql::hold);
    return holding.with(kind).with(key).with(holder).with(token).with_time(now).run();
}

int claim(session &to, const tw_store_claim &request, tw_store_taker *each, void *arg, tw_store_look &look) {
    ending ended;
    const int error =
        in_small_transaction(to, request.limit > 0 ? durability::full : durability::normal,
                             [&] { return claim_in_transaction(to, request, each, arg, look, ended); });
    return ended.of_visitor != 0 ? ended.of_visitor : error;
}

int start(session &to, const tw_store_member &who, tw_store_start *starts, std::size_t count,
          std::int64_t &now) {
    return in_small_transaction(to, durability::normal, [&] {
        std::int64_t lease = 0;
        now = to.now();
        int error = lease_of(to, who, lease);
        for (std::size_t i = 0; error == 0 && i < count; ++i)
            error = start_one(to, who, lease > now, now, starts[i]);
        return error;
    });
}

int settle(session &to, const tw_store_member &who, tw_store_outcome *outcomes, std::size_t count) {
    return in_small_transaction(to, durability::normal, [&] {
        std::int64_t lease = 0;
        effects done;
        const std::int64_t now = to.now();
        int error = lease_of(to, who, lease);
        for (std::size_t i = 0; error == 0 && i < count; ++i)
            error = settle_one(to, who, now, outcomes[i], done);
        return error != 0 ? error : conclude(to, done, now);
    });
}

}  // namespace tickwheel::durable::sqlite

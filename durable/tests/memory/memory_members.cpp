// The memory store: members, and the jobs that they hold.
#include <algorithm>
#include <iterator>
#include <queue>
#include <string_view>
#include <vector>

#include "memory_connection.hpp"

namespace memory {

int join(void *of, const char *name, std::int64_t lease_ns, tw_store_member *out) {
    return locked(of, [=](connection &self) {
        const std::int64_t id = self.base->last_member + 1;
        member fresh;
        fresh.id = id;
        fresh.name = name;
        fresh.joined = self.now();
        fresh.lease_end = time_after(fresh.joined, lease_ns);
        self.base->members.emplace(id, std::move(fresh));
        self.base->last_member = id;
        *out = {.id = id, .epoch = 1};
        return 0;
    });
}

int renew(void *of, const tw_store_member *who, std::int64_t lease_ns, std::int64_t *now_ns) {
    return locked(of, [=](connection &self) {
        member *const found = self.base->find(*who);
        if (found == nullptr || found->epoch != who->epoch)
            return -ESTALE;
        *now_ns = self.now();
        found->lease_end = time_after(*now_ns, lease_ns);
        return 0;
    });
}

int resume(void *of, tw_store_member *who, const std::int64_t *started, std::size_t count,
           tw_store_visitor *each, void *arg) {
    return locked(of, [=](connection &self) {
        member *const found = self.base->find(*who);
        if (found == nullptr)
            return -ESTALE;
        who->epoch = ++found->epoch;
        int result = 0;
        for (auto at = found->held.begin(); result == 0 && at != found->held.end(); ++at) {
            const bool is_started = std::find(started, started + count, (*at)->token) != started + count;
            (*at)->started |= is_started && !(*at)->locked;
            const tw_durable_entry entry = (*at)->entry();
            result = each(&entry, arg);
        }
        return result;
    });
}

int leave(void *of, const tw_store_member *who) {
    return locked(of, [=](connection &self) {
        member *const found = self.base->find(*who);
        if (found == nullptr)
            return -ESTALE;
        for (auto at = found->held.begin(); at != found->held.end();)
            if (job &held = **at++; !held.locked)
                database::release(held);
        found->dead = true;
        if (found->held.empty())
            self.base->members.erase(found->id);
        self.base->tell(&self.listening, 0, self.now());
        return 0;
    });
}

namespace {

// Releases at most `limit` jobs of a dead member, except locked ones. Lowers `first` to the ready time of the
// first of them.
std::size_t bury_one(member &dead, std::size_t limit, std::int64_t &first) {
    std::size_t count = 0;
    for (auto at = dead.held.begin(); count < limit && at != dead.held.end();) {
        job &held = **at++;
        if (held.locked)
            continue;
        ++count;
        held.data.attempts += held.started ? 1 : 0;
        first = std::min(first, held.data.ready);
        database::release(held);
    }
    return count;
}

}  // namespace

std::int64_t bury(void *of, std::size_t limit) {
    return locked(of, [=](connection &self) {
        const std::int64_t now = self.now();
        std::int64_t first = TW_NO_DEADLINE;
        std::size_t count = 0;
        auto &members = self.base->members;
        for (auto at = members.begin(); at != members.end();) {
            member &each = at->second;
            each.dead |= each.lease_end <= now;
            if (each.dead)
                count += bury_one(each, limit - count, first);
            at = each.dead && each.held.empty() ? members.erase(at) : std::next(at);
        }
        self.base->tell(&self.listening, first, now);
        return static_cast<std::int64_t>(count);
    });
}

int announce(void *of, const tw_store_member *who, const char *const *kinds, std::size_t count,
             std::int64_t clock_offset_ns) {
    return locked(of, [=](connection &self) {
        member *const found = self.base->find(*who);
        if (found == nullptr || found->epoch != who->epoch)
            return -ESTALE;
        found->kinds = std::vector<std::string>(kinds, kinds + count);
        found->clock_offset = clock_offset_ns;
        found->knows_kinds = true;
        return 0;
    });
}

// Copies the members, and visits the copies with the database unlocked.
int members(void *of, tw_durable_member_visitor *each, void *arg) {
    struct copy {
        tw_durable_member seen;
        std::string name;
        std::vector<std::string> kinds;
    };
    std::vector<copy> all;
    const int error = locked(of, [&](connection &self) {
        for (const auto &[id, from] : self.base->members) {
            const auto started = std::count_if(from.held.begin(), from.held.end(),
                                               [](const job *one) { return one->started; });
            const auto held =
                static_cast<std::uint64_t>(from.held.size()) - static_cast<std::uint64_t>(started);
            all.push_back({{id, nullptr, from.joined, from.lease_end, from.dead ? 1 : 0, held,
                            static_cast<std::uint64_t>(started), nullptr, 0, from.knows_kinds ? 1 : 0,
                            from.clock_offset},
                           from.name,
                           from.kinds});
        }
        return 0;
    });
    for (std::size_t i = 0; error == 0 && i < all.size(); ++i) {
        std::vector<const char *> kinds;
        for (const std::string &kind : all[i].kinds)
            kinds.push_back(kind.c_str());
        all[i].seen.name = all[i].name.c_str();
        all[i].seen.kinds = kinds.data();
        all[i].seen.kinds_count = kinds.size();
        if (const int ended = each(&all[i].seen, arg); ended != 0)
            return ended;
    }
    return error;
}

// --- claiming --------------------------------------------------------------------------------

namespace {

// The pending jobs of a kind that a claim has not chosen yet, in the order of their ready times.
struct unchosen {
    pending_index::iterator at, end;

    [[nodiscard]] std::int64_t ready() const { return (*at)->data.ready; }
};
struct ready_later {
    bool operator()(const unchosen &one, const unchosen &other) const { return other.ready() < one.ready(); }
};
using choice = std::priority_queue<unchosen, std::vector<unchosen>, ready_later>;

// True if the claim has named the same kind before.
bool is_named_before(const tw_store_claim &claim, std::size_t index) {
    const std::string_view name = claim.kinds[index];
    return std::any_of(claim.kinds, claim.kinds + index, [name](const char *each) { return name == each; });
}

choice choice_of(database &base, const tw_store_claim &claim) {
    std::vector<unchosen> found;
    found.reserve(claim.kinds_count);
    for (std::size_t i = 0; i < claim.kinds_count; ++i) {
        const auto at = base.kinds.find(claim.kinds[i]);
        if (at == base.kinds.end() || is_named_before(claim, i))
            continue;
        // Leaves out what the caller does not ask for, to show whether the library asks for too little.
        const pending_index &pending = at->second.pending;
        const auto first = std::find_if(pending.begin(), pending.end(),
                                        [&](const job *each) { return each->data.ready >= claim.from_ns; });
        const bool is_left_out = claim.limit == 0 && claim.until_ns != 0 && first != pending.end() &&
                                 (*first)->data.ready >= claim.until_ns;
        if (first != pending.end() && !is_left_out)
            found.push_back({first, pending.end()});
    }
    return choice(ready_later(), std::move(found));
}

// Chooses in the order of ready times over all kinds, and skips locked jobs. Changes nothing in the database.
// `next` becomes the ready time of the first job that was not chosen.
std::vector<job *> choose(choice &from, std::int64_t until, std::size_t limit, std::int64_t &next) {
    next = TW_NO_DEADLINE;
    std::vector<job *> chosen;
    while (!from.empty() && from.top().ready() <= until && chosen.size() < limit) {
        unchosen first = from.top();
        from.pop();
        if ((*first.at)->locked)
            next = std::min(next, first.ready());
        else
            chosen.push_back(*first.at);
        if (++first.at != first.end)
            from.push(first);
    }
    if (!from.empty())
        next = std::min(next, from.top().ready());
    return chosen;
}

// Shows the chosen jobs to `each`, as they will be when the member holds them. Returns 0, or what `each`
// returned.
int show(const std::vector<job *> &chosen, const member &holder, std::int64_t token, std::int64_t now,
         tw_store_taker *each, void *arg) {
    int result = 0;
    for (auto at = chosen.begin(); result == 0 && at != chosen.end(); ++at) {
        tw_durable_entry entry = (*at)->entry();
        entry.state = entry.ready_ns <= now ? TW_DURABLE_STARTED : TW_DURABLE_HELD;
        entry.token = ++token;
        entry.holder = holder.name.c_str();
        entry.holder_id = holder.id;
        result = each(&entry, 0, arg);
    }
    return result;
}

}  // namespace

namespace {

// How many jobs the limits of a claim let it take. `next` is the time of its kind: tw_store_claim.pause_ns.
std::size_t most_of(const tw_store_claim &claim, std::size_t held, std::int64_t next, std::int64_t now) {
    std::size_t most = claim.limit;
    if (claim.running != 0)
        most = std::min(most, held < claim.running ? claim.running - held : 0);
    const std::int64_t left = claim.tolerance_ns - std::max<std::int64_t>(next - now, 0);
    if (claim.pause_ns != 0)
        most = std::min(most, left < 0 ? 0 : static_cast<std::size_t>(left / claim.pause_ns) + 1);
    return most;
}

}  // namespace

int claim(void *of, const tw_store_claim *request, tw_store_taker *each, void *arg, tw_store_look *look) {
    return locked(of, [=](connection &self) {
        database &base = *self.base;
        const std::int64_t now = self.now();
        member *const holder = base.find_claimer(request->member, now);
        if (holder == nullptr)
            return -ESTALE;
        const std::size_t held = request->running != 0 ? base.count_held(request->kinds[0]) : 0;
        std::int64_t none = 0;
        std::int64_t &next = request->pause_ns != 0 ? base.next_starts[request->kinds[0]] : none;
        choice from = choice_of(base, *request);
        const auto chosen = choose(from, time_after(now, request->horizon_ns),
                                   most_of(*request, held, next, now), look->next_ns);
        const auto pauses = static_cast<std::int64_t>(chosen.size()) * request->pause_ns;
        const std::int64_t next_after = time_after(std::max(next, now), pauses);
        look->is_full = request->running != 0 && held + chosen.size() >= request->running ? 1 : 0;
        look->starts_ns = request->pause_ns != 0 ? next_after - request->tolerance_ns : 0;
        look->now_ns = now;
        look->lease_end_ns = base.first_end(*holder, now);
        if (const int result = show(chosen, *holder, base.last_token, now, each, arg); result != 0)
            return result;
        for (job *const claimed : chosen)
            base.hold(*claimed, *holder, now);
        if (!chosen.empty())
            next = next_after;
        return 0;
    });
}

// --- held jobs -------------------------------------------------------------------------------

namespace {

// Returns the job if the member holds it with this token, else null.
job *held_by(database &base, const member &holder, const char *kind_name, const char *key,
             std::int64_t token) {
    job *const found = base.find(kind_name, key);
    return found != nullptr && found->holder == &holder && found->token == token ? found : nullptr;
}

void start_one(tw_store_start &which, job *held, bool lease_lasts, std::int64_t now) {
    which.started = 0;
    which.ready_ns = held != nullptr ? held->data.ready : TW_NO_DEADLINE;
    if (lease_lasts && which.ready_ns <= now && !held->locked) {
        held->started = true;
        which.started = 1;
    }
}

void move_to(job &settled, const tw_store_outcome &outcome, std::optional<std::string> &error,
             std::int64_t now) {
    database::take_out(settled);
    settled.holder = nullptr;
    settled.started = false;
    settled.failed = outcome.what == TW_STORE_FAIL;
    settled.data.due = time_after(0, outcome.due_ns);
    settled.data.ready = time_after(outcome.ready_is_delay != 0 ? now : 0, outcome.ready_ns);
    settled.data.attempts = outcome.attempts;
    settled.data.no_later = TW_NO_DEADLINE;
    settled.data.error = std::move(error);
    database::put_in(settled);
}

void settle_one(database &base, job &held, const tw_store_outcome &outcome, std::optional<std::string> &error,
                std::int64_t now) {
    switch (outcome.what) {
    case TW_STORE_END:
        base.erase(held);
        break;
    case TW_STORE_RELEASE:
        database::release(held);
        break;
    default:
        move_to(held, outcome, error, now);
    }
}

std::vector<std::optional<std::string>> errors_of(const tw_store_outcome *outcomes, std::size_t count) {
    std::vector<std::optional<std::string>> errors(count);
    for (std::size_t i = 0; i < count; ++i) {
        if (outcomes[i].error != nullptr)
            errors[i] = outcomes[i].error;
    }
    return errors;
}

}  // namespace

int start(void *of, const tw_store_member *who, tw_store_start *starts, std::size_t count,
          std::int64_t *now_ns) {
    return locked(of, [=](connection &self) {
        const std::int64_t now = *now_ns = self.now();
        const member *const holder = self.base->find(*who);
        if (holder == nullptr || holder->epoch != who->epoch)
            return -ESTALE;
        for (tw_store_start *each = starts; each != starts + count; ++each) {
            job *const held = held_by(*self.base, *holder, each->kind, each->key, each->token);
            start_one(*each, held, holder->lease_end > now, now);
        }
        return 0;
    });
}

int settle(void *of, const tw_store_member *who, tw_store_outcome *outcomes, std::size_t count) {
    return locked(of, [=](connection &self) {
        const std::int64_t now = self.now();
        const member *const holder = self.base->find(*who);
        if (holder == nullptr || holder->epoch != who->epoch)
            return -ESTALE;
        auto errors = errors_of(outcomes, count);
        std::int64_t released = TW_NO_DEADLINE;
        for (std::size_t i = 0; i < count; ++i) {
            tw_store_outcome &each = outcomes[i];
            job *const held = held_by(*self.base, *holder, each.kind, each.key, each.token);
            each.matched = held == nullptr ? 0 : held->locked ? -EBUSY : 1;
            if (each.matched == 1 && each.what == TW_STORE_RELEASE)
                released = std::min(released, held->data.ready);
            if (each.matched == 1)
                settle_one(*self.base, *held, each, errors[i], now);
        }
        self.base->tell(&self.listening, std::min(released, self.base->release_waiting(now)), now);
        return 0;
    });
}

}  // namespace memory

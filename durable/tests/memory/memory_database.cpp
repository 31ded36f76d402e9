#include "memory_database.hpp"

#include <unistd.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "memory_times.hpp"

namespace memory {

bool by_ready::operator()(const job *one, const job *other) const {
    if (one->data.ready != other->data.ready)
        return one->data.ready < other->data.ready;
    return *one->key < *other->key;
}

bool by_key::operator()(const job *one, const job *other) const { return *one->key < *other->key; }

bool by_token::operator()(const job *one, const job *other) const { return one->token < other->token; }

// --- jobs ------------------------------------------------------------------------------------

tw_durable_state job::state() const {
    if (holder != nullptr)
        return started ? TW_DURABLE_STARTED : TW_DURABLE_HELD;
    if (failed)
        return TW_DURABLE_FAILED;
    if (data.waits_for)
        return TW_DURABLE_WAITING;
    const bool is_given_up =
        data.error && data.attempts == 0 && data.ready == data.due && (data.period != 0 || data.cron);
    return is_given_up ? TW_DURABLE_GIVEN_UP : TW_DURABLE_PENDING;
}

namespace {

const char *text_of(const std::optional<std::string> &text) { return text ? text->c_str() : nullptr; }

std::optional<std::string> copy_of(const char *text) {
    return text != nullptr ? std::optional<std::string>(text) : std::nullopt;
}

job_data data_of(const tw_durable_job &from, std::int64_t now) {
    job_data data;
    if (from.size != 0)
        data.payload.assign(static_cast<const char *>(from.payload), from.size);
    data.cron = copy_of(from.cron);
    data.zone = copy_of(from.zone);
    data.period = from.period_ns;
    data.grace = from.grace_ns;
    data.missed = from.missed;
    data.group = copy_of(from.group);
    data.waits_for = copy_of(from.waits_for);
    data.no_later = from.within_ns != 0 ? time_after(now, from.within_ns) : TW_NO_DEADLINE;
    data.due = std::min(time_after(from.absolute != 0 ? 0 : now, from.due_ns), data.no_later);
    data.ready = data.waits_for ? TW_NO_DEADLINE : data.due;
    return data;
}

index_node node_for(job &fresh) {
    pending_index maker;
    return maker.extract(maker.insert(&fresh).first);
}

}  // namespace

tw_durable_entry job::entry() const {
    tw_durable_entry entry{};
    entry.job.kind = of->name->c_str();
    entry.job.key = key->c_str();
    entry.job.payload = data.payload.empty() ? nullptr : data.payload.data();
    entry.job.size = data.payload.size();
    entry.job.due_ns = data.due;
    entry.job.absolute = 1;
    entry.job.period_ns = data.period;
    entry.job.cron = text_of(data.cron);
    entry.job.zone = text_of(data.zone);
    entry.job.missed = data.missed;
    entry.job.grace_ns = data.grace;
    entry.job.group = text_of(data.group);
    entry.job.waits_for = text_of(data.waits_for);
    entry.state = state();
    entry.ready_ns = data.ready;
    entry.attempts = data.attempts;
    entry.token = token;
    entry.holder = holder != nullptr ? holder->name.c_str() : nullptr;
    entry.holder_id = holder != nullptr ? holder->id : 0;
    entry.error = text_of(data.error);
    return entry;
}

// --- the database ----------------------------------------------------------------------------

job *database::find(const char *kind_name, const char *key) {
    const auto of = kinds.find(kind_name);
    if (of == kinds.end())
        return nullptr;
    const auto at = of->second.jobs.find(key);
    return at != of->second.jobs.end() ? &at->second : nullptr;
}

member *database::find(const tw_store_member &who) {
    const auto at = members.find(who.id);
    if (at == members.end() || at->second.dead)
        return nullptr;
    // A database that has gone back in time can give the number of a member twice, with another epoch.
    const std::int64_t risen = at->second.epoch - who.epoch;
    return risen >= 0 && risen < 1'000'000 ? &at->second : nullptr;
}

member *database::find_claimer(const tw_store_member &who, std::int64_t now) {
    member *const found = find(who);
    return found != nullptr && found->epoch == who.epoch && found->lease_end > now ? found : nullptr;
}

void database::take_out(job &stored) {
    switch (stored.state()) {
    case TW_DURABLE_PENDING:
    case TW_DURABLE_GIVEN_UP:
    case TW_DURABLE_WAITING:
        stored.unused = stored.of->pending.extract(&stored);
        break;
    case TW_DURABLE_FAILED:
        stored.unused = stored.of->failed.extract(&stored);
        break;
    default:
        stored.unused = stored.holder->held.extract(&stored);
    }
}

void database::put_in(job &stored) {
    switch (stored.state()) {
    case TW_DURABLE_PENDING:
    case TW_DURABLE_GIVEN_UP:
    case TW_DURABLE_WAITING:
        stored.of->pending.insert(std::move(stored.unused));
        break;
    case TW_DURABLE_FAILED:
        stored.of->failed.insert(std::move(stored.unused));
        break;
    default:
        stored.holder->held.insert(std::move(stored.unused));
    }
}

void database::hold(job &stored, member &holder, std::int64_t now) {
    take_out(stored);
    stored.holder = &holder;
    stored.token = ++last_token;
    stored.started = stored.data.ready <= now;
    put_in(stored);
}

void database::release(job &stored) {
    take_out(stored);
    stored.holder = nullptr;
    stored.started = false;
    put_in(stored);
}

std::size_t database::count_held(const char *kind_name) const {
    std::size_t count = 0;
    for (const auto &[id, each] : members)
        for (const job *const held : each.held)
            count += *held->of->name == kind_name ? 1 : 0;
    return count;
}

void database::erase(job &stored) {
    kind &of = *stored.of;
    has_left_group = has_left_group || stored.data.group;
    take_out(stored);
    of.jobs.erase(of.jobs.find(*stored.key));
    if (of.jobs.empty())
        kinds.erase(kinds.find(*of.name));
}

void database::become(const database &other) {
    kinds.clear();
    members = other.members;
    last_token = other.last_token;
    last_member = other.last_member;
    next_starts = other.next_starts;
    has_left_group = true;
    for (auto &[id, each] : members)
        each.held.clear();
    for (const auto &[name, of] : other.kinds) {
        const auto kind_at = kinds.try_emplace(name).first;
        kind_at->second.name = &kind_at->first;
        for (const auto &[key, from] : of.jobs) {
            const auto at = kind_at->second.jobs.try_emplace(key).first;
            job &copy = at->second;
            copy.key = &at->first;
            copy.of = &kind_at->second;
            copy.data = from.data;
            copy.token = from.token;
            copy.holder = from.holder != nullptr ? &members.at(from.holder->id) : nullptr;
            copy.started = from.started;
            copy.failed = from.failed;
            copy.unused = node_for(copy);
            put_in(copy);
        }
    }
}

namespace {

template <typename F> void for_each_job(kind_map &kinds, F body) {
    for (auto &[name, of] : kinds)
        for (auto &[key, each] : of.jobs)
            body(each);
}

}  // namespace

std::int64_t database::release_waiting(std::int64_t now) {
    std::int64_t first = TW_NO_DEADLINE;
    if (!std::exchange(has_left_group, false))
        return first;
    for_each_job(kinds, [&](job &waiting) {
        if (!waiting.data.waits_for)
            return;
        bool is_empty = true;
        for_each_job(kinds, [&](const job &each) {
            is_empty = is_empty && each.data.group != waiting.data.waits_for;
        });
        if (!is_empty)
            return;
        take_out(waiting);
        waiting.data.waits_for.reset();
        waiting.data.ready = std::max(waiting.data.due, now);
        put_in(waiting);
        first = std::min(first, waiting.data.ready);
    });
    return first;
}

std::int64_t database::first_end(const member &self, std::int64_t now) const {
    std::int64_t first = TW_NO_DEADLINE;
    for (const auto &[id, each] : members) {
        if (each.dead)
            return now;
        if (&each != &self && (each.lease_end <= now || !each.held.empty()))
            first = std::min(first, each.lease_end);
    }
    return first;
}

void database::tell(const listener *self, std::int64_t ready, std::int64_t now) {
    if (ready == TW_NO_DEADLINE || ready - now > told_within)
        return;
    for (listener *const each : listeners) {
        if (each == self)
            continue;
        const std::uint64_t one = 1;
        each->first_ready = std::min(each->first_ready, ready);
        // The write fails only if the descriptor is readable already.
        if (write(each->descriptor, &one, sizeof one) < 0)
            continue;
    }
}

// --- putting ---------------------------------------------------------------------------------

put_batch::put_batch(database &into, const tw_store_put *puts, std::size_t count, std::int64_t now)
    : into_(into), now_(now) {
    made_.reserve(count);
    for (std::size_t i = 0; i < count; ++i)
        made_.push_back(make(into, *puts[i].job, now));
}

put_batch::made put_batch::make(const database &into, const tw_durable_job &from, std::int64_t now) {
    made nodes;
    if (into.kinds.find(from.kind) == into.kinds.end()) {
        const auto at = nodes.kind_node.try_emplace(from.kind).first;
        at->second.name = &at->first;
    }
    const auto at = nodes.job_node.try_emplace(from.key).first;
    job &fresh = at->second;
    fresh.key = &at->first;
    fresh.data = data_of(from, now);
    fresh.unused = node_for(fresh);
    return nodes;
}

std::int64_t put_batch::carry_out(tw_store_put *puts, bool keep, member *holder) {
    std::int64_t first = TW_NO_DEADLINE;
    for (std::size_t i = 0; i < made_.size(); ++i) {
        tw_store_put &each = puts[i];
        job &stored = carry_out(made_[i], each, keep);
        each.token = 0;
        if (each.existed != 0 && keep)
            continue;
        if (each.hold == 0 || holder == nullptr) {
            first = std::min(first, stored.data.ready);
            continue;
        }
        into_.hold(stored, *holder, now_);
        each.token = stored.token;
        each.ready_ns = stored.data.ready;
        each.started = stored.started ? 1 : 0;
    }
    return first;
}

// Returns the job that has this name after the put.
job &put_batch::carry_out(made &nodes, tw_store_put &put, bool keep) {
    into_.kinds.merge(nodes.kind_node);
    kind &of = into_.kinds.find(put.job->kind)->second;
    const auto inserted = of.jobs.insert(nodes.job_node.extract(nodes.job_node.begin()));
    job &stays = inserted.position->second;
    put.existed = inserted.inserted ? 0 : 1;
    into_.has_left_group =
        into_.has_left_group || put.job->waits_for != nullptr || (!keep && stays.data.group);
    if (inserted.inserted) {
        stays.of = &of;
        database::put_in(stays);
    } else if (!keep) {
        job_data &fresh = inserted.node.mapped().data;
        if (fresh.no_later != TW_NO_DEADLINE && stays.data.no_later != TW_NO_DEADLINE && !stays.started &&
            !stays.failed && stays.data.attempts == 0) {
            fresh.no_later = stays.data.no_later;
            fresh.due = std::min(fresh.due, fresh.no_later);
            fresh.ready = std::min(fresh.ready, fresh.waits_for ? TW_NO_DEADLINE : fresh.no_later);
        }
        database::take_out(stays);
        stays.data = std::move(fresh);
        stays.holder = nullptr;
        stays.started = stays.failed = false;
        database::put_in(stays);
    }
    return stays;
}

}  // namespace memory

#include "entries.hpp"

#include <cassert>
#include <cerrno>
#include <cstdlib>

#include "entry_life.hpp"

namespace tickwheel::runtime {

// --- draining --------------------------------------------------------------------------

namespace {

// Epochs less than 64 apart can be compared.
bool is_older(const entry &it, std::uint8_t epoch) { return ((it.epoch - epoch) & 0x7f) >= 0x40; }

// Taken if a drain that began 64 drains earlier still goes on.
std::uint64_t bit_of_next_drain(const entries &set) { return std::uint64_t{1} << ((set.epoch + 1) & 63); }

bool is_there(const entry &it) { return it.state == entry_state::live || it.state == entry_state::ended; }

void visit(entry &it, const each_drained &each, entries_hold &hold) {
    if (each.by_key == nullptr && each.by_handle == nullptr)
        return;
    const tw_key key = key_of(it);
    const tw_handle handle = handle_of(it);
    const for_user unlocked(it, hold);
    if (each.by_key != nullptr)
        each.by_key(&key, it.node.arg, each.arg);
    else
        each.by_handle(handle, it.node.arg, each.arg);
}

// True if it still had to fire. Runs that have begun are waited for: they were before.
bool drain_one(entry &it, const each_drained &each, entries_hold &hold) {
    const std::uint32_t generation = it.generation;
    if (it.state == entry_state::live) {
        cancel(*it.set->rt, &it.node);
        take_back(it);
    }
    while (it.generation == generation && it.state == entry_state::live && it.runs != 0 && !in_entry::of(it))
        wait_until_one_comes_further(*it.set, hold);
    if (it.generation != generation || it.state != entry_state::live) {
        wait_until_over(it, generation, hold);
        return false;
    }
    const bool had_to_fire = has_still_to_fire(it);
    retire(it);
    wait_for_unseen(it, hold);
    ++it.runs;
    if (had_to_fire)
        visit(it, each, hold);
    --it.runs;
    if (it.set->rt->forked)
        return had_to_fire;  // by `each`: in the child nothing more is called
    if (it.runs == 0)
        finish(it, hold);
    return had_to_fire;
}

}  // namespace

std::int64_t drain(entries &set, const each_drained &each) {
    entries_hold hold(set);
    while ((set.drains & bit_of_next_drain(set)) != 0) {
        if (in_entry::of(set))
            return refuse(-EBUSY, "another drain waits for the callback that this is called from");
        wait_until_one_comes_further(set, hold);
    }
    const std::uint64_t own_bit = bit_of_next_drain(set);
    const std::uint8_t epoch = set.epoch = (set.epoch + 1) & 0x7f;
    set.drains |= own_bit;
    std::int64_t drained = 0;
    for (std::uint32_t number = 0; number < set.all.made(); ++number) {
        entry &it = set.all[number];
        if (is_there(it) && is_older(it, epoch) && drain_one(it, each, hold))
            ++drained;
        if (set.rt->forked)
            return -ECHILD;  // by `each` or `drop`; and no drain goes on in the child
        hold.unlock();
        hold.lock();
    }
    assert((set.drains & own_bit) != 0);
    set.drains &= ~own_bit;
    came_further(set);
    return drained;
}

// --- the set ---------------------------------------------------------------------------

int refusal(const tw_runtime *rt, const entries_options &options) {
    if (const int error = refusal_to_arm(rt); error != 0)
        return error;
    if (options.capacity > most_slots)
        return refuse(-EINVAL, "the capacity is more than a set can hold");
    if (options.storage > most_storage)
        return refuse(-EINVAL, "the storage for each timer's argument is too large");
    if (options.workers != nullptr && !are_of(*options.workers, *rt))
        return refuse(-EINVAL, "the workers are those of another runtime");
    return 0;
}

namespace {

void end_part(entries &set) {
    set.how->close(set);
    no_part_any_more(set);
    if (set.workers != nullptr)
        use_no_more(*set.workers);
    let_go(set, 1);
}

// The callback that the runtime's thread has just left may still have to let go of the lock.
void wait_for_thread_to_leave(entries &set) {
    for_each_timeline(*set.rt, [&set](timeline &line) {
        tw_node *const last = tw_running(&line.wheel);
        if (last != nullptr && set.all.contain(last))
            tw_wait(&line.wheel, last);
    });
}

// Whether something of the user's may have been at work on it when the process forked: its
// argument is in no state to be dropped.
bool was_cut_short(entry &it) {
    const std::uint32_t begun = it.set->workers != nullptr ? worked_of(it).begun : it.runs;
    return it.state == entry_state::starting || begun != 0;
}

// --- the set as a part of its runtime ---------------------------------------------------

// All that is left when nobody fires and the wheels are empty; also in the child of a fork.
void end(part &it_as_part) {
    entries &set = static_cast<entries &>(it_as_part);
    entries_hold hold(set);
    for (std::uint32_t number = 0; number < set.all.made(); ++number) {
        entry &it = set.all[number];
        assert(!in_entry::of(it));
        if (it.state == entry_state::free)
            continue;
        if (was_cut_short(it))
            it.drop = nullptr;
        if (it.state == entry_state::live)
            retire(it);
        it.state = entry_state::ended;
        it.runs = 0;
        finish(it, hold);
    }
}

void fork(part &it, tw_fork_moment moment) {
    entries &set = static_cast<entries &>(it);
    if (moment == TW_FORK_PREPARE) {
        lock(set);
    } else if (moment == TW_FORK_PARENT) {
        unlock(set);
    } else {
        tw_port_lock_init(&set.lock);
        set.waiting = 0;
        set.drains = 0;
        set.closing = false;
        set.users.store(1, std::memory_order_relaxed);
    }
}

void destroy(part &it) { end_part(static_cast<entries &>(it)); }

constexpr part_kind set_kind = {
    .stop = nullptr, .fork = fork, .end = end, .revive = nullptr, .destroy = destroy};

}  // namespace

// --- making and closing ------------------------------------------------------------------

int open(entries &set, tw_runtime &rt, const entries_options &options, const entries_kind &how) {
    set.how = &how;
    set.workers = options.workers;
    set.concurrent = options.concurrent;
    set.storage = options.storage;
    tw_port_lock_init(&set.lock);
    set.is_observed = tw_port_is_observed() != 0;
    tw_port_hide(&set, sizeof set);
    const std::size_t for_workers = options.workers != nullptr ? sizeof(worked) : 0;
    const std::size_t for_storage = options.storage != 0 ? options.storage + storage_alignment : 0;
    set.all.shape(options.capacity, for_workers + for_storage);
    set.users.store(1, std::memory_order_relaxed);
    if (options.capacity != 0 && set.all.allocate_all() != 0) {
        set.all.free_all();
        return -ENOMEM;
    }
    if (set.workers != nullptr)
        use(*set.workers);
    make_part(set, rt, set_kind);
    return 0;
}

int close(entries &set) {
    if (in_entry::of(set))
        return refuse(-EBUSY, "called from inside a callback of a timer of this set");
    end_of_call end;
    const inside here(*set.rt, end);
    {
        entries_hold hold(set);
        set.closing = true;
    }
    if (const std::int64_t drained = drain(set, {}); drained < 0)
        return static_cast<int>(drained);
    wait_for_thread_to_leave(set);
    end_part(set);
    return 0;
}

}  // namespace tickwheel::runtime

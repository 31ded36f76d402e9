#include "record_set.hpp"

#include <cassert>
#include <cerrno>
#include <cstdlib>

#include "record_life.hpp"

namespace tickwheel::runtime {

// --- draining --------------------------------------------------------------------------

namespace {

// Epochs less than 64 apart can be compared.
bool is_older(const record &it, std::uint8_t epoch) { return ((it.epoch - epoch) & 0x7f) >= 0x40; }

// Taken if a drain that began 64 drains earlier still goes on.
std::uint64_t bit_of_next_drain(const record_set &set) { return std::uint64_t{1} << ((set.epoch + 1) & 63); }

bool is_there(const record &it) { return it.state == record_state::live || it.state == record_state::ended; }

void visit(record &it, const drain_visitor &each, set_lock &hold) {
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
bool drain_one(record &it, const drain_visitor &each, set_lock &hold) {
    const std::uint32_t generation = it.generation;
    if (it.state == record_state::live) {
        cancel(*it.set->rt, &it.node);
        take_back(it);
    }
    while (it.generation == generation && it.state == record_state::live && it.runs != 0 &&
           !inside_record::of(it))
        wait_for_progress(*it.set, hold);
    if (it.generation != generation || it.state != record_state::live) {
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

std::int64_t drain(record_set &set, const drain_visitor &each) {
    set_lock hold(set);
    while ((set.drains & bit_of_next_drain(set)) != 0) {
        if (inside_record::of(set))
            return refuse(-EBUSY, "another drain waits for the callback that this is called from");
        wait_for_progress(set, hold);
    }
    const std::uint64_t own_bit = bit_of_next_drain(set);
    const std::uint8_t epoch = set.epoch = (set.epoch + 1) & 0x7f;
    set.drains |= own_bit;
    std::int64_t drained = 0;
    for (std::uint32_t number = 0; number < set.all.made(); ++number) {
        record &it = set.all[number];
        if (is_there(it) && is_older(it, epoch) && drain_one(it, each, hold))
            ++drained;
        if (set.rt->forked)
            return -ECHILD;  // by `each` or `drop`; and no drain goes on in the child
        hold.unlock();
        hold.lock();
    }
    assert((set.drains & own_bit) != 0);
    set.drains &= ~own_bit;
    announce_progress(set);
    return drained;
}

// --- the set ---------------------------------------------------------------------------

int check_usable(const tw_runtime *rt, const set_options &options) {
    if (const int error = check_arming(rt); error != 0)
        return error;
    if (options.capacity > most_records)
        return refuse(-EINVAL, "the capacity is more than a set can hold");
    if (options.storage > most_storage)
        return refuse(-EINVAL, "the storage for each timer's argument is too large");
    if (options.workers != nullptr && !are_of(*options.workers, *rt))
        return refuse(-EINVAL, "the workers are those of another runtime");
    return 0;
}

namespace {

void end_as_component(record_set &set) {
    set.how->close(set);
    remove_component(set);
    if (set.workers != nullptr)
        use_no_more(*set.workers);
    release(set, 1);
}

// The callback that the runtime's thread has just left may still have to let go of the lock.
void wait_for_thread_to_leave(record_set &set) {
    for_each_timeline(*set.rt, [&set](timeline &line) {
        tw_node *const last = tw_running(&line.wheel);
        if (last != nullptr && set.all.contain(last))
            tw_wait(&line.wheel, last);
    });
}

// Whether something of the user's may have been at work on it when the process forked: its
// argument is in no state to be dropped.
bool was_cut_short(record &it) {
    const std::uint32_t begun = it.set->workers != nullptr ? worker_part_of(it).begun : it.runs;
    return it.state == record_state::starting || begun != 0;
}

// --- the set as a part of its runtime ---------------------------------------------------

// All that is left when nobody fires and the wheels are empty; also in the child of a fork.
void end(component &it_as_component) {
    record_set &set = static_cast<record_set &>(it_as_component);
    set_lock hold(set);
    for (std::uint32_t number = 0; number < set.all.made(); ++number) {
        record &it = set.all[number];
        assert(!inside_record::of(it));
        if (it.state == record_state::free)
            continue;
        if (was_cut_short(it))
            it.drop = nullptr;
        if (it.state == record_state::live)
            retire(it);
        it.state = record_state::ended;
        it.runs = 0;
        finish(it, hold);
    }
}

void fork(component &it, tw_fork_moment moment) {
    record_set &set = static_cast<record_set &>(it);
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

void destroy(component &it) { end_as_component(static_cast<record_set &>(it)); }

constexpr component_hooks set_hooks = {
    .stop = nullptr, .fork = fork, .end = end, .revive = nullptr, .destroy = destroy};

}  // namespace

// --- making and closing ------------------------------------------------------------------

int open(record_set &set, tw_runtime &rt, const set_options &options, const lookup_hooks &how) {
    set.how = &how;
    set.workers = options.workers;
    set.concurrent = options.concurrent;
    set.storage = options.storage;
    tw_port_lock_init(&set.lock);
    set.is_observed = tw_port_is_observed() != 0;
    tw_port_hide(&set, sizeof set);
    const std::size_t for_workers = options.workers != nullptr ? sizeof(worker_part) : 0;
    const std::size_t for_storage = options.storage != 0 ? options.storage + storage_alignment : 0;
    set.all.shape(options.capacity, for_workers + for_storage);
    set.users.store(1, std::memory_order_relaxed);
    if (options.capacity != 0 && set.all.allocate_all() != 0) {
        set.all.free_all();
        return -ENOMEM;
    }
    if (set.workers != nullptr)
        use(*set.workers);
    add_component(set, rt, set_hooks);
    return 0;
}

int close(record_set &set) {
    if (inside_record::of(set))
        return refuse(-EBUSY, "called from inside a callback of a timer of this set");
    end_of_call end;
    const inside_user_code here(*set.rt, end);
    {
        set_lock hold(set);
        set.closing = true;
    }
    if (const std::int64_t drained = drain(set, {}); drained < 0)
        return static_cast<int>(drained);
    wait_for_thread_to_leave(set);
    end_as_component(set);
    return 0;
}

}  // namespace tickwheel::runtime

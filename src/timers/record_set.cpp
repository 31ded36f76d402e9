// Making, draining and freeing a set, and what its runtime has it do. See record_set.hpp.
#include "record_set.hpp"

#include <cassert>
#include <cerrno>
#include <cstdlib>

#include "record_life.hpp"

namespace tickwheel::runtime {

// --- draining --------------------------------------------------------------------------
//
// A drain raises the set's epoch. From then on no record of a former epoch fires (is_drained),
// and the drain ends these one by one. Epochs have 7 bits and are compared modulo 128, so all
// epochs in use must be less than 64 apart: a drain does not begin before the one 64 epochs
// earlier has ended.

namespace {

bool is_older(const record &record, std::uint8_t epoch) { return ((record.epoch - epoch) & 0x7f) >= 0x40; }

// Still set if the drain 64 epochs before the next one goes on.
std::uint64_t bit_of_next_drain(const record_set &set) { return std::uint64_t{1} << ((set.epoch + 1) & 63); }

bool is_in_use(const record &record) {
    return record.state == record_state::live || record.state == record_state::ended;
}

// RELEASES AND REACQUIRES: set lock
void visit(record &record, const drain_visitor &visitor, set_lock &lock) {
    if (visitor.by_key == nullptr && visitor.by_handle == nullptr)
        return;
    const tw_key key = key_of(record);
    const tw_handle handle = handle_of(record);
    const user_call unlocked(record, lock);
    if (visitor.by_key != nullptr)
        visitor.by_key(&key, record.node.arg, visitor.arg);
    else
        visitor.by_handle(handle, record.node.arg, visitor.arg);
}

// Ends a record, and returns true if it still had to fire. Waits for the runs that have begun,
// because they began before the drain. The lock is released meanwhile, so another call may end
// the record, which is then waited for as well.
// RELEASES AND REACQUIRES: set lock
bool drain_record(record &record, const drain_visitor &visitor, set_lock &lock) {
    const std::uint32_t generation = record.generation;
    if (record.state == record_state::live) {
        cancel(*record.set->rt, &record.node);
        withdraw_fires(record);
    }
    while (record.generation == generation && record.state == record_state::live && record.uses != 0 &&
           !inside_record::of(record))
        wait_for_progress(*record.set, lock);
    if (record.generation != generation || record.state != record_state::live) {
        wait_until_over(record, generation, lock);
        return false;
    }
    const bool had_to_fire = has_still_to_fire(record);
    retire(record);
    wait_for_node_callback(record, lock);
    ++record.uses;  // keeps the record during the visit
    if (had_to_fire)
        visit(record, visitor, lock);
    --record.uses;
    if (record.set->rt->forked)
        return had_to_fire;  // `visit` has forked: the child calls no further functions
    if (record.uses == 0)
        finish(record, lock);
    return had_to_fire;
}

std::int64_t drain(record_set &set, const drain_visitor &visitor) {
    set_lock lock(set);
    while ((set.drains & bit_of_next_drain(set)) != 0) {
        if (inside_record::of(set))
            return refuse(-EBUSY, "another drain waits for the callback that this is called from");
        wait_for_progress(set, lock);
    }
    const std::uint64_t own_bit = bit_of_next_drain(set);
    const std::uint8_t epoch = set.epoch = (set.epoch + 1) & 0x7f;
    set.drains |= own_bit;
    std::int64_t drained = 0;
    for (std::uint32_t number = 0; number < set.records.end_number(); ++number) {
        record &record = set.records[number];
        if (is_in_use(record) && is_older(record, epoch) && drain_record(record, visitor, lock))
            ++drained;
        if (set.rt->forked)
            return -ECHILD;  // a function of the user's has forked; the child has reset `drains`
        lock.unlock();       // P8: other threads get in between
        lock.lock();
    }
    assert((set.drains & own_bit) != 0);
    set.drains &= ~own_bit;
    announce_progress(set);
    return drained;
}

}  // namespace

std::int64_t drain(record_set *set, const drain_visitor &visitor) {
    const int error = check_usable(set);
    return error != 0 ? error : drain(*set, visitor);
}

std::size_t count_of(record_set *set) {
    if (check_usable(set) != 0)
        return 0;
    const set_lock lock(*set);
    return set->count;
}

// --- the set as a component of its runtime -----------------------------------------------

namespace {

void destroy(record_set &set) {
    set.lookup->close(set);
    remove_component(set);
    if (set.workers != nullptr)
        remove_reference(*set.workers);
    release_references(set, 1);
}

void destroy(component &base) { destroy(static_cast<record_set &>(base)); }

// True if the fork may have interrupted a function of the user's that works on the argument:
// the child cannot know its state, so it must not drop it.
bool was_interrupted(record &record) {
    const std::uint32_t begun = record.set->workers != nullptr ? worker_part_of(record).begun : record.uses;
    return record.state == record_state::starting || begun != 0;
}

// Ends all records that are left, when the wheels are empty and no thread fires; also in the
// child of a fork.
void end_all(component &base) {
    record_set &set = static_cast<record_set &>(base);
    set_lock lock(set);
    for (std::uint32_t number = 0; number < set.records.end_number(); ++number) {
        record &record = set.records[number];
        assert(!inside_record::of(record));
        if (record.state == record_state::free)
            continue;
        if (was_interrupted(record))
            record.drop = nullptr;
        if (record.state == record_state::live)
            retire(record);
        record.state = record_state::ended;
        record.uses = 0;
        finish(record, lock);
    }
}

void begin_in_child(component &base) {
    record_set &set = static_cast<record_set &>(base);
    tw_port_lock_init(&set.lock);
    set.waiting = 0;
    set.drains = 0;
    set.closing = false;
    set.references.store(1, std::memory_order_relaxed);
}

constexpr component_hooks set_hooks = {
    .job_relay = nullptr,
    .callback_kept_by_clear = on_due,
    .lock = [](component &base) { lock(static_cast<record_set &>(base)); },
    .unlock = [](component &base) { unlock(static_cast<record_set &>(base)); },
    .begin_in_child = begin_in_child,
    .interrupt = nullptr,
    .settle = nullptr,
    .begin_clear = nullptr,
    .clear_one = nullptr,
    .stop = nullptr,
    .end = end_all,
    .revive = nullptr,
    .destroy = destroy,
};

}  // namespace

// --- making and freeing ------------------------------------------------------------------

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

void shape(record_store &records, const set_options &options, std::uint32_t spare_records) {
    const bool has_spare = options.capacity != 0 && options.capacity <= most_records - spare_records;
    const std::size_t for_workers = options.workers != nullptr ? sizeof(worker_part) : 0;
    const std::size_t for_storage = options.storage != 0 ? options.storage + storage_alignment : 0;
    records.shape(has_spare ? options.capacity + spare_records : options.capacity, for_workers + for_storage);
}

int allocate_all(record_store &records) {
    const int error = records.allocate_all();
    if (error != 0)
        records.free_all();
    return error;
}

// The firing thread may have left a callback and still have to release the lock of the set.
void wait_for_thread_to_leave(record_set &set) {
    for_each_timeline(*set.rt, [&set](timeline &line) {
        tw_node *const last = tw_running(&line.wheel);
        if (last != nullptr && set.records.contains(last))
            tw_wait(&line.wheel, last);
    });
}

}  // namespace

int open(record_set &set, tw_runtime &rt, const set_options &options, const lookup_hooks &lookup) {
    set.lookup = &lookup;
    set.workers = options.workers;
    set.concurrent = options.concurrent;
    set.storage = options.storage;
    tw_port_lock_init(&set.lock);
    set.is_observed = tw_port_is_observed() != 0;
    tw_port_hide(&set, sizeof set);
    set.references.store(1, std::memory_order_relaxed);
    shape(set.records, options, lookup.spare_records);
    int error = lookup.open(set, options);
    if (error == 0 && options.capacity != 0)
        error = allocate_all(set.records);
    if (error != 0) {
        lookup.close(set);
        return error;
    }
    if (set.workers != nullptr)
        add_reference(*set.workers);
    add_component(set, rt, set_hooks);
    return 0;
}

int free_set(record_set *set) {
    if (set == nullptr)
        return 0;
    if (const int error = check_usable(set); error != 0)
        return error;
    if (inside_record::of(*set))
        return refuse(-EBUSY, "called from inside a callback of a timer of this set");
    end_of_call end;
    const inside_user_code frame(*set->rt, end);
    {
        set_lock lock(*set);
        set->closing = true;
    }
    if (const std::int64_t drained = drain(*set, {}); drained < 0)
        return static_cast<int>(drained);
    wait_for_thread_to_leave(*set);
    destroy(*set);
    return 0;
}

}  // namespace tickwheel::runtime

// The life of a record: it fires and ends. See record.hpp for its states, and record_set.hpp for
// the invariants.
#include "record_life.hpp"

#include <cassert>
#include <cerrno>
#include <cstdlib>

#include "core/periodic.hpp"
#include "runtime/exceptions.h"

namespace tickwheel::runtime {

// --- waiting ---------------------------------------------------------------------------

void wake_waiting(record_space &space) {
    __atomic_store_n(&space.progress, space.progress + 1, __ATOMIC_RELAXED);
    tw_port_wake_all(&space.progress);
}

void wait_for_progress(record_space &space, record_lock &lock) {
    const std::uint32_t seen = space.progress;
    ++space.waiting;
    lock.unlock();
    tw_port_wait(&space.progress, seen, INT64_MAX);
    lock.lock();
    --space.waiting;
}

// --- ending ----------------------------------------------------------------------------

void release_references(record_set &set, std::uint32_t times) {
    if (set.references.fetch_sub(times, std::memory_order_acq_rel) == times)
        std::free(&set);
}

void retire(record_set &set, record &it) {
    assert(is_live(it) && !core::is_armed(it.timing));
    it.state = record_state::ended;
    if (has_keys(set))
        set.lookup->unpublish(set, it);
}

namespace {

// S2. The argument and the key are taken out of the record before the lock is released. If
// another thread forks while `drop` runs, the child finds a record with nothing left to drop.
// RELEASES AND REACQUIRES: record lock
void give_back_rest_of(record_set &set, record &it, record_lock &lock) {
    record_rest &rest = *it.rest;
    unsigned char *const key = long_key_of(it);
    void (*const drop)(void *) = rest.drop;
    rest.key_size = 0;
    rest.drop = nullptr;
    if (drop == nullptr && key == nullptr)
        return;
    const user_call unlocked(set, it, lock);
    if (drop != nullptr)
        drop(rest.arg);
    std::free(key);
}

}  // namespace

void finish(record_set &set, record &it, record_lock &lock) {
    if (it.has_rest) {
        give_back_rest_of(set, it, lock);
        if (!set.has_rests)
            set.space->memory.give_back_rest(*it.rest);
    }
    free_record(set, it, block_of(it.number));
}

void finish_if_over(record_set &set, record &it, record_lock &lock) {
    if (it.uses != 0 || it.state == record_state::live)
        return;
    if (it.state == record_state::last)
        retire(set, it);
    finish(set, it, lock);
}

// Its last fire is not called after all.
static void take_back_last(record &it) {
    if (it.state == record_state::last)
        it.state = record_state::live;
}

void withdraw_fires(record_set &set, record &it) {
    if (set.workers == nullptr)
        return;
    const std::uint32_t taken = withdraw(worker_part_of(it).runnable);
    assert(taken <= it.uses - worker_part_of(it).begun);
    it.uses -= taken;
    if (taken != 0)
        take_back_last(it);
    set.references.fetch_sub(taken, std::memory_order_relaxed);  // never the last: the caller has one
}

bool has_still_to_fire(const record_set &set, record &it) {
    const bool has_run_to_begin = set.workers != nullptr && it.uses > worker_part_of(it).begun;
    return it.state == record_state::live || has_run_to_begin;
}

// --- firing ----------------------------------------------------------------------------

namespace {

// Asks the user's schedule for the next deadline, and arms the record for it.
// RELEASES AND REACQUIRES: record lock
void ask_next(record_set &set, record &it, std::int64_t due, record_lock &lock) {
    std::int64_t deadline;
    {
        const user_call unlocked(set, it, lock);
        deadline = it.rest->next(due, it.rest->arg);
    }
    if (it.state != record_state::live || is_drained(set, it))
        return;
    if (deadline == TW_NO_DEADLINE || !arm_at(set, it, deadline))
        it.state = record_state::last;
}

// Called when a fire is over, whether or not its callback was called. The last fire ends the
// record, and the last run of an ended record finishes it.
//
// If the callback has forked and this is the child, the callback counts as not returned: the
// child's runtime is inert, and revival ends the record (P13).
// RELEASES AND REACQUIRES: record lock
void after_fire(record_set &set, record &it, std::int64_t due, record_lock &lock) {
    const std::atomic<bool> &forked = set.rt->forked;
    if (forked.load(std::memory_order_relaxed))
        return;
    if (has_next(it) && it.state == record_state::live && !is_drained(set, it)) {
        ask_next(set, it, due, lock);
        if (forked)
            return;
    }
    assert(it.uses > 0);
    --it.uses;
    announce_progress(*set.space);
    finish_if_over(set, it, lock);
}

tw_event event_of(const record_set &set, const record &it, const tw_key &key, std::int64_t due,
                  std::uint64_t overruns) {
    return {handle_in(set, it), has_keys(set) ? &key : nullptr, due, overruns};
}

// Arms a periodic record that fires for its next tick, before its callback runs. Returns false if this fire
// is its last.
bool arm_again(record_space &space, record &it, tick present, tick &overruns) {
    struct {
        tick expiry, period;
        std::uint32_t part;
        std::uint16_t fires_left;
        std::uint8_t missed_and_label;
    } next = {it.timing.due, it.rest->period, it.rest->part, it.rest->fires_left, it.rest->missed};
    if (!core::set_to_next_on_grid(next, line_of(space, it).unit.parts(), present, &overruns))
        return false;
    it.rest->part = next.part;
    it.rest->fires_left = next.fires_left;
    arm(space, it, next.expiry);
    return true;
}

// The fire has a reference to the set until a worker has run or discarded it.
void fire_on_worker(record_set &set, record &it, std::int64_t due, std::uint64_t overruns,
                    record_lock &lock) {
    set.references.fetch_add(1, std::memory_order_relaxed);
    const bool skips = it.rest->missed != TW_BURST;  // a one-shot timer has TW_BURST
    const enqueued result = enqueue(worker_part_of(it).runnable, skips, due, overruns);
    if (result == enqueued::waits)
        return;
    set.references.fetch_sub(1, std::memory_order_relaxed);
    if (result == enqueued::joins)
        --it.uses;
    else
        after_fire(set, it, due, lock);
}

// True if `next` or `drop` may be called when a fire of the record is over.
bool calls_more(const record &fired) {
    return fired.has_rest && (fired.rest->next != nullptr ||
                              (fired.rest->drop != nullptr && fired.state != record_state::live));
}

// Ends the fire that is going on; in a child that the callback has forked, there is none. The meter pauses,
// so that the time of `next` and `drop` does not count for the next callback.
// RELEASES AND REACQUIRES: wheels' lock
void end_fire(record_space &space) {
    record *const fired = space.fired;
    space.fired = nullptr;
    if (fired == nullptr)
        return;
    if (calls_more(*fired)) [[unlikely]]
        space.rt->meter.pause();
    fire_lock lock(space);
    after_fire(*space.fired_in, *fired, space.fired_due, lock);
}

// RELEASES AND REACQUIRES: wheels' lock
void let_others_in(record_space &space) {
    core::unlock(space.wheels);
    core::lock(space.wheels);
}

// P7: no lock is held while the callback runs.
// RELEASES AND REACQUIRES: wheels' lock
void call_here(record_space &space, record_set &set, record &it, std::int64_t due, std::uint64_t overruns) {
    space.fired = &it;
    space.fired_in = &set;
    space.fired_due = due;
    const inside_record frame(set, it);
    const current_run run(*space.rt, due, overruns);
    const tw_key key = key_in(set, it);
    const tw_event event = event_of(set, it, key, due, overruns);
    tw_task_callback *const fn = it.fn;
    void *const arg = arg_of(it);
    core::unlock(space.wheels);
    fn(&event, arg);
    space.rt->meter.end_callback(overruns);
    core::lock(space.wheels);
    end_fire(space);
}

}  // namespace

// A drained record does not fire: the drain ends it, and counts this fire as prevented. P8: other threads get
// the lock between two fires, even if no callback runs here.
void fire_record(core::timing *fired, tick present, void *arg) {
    record_space &space = *static_cast<record_space *>(arg);
    if (fired == nullptr) {
        end_fire(space);
        return;
    }
    record &it = record_of(*fired);
    record_set &set = set_of(it);
    assert(it.state == record_state::live && !core::is_armed(it.timing));
    if (is_drained(set, it)) {
        let_others_in(space);
        return;
    }
    const std::int64_t due = line_of(space, it).unit.reading(it.timing.due);
    tick overruns = 0;
    ++it.uses;
    if (is_periodic(it) ? !arm_again(space, it, present, overruns) : !has_next(it))
        it.state = record_state::last;
    const bool on_worker = set.workers != nullptr;
    fire_meter &meter = space.rt->meter;
    if (meter.begin_callback(due, it.label, on_worker)) [[unlikely]]
        meter.show_callback(it.label, nullptr, handle_in(set, it),
                            reinterpret_cast<const void *>(it.fn));
    if (!on_worker) {
        call_here(space, set, it, due, overruns);
        return;
    }
    {
        fire_lock lock(space);
        fire_on_worker(set, it, due, overruns, lock);
    }
    meter.end_callback(overruns);
    let_others_in(space);
}

namespace {

void end_run(record_set &set, record &it, std::int64_t due, record_lock &lock) {
    --worker_part_of(it).begun;
    after_fire(set, it, due, lock);
}

void release_after_run(record_set &set) {
    if (!set.rt->forked)
        release_references(set, 1);
}

// Calls the callback on a worker. If an exception passes, left() is called on its way out, with the lock
// held. RELEASES AND REACQUIRES: record lock
template <class Left> void call(record_set &set, record &it, std::int64_t due, record_lock &lock, Left left) {
    const tw_key key = key_in(set, it);
    const tw_event event = event_of(set, it, key, due, tw_runtime_overruns(set.rt));
    void *const arg = arg_of(it);
    const inside_record frame(set, it);
    lock.unlock();
    passing_exceptions([&] { it.fn(&event, arg); },
                       [&] {
                           frame.leave();
                           lock.lock();
                           left();
                       });
    lock.lock();
}

// Runs one fire on a worker. If the record has been ended or drained since the fire was queued,
// that call has reported the fire as prevented (P6), so the callback is not called. tw_runtime_due
// and tw_runtime_overruns answer from the frame that call() in workers.cpp has set (current_run).
void run(tw_runnable &runnable) {
    record &it = record_of(runnable);
    record_set &set = set_of(it);
    const std::int64_t due = tw_runtime_due(set.rt);
    {
        record_lock lock(*set.space);
        ++worker_part_of(it).begun;
        if (is_drained(set, it))
            take_back_last(it);
        if (is_live(it) && !is_drained(set, it))
            call(set, it, due, lock, [&] {
                end_run(set, it, due, lock);
                lock.unlock();
                release_after_run(set);
            });
        end_run(set, it, due, lock);
    }
    release_after_run(set);
}

void discarded(tw_runnable &runnable, std::uint32_t fires) {
    record &it = record_of(runnable);
    record_set &set = set_of(it);
    {
        record_lock lock(*set.space);
        it.uses -= fires - 1;
        if (is_drained(set, it))
            take_back_last(it);
        after_fire(set, it, tw_runtime_now(set.rt), lock);
    }
    release_references(set, fires);
}

// The record is in use, so what is read here does not change.
void describe(const tw_runnable &runnable, running_callback &callback) {
    const record &it = record_of(const_cast<tw_runnable &>(runnable));
    callback.describe(it.label, nullptr, handle_in(set_of(it), it),
                      reinterpret_cast<const void *>(it.fn));
}

}  // namespace

const tw_runnable_hooks record_hooks = {run, discarded, describe};

// --- calls on one that is live ---------------------------------------------------------

int end(record_set &set, record &it, record_lock &lock) {
    disarm(*set.space, it);
    withdraw_fires(set, it);
    const bool prevented = has_still_to_fire(set, it);
    count_cancelled(*set.space, it, prevented);
    retire(set, it);
    if (it.uses == 0)
        finish(set, it, lock);
    return prevented ? 1 : 0;
}

void wait_until_over(record_set &set, record &it, std::uint32_t generation, record_lock &lock) {
    while (it.generation == generation && !inside_record::of(it))
        wait_for_progress(*set.space, lock);
}

tw_key key_of(const record &it) {
    if (it.rest->has_number_key)
        return tw_key_number(it.rest->key.number);
    const unsigned char *const longer = long_key_of(it);
    return tw_key_bytes(longer != nullptr ? longer : it.rest->key.bytes, it.rest->key_size);
}

}  // namespace tickwheel::runtime

// How records fire and end. See record.hpp for the states, and record_set.hpp for the invariants.
#include "record_life.hpp"

#include <cassert>
#include <cerrno>
#include <cstdlib>

#include "base/exceptions.h"
#include "core/periodic.hpp"

namespace tickwheel::timers {

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
    if (set.whole->references.fetch_sub(times, std::memory_order_acq_rel) == times)
        free_memory(*set.whole);
}

void retire(record_set &set, record &timer) {
    assert(is_live(timer) && !core::is_armed(timer.timing));
    timer.state = record_state::ended;
    if (has_keys(set))
        set.lookup->unpublish(set, timer);
}

namespace {

// S2. Takes `drop` and the key out of the record before it releases the lock. If another thread forks while
// `drop` runs, the child finds a record with nothing left to drop.
void give_back_rest_of(record_set &set, record &timer, record_lock &lock) TW_YIELDS(core::wheels_lock) {
    record_rest &rest = *timer.rest;
    unsigned char *const key = long_key_of(timer);
    void (*const drop)(void *) = rest.drop;
    rest.key_size = 0;
    rest.drop = nullptr;
    if (drop == nullptr && key == nullptr)
        return;
    const user_call unlocked(set, timer, lock);
    if (drop != nullptr)
        drop(rest.arg);
    std::free(key);
}

}  // namespace

void finish(record_set &set, record &timer, record_lock &lock) {
    if (timer.has_rest) {
        give_back_rest_of(set, timer, lock);
        if (!set.has_rests)
            set.space->memory.give_back_rest(*timer.rest);
    }
    free_record(set, timer, block_of(timer.number));
}

void finish_if_over(record_set &set, record &timer, record_lock &lock) {
    if (timer.uses != 0 || timer.state == record_state::live)
        return;
    if (timer.state == record_state::last)
        retire(set, timer);
    finish(set, timer, lock);
}

// If a fire that will not run after all was the record's last, makes the record live again.
static void take_back_last(record &timer) {
    if (timer.state == record_state::last)
        timer.state = record_state::live;
}

void withdraw_fires(record_set &set, record &timer) {
    if (set.workers == nullptr)
        return;
    const std::uint32_t taken = workers::withdraw(worker_part_of(timer).runnable);
    assert(taken <= timer.uses - worker_part_of(timer).begun);
    timer.uses -= taken;
    if (taken != 0)
        take_back_last(timer);
    set.whole->references.fetch_sub(taken, std::memory_order_relaxed);  // never the last: the caller has one
}

bool has_still_to_fire(const record_set &set, record &timer) {
    const bool has_run_to_begin = set.workers != nullptr && timer.uses > worker_part_of(timer).begun;
    return timer.state == record_state::live || has_run_to_begin;
}

// --- firing ----------------------------------------------------------------------------

namespace {

// Asks the user's schedule for the next deadline, and arms the record for it.
void ask_next(record_set &set, record &timer, std::int64_t due, record_lock &lock)
    TW_YIELDS(core::wheels_lock) {
    std::int64_t deadline;
    {
        const user_call unlocked(set, timer, lock);
        deadline = timer.rest->next(due, timer.rest->arg);
    }
    if (timer.state != record_state::live || is_cancelled(set, timer))
        return;
    if (deadline == TW_NO_DEADLINE || !arm_at(set, timer, deadline))
        timer.state = record_state::last;
}

// Runs at the end of a fire, whether or not its callback was called. The last fire ends the record, and the
// last run of an ended record finishes it.
//
// If the callback has forked and this is the child, the callback counts as not returned: the child's runtime
// is inert, and reviving it ends the record (P13).
void after_fire(record_set &set, record &timer, std::int64_t due, record_lock &lock)
    TW_YIELDS(core::wheels_lock) {
    const std::atomic<bool> &forked = set.rt->forked;
    if (forked.load(std::memory_order_relaxed))
        return;
    if (has_next(timer) && timer.state == record_state::live && !is_cancelled(set, timer)) {
        ask_next(set, timer, due, lock);
        if (forked)
            return;
    }
    assert(timer.uses > 0);
    --timer.uses;
    announce_progress(*set.space);
    finish_if_over(set, timer, lock);
}

tw_event event_of(const record_set &set, const record &timer, const tw_key &key, std::int64_t due,
                  std::uint64_t overruns) {
    return {handle_in(set, timer), has_keys(set) ? &key : nullptr, due, overruns};
}

// Arms a periodic record for its next tick, before the callback of this fire runs. Returns false if this fire
// is its last.
bool arm_again(record_space &space, record &timer, runtime::tick present, runtime::tick &overruns)
    TW_REQUIRES(core::wheels_lock) {
    struct {
        runtime::tick expiry, period;
        std::uint32_t part;
        std::uint16_t fires_left;
        std::uint8_t missed_and_label;
    } next = {timer.timing.due, timer.rest->period, timer.rest->part, timer.rest->fires_left,
              timer.rest->missed};
    if (!core::set_to_next_on_grid(next, line_of(space, timer).unit.parts(), present, &overruns))
        return false;
    timer.rest->part = next.part;
    timer.rest->fires_left = next.fires_left;
    arm(space, timer, next.expiry, runtime::moment_now(space.rt->steady.lanes));
    return true;
}

// The fire holds a reference to the set until a worker has run or discarded the fire.
void fire_on_worker(record_set &set, record &timer, std::int64_t due, std::uint64_t overruns,
                    record_lock &lock) TW_YIELDS(core::wheels_lock) {
    set.whole->references.fetch_add(1, std::memory_order_relaxed);
    const bool skips = timer.rest->missed != TW_BURST;  // a one-shot timer has TW_BURST
    const workers::enqueued result = workers::enqueue(worker_part_of(timer).runnable, skips, due, overruns);
    if (result == workers::enqueued::waits)
        return;
    set.whole->references.fetch_sub(1, std::memory_order_relaxed);
    if (result == workers::enqueued::joins)
        --timer.uses;
    else
        after_fire(set, timer, due, lock);
}

// True if the end of the fire may call `next` or `drop`.
bool calls_more(const record &fired) {
    return fired.has_rest && (fired.rest->next != nullptr ||
                              (fired.rest->drop != nullptr && fired.state != record_state::live));
}

// Ends the current fire. In a child that the callback has forked there is none. Pauses the meter, so that the
// time of `next` and `drop` does not count for the next callback.
void end_fire(record_space &space) TW_YIELDS(core::wheels_lock) {
    record *const fired = space.fired;
    space.fired = nullptr;
    if (fired == nullptr)
        return;
    if (calls_more(*fired)) [[unlikely]]
        space.rt->meter.pause();
    fire_lock lock(space);
    after_fire(*space.fired_in, *fired, space.fired_due, lock);
}

void let_others_in(record_space &space) TW_YIELDS(core::wheels_lock) {
    core::unlock(space.wheels);
    core::lock(space.wheels);
}

// P7: no lock is held while the callback runs.
void call_here(record_space &space, record_set &set, record &timer, std::int64_t due, std::uint64_t overruns)
    TW_YIELDS(core::wheels_lock) {
    space.fired = &timer;
    space.fired_in = &set;
    space.fired_due = due;
    const inside_record frame(set, timer);
    const runtime::current_run run(*space.rt, due, overruns);
    const tw_key key = key_in(set, timer);
    const tw_event event = event_of(set, timer, key, due, overruns);
    tw_task_callback *const fn = timer.fn;
    void *const arg = arg_of(timer);
    core::unlock(space.wheels);
    fn(&event, arg);
    space.rt->meter.end_callback(overruns);
    core::lock(space.wheels);
    end_fire(space);
}

}  // namespace

// A cancelled record does not fire: cancel_all ends it, and counts this fire as prevented. P8: releases the
// lock between two fires, even if no callback runs here, so that other threads get it.
void fire_record(core::timing *fired, runtime::tick present, void *arg) {
    record_space &space = *static_cast<record_space *>(arg);
    if (fired == nullptr) {
        end_fire(space);
        return;
    }
    record &timer = record_of(*fired);
    record_set &set = set_of(timer);
    assert(timer.state == record_state::live && !core::is_armed(timer.timing));
    if (is_cancelled(set, timer)) {
        let_others_in(space);
        return;
    }
    const std::int64_t due = line_of(space, timer).unit.reading(timer.timing.due);
    runtime::tick overruns = 0;
    ++timer.uses;
    if (is_periodic(timer) ? !arm_again(space, timer, present, overruns) : !has_next(timer))
        timer.state = record_state::last;
    const bool on_worker = set.workers != nullptr;
    runtime::fire_meter &meter = space.rt->meter;
    if (meter.begin_callback(due, timer.label, on_worker)) [[unlikely]]
        meter.show_callback(timer.label, nullptr, handle_in(set, timer),
                            reinterpret_cast<const void *>(timer.fn));
    if (!on_worker) {
        call_here(space, set, timer, due, overruns);
        return;
    }
    {
        fire_lock lock(space);
        fire_on_worker(set, timer, due, overruns, lock);
    }
    meter.end_callback(overruns);
    let_others_in(space);
}

namespace {

void end_run(record_set &set, record &timer, std::int64_t due, record_lock &lock)
    TW_YIELDS(core::wheels_lock) {
    --worker_part_of(timer).begun;
    after_fire(set, timer, due, lock);
}

void release_after_run(record_set &set) {
    if (!set.rt->forked)
        release_references(set, 1);
}

// Calls the callback on a worker. If the callback throws, calls left(), with the lock held, before the
// exception goes on.
template <class Left>
void call(record_set &set, record &timer, std::int64_t due, record_lock &lock, Left left)
    TW_YIELDS(core::wheels_lock) {
    const tw_key key = key_in(set, timer);
    const tw_event event = event_of(set, timer, key, due, tw_runtime_overruns(set.rt));
    void *const arg = arg_of(timer);
    const inside_record frame(set, timer);
    lock.unlock();
    base::passing_exceptions([&] { timer.fn(&event, arg); },
                             [&] {
                                 frame.leave();
                                 lock.lock();
                                 left();
                             });
    lock.lock();
}

// Runs one fire on a worker. If a call has ended or cancelled the record since the fire was queued, that call
// has reported the fire as prevented (P6), so the callback does not run. tw_runtime_due and
// tw_runtime_overruns answer from the frame that call() in workers.cpp has set (current_run).
void run(tw_runnable &runnable) {
    record &timer = record_of(runnable);
    record_set &set = set_of(timer);
    const std::int64_t due = tw_runtime_due(set.rt);
    {
        record_lock lock(*set.space);
        ++worker_part_of(timer).begun;
        if (is_cancelled(set, timer))
            take_back_last(timer);
        if (is_live(timer) && !is_cancelled(set, timer))
            call(set, timer, due, lock, [&]() TW_RELEASE(core::wheels_lock) {
                end_run(set, timer, due, lock);
                lock.unlock();
                release_after_run(set);
            });
        end_run(set, timer, due, lock);
    }
    release_after_run(set);
}

void discarded(tw_runnable &runnable, std::uint32_t fires) {
    record &timer = record_of(runnable);
    record_set &set = set_of(timer);
    {
        record_lock lock(*set.space);
        timer.uses -= fires - 1;
        if (is_cancelled(set, timer))
            take_back_last(timer);
        after_fire(set, timer, tw_runtime_now(set.rt), lock);
    }
    release_references(set, fires);
}

// The record is in use, so the fields read here do not change.
void describe(const tw_runnable &runnable, runtime::running_callback &callback) {
    const record &timer = record_of(const_cast<tw_runnable &>(runnable));
    callback.describe(timer.label, nullptr, handle_in(set_of(timer), timer),
                      reinterpret_cast<const void *>(timer.fn));
}

}  // namespace

const tw_runnable_hooks record_hooks = {run, discarded, describe};

// --- calls on a live record ---------------------------------------------------------

int end(record_set &set, record &timer, record_lock &lock) {
    disarm(*set.space, timer);
    withdraw_fires(set, timer);
    const bool prevented = has_still_to_fire(set, timer);
    count_cancelled(*set.space, timer, prevented);
    retire(set, timer);
    if (timer.uses == 0)
        finish(set, timer, lock);
    return prevented ? 1 : 0;
}

void wait_until_over(record_set &set, record &timer, std::uint32_t generation, record_lock &lock) {
    while (timer.generation == generation && !inside_record::of(timer))
        wait_for_progress(*set.space, lock);
}

tw_key key_of(const record &timer) {
    if (timer.rest->has_number_key)
        return tw_key_number(timer.rest->key.number);
    const unsigned char *const longer = long_key_of(timer);
    return tw_key_bytes(longer != nullptr ? longer : timer.rest->key.bytes, timer.rest->key_size);
}

}  // namespace tickwheel::timers

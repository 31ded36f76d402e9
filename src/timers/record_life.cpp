// The life of a record: it fires, is moved, and ends. See record_set.hpp for the lock and the
// invariants.
#include "record_life.hpp"

#include <cassert>
#include <cerrno>
#include <cstdlib>

#include "runtime/exceptions.h"

namespace tickwheel::runtime {

// --- waiting ---------------------------------------------------------------------------

void announce_progress(record_set &set) {
    if (set.waiting == 0)
        return;
    __atomic_store_n(&set.progress, set.progress + 1, __ATOMIC_RELAXED);
    tw_port_wake_all(&set.progress);
}

void wait_for_progress(record_set &set, set_lock &lock) {
    const std::uint32_t seen = set.progress;
    ++set.waiting;
    lock.unlock();
    tw_port_wait(&set.progress, seen, INT64_MAX);
    lock.lock();
    --set.waiting;
}

// S1. Two cases need no wait. Without workers, a run that is going on is the node's callback
// itself, and it has had the lock. A record with a schedule of its own (`next`) is armed again
// only after its run, so while it runs its node is on no wheel; and its run may be inside
// `next`, in the node's callback, which this thread must not wait for.
//
// In all other cases `uses` keeps the record while the lock is released. A run on a worker may
// end meanwhile: it sees that `uses` is not 0, and leaves the record to this call.
void wait_for_node_callback(record &record, set_lock &lock) {
    if (record.uses != 0 && (record.set->workers == nullptr || record.next != nullptr))
        return;
    ++record.uses;
    lock.unlock();
    wait_for_callback(*record.set->rt, &record.node);
    lock.lock();
    --record.uses;
    announce_progress(*record.set);
}

// --- ending ----------------------------------------------------------------------------

void release_references(record_set &set, std::uint32_t times) {
    if (set.references.fetch_sub(times, std::memory_order_acq_rel) != times)
        return;
    set.records.free_all();
    std::free(&set);
}

void retire(record &record) {
    assert(record.state == record_state::live);
    record.state = record_state::ended;
    if (record.set->lookup->unpublish != nullptr)
        record.set->lookup->unpublish(*record.set, record);
}

namespace {

void free_record(record &record) {
    record_set &set = *record.set;
    assert(record.drop == nullptr && record.key_size == 0 && set.count > 0);
    assert(set.rt->forked || tw_pending(record.node.wheel, &record.node) <= 0);
    ++record.generation;
    const std::uint32_t reused = record.generation - range_of(set, record.number).first_generation;
    if (reused > set.most_generations)
        set.most_generations = reused;
    --set.count;
    set.records.give_back(record);
    if (set.count == 0)
        set.records.reset();
    announce_progress(set);
}

}  // namespace

// S2. The argument and the key are taken out of the record before the lock is released. If
// another thread forks while `drop` runs, the child finds a record with nothing left to drop.
void finish(record &record, set_lock &lock) {
    long_key *const key = long_key_of(record);
    void (*const drop)(void *) = record.drop;
    record.key_size = 0;
    record.drop = nullptr;
    if (drop != nullptr || key != nullptr) {
        const user_call unlocked(record, lock);
        if (drop != nullptr)
            drop(record.node.arg);
        std::free(key);
    }
    free_record(record);
}

void withdraw_fires(record &record) {
    if (record.set->workers == nullptr)
        return;
    const std::uint32_t taken = withdraw(worker_part_of(record).runnable);
    assert(taken <= record.uses - worker_part_of(record).begun);
    record.uses -= taken;
    record.is_last = record.is_last && taken == 0;
    record.set->references.fetch_sub(taken, std::memory_order_relaxed);  // never the last: the caller has one
}

bool has_still_to_fire(record &record) {
    const bool has_run_to_begin =
        record.set->workers != nullptr && record.uses > worker_part_of(record).begun;
    return !record.is_last || has_run_to_begin;
}

// --- firing ----------------------------------------------------------------------------

namespace {

int arm_at(record &record, std::int64_t deadline) {
    return tw_runtime_at(record.set->rt, &record.node, deadline > 0 ? deadline : 0);
}

// Asks the user's schedule for the next deadline, and arms the record for it.
// RELEASES AND REACQUIRES: set lock
void ask_next(record &record, std::int64_t due, set_lock &lock) {
    std::int64_t deadline;
    {
        const user_call unlocked(record, lock);
        deadline = record.next(due, record.node.arg);
    }
    if (record.state != record_state::live || is_drained(record))
        return;
    record.is_last = deadline == TW_NO_DEADLINE || arm_at(record, deadline) < 0;
}

// Called when a fire is over, whether or not its callback was called. The last fire ends the
// record, and the last run of an ended record finishes it.
//
// If the callback has forked and this is the child, the callback counts as not returned: the
// child's runtime is inert, and revival ends the record (P13).
// RELEASES AND REACQUIRES: set lock
void after_fire(record &record, std::int64_t due, set_lock &lock) {
    const std::atomic<bool> &forked = record.set->rt->forked;
    if (record.next != nullptr && record.state == record_state::live && !is_drained(record) && !forked)
        ask_next(record, due, lock);
    if (forked)
        return;
    assert(record.uses > 0);
    --record.uses;
    announce_progress(*record.set);
    if (record.uses != 0 || (record.state == record_state::live && !record.is_last))
        return;
    if (record.state == record_state::live)
        retire(record);
    finish(record, lock);
}

// Calls the user's function. If it throws, left() is called on the exception's way out.
template <class Left> void call(record &record, std::int64_t due, std::uint64_t overruns, Left left) {
    const tw_key key = key_of(record);
    const tw_event event = {handle_of(record), has_handles(*record.set) ? nullptr : &key, due, overruns};
    const inside_record frame(record);
    passing_exceptions([&] { record.fn(&event, record.node.arg); },
                       [&] {
                           frame.leave();
                           left();
                       });
}

// True if the wheel will not fire this node again.
bool is_last_fire(const record &record) {
    return record.next == nullptr &&
           (record.node.period == 0 || tw_pending(record.node.wheel, &record.node) == 0);
}

// A oneshot node on the steady timeline still has its due tick. In all other cases the node has
// been armed again or may have been shifted, and the runtime knows the deadline.
std::int64_t due_of(const record &record) {
    tw_runtime &rt = *record.set->rt;
    return record.node.period == 0 && !has_wall(rt) ? rt.steady.deadline_of(record.node.expiry)
                                                    : tw_runtime_due(&rt);
}

void fire_here(record &record, std::int64_t due, std::uint64_t overruns, set_lock &lock) {
    lock.unlock();
    call(record, due, overruns, [&] {
        lock.lock();
        after_fire(record, due, lock);
        lock.unlock();
    });
    lock.lock();
    after_fire(record, due, lock);
}

// The fire has a reference to the set until a worker has run or discarded it.
void fire_on_worker(record &record, std::int64_t due, std::uint64_t overruns, set_lock &lock) {
    record.set->references.fetch_add(1, std::memory_order_relaxed);
    const enqueued result = enqueue(worker_part_of(record).runnable, record.node, due, overruns);
    if (result == enqueued::waits)
        return;
    record.set->references.fetch_sub(1, std::memory_order_relaxed);
    if (result == enqueued::joins)
        --record.uses;
    else
        after_fire(record, due, lock);
}

}  // namespace

// Runs on the firing thread. An ended or drained record needs nothing from
// here: the call that ended it waits for this callback, and finishes the record.
void on_due(tw_node *node, void *) {
    record &record = record_of(node);
    record_set &set = *record.set;
    set_lock lock(set);
    if (record.state != record_state::live || is_drained(record))
        return;
    ++record.uses;
    record.is_last = is_last_fire(record);
    const std::int64_t due = due_of(record);
    const std::uint64_t overruns = node->period == 0 ? 0 : tw_runtime_overruns(set.rt);
    if (set.workers != nullptr)
        fire_on_worker(record, due, overruns, lock);
    else
        fire_here(record, due, overruns, lock);
}

namespace {

void end_run(record &record, std::int64_t due, set_lock &lock) {
    --worker_part_of(record).begun;
    after_fire(record, due, lock);
}

void release_after_run(record_set &set) {
    if (!set.rt->forked)
        release_references(set, 1);
}

// Runs one fire on a worker. If the record has been ended or drained since the fire was queued,
// that call has reported the fire as prevented (P6), so the callback is not called. tw_runtime_due
// and tw_runtime_overruns answer from the frame that call() in workers.cpp has set (current_run).
void run(tw_runnable &runnable) {
    record &record = record_of(runnable);
    record_set &set = *record.set;
    const std::int64_t due = tw_runtime_due(set.rt);
    {
        set_lock lock(set);
        ++worker_part_of(record).begun;
        if (is_drained(record))
            record.is_last = false;
        if (record.state == record_state::live && !is_drained(record)) {
            lock.unlock();
            call(record, due, tw_runtime_overruns(set.rt), [&] {
                lock.lock();
                end_run(record, due, lock);
                lock.unlock();
                release_after_run(set);
            });
            lock.lock();
        }
        end_run(record, due, lock);
    }
    release_after_run(set);
}

void discarded(tw_runnable &runnable, std::uint32_t fires) {
    record &record = record_of(runnable);
    record_set &set = *record.set;
    {
        set_lock lock(set);
        record.uses -= fires - 1;
        if (is_drained(record))
            record.is_last = false;
        after_fire(record, tw_runtime_now(set.rt), lock);
    }
    release_references(set, fires);
}

}  // namespace

const tw_runnable_hooks record_hooks = {run, discarded};

// --- calls on one that is live ---------------------------------------------------------

// A oneshot node that was still on the wheel has no callback on its way. A periodic one may: its
// node is on the wheel again before its callback begins.
int end(record &record, set_lock &lock) {
    const bool cancelled = cancel(*record.set->rt, &record.node) > 0;
    withdraw_fires(record);
    const bool prevented = has_still_to_fire(record);
    const bool may_be_beginning = !cancelled || record.node.period != 0;
    retire(record);
    if (may_be_beginning)
        wait_for_node_callback(record, lock);
    if (record.uses == 0)
        finish(record, lock);
    return prevented ? 1 : 0;
}

int move(record &record, prepared_delay &to) {
    const int error = to.move(&record.node);
    return error == -ENOENT ? refuse(-EBUSY, "the timer's last callback runs or is about to") : error;
}

std::int64_t remaining(record &record) {
    const std::int64_t left = tw_runtime_remaining(record.set->rt, &record.node);
    return left == TW_NO_DEADLINE ? 0 : left;
}

void wait_until_over(record &record, std::uint32_t generation, set_lock &lock) {
    while (record.generation == generation && !inside_record::of(record))
        wait_for_progress(*record.set, lock);
}

tw_key key_of(const record &record) {
    if (record.has_number_key)
        return tw_key_number(record.key.number);
    long_key *const longer = long_key_of(record);
    return tw_key_bytes(longer != nullptr ? longer->bytes() : record.key.bytes, record.key_size);
}

}  // namespace tickwheel::runtime

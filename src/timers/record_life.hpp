// Firing and ending records, for the other files of this folder. See record.hpp for a record's states.
//
//   fire_record   fires a record that is due
//   end           ends a live record: takes it off the wheel, withdraws its waiting fires, retires it, and
//                 finishes it if it has no uses left
//   retire        marks a record as ended: its handle or key no longer finds it, and no callback begins
//   after_fire    at the end of a fire (only in record_life.cpp): retires the record after its last
//                 fire, and finishes a retired record that has no uses left
//   finish        drops the argument and frees the cell
#pragma once

#include <cassert>

#include "record_set.hpp"
#include "runtime/current_run.hpp"
#include "runtime/on_stack.hpp"

namespace tickwheel::timers {

// While this object lives, the thread is in one of the user's functions for a record: a callback, `next`,
// `copy`, `drop` or a visitor.
class inside_record : runtime::on_stack<inside_record> {
  public:
    inside_record(const record_set &set, const record &timer) : record_(&timer), set_(set.whole) {}
    using stack_frame::leave;

    static bool of(const record &timer) {
        return find([&timer](const inside_record &each) { return each.record_ == &timer; }) != nullptr;
    }
    static bool of(const timer_set &set) {
        return find([&set](const inside_record &each) { return each.set_ == &set; }) != nullptr;
    }

  private:
    friend on_stack;
    const record *record_;
    const timer_set *set_;
};

// While this object lives, the record lock is released and the thread calls one of the user's functions.
class TW_SCOPED_CAPABILITY user_call {
  public:
    user_call(record_set &set, record &timer, record_lock &lock) TW_RELEASE(core::wheels_lock)
        : lock_(lock), inside_(*set.rt, lock), inside_record_(set, timer) {
        lock_.unlock();
    }
    ~user_call() TW_RELEASE() { lock_.lock(); }
    user_call(const user_call &) = delete;
    user_call &operator=(const user_call &) = delete;

  private:
    record_lock &lock_;
    const runtime::no_thread_cancel guard_;
    runtime::inside_user_code inside_;
    inside_record inside_record_;
};

// Wakes the threads that wait for the end of a run or of a record.
void wake_waiting(record_space &space) TW_REQUIRES(core::wheels_lock);
inline void announce_progress(record_space &space) TW_REQUIRES(core::wheels_lock) {
    if (space.waiting != 0) [[unlikely]]
        wake_waiting(space);
}

void wait_for_progress(record_space &space, record_lock &lock) TW_YIELDS(core::wheels_lock);

// Arms a record for a tick of its clock, at this moment (moment_at).
// REQUIRES: the record is not armed
inline void arm(record_space &space, record &timer, runtime::tick due, std::uint64_t moment)
    TW_REQUIRES(core::wheels_lock) {
    core::arm_record(wheel_of(space, timer), timer.timing, due, moment);
}

// Takes a record off its wheel, if it is armed.
inline void disarm(record_space &space, record &timer) TW_REQUIRES(core::wheels_lock) {
    if (core::is_armed(timer.timing))
        core::disarm_record(wheel_of(space, timer), timer.timing);
}

// Counts a fire that a call has prevented.
inline void count_cancelled(record_space &space, const record &timer, bool prevented)
    TW_REQUIRES(core::wheels_lock) {
    if (prevented)
        core::count_cancelled(space.steady, timer.label, 1);
}

// The core::record_caller of the wheels. Fires a record that the wheel has just taken off; or, if `fired` is
// null, ends a fire that an exception has left.
void fire_record(core::timing *fired, runtime::tick present, void *arg) TW_YIELDS(core::wheels_lock);

// Ends a live record: its handle or key no longer finds it, and no further callback begins.
void retire(record_set &set, record &timer) TW_REQUIRES(core::wheels_lock);

// Frees the cell of an ended record that has nothing else to give back; `in` is the cell's block.
inline void free_record(record_set &set, record &timer, const block &in) TW_REQUIRES(core::wheels_lock) {
    assert(set.count > 0 && !core::is_armed(timer.timing));
    set.records->give_back(timer, in);
    if (--set.count == 0)
        set.records->reset();
    announce_progress(*set.space);
}

// `end` for a record without a rest: it calls none of the user's functions.
inline int end_bare(record_set &set, record &timer, const block &in) TW_REQUIRES(core::wheels_lock) {
    const bool prevented = timer.state == record_state::live;
    disarm(*set.space, timer);
    timer.state = record_state::ended;
    count_cancelled(*set.space, timer, prevented);
    if (timer.uses == 0)
        free_record(set, timer, in);
    return prevented ? 1 : 0;
}

// Drops the argument of an ended record without uses, and frees its cell.
void finish(record_set &set, record &timer, record_lock &lock) TW_YIELDS(core::wheels_lock);

// Call this when a use has ended. Finishes the record if that was the last use and the record will not fire
// again.
void finish_if_over(record_set &set, record &timer, record_lock &lock) TW_YIELDS(core::wheels_lock);

// Takes a record's waiting fires off the workers' queue.
void withdraw_fires(record_set &set, record &timer) TW_REQUIRES(core::wheels_lock);

// True if ending a live record prevents a fire. Call this after disarm() and withdraw_fires().
bool has_still_to_fire(const record_set &set, record &timer) TW_REQUIRES(core::wheels_lock);

// Releases `times` references to a set. The last one frees its memory.
void release_references(record_set &set, std::uint32_t times);

inline bool is_cancelled(const record_set &set, const record &timer) TW_REQUIRES(core::wheels_lock) {
    return timer.epoch != set.epoch;
}

// How workers run a record.
extern const tw_runnable_hooks record_hooks;

}  // namespace tickwheel::timers

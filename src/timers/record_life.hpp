// How records fire and end, for the other files of this folder. See record.hpp for their states.
//
//   fire_next   fires the record that the wheel has said is due
//   end         ends a live record: takes it off the wheel, withdraws the fires that wait, retires it, and
//               finishes it if it has no uses left
//   retire      marks it as ended: its handle or key finds it no more, and no callback begins
//   after_fire  when a fire is over: retires the record after its last one, and finishes a retired
//               record that has no uses left
//   finish      drops the argument and frees the cell
//
// `uses` counts the fires of a record that wait or run, and the calls that keep it while they have
// released the lock. Memory of the set itself has a count of its own, `references`.
#pragma once

#include <cassert>

#include "record_set.hpp"
#include "runtime/current_run.hpp"
#include "runtime/on_stack.hpp"

namespace tickwheel::runtime {

// While it lives, this thread is in a function of a record's user: a callback, `next`, `copy`,
// `drop` or a drain's visitor. On the firing thread it is in one after the other.
class inside_record : on_stack<inside_record> {
  public:
    inside_record() = default;
    inside_record(const record_set &set, const record &it) : record_(&it), set_(&set) {}
    using stack_frame::leave;

    void enter(const record_set &set, const record &it) {
        record_ = &it;
        set_ = &set;
    }
    void leave_record() {
        record_ = nullptr;
        set_ = nullptr;
    }

    static bool of(const record &it) {
        return find([&it](const inside_record &each) { return each.record_ == &it; }) != nullptr;
    }
    static bool of(const record_set &set) {
        return find([&set](const inside_record &each) { return each.set_ == &set; }) != nullptr;
    }

  private:
    friend on_stack;
    const record *record_ = nullptr;
    const record_set *set_ = nullptr;
};

// While it lives, the keeper's lock is released and this thread calls a function of the user's.
class user_call {
  public:
    user_call(record_set &set, record &it, keeper_lock &lock)
        : lock_(lock), inside_(*set.rt, lock), inside_record_(set, it) {
        lock_.unlock();
    }
    ~user_call() { lock_.lock(); }
    user_call(const user_call &) = delete;
    user_call &operator=(const user_call &) = delete;

  private:
    keeper_lock &lock_;
    const no_thread_cancel guard_;
    inside_user_code inside_;
    inside_record inside_record_;
};

// Wakes the threads that wait until a run ends or a record is over.
// REQUIRES: keeper lock held
void wake_waiting(record_keeper &keeper);
inline void announce_progress(record_keeper &keeper) {
    if (keeper.waiting != 0) [[unlikely]]
        wake_waiting(keeper);
}

// RELEASES AND REACQUIRES: keeper lock
void wait_for_progress(record_keeper &keeper, keeper_lock &lock);

// Arms a record for a tick of its clock.
// REQUIRES: keeper lock held, the record is not armed
inline void arm(record_keeper &keeper, record &it, tick due) {
    it.is_armed = true;
    wheel_of(keeper, it).arm(it.number, it.timing, due, ++keeper.order);
}

// Takes it off the wheel, if it is there.
// REQUIRES: keeper lock held
inline void disarm(record_keeper &keeper, record &it) {
    if (!it.is_armed)
        return;
    it.is_armed = false;
    wheel_of(keeper, it).disarm(it.number, it.timing);
}

// Fires the record that the wheel has just said is due on this line; `frame` and `run` are those of the
// firing thread. RELEASES AND REACQUIRES: keeper lock
void fire_next(record_keeper &keeper, record_wheel &wheel, inside_record &frame, current_run &run,
               keeper_lock &lock);

// Ends the fire that an exception has left.
// RELEASES AND REACQUIRES: keeper lock
void abandon_fire(record_keeper &keeper, keeper_lock &lock);

// Ends a live record: its handle or key finds it no more, and no further callback begins.
// REQUIRES: keeper lock held
void retire(record_set &set, record &it);

// Frees the cell of an ended record that has nothing left to give back.
// REQUIRES: keeper lock held
inline void free_record(record_set &set, record &it) {
    assert(set.count > 0 && !it.is_armed);
    set.records->give_back(it);
    if (--set.count == 0)
        set.records->reset();
    announce_progress(*set.keeper);
}

// `end` for a record without a rest: that calls nothing of the user's.
// REQUIRES: keeper lock held
inline int end_bare(record_set &set, record &it) {
    disarm(*set.keeper, it);
    it.state = record_state::ended;
    const int prevented = it.is_last ? 0 : 1;
    set.keeper->cancelled[it.label] += static_cast<unsigned>(prevented);
    if (it.uses == 0)
        free_record(set, it);
    return prevented;
}

// Drops the argument of an ended record without uses, and frees its cell.
// RELEASES AND REACQUIRES: keeper lock
void finish(record_set &set, record &it, keeper_lock &lock);

// Called when a use has ended: finishes the record if that was the last one, and nothing else is to come.
// RELEASES AND REACQUIRES: keeper lock
void finish_if_over(record_set &set, record &it, keeper_lock &lock);

// Takes the fires that wait for a worker off its queue.
// REQUIRES: keeper lock held
void withdraw_fires(record_set &set, record &it);

// True if ending a live record prevents a fire. To be called after disarm() and withdraw_fires().
// REQUIRES: keeper lock held
bool has_still_to_fire(const record_set &set, record &it);

// Gives up so many references to a set. The last one frees its memory.
void release_references(record_set &set, std::uint32_t times);

inline bool is_drained(const record_set &set, const record &it) { return it.epoch != set.epoch; }

// How workers run a record.
extern const tw_runnable_hooks record_hooks;

}  // namespace tickwheel::runtime

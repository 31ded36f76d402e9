// How records fire and end, for the other files of this folder. See record_set.hpp.
//
//   end         ends a live record: cancels its node, withdraws the fires that wait, retires it, and
//               finishes it if it has no uses left
//   retire      marks it as ended: its handle or key finds it no more, and no callback begins
//   after_fire  when a fire is over: retires the record after its last one, and finishes a retired
//               record that has no uses left
//   finish      drops the argument and frees the cell
//
// `uses` counts the fires of a record that wait or run, and the calls that keep it while they have
// released the lock. Memory of the set itself has a count of its own, `references`.
#pragma once

#include "record_set.hpp"
#include "runtime/on_stack.hpp"

namespace tickwheel::runtime {

// While it lives, this thread is in a function of a record's user: a callback, `next`, `copy`,
// `drop` or a drain's visitor.
class inside_record : on_stack<inside_record> {
  public:
    explicit inside_record(const record &record) : record_(&record) {}
    using stack_frame::leave;

    static bool of(const record &record) {
        return find([&record](const inside_record &each) { return each.record_ == &record; }) != nullptr;
    }
    static bool of(const record_set &set) {
        return find([&set](const inside_record &each) { return each.record_->set == &set; }) != nullptr;
    }

  private:
    friend on_stack;
    const record *record_;
};

// While it lives, the lock of the set is released and this thread calls a function of the user's.
class user_call {
  public:
    user_call(record &record, set_lock &lock)
        : lock_(lock), inside_(*record.set->rt, lock), inside_record_(record) {
        lock_.unlock();
    }
    ~user_call() { lock_.lock(); }
    user_call(const user_call &) = delete;
    user_call &operator=(const user_call &) = delete;

  private:
    set_lock &lock_;
    const no_thread_cancel guard_;
    inside_user_code inside_;
    inside_record inside_record_;
};

// Wakes the threads that wait until a run ends or a record is over.
// REQUIRES: set lock held
void announce_progress(record_set &set);

// RELEASES AND REACQUIRES: set lock
void wait_for_progress(record_set &set, set_lock &lock);

// Waits until a callback of an ended record's node that the wheel has begun, but that has not
// had the lock, has returned.
// RELEASES AND REACQUIRES: set lock
void wait_for_node_callback(record &record, set_lock &lock);

// Ends a live record: its handle or key finds it no more, and no further callback begins.
// REQUIRES: set lock held
void retire(record &record);

// Drops the argument of an ended record without uses, and frees its cell.
// RELEASES AND REACQUIRES: set lock
void finish(record &record, set_lock &lock);

// Takes the fires that wait for a worker off its queue.
// REQUIRES: set lock held
void withdraw_fires(record &record);

// True if ending a live record prevents a fire. To be called after cancel() and withdraw_fires().
// REQUIRES: set lock held
bool has_still_to_fire(record &record);

// Gives up so many references to a set. The last one frees its memory.
void release_references(record_set &set, std::uint32_t times);

inline bool is_drained(const record &record) { return record.epoch != record.set->epoch; }

// The callback of every record's node, and how workers run a record.
void on_due(tw_node *node, void *);
extern const tw_runnable_hooks record_hooks;

}  // namespace tickwheel::runtime

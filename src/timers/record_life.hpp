// How records live and end, for the files that have them start and drained; see records.hpp.
#pragma once

#include "record_set.hpp"
#include "runtime/on_stack.hpp"

namespace tickwheel::runtime {

// Says that this thread runs something of a record's user: a callback, `next`, `drop`.
class inside_record : on_stack<inside_record> {
  public:
    explicit inside_record(const record &it) : it_(&it) {}
    using stack_frame::leave;

    static bool of(const record &it) {
        return find([&it](const inside_record &each) { return each.it_ == &it; }) != nullptr;
    }
    static bool of(const record_set &set) {
        return find([&set](const inside_record &each) { return each.it_->set == &set; }) != nullptr;
    }

  private:
    friend on_stack;
    const record *it_;
};

// Lets go of the lock for a function of the user's, in which this thread then is.
class for_user {
  public:
    for_user(record &it, set_lock &hold) : hold_(hold), inside_(*it.set->rt, hold), inside_record_(it) {
        hold_.unlock();
    }
    ~for_user() { hold_.lock(); }
    for_user(const for_user &) = delete;
    for_user &operator=(const for_user &) = delete;

  private:
    set_lock &hold_;
    const uncancelled whole_;
    inside_user_code inside_;
    inside_record inside_record_;
};

void announce_progress(record_set &set);
void wait_for_progress(record_set &set, set_lock &hold);

// Until a callback that the wheel has begun with, and that has not had the lock, is through.
// On workers a former fire may run meanwhile; it does not finish the record. One with a
// schedule of its own is not armed while it runs, so nothing unseen is there; and `next`,
// which may be asked in the wheel's callback, must not be waited for.
void wait_for_unseen(record &it, set_lock &hold);

// From here on its handle or key is good no more.
void retire(record &it);

// What has ended, and has no runs any more, is over.
void finish(record &it, set_lock &hold);

// Takes back runs that wait for a worker, the last among them.
void take_back(record &it);

// Once what waits has been taken back: of a live one, whether ending it prevents a fire.
bool has_still_to_fire(record &it);

// For one user, or several, of a set.
void release(record_set &set, std::uint32_t times);

inline bool is_drained(const record &it) { return it.epoch != it.set->epoch; }

// The callback of every record's node; and what workers do with it.
void on_due(tw_node *node, void *);
extern const tw_runnable_kind runnable_hooks;

}  // namespace tickwheel::runtime

// How entries live and end, for the files that have them start and drained; see entries.hpp.
#pragma once

#include "entries.hpp"
#include "on_stack.hpp"

namespace tickwheel::runtime {

// Says that this thread runs something of an entry's user: a callback, `next`, `drop`.
class in_entry : on_stack<in_entry> {
  public:
    explicit in_entry(const entry &it) : it_(&it) {}
    using stack_frame::leave;

    static bool of(const entry &it) {
        return find([&it](const in_entry &each) { return each.it_ == &it; }) != nullptr;
    }
    static bool of(const entries &set) {
        return find([&set](const in_entry &each) { return each.it_->set == &set; }) != nullptr;
    }

  private:
    friend on_stack;
    const entry *it_;
};

// Lets go of the lock for a function of the user's, in which this thread then is.
class for_user {
  public:
    for_user(entry &it, entries_hold &hold) : hold_(hold), inside_(*it.set->rt, hold), in_entry_(it) {
        hold_.unlock();
    }
    ~for_user() { hold_.lock(); }
    for_user(const for_user &) = delete;
    for_user &operator=(const for_user &) = delete;

  private:
    entries_hold &hold_;
    const uncancelled whole_;
    inside inside_;
    in_entry in_entry_;
};

void came_further(entries &set);
void wait_until_one_comes_further(entries &set, entries_hold &hold);

// Until a callback that the wheel has begun with, and that has not had the lock, is through.
// On workers a former fire may run meanwhile; it does not finish the entry. One with a
// schedule of its own is not armed while it runs, so nothing unseen is there; and `next`,
// which may be asked in the wheel's callback, must not be waited for.
void wait_for_unseen(entry &it, entries_hold &hold);

// From here on its handle or key is good no more.
void retire(entry &it);

// What has ended, and has no runs any more, is over.
void finish(entry &it, entries_hold &hold);

// Takes back runs that wait for a worker, the last among them.
void take_back(entry &it);

// Once what waits has been taken back: of a live one, whether ending it prevents a fire.
bool has_still_to_fire(entry &it);

// For one user, or several, of a set.
void let_go(entries &set, std::uint32_t times);

inline bool is_drained(const entry &it) { return it.epoch != it.set->epoch; }

// The callback of every entry's node; and what workers do with it.
void on_due(tw_node *node, void *);
extern const tw_runnable_kind worked_kind;

}  // namespace tickwheel::runtime

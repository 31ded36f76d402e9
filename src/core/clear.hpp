// Clearing a wheel: tw_clear takes every node off and hands it to the caller's function. And what
// becomes of a clear, and of an advance, in the child of a fork.
#pragma once

#include "advance.hpp"
#include "callback_wait.hpp"

namespace tickwheel::core {

#if TW_RUNTIME
// Finishes a shift, which another thread may have begun.
// RELEASES AND REACQUIRES: wheel lock, now and then (P8)
TW_ONE_COPY inline void finish_shift(locked_wheel &wheel) {
    for (work_budget moves(wheel, TW_UNBOUNDED); wheel.shift_one();)
        moves.spend();
}
#endif

// Notes beside the wheel, for its scope, that this thread clears it, and with which node: so that
// tw_wait can wait until `each` has returned, and a forked child can tell this thread's clear
// from those of threads that it does not have.
class clear_scope {
  public:
    // REQUIRES: wheel lock held; also at the end of the scope
    explicit clear_scope(locked_wheel &wheel) : wheel_(wheel) {
        if constexpr (has_threads) {
            own_ = {wheel.clearings, tw_port_self(), nullptr};
            wheel.clearings = &own_;
        }
    }
    ~clear_scope() {
        if constexpr (has_threads) {
            clearing **link = &wheel_.clearings;
            while (*link != &own_)
                link = &(*link)->next;
            *link = own_.next;
        }
    }

    // Calls each(node, arg), which may free the node. RELEASES AND REACQUIRES: wheel lock
    void hand_out(tw_node &node, tw_callback *each, void *arg) {
        own_.handed_out = &node;
        unlock(wheel_);
        if (each != nullptr)
            each(&node, arg);
        lock(wheel_);
        own_.handed_out = nullptr;
        if constexpr (has_threads)
            announce(wheel_, wheel_.handed_back);
    }

    clear_scope(const clear_scope &) = delete;
    clear_scope &operator=(const clear_scope &) = delete;
    clear_scope(clear_scope &&) = delete;
    clear_scope &operator=(clear_scope &&) = delete;

  private:
    locked_wheel &wheel_;
    clearing own_ = {};
};

// All nodes come off their slots in one step, which decides what is cleared: nodes armed from here
// on stay. They remain pending, in the order of their ticks, until each is handed out; until then a
// cancel takes it out of the ring, and `each` does not get it. A shift that is under way is
// finished first, because its nodes are in a ring of their own.
// RELEASES AND REACQUIRES: wheel lock
TW_INLINE_IF_SMALL inline void clear(locked_wheel &wheel, tw_callback *each, void *arg) {
    clear_scope scope(wheel);
#if TW_RUNTIME
    finish_shift(wheel);
#endif
    wheel.begin_clear();
    tw_node *node = nullptr;
    while ((node = wheel.take_leaving()) != nullptr)
        scope.hand_out(*node, each, arg);
}

// P13, in the child of a fork: of all threads only the caller's is left.
//
// Clears, advances and walks that other threads were in never go on. A clear of theirs is forgotten, and if
// no other is left the nodes still leaving are pending as before. The advance of another
// thread is over, callback included. One of this thread's own goes on after the fork, but it is
// interrupted, as what it would call next are the parent's timers. The lock is made anew: its
// word may count waiters that do not exist here.
// REQUIRES: wheel lock held. RELEASES: wheel lock
[[maybe_unused]] inline void become_child(locked_wheel &wheel) {
    clearing **link = &wheel.clearings;
    while (*link != nullptr) {
        if ((*link)->thread == tw_port_self())
            link = &(*link)->next;
        else
            *link = (*link)->next;
    }
    if (wheel.clearings == nullptr)
        wheel.abandon_clear();
#if TW_RUNTIME
    wheel.drop_markers();
#endif
    wheel.waiters = 0;
    if (wheel.advancing && wheel.advancer != tw_port_self()) {
        wheel.advancing = false;
        wheel.forget_running();
    }
    wheel.interrupted = wheel.advancing;
    tw_port_lock_init(&wheel.lock);
}

}  // namespace tickwheel::core

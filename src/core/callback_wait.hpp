// Waiting until a callback on another thread has returned (P6).
//
// A thread can wait for two events: a callback returned, or the `each` of a tw_cancel_all returned. Each
// event has a counter in wheel_sharing. A waiter reads the counter with the lock held, announces itself in
// `waiters`, releases the lock and sleeps in the port while the counter has that value. The waiter misses no
// event in between, because the port compares the counter once more before it sleeps. A waiter waits for one
// return of the callback only: if a one-shot timer fires again meanwhile, it was armed since, and the waiter
// need not wait for that fire. The Promela model cancel_wait.pml searches exhaustively for a lost wake-up.
//
// Ports without threads compile none of this.
#pragma once

#include "api_guard.hpp"
#include "cancel_all_calls.hpp"

namespace tickwheel::core {
namespace {

// Counts an event and wakes its waiters. The store is atomic because the kernel reads the counter.
[[maybe_unused]] inline void announce(wheel_state &wheel, std::uint32_t &events) TW_YIELDS(wheels_lock) {
    __atomic_store_n(&events, events + 1, __ATOMIC_RELAXED);
    if (wheel.waiters != 0) {
        unlock(wheel);
        tw_port_wake_all(&events);
        lock(wheel);
    }
}

// Sleeps until another thread announces an event.
[[maybe_unused]] inline void wait_for_next(wheel_state &wheel, std::uint32_t &events) TW_YIELDS(wheels_lock) {
    const std::uint32_t seen = events;
    ++wheel.waiters;
    do {
        unlock(wheel);
        tw_port_wait(&events, seen, INT64_MAX);
        lock(wheel);
    } while (events == seen);
    --wheel.waiters;
}

// True if another thread's tw_cancel_all has handed this node to its `each`, and the caller must wait for
// that `each`. False if an `each` of the caller's own tw_cancel_all has the node, too: two calls may hand out
// the same node if it is armed in between, and their threads would wait for each other forever.
template <class Wheel> bool is_handed_out(const Wheel &wheel, const tw_node *node) TW_REQUIRES(wheels_lock) {
    bool by_another = false;
    for (const cancel_all_call *each = wheel.first_cancel_all(); each != nullptr; each = each->next) {
        if (each->handed_out != node)
            continue;
        if (each->thread == tw_port_self())
            return false;
        by_another = true;
    }
    return by_another;
}

// Returns when no other thread is in a callback of the node or hands it out. A thread does not wait for
// itself.
template <class Wheel> void wait_for_callback(Wheel &wheel, const tw_node *node) TW_YIELDS(wheels_lock) {
    if (wheel.running == node && wheel.advancer != tw_port_self())
        wait_for_next(wheel, wheel.returned);
    while (is_handed_out(wheel, node))
        wait_for_next(wheel, wheel.handed_back);
}

// Ends the running callback, which has returned or thrown an exception.
inline void end_callback(wheel_state &wheel) TW_YIELDS(wheels_lock) {
    wheel.running = nullptr;
    if constexpr (has_threads)
        announce(wheel, wheel.returned);
}

}  // namespace
}  // namespace tickwheel::core

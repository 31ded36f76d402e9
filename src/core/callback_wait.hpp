// Waiting until a callback on another thread has returned (P6).
//
// Two events can be waited for: a callback returned, and a tw_clear got a node back from `each`. Each
// is a counter beside the wheel. A waiter reads the counter with the lock held, announces itself in
// `waiters`, releases the lock and sleeps in the port for as long as the counter has that value. No
// event is missed in between, because the port compares the counter once more as it falls
// asleep. It waits for one event and not for a batch: a oneshot that fires again meanwhile has been
// armed since, which is not this waiter's business. The Promela model cancel_wait.pml is searched
// exhaustively for a wake-up that is lost.
//
// Ports without threads leave all of this out.
#pragma once

#include "api_guard.hpp"
#include "clearing.hpp"

namespace tickwheel::core {
namespace {

// Counts an event and wakes those that wait for it. The store is atomic, as the kernel reads it.
[[maybe_unused]] inline void announce(wheel_state &wheel, std::uint32_t &events) TW_YIELDS(wheels_lock) {
    __atomic_store_n(&events, events + 1, __ATOMIC_RELAXED);
    if (wheel.waiters != 0) {
        unlock(wheel);
        tw_port_wake_all(&events);
        lock(wheel);
    }
}

// Sleeps until an event is announced.
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

// True if the caller has to wait for another thread that clears the wheel and has this node with its
// `each`. Not if the caller has the node with an `each` of its own: two threads may clear the same
// node one after the other if it is armed in between, and would wait for each other forever.
template <class Wheel> bool is_handed_out(const Wheel &wheel, const tw_node *node) TW_REQUIRES(wheels_lock) {
    bool by_another = false;
    for (const clearing *each = wheel.first_clearing(); each != nullptr; each = each->next) {
        if (each->handed_out != node)
            continue;
        if (each->thread == tw_port_self())
            return false;
        by_another = true;
    }
    return by_another;
}

// Returns when no other thread is in a callback of the node, nor hands it out. A thread does not
// wait for itself.
template <class Wheel> void wait_for_callback(Wheel &wheel, const tw_node *node) TW_YIELDS(wheels_lock) {
    if (wheel.running == node && wheel.advancer != tw_port_self())
        wait_for_next(wheel, wheel.returned);
    while (is_handed_out(wheel, node))
        wait_for_next(wheel, wheel.handed_back);
}

// Ends the running callback, which has returned or been left by an exception.
inline void end_callback(wheel_state &wheel) TW_YIELDS(wheels_lock) {
    wheel.running = nullptr;
    if constexpr (has_threads)
        announce(wheel, wheel.returned);
}

}  // namespace
}  // namespace tickwheel::core

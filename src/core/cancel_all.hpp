// tw_cancel_all takes every node off a wheel and hands it to the caller's function; records stay.
#pragma once

#include "advance.hpp"
#include "callback_wait.hpp"

namespace tickwheel::core {
namespace {

#if TW_RUNTIME
// Finishes a shift, which another thread may have begun, in bounded holds of the lock (P8).
template <class Wheel> TW_ONE_COPY void finish_shift(Wheel &wheel) TW_YIELDS(wheels_lock) {
    for (work_budget moves(wheel, TW_UNBOUNDED); wheel.shift_one();)
        moves.spend();
}
#endif

// All nodes leave their slots in one hold of the lock, so nodes armed later stay. A node remains pending
// until this function hands it out; if it is cancelled before that, `each` does not get it. Finishes a shift
// first, because the nodes of a shift are in a ring of their own.
//
// `own` says which thread makes this call, and which node it hands out now. So tw_wait can wait until `each`
// has returned, and a forked child can tell the call from those of threads that it does not have.
template <class Wheel>
TW_INLINE_IF_SMALL inline void cancel_all(Wheel &wheel, tw_callback *each, void *arg) TW_YIELDS(wheels_lock) {
#if TW_RUNTIME
    finish_shift(wheel);
#endif
    cancel_all_call own = {nullptr, tw_port_self(), nullptr, nullptr};
    wheel.begin_cancel_all(own);
    for (;;) {
#if TW_RUNTIME
        for (work_budget drops(wheel, TW_UNBOUNDED); wheel.drop_leaving();)
            drops.spend();
#endif
        tw_node *const node = wheel.take_leaving();
        if (node == nullptr)
            break;
        if (has_threads)
            own.handed_out = node;
        call_unlocked(wheel, node, each, arg);
        if constexpr (has_threads) {
            own.handed_out = nullptr;
            announce(wheel, wheel.handed_back);
        }
    }
    wheel.end_cancel_all(own);
}

}  // namespace
}  // namespace tickwheel::core

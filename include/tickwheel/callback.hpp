// tickwheel/callback.hpp - C++ callables as the library's callbacks. See tickwheel.hpp.
#include <tickwheel/cplusplus.hpp>
#if defined(TICKWHEEL_CPLUSPLUS_20) && !defined(TICKWHEEL_CALLBACK_HPP)
#define TICKWHEEL_CALLBACK_HPP

#include <cassert>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <tickwheel/chrono.hpp>
#include <tickwheel/handle.h>
#include <tickwheel/runtime.h>
#include <tickwheel/task.h>
#include <tickwheel/workers.h>

namespace tickwheel {

// One fire, as its callback sees it.
template <class Clock> struct basic_event {
    std::chrono::time_point<Clock, std::chrono::nanoseconds> due;  // what it was due at
    std::uint64_t overruns;                                        // further fires that were missed
};

// What a timer calls: with the event if it takes one, else with nothing.
template <class F, class Clock>
concept callback = std::move_constructible<F> &&
    (std::invocable<F &, const basic_event<Clock> &> || std::invocable<F &>);

// Gets what a callback has thrown, on the thread that ran it. It throws nothing itself.
using exception_handler = std::function<void(std::exception_ptr)>;

inline void print_exception(const std::exception_ptr &thrown) noexcept {
    try {
        std::rethrow_exception(thrown);
    } catch (const std::exception &e) {
        std::fprintf(stderr, "tickwheel: a callback has thrown: %s\n", e.what());
    } catch (...) {
        std::fprintf(stderr, "tickwheel: a callback has thrown something unknown\n");
    }
}

// Callables up to this size live in the timer, without allocation, if they can be moved
// without throwing and are aligned to pointers. Others are allocated once, by `new`.
inline constexpr std::size_t inline_size = 56;

namespace detail {

// A runtime, or a pool of workers on one, as those see it who may outlive it: timers,
// sleeping coroutines. All null once it has gone, which the C interface takes kindly.
struct home {
    tw_runtime *rt = nullptr;
    tw_handles *timers = nullptr;
    tw_workers *pool = nullptr;
    exception_handler on_exception;
    std::shared_ptr<const home> kept;  // itself, once it is to stay for ever
};

// What a callback of its own has destroyed on this thread: by std::exit, from which it does
// not return.
inline thread_local const home *destroyed_here = nullptr;

// C++ ends here: what `f` throws goes to the handler, not into C.
template <class F> void guard(const home &at, F &&f) noexcept {
    try {
        std::forward<F>(f)();
    } catch (...) {
        at.on_exception(std::current_exception());
    }
    assert(destroyed_here != &at && "a callback has destroyed its own runtime");
}

template <class Clock, class F, class GetEvent> void invoke_with_event(F &f, GetEvent event) {
    if constexpr (std::invocable<F &, const basic_event<Clock> &>)
        std::invoke(f, event());
    else
        std::invoke(f);
}

template <class Clock> basic_event<Clock> event_of(std::int64_t due_ns, std::uint64_t overruns) {
    using time_point = std::chrono::time_point<Clock, std::chrono::nanoseconds>;
    return {time_point(std::chrono::nanoseconds(due_ns)), overruns};
}

template <class F> inline constexpr bool fits_inline = sizeof(F) <= inline_size;
template <class F>
inline constexpr bool is_inline = fits_inline<F> &&
                                  alignof(F) <= alignof(void *) && std::is_nothrow_move_constructible_v<F>;

// A callable as a timer of handle.h keeps it.
template <class F, bool Inline = is_inline<F>> struct slot {
    const home *at;
    F f;
    slot(const home &where, F &&from) : at(&where), f(std::move(from)) {}
    F &callable() { return f; }
};
template <class F> struct slot<F, false> {
    const home *at;
    std::unique_ptr<F> f;
    // cppcheck-suppress uninitMemberVar ; it is set here
    slot(const home &where, F &&from) : at(&where), f(std::make_unique<F>(std::move(from))) {}
    F &callable() { return *f; }
};
inline constexpr std::size_t slot_size = sizeof(void *) + inline_size;

template <class Clock, class F> void call_slot(const tw_event *event, void *arg) {
    auto &self = *static_cast<slot<F> *>(arg);
    guard(*self.at, [&] {
        invoke_with_event<Clock>(self.callable(),
                                 [&] { return event_of<Clock>(event->due_ns, event->overruns); });
    });
}

template <class F> void move_slot(void *to, void *from) {
    ::new (to) slot<F>(std::move(*static_cast<slot<F> *>(from)));
}

template <class F> void drop_slot(void *arg) { std::destroy_at(static_cast<slot<F> *>(arg)); }

// The task that calls a copy of the slot, which is moved from if it is more than bytes.
template <class Clock, class F> tw_task task_of(slot<F> &from) {
    static_assert(sizeof from <= slot_size);
    tw_task task = {};
    task.fn = call_slot<Clock, F>;
    task.arg = &from;
    task.arg_size = sizeof from;
    if constexpr (!std::is_trivially_copyable_v<slot<F>>) {
        task.copy = move_slot<F>;
        task.drop = drop_slot<F>;
    }
    return task;
}

// What a node of the caller's own is, on the runtime's thread and on workers.
inline void make_node(tw_node &node, const home &, tw_callback *fn, void *arg) {
    check(tw_node_init(&node, fn, arg));
}
inline void make_node(tw_job &job, const home &at, tw_callback *fn, void *arg) {
    check(tw_job_init(&job, at.pool, fn, arg, 0));
}
inline tw_node *node_in(tw_node &node) { return &node; }
inline tw_node *node_in(tw_job &job) { return &job.node; }
inline const tw_node *node_in(const tw_node &node) { return &node; }
inline const tw_node *node_in(const tw_job &job) { return &job.node; }

}  // namespace detail
}  // namespace tickwheel

#endif

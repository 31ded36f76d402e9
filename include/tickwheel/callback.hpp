// tickwheel/callback.hpp - how timers keep and call C++ callables. See tickwheel.hpp.
#include <tickwheel/cplusplus.hpp>
#if defined(TICKWHEEL_CPLUSPLUS_20) && !defined(TICKWHEEL_CALLBACK_HPP)
#define TICKWHEEL_CALLBACK_HPP

#include <atomic>
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
#include <tickwheel/runtime.h>
#include <tickwheel/task.h>
#include <tickwheel/timers.h>
#include <tickwheel/workers.h>

namespace tickwheel {

// One fire of a timer, as its callback receives it.
template <class Clock> struct basic_event {
    std::chrono::time_point<Clock, std::chrono::nanoseconds> due;  // the deadline
    std::uint64_t overruns;  // deadlines of a periodic timer that passed without a fire before this one
};

// The callables that a timer accepts: f(event), or else f().
template <class F, class Clock>
concept callback = std::move_constructible<F> &&
    (std::invocable<F &, const basic_event<Clock> &> || std::invocable<F &>);

// Receives an exception that a callback has thrown, on the thread that ran it. Must not throw.
using exception_handler = std::function<void(std::exception_ptr)>;

// The default handler: prints the exception to stderr.
inline void print_exception(const std::exception_ptr &thrown) noexcept {
    try {
        std::rethrow_exception(thrown);
    } catch (const std::exception &e) {
        std::fprintf(stderr, "tickwheel: a callback has thrown: %s\n", e.what());
    } catch (...) {
        std::fprintf(stderr, "tickwheel: a callback has thrown something unknown\n");
    }
}

// A timer contains a callable of up to this size, without allocation, if the callable's move constructor
// does not throw and its alignment is at most a pointer's. Timers allocate others, once, by `new`.
inline constexpr std::size_t inline_size = 56;

namespace detail {

// A runtime or pool as its timers and sleeping coroutines see it. They may outlive it: its
// destructor sets the pointers to null, and the C interface refuses calls on null.
struct home {
    tw_runtime *rt = nullptr;
    tw_timers *timers = nullptr;
    tw_workers *pool = nullptr;
    exception_handler on_exception;
    std::atomic<void (*)(tw_runtime *)> stop_operations{nullptr};  // completes the operations of senders.hpp
    std::shared_ptr<const home> kept;  // this home itself, if it must never be freed: see ~basic_runtime
};

// The runtime that a callback of its own has destroyed on this thread. Only std::exit may do that,
// because the callback then does not return; `guard` asserts that no such callback returns.
inline thread_local const home *destroyed_here = nullptr;

// Calls f. Passes exceptions to the handler: none may reach the C library.
template <class F> void guard(const home &at, F &&f) noexcept {
    try {
        std::forward<F>(f)();
    } catch (...) {
        at.on_exception(std::current_exception());
    }
    assert(destroyed_here != &at && "a callback has destroyed its own runtime");
}

// Calls f(get_event()), or f() if it takes no event.
template <class Clock, class F, class GetEvent> void invoke_with_event(F &f, GetEvent get_event) {
    if constexpr (std::invocable<F &, const basic_event<Clock> &>)
        std::invoke(f, get_event());
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

// A callable as a timer of timers.h stores it: inside, or on the heap.
template <class F, bool Inline = is_inline<F>> struct stored_callable {
    const home *at;
    F f;
    stored_callable(const home &where, F &&from) : at(&where), f(std::move(from)) {}
    F &callable() { return f; }
};
template <class F> struct stored_callable<F, false> {
    const home *at;
    std::unique_ptr<F> f;
    // cppcheck-suppress uninitMemberVar ; it is set here
    stored_callable(const home &where, F &&from) : at(&where), f(std::make_unique<F>(std::move(from))) {}
    F &callable() { return *f; }
};
inline constexpr std::size_t stored_callable_size = sizeof(void *) + inline_size;

template <class Clock, class F> void call_stored(const tw_event *event, void *arg) {
    auto &self = *static_cast<stored_callable<F> *>(arg);
    guard(*self.at, [&] {
        invoke_with_event<Clock>(self.callable(),
                                 [&] { return event_of<Clock>(event->due_ns, event->overruns); });
    });
}

template <class F> void move_stored(void *to, void *from) {
    ::new (to) stored_callable<F>(std::move(*static_cast<stored_callable<F> *>(from)));
}

template <class F> void drop_stored(void *arg) { std::destroy_at(static_cast<stored_callable<F> *>(arg)); }

// The task that calls a copy of `from`. Starting the task moves from `from`, unless the callable can be
// copied as bytes.
template <class Clock, class F> tw_task task_of(stored_callable<F> &from) {
    static_assert(sizeof from <= stored_callable_size);
    tw_task task = {};
    task.fn = call_stored<Clock, F>;
    task.arg = &from;
    task.arg_size = sizeof from;
    if constexpr (!std::is_trivially_copyable_v<stored_callable<F>>) {
        task.copy = move_stored<F>;
        task.drop = drop_stored<F>;
    }
    return task;
}

// A node whose callback runs on the runtime's thread (tw_node) or on a worker (tw_work).
inline void make_node(tw_node &node, const home &, tw_callback *fn, void *arg) {
    check(tw_node_init(&node, fn, arg));
}
inline void make_node(tw_work &work, const home &at, tw_callback *fn, void *arg) {
    check(tw_work_init(&work, at.pool, fn, arg, 0));
}
inline tw_node *node_in(tw_node &node) { return &node; }
inline tw_node *node_in(tw_work &work) { return &work.node; }
inline const tw_node *node_in(const tw_node &node) { return &node; }
inline const tw_node *node_in(const tw_work &work) { return &work.node; }

}  // namespace detail
}  // namespace tickwheel

#endif

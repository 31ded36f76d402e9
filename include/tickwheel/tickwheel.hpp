// tickwheel/tickwheel.hpp - the C++ interface: C++20, header-only, over the C interface alone.
//
//     tickwheel::runtime rt;                                   // a thread, a clock, a wheel
//     tickwheel::timer beat = rt.every(1s, [&] { send(); });   // cancelled and waited for by its destructor
//     rt.spawn(50ms, [&](const auto &e) { log(e.due); });      // without an owner
//     tickwheel::pinned_timer idle(rt, [&] { close(); });      // armed any number of times, no allocation
//     idle.after(30s);
//     tickwheel::workers pool(rt, {.threads = 2});             // slow callbacks delay no other timer
//     tickwheel::timer save = pool.after(5min, [&] { flush(); });
//     const bool slept = co_await rt.sleep_for(100ms, stop_token);    // false: a stop was requested
//     const auto reply = co_await rt.with_timeout(100ms, [&](auto stop) { return fetch(url, stop); });
//
// Conventions, for all of it
//   Time        std::chrono durations of any kind, rounded up to nanoseconds and then to ticks.
//               A duration that is too long never ends. Time points are those of the runtime's
//               own clock; others do not compile.
//   Tests       Code that takes a `runtime &` also runs on a virtual_runtime, whose time the test
//               moves, if it takes the time from the runtime's now(). See runtime.hpp.
//   Callbacks   take `const event &`, or nothing. They run on the runtime's thread or on workers,
//               with no lock held, and may call anything except the destructor of their own
//               runtime. An exception goes to runtime_options::on_exception, or is printed if
//               that is empty; the timer goes on.
//   Errors      std::system_error with codes of std::generic_category, which compare with
//               std::errc. After an exception nothing has changed. Functions that cancel or
//               query do not throw.
//   Threads     Any thread may make any call, callbacks included. Only one thread at a time may
//               construct, destroy, assign or detach an object.
//   Lifetimes   In the order of scopes: a runtime first, then its pools, then the timers made on
//               them. Timers, pinned timers and coroutines that sleep may also outlive their
//               runtime: then they have ended.
//   Allocates   The constructors of runtimes and pools; timers as their number grows, unless
//               there is a capacity; callables larger than inline_size (callback.hpp).
#include <tickwheel/cplusplus.hpp>
#if defined(TICKWHEEL_CPLUSPLUS_20) && !defined(TICKWHEEL_TICKWHEEL_HPP)
#define TICKWHEEL_TICKWHEEL_HPP

#include <tickwheel/callback.hpp>
#include <tickwheel/chrono.hpp>
#include <tickwheel/pinned_timer.hpp>
#include <tickwheel/runtime.hpp>
#include <tickwheel/sleep.hpp>
#include <tickwheel/timer.hpp>
#include <tickwheel/with_timeout.hpp>
#include <tickwheel/workers.hpp>

#endif

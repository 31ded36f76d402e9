// tickwheel/tickwheel.hpp - the C++ face: C++20, header-only, over the C interface alone.
//
//     tickwheel::runtime rt;                                   // a thread, a clock, a wheel
//     tickwheel::timer beat = rt.every(1s, [&] { send(); });   // cancelled and waited for by its destructor
//     rt.spawn(50ms, [&](const auto &e) { log(e.due); });      // owned by nobody
//     tickwheel::pinned_timer idle(rt, [&] { close(); });      // armed any number of times, no allocation
//     idle.after(30s);
//     tickwheel::workers pool(rt, {.threads = 2});             // slow callbacks delay nobody
//     tickwheel::timer save = pool.after(5min, [&] { flush(); });
//     const bool slept = co_await rt.sleep_for(100ms, stop_token);    // false: a stop was requested
//
// Conventions, for all of it
//   Time        std::chrono durations of any kind, rounded up to nanoseconds and then to
//               ticks; too long never ends. Time points are those of the runtime's
//               own clock; others do not compile.
//   Callbacks   take `const event &`, or nothing. They run on the runtime's thread, or on
//               workers, with no lock held, and may call anything but their runtime's
//               destructor. What they throw goes to runtime_options::on_exception (without
//               one it is printed), and their timer goes on.
//   Errors      std::system_error, with codes of std::generic_category that compare with
//               std::errc; nothing has changed then. Cancelling and asking do not throw.
//   Threads     Any call from any thread, callbacks included; constructing, destroying and
//               assigning an object by one thread at a time.
//   Lifetimes   As scopes have it: a runtime first, then its pools, then what is made on
//               them. Timers, pinned timers and coroutines asleep on a runtime may also
//               outlive it: they are over then.
//   Allocates   Constructors of runtimes and pools; with no capacity set, timers as their
//               number grows; callables larger than inline_size (callback.hpp).
#include <tickwheel/cplusplus.hpp>
#if defined(TICKWHEEL_CPLUSPLUS_20) && !defined(TICKWHEEL_TICKWHEEL_HPP)
#define TICKWHEEL_TICKWHEEL_HPP

#include <tickwheel/callback.hpp>
#include <tickwheel/chrono.hpp>
#include <tickwheel/pinned_timer.hpp>
#include <tickwheel/runtime.hpp>
#include <tickwheel/sleep.hpp>
#include <tickwheel/timer.hpp>
#include <tickwheel/workers.hpp>

#endif

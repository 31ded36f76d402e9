// tickwheel/runtime.hpp - the runtimes of the C++ interface. See tickwheel.hpp.
#include <tickwheel/cplusplus.hpp>
#if defined(TICKWHEEL_CPLUSPLUS_20) && !defined(TICKWHEEL_RUNTIME_HPP)
#define TICKWHEEL_RUNTIME_HPP

#include <chrono>
#include <concepts>
#include <cstdint>

#include <tickwheel/callback.hpp>
#include <tickwheel/chrono.hpp>
#include <tickwheel/observe.h>
#include <tickwheel/runtime.h>
#include <tickwheel/timer.hpp>

namespace tickwheel {

// The options without a comment are explained at struct tw_runtime_options in runtime.h.
struct runtime_options {
    std::chrono::nanoseconds tick = std::chrono::milliseconds(1);
    const char *driver = nullptr;  // null: the one that clock_traits names
    const tw_driver *own_driver = nullptr;
    std::chrono::nanoseconds slack{0};
    std::uint32_t budget = 0;
    const char *thread_name = nullptr;
    std::uint64_t cpus = 0;
    int priority = 0;

    std::uint32_t capacity = 0;        // most timers at a time, all allocated now; 0: no limit
    bool start = true;                 // false: you call start() later, or your loop dispatches
    exception_handler on_exception{};  // if empty, print_exception
};

namespace detail {

inline tw_runtime_options c_options(const runtime_options &o, tw_clock clock, const char *driver) {
    tw_runtime_options c = {};
    c.tick_ns = o.tick.count();
    c.clock = clock;
    if (o.driver != nullptr || o.own_driver == nullptr)
        c.driver = o.driver != nullptr ? o.driver : driver;
    c.own_driver = o.own_driver;
    c.slack_ns = o.slack.count();
    c.budget = o.budget;
    c.thread_name = o.thread_name;
    c.cpus = o.cpus;
    c.priority = o.priority;
    return c;
}

// A driver that cannot wait needs no thread: the program moves its clock.
inline bool has_thread(const tw_runtime_options &o) {
    const tw_driver *const driver = o.own_driver != nullptr ? o.own_driver : tw_driver_named(o.driver);
    return driver->wait_until != nullptr;
}

}  // namespace detail

// A runtime on a clock. Its thread runs from construction to destruction, which cancels its timers
// and destroys their callables, and completes the operations of senders.hpp. Do not destroy it in one of its
// own callbacks; std::exit may. The constructor throws std::system_error as tw_runtime_new and
// tw_runtime_start say.
template <class Clock> class basic_runtime : public basic_timers<Clock, tw_node> {
  public:
    using node = tw_node;
    using typename basic_timers<Clock, tw_node>::duration;
    using typename basic_timers<Clock, tw_node>::time_point;

    explicit basic_runtime(const runtime_options &o = {})
        : basic_runtime(o, clock_traits<Clock>::id, clock_traits<Clock>::driver) {}

    // `virtual`, so that a basic_virtual_runtime may be destroyed through a pointer to its basic_runtime.
    virtual ~basic_runtime() {
        if (tw_runtime_due(native()) != TW_NO_DEADLINE) {
            // Inside a callback, so this is std::exit. The callback never returns, and others may go
            // on running: what they use is never freed.
            this->home_->kept = this->home_;
            detail::destroyed_here = this->home_.get();
        } else if (const auto stop_operations = this->home_->stop_operations.load()) {
            tw_runtime_stop(native());
            stop_operations(native());
        }
        end();
    }

    // The runtime as the C interface knows it, for what this class leaves out: descriptors, event
    // loops, nodes.
    [[nodiscard]] tw_runtime *native() const noexcept { return this->home_->rt; }

    // Reads the runtime's clock.
    [[nodiscard]] time_point now() const noexcept { return time_point(duration(tw_runtime_now(native()))); }

    // See tw_runtime_stop and tw_runtime_start; they throw std::system_error as these say.
    void stop() { detail::check(tw_runtime_stop(native())); }
    void start() { detail::check(tw_runtime_start(native())); }

    // Fires timers on this thread until stop(). The exception of a callback of the C interface passes
    // through; those of C++ callables go to on_exception.
    void run() { detail::check(tw_runtime_run(native())); }

    // See tw_runtime_stats.
    [[nodiscard]] tw_stats stats() const {
        tw_stats seen;
        detail::check(tw_runtime_stats(native(), &seen));
        return seen;
    }

  protected:
    basic_runtime(const runtime_options &o, tw_clock id, const char *driver)
        : basic_timers<Clock, tw_node>(o.on_exception) {
        const tw_runtime_options c = detail::c_options(o, id, driver);
        detail::check(tw_runtime_new(&this->home_->rt, &c));
        try {
            this->make_timers(o.capacity);
            if (o.start && detail::has_thread(c))
                start();
        } catch (...) {
            end();
            throw;
        }
    }

  private:
    void end() noexcept {
        tw_runtime_free(native());
        this->home_->rt = nullptr;
        this->home_->timers = nullptr;
    }
};

// A runtime on virtual time, for tests: time moves only when the program moves it, and callbacks run on
// the thread that does. It is a basic_runtime of the clock that it stands in for, so the code under test
// takes a `runtime &` and is compiled once, for production and for its tests.
//
//     class conn { explicit conn(tickwheel::runtime &rt); ... };  // reads rt.now(), arms rt.after(30s, ...)
//     tickwheel::runtime rt;                                      // in main()
//     tickwheel::virtual_runtime rt;                              // in a test, which calls rt.advance(30s)
//
// Its time points have the type of the clock that it stands in for, and count from its own beginning:
// now() is 0 at first. So the code under test must ask its runtime for the time. Code that calls
// std::chrono::steady_clock::now() itself compiles, too, but on virtual time the result lies in the
// future, by about the time that the machine has been up.
//
// The constructor refuses the options `driver` and `own_driver`, with std::system_error
// (invalid_argument).
template <class Clock> class basic_virtual_runtime : public basic_runtime<Clock> {
  public:
    explicit basic_virtual_runtime(const runtime_options &o = {})
        : basic_runtime<Clock>(checked(o), clock_traits<Clock>::virtual_id, "manual") {}

    // Move time on by `by`, and call the callbacks that become due. advance() goes from one deadline to
    // the next, and each callback sees its own deadline as the present. leap() goes in one step, as if
    // the program had been stalled, so callbacks come late. They throw std::system_error as
    // tw_runtime_advance says.
    template <class Rep, class Period> void advance(std::chrono::duration<Rep, Period> by) {
        detail::check(tw_runtime_advance(this->native(), detail::delay_in(by)));
    }
    template <class Rep, class Period> void leap(std::chrono::duration<Rep, Period> by) {
        detail::check(tw_runtime_leap(this->native(), detail::delay_in(by)));
    }

    // Sets the wall clock, forward or back. Calls no callback: timers that are due by then fire in the next
    // advance().
    template <class Duration>
    void set_wall(
        std::chrono::time_point<Clock, Duration> to) requires std::same_as<Clock, std::chrono::system_clock> {
        detail::check(tw_runtime_set_wall(this->native(), detail::reading_of(to)));
    }

  private:
    static const runtime_options &checked(const runtime_options &o) {
        if (o.driver != nullptr || o.own_driver != nullptr)
            detail::refuse("virtual time has a driver of its own");
        return o;
    }
};

using runtime = basic_runtime<std::chrono::steady_clock>;  // a clock that stops while the system is suspended
using wall_runtime = basic_runtime<std::chrono::system_clock>;  // the time of day, which may be set
using boot_runtime = basic_runtime<boot_clock>;  // a clock that goes on while the system is suspended

// The same on virtual time.
using virtual_runtime = basic_virtual_runtime<std::chrono::steady_clock>;
using virtual_wall_runtime = basic_virtual_runtime<std::chrono::system_clock>;
using virtual_boot_runtime = basic_virtual_runtime<boot_clock>;

}  // namespace tickwheel

#endif

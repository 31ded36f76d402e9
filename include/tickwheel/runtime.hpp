// tickwheel/runtime.hpp - the runtimes of the C++ face. See tickwheel.hpp.
#include <tickwheel/cplusplus.hpp>
#if defined(TICKWHEEL_CPLUSPLUS_20) && !defined(TICKWHEEL_RUNTIME_HPP)
#define TICKWHEEL_RUNTIME_HPP

#include <chrono>
#include <concepts>
#include <cstdint>

#include <tickwheel/callback.hpp>
#include <tickwheel/chrono.hpp>
#include <tickwheel/runtime.h>
#include <tickwheel/timer.hpp>

namespace tickwheel {

// See struct tw_runtime_options in runtime.h for what is not explained here.
struct runtime_options {
    std::chrono::nanoseconds tick = std::chrono::milliseconds(1);
    const char *driver = nullptr;  // null: what clock_traits names
    const tw_driver *own_driver = nullptr;
    std::chrono::nanoseconds slack{0};
    std::uint32_t budget = 0;
    const char *thread_name = nullptr;
    std::uint64_t cpus = 0;
    int priority = 0;

    std::uint32_t capacity = 0;        // timers at a time, allocated at once; 0: no limit
    bool start = true;                 // false: later, or never, as a loop of yours dispatches it
    exception_handler on_exception{};  // none: print_exception
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

// With a driver that cannot wait, somebody else moves time.
inline bool has_thread(const tw_runtime_options &o) {
    const tw_driver *const driver = o.own_driver != nullptr ? o.own_driver : tw_driver_named(o.driver);
    return driver->wait_until != nullptr;
}

template <class Clock>
concept may_be_virtual = std::same_as<Clock, virtual_clock> || std::same_as<Clock, std::chrono::system_clock>;

}  // namespace detail

// A runtime on a clock; its thread runs until it is destroyed. Then its timers are gone and
// their callables dropped. Not to be destroyed in a callback of its own, unless by std::exit.
// Throws std::system_error as tw_runtime_new and tw_runtime_start say.
template <class Clock> class basic_runtime : public basic_timers<Clock, tw_node> {
  public:
    using node = tw_node;
    using typename basic_timers<Clock, tw_node>::duration;
    using typename basic_timers<Clock, tw_node>::time_point;

    explicit basic_runtime(const runtime_options &o = {}) : basic_timers<Clock, tw_node>(o.on_exception) {
        using traits = clock_traits<Clock>;
        const tw_runtime_options c = detail::c_options(o, traits::id, traits::driver);
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
    ~basic_runtime() {
        if (tw_runtime_due(native()) != TW_NO_DEADLINE) {
            // The callback never comes to its end, and others may run on: what they use stays.
            this->home_->kept = this->home_;
            detail::destroyed_here = this->home_.get();
        }
        end();
    }

    // What the C interface calls it: for what this one leaves out (descriptors, loops of
    // your own, nodes).
    tw_runtime *native() const noexcept { return this->home_->rt; }

    time_point now() const noexcept { return time_point(duration(tw_runtime_now(native()))); }

    // See tw_runtime_stop and tw_runtime_start.
    void stop() { detail::check(tw_runtime_stop(native())); }
    void start() { detail::check(tw_runtime_start(native())); }

    tw_stats stats() const {
        tw_stats seen;
        detail::check(tw_runtime_stats(native(), &seen));
        return seen;
    }

    // Virtual time moves on: from one deadline to the next, or in one leap. Callbacks run in
    // here. On the wall clock this is for the driver "manual".
    template <class Rep, class Period>
    void advance(std::chrono::duration<Rep, Period> by) requires detail::may_be_virtual<Clock> {
        detail::check(tw_runtime_advance(native(), detail::delay_in(by)));
    }
    template <class Rep, class Period>
    void leap(std::chrono::duration<Rep, Period> by) requires detail::may_be_virtual<Clock> {
        detail::check(tw_runtime_leap(native(), detail::delay_in(by)));
    }

    // Sets the virtual wall clock.
    template <class Duration>
    void set_wall(
        std::chrono::time_point<Clock, Duration> to) requires std::same_as<Clock, std::chrono::system_clock> {
        detail::check(tw_runtime_set_wall(native(), detail::reading_of(to)));
    }

  private:
    void end() noexcept {
        tw_runtime_free(native());
        this->home_->rt = nullptr;
        this->home_->timers = nullptr;
    }
};

using runtime = basic_runtime<std::chrono::steady_clock>;       // time that the system was awake
using wall_runtime = basic_runtime<std::chrono::system_clock>;  // time of day, which may be set
using boot_runtime = basic_runtime<boot_clock>;                 // suspended time counts
using virtual_runtime = basic_runtime<virtual_clock>;           // moves when told to: for tests

}  // namespace tickwheel

#endif

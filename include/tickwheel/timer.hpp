// tickwheel/timer.hpp - timers, and the functions that make them. See tickwheel.hpp.
#include <tickwheel/cplusplus.hpp>
#if defined(TICKWHEEL_CPLUSPLUS_20) && !defined(TICKWHEEL_TIMER_HPP)
#define TICKWHEEL_TIMER_HPP

#include <cerrno>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include <tickwheel/callback.hpp>
#include <tickwheel/chrono.hpp>
#include <tickwheel/runtime.h>
#include <tickwheel/sleep.hpp>
#include <tickwheel/timers.h>
#include <tickwheel/with_timeout.hpp>

namespace tickwheel {

// Owns a timer. Destroying it or assigning to it cancels the timer and waits for its callback: when
// the destructor returns, the callback runs on no thread, and the callable is gone. So do not
// hold a lock that the callback takes. Called from inside the callback itself, it does not wait.
//
// A timer may outlive its runtime: then the timer has ended. Calls on one object from several
// threads are safe, except constructing, destroying, moving, assigning and detaching it.
class [[nodiscard("a discarded timer is cancelled at once; see spawn")]] timer {
  public:
    timer() noexcept = default;  // owns no timer
    timer(timer &&) noexcept = default;
    timer &operator=(timer &&other) noexcept {
        timer former(std::move(other));
        std::swap(home_, former.home_);
        std::swap(id_, former.id_);
        return *this;
    }
    ~timer() { cancel_wait(); }

    // Cancels the timer for good. Returns true if this prevented a fire; false if its last callback
    // is running, or the timer is gone. cancel() does not wait. cancel_wait() waits until the
    // callback runs on no other thread.
    bool cancel() noexcept { return tw_timer_cancel(timers(), id_) > 0; }
    bool cancel_wait() noexcept { return tw_timer_cancel_wait(timers(), id_) > 0; }

    // Makes the timer due `delay` from now, earlier or later than it was; the later fires of a
    // periodic timer move along. Returns false if it is too late: the timer is gone, its last fire
    // has begun or waits for a worker, or its runtime is being destroyed. So a timer without a period
    // cannot be moved in its own callback; a pinned_timer can. Throws std::system_error
    // (invalid_argument) if the delay is negative or not a number.
    template <class Rep, class Period> bool move(std::chrono::duration<Rep, Period> delay) {
        return moved_by(tw_timer_move, detail::delay_in(delay));
    }

    // Like move(), by the delay that the timer was started with, or by its period. To keep an idle
    // timeout from firing, call this at each sign of activity. Throws std::system_error (invalid_argument)
    // for a timer that was started with a deadline or a schedule.
    bool again() { return moved_by(tw_timer_again); }

    // Returns the time until the timer is due: 0 if that has passed, or if the last fire has begun
    // or waits for a worker; nothing if the timer is gone.
    [[nodiscard]] std::optional<std::chrono::nanoseconds> remaining() const noexcept {
        tw_entry entry = {};
        if (tw_timer_get(timers(), id_, &entry) != 0)
            return std::nullopt;
        return std::chrono::nanoseconds(std::max<std::int64_t>(entry.remaining_ns, 0));
    }

    // Returns true unless the timer is gone; true in its last callback, too.
    [[nodiscard]] bool pending() const noexcept { return remaining().has_value(); }

    // Gives up ownership: the timer goes on without an owner, until its last fire or until its
    // runtime is destroyed.
    void detach() noexcept { home_.reset(); }

  private:
    template <class How, class... Delay> bool moved_by(How how, Delay... delay) {
        const int error = timers() != nullptr ? how(timers(), id_, delay...) : -ESTALE;
        if (error == -ESTALE || error == -EBUSY || error == -ESHUTDOWN)
            return false;
        detail::check(error);
        return true;
    }

    template <class Clock, class Node> friend class basic_timers;
    timer(std::shared_ptr<const detail::home> home, tw_handle id) noexcept
        : home_(std::move(home)), id_(id) {}

    tw_timers *timers() const noexcept { return home_ != nullptr ? home_->timers : nullptr; }

    std::shared_ptr<const detail::home> home_;
    tw_handle id_ = TW_NO_HANDLE;
};

// The policy for the missed fires of a periodic timer.
enum class missed {
    coalesce = TW_COALESCE,  // the late fire stands for all of them; the grid of deadlines stays
    delay = TW_DELAY,        // the late fire stands for all of them; a new grid begins with it
    burst = TW_BURST         // the timer fires once for each, one after the other
};

struct once_options {
    std::chrono::nanoseconds slack{0};   // how much later the timer may fire, to share a wake-up
    std::chrono::nanoseconds jitter{0};  // the timer fires later by a random part of this
    const char *label = nullptr;         // names the kind of timer, and outlives the runtime; see observe.h
};

struct periodic_options {
    tickwheel::missed missed = tickwheel::missed::coalesce;
    std::uint32_t fires = 0;                          // how many; 0: no limit; at most TW_FIRES_MAX
    std::chrono::nanoseconds slack{0};                // as for once_options; of the first fire
    std::optional<std::chrono::nanoseconds> first{};  // delay of the first fire; if empty, one period
    std::chrono::nanoseconds jitter{0};               // at most this is added to `first` at random
    const char *label = nullptr;                      // as for once_options
};

namespace detail {

template <class Rep, class Period>
tw_when when_in(std::chrono::duration<Rep, Period> delay, std::chrono::nanoseconds slack = {},
                std::chrono::nanoseconds jitter = {}) {
    tw_when when = {};
    when.due_ns = delay_in(delay);
    when.slack_ns = slack.count();
    when.jitter_ns = jitter.count();
    return when;
}

template <class Clock, class Duration>
tw_when when_at(std::chrono::time_point<Clock, Duration> moment, std::chrono::nanoseconds slack = {},
                std::chrono::nanoseconds jitter = {}) {
    tw_when when = {};
    when.due_ns = reading_of(moment);
    when.absolute = 1;
    when.slack_ns = slack.count();
    when.jitter_ns = jitter.count();
    return when;
}

template <class Rep, class Period>
tw_when periodic(tw_when first, std::chrono::duration<Rep, Period> period, const periodic_options &o) {
    first.period_ns = period_in(period);
    first.missed = static_cast<tw_missed>(o.missed);
    first.fires = o.fires;
    first.jitter_ns = o.jitter.count();
    return first;
}

template <class Rep, class Period>
tw_when every(std::chrono::duration<Rep, Period> period, const periodic_options &o) {
    return periodic(o.first ? when_in(*o.first, o.slack) : when_in(period, o.slack), period, o);
}

}  // namespace detail

// The functions that make timers: a runtime and a pool of workers have them. A timer calls
// f(event), or f() if f takes no event. Any of these functions may be called from any thread,
// callbacks included.
//
// They throw std::system_error:
//   invalid_argument  a delay, slack or jitter that is negative or not a number; a period shorter than
//                     the tick; too many fires
//   others            as tw_timer_start says: out of memory, capacity reached
// and std::bad_alloc for a callable that does not fit inline, and whatever copying f throws. After
// an exception there is no timer.
template <class Clock, class Node> class basic_timers {
  public:
    using clock = Clock;
    using delay_clock = typename clock_traits<Clock>::delay_clock;
    using duration = std::chrono::nanoseconds;
    using time_point = std::chrono::time_point<Clock, duration>;
    using event = basic_event<Clock>;
    using delay_event = basic_event<delay_clock>;  // for timers whose first fire is a delay from now

    basic_timers(const basic_timers &) = delete;
    basic_timers &operator=(const basic_timers &) = delete;

    // Makes a timer that fires once, `delay` from now.
    template <class Rep, class Period, callback<delay_clock> F>
    timer after(std::chrono::duration<Rep, Period> delay, F f, once_options o = {}) {
        return owned(start<delay_clock>(detail::when_in(delay, o.slack, o.jitter), std::move(f), o.label));
    }

    // Makes a timer that fires once, when the clock reads `moment`; at once if that has passed.
    template <class Duration, callback<Clock> F>
    timer at(std::chrono::time_point<Clock, Duration> moment, F f, once_options o = {}) {
        return owned(start<Clock>(detail::when_at(moment, o.slack, o.jitter), std::move(f), o.label));
    }

    // Makes a timer that fires every `period`, without drift (P5).
    template <class Rep, class Period, callback<delay_clock> F>
    timer every(std::chrono::duration<Rep, Period> period, F f, periodic_options o = {}) {
        return owned(start<delay_clock>(detail::every(period, o), std::move(f), o.label));
    }

    // Like every(), with the first fire when the clock reads `first`.
    template <class Duration, class Rep, class Period, callback<Clock> F>
    timer every_from(std::chrono::time_point<Clock, Duration> first,
                     std::chrono::duration<Rep, Period> period, F f, periodic_options o = {}) {
        const tw_when when = detail::periodic(detail::when_at(first, o.slack), period, o);
        return owned(start<Clock>(when, std::move(f), o.label));
    }

    // Makes a timer that fires by a schedule of your own: next(due) returns the deadline that
    // follows `due`, or nothing to end the timer. This function calls `next` with the present, for
    // the first deadline; if there is none, the result owns no timer. The timer calls `next` after
    // each fire, on the thread that ran the callback; if that call throws, the exception goes to the
    // exception handler, and the timer ends.
    template <class Next, callback<Clock> F>
    requires requires(Next &next, time_point due) {
        { next(due) } -> std::convertible_to<std::optional<time_point>>;
    }
    timer schedule(Next next, F f, const char *label = nullptr) {
        const std::optional<time_point> first = next(time_point(duration(tw_runtime_now(home_->rt))));
        if (!first)
            return {};
        using both = scheduled<Next, F>;
        return owned(start<Clock>(detail::when_at(*first), both{std::move(next), std::move(f)}, label,
                                  both::next_deadline));
    }

    // Makes a timer that fires once, `delay` from now, and has no owner. The cheapest kind.
    template <class Rep, class Period, callback<delay_clock> F>
    void spawn(std::chrono::duration<Rep, Period> delay, F f, once_options o = {}) {
        start<delay_clock>(detail::when_in(delay, o.slack, o.jitter), std::move(f), o.label);
    }

    // Suspends a coroutine: co_await the result. The co_await returns true after a full sleep, and
    // false if a stop was requested on `token`, which ends the sleep early. See sleep.hpp.
    template <class Rep, class Period>
    sleeper<Node> sleep_for(std::chrono::duration<Rep, Period> delay, std::stop_token token = {}) {
        return {home_, detail::when_in(delay), std::move(token)};
    }
    template <class Duration>
    sleeper<Node> sleep_until(std::chrono::time_point<Clock, Duration> moment, std::stop_token token = {}) {
        return {home_, detail::when_at(moment), std::move(token)};
    }

    // Limits how long a coroutine awaits something: co_await the result. Awaits work(stop), where
    // `stop` is a std::stop_token, on which a stop is requested `delay` from now, or when the clock
    // reads `moment`. The co_await returns a std::optional with the work's result, or a bool if
    // that is void: empty or false if time was up first. A stop on `token` is passed on to the
    // work. See with_timeout.hpp.
    template <class Rep, class Period, stoppable_work Work>
    timed_work<Node, Work> with_timeout(std::chrono::duration<Rep, Period> delay, Work work,
                                        const std::stop_token &token = {}) {
        return {home_, detail::when_in(delay), std::move(work), token};
    }
    template <class Duration, stoppable_work Work>
    timed_work<Node, Work> with_deadline(std::chrono::time_point<Clock, Duration> moment, Work work,
                                         const std::stop_token &token = {}) {
        return {home_, detail::when_at(moment), std::move(work), token};
    }

    // Cancels all timers that were made here, waits for their callbacks, and returns how many still
    // had to fire. Called from inside one of the callbacks, it does not wait for that one.
    // Sleepers and pinned timers go on.
    std::size_t cancel_all() noexcept {
        const std::int64_t cancelled = tw_timers_cancel_all(home_->timers, nullptr, nullptr);
        return cancelled > 0 ? static_cast<std::size_t>(cancelled) : 0;
    }

    // Returns the number of timers, including those whose last callback is running. Sleepers and
    // pinned timers do not count.
    [[nodiscard]] std::size_t count() const noexcept { return tw_timers_count(home_->timers); }

  protected:
    explicit basic_timers(exception_handler handler) : home_(std::make_shared<detail::home>()) {
        home_->on_exception = handler ? std::move(handler) : exception_handler(print_exception);
    }
    ~basic_timers() = default;

    void make_timers(std::uint32_t capacity, bool concurrent = false) {
        tw_set_options o = {};
        o.capacity = capacity;
        o.storage = detail::stored_callable_size;
        o.workers = home_->pool;
        o.concurrent = concurrent ? 1 : 0;
        detail::check(tw_timers_new(&home_->timers, home_->rt, &o));
    }

    const std::shared_ptr<detail::home> home_;

  private:
    template <class F, class Of> friend class pinned_timer;
    template <class OfClock> friend class basic_workers;
    template <class OfClock> friend class scheduler;

    template <class Next, class F> struct scheduled {
        Next next;
        F f;
        void operator()(const event &e) {
            detail::invoke_with_event<Clock>(f, [&]() -> const event & { return e; });
        }
        static std::int64_t next_deadline(std::int64_t due_ns, void *arg) {
            auto &self = *static_cast<detail::stored_callable<scheduled> *>(arg);
            std::int64_t answer = TW_NO_DEADLINE;
            detail::guard(*self.at, [&] {
                if (const std::optional<time_point> moment =
                        self.callable().next(time_point(duration(due_ns))))
                    answer = detail::reading_of(*moment);
            });
            return answer;
        }
    };

    template <class EventClock, class F>
    tw_handle start(const tw_when &when, F &&f, const char *label, tw_next_deadline *next = nullptr) {
        detail::stored_callable<F> stored(*home_, std::forward<F>(f));
        tw_task task = detail::task_of<EventClock>(stored);
        task.next = next;
        task.label = label;
        tw_handle id = TW_NO_HANDLE;
        detail::check(tw_timer_start(home_->timers, &id, &when, &task));
        return id;
    }

    timer owned(tw_handle id) const { return timer(home_, id); }
};

}  // namespace tickwheel

#endif

// tickwheel/pinned_timer.hpp - a timer that contains its callable. See tickwheel.hpp.
#include <tickwheel/cplusplus.hpp>
#if defined(TICKWHEEL_CPLUSPLUS_20) && !defined(TICKWHEEL_PINNED_TIMER_HPP)
#define TICKWHEEL_PINNED_TIMER_HPP

#include <cerrno>
#include <chrono>
#include <concepts>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include <tickwheel/callback.hpp>
#include <tickwheel/chrono.hpp>
#include <tickwheel/observe.h>
#include <tickwheel/runtime.h>
#include <tickwheel/runtime.hpp>

namespace tickwheel {

// A callable that calls a member function of an object, for a timer inside that object:
//     class session {
//         void on_idle();
//         tickwheel::pinned_timer<tickwheel::calls<&session::on_idle>> idle{rt, {this}};
template <auto Member> struct calls;
template <class T, class... Args, void (T::*Member)(Args...)> struct calls<Member> {
    T *object;
    void operator()(Args... args) const { (object->*Member)(args...); }
};

// The callables that a pinned timer accepts. Its callback cannot tell whether a delay or a time
// point armed it, so where these have different clocks, f must not take an event.
template <class F, class Of>
concept pinned_callback = callback<F, typename Of::clock> &&
    (std::invocable<F &> || std::same_as<typename Of::clock, typename Of::delay_clock>);

// A timer that contains its callable, cannot be moved, and can be armed any number of times. It
// never allocates. Made for timeouts inside a class that are postponed with each packet. `Of` is
// the type that it is made on: a runtime, or a pool of workers, which then runs the callable.
//
// Destroying it cancels it and waits for its callback, so do not hold a lock that the callback
// takes. Inside the callback itself, the destructor does not wait. Destroy a timer before its pool; it
// may outlive its runtime.
//
// All functions but constructor and destructor may be called from any thread, callbacks included.
// They throw std::system_error as those of basic_timers do, and no std::bad_alloc.
template <class F, class Of = runtime> class pinned_timer {
  public:
    using clock = typename Of::clock;
    using delay_clock = typename Of::delay_clock;
    using event = typename Of::event;

    pinned_timer(Of &of, F f) requires pinned_callback<F, Of> : home_(of.home_), f_(std::move(f)) {
        detail::make_node(node_, *home_, fire, this);
    }
    pinned_timer(const pinned_timer &) = delete;
    pinned_timer &operator=(const pinned_timer &) = delete;
    ~pinned_timer() { tw_runtime_retire(home_->rt, node()); }

    // Gives the timer a label, a text that names its kind and must outlive the runtime; see observe.h.
    // Throws std::system_error (device_or_resource_busy) if the timer is pending.
    void label(const char *text) { detail::check(tw_runtime_label(home_->rt, node(), text)); }

    // Arm the timer: once after a delay, once at a time point, or with a period. A pending timer is
    // moved. Throw std::system_error (invalid_argument) if the options have a label: see label().
    template <class Rep, class Period> void after(std::chrono::duration<Rep, Period> delay) {
        detail::check(tw_runtime_after(home_->rt, node(), detail::delay_in(delay)));
    }
    template <class Rep, class Period>
    void after(std::chrono::duration<Rep, Period> delay, const once_options &o) {
        arm(detail::when_in(delay, o.slack, o.jitter), o.label);
    }
    template <class Duration>
    void at(std::chrono::time_point<clock, Duration> moment, const once_options &o = {}) {
        arm(detail::when_at(moment, o.slack, o.jitter), o.label);
    }
    template <class Rep, class Period>
    void every(std::chrono::duration<Rep, Period> period, const periodic_options &o = {}) {
        arm(detail::every(period, o), o.label);
    }

    // Makes a pending timer due `delay` from now, earlier or later than it was. Returns false and does
    // nothing if the timer is not pending.
    template <class Rep, class Period> bool move(std::chrono::duration<Rep, Period> delay) {
        return was_pending(tw_runtime_move(home_->rt, node(), detail::delay_in(delay)));
    }

    // Like move(), for a later deadline and at a lower cost; made for timers that are postponed
    // over and over. A timer that is already due later stays as it is. Throws std::system_error for
    // a timer that at() has armed on the wall clock.
    template <class Rep, class Period> bool postpone(std::chrono::duration<Rep, Period> delay) {
        return was_pending(tw_runtime_postpone(home_->rt, node(), detail::delay_in(delay)));
    }

    // Restarts the delay that after() was last given; the timer's own callback may call this, too.
    // A pending periodic timer is due one period from now. Throws std::system_error
    // (invalid_argument) for a timer without a delay, (no_such_file_or_directory) for a periodic
    // one that is not pending.
    void again() { detail::check(tw_runtime_again(home_->rt, node())); }

    // Cancel the timer, which may be armed again. Return true if this prevented a fire. cancel() does
    // not wait. cancel_wait() waits until the callback runs on no other thread.
    bool cancel() noexcept { return tw_runtime_cancel(home_->rt, node()) > 0; }
    bool cancel_wait() noexcept { return tw_runtime_cancel_wait(home_->rt, node()) > 0; }

    // Returns the time until the timer is due: 0 if that has passed, nothing if it is not pending.
    [[nodiscard]] std::optional<std::chrono::nanoseconds> remaining() const noexcept {
        return detail::remaining_of(tw_runtime_remaining(home_->rt, detail::node_in(node_)));
    }
    [[nodiscard]] bool pending() const noexcept { return remaining().has_value(); }

  private:
    void arm(const tw_when &when, const char *label) {
        if (label != nullptr)
            throw std::system_error(std::make_error_code(std::errc::invalid_argument),
                                    "a pinned timer has its label from label()");
        detail::check(tw_runtime_arm(home_->rt, node(), &when));
    }

    tw_node *node() noexcept { return detail::node_in(node_); }

    static bool was_pending(int result) {
        if (result == -ENOENT)
            return false;
        detail::check(result);
        return true;
    }

    // The callable may destroy the timer, so `fire` does not use `self` after calling it.
    static void fire(tw_node *, void *arg) {
        auto &self = *static_cast<pinned_timer *>(arg);
        const detail::home &at = *self.home_;
        detail::guard(at, [&] {
            detail::invoke_with_event<clock>(self.f_, [&] {
                return detail::event_of<clock>(tw_runtime_due(at.rt), tw_runtime_overruns(at.rt));
            });
        });
    }

    typename Of::node node_;
    const std::shared_ptr<const detail::home> home_;
    F f_;
};

}  // namespace tickwheel

#endif

// tickwheel/pinned_timer.hpp - a timer with its callable in itself. See tickwheel.hpp.
#include <tickwheel/cplusplus.hpp>
#if defined(TICKWHEEL_CPLUSPLUS_20) && !defined(TICKWHEEL_PINNED_TIMER_HPP)
#define TICKWHEEL_PINNED_TIMER_HPP

#include <cerrno>
#include <chrono>
#include <concepts>
#include <memory>
#include <optional>
#include <utility>

#include <tickwheel/callback.hpp>
#include <tickwheel/chrono.hpp>
#include <tickwheel/runtime.h>
#include <tickwheel/runtime.hpp>

namespace tickwheel {

// Calls a member function of an object: the callable of a timer inside that object.
//     class session {
//         void on_idle();
//         tickwheel::pinned_timer<tickwheel::calls<&session::on_idle>> idle{rt, {this}};
template <auto Member> struct calls;
template <class T, class... Args, void (T::*Member)(Args...)> struct calls<Member> {
    T *object;
    void operator()(Args... args) const { (object->*Member)(args...); }
};

// A callback that takes an event must know its clock: where delays are measured by another
// clock than time points are of, it takes none.
template <class F, class Of>
concept pinned_callback = callback<F, typename Of::clock> &&
    (std::invocable<F &> || std::same_as<typename Of::clock, typename Of::delay_clock>);

// A timer that stays where it is, holds its callable, and is armed any number of times:
// nothing is allocated. For timeouts inside a class, put off with each packet. `Of` is
// what it was made on: a runtime, or a pool of workers, which then runs the callable.
//
// It does not run any more, also not on another thread, once the timer is destroyed; but
// inside its own callback that does not wait. Do not hold a lock that the callback takes.
// Destroy it before its pool; before its runtime or after.
//
// Errors are those of basic_timers, but nothing is allocated.
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
    ~pinned_timer() { tw_runtime_shutdown(home_->rt, node()); }

    // Arming. If it was pending it is moved, and then the result is true.
    template <class Rep, class Period> bool after(std::chrono::duration<Rep, Period> delay) {
        return detail::check(tw_runtime_after(home_->rt, node(), detail::delay_in(delay))) != 0;
    }
    template <class Duration> bool at(std::chrono::time_point<clock, Duration> moment) {
        return detail::check(tw_runtime_at(home_->rt, node(), detail::reading_of(moment))) != 0;
    }
    template <class Rep, class Period>
    bool every(std::chrono::duration<Rep, Period> period, const periodic_options &o = {}) {
        const tw_when when = detail::every(period, o);
        return detail::check(tw_runtime_arm(home_->rt, node(), &when)) != 0;
    }

    // Due `delay` from now, earlier or later than it was, if it is pending; else false.
    template <class Rep, class Period> bool move(std::chrono::duration<Rep, Period> delay) {
        return was_pending(tw_runtime_move(home_->rt, node(), detail::delay_in(delay)));
    }

    // The same for a timer that is put off over and over: cheaper. If it is due later than
    // that already, it stays so. Not for a time point of the wall clock.
    template <class Rep, class Period> bool postpone(std::chrono::duration<Rep, Period> delay) {
        return was_pending(tw_runtime_postpone(home_->rt, node(), detail::delay_in(delay)));
    }

    // Whether this prevented a fire. The first waits for nobody's callback.
    bool cancel() noexcept { return tw_runtime_cancel(home_->rt, node()) > 0; }
    bool cancel_wait() noexcept { return tw_runtime_cancel_wait(home_->rt, node()) > 0; }

    // Time until it is due: 0 if that has passed; none if it is not pending.
    std::optional<std::chrono::nanoseconds> remaining() const noexcept {
        return detail::remaining_of(tw_runtime_remaining(home_->rt, detail::node_in(node_)));
    }
    bool pending() const noexcept { return remaining().has_value(); }

  private:
    tw_node *node() noexcept { return detail::node_in(node_); }

    static bool was_pending(int result) {
        if (result == -ENOENT)
            return false;
        detail::check(result);
        return true;
    }

    // The callable may destroy the timer.
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

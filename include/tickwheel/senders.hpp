// tickwheel/senders.hpp - a timed scheduler for the senders of stdexec or of C++26. See tickwheel.hpp.
//
//     tickwheel::runtime rt;
//     tickwheel::scheduler timers(rt);
//     stdexec::sync_wait(timers.schedule_after(50ms) | stdexec::then([] { return poll(); }));
//     auto too_late = timers.schedule_after(1s) | stdexec::then([] { return late; });
//     auto limited = exec::when_any(fetch(url), std::move(too_late));
//
// If the include path has <stdexec/execution.hpp>, this header uses stdexec (of April 2026 or later), and
// otherwise C++26's std::execution, which we could not test: no compiler in Debian 12 has it. All sources of
// a program must use the same library. A scheduler satisfies the concept exec::timed_scheduler, so
// exec::schedule_after(timers, 50ms) works too.
//
// An operation is a sender connected to a receiver. It contains its timer, and allocates nothing. A started
// operation completes exactly once:
//   set_value    On the runtime's thread, or the thread that drives the runtime. Never before the deadline
//                (P1), and never inside start().
//   set_stopped  If a stop is requested on the receiver's stop token before the timer's callback begins. The
//                operation completes on the requesting thread, before the request returns, and does not wake
//                the runtime's thread. If start() has not returned yet, the operation may complete inside
//                start() instead; if the stop was requested before start(), it does. A request waits neither
//                for the deadline nor for another operation's callback.
// There is no set_error. While the runtime is stopped, only requests to stop complete operations.
//
// The runtime's destructor completes the remaining operations with set_stopped, on the calling thread. While
// a runtime is being destroyed, no other thread may start or stop its operations. If the runtime refuses an
// operation's timer, because the runtime is being freed or belongs to the parent of a fork, the operation
// completes with set_stopped inside start(). Operations do not notice tw_runtime_cancel_all, tw_runtime_free
// and tw_runtime_after_fork: after these calls, operations that were pending never complete.
//
// A receiver may destroy the operation that completes it.
#include <tickwheel/cplusplus.hpp>
#if defined(TICKWHEEL_CPLUSPLUS_20) && !defined(TICKWHEEL_SENDERS_HPP)
#define TICKWHEEL_SENDERS_HPP

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <version>

#if __has_include(<stdexec/execution.hpp>)
#include <stdexec/execution.hpp>
#elif defined(__cpp_lib_senders)
#include <execution>
#include <stop_token>
#else
#error "senders.hpp needs senders: stdexec in the include path, or C++26"
#endif

#include <tickwheel/callback.hpp>
#include <tickwheel/chrono.hpp>
#include <tickwheel/runtime.h>
#include <tickwheel/runtime.hpp>

namespace tickwheel {

namespace detail {

namespace library {
#if __has_include(<stdexec/execution.hpp>)
using namespace stdexec;
#else
using namespace std;
using namespace std::execution;
#endif
}  // namespace library

// An operation without its receiver. Three functions may run at the same time: `begin`, called by start();
// `fire`, the timer's callback; and `stop`, called by the receiver's stop token. Exactly one of them
// completes the operation, after which the operation may be gone. `state_` and the runtime decide which:
//
//   1. Until `begin` has set `begun`, it alone may complete the operation, because it still uses the
//      operation. `fire` and `stop` leave a bit in `state_` and return.
//   2. From then on `begin` no longer uses the operation. `stop` cancels the timer, and completes the
//      operation if that prevented the fire; otherwise `fire` completes it.
//   3. If the bit of `stop` came first, `begin` cancels the timer itself. It completes the operation if that
//      prevented the fire, or if `fire` has left its bit. Otherwise `fire` has been called but has not yet
//      reached `state_`: it will find `begun` there and complete the operation.
//   4. If only the bit of `fire` came first, the deadline passed during start(), and the operation must not
//      complete with a value on that thread. So `begin` sets `begun` and arms the timer with no delay.
//
// The function that completes the operation first destroys the stop callback. If another thread is running
// that callback, the destructor waits until `stop` has returned, so `stop` never passes a destroyed node to
// tw_runtime_cancel. This wait cannot deadlock: tw_runtime_cancel, unlike tw_runtime_retire, does not wait
// for `fire`, and the wheel's lock, for which it does wait, is not held during callbacks. If `stop` itself
// completes the operation, the destructor runs inside the stop callback and does not wait.
class timed_operation {
  public:
    timed_operation(const timed_operation &) = delete;
    timed_operation &operator=(const timed_operation &) = delete;

    void stop() noexcept {
        if ((state_.fetch_or(stopped) & begun) != 0 && tw_runtime_cancel(rt_, &node_) > 0)
            complete_stopped();
    }

    // Completes all operations that are pending on the runtime, including those that these completions start.
    static void stop_all(tw_runtime *rt) noexcept {
        bool found = true;
        while (found) {
            found = false;
            tw_runtime_cancel_all(rt, stop_cancelled, &found);
        }
    }

  protected:
    timed_operation(tw_runtime *rt, const tw_when &when) noexcept
        : rt_(rt), due_ns_(when.due_ns), absolute_(when.absolute != 0) {}
    ~timed_operation() = default;

    // Arms the timer. If this returns false, the caller must complete the operation as stopped.
    bool begin() noexcept {
        if (state_ != 0 || !arm())
            return false;
        unsigned seen = 0;
        if (state_.compare_exchange_strong(seen, begun))
            return true;
        if ((seen & stopped) != 0)
            return tw_runtime_cancel(rt_, &node_) <= 0 && (state_.fetch_or(begun) & fired) == 0;
        state_ = begun;  // a stop since then comes too late
        return tw_runtime_after(rt_, &node_, 0) >= 0;
    }

    // The same for a receiver that never stops the operation.
    bool begin_unstoppable() noexcept {
        state_ = begun;
        return arm();
    }

    virtual void complete() noexcept = 0;
    virtual void complete_stopped() noexcept = 0;

  private:
    enum : unsigned { begun = 1, fired = 2, stopped = 4 };

    bool arm() noexcept {
        return (absolute_ ? tw_runtime_at(rt_, &node_, due_ns_) : tw_runtime_after(rt_, &node_, due_ns_)) >=
               0;
    }

    static void fire(tw_node *, void *arg) {
        auto &self = *static_cast<timed_operation *>(arg);
        if ((self.state_.fetch_or(fired) & begun) != 0)
            self.complete();
    }

    static void stop_cancelled(tw_node *node, void *found) {
        if (node->fn != fire)
            return;
        *static_cast<bool *>(found) = true;
        static_cast<timed_operation *>(node->arg)->complete_stopped();
    }

    tw_node node_ = TW_NODE(fire, this);
    tw_runtime *rt_;
    std::int64_t due_ns_;
    bool absolute_;
    std::atomic<unsigned> state_{0};
};

template <class Receiver> class timed_operation_for final : public timed_operation {
  public:
    using operation_state_concept = library::operation_state_tag;

    timed_operation_for(tw_runtime *rt, const tw_when &when, Receiver receiver)
        : timed_operation(rt, when), receiver_(std::move(receiver)) {}

    void start() &noexcept {
        if constexpr (library::unstoppable_token<token>) {
            if (!begin_unstoppable())
                complete_stopped();
        } else {
            on_stop_.emplace(library::get_stop_token(library::get_env(receiver_)), call_stop{this});
            if (!begin())
                complete_stopped();
        }
    }

  private:
    struct call_stop {
        timed_operation *of;
        void operator()() const noexcept { of->stop(); }
    };
    using token = library::stop_token_of_t<library::env_of_t<Receiver>>;

    void complete() noexcept override {
        on_stop_.reset();
        library::set_value(std::move(receiver_));
    }
    void complete_stopped() noexcept override {
        on_stop_.reset();
        library::set_stopped(std::move(receiver_));
    }

    Receiver receiver_;
    std::optional<library::stop_callback_for_t<token, call_stop>> on_stop_;
};

}  // namespace detail

// A handle to a runtime, cheap to copy. Do not use it once the runtime is destroyed.
//
// Delays and deadlines are as in timer.hpp: durations of any kind, rounded up; time points of the runtime's
// own clock. A moment in the past and a negative delay are due at once. A delay counts from start().
// Operations that are due at the same tick complete in the order in which they were started.
template <class Clock> class scheduler {
  public:
    using scheduler_concept = detail::library::scheduler_tag;
    using duration = std::chrono::nanoseconds;
    using time_point = std::chrono::time_point<Clock, duration>;

    class sender {
      public:
        using sender_concept = detail::library::sender_tag;
        using completion_signatures =
            detail::library::completion_signatures<detail::library::set_value_t(),
                                                   detail::library::set_stopped_t()>;
        template <class, class...> static consteval completion_signatures get_completion_signatures() {
            return {};
        }

        template <class Receiver>
        detail::timed_operation_for<Receiver> connect(Receiver receiver) const
            noexcept(std::is_nothrow_move_constructible_v<Receiver>) {
            return {on_.rt_, when_, std::move(receiver)};
        }

        // Only values come from the scheduler's context: a stop completes on the thread that requests it.
        struct env {
            scheduler on;
            [[nodiscard]] scheduler
            query(detail::library::get_completion_scheduler_t<detail::library::set_value_t>) const noexcept {
                return on;
            }
        };
        [[nodiscard]] env get_env() const noexcept { return {on_}; }

      private:
        friend scheduler;
        sender(const scheduler &on, const tw_when &when) noexcept : on_(on), when_(when) {}
        scheduler on_;
        tw_when when_;
    };

    explicit scheduler(basic_runtime<Clock> &rt) noexcept : rt_(rt.native()) {
        rt.home_->stop_operations = detail::timed_operation::stop_all;
    }

    // Reads the runtime's clock.
    [[nodiscard]] time_point now() const noexcept { return time_point(duration(tw_runtime_now(rt_))); }

    // Completes as soon as the runtime's thread gets to it.
    [[nodiscard]] sender schedule() const noexcept { return {*this, {}}; }

    // Completes `delay` after start(). Throws std::system_error (invalid_argument) if the delay is NaN.
    template <class Rep, class Period>
    [[nodiscard]] sender schedule_after(std::chrono::duration<Rep, Period> delay) const {
        return {*this, detail::when_in(std::max(delay, delay.zero()))};
    }

    // Completes when the clock reads `moment`.
    template <class Duration>
    [[nodiscard]] sender schedule_at(std::chrono::time_point<Clock, Duration> moment) const {
        return {*this, detail::when_at(moment)};
    }

    friend bool operator==(const scheduler &, const scheduler &) = default;

  private:
    tw_runtime *rt_;
};

}  // namespace tickwheel

#endif

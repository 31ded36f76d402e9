// tickwheel/with_timeout.hpp - work that coroutines await for a limited time. See tickwheel.hpp.
#include <tickwheel/cplusplus.hpp>
#if defined(TICKWHEEL_CPLUSPLUS_20) && !defined(TICKWHEEL_WITH_TIMEOUT_HPP)
#define TICKWHEEL_WITH_TIMEOUT_HPP

#include <atomic>
#include <concepts>
#include <coroutine>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <system_error>
#include <type_traits>
#include <utility>

#include <tickwheel/callback.hpp>
#include <tickwheel/chrono.hpp>
#include <tickwheel/runtime.h>

namespace tickwheel {

namespace detail {

// The awaiter that `co_await` makes from an awaitable: the object with await_ready, await_suspend
// and await_resume.
template <class Awaitable> decltype(auto) awaiter_of(Awaitable &&from) {
    if constexpr (requires { std::forward<Awaitable>(from).operator co_await(); })
        return std::forward<Awaitable>(from).operator co_await();
    else if constexpr (requires { operator co_await(std::forward<Awaitable>(from)); })
        return operator co_await(std::forward<Awaitable>(from));
    else
        return static_cast<std::remove_reference_t<Awaitable> &>(from);
}

template <class Awaiter>
concept awaiter = requires(Awaiter &a) {
    { a.await_ready() } -> std::convertible_to<bool>;
    a.await_resume();
};

// The result in time, and what stands for it after the deadline.
template <class T> struct in_time { using type = std::optional<T>; };
template <class T> struct in_time<T &&> { using type = std::optional<T>; };
template <class T> struct in_time<T &> { using type = std::optional<std::reference_wrapper<T>>; };
template <> struct in_time<void> { using type = bool; };

}  // namespace detail

// The work that with_timeout() and with_deadline() accept: a callable that takes a std::stop_token and
// returns something to be awaited. For example, a lambda that is a coroutine, or one that calls a
// coroutine.
template <class F>
concept stoppable_work = std::move_constructible<F> && std::invocable<F &, std::stop_token> &&
    detail::awaiter<decltype(detail::awaiter_of(std::declval<std::invoke_result_t<F &, std::stop_token>>()))>;

// The result of with_timeout and with_deadline, to be awaited, once. It lives in the coroutine's frame.
//
//     const auto reply = co_await rt.with_timeout(100ms, [&](std::stop_token stop) {
//         return fetch(url, stop);             // any awaitable
//     });
//     if (!reply) ...                          // time was up
//
// When time is up, the library only requests a stop on the token: the work must end itself, and the
// co_await waits until it has. So everything that the work refers to stays alive, only its owner
// destroys a frame, and the coroutine resumes once, however close together the deadline and the end
// of the work are. The work resumes the coroutine, as if the coroutine had awaited the work itself. Work that
// ignores its token does not end early. Sleeps take the token: rt.sleep_for(1s, stop).
//
// The co_await returns a std::optional with the result of the work, empty if time was up first. If the
// result is a reference, the optional holds a std::reference_wrapper. For work that returns nothing, the
// co_await returns true, or false if time was up first. Time was up first if the deadline's callback began
// before the coroutine was resumed. Then the co_await discards the result of the work, and an exception which
// says that the work was stopped, a std::system_error of std::errc::operation_canceled. Any other exception
// of the work passes through.
//
// A stop requested on `token` is passed on to the work, and what the work then returns is the
// result. In this way an outer with_timeout passes its token to an inner one.
//
// The callable is kept while the work goes on, so the captures of a lambda that is a coroutine live long
// enough. It is called at once, and time counts from the co_await. Work that is ready by then uses
// no timer.
//
// The object allocates its stop state. The deadline fires where callbacks run; while the runtime is stopped,
// time is not up. If the deadline cannot be armed, a stop is requested, too, and the co_await throws
// std::system_error as tw_runtime_arm says. An await_transform of the coroutine's promise does not
// see the work.
//
// g++ 12, the compiler of Debian 12, destroys the captures of a lambda that is written inside a
// co_await a second time, if they have a destructor. References and plain values are safe there;
// give another lambda a name, and move it in: co_await rt.with_timeout(1s, std::move(work)).
//
// Destroying the coroutine while it waits cancels the deadline, waits for its callback if that has just
// begun, and destroys the work, which must be ready for that. Only a suspended coroutine may be destroyed:
// see sleep.hpp.
template <class Node, stoppable_work Work> class [[nodiscard("co_await it")]] timed_work {
    using awaitable = std::invoke_result_t<Work &, std::stop_token>;
    using awaiter = decltype(detail::awaiter_of(std::declval<awaitable>()));
    using work_result = decltype(std::declval<awaiter &>().await_resume());

  public:
    using result = typename detail::in_time<work_result>::type;

    timed_work(std::shared_ptr<const detail::home> at, const tw_when &when, Work work,
               const std::stop_token &token)
        : home_(std::move(at)), when_(when), on_outer_stop_(token, pass_on{stop_}), work_(std::move(work)),
          awaitable_(std::invoke(work_, stop_.get_token())),
          awaiter_(detail::awaiter_of(static_cast<awaitable &&>(awaitable_))) {
        detail::make_node(node_, *home_, fire, this);
    }
    timed_work(const timed_work &) = delete;
    timed_work &operator=(const timed_work &) = delete;
    ~timed_work() { end_deadline(); }

    bool await_ready() { return awaiter_.await_ready(); }

    // The deadline is armed first, as the coroutine may have resumed, and *this be gone, before the work's
    // own await_suspend returns.
    template <class Promise> auto await_suspend(std::coroutine_handle<Promise> waiting) {
        error_ = tw_runtime_arm(home_->rt, detail::node_in(node_), &when_);
        if (error_ < 0)
            stop_.request_stop();
        return awaiter_.await_suspend(waiting);
    }

    result await_resume() {
        end_deadline();
        if (is_up_ || error_ < 0) {
            end_stopped_work();
            detail::check(error_);
            return result();
        }
        if constexpr (std::is_void_v<work_result>)
            return awaiter_.await_resume(), true;
        else
            return result(std::in_place, awaiter_.await_resume());
    }

  private:
    // A callback of the stop may destroy the timed_work, so the stop is requested on a copy.
    static void request_stop(const std::stop_source &of) noexcept { std::stop_source(of).request_stop(); }

    struct pass_on {
        std::stop_source to;
        void operator()() const noexcept { request_stop(to); }
    };

    void end_stopped_work() {
        try {
            static_cast<void>(awaiter_.await_resume());
        } catch (const std::system_error &error) {
            if (error.code() != std::errc::operation_canceled)
                throw;
        }
    }

    static void fire(tw_node *, void *arg) {
        auto &self = *static_cast<timed_work *>(arg);
        self.is_up_ = true;
        request_stop(self.stop_);
    }

    // On return, `fire` runs on no other thread and will not begin any more.
    void end_deadline() noexcept { tw_runtime_retire(home_->rt, detail::node_in(node_)); }

    Node node_;
    std::shared_ptr<const detail::home> home_;
    tw_when when_;
    int error_ = 0;
    std::atomic<bool> is_up_{false};
    std::stop_source stop_;
    std::stop_callback<pass_on> on_outer_stop_;
    Work work_;
    awaitable awaitable_;
    awaiter awaiter_;
};

}  // namespace tickwheel

#endif

// tickwheel/sleep.hpp - the sleeps that coroutines await. See tickwheel.hpp.
#include <tickwheel/cplusplus.hpp>
#if defined(TICKWHEEL_CPLUSPLUS_20) && !defined(TICKWHEEL_SLEEP_HPP)
#define TICKWHEEL_SLEEP_HPP

#include <atomic>
#include <coroutine>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include <tickwheel/callback.hpp>
#include <tickwheel/runtime.h>

namespace tickwheel {

// The result of sleep_for and sleep_until, to be awaited. It lives in the coroutine's frame, and
// nothing is allocated. The coroutine resumes where callbacks run: on the runtime's thread, or on
// a worker. If a stop was requested before the co_await, the coroutine does not suspend at all. An
// exception that the coroutine throws out of resume() goes to the exception handler.
//
// Destroying the suspended coroutine cancels its sleep, and waits for its callback if that has
// just begun; the callback then does not resume it. Only a suspended coroutine may be destroyed.
// So before you destroy one on a thread other than the one it resumes on, make sure that the sleep
// is not just ending: stop the runtime first, or request a stop instead of destroying it.
//
// A coroutine that sleeps when its runtime is destroyed is never resumed, and may be destroyed
// later. Requesting a stop calls the runtime, so no such request may be in progress while the
// runtime is destroyed. If a pool rejects or discards the fire of a sleeper, the coroutine is never
// resumed either, not even by a stop request.
//
// g++ before 12.3, which includes that of Debian 12, miscompiles coroutines that have a co_await
// in the condition of an `if` or `while` and no variable in their outermost block (its bug
// 106188): they crash. Store the result in a variable there.
//
// clang, at least from 14 to 22, miscompiles coroutines whose unhandled_exception() throws (LLVM's
// issue 61900). When such a coroutine is destroyed, the objects that it held at its last suspension
// are destroyed a second time, the sleeper among them. With clang, store the exception in the
// promise instead.
template <class Node> class [[nodiscard("co_await it")]] sleeper {
  public:
    sleeper(std::shared_ptr<const detail::home> at, const tw_when &when, std::stop_token token)
        : home_(std::move(at)), due_ns_(when.due_ns), absolute_(when.absolute != 0),
          token_(std::move(token)) {
        detail::make_node(node_, *home_, fire, this);
    }
    sleeper(const sleeper &) = delete;
    sleeper &operator=(const sleeper &) = delete;
    ~sleeper() {
        if (state_.exchange(destroyed) == asleep)
            tw_runtime_retire(home_->rt, detail::node_in(node_));
    }

    bool await_ready() const noexcept { return token_.stop_requested(); }

    bool await_suspend(std::coroutine_handle<> waiting) noexcept {
        tw_runtime *const rt = home_->rt;
        tw_node *const node = detail::node_in(node_);
        waiting_ = waiting;
        state_ = falling_asleep;
        if (token_.stop_possible())
            on_stop_.emplace(token_, wake_up{home_.get(), node});
        error_ = absolute_ ? tw_runtime_at(rt, node, due_ns_) : tw_runtime_after(rt, node, due_ns_);
        if (error_ < 0)
            return false;
        if (token_.stop_requested())
            tw_runtime_move(rt, node, 0);  // the request may have come before the node was armed
        if (state_.exchange(asleep) == falling_asleep)
            return true;                            // the coroutine may have resumed: *this may be gone
        return tw_runtime_after(rt, node, 0) >= 0;  // `fire` came too early; this arms the node again
    }

    // Returns true after a full sleep, false if a stop was requested.
    bool await_resume() {
        on_stop_.reset();
        detail::check(error_);
        return !token_.stop_requested();
    }

  private:
    enum state { awake, falling_asleep, asleep, over, destroyed };

    struct wake_up {
        const detail::home *at;
        tw_node *node;
        void operator()() const noexcept { tw_runtime_move(at->rt, node, 0); }
    };

    // The function that replaces `asleep` decides: `fire` resumes the coroutine, the destructor does
    // not. While the coroutine is still falling asleep on another thread, `fire` must not resume it;
    // await_suspend then sees `over` and arms the node once more, so that the coroutine resumes on the
    // thread that fires.
    static void fire(tw_node *, void *arg) {
        auto &self = *static_cast<sleeper *>(arg);
        const detail::home &at = *self.home_;
        const std::coroutine_handle<> waiting = self.waiting_;
        if (self.state_.exchange(over) == asleep)
            detail::guard(at, waiting);
    }

    Node node_;
    std::shared_ptr<const detail::home> home_;
    std::coroutine_handle<> waiting_;
    std::int64_t due_ns_;
    bool absolute_;
    int error_ = 0;
    std::atomic<state> state_{awake};
    std::stop_token token_;
    std::optional<std::stop_callback<wake_up>> on_stop_;
};

}  // namespace tickwheel

#endif

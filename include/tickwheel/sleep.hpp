// tickwheel/sleep.hpp - what coroutines wait for. See tickwheel.hpp.
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

// What sleep_for and sleep_until return; it lives in the coroutine's frame, and nothing is
// allocated. The coroutine goes on where callbacks run: on the runtime's thread, or on a
// worker; but one that asks for a sleep whose stop was requested already is not suspended.
// What it throws to whoever resumes it goes to the exception handler.
//
// g++ before 12.3, and so that of Debian 12, breaks coroutines that have a co_await in the
// condition of an `if` or `while` and no variable in their outermost block (its bug 106188):
// they crash, whatever they wait for. Give the result a name there.
//
// Destroying the suspended coroutine cancels its sleep, and waits for a callback that is
// just about to find that out. As ever, only a suspended coroutine may be destroyed: who
// does it on another thread than the one it sleeps for makes sure that the sleep is not
// just ending, or stops the runtime first, or requests a stop instead. A coroutine that
// still sleeps when its runtime is destroyed sleeps for ever, and may be destroyed later.
// Requesting a stop is a call to the runtime while somebody sleeps by its token: not to be
// under way on another thread when that is destroyed. And of a pool that rejects or discards
// fires, a sleeper whose fire is left out sleeps for ever too, also when a stop is requested.
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
            tw_runtime_shutdown(home_->rt, detail::node_in(node_));
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
            tw_runtime_move(rt, node, 0);  // it may have come before there was a node to move
        if (state_.exchange(asleep) == falling_asleep)
            return true;                            // and *this may be gone
        return tw_runtime_after(rt, node, 0) >= 0;  // it was over too soon: see fire
    }

    // True: it has slept. False: a stop was requested.
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

    // Whoever sees `asleep` decides: this, and the coroutine goes on, or its destruction,
    // and it does not. A coroutine that is still falling asleep is not resumed: as it must
    // go on on this thread, it asks to be called once more.
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

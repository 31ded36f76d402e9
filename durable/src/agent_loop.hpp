// Calls an agent's `step` when it is due: on a thread of its own, or from a timer on the thread that drives
// the runtime.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>

#include <tickwheel/timers.h>

#include "settings.hpp"

namespace tickwheel::durable {

inline constexpr std::int64_t never = INT64_MAX;

// An object that has work to do from time to time.
class agent {
  public:
    // Does the work that is due at this local time. Returns the time at which the loop must call `step` again
    // at the latest, or `never`.
    virtual std::int64_t step(std::int64_t now) = 0;

    // A descriptor that becomes readable when the agent wants an earlier call; -1: none. The loop calls this
    // function after each step.
    virtual int descriptor() { return -1; }

  protected:
    ~agent() = default;
};

// Pauses between failing attempts: each is twice as long as the one before, up to the longest.
class growing_pause {
  public:
    static constexpr std::int64_t shortest_ns = 50 * TW_MILLISECOND, longest_ns = 2 * TW_SECOND;

    std::int64_t next() { return last_ns_ = std::clamp(last_ns_ * 2, shortest_ns, longest_ns); }
    void reset() { last_ns_ = 0; }

  private:
    std::int64_t last_ns_ = 0;
};

class agent_loop {
  public:
    // If `timers` is not null, the loop starts no thread and runs on a timer of this set.
    agent_loop(agent &whom, const local_clock &clock, tw_timers *timers)
        : whom_(whom), clock_(clock), timers_(timers) {}
    agent_loop(const agent_loop &) = delete;
    agent_loop &operator=(const agent_loop &) = delete;
    ~agent_loop();

    // Returns 0, -EAGAIN or another system error.
    int start(const char *thread_name);

    // Makes the loop call `step` soon. Any thread may call this, also within `step`.
    void ring();

    // Returns when `step` is not running and the loop will not call it again. Must not be called within
    // `step`.
    void stop();

  private:
    void run();
    void wait_until(std::int64_t time);
    void fire();
    void start_timer(std::int64_t delay);

    agent &whom_;
    const local_clock clock_;
    tw_timers *const timers_;
    int bell_ = -1;
    std::atomic<bool> is_stopping_{false}, is_rung_{false};
    std::thread thread_;
    tw_handle timer_ = TW_NO_HANDLE;
    bool is_in_step_ = false;
};

}  // namespace tickwheel::durable

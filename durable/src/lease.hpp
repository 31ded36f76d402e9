// The lease of this process: for how long no other can take what it holds, by the local clock.
//
// The database lets the lease end a fixed time after it has carried out the renewal. Here that time counts
// from before the renewal was sent, so the lease ends here first.
#pragma once

#include <cstdint>
#include <mutex>

#include <tickwheel/durable_store.h>

namespace tickwheel::durable {

class lease {
  public:
    explicit lease(std::int64_t length) : length_(length) {}

    void begin(const tw_store_member &member, std::int64_t asked) {
        const std::lock_guard hold(mutex_);
        member_ = member;
        until_ = end_if_asked(asked);
    }
    void extend(std::int64_t asked) {
        const std::lock_guard hold(mutex_);
        until_ = end_if_asked(asked);
    }
    void set_epoch(std::int64_t epoch) {
        const std::lock_guard hold(mutex_);
        member_.epoch = epoch;
    }

    // The membership has ended: nothing is held any more.
    void end() {
        const std::lock_guard hold(mutex_);
        member_ = {};
        until_ = 0;
    }

    // Its id is 0 if there is none.
    tw_store_member member() const {
        const std::lock_guard hold(mutex_);
        return member_;
    }

    std::int64_t until() const {
        const std::lock_guard hold(mutex_);
        return until_;
    }

    // For how long what this member has claimed can be held by no other; 0: it can.
    std::int64_t remaining(std::int64_t id, std::int64_t now) const {
        const std::lock_guard hold(mutex_);
        return id == member_.id && until_ > now ? until_ - now : 0;
    }

  private:
    // The two clocks may differ in speed.
    std::int64_t end_if_asked(std::int64_t asked) const { return asked + length_ - length_ / 1000; }

    const std::int64_t length_;
    mutable std::mutex mutex_;
    tw_store_member member_ = {};
    std::int64_t until_ = 0;
};

}  // namespace tickwheel::durable

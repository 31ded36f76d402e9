// The lease of this process by the local clock: until it ends, no other process can take the jobs held here.
//
// In the database the lease ends a fixed time after the database has carried out the renewal. Here the same
// time counts from before this process sent the renewal, so the lease ends here first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>

#include <tickwheel/durable_store.h>

namespace tickwheel::durable {

class lease {
  public:
    void begin(const tw_store_member &member, std::int64_t asked, std::int64_t length) {
        const std::lock_guard hold(mutex_);
        member_ = member;
        until_ = end_of(asked, length);
    }
    void set_length(std::int64_t asked, std::int64_t length) {
        const std::lock_guard hold(mutex_);
        until_ = end_of(asked, length);
    }
    void shorten(std::int64_t asked, std::int64_t length) {
        const std::lock_guard hold(mutex_);
        until_ = std::min(until_, end_of(asked, length));
    }
    void set_epoch(std::int64_t epoch) {
        const std::lock_guard hold(mutex_);
        member_.epoch = epoch;
    }

    // The membership has ended: this process holds no jobs any more.
    void end() {
        const std::lock_guard hold(mutex_);
        member_ = {};
        until_ = 0;
    }

    // The id is 0 if there is no member.
    tw_store_member member() const {
        const std::lock_guard hold(mutex_);
        return member_;
    }

    std::int64_t until() const {
        const std::lock_guard hold(mutex_);
        return until_;
    }

    // For how long no other process can take the jobs of the member with this id; 0: another process can.
    std::int64_t remaining(std::int64_t id, std::int64_t now) const {
        const std::lock_guard hold(mutex_);
        return id == member_.id && until_ > now ? until_ - now : 0;
    }

  private:
    // The two clocks may differ in speed, so the lease ends a thousandth early.
    static std::int64_t end_of(std::int64_t asked, std::int64_t length) {
        return asked + length - length / 1000;
    }

    mutable std::mutex mutex_;
    tw_store_member member_ = {};
    std::int64_t until_ = 0;
};

}  // namespace tickwheel::durable

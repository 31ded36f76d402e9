// This process's estimate of the database's clock, from its own steady clock and the readings that came with
// answers.
//
// This process sends a question at `asked` and receives the answer "it is t" at `answered`. The database read
// its clock in between, so the offset between the clocks lies in [t - answered, t - asked]. Each answer
// narrows this interval; between answers, the clocks drift apart. Users and deadlines get the lower end of
// the interval: the true time is that or later.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>

namespace tickwheel::durable {

class database_clock {
  public:
    struct reading {
        std::int64_t asked, answered;  // by the local clock
        std::int64_t now;              // by the database's
    };

    // Returns true if the reading contradicts the former ones, which means that one of the two clocks was
    // set. `add` then forgets the former readings.
    bool add(const reading &latest) {
        const std::lock_guard hold(mutex_);
        const std::int64_t low = latest.now - latest.answered, high = latest.now - latest.asked;
        const std::int64_t drift = is_known_ ? drift_until(latest.answered) : 0;
        const bool was_set = is_known_ && (low > high_ + drift || high < low_ - drift);
        if (!is_known_ || was_set) {
            low_ = low;
            high_ = high;
        } else {
            low_ = std::max(low_ - drift, low);
            high_ = std::min(high_ + drift, high);
        }
        read_at_ = latest.answered;
        is_known_ = true;
        return was_set;
    }

    bool is_known() const {
        const std::lock_guard hold(mutex_);
        return is_known_;
    }

    // A lower bound of the database's time at the local time `local`.
    std::int64_t at(std::int64_t local) const {
        const std::lock_guard hold(mutex_);
        return local + low_ - drift_until(local);
    }

    // The local time from which the database's clock reads at least `time` for certain.
    std::int64_t when(std::int64_t time) const {
        const std::lock_guard hold(mutex_);
        const std::int64_t local = time - low_;
        return local + drift_until(local);
    }

    // The largest error of at().
    std::int64_t uncertainty() const {
        const std::lock_guard hold(mutex_);
        return high_ - low_;
    }

  private:
    // Computer crystals differ by less than 1 in 10,000. A distant deadline is checked again before it comes,
    // with a newer reading, so drift beyond a minute does not count.
    std::int64_t drift_until(std::int64_t local) const {
        constexpr std::int64_t minute = 60'000'000'000;
        return std::clamp<std::int64_t>(local - read_at_, 0, minute) / 10'000;
    }

    mutable std::mutex mutex_;
    bool is_known_ = false;
    std::int64_t low_ = 0, high_ = 0;
    std::int64_t read_at_ = 0;
};

}  // namespace tickwheel::durable

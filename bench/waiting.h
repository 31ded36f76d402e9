// Workloads `lateness`, `fire-cpu` and `idle`: how late waiting loops fire, what a fire costs, and how often
// loops wake up for nothing.
//
// An implementation is a class `Loop` with one measured timer, in the most precise way that the library's
// public interface offers:
//   Loop(listener, pending)  `pending` more timers are armed and not due for long
//   at(deadline_ns)          arms the timer, which is idle, for a reading of the
//                            monotonic clock; in its callback, or before `run`.
//                            When it is due, the loop calls listener.fired() only.
//   run()                    runs the loop until `stop`, also if nothing is armed
//   stop()                   called in the callback
// Deadlines are whole microseconds. Every loop's thread has a timer slack of 1 ns, as our runtime
// sets for itself. With the default, the system adds up to 50 us to most kinds of waiting.
#ifndef TICKWHEEL_BENCH_WAITING_H
#define TICKWHEEL_BENCH_WAITING_H

#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>

#include "module.h"

namespace bench {

constexpr std::int64_t microsecond = 1000, second = 1'000'000'000, an_hour = 3600 * second;

inline std::int64_t reading_ns(clockid_t clock) {
    timespec now;
    clock_gettime(clock, &now);
    return second * now.tv_sec + now.tv_nsec;
}
inline std::int64_t monotonic_ns() { return reading_ns(CLOCK_MONOTONIC); }

class Listener {
  public:
    virtual void fired() = 0;

  protected:
    ~Listener() = default;
};

// Deadlines of the timers that stay pending: more than an hour away, so that none of them is ever
// the next one due.
class FarDelays {
  public:
    std::int64_t next_us() { return (an_hour + second * random_.below(3600)) / microsecond; }
    std::int64_t next_ns() { return next_us() * microsecond; }

  private:
    Random random_{3};
};

inline void be_precise() { prctl(PR_SET_TIMERSLACK, 1ul); }

// One timer that its callback arms again, at irregular distances.
template <class Loop> class Lateness : Listener {
  public:
    Lateness(std::size_t pending, std::size_t deadlines) : loop_(*this, pending), wanted_(deadlines) {
        late_us_.reserve(warm_up + deadlines);
    }

    std::vector<Sample> measure() {
        be_precise();
        arm_next(monotonic_ns());
        const std::int64_t cpu_before = reading_ns(CLOCK_PROCESS_CPUTIME_ID);
        loop_.run();
        const std::int64_t cpu_ns = reading_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_before;
        const double cpu_us =
            static_cast<double>(cpu_ns) / microsecond / static_cast<double>(late_us_.size());
        late_us_.erase(late_us_.begin(), late_us_.begin() + warm_up);
        std::sort(late_us_.begin(), late_us_.end());
        return {{Workload::lateness_p50, late_us_[wanted_ / 2]},
                {Workload::lateness_p99, late_us_[(wanted_ * 99 - 1) / 100]},
                {Workload::lateness_max, late_us_.back()},
                {Workload::fire_cpu, cpu_us}};
    }

  private:
    static constexpr std::ptrdiff_t warm_up = 20;

    void fired() override {
        const std::int64_t now = monotonic_ns();
        require(now >= deadline_, "a timer fired early");
        late_us_.push_back(static_cast<double>(now - deadline_) / microsecond);
        if (late_us_.size() == late_us_.capacity())
            loop_.stop();
        else
            arm_next(now);
    }
    void arm_next(std::int64_t now) {
        const std::int64_t distance_us = 200 + random_.below(1801);
        deadline_ = (now / microsecond + distance_us) * microsecond;
        loop_.at(deadline_);
    }

    Random random_{4};
    std::int64_t deadline_ = 0;
    std::vector<double> late_us_;
    Loop loop_;
    std::size_t wanted_;
};

// A loop on a thread of its own that has fired one timer and now has nothing to do, except
// perhaps for a timer in an hour.
template <class Loop> class Idle : Listener {
  public:
    explicit Idle(bool has_timer) : loop_(*this, 0), has_timer_(has_timer) {}

    double wakeups_per_second(int seconds) {
        std::thread([this] {
            be_precise();
            loop_.at(monotonic_ns() / microsecond * microsecond);
            loop_.run();
        }).detach();  // forever: the run's process ends first
        std::uint64_t before = settled();
        std::this_thread::sleep_for(std::chrono::seconds(seconds));
        return static_cast<double>(sleeps() - before) / seconds;
    }

  private:
    void fired() override {
        if (has_timer_)
            loop_.at((monotonic_ns() + an_hour) / microsecond * microsecond);
        thread_ = gettid();
    }

    // How often its thread has gone to sleep, and therefore how often it has woken up.
    std::uint64_t sleeps() const {
        std::ifstream status("/proc/self/task/" + std::to_string(thread_) + "/status");
        const std::string title = "voluntary_ctxt_switches:";
        for (std::string line; std::getline(status, line);)
            if (line.starts_with(title))
                return std::stoull(line.substr(title.size()));
        require(false, "no count of context switches");
        return 0;
    }

    // Returns the count once it stands still, or after five seconds if it never does.
    std::uint64_t settled() const {
        std::uint64_t before = 0, now = 0;
        for (int i = 0; i < 50; ++i) {
            before = now;
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
            now = thread_ ? sleeps() : 0;
            if (now == before && now != 0)
                break;
        }
        require(thread_ != 0, "the timer did not fire");
        return now;
    }

    Loop loop_;
    const bool has_timer_;
    std::atomic<pid_t> thread_{0};
};

// The loop is never destroyed: its thread may still be in it.
template <class Loop> double idle(const Task &task) {
    auto *idle = new Idle<Loop>(task.n != 0);
    return idle->wakeups_per_second(task.quick ? 2 : 5);
}

template <class Loop> std::vector<Sample> run_waiting(const Task &task) {
    if (task.workloads.front() == Workload::idle)
        return {{Workload::idle, idle<Loop>(task)}};
    Lateness<Loop> lateness(task.n - 1, task.operations ? task.operations : task.quick ? 100 : 300);
    return lateness.measure();
}

}  // namespace bench

#endif

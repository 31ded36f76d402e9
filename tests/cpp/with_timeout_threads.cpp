// Deadline, end of work and stop on three threads at the same moment: each coroutine resumes once, and
// nothing of it is left. For the sanitizers, too.
#include <atomic>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "support.hpp"
#include "tasks.hpp"

namespace {

constexpr int rounds = 400;
constexpr int at_once = 16;

// Coroutines that count what became of them.
class counts {
  public:
    void ended(bool in_time) {
        ++(in_time ? in_time_ : timed_out_);
        if (--left_ == 0)
            all_over_.open();
    }
    void expect_all() {
        ASSERT_TRUE(all_over_.wait());
        EXPECT_EQ(in_time_ + timed_out_, rounds * at_once);
    }

  private:
    std::atomic<int> in_time_{0}, timed_out_{0}, left_{rounds * at_once};
    gate all_over_;
};

// Work and deadline of the same length, on threads of their own, and a stop close to both.
template <class Timers> job race(tickwheel::runtime &rt, Timers &timers, counts &of) {
    for (int i = 0; i < rounds; ++i) {
        const auto length = std::chrono::microseconds(100 * (i % 20));
        std::stop_source source;
        const auto stopper = rt.after(length, [source]() mutable { source.request_stop(); });
        const auto result = co_await timers.with_timeout(
            length, [&](std::stop_token stop) { return rt.sleep_for(length, stop); }, source.get_token());
        of.ended(result.has_value());
    }
}

TEST(WithTimeoutThreads, DeadlineOnAWorkerAgainstWorkOnTheRuntime) {
    counts all;
    tickwheel::runtime rt({.tick = 100us});
    tickwheel::workers pool(rt, {.threads = 2});
    std::vector<job> jobs;
    for (int i = 0; i < at_once; ++i)
        jobs.push_back(race(rt, pool, all));
    all.expect_all();
    pool.wait();
    rt.stop();
}

TEST(WithTimeoutThreads, DeadlineAgainstWorkOnAnotherRuntime) {
    counts all;
    tickwheel::runtime rt({.tick = 100us}), other({.tick = 100us, .driver = "epoll"});
    std::vector<job> jobs;
    for (int i = 0; i < at_once; ++i)
        jobs.push_back(race(rt, other, all));
    all.expect_all();
    rt.stop();
    other.stop();
}

// The thread that resumes the frame frees it.
detached receive(tickwheel::runtime &rt, parcel &from, counts &of) {
    std::optional<bool> in_time;
    {
        const auto result =
            co_await rt.with_timeout(1ms, [&](std::stop_token stop) { return from.receive(stop); });
        in_time = result.has_value();
    }
    of.ended(*in_time);
}

// Awaitables that resume inside request_stop, or on the thread that brings what they wait for.
TEST(WithTimeoutThreads, DeadlineAgainstABringer) {
    counts all;
    tickwheel::runtime rt({.tick = 100us});
    for (int i = 0; i < rounds; ++i) {
        std::vector<parcel> parcels(at_once);
        std::atomic<int> brought{0};
        for (parcel &each : parcels)
            receive(rt, each, all);
        std::this_thread::sleep_for(std::chrono::microseconds(900 + 10 * (i % 30)));
        for (parcel &each : parcels)
            brought += each.bring(i) ? 1 : 0;
        ASSERT_TRUE(eventually([&] { return tw_runtime_count(rt.native()) == 0; }));
        rt.stop();  // no callback uses the parcels any more
        rt.start();
    }
    all.expect_all();
}

}  // namespace

// Threads that race for the same timers and coroutines. The sanitizers find errors that no assertion does.
#include <atomic>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "support.hpp"
#include "support/random.h"
#include "tasks.hpp"

namespace {

using std::chrono::microseconds;
using tickwheel::runtime;
using tickwheel::runtime_options;

constexpr int rounds = 1000;

class Race : public testing::Test {
  protected:
    runtime rt{runtime_options{.tick = 1us}};
    std::uint64_t seed = 4;

    microseconds moment() { return microseconds(random_below(&seed, 100)); }
    // Returns when earlier work on the runtime's thread is done, such as a coroutine on its way to a
    // suspension.
    void settle() {
        gate settled;
        rt.spawn(0s, [&] { settled.open(); });
        ASSERT_TRUE(settled.wait());
    }
    void pass(microseconds length) {  // without yielding the processor
        const auto end = std::chrono::steady_clock::now() + length;
        while (std::chrono::steady_clock::now() < end) {
        }
    }
};

TEST_F(Race, ATimerDestroyedAgainstItsFiring) {
    for (int i = 0; i < rounds; ++i) {
        const auto used = std::make_unique<int>(0);
        const auto t = rt.after(moment(), [&used] { ++*used; });
        pass(moment());
    }
    for (int i = 0; i < rounds; ++i) {
        const auto used = std::make_unique<int>(0);
        const auto t = rt.every(10us, [&used] { ++*used; });
        pass(moment());
    }
    EXPECT_EQ(rt.count(), 0U);
}

TEST_F(Race, ATimerCancelledAgainstItsFiringTellsTheTruth) {
    for (int i = 0; i < rounds; ++i) {
        int fired = 0;
        auto t = rt.after(moment(), [&] { ++fired; });
        pass(moment());
        const bool prevented = t.cancel_wait();
        ASSERT_EQ(fired, prevented ? 0 : 1);
    }
}

TEST_F(Race, APinnedTimerDestroyedAgainstItsFiring) {
    for (int i = 0; i < rounds; ++i) {
        const auto used = std::make_unique<int>(0);
        tickwheel::pinned_timer t(rt, [&used] { ++*used; });
        if (i % 2 == 0)
            t.after(moment());
        else
            t.every(10us);
        pass(moment());
    }
}

// Counts its resumptions, without a limit.
struct resumed {
    struct promise_type {
        std::atomic<int> *count;
        promise_type(std::atomic<int> &n) : count(&n) {}
        resumed get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_always initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
    std::coroutine_handle<promise_type> handle;
};
resumed count_resumes(std::atomic<int> &count) {
    for (;;) {
        ++count;
        co_await std::suspend_always{};
    }
}

// A sleep without a coroutine frame around it. If the sleep's destructor begins before the fire is decided,
// the fire must not resume the coroutine.
TEST_F(Race, ASleepDestroyedAgainstItsFiring) {
    std::atomic<int> count{0};
    const resumed sleeping = count_resumes(count);
    std::stop_source never;
    int woken = 0;
    for (int i = 0; i < rounds; ++i) {
        const int before = count;
        {
            const std::unique_ptr<tickwheel::sleeper<tw_node>> nap(
                new auto(rt.sleep_for(moment(), i % 2 == 0 ? std::stop_token() : never.get_token())));
            ASSERT_TRUE(nap->await_suspend(sleeping.handle));
            pass(moment());
        }
        settle();
        ASSERT_LE(count - before, 1);
        woken += count - before;
    }
    EXPECT_GT(woken, 0);
    EXPECT_LT(woken, rounds);
    rt.stop();
    sleeping.handle.destroy();
}

TEST_F(Race, ACoroutineDestroyedOnTheRuntimesThreadAgainstItsWaking) {
    for (int i = 0; i < rounds / 2; ++i) {
        gate destroyed;
        std::stop_source stop;
        const auto sleep = [&]() -> job {
            const auto local = std::make_unique<int>(i);
            for (;;) {
                co_await rt.sleep_for(5us);
                co_await rt.sleep_for(5us, stop.get_token());
                ++*local;
            }
        };
        std::optional<job> j;
        rt.spawn(0s, [&] { j.emplace(sleep()); });
        rt.spawn(moment(), [&] {
            j.reset();
            destroyed.open();
        });
        ASSERT_TRUE(destroyed.wait());
    }
}

TEST_F(Race, ASleepingCoroutineDestroyedByAnotherThread) {
    const auto busy = rt.every(1us, [] {});
    for (int i = 0; i < rounds; ++i) {
        std::stop_source stop;
        const auto sleep = [&]() -> job { co_await rt.sleep_for(1h, stop.get_token()); };
        job j = sleep();
        if (i % 3 == 0)
            std::this_thread::yield();
    }
    EXPECT_EQ(tw_runtime_count(rt.native()), 1U);
}

TEST_F(Race, AStopAgainstTheEndOfASleep) {
    std::atomic<int> slept{0}, stopped{0};
    for (int i = 0; i < rounds; ++i) {
        std::stop_source stop;
        std::atomic<int> ended{0};
        const auto sleep = [&](microseconds length) -> job {
            (co_await rt.sleep_for(length, stop.get_token()) ? slept : stopped)++;
            ++ended;
        };
        const job j = sleep(moment());
        pass(moment());
        stop.request_stop();
        ASSERT_TRUE(eventually([&] { return ended == 1; }));
        settle();
        ASSERT_TRUE(j.done());
        ASSERT_EQ(ended, 1);
    }
    EXPECT_GT(slept, 0);
    EXPECT_GT(stopped, 0);
}

// A stop that comes while the coroutine is going to sleep must not be lost.
TEST_F(Race, AStopAgainstTheBeginningOfASleep) {
    for (int i = 0; i < rounds / 2; ++i) {
        std::stop_source stop;
        std::atomic<bool> go{false};
        gate ended;
        std::thread stopper([&] {
            while (!go) {
            }
            stop.request_stop();
        });
        const auto sleep = [&]() -> job {
            go = true;
            co_await rt.sleep_for(1h, stop.get_token());
            ended.open();
        };
        {
            const job j = sleep();
            const bool in_time = ended.wait();
            stopper.join();
            ASSERT_TRUE(in_time);
            settle();
        }
    }
}

// However soon a sleep ends, it ends on the runtime's thread.
TEST_F(Race, ASleepThatIsOverBeforeItHasBegun) {
    std::thread::id home;
    gate known;
    rt.spawn(0s, [&] {
        home = std::this_thread::get_id();
        known.open();
    });
    ASSERT_TRUE(known.wait());
    const auto busy = rt.every(1us, [] {});  // keeps the thread from sleeping
    std::stop_source never;
    for (int i = 0; i < rounds; ++i) {
        std::atomic<bool> ended{false};
        std::thread::id there;
        const auto sleep = [&]() -> job {
            co_await rt.sleep_for(0s, never.get_token());
            there = thread_here();
            ended = true;
        };
        const job j = sleep();
        ASSERT_TRUE(eventually([&] { return ended.load(); }));
        settle();
        ASSERT_EQ(there, home);
    }
}

// Not a lambda: the runtime still resumes the coroutine after a lambda, and with it the captures, would have
// been destroyed.
job sleep_again_and_again(runtime &rt, microseconds each, std::atomic<int> &slept) {
    for (;;) {
        co_await rt.sleep_for(each);
        ++slept;
    }
}

TEST(RaceOfLives, ARuntimeEndsAmidItsTimersAndSleepers) {
    for (int i = 0; i < 100; ++i) {
        std::vector<job> jobs;
        std::vector<tickwheel::timer> timers;
        std::atomic<int> fired{0};
        {
            runtime rt({.tick = 1us});
            for (int each = 1; each <= 20; ++each) {
                jobs.push_back(sleep_again_and_again(rt, microseconds(each), fired));
                timers.push_back(rt.every(microseconds(each), [&] { ++fired; }));
                rt.spawn(microseconds(each), [&] { ++fired; });
            }
            ASSERT_TRUE(eventually([&] { return fired > 50; }));
        }
        const int last = fired;
        jobs.clear();
        timers.clear();
        ASSERT_EQ(fired, last);
    }
}

// --- deadline, end of work and stop on three threads at the same moment: each coroutine resumes once

constexpr int deadlines = 400;
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
        EXPECT_EQ(in_time_ + timed_out_, deadlines * at_once);
    }

  private:
    std::atomic<int> in_time_{0}, timed_out_{0}, left_{deadlines * at_once};
    gate all_over_;
};

// Work and deadline of the same length, on threads of their own, and a stop close to both.
template <class Timers> job race(tickwheel::runtime &rt, Timers &timers, counts &of) {
    for (int i = 0; i < deadlines; ++i) {
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

// Awaitables that resume inside request_stop, or on the thread that brings the parcel.
TEST(WithTimeoutThreads, DeadlineAgainstABringer) {
    counts all;
    tickwheel::runtime rt({.tick = 100us});
    for (int i = 0; i < deadlines; ++i) {
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

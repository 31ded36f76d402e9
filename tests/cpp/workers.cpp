// Pools of workers: the same timers, run on other threads.
#include <atomic>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support.hpp"

namespace {

using tickwheel::basic_workers;
using tickwheel::virtual_runtime;
using pool_of_two = tickwheel::workers;

class Workers : public testing::Test {
  protected:
    std::atomic<int> thrown{0};
    virtual_runtime rt{{.on_exception = [this](const std::exception_ptr &) { ++thrown; }}};
    pool_of_two pool{rt, {.threads = 2}};
    std::atomic<int> ran{0};
    std::atomic<bool> here{false};  // a callback ran on the test's own thread

    const std::thread::id own = std::this_thread::get_id();
    auto running() {
        return [this] { run(); };
    }
    void run() {
        if (thread_here() == own)
            here = true;
        ++ran;
    }
    void advance(std::chrono::nanoseconds by) {
        rt.advance(by);
        pool.wait();
    }
};

TEST_F(Workers, RunEveryKindOfTimer) {
    const auto after = pool.after(1s, running());
    const auto at = pool.at(rt.now() + 1s, running());
    const auto every = pool.every(1s, running(), {.fires = 2});
    const auto from = pool.every_from(rt.now() + 1s, 1s, running(), {.fires = 2});
    const auto scheduled = pool.schedule([](virtual_runtime::time_point due) { return due + 2s; }, running());
    pool.spawn(1s, running());
    advance(1s);
    EXPECT_EQ(ran, 5);
    advance(1s);
    EXPECT_EQ(ran, 8);
    EXPECT_FALSE(here);
}

TEST_F(Workers, TellTheEvent) {
    std::vector<virtual_runtime::event> seen;
    const auto t = pool.every(1s, [&](const pool_of_two::event &e) { seen.push_back(e); });
    rt.leap(3s);
    pool.wait();
    ASSERT_EQ(seen.size(), 1U);
    EXPECT_EQ(seen[0].due.time_since_epoch(), 1s);
    EXPECT_EQ(seen[0].overruns, 2U);
}

TEST_F(Workers, HandExceptionsToTheRuntimesHandler) {
    const auto t = pool.every(1s, [] { throw std::runtime_error("work"); });
    advance(1s);
    advance(1s);
    EXPECT_EQ(thrown, 2);
    EXPECT_TRUE(t.pending());
}

TEST_F(Workers, ATimersDestructionWaitsForItsRun) {
    gate began, release;
    std::atomic<bool> ended{false};
    {
        const auto t = pool.after(1s, [&] {
            began.open();
            EXPECT_TRUE(release.wait());
            ended = true;
        });
        rt.advance(1s);
        ASSERT_TRUE(began.wait());
        std::thread([&] { release.open(); }).detach();
    }
    EXPECT_TRUE(ended);
}

TEST_F(Workers, RunPinnedTimers) {
    tickwheel::pinned_timer t(pool, running());
    t.every(1s);
    advance(1s);
    advance(1s);
    EXPECT_EQ(ran, 2);
    EXPECT_TRUE(t.cancel());
    advance(5s);
    EXPECT_EQ(ran, 2);
    EXPECT_FALSE(here);
}

TEST_F(Workers, APinnedTimersDestructionWaitsForItsRun) {
    gate began, release;
    std::atomic<bool> ended{false};
    {
        tickwheel::pinned_timer t(pool, [&] {
            began.open();
            EXPECT_TRUE(release.wait());
            ended = true;
        });
        t.after(1s);
        rt.advance(1s);
        ASSERT_TRUE(began.wait());
        std::thread([&] { release.open(); }).detach();
    }
    EXPECT_TRUE(ended);
}

TEST_F(Workers, AreWhereTheirSleepersGoOn) {
    const auto sleep = [this]() -> job {
        for (int i = 0; i < 3; ++i) {
            co_await pool.sleep_for(1s);
            run();
        }
    };
    const job j = sleep();
    for (int i = 0; i < 3; ++i)
        advance(1s);
    EXPECT_EQ(ran, 3);
    EXPECT_FALSE(here);
    EXPECT_TRUE(j.done());
}

TEST_F(Workers, ASleeperMovesFromTheRuntimeToThePool) {
    const auto hop = [this]() -> job {
        co_await rt.sleep_for(1s);
        EXPECT_EQ(thread_here(), own);
        co_await pool.sleep_for(0s);
        run();
    };
    const job j = hop();
    advance(1s);
    EXPECT_EQ(ran, 1);
    EXPECT_FALSE(here);
}

TEST_F(Workers, DestroyedSleepersAreCancelled) {
    {
        const auto sleep = [this]() -> job {
            co_await pool.sleep_for(1s);
            run();
        };
        const job j = sleep();
    }
    advance(5s);
    EXPECT_EQ(ran, 0);
}

TEST(WorkersOptions, AreTheLibrarys) {
    virtual_runtime rt;
    basic_workers pool(rt, {.threads = 1, .queue = 1, .when_full = tickwheel::when_full::reject});
    gate began, release;
    pool.spawn(1s, [&] {
        began.open();
        EXPECT_TRUE(release.wait());
    });
    rt.advance(1s);
    ASSERT_TRUE(began.wait());
    for (int i = 0; i < 3; ++i)
        pool.spawn(1s, [] {});
    rt.advance(1s);
    EXPECT_EQ(pool.stats().rejected, 2U);
    release.open();
    pool.wait();
    EXPECT_EQ(pool.stats().runs, 2U);
}

TEST(WorkersOptions, ConcurrentFiresOfOneTimerMayMeet) {
    virtual_runtime rt;
    basic_workers pool(rt, {.threads = 2, .concurrent = true});
    gate first, second;
    std::atomic<int> runs{0};
    const auto t = pool.every(1s, [&] {
        if (++runs == 1) {
            first.open();
            EXPECT_TRUE(second.wait());  // runs at the same time
        } else {
            second.open();
        }
    });
    rt.advance(1s);
    ASSERT_TRUE(first.wait());
    rt.advance(1s);
    pool.wait();
    EXPECT_EQ(runs, 2);
}

TEST(WorkersLife, TheirEndEndsTheirTimers) {
    virtual_runtime rt;
    int gone = 0, others = 0;
    tickwheel::timer t;
    {
        basic_workers pool(rt);
        t = pool.every(1s, [end = farewell(gone)] {});
        pool.spawn(1s, [end = farewell(gone)] { FAIL(); });
        rt.spawn(1s, [&] { ++others; });
    }
    EXPECT_EQ(gone, 2);
    EXPECT_FALSE(t.pending());
    EXPECT_FALSE(t.cancel_wait());
    rt.advance(1s);
    EXPECT_EQ(others, 1);
}

// Stops a runtime whose only worker is busy while another fire waits. Returns the statistics.
tw_worker_stats stop_with_a_fire_waiting() {
    virtual_runtime rt;
    basic_workers pool(rt, {.threads = 1, .at_stop = tickwheel::at_stop::discard});
    gate began, release;
    pool.spawn(0s, [&] {
        began.open();
        EXPECT_TRUE(release.wait());
    });
    rt.advance(0s);
    EXPECT_TRUE(began.wait());
    pool.spawn(0s, [] {});
    rt.advance(0s);
    std::thread releasing([&] {
        for (int i = 0; i < 1000; ++i)
            std::this_thread::yield();
        release.open();
    });
    rt.stop();
    releasing.join();
    return pool.stats();
}

TEST(WorkersLife, AStopMayDiscardTheQueue) {
    EXPECT_TRUE(eventually([] {  // unless the worker was faster than the stop
        const tw_worker_stats seen = stop_with_a_fire_waiting();
        EXPECT_EQ(seen.runs + seen.discarded, 2U);
        return seen.discarded == 1;
    }));
}

}  // namespace

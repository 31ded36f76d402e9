// Pools of workers: the same timers, whose callbacks run on other threads.
#include <atomic>
#include <memory>
#include <stdexcept>
#include <thread>

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

TEST_F(Workers, HandExceptionsToTheRuntimesHandler) {
    const auto t = pool.every(1s, [] { throw std::runtime_error("work"); });
    advance(1s);
    advance(1s);
    EXPECT_EQ(thrown, 2);
    EXPECT_TRUE(t.pending());
}

template <class Make> void expect_destruction_to_wait(virtual_runtime &rt, Make make) {
    gate began, release;
    std::atomic<bool> ended{false};
    std::thread releasing;
    {
        const auto t = make([&] {
            began.open();
            EXPECT_TRUE(release.wait());
            ended = true;
        });
        rt.advance(1s);
        ASSERT_TRUE(began.wait());
        releasing = std::thread([&] { release.open(); });
    }
    EXPECT_TRUE(ended);
    releasing.join();
}

TEST_F(Workers, ATimersDestructionWaitsForItsRun) {
    expect_destruction_to_wait(rt, [this](auto run) { return pool.after(1s, run); });
    expect_destruction_to_wait(rt, [this](auto run) {
        auto pinned = std::make_unique<tickwheel::pinned_timer<decltype(run), pool_of_two>>(pool, run);
        pinned->after(1s);
        return pinned;
    });
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

TEST_F(Workers, AreWhereTheirSleepersGoOn) {
    const auto sleep = [this]() -> job {
        for (int i = 0; i < 3; ++i) {
            co_await rt.sleep_for(500ms);
            EXPECT_EQ(thread_here(), own);
            co_await pool.sleep_for(500ms);
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

TEST(WorkersOptions, AreTheLibrarys) {
    virtual_runtime rt;
    basic_workers pool(rt, {.threads = 1,
                            .queue = 1,
                            .when_full = tickwheel::when_full::reject,
                            .at_stop = tickwheel::at_stop::discard,
                            .thread_name = "cpp-work"});
    gate began, release;
    char name[16] = "";
    pool.spawn(1s, [&] {
        pthread_getname_np(pthread_self(), name, sizeof name);
        began.open();
        EXPECT_TRUE(release.wait());
        rt.stop();
    });
    rt.advance(1s);
    ASSERT_TRUE(began.wait());
    EXPECT_STREQ(name, "cpp-work");
    for (int i = 0; i < 3; ++i)
        pool.spawn(1s, [] {});
    rt.advance(1s);
    EXPECT_EQ(pool.stats().rejected, 2U);
    release.open();
    pool.wait();
    EXPECT_EQ(pool.stats().runs, 1U);
    EXPECT_EQ(pool.stats().discarded, 1U);
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

}  // namespace

// Coroutines that sleep, that are stopped, and that are destroyed while they sleep: on virtual time, in one
// thread.
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "support.hpp"
#include "tasks.hpp"

namespace {

using std::chrono::nanoseconds;
using tickwheel::virtual_runtime;

class Sleep : public testing::Test {
  protected:
    virtual_runtime rt;
    std::vector<nanoseconds> woke;
    std::optional<bool> slept;
    int gone = 0;  // locals of destroyed coroutines

    void note() { woke.push_back(rt.now().time_since_epoch()); }
    using times = std::vector<nanoseconds>;

    job sleep_for(nanoseconds delay, std::stop_token token = {}) {
        const farewell local(gone);
        slept = co_await rt.sleep_for(delay, token);
        note();
    }
    job sleep_until(virtual_runtime::time_point moment, std::stop_token token = {}) {
        slept = co_await rt.sleep_until(moment, token);
        note();
    }
};

TEST_F(Sleep, LastsAsLongAsItIsTold) {
    std::stop_source stop;
    const job j = sleep_for(5s, stop.get_token());
    rt.advance(4999ms);
    EXPECT_FALSE(j.done());
    rt.advance(1ms);
    EXPECT_TRUE(j.done());
    EXPECT_EQ(slept, true);
    stop.request_stop();  // finds no sleeper
    rt.advance(1h);
    EXPECT_EQ(woke, times{5s});
    EXPECT_EQ(gone, 1);
}

TEST_F(Sleep, LastsUntilAMoment) {
    rt.advance(1s);
    const job later = sleep_until(rt.now() + 2s);
    const job past = sleep_until(rt.now() - 1s);
    EXPECT_TRUE(woke.empty());  // suspending never resumes another coroutine
    rt.advance(5s);
    EXPECT_EQ(woke, (times{1s, 3s}));
    EXPECT_EQ(slept, true);
}

TEST_F(Sleep, OfNoLengthLetsOthersGoFirst) {
    rt.spawn(0s, [this] { note(); });
    const job j = sleep_for(0s);
    EXPECT_TRUE(woke.empty());
    rt.advance(0s);
    EXPECT_EQ(woke.size(), 2U);
}

job sleep_the_same_twice(virtual_runtime &rt, std::stop_token token, std::vector<bool> &slept) {
    auto nap = rt.sleep_for(2s, token);
    slept.push_back(co_await nap);
    slept.push_back(co_await nap);
}

TEST_F(Sleep, MayBeKeptAndAwaitedAgain) {
    std::stop_source stop;
    std::vector<bool> result;
    const job j = sleep_the_same_twice(rt, stop.get_token(), result);
    rt.advance(2s);
    EXPECT_FALSE(j.done());
    stop.request_stop();
    rt.advance(0s);
    EXPECT_EQ(result, (std::vector{true, false}));
}

// --- stopping

TEST_F(Sleep, EndsEarlyWhenAStopIsRequested) {
    std::stop_source stop;
    const job one = sleep_for(1h, stop.get_token()), other = sleep_until(rt.now() + 1h, stop.get_token());
    rt.advance(2s);
    stop.request_stop();
    EXPECT_FALSE(one.done() || other.done());  // they continue on the runtime's thread, not in request_stop
    rt.advance(0s);
    EXPECT_TRUE(one.done() && other.done());
    EXPECT_EQ(slept, false);
    EXPECT_EQ(woke, (times{2s, 2s}));
}

TEST_F(Sleep, IsNotBegunWhenTheStopIsThereAlready) {
    std::stop_source stop;
    stop.request_stop();
    const job j = sleep_for(1h, stop.get_token());
    EXPECT_TRUE(j.done());
    EXPECT_EQ(slept, false);
    EXPECT_EQ(tw_runtime_count(rt.native()), 0U);
}

// --- destruction

TEST_F(Sleep, EndsAtOnceWhenTheStopComesAsItBegins) {
    std::stop_source stop;
    auto sleep = rt.sleep_for(1h, stop.get_token());
    ASSERT_FALSE(sleep.await_ready());
    stop.request_stop();
    EXPECT_TRUE(sleep.await_suspend(std::noop_coroutine()));
    rt.advance(1ms);
    EXPECT_EQ(tw_runtime_count(rt.native()), 0U);
    EXPECT_FALSE(sleep.await_resume());
}

TEST_F(Sleep, IsCancelledWhenItsCoroutineIsDestroyed) {
    std::stop_source stop;
    [[maybe_unused]] auto never_awaited = rt.sleep_for(1s);
    {
        const job j = sleep_for(5s, stop.get_token());
        rt.advance(1s);
        EXPECT_EQ(gone, 0);
    }
    EXPECT_EQ(gone, 1);
    EXPECT_EQ(tw_runtime_count(rt.native()), 0U);
    stop.request_stop();
    rt.advance(1h);
    EXPECT_TRUE(woke.empty());
}

TEST_F(Sleep, IsCancelledWhenItIsDueAlready) {
    std::optional<job> late;
    rt.spawn(4s, [&] { late.reset(); });
    late.emplace(sleep_for(5s));
    rt.leap(10s);  // past both deadlines
    EXPECT_EQ(gone, 1);
    EXPECT_TRUE(woke.empty());
}

TEST_F(Sleep, IsCancelledWhenAStopHasEndedItAlready) {
    std::stop_source stop;
    {
        const job j = sleep_for(5s, stop.get_token());
        stop.request_stop();
    }
    rt.advance(10s);
    EXPECT_EQ(gone, 1);
    EXPECT_TRUE(woke.empty());
}

detached sleep_and_go(virtual_runtime &rt, int &gone) {
    const farewell local(gone);
    co_await rt.sleep_for(1s);
    co_await rt.sleep_for(1s, std::stop_source().get_token());
}

TEST_F(Sleep, MayBeTheLastThingAFrameDoes) {
    sleep_and_go(rt, gone);
    rt.advance(2s);
    EXPECT_EQ(gone, 1);
}

job await(tickwheel::sleeper<tw_node> &nap) { co_await nap; }

TEST(SleepLifetime, ACoroutineMayOutliveTheRuntimeItSleepsOn) {
    int gone = 0;
    std::stop_source stop;
    {
        auto rt = std::make_optional<virtual_runtime>();
        const auto sleep = [&](virtual_runtime &on) -> job {
            const farewell local(gone);
            co_await on.sleep_for(1s, stop.get_token());
            ADD_FAILURE() << "resumed after the end of its runtime";
        };
        const job j = sleep(*rt);
        rt.reset();
        stop.request_stop();
        EXPECT_FALSE(j.done());
        EXPECT_EQ(gone, 0);
    }
    EXPECT_EQ(gone, 1);
}

TEST(SleepLifetime, ThatCannotBeginThrowsIntoTheCoroutine) {
    auto rt = std::make_optional<virtual_runtime>();
    auto nap = rt->sleep_for(1s);
    rt.reset();
    const job j = await(nap);
    EXPECT_TRUE(j.done());
    EXPECT_EQ(j.error(), std::errc::invalid_argument);
}

// --- on a thread of its own

TEST(SleepOnARuntime, EndsOnTheRuntimesThread) {
    tickwheel::runtime rt;
    gate done;
    std::thread::id began, went_on;
    const auto sleep = [&]() -> job {
        began = thread_here();
        co_await rt.sleep_for(1ms);
        went_on = thread_here();
        done.open();
    };
    const job j = sleep();
    ASSERT_TRUE(done.wait());
    rt.stop();
    EXPECT_EQ(began, std::this_thread::get_id());
    EXPECT_NE(went_on, began);
}

}  // namespace

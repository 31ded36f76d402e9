// Work under a deadline, on virtual time, in one thread: every path that with_timeout_random.cpp does not
// draw.
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>
#include <type_traits>
#include <vector>

#include "support.hpp"
#include "tasks.hpp"

namespace {

using std::chrono::nanoseconds;
using tickwheel::runtime;
using tickwheel::virtual_runtime;

class WithTimeout : public testing::Test {
  protected:
    virtual_runtime rt;
    std::vector<std::string> heard;
    int gone = 0;  // locals of coroutines that have ended or were destroyed

    void hear(const std::string &what) {
        const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(rt.now().time_since_epoch());
        heard.push_back(std::to_string(ms.count()) + " " + what);
    }
    using lines = std::vector<std::string>;

    // The work: sleeps, unless told to stop.
    lazy<int> answer(nanoseconds length, std::stop_token stop) {
        const farewell local(gone);
        const bool slept = co_await rt.sleep_for(length, stop);
        hear(slept ? "worked" : "stopped");
        co_return 42;
    }
    lazy<void> toil(nanoseconds length, std::stop_token stop) {
        const farewell local(gone);
        const bool slept = co_await rt.sleep_for(length, stop);
        hear(slept ? "worked" : "stopped");
    }
    lazy<int> fail(nanoseconds length, std::stop_token stop, std::errc code) {
        const farewell local(gone);
        co_await rt.sleep_for(length, stop);
        throw std::system_error(std::make_error_code(code));
    }

    job ask(nanoseconds limit, nanoseconds length, std::stop_token token = {}) {
        const farewell local(gone);
        const auto result = co_await rt.with_timeout(
            limit, [&](std::stop_token stop) { return answer(length, stop); }, token);
        hear(result ? std::to_string(*result) : "time is up");
    }
    job ask_failing(nanoseconds limit, nanoseconds length, std::errc code) {
        const auto result =
            co_await rt.with_timeout(limit, [&](std::stop_token stop) { return fail(length, stop, code); });
        hear(result ? std::to_string(*result) : "time is up");
    }
    void expect_nothing_left() { EXPECT_EQ(tw_runtime_count(rt.native()), 0U); }
};

TEST_F(WithTimeout, HasDeadlinesAtMoments) {
    const auto until = [&](runtime::time_point moment) -> job {
        const bool done =
            co_await rt.with_deadline(moment, [&](std::stop_token stop) { return toil(50ms, stop); });
        hear(done ? "done" : "time is up");
    };
    rt.advance(1s);
    const job past = until(rt.now() - 1s);
    const job soon = until(rt.now() + 49ms);
    const job later = until(rt.now() + 51ms);
    rt.advance(1s);
    EXPECT_EQ(heard, (lines{"1000 stopped", "1000 time is up", "1049 stopped", "1049 time is up",
                            "1050 worked", "1050 done"}));
    expect_nothing_left();
}

TEST_F(WithTimeout, WaitsForWorkThatDoesNotLookAtItsToken) {
    const auto stubborn = [&]() -> job {
        const bool done = co_await rt.with_timeout(10ms, [&](std::stop_token) { return toil(1s, {}); });
        hear(done ? "done" : "time is up");
    };
    const job j = stubborn();
    rt.advance(2s);
    EXPECT_EQ(heard, (lines{"1000 worked", "1000 time is up"}));
}

TEST_F(WithTimeout, AwaitsASleepItself) {
    const auto sleep = [&](nanoseconds limit) -> job {
        const std::optional<bool> slept =
            co_await rt.with_timeout(limit, [&](std::stop_token stop) { return rt.sleep_for(50ms, stop); });
        hear(!slept ? "time is up" : *slept ? "slept" : "stopped");
    };
    const job one = sleep(40ms), other = sleep(60ms);
    rt.advance(1s);
    EXPECT_EQ(heard, (lines{"40 time is up", "50 slept"}));
}

// --- kinds of results

template <class Work>
using result_of = decltype(std::declval<runtime &>().with_timeout(1s, std::declval<Work>()).await_resume());

template <class T> struct ready {
    T value;
    bool await_ready() const { return true; }
    void await_suspend(std::coroutine_handle<>) const { ADD_FAILURE() << "it was ready"; }
    T await_resume() { return static_cast<T>(value); }
};
template <class T> using giving = ready<T> (*)(std::stop_token);
static_assert(std::is_same_v<result_of<giving<int>>, std::optional<int>>);
static_assert(std::is_same_v<result_of<giving<bool>>, std::optional<bool>>);
static_assert(std::is_same_v<result_of<giving<int &>>, std::optional<std::reference_wrapper<int>>>);
static_assert(std::is_same_v<result_of<giving<int &&>>, std::optional<int>>);
static_assert(std::is_same_v<result_of<giving<std::optional<int>>>, std::optional<std::optional<int>>>);
static_assert(std::is_same_v<result_of<lazy<void> (*)(std::stop_token)>, bool>);

template <class Work>
concept can_be_timed = requires(runtime &rt, Work work) {
    rt.with_timeout(1s, std::move(work));
};
static_assert(can_be_timed<giving<int>>);
static_assert(!can_be_timed<ready<int> (*)()>);  // it would not hear of the deadline
static_assert(!can_be_timed<ready<int>>);
static_assert(!can_be_timed<int (*)(std::stop_token)>);
static_assert(!can_be_timed<void (*)(std::stop_token)>);

TEST_F(WithTimeout, TakesNoTimerForWorkThatIsReady) {
    std::size_t armed = 99;
    int number = 1;
    const auto ask_ready = [&]() -> job {
        const auto value = co_await rt.with_timeout(0s, [](std::stop_token) { return ready<int>{7}; });
        const auto reference =
            co_await rt.with_timeout(0s, [&](std::stop_token) { return ready<int &>{number}; });
        const auto empty =
            co_await rt.with_timeout(0s, [](std::stop_token) { return ready<std::optional<int>>{}; });
        armed = tw_runtime_count(rt.native());
        EXPECT_EQ(value, 7);
        EXPECT_EQ(&reference->get(), &number);
        EXPECT_TRUE(empty.has_value() && !empty->has_value());
    };
    const job j = ask_ready();
    EXPECT_TRUE(j.done());
    EXPECT_EQ(armed, 0U);
}

TEST_F(WithTimeout, AwaitsWorkThatEndsWhileItIsBegun) {
    const auto at_once = [](std::stop_token) -> lazy<int> { co_return 7; };
    const auto ask_at_once = [&]() -> job {
        const auto result = co_await rt.with_timeout(0s, at_once);
        hear(std::to_string(result.value_or(0)));
    };
    const job j = ask_at_once();
    EXPECT_EQ(heard, lines{"0 7"});
    expect_nothing_left();
}

TEST_F(WithTimeout, MovesWhatCanOnlyBeMoved) {
    const auto make = [&](nanoseconds length, std::stop_token stop) -> lazy<std::unique_ptr<farewell>> {
        co_await rt.sleep_for(length, stop);
        co_return std::make_unique<farewell>(gone);
    };
    std::unique_ptr<farewell> kept;
    const auto fetch = [&](nanoseconds limit) -> job {
        auto result = co_await rt.with_timeout(limit, [&](std::stop_token stop) { return make(50ms, stop); });
        if (result)
            kept = *std::move(result);
    };
    const job in_time = fetch(60ms);
    rt.advance(1s);
    EXPECT_TRUE(kept);
    EXPECT_EQ(gone, 0);
    const job late = fetch(40ms);
    rt.advance(1s);
    EXPECT_EQ(gone, 1);  // what came late was destroyed
}

// A lambda that is a coroutine: its captures must live as long as it runs.
TEST_F(WithTimeout, KeepsTheCallableWhileTheWorkGoesOn) {
    std::string seen;
    const auto ask_lambda = [&]() -> job {
        // With a name: see with_timeout.hpp on g++ 12.
        auto work = [this, &seen, text = std::string(100, 'x')](std::stop_token stop) -> lazy<void> {
            co_await rt.sleep_for(10ms, stop);
            seen = text;
        };
        co_await rt.with_timeout(1s, std::move(work));
    };
    const job j = ask_lambda();
    rt.advance(1s);
    EXPECT_EQ(seen, std::string(100, 'x'));
}

// --- exceptions

TEST_F(WithTimeout, PassesOnWhatTheWorkThrows) {
    const job j = ask_failing(100ms, 50ms, std::errc::connection_refused);
    rt.advance(1s);
    EXPECT_EQ(j.error(), std::errc::connection_refused);
    EXPECT_EQ(gone, 1);
    expect_nothing_left();
}

TEST_F(WithTimeout, PassesItOnWhenTimeIsUpToo) {
    const job j = ask_failing(50ms, 100ms, std::errc::connection_refused);
    rt.advance(1s);
    EXPECT_EQ(j.error(), std::errc::connection_refused);
    expect_nothing_left();
}

TEST_F(WithTimeout, TakesACancellationForTheEndOfStoppedWork) {
    const job j = ask_failing(50ms, 100ms, std::errc::operation_canceled);
    rt.advance(1s);
    EXPECT_EQ(j.error(), std::error_code());
    EXPECT_EQ(heard, lines{"50 time is up"});
}

TEST_F(WithTimeout, PassesOnACancellationThatItHasNotAskedFor) {
    const job j = ask_failing(100ms, 50ms, std::errc::operation_canceled);
    rt.advance(1s);
    EXPECT_EQ(j.error(), std::errc::operation_canceled);
}

TEST_F(WithTimeout, ThrowsWhatTheCallableThrows) {
    const auto ask_throwing_call = [&]() -> job {
        co_await rt.with_timeout(1s, [this](std::stop_token stop) {
            if (rt.now() == runtime::time_point())
                throw std::system_error(std::make_error_code(std::errc::broken_pipe));
            return rt.sleep_for(1s, stop);
        });
    };
    const job j = ask_throwing_call();
    EXPECT_EQ(j.error(), std::errc::broken_pipe);
    expect_nothing_left();
}

TEST_F(WithTimeout, RefusesATimeThatIsNone) {
    const auto work = [](std::stop_token) { return ready<int>{7}; };
    EXPECT_EQ(error_of([&] { static_cast<void>(rt.with_timeout(-1ns, work)); }), std::errc::invalid_argument);
}

TEST_F(WithTimeout, StopsTheWorkAndThrowsIfThereIsNoRuntime) {
    auto other = std::make_optional<virtual_runtime>();
    auto work = [this](std::stop_token stop) { return answer(1h, stop); };
    auto timed = other->with_timeout(1s, work);
    other.reset();
    const auto await = [](auto &what) -> job { co_await what; };
    const job j = await(timed);
    EXPECT_TRUE(j.done());
    EXPECT_EQ(j.error(), std::errc::invalid_argument);
    EXPECT_EQ(heard, lines{"0 stopped"});
}

// --- stopping from outside, and nesting

TEST_F(WithTimeout, BeginsStoppedWorkIfTheStopWasThereBefore) {
    std::stop_source source;
    source.request_stop();
    const job j = ask(100ms, 1h, source.get_token());
    EXPECT_EQ(heard, (lines{"0 stopped", "0 42"}));
    expect_nothing_left();
}

TEST_F(WithTimeout, MayStandInsideAnother) {
    const auto nested = [&](nanoseconds outer, nanoseconds inner, nanoseconds length) -> job {
        const auto result = co_await rt.with_timeout(outer, [&](std::stop_token stop) {
            return rt.with_timeout(
                inner, [&](std::stop_token innermost) { return answer(length, innermost); }, stop);
        });
        hear(!result ? "outer" : !*result ? "inner" : "in time");
    };
    const job a = nested(10ms, 20ms, 30ms), b = nested(50ms, 40ms, 60ms), c = nested(90ms, 80ms, 70ms);
    const job tie = nested(100ms, 100ms, 200ms);
    rt.advance(1s);
    EXPECT_EQ(heard, (lines{"10 stopped", "10 outer", "40 stopped", "40 inner", "70 worked", "70 in time",
                            "100 stopped", "100 outer"}));
    EXPECT_EQ(gone, 4);
    expect_nothing_left();
}

// --- awaitables that resume inside request_stop

TEST_F(WithTimeout, MayEndInsideTheDeadlinesCallback) {
    parcel p;
    const auto receive = [&]() -> job {
        const farewell local(gone);
        const auto result =
            co_await rt.with_timeout(10ms, [&](std::stop_token stop) { return p.receive(stop); });
        hear(result ? "received" : "time is up");
    };
    const job j = receive();
    rt.advance(1s);
    EXPECT_EQ(heard, lines{"10 time is up"});
    EXPECT_FALSE(p.bring(1));
    EXPECT_EQ(gone, 1);
}

TEST_F(WithTimeout, MayEndWhereTheWorkEnds) {
    parcel p;
    const auto receive = [&]() -> job {
        const auto result =
            co_await rt.with_timeout(10ms, [&](std::stop_token stop) { return p.receive(stop); });
        hear(result && *result ? std::to_string(**result) : "nothing");
    };
    const job j = receive();
    rt.advance(9ms);
    EXPECT_TRUE(p.bring(5));
    EXPECT_EQ(heard, lines{"9 5"});
    expect_nothing_left();
}

TEST_F(WithTimeout, MayBeTheLastThingAFrameDoes) {
    auto p = std::make_unique<parcel>();
    const auto receive = [](virtual_runtime &on, parcel &from, int &ended) -> detached {
        const farewell local(ended);
        co_await on.with_timeout(10ms, [&](std::stop_token stop) { return from.receive(stop); });
    };
    receive(rt, *p, gone);
    rt.advance(10ms);
    EXPECT_EQ(gone, 1);
}

// --- destruction

TEST_F(WithTimeout, IsOverWhenItIsDestroyedAfterTheDeadline) {
    std::optional<job> other;
    const auto destroy_other = [](virtual_runtime &on, std::optional<job> &victim) -> job {
        co_await on.sleep_for(10ms);
        victim.reset();
    };
    other.emplace(ask(10ms, 1h));
    const job killer = destroy_other(rt, other);  // at the same tick, before the work hears of the stop
    rt.advance(2h);
    EXPECT_EQ(gone, 2);
    EXPECT_TRUE(heard.empty());
    expect_nothing_left();
}

TEST_F(WithTimeout, ThatIsNeverAwaitedIsNothing) {
    {
        [[maybe_unused]] auto timed =
            rt.with_timeout(1s, [&](std::stop_token stop) { return answer(1s, stop); });
    }
    expect_nothing_left();
    EXPECT_EQ(gone, 0);  // a lazy coroutine had not begun
}

TEST(WithTimeoutLifetime, ACoroutineMayOutliveTheRuntime) {
    parcel p;
    std::optional<int> got;
    auto rt = std::make_optional<virtual_runtime>();
    const auto receive = [&](virtual_runtime &on) -> job {
        const auto result =
            co_await on.with_timeout(1s, [&](std::stop_token stop) { return p.receive(stop); });
        if (result)
            got = *result;
    };
    const job j = receive(*rt);
    rt.reset();
    EXPECT_TRUE(p.bring(3));
    EXPECT_TRUE(j.done());
    EXPECT_EQ(got, 3);
}

// On a pool, the deadline comes on a worker.
TEST(WithTimeoutOnWorkers, IsStoppedThere) {
    virtual_runtime rt;
    tickwheel::workers pool(rt, {.threads = 1});
    gate over;
    std::optional<bool> done;
    std::thread::id where;
    const auto sleep = [&]() -> job {
        const auto slept =
            co_await pool.with_timeout(10ms, [&](std::stop_token stop) { return pool.sleep_for(1h, stop); });
        done = slept.has_value();
        where = thread_here();
        over.open();
    };
    const job j = sleep();
    rt.advance(10ms);
    pool.wait();
    rt.advance(0s);  // the stopped sleep
    ASSERT_TRUE(over.wait());
    pool.wait();
    EXPECT_EQ(done, false);
    EXPECT_NE(where, std::this_thread::get_id());
}

}  // namespace

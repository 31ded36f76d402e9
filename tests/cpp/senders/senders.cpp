// The scheduler for senders, on virtual time, in one thread.
#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "../support.hpp"
#include "receivers.hpp"

namespace {

using std::chrono::nanoseconds;
using tickwheel::runtime;
using tickwheel::scheduler;
using tickwheel::virtual_runtime;
using timer_sender = scheduler<std::chrono::steady_clock>::sender;

static_assert(stdexec::scheduler<scheduler<std::chrono::steady_clock>>);
static_assert(exec::timed_scheduler<scheduler<std::chrono::steady_clock>>);
static_assert(exec::timed_scheduler<scheduler<std::chrono::system_clock>>);
static_assert(exec::timed_scheduler<scheduler<tickwheel::boot_clock>>);
static_assert(std::is_trivially_copyable_v<scheduler<std::chrono::steady_clock>>);
static_assert(stdexec::sender<timer_sender>);

class Senders : public testing::Test {
  protected:
    virtual_runtime rt;
    scheduler<std::chrono::steady_clock> timers{rt};
    stdexec::inplace_stop_source stop;
    std::vector<std::string> heard;
    using lines = std::vector<std::string>;

    void hear(const std::string &what) {
        const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(rt.now().time_since_epoch());
        heard.push_back(std::to_string(ms.count()) + " " + what);
    }

    using receiver = ends<std::function<void(bool)>>;
    using any_operation = operation<timer_sender, receiver>;

    // Starts an operation, which the result owns and which reports its completion.
    std::unique_ptr<any_operation> begin(timer_sender from, const std::string &name,
                                         std::function<void()> then = {}) {
        auto begun = connect(std::move(from), name, std::move(then));
        begun->start();
        return begun;
    }
    std::unique_ptr<any_operation> connect(timer_sender from, const std::string &name,
                                           std::function<void()> then = {}) {
        const auto on_end = [this, name, then](bool stopped) {
            hear(name + (stopped ? " stopped" : ""));
            if (then)
                then();
        };
        return std::make_unique<any_operation>(std::move(from), receiver{on_end, stop.get_token()});
    }
    std::size_t pending() const { return tw_runtime_count(rt.native()); }
};

// --- time

TEST_F(Senders, CompleteAfterTheirDelayAndNotBefore) {
    const auto a = begin(timers.schedule_after(50ms), "a");
    rt.advance(50ms - 1ns);
    EXPECT_EQ(heard, lines{});
    rt.advance(1ns);
    EXPECT_EQ(heard, lines{"50 a"});
    EXPECT_EQ(pending(), 0U);
}

TEST_F(Senders, CountTheirDelayFromTheStart) {
    const auto sender = timers.schedule_after(50ms);
    rt.advance(10ms);
    const auto a = connect(sender, "a");
    rt.advance(10ms);
    a->start();
    rt.advance(1s);
    EXPECT_EQ(heard, lines{"70 a"});
}

TEST_F(Senders, CompleteAtAMoment) {
    const auto a = begin(timers.schedule_at(timers.now() + 50ms), "a");
    rt.advance(1s);
    EXPECT_EQ(heard, lines{"50 a"});
}

TEST_F(Senders, CompleteInTheOrderOfDeadlinesAndThenOfStarts) {
    const std::array all = {begin(timers.schedule_after(3ms), "a"), begin(timers.schedule_after(2ms), "b"),
                            begin(timers.schedule_at(timers.now() + 3ms), "c"),
                            begin(timers.schedule(), "d")};
    rt.advance(1s);
    EXPECT_EQ(heard, (lines{"0 d", "2 b", "3 a", "3 c"}));
}

TEST_F(Senders, AreNeverCompleteInsideStart) {
    rt.advance(1s);
    const std::array all = {begin(timers.schedule(), "a"), begin(timers.schedule_after(-1s), "b"),
                            begin(timers.schedule_at(timers.now() - 10s), "c")};
    EXPECT_EQ(heard, lines{});
    rt.advance(0s);
    EXPECT_EQ(heard, (lines{"1000 a", "1000 b", "1000 c"}));
}

TEST_F(Senders, TakeDurationsOfAnyKindAndRoundThemUp) {
    const std::array all = {begin(timers.schedule_after(std::chrono::duration<double>(0.0101)), "a"),
                            begin(timers.schedule_after(1us), "b"),
                            begin(timers.schedule_after(std::chrono::hours::max()), "never")};
    rt.advance(24h);
    EXPECT_EQ(heard, (lines{"1 b", "11 a"}));
    EXPECT_EQ(error_of([&] { static_cast<void>(timers.schedule_after(std::chrono::duration<double>(NAN))); }),
              std::errc::invalid_argument);
    stop.request_stop();
    EXPECT_EQ(heard.back(), "86400000 never stopped");
}

TEST(SendersOnTheWallClock, FollowItWithDeadlinesAndNotWithDelays) {
    tickwheel::virtual_wall_runtime rt;
    scheduler timers(rt);
    std::string heard;
    const auto at = [&](char name) {
        return ends{std::function<void(bool)>([&heard, name](bool) { heard += name; })};
    };
    using timed = operation<decltype(timers.schedule()), decltype(at('a'))>;
    timed deadline(timers.schedule_at(timers.now() + 1h), at('a'));
    timed delay(timers.schedule_after(2s), at('b'));
    deadline.start();
    delay.start();
    rt.set_wall(timers.now() + 1h);
    rt.advance(1s);
    EXPECT_EQ(heard, "a");
    rt.advance(1s);
    EXPECT_EQ(heard, "ab");
}

// --- stopping

TEST_F(Senders, CompleteInsideTheRequestThatStopsThem) {
    const auto a = begin(timers.schedule_after(1h), "a"),
               b = begin(timers.schedule_at(timers.now() + 1h), "b");
    rt.advance(10ms);
    stop.request_stop();
    EXPECT_EQ(heard.size(), 2U);
    EXPECT_EQ(pending(), 0U);
    rt.advance(2h);
    EXPECT_EQ(heard.size(), 2U);
}

TEST_F(Senders, CompleteInsideStartIfTheStopCameBefore) {
    stop.request_stop();
    const std::array all = {begin(timers.schedule_after(1h), "a"), begin(timers.schedule(), "b")};
    EXPECT_EQ(heard, (lines{"0 a stopped", "0 b stopped"}));
    EXPECT_EQ(pending(), 0U);
}

TEST_F(Senders, AreDeafToAStopThatComesAfterTheirDeadline) {
    const auto a = begin(timers.schedule_after(1ms), "a", [this] { stop.request_stop(); });
    rt.advance(1ms);
    EXPECT_EQ(heard, lines{"1 a"});
}

TEST_F(Senders, AreStoppedByTheCompletionOfAnotherThatIsDueAtTheSameTick) {
    const auto a = begin(timers.schedule_after(1ms), "a", [this] { stop.request_stop(); });
    const auto b = begin(timers.schedule_after(1ms), "b"), c = begin(timers.schedule_after(1ms), "c");
    rt.advance(1ms);
    ASSERT_EQ(heard.size(), 3U);
    EXPECT_EQ(heard[0], "1 a");
    EXPECT_TRUE(heard[1] == "1 b stopped" || heard[1] == "1 c stopped");
    EXPECT_TRUE(heard[2] == "1 b stopped" || heard[2] == "1 c stopped");
}

TEST_F(Senders, MayHaveAReceiverThatNeverStops) {
    int completed = 0;
    const auto count = [&](bool stopped) { completed += stopped ? 100 : 1; };
    operation a(timers.schedule_after(1ms), ends<decltype(count), stdexec::never_stop_token>{count});
    operation b(timers.schedule_after(1ms), ends{count});  // a token without a source
    a.start();
    b.start();
    rt.advance(1ms);
    EXPECT_EQ(completed, 2);
}

TEST_F(Senders, MayBeDestroyedInsideTheirCompletion) {
    std::unique_ptr<any_operation> a, b, c;
    a = begin(timers.schedule_after(1ms), "a", [&] { a.reset(); });
    b = begin(timers.schedule_after(1h), "b", [&] { b.reset(); });
    rt.advance(1ms);
    EXPECT_FALSE(a);
    stop.request_stop();
    EXPECT_FALSE(b);
    c = connect(timers.schedule_after(1h), "c", [&] { c.reset(); });
    c->start();
    EXPECT_FALSE(c);
    EXPECT_EQ(heard, (lines{"1 a", "1 b stopped", "1 c stopped"}));
}

TEST_F(Senders, LetGoOfTheStopTokenBeforeTheyComplete) {
    auto ending = std::make_optional<virtual_runtime>();
    scheduler on(*ending);
    auto source_of_a = std::make_unique<stdexec::inplace_stop_source>();
    auto source_of_b = std::make_unique<stdexec::inplace_stop_source>();
    any_operation a(on.schedule_after(1ms), {[&](bool) { source_of_a.reset(); }, source_of_a->get_token()});
    any_operation b(on.schedule_after(1h), {[&](bool) { source_of_b.reset(); }, source_of_b->get_token()});
    a.start();
    b.start();
    ending->advance(1ms);
    ending.reset();
    EXPECT_FALSE(source_of_a || source_of_b);
}

TEST_F(Senders, MayBeConnectedAndNeverStarted) {
    const auto a = connect(timers.schedule_after(1ms), "a");
    rt.advance(1s);
    EXPECT_EQ(heard, lines{});
}

// --- what happens during start(), by a driver whose `wake` is called inside start(), when the timer is armed

std::function<void()> in_wake;

class SendersDuringStart : public Senders {
  protected:
    static tw_driver waking() {
        tw_driver driver = *tw_driver_named("timerfd");
        driver.wake = [](void *state) {
            tw_driver_named("timerfd")->wake(state);
            if (const auto call = std::exchange(in_wake, nullptr))
                call();
        };
        return driver;
    }
    const tw_driver driver = waking();
    runtime watched{{.own_driver = &driver, .start = false}};
    scheduler<std::chrono::steady_clock> watched_timers{watched};

    void SetUp() override { ASSERT_GE(tw_runtime_fd(watched.native()), 0); }
    void TearDown() override { in_wake = nullptr; }
    void dispatch() { EXPECT_EQ(tw_runtime_dispatch(watched.native()), 0); }
    std::size_t watched_pending() const { return tw_runtime_count(watched.native()); }
};

TEST_F(SendersDuringStart, AStopCompletesTheOperationInsideStart) {
    in_wake = [&] {
        stop.request_stop();
        EXPECT_EQ(heard, lines{});  // start() still uses the operation
    };
    std::unique_ptr<any_operation> a = connect(watched_timers.schedule_after(1h), "a", [&] { a.reset(); });
    a->start();
    EXPECT_FALSE(in_wake);
    EXPECT_EQ(heard, lines{"0 a stopped"});
    EXPECT_EQ(watched_pending(), 0U);
}

TEST_F(SendersDuringStart, AnEarlierStopSparesTheTimer) {
    stop.request_stop();
    in_wake = [] {};
    const auto a = begin(watched_timers.schedule_after(1h), "a");
    EXPECT_TRUE(in_wake);
    EXPECT_EQ(heard, lines{"0 a stopped"});
}

TEST_F(SendersDuringStart, TheDeadlineDoesNotCompleteTheOperationOnTheStartingThread) {
    in_wake = [&] {
        dispatch();
        EXPECT_EQ(watched_pending(), 0U);  // it has fired
    };
    std::unique_ptr<any_operation> a = connect(watched_timers.schedule(), "a", [&] { a.reset(); });
    a->start();
    EXPECT_FALSE(in_wake);
    EXPECT_EQ(heard, lines{});
    dispatch();
    EXPECT_EQ(heard, lines{"0 a"});
    stop.request_stop();
    EXPECT_EQ(heard, lines{"0 a"});
}

TEST_F(SendersDuringStart, AStopStillEndsTheOperationAfterItsDeadlineHasPassedThere) {
    in_wake = [&] { dispatch(); };
    const auto a = begin(watched_timers.schedule(), "a");
    stop.request_stop();
    EXPECT_EQ(heard, lines{"0 a stopped"});
    EXPECT_EQ(watched_pending(), 0U);
}

TEST_F(SendersDuringStart, ADeadlineAndAStopCompleteTheOperationOnce) {
    in_wake = [&] {
        dispatch();
        stop.request_stop();
    };
    std::unique_ptr<any_operation> a = connect(watched_timers.schedule(), "a", [&] { a.reset(); });
    a->start();
    EXPECT_FALSE(in_wake);
    EXPECT_EQ(heard, lines{"0 a stopped"});
    dispatch();
    EXPECT_EQ(heard.size(), 1U);
}

// --- runtimes that stop or end

TEST_F(Senders, AreCompletedByTheDestructorOfTheirRuntime) {
    auto ending = std::make_optional<virtual_runtime>();
    scheduler on(*ending);
    std::unique_ptr<any_operation> again;
    const auto a = begin(on.schedule_after(1ms), "a"),
               b = begin(on.schedule_after(1h), "b", [&] { again = begin(on.schedule_after(1ms), "again"); });
    tickwheel::pinned_timer other(*ending, [&] { hear("other"); });
    other.after(1ms);
    auto nap = ending->sleep_for(1ms);
    ASSERT_TRUE(nap.await_suspend(std::noop_coroutine()));

    ending.reset();
    EXPECT_EQ(heard, (lines{"0 a stopped", "0 b stopped", "0 again stopped"}));
}

TEST_F(Senders, AreStoppedIfTheyAreStartedWhileTheirRuntimeIsFreed) {
    auto ending = std::make_optional<virtual_runtime>();
    scheduler on(*ending);
    const auto a = connect(on.schedule_after(1ms), "a");
    std::shared_ptr<int> starts_a(nullptr, [&](int *) { a->start(); });
    ending->spawn(1h, [kept = std::move(starts_a)] {});
    EXPECT_EQ(heard, lines{});
    ending.reset();  // destroys the callable
    EXPECT_EQ(heard, lines{"0 a stopped"});
}

TEST_F(Senders, WaitWhileTheRuntimeIsStoppedUnlessTheyAreStoppedThemselves) {
    runtime stopped{{.start = false}};
    scheduler on(stopped);
    const auto a = begin(on.schedule(), "a");
    stop.request_stop();
    EXPECT_EQ(heard, lines{"0 a stopped"});
}

// --- schedulers

TEST_F(Senders, KnowTheirScheduler) {
    virtual_runtime other;
    EXPECT_EQ(timers, scheduler(rt));
    EXPECT_NE(timers, scheduler(other));
    const auto sender = exec::schedule_after(timers, 1ms);
    EXPECT_EQ(stdexec::get_completion_scheduler<stdexec::set_value_t>(stdexec::get_env(sender)), timers);
    rt.advance(5ms);
    EXPECT_EQ(exec::now(timers), rt.now());
}

// --- algorithms

// Calls `end` with the result, or with nothing if the sender was stopped.
template <class F> struct result_to {
    using receiver_concept = stdexec::receiver_tag;
    F end;
    stdexec::inplace_stop_token token;
    void set_value(std::string value) noexcept { end(value); }
    void set_error(std::exception_ptr error) noexcept {
        try {
            std::rethrow_exception(error);
        } catch (const std::exception &e) {
            end(std::string("error: ") + e.what());
        }
    }
    void set_stopped() noexcept { end("stopped"); }
    auto get_env() const noexcept { return stdexec::prop{stdexec::get_stop_token, token}; }
};

class SendersInAlgorithms : public Senders {
  protected:
    template <class Sender> auto connect_any(Sender from) {
        const auto end = [this](const std::string &value) { hear(value); };
        return std::make_unique<operation<Sender, result_to<decltype(end)>>>(
            std::move(from), result_to<decltype(end)>{end, stop.get_token()});
    }
    auto answer(nanoseconds delay, const std::string &value) {
        return timers.schedule_after(delay) | stdexec::then([value] { return value; });
    }
};

TEST_F(SendersInAlgorithms, AreTimeoutsOfOtherWork) {
    const auto in_time = connect_any(exec::when_any(answer(10ms, "reply"), answer(1s, "late")));
    const auto late = connect_any(exec::when_any(answer(10s, "reply"), answer(1s, "late")));
    in_time->start();
    late->start();
    rt.advance(10ms);
    EXPECT_EQ(heard, lines{"10 reply"});
    EXPECT_EQ(pending(), 2U);  // those of `late`
    rt.advance(990ms);
    EXPECT_EQ(heard, (lines{"10 reply", "1000 late"}));
    EXPECT_EQ(pending(), 0U);
}

TEST_F(SendersInAlgorithms, PassStopsOnFromOutside) {
    const auto both = connect_any(exec::when_any(answer(10ms, "reply"), answer(1s, "late")));
    both->start();
    stop.request_stop();
    EXPECT_EQ(heard, lines{"0 stopped"});
    EXPECT_EQ(pending(), 0U);
}

TEST_F(SendersInAlgorithms, FollowOneAnother) {
    const auto chain = connect_any(
        timers.schedule_after(10ms) | stdexec::let_value([this] { return answer(20ms, "first"); }) |
        stdexec::let_value([this](const std::string &value) { return answer(30ms, value + ", second"); }));
    chain->start();
    rt.advance(1s);
    EXPECT_EQ(heard, lines{"60 first, second"});
}

TEST_F(SendersInAlgorithms, PassExceptionsOn) {
    const auto failing = connect_any(timers.schedule_after(10ms) | stdexec::then([]() -> std::string {
                                         throw std::runtime_error("no answer");
                                     }));
    failing->start();
    rt.advance(1s);
    EXPECT_EQ(heard, lines{"10 error: no answer"});
}

}  // namespace

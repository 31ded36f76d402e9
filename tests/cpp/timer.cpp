// Timers with and without an owner, pinned timers, schedules, and exceptions from callbacks: on virtual time,
// where every instant is exact. These tests are about the C++ interface; tests/timers covers the timers
// beneath.
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <tickwheel/observe.h>

#include "support.hpp"

namespace {

using tickwheel::missed;
using tickwheel::pinned_timer;
using tickwheel::timer;
using tickwheel::virtual_runtime;
using event = virtual_runtime::event;
using time_point = virtual_runtime::time_point;
using moment = std::optional<time_point>;
using times = std::vector<std::chrono::nanoseconds>;
using words = std::vector<std::string>;

class Timer : public testing::Test {
  protected:
    words heard;  // texts of the exceptions that callbacks have thrown
    virtual_runtime rt{{.on_exception = [this](const std::exception_ptr &thrown) { hear(thrown); }}};
    int fired = 0;
    times at;  // of the fires

    void hear(const std::exception_ptr &thrown) {
        try {
            std::rethrow_exception(thrown);
        } catch (const std::exception &e) {
            heard.emplace_back(e.what());
        }
    }
    void fire() {
        ++fired;
        at.push_back(rt.now().time_since_epoch());
    }
    auto firing() {
        return [this] { fire(); };
    }
};
class PinnedTimer : public Timer {};
class Schedule : public Timer {};
class Exceptions : public Timer {};

TEST_F(Timer, FiresOnceAfterItsDelayOrWhenTheClockReadsSo) {
    const timer after = rt.after(5s, firing());
    const timer by_clock = rt.at(rt.now() + 3s, firing());
    rt.advance(2s);
    const timer past = rt.at(time_point::min(), firing());
    rt.advance(2999ms);
    EXPECT_EQ(at, (times{2s, 3s}));
    rt.advance(1h);
    EXPECT_EQ(at, (times{2s, 3s, 5s}));
    EXPECT_FALSE(after.pending() || by_clock.pending() || past.pending());
}

TEST_F(Timer, EveryTakesItsFirstFireAndTheirNumber) {
    rt.advance(1s);
    const timer plain = rt.every(2s, firing(), {.fires = 3});
    const timer soon = rt.every(100s, firing(), {.first = 0s});
    const timer from = rt.every_from(rt.now() + 10s, 5s, firing(), {.fires = 2});
    const timer past = rt.every_from(time_point::min(), 100s, firing());
    rt.advance(30s);
    EXPECT_EQ(at, (times{1s, 1s, 3s, 5s, 7s, 11s, 16s}));
    EXPECT_TRUE(soon.pending() && past.pending());
    EXPECT_FALSE(plain.pending() || from.pending());
}

TEST_F(Timer, MissedFiresAreMadeUpForOrLeftOutAndTold) {
    std::vector<event> seen;
    const auto note = [&](const event &e) { seen.push_back(e); };
    const timer burst = rt.every(1s, firing(), {.missed = missed::burst});
    const timer skip = rt.every(1s, note, {.missed = missed::coalesce});
    const timer delay = rt.every(1s, [] {}, {.missed = missed::delay});
    rt.leap(4500ms);
    EXPECT_EQ(fired, 4);
    EXPECT_EQ(skip.remaining(), 500ms);
    EXPECT_EQ(delay.remaining(), 1s);
    ASSERT_EQ(seen.size(), 1U);
    EXPECT_EQ(seen[0].due.time_since_epoch(), 1s);
    EXPECT_EQ(seen[0].overruns, 3U);
}

TEST_F(Timer, SlackLetsTimersShareATick) {
    const timer one = rt.after(1100ms, firing(), {.slack = 1s});
    const timer other = rt.after(1300ms, firing(), {.slack = 1s});
    rt.advance(3s);
    ASSERT_EQ(at.size(), 2U);
    EXPECT_EQ(at[0], at[1]);
    EXPECT_GE(at[0], 1300ms);
    EXPECT_LE(at[0], 2100ms);
}

TEST_F(Timer, SlackIsOfTheFirstFireOfAPeriodicTimer) {
    const timer every = rt.every(1100ms, firing(), {.fires = 1, .slack = 1s});
    const timer from = rt.every_from(rt.now() + 1300ms, 1s, firing(), {.fires = 1, .slack = 1s});
    rt.advance(3s);
    ASSERT_EQ(at.size(), 2U);
    EXPECT_EQ(at[0], at[1]);
    EXPECT_GE(at[0], 1300ms);
    EXPECT_LE(at[0], 2100ms);
}

TEST_F(Timer, CountsForItsLabel) {
    tw_label_counts counts[3];
    const timer once = rt.after(1s, firing(), {.label = "kind"});
    const timer often = rt.every(1s, firing(), {.label = "kind"});
    rt.spawn(1s, firing(), {.label = "kind"});
    pinned_timer pinned{rt, firing()};
    pinned.label("pinned");
    pinned.after(1s);
    EXPECT_THROW(pinned.label("other"), std::system_error);
    rt.advance(2s);
    ASSERT_EQ(tw_runtime_labels(rt.native(), counts, 3), 3);
    EXPECT_STREQ(counts[1].label, "kind");
    EXPECT_EQ(counts[1].fires, 4U);
    EXPECT_STREQ(counts[2].label, "pinned");
    EXPECT_EQ(counts[2].fires, 1U);
}

TEST_F(Timer, CancelSaysWhetherItPreventedAFire) {
    timer t = rt.after(5s, firing()), other = rt.after(5s, firing()), late = rt.after(1s, [] {});
    EXPECT_TRUE(t.cancel());
    EXPECT_FALSE(t.cancel());
    EXPECT_TRUE(other.cancel_wait());
    EXPECT_FALSE(other.cancel_wait());
    rt.advance(10s);
    EXPECT_FALSE(late.cancel());
    EXPECT_EQ(fired, 0);
}

TEST_F(Timer, CancelAllDropsEveryCallableAndSaysHowManyHadStillToFire) {
    const auto alive = std::make_shared<int>(0);
    const timer owned = rt.after(1s, [alive] { ++*alive; });
    rt.spawn(2s, [alive] { ++*alive; });
    const timer periodic = rt.every(1s, [alive] { ++*alive; });
    EXPECT_EQ(rt.cancel_all(), 3U);
    EXPECT_EQ(alive.use_count(), 1);
    EXPECT_FALSE(owned.pending() || periodic.pending());
    EXPECT_EQ(rt.cancel_all(), 0U);
    rt.advance(10s);
    EXPECT_EQ(*alive, 0);
}

TEST_F(Timer, IsMovedAndStartedAgain) {
    timer t = rt.after(5s, firing());
    EXPECT_TRUE(t.move(8s));
    EXPECT_EQ(t.remaining(), 8s);
    EXPECT_TRUE(t.move(std::chrono::duration<double>(1.5)));
    EXPECT_TRUE(t.pending());
    rt.advance(1s);
    EXPECT_TRUE(t.again());
    EXPECT_EQ(t.remaining(), 5s);
    rt.advance(10s);
    EXPECT_EQ(at, times{6s});
    EXPECT_FALSE(t.pending() || t.move(1s) || t.again());
    EXPECT_EQ(t.remaining(), std::nullopt);
}

TEST_F(Timer, ThatIsNoneDoesNothing) {
    timer none;
    EXPECT_FALSE(none.cancel() || none.cancel_wait() || none.pending());
    EXPECT_FALSE(none.move(1s) || none.again());
    none.detach();
    EXPECT_EQ(error_of([&] { none.move(-1s); }), std::errc::invalid_argument);
}

TEST_F(Timer, MovingPassesItOn) {
    timer one = rt.after(1s, firing());
    timer other = std::move(one);
    EXPECT_FALSE(one.pending());
    EXPECT_TRUE(other.pending());
    other = rt.after(2s, firing());  // the previous one is cancelled
    auto &self = other;
    other = std::move(self);
    rt.advance(10s);
    EXPECT_EQ(at, times{2s});
}

TEST_F(Timer, MayBeReplacedAndCancelledInItsOwnCallback) {
    timer t;
    t = rt.after(1s, [&] {
        fire();
        t = rt.every(1s, [&] {
            fire();
            EXPECT_TRUE(t.cancel());
        });
    });
    rt.advance(10s);
    EXPECT_EQ(at, (times{1s, 2s}));
}

TEST_F(Timer, DestructionCancelsItUnlessItIsNobodys) {
    int gone = 0;
    {
        const timer t = rt.after(5s, [this, end = farewell(gone)] { fire(); });
        EXPECT_EQ(gone, 0);
    }
    EXPECT_EQ(gone, 1);
    EXPECT_EQ(rt.count(), 0U);
    rt.spawn(1s, [this, end = farewell(gone)] { fire(); });
    rt.every(1s, firing(), {.fires = 2}).detach();
    EXPECT_EQ(rt.count(), 2U);
    rt.advance(10s);
    EXPECT_EQ(at, (times{1s, 1s, 2s}));
    EXPECT_EQ(gone, 2);
    EXPECT_EQ(rt.count(), 0U);
}

// --- callables

TEST_F(Timer, CallsWhatIsInvokable) {
    struct counter {
        int seen = 0;
        void hear(const event &) { ++seen; }
        void tick() { ++seen; }
    } counter;
    struct both {
        int *told, *silent;
        void operator()(const event &) const { ++*told; }
        void operator()() const { ++*silent; }
    };
    int silent = 0;
    rt.spawn(1s, std::bind_front(&counter::hear, &counter));
    rt.spawn(1s, tickwheel::calls<&counter::tick>{&counter});
    rt.spawn(1s, std::function<void()>([&] { ++counter.seen; }));
    rt.spawn(1s, [&](auto &&...e) { counter.seen += static_cast<int>(sizeof...(e)); });
    rt.spawn(1s, [n = 5, &counter]() mutable { counter.seen += ++n; });
    rt.spawn(1s, both{&counter.seen, &silent});
    rt.advance(1s);
    EXPECT_EQ(counter.seen, 5 + 6);
    EXPECT_EQ(silent, 0);
}

// Other members of a callable do not matter: only `schedule` makes schedules.
TEST_F(Timer, TakesACallableWithAnyMembers) {
    struct counts {
        int *fired;
        static std::int64_t next_deadline(std::int64_t due, void *) { return due + 1; }
        void operator()() const { ++*fired; }
    };
    struct holds {
        int *fired;
        int next_deadline = 0;
        void operator()() const { ++*fired; }
    };
    rt.spawn(1s, counts{&fired});
    rt.spawn(1s, holds{&fired});
    rt.leap(10s);
    EXPECT_EQ(fired, 2);
    EXPECT_EQ(rt.count(), 0U);
}

TEST_F(Timer, KeepsCallablesOfAnySizeAndAlignment) {
    struct alignas(16) wide {
        std::array<std::byte, 200> bytes{};
        int *fired;
        void operator()() const {
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(this) % 16, 0U);
            ++*fired;
        }
    };
    wide w;
    w.fired = &fired;
    const timer t = rt.after(1s, w);
    std::array<std::byte, tickwheel::inline_size - sizeof(void *)> fits{};
    auto fitting = [this, fits] { fired += fits.size() > 0; };
    auto one_byte_more = [this, fits, more = 'm'] { fired += (fits.size() > 0) + (more == 'm'); };
    static_assert(tickwheel::detail::is_inline<decltype(fitting)>);
    static_assert(!tickwheel::detail::is_inline<decltype(one_byte_more)>);
    const timer just = rt.after(1s, fitting);
    const timer over = rt.after(1s, one_byte_more);
    rt.advance(1s);
    EXPECT_EQ(fired, 4);
}

// A callable whose copies throw on demand. Its move may throw, too, so a timer cannot store it inline.
struct fragile {
    std::shared_ptr<int> alive = std::make_shared<int>(0);
    bool *throws;
    explicit fragile(bool &when) : throws(&when) {}
    fragile(const fragile &from) : alive(from.alive), throws(from.throws) {
        if (*throws)
            throw std::runtime_error("not copied");
    }
    void operator()() const { ++*alive; }
};

TEST_F(Timer, ACallableWhoseCopyThrowsLeavesNothingBehind) {
    bool throws = false;
    const fragile f(throws);
    static_assert(!tickwheel::detail::is_inline<fragile>);
    throws = true;
    EXPECT_THROW(rt.spawn(1s, f), std::runtime_error);
    EXPECT_THROW(static_cast<void>(rt.every(1s, std::cref(f).get())), std::runtime_error);
    EXPECT_EQ(f.alive.use_count(), 1);
    EXPECT_EQ(rt.count(), 0U);
    throws = false;
    rt.spawn(1s, f);
    throws = true;  // the timer has stored its copy
    rt.advance(1s);
    EXPECT_EQ(*f.alive, 1);
    EXPECT_EQ(f.alive.use_count(), 1);
}

TEST_F(Timer, ARefusedOneDropsItsCallable) {
    int gone = 0;
    EXPECT_EQ(error_of([&] { rt.spawn(-1s, [end = farewell(gone)] {}); }), std::errc::invalid_argument);
    const auto never = [&] { rt.every(1s, [end = farewell(gone)] {}, {.fires = TW_FIRES_MAX + 1}).detach(); };
    EXPECT_EQ(error_of(never), std::errc::invalid_argument);
    EXPECT_EQ(gone, 2);
}

// --- lifetimes

TEST(TimerCapacity, IsALimitThatThrows) {
    virtual_runtime rt({.capacity = 2});
    int fired = 0;
    rt.spawn(1s, [&] { ++fired; });
    rt.spawn(1s, [&] { ++fired; });
    EXPECT_EQ(error_of([&] { rt.spawn(1s, [&] { ++fired; }); }), std::errc::no_space_on_device);
    rt.advance(1s);
    rt.spawn(1s, [&] { ++fired; });
    rt.advance(1s);
    EXPECT_EQ(fired, 3);
}

TEST(TimerLifetime, MayOutliveItsRuntime) {
    timer t, other;
    int gone = 0;
    {
        virtual_runtime rt;
        t = rt.after(1s, [end = farewell(gone)] { FAIL(); });
        other = rt.every(1s, [] { FAIL(); });
    }
    EXPECT_EQ(gone, 1);
    EXPECT_FALSE(t.pending());
    EXPECT_FALSE(t.cancel());
    EXPECT_FALSE(t.move(1s));
    EXPECT_EQ(t.remaining(), std::nullopt);
    other.detach();
}

TEST(TimerLifetime, ACallableDestroyedWithItsRuntimeCannotMoveATimer) {
    timer other;
    std::vector<bool> moved;
    const auto mover = [&] {
        const auto move = [&](void *) { moved.push_back(other.move(1s)); };
        return [on_destruction = std::shared_ptr<void>(&moved, move)] {};
    };
    {
        virtual_runtime rt;
        rt.spawn(1h, mover());  // one is destroyed before the timer, and one after it
        other = rt.after(1h, [] { FAIL(); });
        rt.spawn(1h, mover());
    }
    EXPECT_EQ(moved, (std::vector<bool>{false, false}));
}

TEST(TimerLifetime, ACallableMayOwnTimersOfItsRuntime) {
    virtual_runtime rt;
    auto inner = std::make_shared<timer>(rt.after(2s, [] { FAIL(); }));
    rt.spawn(1s, [inner = std::move(inner)] {});
    rt.spawn(2h, [t = rt.after(3h, [] { FAIL(); })] {});  // pending until the runtime is destroyed
    rt.advance(1h);
    EXPECT_EQ(rt.count(), 2U);
}

// --- pinned timers, which contain their callable and stay at their address

TEST_F(PinnedTimer, IsArmedAgainAndAgain) {
    pinned_timer t(rt, firing());
    EXPECT_FALSE(t.pending());
    EXPECT_EQ(t.remaining(), std::nullopt);
    t.after(1s);
    t.after(2s);  // moves the pending timer
    rt.advance(10s);
    t.at(rt.now() + 5s);
    rt.advance(10s);
    t.every(30s, {.fires = 2});
    rt.advance(10min);
    EXPECT_EQ(at, (times{2s, 15s, 50s, 80s}));
}

TEST_F(PinnedTimer, TakesTheOptionsOfTimersAndTellsTheEvent) {
    std::vector<event> seen;
    pinned_timer t(rt, [&](const event &e) { seen.push_back(e); });
    t.every(10s, {.missed = missed::coalesce, .first = 1s});
    rt.leap(22s);
    ASSERT_EQ(seen.size(), 1U);
    EXPECT_EQ(seen[0].due.time_since_epoch(), 1s);
    EXPECT_EQ(seen[0].overruns, 2U);
    EXPECT_EQ(t.remaining(), 9s);
    t.every(10s, {.missed = missed::burst});
    rt.leap(20s);
    EXPECT_EQ(seen.size(), 3U);
}

TEST_F(PinnedTimer, TakesSlackAndJitterAndRefusesALabel) {
    pinned_timer t{rt, firing()};
    t.after(1s, {.slack = 1s, .jitter = 2s});
    rt.advance(1s - 1ns);
    EXPECT_TRUE(at.empty());
    rt.advance(3s + 1ns);
    EXPECT_EQ(at.size(), 1U);
    t.at(rt.now() + 1s, {.slack = 1s});
    rt.advance(2s);
    EXPECT_EQ(at.size(), 2U);
    EXPECT_THROW(t.after(1s, {.label = "lost"}), std::system_error);
    EXPECT_THROW(t.at(rt.now(), {.label = "lost"}), std::system_error);
    EXPECT_THROW(t.every(1s, {.label = "lost"}), std::system_error);
    EXPECT_FALSE(t.pending());
}

TEST_F(PinnedTimer, IsMovedAndCancelledOnlyWhilePending) {
    pinned_timer t(rt, firing());
    EXPECT_FALSE(t.move(1s) || t.postpone(1s) || t.cancel() || t.cancel_wait());
    t.after(5s);
    EXPECT_TRUE(t.move(1s));
    EXPECT_TRUE(t.postpone(3s));
    EXPECT_TRUE(t.postpone(2s));  // already due later
    EXPECT_EQ(t.remaining(), 3s);
    EXPECT_TRUE(t.cancel());
    t.after(1s);
    EXPECT_TRUE(t.cancel_wait());
    EXPECT_FALSE(t.pending());
    rt.advance(10s);
    EXPECT_EQ(fired, 0);
}

TEST_F(PinnedTimer, DestructionCancelsIt) {
    {
        pinned_timer t(rt, firing());
        t.every(1s);
        rt.advance(2s);
    }
    rt.advance(10s);
    EXPECT_EQ(fired, 2);
    EXPECT_EQ(tw_runtime_count(rt.native()), 0U);
}

TEST_F(PinnedTimer, MayBeDestroyedInItsOwnCallback) {
    struct own {
        std::unique_ptr<pinned_timer<own, virtual_runtime>> *self;
        int *fired;
        void operator()() const {
            auto *const counted = fired;
            self->reset();
            ++*counted;
        }
    };
    std::unique_ptr<pinned_timer<own, virtual_runtime>> t;
    t = std::make_unique<pinned_timer<own, virtual_runtime>>(rt, own{&t, &fired});
    t->every(1s);
    rt.advance(5s);
    EXPECT_EQ(fired, 1);
    EXPECT_EQ(t, nullptr);
}

TEST(PinnedTimerLifetime, MayOutliveItsRuntime) {
    auto rt = std::make_optional<virtual_runtime>();
    pinned_timer armed(*rt, [] { FAIL(); });
    const pinned_timer idle(*rt, [] { FAIL(); });
    armed.after(1s);
    rt.reset();
    EXPECT_FALSE(armed.pending());
    EXPECT_FALSE(armed.cancel());
    EXPECT_EQ(error_of([&] { armed.after(1s); }), std::errc::invalid_argument);
}

// --- schedules

TEST_F(Schedule, IsAskedForEachDeadlineFromWhatWasDue) {
    rt.advance(1s);
    const timer t =
        rt.schedule([gap = 1s](time_point due) mutable { return due + std::exchange(gap, gap * 2); },
                    [this](const event &e) { at.push_back(e.due.time_since_epoch()); });
    rt.leap(20s);
    EXPECT_EQ(at, (times{2s, 4s, 8s, 16s}));
    EXPECT_TRUE(t.pending());
}

TEST_F(Schedule, EndsWhenThereIsNoFurtherDeadline) {
    int gone = 0;
    const timer t =
        rt.schedule([left = 2, end = farewell(gone)](
                        time_point due) mutable { return left-- == 0 ? moment() : moment(due + 3s); },
                    firing());
    rt.advance(1h);
    EXPECT_EQ(at, (times{3s, 6s}));
    EXPECT_FALSE(t.pending());
    EXPECT_EQ(gone, 1);
    const timer none = rt.schedule([](time_point) { return moment(); }, firing());
    EXPECT_FALSE(none.pending());
    EXPECT_EQ(rt.count(), 0U);
}

TEST_F(Schedule, ThatThrowsAtFirstThrowsToTheCaller) {
    const auto throws = [](time_point) -> moment { throw std::runtime_error("no"); };
    EXPECT_THROW(static_cast<void>(rt.schedule(throws, firing())), std::runtime_error);
    EXPECT_EQ(rt.count(), 0U);
    EXPECT_TRUE(heard.empty());
}

TEST_F(Schedule, ThatThrowsLaterIsHeardOfAndEnds) {
    const timer t = rt.schedule(
        [n = 0](time_point due) mutable {
            if (++n == 3)
                throw std::runtime_error("no more");
            return due + 1s;
        },
        firing());
    rt.advance(1h);
    EXPECT_EQ(at, (times{1s, 2s}));
    EXPECT_EQ(heard, words{"no more"});
    EXPECT_FALSE(t.pending());
}

TEST_F(Schedule, KeepsWhatDoesNotFitInline) {
    std::array<int, 100> gaps;
    gaps.fill(2);
    const timer t = rt.schedule([gaps, i = 0U](time_point due) mutable { return due + gaps[i++] * 1s; },
                                [this, gaps] { at.push_back(gaps[0] * rt.now().time_since_epoch()); });
    rt.advance(5s);
    EXPECT_EQ(at, (times{4s, 8s}));
}

// --- exceptions end at the boundary to C: they are reported, and the timer goes on

TEST_F(Exceptions, OfATimerOfAnyKindAreHeardAndItGoesOn) {
    const timer often = rt.every(1s, [] { throw std::runtime_error("tick"); });
    const timer scheduled = rt.schedule(
        [](time_point due) { return due + 1s; },
        [text = std::string("large"), room = std::string()] { throw std::runtime_error(text + room); });
    pinned_timer pinned(rt, [] { throw std::runtime_error("pinned"); });
    pinned.every(1s);
    rt.advance(2s);
    EXPECT_EQ(heard, (words{"tick", "large", "pinned", "tick", "large", "pinned"}));
    EXPECT_TRUE(often.pending() && scheduled.pending() && pinned.pending());
}

// A coroutine that throws to its resumer.
struct careless {
    struct promise_type {
        careless get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { throw; }
    };
    std::coroutine_handle<promise_type> handle;
};

// The caller holds the sleep. If the frame held it, clang would destroy the sleep twice: when the coroutine
// throws, and again with the frame (LLVM's issue 61900).
careless sleep_and_throw(tickwheel::sleeper<tw_node> &nap) {
    co_await nap;
    throw std::runtime_error("awake");
}

TEST_F(Exceptions, OfACoroutineAreHeard) {
    auto nap = rt.sleep_for(1s);
    const careless thrower = sleep_and_throw(nap);
    rt.advance(1s);
    EXPECT_EQ(heard, words{"awake"});
    thrower.handle.destroy();
}

TEST(ExceptionsWithoutHandler, ArePrinted) {
    virtual_runtime rt;
    rt.spawn(1s, [] { throw std::runtime_error("no disk"); });
    rt.spawn(1s, [] { throw 42; });
    testing::internal::CaptureStderr();
    rt.advance(1s);
    const std::string printed = testing::internal::GetCapturedStderr();
    EXPECT_EQ(printed, "tickwheel: a callback has thrown: no disk\n"
                       "tickwheel: a callback has thrown something unknown\n");
}

}  // namespace

// Timers with and without an owner: on virtual time, where every instant is exact.
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include <tickwheel/observe.h>

#include "support.hpp"

namespace {

using tickwheel::missed;
using tickwheel::timer;
using tickwheel::virtual_runtime;
using event = virtual_runtime::event;

class Timer : public testing::Test {
  protected:
    virtual_runtime rt;
    int fired = 0;
    std::vector<std::chrono::milliseconds> at;  // times of the fires

    void fire() {
        ++fired;
        at.push_back(std::chrono::duration_cast<std::chrono::milliseconds>(rt.now().time_since_epoch()));
    }
    auto firing() {
        return [this] { fire(); };
    }
    using times = std::vector<std::chrono::milliseconds>;
};

TEST_F(Timer, AfterFiresOnceWhenItsDelayIsOver) {
    const timer t = rt.after(5s, firing());
    rt.advance(4999ms);
    EXPECT_EQ(fired, 0);
    rt.advance(1ms);
    EXPECT_EQ(fired, 1);
    rt.advance(1h);
    EXPECT_EQ(at, times{5000ms});
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

TEST_F(Timer, CancelAllInACallback) {
    std::size_t cancelled = 0;
    const timer often = rt.every(1s, [&] { cancelled = rt.cancel_all(); });
    const timer later = rt.after(2s, firing());
    rt.advance(10s);
    EXPECT_EQ(cancelled, 2U);
    EXPECT_EQ(fired, 0);
    EXPECT_EQ(rt.count(), 0U);
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

TEST_F(Timer, AtFiresWhenTheClockReadsSo) {
    rt.advance(2s);
    const timer t = rt.at(rt.now() + 3s, firing());
    const timer past = rt.at(virtual_runtime::time_point::min(), firing());
    rt.advance(10s);
    EXPECT_EQ(at, (times{2s, 5s}));
}

TEST_F(Timer, EveryFiresOnItsGrid) {
    const timer t = rt.every(2s, firing());
    rt.advance(7s);
    EXPECT_EQ(at, (times{2s, 4s, 6s}));
}

TEST_F(Timer, EveryBeginsWhenItIsToldTo) {
    rt.advance(1s);
    const timer soon = rt.every(2s, firing(), {.first = 0s});
    rt.advance(3s);
    EXPECT_EQ(at, (times{1s, 3s}));
}

TEST_F(Timer, EveryFromBeginsAtATimePoint) {
    rt.advance(1s);
    const timer t = rt.every_from(rt.now() + 10s, 5s, firing(), {.fires = 2});
    const timer past = rt.every_from(rt.now() - 1s, 50s, firing());
    rt.advance(30s);
    EXPECT_EQ(at, (times{1s, 11s, 16s}));
}

TEST_F(Timer, EveryEndsAfterItsFires) {
    const timer t = rt.every(1s, firing(), {.fires = 3});
    EXPECT_TRUE(t.pending());
    rt.advance(10s);
    EXPECT_EQ(fired, 3);
    EXPECT_FALSE(t.pending());
}

TEST_F(Timer, MissedFiresAreMadeUpForOrLeftOut) {
    const timer burst = rt.every(1s, firing(), {.missed = missed::burst});
    rt.leap(4s);
    EXPECT_EQ(fired, 4);
    fired = 0;
    timer other = rt.every(1s, firing(), {.missed = missed::skip});
    rt.leap(4500ms);
    EXPECT_EQ(fired, 4 + 1);
    EXPECT_EQ(other.remaining(), 500ms);
    other = rt.every(1s, firing(), {.missed = missed::delay});
    rt.leap(4500ms);
    EXPECT_EQ(other.remaining(), 1s);
}

TEST_F(Timer, TellsItsCallbackWhatItWasDueAtAndWhatItMissed) {
    std::vector<event> seen;
    const timer t = rt.every(1s, [&](const event &e) { seen.push_back(e); });
    rt.advance(1s);
    rt.leap(3s);
    ASSERT_EQ(seen.size(), 2U);
    EXPECT_EQ(seen[0].due.time_since_epoch(), 1s);
    EXPECT_EQ(seen[0].overruns, 0U);
    EXPECT_EQ(seen[1].due.time_since_epoch(), 2s);
    EXPECT_EQ(seen[1].overruns, 2U);
}

TEST_F(Timer, PrefersToTellWhereACallbackTakesBoth) {
    struct both {
        int *told, *silent;
        void operator()(const event &) const { ++*told; }
        void operator()() const { ++*silent; }
    };
    int told = 0, silent = 0;
    rt.spawn(1s, both{&told, &silent});
    rt.advance(1s);
    EXPECT_EQ(told, 1);
    EXPECT_EQ(silent, 0);
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

TEST_F(Timer, CountsForItsLabel) {
    tw_label_counts counts[3];
    const timer once = rt.after(1s, firing(), {.label = "kind"});
    const timer often = rt.every(1s, firing(), {.label = "kind"});
    rt.spawn(1s, firing(), "kind");
    tickwheel::pinned_timer pinned{rt, firing()};
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
    timer t = rt.after(5s, firing());
    EXPECT_TRUE(t.cancel());
    EXPECT_FALSE(t.cancel());
    timer other = rt.after(5s, firing());
    EXPECT_TRUE(other.cancel_wait());
    EXPECT_FALSE(other.cancel_wait());
    timer late = rt.after(1s, [&] { fired += 100; });
    rt.advance(10s);
    EXPECT_FALSE(late.cancel());
    EXPECT_EQ(fired, 100);
}

TEST_F(Timer, CancelInsideACallbackPreventsTheFiresToCome) {
    timer t;
    t = rt.every(1s, [&] {
        fire();
        if (fired == 2) {
            EXPECT_TRUE(t.cancel());
        }
    });
    rt.advance(10s);
    EXPECT_EQ(fired, 2);
}

TEST_F(Timer, MoveChangesWhenItIsDue) {
    timer t = rt.after(5s, firing());
    EXPECT_TRUE(t.move(8s));
    EXPECT_EQ(t.remaining(), 8s);
    EXPECT_TRUE(t.move(std::chrono::duration<double>(1.5)));
    rt.advance(10s);
    EXPECT_EQ(at, times{1500ms});
    EXPECT_FALSE(t.move(1s));
    rt.advance(10s);
    EXPECT_EQ(fired, 1);
}

TEST_F(Timer, RemainingIsNoneOnceItIsGone) {
    timer t = rt.after(5s, firing());
    rt.advance(2s);
    EXPECT_EQ(t.remaining(), 3s);
    EXPECT_TRUE(t.pending());
    rt.advance(3s);
    EXPECT_EQ(t.remaining(), std::nullopt);
    EXPECT_FALSE(t.pending());
}

TEST_F(Timer, IsPostponedButNotToAnEarlierTime) {
    timer t = rt.after(5s, firing());
    EXPECT_TRUE(t.postpone(8s));
    EXPECT_TRUE(t.postpone(1s));
    EXPECT_EQ(t.remaining(), 8s);
}

TEST_F(Timer, IsStartedAgainWithItsDelay) {
    timer t = rt.after(5s, firing());
    rt.advance(3s);
    EXPECT_TRUE(t.again());
    EXPECT_EQ(t.remaining(), 5s);
    rt.advance(5s);
    EXPECT_FALSE(t.again());
}

TEST_F(Timer, ThatIsNoneDoesNothing) {
    timer none;
    EXPECT_FALSE(none.cancel());
    EXPECT_FALSE(none.cancel_wait());
    EXPECT_FALSE(none.move(1s));
    EXPECT_FALSE(none.postpone(1s));
    EXPECT_FALSE(none.again());
    EXPECT_FALSE(none.pending());
    none.detach();
    EXPECT_EQ(error_of([&] { none.move(-1s); }), std::errc::invalid_argument);
}

TEST_F(Timer, DestructionCancelsAndDropsTheCallable) {
    const auto kept = std::make_shared<int>(0);
    {
        const timer t = rt.after(5s, [kept] { ++*kept; });
        EXPECT_EQ(kept.use_count(), 2);
    }
    EXPECT_EQ(kept.use_count(), 1);
    EXPECT_EQ(rt.count(), 0U);
    rt.advance(10s);
    EXPECT_EQ(*kept, 0);
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

TEST_F(Timer, MayBeReplacedInItsOwnCallback) {
    timer t;
    t = rt.after(1s, [&] {
        fire();
        t = rt.after(1s, firing());
    });
    rt.advance(10s);
    EXPECT_EQ(at, (times{1s, 2s}));
}

TEST_F(Timer, DetachedItGoesOn) {
    rt.every(1s, firing(), {.fires = 4}).detach();
    rt.advance(10s);
    EXPECT_EQ(fired, 4);
    EXPECT_EQ(rt.count(), 0U);
}

TEST_F(Timer, SpawnedItIsNobodys) {
    int gone = 0;
    rt.spawn(1s, [this, end = farewell(gone)] { fire(); });
    EXPECT_EQ(rt.count(), 1U);
    EXPECT_EQ(gone, 0);
    rt.advance(1s);
    EXPECT_EQ(fired, 1);
    EXPECT_EQ(gone, 1);
    EXPECT_EQ(rt.count(), 0U);
}

TEST_F(Timer, CallsWhatIsInvokable) {
    struct counter {
        int seen = 0;
        void hear(const event &) { ++seen; }
        void tick() { ++seen; }
    } counter;
    rt.spawn(1s, std::bind_front(&counter::hear, &counter));
    rt.spawn(1s, tickwheel::calls<&counter::tick>{&counter});
    rt.spawn(1s, std::function<void()>([&] { ++counter.seen; }));
    rt.spawn(1s, [&](auto &&...e) { counter.seen += static_cast<int>(sizeof...(e)); });
    rt.spawn(1s, [n = 5, &counter]() mutable { counter.seen += ++n; });
    rt.advance(1s);
    EXPECT_EQ(counter.seen, 4 + 6);
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

// A callable whose copies throw on demand. Its move may throw too, so a timer cannot store it
// inline.
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
    throws = true;  // it is already stored
    rt.advance(1s);
    EXPECT_EQ(*f.alive, 1);
    EXPECT_EQ(f.alive.use_count(), 1);
}

TEST_F(Timer, ARefusedOneDropsItsCallable) {
    int gone = 0;
    EXPECT_EQ(error_of([&] { rt.spawn(-1s, [end = farewell(gone)] {}); }), std::errc::invalid_argument);
    EXPECT_EQ(error_of([&] {
                  static_cast<void>(rt.every(1s, [end = farewell(gone)] {}, {.fires = TW_FIRES_MAX + 1}));
              }),
              std::errc::invalid_argument);
    EXPECT_EQ(gone, 2);
}

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

TEST(TimerLifetime, ACallableMayOwnTimersOfItsRuntime) {
    virtual_runtime rt;
    auto inner = std::make_shared<timer>(rt.after(2s, [] { FAIL(); }));
    rt.spawn(1s, [inner = std::move(inner)] {});
    rt.spawn(2h, [t = rt.after(3h, [] { FAIL(); })] {});  // pending until the runtime is destroyed
    rt.advance(1h);
    EXPECT_EQ(rt.count(), 2U);
}

}  // namespace

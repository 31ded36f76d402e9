// Timers that contain their callable and stay at their address.
#include <memory>
#include <optional>
#include <vector>

#include "support.hpp"

namespace {

using tickwheel::pinned_timer;
using tickwheel::virtual_runtime;

class PinnedTimer : public testing::Test {
  protected:
    virtual_runtime rt;
    std::vector<std::chrono::nanoseconds> at;

    auto noting() {
        return [this] { at.push_back(rt.now().time_since_epoch()); };
    }
    using times = std::vector<std::chrono::nanoseconds>;
};

TEST_F(PinnedTimer, IsIdleUntilItIsArmed) {
    pinned_timer t(rt, noting());
    EXPECT_FALSE(t.pending());
    EXPECT_EQ(t.remaining(), std::nullopt);
    rt.advance(1h);
    EXPECT_EQ(at.size(), 0U);
}

TEST_F(PinnedTimer, IsArmedAgainAndAgain) {
    pinned_timer t(rt, noting());
    EXPECT_FALSE(t.after(1s));
    EXPECT_TRUE(t.after(2s));  // it was pending
    rt.advance(10s);
    EXPECT_FALSE(t.at(rt.now() + 5s));
    rt.advance(10s);
    EXPECT_FALSE(t.every(30s, {.fires = 2}));
    rt.advance(10min);
    EXPECT_EQ(at, (times{2s, 15s, 50s, 80s}));
}

TEST_F(PinnedTimer, EveryTakesTheOptionsOfTimers) {
    pinned_timer t(rt, noting());
    t.every(10s, {.missed = tickwheel::missed::burst, .first = 1s});
    rt.leap(11s);
    EXPECT_EQ(at.size(), 2U);
    EXPECT_EQ(t.remaining(), 10s);
}

TEST_F(PinnedTimer, KeepsToAPeriodThatIsNoMultipleOfTheTick) {
    pinned_timer t(rt, noting());
    t.every(std::chrono::duration<int, std::ratio<1, 60>>(1));
    rt.advance(70ms);
    EXPECT_EQ(at, (times{17ms, 34ms, 51ms, 67ms}));
}

TEST_F(PinnedTimer, MovesOnlyWhatIsPending) {
    pinned_timer t(rt, noting());
    EXPECT_FALSE(t.move(1s));
    EXPECT_FALSE(t.postpone(1s));
    t.after(5s);
    EXPECT_TRUE(t.move(1s));
    EXPECT_TRUE(t.postpone(3s));
    EXPECT_TRUE(t.postpone(2s));  // it is already due later
    EXPECT_EQ(t.remaining(), 3s);
    rt.advance(10s);
    EXPECT_EQ(at, times{3s});
}

TEST_F(PinnedTimer, CancelSaysWhetherItPreventedAFire) {
    pinned_timer t(rt, noting());
    EXPECT_FALSE(t.cancel());
    t.after(1s);
    EXPECT_TRUE(t.cancel());
    t.after(1s);
    EXPECT_TRUE(t.cancel_wait());
    EXPECT_FALSE(t.pending());
    rt.advance(2s);
    EXPECT_EQ(at.size(), 0U);
}

TEST_F(PinnedTimer, TellsItsCallbackTheEvent) {
    std::vector<virtual_runtime::event> seen;
    pinned_timer t(rt, [&](const virtual_runtime::event &e) { seen.push_back(e); });
    t.every(1s);
    rt.leap(3s);
    ASSERT_EQ(seen.size(), 1U);
    EXPECT_EQ(seen[0].due.time_since_epoch(), 1s);
    EXPECT_EQ(seen[0].overruns, 2U);
}

class session {
  public:
    session(virtual_runtime &rt, int &closed) : closed_(&closed), idle_(rt, {this}) { idle_.after(30s); }
    void on_packet() { idle_.postpone(30s); }

  private:
    void on_idle() { ++*closed_; }

    int *closed_;
    pinned_timer<tickwheel::calls<&session::on_idle>, virtual_runtime> idle_;
};

TEST_F(PinnedTimer, IsTheIdleTimeoutOfAClass) {
    int closed = 0;
    session s(rt, closed);
    for (int packet = 0; packet < 10; ++packet) {
        rt.advance(29s);
        s.on_packet();
    }
    EXPECT_EQ(closed, 0);
    rt.advance(30s);
    EXPECT_EQ(closed, 1);
}

TEST_F(PinnedTimer, DestructionCancelsIt) {
    {
        pinned_timer t(rt, noting());
        t.every(1s);
        rt.advance(2s);
    }
    rt.advance(10s);
    EXPECT_EQ(at.size(), 2U);
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
    int fired = 0;
    std::unique_ptr<pinned_timer<own, virtual_runtime>> t;
    t = std::make_unique<pinned_timer<own, virtual_runtime>>(rt, own{&t, &fired});
    t->every(1s);
    rt.advance(5s);
    EXPECT_EQ(fired, 1);
    EXPECT_EQ(t, nullptr);
}

TEST_F(PinnedTimer, MayArmItselfInItsCallback) {
    pinned_timer<std::function<void()>, virtual_runtime> t(rt, [&, left = 3]() mutable {
        at.push_back(rt.now().time_since_epoch());
        if (--left > 0)
            t.after(1s);
    });
    t.after(1s);
    rt.advance(10s);
    EXPECT_EQ(at, (times{1s, 2s, 3s}));
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

}  // namespace

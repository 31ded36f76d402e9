// Runtimes in C++: their clocks, options and lifetimes.
#include <poll.h>
#include <pthread.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "support.hpp"

namespace {

using std::chrono::steady_clock;
using std::chrono::system_clock;

template <class Clock> class Clocks : public testing::Test {};
using kept = testing::Types<steady_clock, system_clock, tickwheel::boot_clock>;
TYPED_TEST_SUITE(Clocks, kept, );

TYPED_TEST(Clocks, AreTheRuntimesOwn) {
    tickwheel::basic_runtime<TypeParam> rt;
    const auto before = TypeParam::now();
    const auto reading = rt.now();
    EXPECT_LE(before, reading);
    EXPECT_LE(reading, TypeParam::now());
}

TYPED_TEST(Clocks, FireDelaysAndTimePointsInTime) {
    tickwheel::basic_runtime<TypeParam> rt;
    using delay_clock = typename tickwheel::clock_traits<TypeParam>::delay_clock;
    gate delay_over, moment_came;
    const auto begin = delay_clock::now();
    const auto moment = TypeParam::now() + 5ms;
    rt.spawn(3ms, [&](const tickwheel::basic_event<delay_clock> &e) {
        EXPECT_GE(e.due, begin + 3ms);
        EXPECT_GE(delay_clock::now(), e.due);
        delay_over.open();
    });
    const auto t = rt.at(moment, [&](const tickwheel::basic_event<TypeParam> &e) {
        EXPECT_GE(e.due, moment);
        EXPECT_LT(e.due, moment + 1ms);
        EXPECT_GE(TypeParam::now(), moment);
        moment_came.open();
    });
    EXPECT_TRUE(delay_over.wait());
    EXPECT_TRUE(moment_came.wait());
}

TEST(WallRuntime, FollowsAVirtualWallClock) {
    using tickwheel::wall_runtime;
    tickwheel::virtual_wall_runtime rt;
    const auto noon = system_clock::time_point(43'200s);
    rt.set_wall(noon);
    int alarms = 0, delays = 0;
    const auto alarm = rt.at(noon + 1h, [&](const wall_runtime::event &e) {
        ++alarms;
        EXPECT_EQ(e.due, noon + 1h);
    });
    const auto delay = rt.after(1h, [&](const wall_runtime::delay_event &e) {
        ++delays;
        EXPECT_EQ(e.due.time_since_epoch(), 1h);
    });
    rt.set_wall(noon - 1h);
    rt.advance(1h);
    EXPECT_EQ(alarms, 0);
    EXPECT_EQ(delays, 1);
    rt.set_wall(noon + 2h);
    rt.advance(0s);
    EXPECT_EQ(alarms, 1);
}

std::string own_thread_name() {
    char name[16];
    pthread_getname_np(pthread_self(), name, sizeof name);
    return name;
}

TEST(RuntimeOptions, AreTheLibrarys) {
    tickwheel::runtime rt({.tick = 10ms, .driver = "epoll", .thread_name = "cpp-test"});
    gate fired;
    std::string name;
    rt.spawn(0s, [&] {
        name = own_thread_name();
        fired.open();
    });
    ASSERT_TRUE(fired.wait());
    EXPECT_EQ(name, "cpp-test");
    EXPECT_EQ(error_of([&] { static_cast<void>(rt.every(5ms, [] {})); }), std::errc::invalid_argument);
    // so it is the epoll driver
    EXPECT_NE(tw_runtime_watch(rt.native(), 0, 0, nullptr, nullptr), -EOPNOTSUPP);
}

TEST(RuntimeOptions, ADriverOfOnesOwnIsTaken) {
    static std::atomic<int> opened{0};
    tw_driver own = *tw_driver_named("sleep");
    own.open = [](void *state, tw_clock clock) {
        ++opened;
        return tw_driver_named("sleep")->open(state, clock);
    };
    tickwheel::runtime rt({.own_driver = &own});
    EXPECT_EQ(opened, 1);
    EXPECT_EQ(error_of([&] { tickwheel::runtime both({.driver = "sleep", .own_driver = &own}); }),
              std::errc::invalid_argument);
}

TEST(RuntimeLife, StopsAndStarts) {
    tickwheel::runtime rt;
    rt.stop();
    std::atomic<bool> fired{false};
    gate again;
    rt.spawn(0s, [&] {
        fired = true;
        again.open();
    });
    EXPECT_EQ(error_of([&] { rt.stop(); }), std::error_code());
    EXPECT_FALSE(fired);
    rt.start();
    EXPECT_TRUE(again.wait());
    EXPECT_EQ(error_of([&] { rt.start(); }), std::errc::connection_already_in_progress);
}

TEST(RuntimeLife, InALoopOfOnesOwnItIsDispatched) {
    tickwheel::runtime rt({.driver = "timerfd", .start = false});
    std::thread::id fired;
    rt.spawn(2ms, [&] { fired = std::this_thread::get_id(); });
    pollfd ready = {tw_runtime_fd(rt.native()), POLLIN, 0};
    ASSERT_GE(ready.fd, 0);
    while (rt.count() > 0) {
        ASSERT_EQ(poll(&ready, 1, 60'000), 1);
        ASSERT_EQ(tw_runtime_dispatch(rt.native()), 0);
    }
    EXPECT_EQ(fired, std::this_thread::get_id());
}

TEST(RuntimeLife, ItsEndDropsWhatItsTimersHold) {
    int gone = 0;
    {
        tickwheel::runtime rt;
        rt.spawn(1h, [end = farewell(gone)] {});
        rt.every(1h, [end = farewell(gone)] {}).detach();
        EXPECT_EQ(gone, 0);
    }
    EXPECT_EQ(gone, 2);
}

TEST(RuntimeLife, OneThatCannotBeMadeLeavesNothing) {
    const auto make = [] { tickwheel::runtime rt({.cpus = std::uint64_t{1} << 63}); };
    EXPECT_NE(error_of(make), std::error_code());  // made, but not started: there is no such CPU
}

TEST(RuntimeLife, AThousandLiveAtOnce) {
    std::vector<std::unique_ptr<tickwheel::virtual_runtime>> runtimes;
    int fires = 0;
    for (int i = 0; i < 1000; ++i) {
        runtimes.push_back(std::make_unique<tickwheel::virtual_runtime>());
        runtimes.back()->spawn(1s, [&] { ++fires; });
    }
    for (const auto &each : runtimes)
        each->advance(1s);
    EXPECT_EQ(fires, 1000);
}

TEST(RuntimeStats, Count) {
    tickwheel::virtual_runtime rt;
    EXPECT_EQ(rt.count(), 0U);
    rt.spawn(1s, [] {});
    EXPECT_EQ(rt.count(), 1U);
    EXPECT_EQ(rt.stats().wait_errors, 0U);
}

TEST(VirtualRuntime, AdvancesFromDeadlineToDeadlineOrLeaps) {
    tickwheel::virtual_runtime rt;
    std::chrono::nanoseconds seen{};
    const auto note = [&] { seen = rt.now().time_since_epoch(); };
    rt.spawn(1s, note);
    rt.advance(5s);
    EXPECT_EQ(seen, 1s);
    rt.spawn(1s, note);
    rt.leap(5s);
    EXPECT_EQ(seen, 10s);
    EXPECT_EQ(error_of([&] { rt.advance(std::chrono::hours::max()); }), std::errc::result_out_of_range);
    EXPECT_EQ(error_of([&] { rt.start(); }), std::errc::operation_not_supported);
}

}  // namespace

// Runtimes in C++: their clocks, options and lifetimes, durations and time points, and virtual time in place
// of real time.
#include <poll.h>
#include <pthread.h>
#include <sys/prctl.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <ratio>
#include <string>
#include <thread>
#include <utility>

#include "support.hpp"

namespace {

using std::chrono::steady_clock;
using std::chrono::system_clock;
using tickwheel::detail::nanoseconds_in;
using tickwheel::detail::reading_of;
template <class Rep, class Period = std::ratio<1>> using duration = std::chrono::duration<Rep, Period>;

constexpr std::int64_t end_of_time = std::numeric_limits<std::int64_t>::max();
constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

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
    tickwheel::runtime rt({.tick = 10ms, .driver = "epoll", .slack = 7us, .thread_name = "cpp-test"});
    gate fired;
    std::string name;
    int slack = 0;
    rt.spawn(0s, [&] {
        name = own_thread_name();
        slack = prctl(PR_GET_TIMERSLACK);
        fired.open();
    });
    ASSERT_TRUE(fired.wait());
    EXPECT_EQ(name, "cpp-test");
    EXPECT_EQ(slack, 7000);
    EXPECT_EQ(error_of([&] { static_cast<void>(rt.every(5ms, [] {})); }), std::errc::invalid_argument);
    // only the epoll driver watches descriptors
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
    EXPECT_NE(error_of(make), std::error_code());  // makes the runtime but cannot start it: no such CPU
}

// --- durations and time points

TEST(Durations, OfIntegersAreExact) {
    EXPECT_EQ(nanoseconds_in(0s), 0);
    EXPECT_EQ(nanoseconds_in(7ns), 7);
    EXPECT_EQ(nanoseconds_in(3ms), 3'000'000);
    EXPECT_EQ(nanoseconds_in(2h), 7'200'000'000'000);
    EXPECT_EQ(nanoseconds_in(duration<unsigned char>(200)), 200'000'000'000);
    EXPECT_EQ(nanoseconds_in(9'223'372'036s), 9'223'372'036'000'000'000);
}

TEST(Durations, RoundUp) {
    EXPECT_EQ(nanoseconds_in(duration<int, std::pico>(1)), 1);
    EXPECT_EQ(nanoseconds_in(duration<int, std::pico>(1000)), 1);
    EXPECT_EQ(nanoseconds_in(duration<int, std::pico>(1001)), 2);
    EXPECT_EQ(nanoseconds_in(duration<int, std::ratio<1, 3>>(1)), 333'333'334);
    EXPECT_EQ(nanoseconds_in(duration<int, std::ratio<1, 3>>(6)), 2'000'000'000);
    EXPECT_EQ(nanoseconds_in(duration<double>(1e-10)), 1);
    EXPECT_EQ(nanoseconds_in(duration<float, std::milli>(0.5F)), 500'000);
}

TEST(Durations, TooLongAreTheEndOfTime) {
    EXPECT_EQ(nanoseconds_in(std::chrono::nanoseconds::max()), end_of_time);
    EXPECT_EQ(nanoseconds_in(9'223'372'037s), end_of_time);
    EXPECT_EQ(nanoseconds_in(std::chrono::hours::max()), end_of_time);
    EXPECT_EQ(nanoseconds_in(duration<std::uint64_t, std::nano>(UINT64_MAX)), end_of_time);
    EXPECT_EQ(nanoseconds_in(duration<double>(1e300)), end_of_time);
    EXPECT_EQ(nanoseconds_in(duration<double>(infinite)), end_of_time);
    EXPECT_EQ(nanoseconds_in(duration<std::int64_t, std::ratio<1, 3>>(INT64_MAX)), end_of_time);
}

TEST(Durations, NegativeOnesAreToldApart) {
    EXPECT_EQ(nanoseconds_in(-1ns), -1);
    EXPECT_EQ(nanoseconds_in(std::chrono::hours::min()), -1);
    EXPECT_EQ(nanoseconds_in(duration<double>(-1e-12)), -1);
    EXPECT_EQ(nanoseconds_in(duration<double>(-infinite)), -1);
    EXPECT_EQ(nanoseconds_in(duration<double>(-0.0)), 0);
}

TEST(Durations, ThatAreNoNumberThrow) {
    EXPECT_EQ(error_of([] { nanoseconds_in(duration<double>(no_number)); }), std::errc::invalid_argument);
}

TEST(TimePoints, AreReadingsOfTheirClock) {
    using std::chrono::system_clock;
    using std::chrono::time_point;
    EXPECT_EQ(reading_of(time_point<system_clock, std::chrono::seconds>(5s)), 5'000'000'000);
    EXPECT_EQ(reading_of(system_clock::time_point(-5s)), 0);
    EXPECT_EQ(reading_of(time_point<system_clock, std::chrono::hours>::max()), end_of_time);
}

// --- virtual time, with production code that takes any runtime

TEST(VirtualRuntime, AdvancesFromDeadlineToDeadlineOrLeaps) {
    const auto rt = std::make_unique<tickwheel::virtual_runtime>();
    tickwheel::runtime &real = *rt;
    std::chrono::nanoseconds seen{};
    const auto note = [&] { seen = real.now().time_since_epoch(); };
    EXPECT_EQ(real.now(), tickwheel::runtime::time_point());
    real.spawn(1s, note);
    EXPECT_EQ(real.count(), 1U);
    rt->advance(5s);
    EXPECT_EQ(seen, 1s);
    real.spawn(1s, note);
    rt->leap(5s);
    EXPECT_EQ(seen, 10s);
    EXPECT_EQ(real.count() + real.stats().wait_errors, 0U);
    EXPECT_EQ(error_of([&] { rt->advance(std::chrono::hours::max()); }), std::errc::result_out_of_range);
    EXPECT_EQ(error_of([&] { real.start(); }), std::errc::operation_not_supported);
}

TEST(VirtualRuntime, StandsInForTheBootClock) {
    tickwheel::virtual_boot_runtime time;
    tickwheel::boot_runtime &rt = time;
    int fired = 0;
    const auto t = rt.at(rt.now() + 1s, [&] { ++fired; });
    time.leap(1s);
    EXPECT_EQ(fired, 1);
}

// A connection that is kept alive, is closed when its peer falls silent, and ends in any case when its lease
// is over. Each timer's callback uses the others, so none may run when the first is destroyed.
class connection {
  public:
    enum class state { open, silent, expired };

    explicit connection(tickwheel::runtime &rt) : rt_(rt) {
        pinging_ = rt_.every_from(rt_.now() + 10s, 10s, [this] { ++pings; });
        lease_.at(rt_.now() + 24h);
        silence_.at(rt_.now() + 30s);
    }
    ~connection() {
        silence_.cancel_wait();
        lease_.cancel_wait();
    }
    connection(const connection &) = delete;
    connection &operator=(const connection &) = delete;

    void on_packet() { silence_.postpone(30s); }

    state now_in = state::open;
    int pings = 0;
    tickwheel::runtime::time_point ended{};

  private:
    void on_silence() { end(state::silent); }
    void on_end_of_lease() { end(state::expired); }
    void end(state how) {
        ended = rt_.now();
        now_in = how;
        pinging_.cancel();
        silence_.cancel();
        lease_.cancel();
    }

    tickwheel::runtime &rt_;
    tickwheel::pinned_timer<tickwheel::calls<&connection::on_silence>> silence_{rt_, {this}};
    tickwheel::pinned_timer<tickwheel::calls<&connection::on_end_of_lease>> lease_{rt_, {this}};
    tickwheel::timer pinging_;
};

TEST(ADay, OfTalkEndsWithTheLeaseToTheMillisecond) {
    tickwheel::virtual_runtime rt;
    connection peer(rt);
    for (int i = 0; i < 24 * 60 * 3; ++i) {
        EXPECT_EQ(peer.now_in, connection::state::open);
        peer.on_packet();
        rt.advance(20s);
    }
    EXPECT_EQ(peer.now_in, connection::state::expired);
    EXPECT_EQ(peer.ended.time_since_epoch(), 24h);
    EXPECT_EQ(peer.pings, 24 * 60 * 6 - 1);  // on the tick of the last ping, the lease ends first
}

TEST(ADay, WithoutAPacketEndsAfterThirtySeconds) {
    tickwheel::virtual_runtime rt;
    rt.advance(100 * 24h + 1ns);
    connection peer(rt);
    rt.advance(30s);
    EXPECT_EQ(peer.now_in, connection::state::open);
    rt.advance(24h);
    EXPECT_EQ(peer.now_in, connection::state::silent);
    EXPECT_EQ(peer.ended.time_since_epoch(), 100 * 24h + 30s + 1ms);  // rounded up to a tick
    EXPECT_EQ(peer.pings, 2);                                         // as above
}

}  // namespace

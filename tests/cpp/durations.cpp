// Conversion of durations and time points to nanoseconds.
#include <cmath>
#include <cstdint>
#include <limits>
#include <ratio>

#include "support.hpp"

namespace {

using tickwheel::detail::nanoseconds_in;
using tickwheel::detail::reading_of;
template <class Rep, class Period = std::ratio<1>> using duration = std::chrono::duration<Rep, Period>;

constexpr std::int64_t end_of_time = std::numeric_limits<std::int64_t>::max();
constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

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

// basic_event and now() rely on this.
template <class Clock> void expect_same_zero(tw_clock clock) {
    tw_runtime_options options = {};
    options.driver = "timerfd";
    options.clock = clock;
    tw_runtime *rt = nullptr;
    ASSERT_EQ(tw_runtime_new(&rt, &options), 0);
    const auto before = reading_of(Clock::now());
    const auto reading = tw_runtime_now(rt);
    const auto after = reading_of(Clock::now());
    tw_runtime_free(rt);
    EXPECT_LE(before, reading);
    EXPECT_LE(reading, after);
}

TEST(TimePoints, CountFromTheZeroThatTheLibraryCountsFrom) {
    expect_same_zero<std::chrono::steady_clock>(TW_CLOCK_MONOTONIC);
    expect_same_zero<std::chrono::system_clock>(TW_CLOCK_WALL);
    expect_same_zero<tickwheel::boot_clock>(TW_CLOCK_BOOT);
}

}  // namespace

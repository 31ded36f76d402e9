// Misuse that does not compile, and misuse that throws.
#include <chrono>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>

#include "support.hpp"

namespace {

using std::chrono::steady_clock;
using std::chrono::system_clock;
using tickwheel::boot_clock;
using tickwheel::boot_runtime;
using tickwheel::runtime;
using tickwheel::virtual_runtime;
using tickwheel::virtual_wall_runtime;
using tickwheel::wall_runtime;
using tickwheel::workers;

struct silent {
    void operator()() const {}
};
template <class Clock> struct hears {
    void operator()(const tickwheel::basic_event<Clock> &) const {}
};
template <class... Argument> struct takes {
    void operator()(Argument...) const {}
};

template <class On, class Moment, class F = silent>
concept can_at = requires(On &on, Moment moment, F f) {
    on.at(moment, f);
};
template <class On, class Delay, class F = silent>
concept can_after = requires(On &on, Delay delay, F f) {
    on.after(delay, f);
};
template <class On, class Moment>
concept can_sleep_until = requires(On &on, Moment moment) {
    on.sleep_until(moment);
};
template <class On, class Moment>
concept can_every_from = requires(On &on, Moment moment) {
    on.every_from(moment, 1s, silent());
};
template <class On, class Next>
concept can_schedule = requires(On &on, Next next) {
    on.schedule(next, silent());
};
template <class On>
concept can_advance = requires(On &on) {
    on.advance(1s);
}
|| requires(On &on) { on.leap(1s); };
template <class On>
concept can_set_wall = requires(On &on) {
    on.set_wall(system_clock::time_point());
};

// A time point must be of the runtime's own clock, in any unit.
template <class On, class Clock>
constexpr bool is_its_clock = can_at<On, std::chrono::time_point<Clock, std::chrono::seconds>>;
template <class On>
constexpr int clocks_of =
    is_its_clock<On, steady_clock> + is_its_clock<On, system_clock> + is_its_clock<On, boot_clock>;
static_assert(is_its_clock<runtime, steady_clock> && clocks_of<runtime> == 1);
static_assert(is_its_clock<workers, steady_clock> && clocks_of<workers> == 1);
static_assert(is_its_clock<wall_runtime, system_clock> && clocks_of<wall_runtime> == 1);
static_assert(is_its_clock<boot_runtime, boot_clock> && clocks_of<boot_runtime> == 1);
static_assert(is_its_clock<virtual_runtime, steady_clock> && clocks_of<virtual_runtime> == 1);
static_assert(is_its_clock<virtual_wall_runtime, system_clock> && clocks_of<virtual_wall_runtime> == 1);

static_assert(can_sleep_until<runtime, steady_clock::time_point>);
static_assert(!can_sleep_until<runtime, system_clock::time_point>);
static_assert(can_every_from<runtime, steady_clock::time_point>);
static_assert(!can_every_from<runtime, system_clock::time_point>);
static_assert(can_schedule<runtime, std::optional<steady_clock::time_point> (*)(steady_clock::time_point)>);
static_assert(!can_schedule<runtime, std::optional<system_clock::time_point> (*)(steady_clock::time_point)>);
static_assert(!can_schedule<runtime, std::optional<system_clock::time_point> (*)(system_clock::time_point)>);

template <class Timer, class Clock>
concept can_arm_at = requires(Timer &timer, typename Clock::time_point moment) {
    timer.at(moment);
};
static_assert(can_arm_at<tickwheel::pinned_timer<silent>, steady_clock>);
static_assert(!can_arm_at<tickwheel::pinned_timer<silent>, system_clock>);

// A delay is a duration, not a time point or a number.
static_assert(can_after<runtime, std::chrono::minutes>);
static_assert(can_after<runtime, std::chrono::duration<double>>);
static_assert(!can_after<runtime, steady_clock::time_point>);
static_assert(!can_after<runtime, int>);
static_assert(!can_at<runtime, std::chrono::seconds>);

// A callback takes nothing, or the event of the clock that armed it.
static_assert(can_after<runtime, std::chrono::seconds, hears<steady_clock>>);
static_assert(!can_after<runtime, std::chrono::seconds, hears<system_clock>>);
static_assert(can_after<wall_runtime, std::chrono::seconds, hears<steady_clock>>);
static_assert(can_at<wall_runtime, system_clock::time_point, hears<system_clock>>);
static_assert(!can_at<wall_runtime, system_clock::time_point, hears<steady_clock>>);
static_assert(!can_after<runtime, std::chrono::seconds, takes<int>>);
static_assert(!can_after<runtime, std::chrono::seconds, takes<tickwheel::basic_event<steady_clock> &>>);
static_assert(!can_after<runtime, std::chrono::seconds, int>);

template <class F, class Of>
concept can_pin = requires(Of &of, F f) {
    tickwheel::pinned_timer<F, Of>(of, f);
};
static_assert(can_pin<silent, runtime> && can_pin<silent, wall_runtime> && can_pin<silent, workers>);
static_assert(can_pin<hears<steady_clock>, runtime> && !can_pin<hears<system_clock>, runtime>);
static_assert(!can_pin<hears<system_clock>, wall_runtime>);  // delays use another clock

// Only virtual time can be moved.
static_assert(can_advance<virtual_runtime> && can_advance<virtual_wall_runtime>);
static_assert(!can_advance<runtime> && !can_advance<wall_runtime> && !can_advance<boot_runtime>);
static_assert(can_set_wall<virtual_wall_runtime> && !can_set_wall<wall_runtime> &&
              !can_set_wall<virtual_runtime>);

// A runtime on virtual time stands in for a real one on the same clock, and for no other.
static_assert(std::is_convertible_v<virtual_runtime &, runtime &>);
static_assert(std::is_convertible_v<virtual_wall_runtime &, wall_runtime &>);
static_assert(std::is_convertible_v<tickwheel::virtual_boot_runtime &, boot_runtime &>);
static_assert(!std::is_convertible_v<virtual_runtime &, wall_runtime &>);
static_assert(std::has_virtual_destructor_v<runtime>);

// Which types can be copied, and which moved.
template <class T> constexpr bool copies = std::is_copy_constructible_v<T> || std::is_copy_assignable_v<T>;
template <class T> constexpr bool moves = std::is_move_constructible_v<T> || std::is_move_assignable_v<T>;
static_assert(!copies<tickwheel::timer> && std::is_nothrow_move_constructible_v<tickwheel::timer> &&
              std::is_nothrow_move_assignable_v<tickwheel::timer>);
static_assert(!copies<runtime> && !moves<runtime>);
static_assert(!copies<workers> && !moves<workers>);
static_assert(!copies<tickwheel::pinned_timer<silent>> && !moves<tickwheel::pinned_timer<silent>>);
static_assert(!copies<tickwheel::sleeper<tw_node>> && !moves<tickwheel::sleeper<tw_node>>);
static_assert(!std::is_convertible_v<tickwheel::runtime_options, runtime>);

constexpr std::chrono::duration<double> no_number(std::numeric_limits<double>::quiet_NaN());

class Misuse : public testing::Test {
  protected:
    virtual_runtime rt;

    void refused(void (*misuse)(virtual_runtime &), std::errc code = std::errc::invalid_argument) {
        EXPECT_EQ(error_of([&] { misuse(rt); }), code);
        EXPECT_EQ(rt.count(), 0U);
        EXPECT_EQ(tw_runtime_count(rt.native()), 0U);
    }
};

TEST_F(Misuse, NegativeDelaysThrow) {
    refused([](auto &on) { on.spawn(-1ns, silent()); });
    refused([](auto &on) { static_cast<void>(on.after(-1h, silent())); });
    refused([](auto &on) { on.spawn(std::chrono::duration<double>(-0.25), silent()); });
    refused([](auto &on) { on.spawn(no_number, silent()); });
    refused([](auto &on) { static_cast<void>(on.sleep_for(-1s)); });
    refused([](auto &on) { on.advance(-1s); });
}

TEST_F(Misuse, PeriodsThatCannotBeKeptThrow) {
    refused([](auto &on) { static_cast<void>(on.every(0s, silent())); });
    refused([](auto &on) { static_cast<void>(on.every(-1s, silent())); });
    refused([](auto &on) { static_cast<void>(on.every(999us, silent())); });  // ticks are 1 ms
    refused([](auto &on) { static_cast<void>(on.every(no_number, silent())); });
}

TEST_F(Misuse, OptionsOutOfRangeThrow) {
    refused([](auto &on) { static_cast<void>(on.after(1s, silent(), {.slack = -1ns})); });
    refused([](auto &on) { static_cast<void>(on.every(1s, silent(), {.first = -1ns})); });
    refused([](auto &on) { static_cast<void>(on.every(1s, silent(), {.slack = -1ns})); });
    refused([](auto &on) { static_cast<void>(on.every(1s, silent(), {.fires = TW_FIRES_MAX + 1})); });
}

TEST_F(Misuse, OfATimerThrowsAndLeavesItAsItIs) {
    tickwheel::pinned_timer pinned(rt, silent{});
    auto timer = rt.after(5s, silent());
    pinned.after(5s);
    EXPECT_EQ(error_of([&] { pinned.after(-1ns); }), std::errc::invalid_argument);
    EXPECT_EQ(error_of([&] { pinned.every(0s); }), std::errc::invalid_argument);
    EXPECT_EQ(error_of([&] { pinned.move(-1ns); }), std::errc::invalid_argument);
    EXPECT_EQ(error_of([&] { pinned.postpone(-1ns); }), std::errc::invalid_argument);
    EXPECT_EQ(error_of([&] { timer.move(-1ns); }), std::errc::invalid_argument);
    EXPECT_EQ(pinned.remaining(), 5s);
    EXPECT_EQ(timer.remaining(), 5s);
}

TEST(MisuseOfOptions, ThrowsWhatTheLibraryAnswers) {
    EXPECT_EQ(error_of([] { runtime rt({.tick = -1ns}); }), std::errc::invalid_argument);
    EXPECT_EQ(error_of([] { runtime rt({.driver = "hourglass"}); }), std::errc::no_such_file_or_directory);
    EXPECT_EQ(error_of([] { wall_runtime rt({.driver = "sleep"}); }), std::errc::operation_not_supported);
    EXPECT_EQ(error_of([] { virtual_runtime rt({.driver = "sleep"}); }), std::errc::invalid_argument);
    EXPECT_EQ(error_of([] { virtual_wall_runtime rt({.own_driver = tw_driver_named("epoll")}); }),
              std::errc::invalid_argument);
    EXPECT_EQ(error_of([] { runtime rt({.capacity = TW_TIMERS_MAX + 1}); }), std::errc::invalid_argument);
    virtual_runtime rt;
    EXPECT_EQ(error_of([&] { tickwheel::basic_workers pool(rt, {.threads = TW_WORKERS_MAX + 1}); }),
              std::errc::invalid_argument);
}

TEST(MisuseOfOptions, IsExplained) {
    try {
        runtime rt({.driver = "hourglass"});
        FAIL();
    } catch (const std::system_error &error) {
        EXPECT_NE(std::string(error.what()).find("no driver has this name"), std::string::npos);
        EXPECT_EQ(error.code().category(), std::generic_category());
    }
}

}  // namespace

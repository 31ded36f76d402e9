// tickwheel/chrono.hpp - the clocks of the C++ interface, and how it converts durations and errors.
// See tickwheel.hpp.
#include <tickwheel/cplusplus.hpp>
#if defined(TICKWHEEL_CPLUSPLUS_20) && !defined(TICKWHEEL_CHRONO_HPP)
#define TICKWHEEL_CHRONO_HPP

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <optional>
#include <ratio>
#include <system_error>
#include <type_traits>
#include <utility>

#include <tickwheel/runtime.h>

namespace tickwheel {

// Time since the system started, suspended time included (CLOCK_BOOTTIME).
struct boot_clock {
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<boot_clock>;
    static constexpr bool is_steady = true;

    [[nodiscard]] static time_point now() noexcept {
        std::timespec now;
        ::clock_gettime(CLOCK_BOOTTIME, &now);
        return time_point(std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec));
    }
};

// The clocks that a runtime can follow. `driver` is the default driver for the clock, `virtual_id`
// the clock that stands in for it on virtual time, and `delay_clock` the clock that measures delays: a
// delay is not affected when the wall clock is set. steady_clock is CLOCK_MONOTONIC and system_clock
// is CLOCK_REALTIME, as in libstdc++ and libc++ on Linux.
template <class Clock> struct clock_traits;
template <> struct clock_traits<std::chrono::steady_clock> {
    static constexpr tw_clock id = TW_CLOCK_MONOTONIC, virtual_id = TW_CLOCK_VIRTUAL;
    static constexpr const char *driver = "sleep";
    using delay_clock = std::chrono::steady_clock;
};
template <> struct clock_traits<std::chrono::system_clock> {
    static constexpr tw_clock id = TW_CLOCK_WALL, virtual_id = TW_CLOCK_WALL;
    static constexpr const char *driver = "timerfd";
    using delay_clock = std::chrono::steady_clock;
};
template <> struct clock_traits<boot_clock> {
    static constexpr tw_clock id = TW_CLOCK_BOOT, virtual_id = TW_CLOCK_VIRTUAL;
    static constexpr const char *driver = "timerfd";
    using delay_clock = boot_clock;
};

namespace detail {

// Returns a result of the C interface; throws it as std::system_error if it is negative.
inline int check(int result) {
    if (result < 0)
        throw std::system_error(-result, std::generic_category(), tw_explain(result));
    return result;
}

[[noreturn]] inline void refuse(const char *why) {
    throw std::system_error(EINVAL, std::generic_category(), why);
}

// a + b, or TW_NO_DEADLINE if that is too much; neither is negative.
inline std::int64_t saturating_add(std::int64_t a, std::int64_t b) {
    return b > TW_NO_DEADLINE - a ? TW_NO_DEADLINE : a + b;
}

// count * Num / Den, rounded up; TW_NO_DEADLINE if that is too much. `count` is not negative.
template <std::intmax_t Num, std::intmax_t Den> std::int64_t scaled_up(std::int64_t count) {
    static_assert(Num <= INT64_MAX / Den, "a unit of time too odd to count in nanoseconds");
    const std::int64_t whole = count / Den, rest = (count % Den * Num + Den - 1) / Den;
    return whole > (TW_NO_DEADLINE - rest) / Num ? TW_NO_DEADLINE : whole * Num + rest;
}

// A duration in nanoseconds, rounded up (P1). Returns TW_NO_DEADLINE if it is too long, and -1 if it
// is negative.
template <class Rep, class Period> std::int64_t nanoseconds_in(std::chrono::duration<Rep, Period> length) {
    using unit = std::ratio_divide<Period, std::nano>;
    if constexpr (std::is_floating_point_v<Rep>) {
        const auto ns = std::ceil(static_cast<long double>(length.count()) * unit::num / unit::den);
        if (std::isnan(ns))
            refuse("the duration is not a number");
        constexpr long double end = 9223372036854775808.0L;
        return length.count() < 0 ? -1 : ns >= end ? TW_NO_DEADLINE : static_cast<std::int64_t>(ns);
    } else {
        static_assert(std::is_integral_v<Rep>, "a duration counts in integers or floating-point numbers");
        if (std::cmp_less(length.count(), 0))
            return -1;
        if (std::cmp_greater(length.count(), INT64_MAX))
            return TW_NO_DEADLINE;
        return scaled_up<unit::num, unit::den>(static_cast<std::int64_t>(length.count()));
    }
}

template <class Rep, class Period> std::int64_t delay_in(std::chrono::duration<Rep, Period> delay) {
    const std::int64_t ns = nanoseconds_in(delay);
    if (ns < 0)
        refuse("the delay is negative");
    return ns;
}
template <class Rep, class Period>
std::int64_t period_in(std::chrono::duration<Rep, Period> period,
                       const char *why = "the period is not positive") {
    const std::int64_t ns = nanoseconds_in(period);
    if (ns <= 0)
        refuse(why);
    return ns;
}
template <class Rep, class Period> std::int64_t ttl_in(std::chrono::duration<Rep, Period> ttl) {
    return period_in(ttl, "the time to live is not positive");
}

inline std::optional<std::chrono::nanoseconds> remaining_of(std::int64_t ns) {
    if (ns == TW_NO_DEADLINE)
        return std::nullopt;
    return std::chrono::nanoseconds(ns);
}

// A time point as a reading of its clock. One before the clock's zero counts as zero.
template <class Clock, class Duration>
std::int64_t reading_of(std::chrono::time_point<Clock, Duration> moment) {
    const std::int64_t ns = nanoseconds_in(moment.time_since_epoch());
    return ns < 0 ? 0 : ns;
}

}  // namespace detail
}  // namespace tickwheel

#endif

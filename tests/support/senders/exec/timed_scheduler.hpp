// A stand-in for the timed schedulers of stdexec: see stdexec/execution.hpp.
#pragma once

#include <concepts>
#include <utility>

#include "../stdexec/execution.hpp"

namespace exec {

struct now_t {
    template <class Scheduler> auto operator()(const Scheduler &on) const noexcept { return on.now(); }
};
inline constexpr now_t now{};

template <class Scheduler> using time_point_of_t = decltype(now(std::declval<Scheduler>()));
template <class Scheduler> using duration_of_t = typename time_point_of_t<Scheduler>::duration;

struct schedule_after_t {
    template <class Scheduler>
    stdexec::sender auto operator()(Scheduler &&on, const duration_of_t<Scheduler> &delay) const {
        return on.schedule_after(delay);
    }
};
inline constexpr schedule_after_t schedule_after{};

struct schedule_at_t {
    template <class Scheduler>
    stdexec::sender auto operator()(Scheduler &&on, const time_point_of_t<Scheduler> &moment) const {
        return on.schedule_at(moment);
    }
};
inline constexpr schedule_at_t schedule_at{};

template <class S>
concept timed_scheduler = stdexec::scheduler<S> &&
    requires(S &&s, const duration_of_t<S> &delay, const time_point_of_t<S> &moment) {
    schedule_after(std::forward<S>(s), delay);
    schedule_at(std::forward<S>(s), moment);
};

}  // namespace exec

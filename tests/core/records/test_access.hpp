// Access to the state of a wheel of records, for tests that break it.
#pragma once

#include "core/record_wheel.hpp"

namespace tickwheel::core {

template <class Wheel> struct record_test_access {
    static constexpr std::uint32_t other_wheel = Wheel::stamp_wheel;  // changes in the stamp of a record
    Wheel &wheel;

    tick &cursor() const { return wheel.cursor_; }
    tick &origin() const { return wheel.origin_; }
    tick &now() const { return wheel.now_; }
    tick &quiet_until() const { return wheel.quiet_until_; }
    unsigned &open_level() const { return wheel.open_level_; }
    std::size_t &entries() const { return wheel.entries_; }
    std::size_t &armed() const { return wheel.armed_; }
    auto &levels() const { return wheel.levels_; }
    order_queue &queue() const { return wheel.late_; }
    std::uint64_t &base() const { return wheel.late_.base_; }
    std::uint64_t &least(unsigned log) const { return wheel.late_.least_[log]; }
    std::uint16_t &busy(unsigned level) const { return wheel.late_.busy_[level]; }
    std::uint32_t &busy_levels() const { return wheel.late_.busy_levels_; }
    unsigned &open() const { return wheel.late_.open_; }
    log_chunk *&sweep_at() const { return wheel.sweep_at_; }
    log_chunk *&sweep_before() const { return wheel.sweep_before_; }
    bool is_sweeping() const { return wheel.sweep_next_ != 0; }
    log *&swept() const { return wheel.swept_; }
};

}  // namespace tickwheel::core

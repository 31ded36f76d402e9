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
    log_sort &sort() const { return wheel.sort_; }
    std::uint32_t &runs() const { return wheel.sort_.runs_; }
    log &left() const { return wheel.sort_.left(); }
    log &right() const { return wheel.sort_.right(); }
    log &merged() const { return wheel.sort_.merged(); }
    log_chunk *&sweep_at() const { return wheel.sweep_at_; }
    log_chunk *&sweep_before() const { return wheel.sweep_before_; }
    bool is_sweeping() const { return wheel.sweep_next_ != 0; }
    log *&swept() const { return wheel.swept_; }
};

}  // namespace tickwheel::core

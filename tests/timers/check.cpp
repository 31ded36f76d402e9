// tw_runtime_check finds a damaged timer on either timeline of a runtime.
#include <tickwheel/timers.h>

#include "support/test.h"
#include "timers/cells.hpp"

namespace {

void nothing(const tw_event *, void *) {}

tw_handle start(tw_timers *set, int absolute) {
    tw_handle id = TW_NO_HANDLE;
    tw_when when = {};
    tw_task task = {};
    when.due_ns = TW_SECOND;
    when.absolute = absolute;
    task.fn = nothing;
    assert_int_equal(tw_timer_start(set, &id, &when, &task), 0);
    return id;
}

TEST(check_finds_a_timer_that_is_damaged) {
    tw_runtime_options options = {};
    tw_runtime *rt = nullptr;
    tw_timers *set = nullptr;
    options.driver = "manual";
    options.clock = TW_CLOCK_WALL;
    assert_int_equal(tw_runtime_new(&rt, &options), 0);
    assert_int_equal(tw_timers_new(&set, rt, nullptr), 0);
    for (int absolute = 0; absolute < 2; ++absolute) {
        const auto cell = static_cast<std::uint32_t>(start(set, absolute));
        assert_int_equal(tw_runtime_check(rt, nullptr, nullptr), 0);
        tickwheel::core::tick &due = tickwheel::timers::record_at(cell).timing.due;
        const tickwheel::core::tick was = due;
        due = 1;
        assert_int_equal(tw_runtime_check(rt, nullptr, nullptr), 1);
        due = was;
    }
    tw_runtime_free(rt);
}

}  // namespace

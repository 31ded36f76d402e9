/* From the ticks of a wheel to those of a clock of 64 bits. */
#include "support/test.h"

#include <tickwheel/board/deadline.h>

#define LATE (UINT64_C(1) << 40) /* a tick of the clock that does not fit in 32 bits */

TEST(a_deadline_ahead_is_as_far_ahead_of_the_clock) {
    assert_int_equal(tw_clock_deadline(LATE, 7, 7), LATE);
    assert_int_equal(tw_clock_deadline(LATE, 7, 12), LATE + 5);
    assert_int_equal(tw_clock_deadline(LATE, TW_NEVER - 2, 3), LATE + 6); /* other origin */
}

TEST(a_deadline_that_has_passed_is_now) { assert_int_equal(tw_clock_deadline(LATE, 12, 7), LATE); }

TEST(a_wheel_whose_ticks_wrap_is_advanced_in_time_also_with_nothing_pending) {
    const uint64_t longest = UINT64_C(1) << 30;
    if (sizeof(tw_tick) == 8) {
        assert_true(tw_clock_deadline(LATE, 7, TW_NEVER) == UINT64_MAX);
        assert_int_equal(tw_clock_deadline(LATE, 7, 7 + (tw_tick)LATE), 2 * LATE);
        return;
    }
    assert_int_equal(tw_clock_deadline(LATE, 7, TW_NEVER), LATE + longest);
    assert_int_equal(tw_clock_deadline(LATE, 7, 7 + (tw_tick)INT32_MAX), LATE + longest);
    assert_int_equal(tw_clock_deadline(LATE, 7, 6 + (tw_tick)longest), LATE + longest - 1);
}

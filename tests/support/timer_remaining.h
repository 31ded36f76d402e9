/* timer_remaining.h - the time that a timer of a set has left, for tests. */
#ifndef TICKWHEEL_TESTS_SUPPORT_TIMER_REMAINING_H
#define TICKWHEEL_TESTS_SUPPORT_TIMER_REMAINING_H

#include <tickwheel/timers.h>

/* 0 if the timer is overdue or its last fire has begun; TW_NO_DEADLINE if the timer is gone, and 1 less if no
 * clock reaches its deadline. */
static inline int64_t timer_remaining(struct tw_timers *timers, tw_handle handle) {
    struct tw_entry entry;
    if (tw_timer_get(timers, handle, &entry) != 0)
        return TW_NO_DEADLINE;
    if (entry.remaining_ns == TW_NO_DEADLINE)
        return TW_NO_DEADLINE - 1;
    return entry.remaining_ns < 0 ? 0 : entry.remaining_ns;
}

#endif

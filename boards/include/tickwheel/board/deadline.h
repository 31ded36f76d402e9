/* tickwheel/board/deadline.h - converts the next tick of a wheel to a tick of the clock, which has 64 bits:
 * for wheels with TW_ENGINE=tree32, whose ticks wrap, and for wheels that began at a tick other than 0.
 *
 *     const uint64_t now = tw_systick_now();
 *     tw_advance(&wheel, (tw_tick)now, TW_UNBOUNDED);
 *     const uint32_t mask = tw_interrupts_mask();
 *     tw_systick_sleep_until(tw_clock_deadline(now, (tw_tick)now, tw_next(&wheel)));
 *     tw_interrupts_restore(mask); */
#ifndef TICKWHEEL_BOARD_DEADLINE_H
#define TICKWHEEL_BOARD_DEADLINE_H

#include <tickwheel/tw.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the clock's tick to sleep until. `now` is a tick of the clock, `here` the wheel's at the same time,
 * and `next` the answer of tw_next. Returns `now` if `next` is not ahead, and UINT64_MAX, no deadline, if
 * `next` is TW_NEVER. With TW_ENGINE=tree32 the result is never more than 2^30 ticks ahead, even if nothing
 * is pending: a wheel whose ticks wrap must be advanced before the ticks lose their order. */
static inline uint64_t tw_clock_deadline(uint64_t now, tw_tick here, tw_tick next) {
    const tw_tick longest = TW_NEVER / 4 + 1;
    const tw_tick ahead = next == TW_NEVER ? longest : next - here;
    if (next == TW_NEVER && TW_TICK_BITS == 64)
        return UINT64_MAX;
    if (ahead > TW_NEVER / 2)
        return now;
    return now + (TW_TICK_BITS == 64 || ahead < longest ? ahead : longest);
}

#ifdef __cplusplus
}
#endif

#endif

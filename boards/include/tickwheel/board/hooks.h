/* tickwheel/board/hooks.h - functions of the program that the clocks of boards call around each sleep: to
 * choose its depth, to stop other clocks meanwhile, or to count.
 *
 *     void tw_before_sleep(uint64_t ticks) {
 *         if (ticks > WORTH_STOPPING)
 *             SCB->SCR |= SCB_SCR_SLEEPDEEP_Msk;
 *     }
 *     void tw_after_sleep(void) { SCB->SCR &= ~SCB_SCR_SLEEPDEEP_Msk; }
 *
 * A program that has them defines TW_SLEEP_HOOKS for the clock and for itself; in CMake it makes a clock of
 * its own, tickwheel_add_clock(my_clock SLEEP_HOOKS ON). Without that there are none, and they cost nothing.
 *
 * A sleep that is longer than a clock's counter can count is made of several, each with its hooks. Hooks
 * run with all interrupts masked and leave them so; every interrupt waits for them. They may read the
 * clock, and they call nothing else of the library. */
#ifndef TICKWHEEL_BOARD_HOOKS_H
#define TICKWHEEL_BOARD_HOOKS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef TW_SLEEP_HOOKS

/* Called before a sleep, which the clock ends when `ticks` more ticks have begun: after more than
 * `ticks` - 1 of them. With 0 its interrupt is pending, with UINT64_MAX the clock does not end it. Another
 * interrupt may end it at any time. */
void tw_before_sleep(uint64_t ticks);

/* Called after a sleep, before the interrupt that has ended it is served. */
void tw_after_sleep(void);

#else
static inline void tw_before_sleep(uint64_t ticks) { (void)ticks; }
static inline void tw_after_sleep(void) {}
#endif

#ifdef __cplusplus
}
#endif

#endif

/* tickwheel/board/hooks.h - functions of the program that the clocks of boards call around each sleep: to
 * choose its depth, to stop other clocks meanwhile, or to count.
 *
 *     void tw_before_sleep(uint64_t ticks) {
 *         if (ticks > WORTH_STOPPING)
 *             SCB->SCR |= SCB_SCR_SLEEPDEEP_Msk;
 *     }
 *     void tw_after_sleep(void) { SCB->SCR &= ~SCB_SCR_SLEEPDEEP_Msk; }
 *
 * A program with hooks defines TW_SLEEP_HOOKS for the clock and for itself; in CMake it makes a clock of its
 * own, tickwheel_add_clock(my_clock SLEEP_HOOKS ON). Without TW_SLEEP_HOOKS the clock calls no hooks, and
 * they cost nothing.
 *
 * A sleep that is longer than a clock's counter can count consists of several sleeps, each with its hooks.
 * Hooks run with all interrupts masked and must leave them masked; every interrupt waits for the hooks. They
 * may read the clock, and must call nothing else of the library. */
#ifndef TICKWHEEL_BOARD_HOOKS_H
#define TICKWHEEL_BOARD_HOOKS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef TW_SLEEP_HOOKS

/* Called before a sleep. The clock ends the sleep when `ticks` more ticks have begun, so after more than
 * `ticks` - 1 ticks. If `ticks` is 0, the clock's interrupt is already pending; if it is UINT64_MAX, the
 * clock does not end the sleep. Another interrupt may end the sleep at any time. */
void tw_before_sleep(uint64_t ticks);

/* Called after a sleep, before the processor serves the interrupt that has ended it. */
void tw_after_sleep(void);

#else
static inline void tw_before_sleep(uint64_t ticks) { (void)ticks; }
static inline void tw_after_sleep(void) {}
#endif

#ifdef __cplusplus
}
#endif

#endif

/* tickwheel/cortexm/systick.h - a clock on the SysTick timer of a Cortex-M: the present tick, and sleep.
 *
 *     int main(void) {
 *         tw_systick_start(CLOCK_HZ / 1000, TW_TICKLESS);     // ticks of 1 ms
 *         tw_init(&wheel, tw_systick_now(), 0);
 *         for (;;) {
 *             tw_advance(&wheel, tw_systick_now(), TW_UNBOUNDED);
 *             const uint32_t mask = tw_interrupts_mask();
 *             tw_systick_sleep_until(tw_next(&wheel));
 *             tw_interrupts_restore(mask);                    // the interrupt that woke it runs here
 *         }
 *     }
 *     void SysTick_Handler(void) { tw_systick_isr(); }
 *
 * Interrupts are masked from tw_next to the sleep. Otherwise an interrupt could arm an earlier timer
 * in between, and the sleep would miss it. An interrupt that is pending ends the sleep, even while it
 * is masked.
 *
 * If the library's lock masks by priority (TW_BASEPRI), the loop may do so as well: then the search of
 * tw_next delays no more urgent interrupt.
 *
 *             const uint32_t former = tw_interrupts_mask_from(TW_BASEPRI);
 *             tw_systick_sleep_until(tw_next(&wheel));
 *             tw_interrupts_restore_from(former);
 *
 * No interrupt that arms is missed: from tw_next on it stays pending, and the clock sleeps with all
 * interrupts masked by PRIMASK and none by BASEPRI, so that each ends the sleep. The clock itself masks
 * all interrupts only for the fixed number of instructions in which it reads or sets its counter.
 *
 * In an interrupt, arm from the present, at tw_systick_now() + delay + 1: tw_now(&wheel) is the tick before
 * the sleep.
 *
 * With TW_ENGINE=tree32 widen the result of tw_next with tw_clock_deadline (board/deadline.h) before you pass
 * it to the clock; otherwise the clock no longer sleeps after 2^32 ticks.
 *
 * Ticks are 64 bits wide and count from 0 at the start. The clock is never ahead of the timer that it
 * reads. It does not drift: the timer runs on from tick to tick. The clock restarts the timer, and falls a
 * few cycles behind, only if an interrupt during a sleep arms an earlier deadline; see systick.c.
 *
 * The clock owns SysTick. SysTick must run while the CPU sleeps (on most parts: not in deep sleep),
 * and its interrupt must not be delayed for a tick or longer: of two that come while interrupts are
 * masked one is lost, and the clock falls behind by a tick. tw_systick_now may be called from anywhere
 * except NMI and HardFault, tw_systick_isr from its handler alone, and the other functions from main. */
#ifndef TICKWHEEL_CORTEXM_SYSTICK_H
#define TICKWHEEL_CORTEXM_SYSTICK_H

#include <stdint.h>

#include <tickwheel/cortexm/interrupts.h>

#ifdef __cplusplus
extern "C" {
#endif

enum tw_systick_mode {
    TW_TICKING, /* an interrupt at every tick */
    TW_TICKLESS /* no interrupts at ticks that tw_systick_sleep_until sleeps through */
};

enum { TW_SYSTICK_FEWEST_CYCLES = 256, TW_SYSTICK_MOST_CYCLES = 0x1000000 };

/* Starts the clock in `mode`: tick 0 begins now. `cycles_per_tick` is in cycles of the core's clock,
 * TW_SYSTICK_FEWEST_CYCLES to TW_SYSTICK_MOST_CYCLES. Returns 0, or -22 (EINVAL) if it is out of
 * these bounds. */
int tw_systick_start(uint32_t cycles_per_tick, enum tw_systick_mode mode);

/* Returns the tick that has begun. It never goes back. */
uint64_t tw_systick_now(void);

/* Sleeps until the tick `deadline` has begun (UINT64_MAX: no deadline), or an interrupt other than
 * SysTick's is pending; with TW_TICKING it returns after every interrupt. Returns at once if the tick
 * has already begun. Call it with interrupts masked, see above. */
void tw_systick_sleep_until(uint64_t deadline);

/* Call this from the handler of the SysTick interrupt. */
void tw_systick_isr(void);

#ifdef __cplusplus
}
#endif

#endif

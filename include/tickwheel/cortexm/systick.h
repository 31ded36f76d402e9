/* cortexm/systick.h - ticks from the SysTick timer of a Cortex-M: what time it is, and sleep.
 *
 *     int main(void) {
 *         tw_systick_start(CLOCK_HZ / 1000, TW_TICKLESS);     // ticks of 1 ms
 *         tw_init(&wheel, tw_systick_now(), 0);
 *         for (;;) {
 *             tw_advance(&wheel, tw_systick_now(), TW_UNBOUNDED);
 *             const uint32_t mask = tw_interrupts_mask();
 *             tw_systick_sleep_until(tw_next(&wheel));
 *             tw_interrupts_restore(mask);                    // what woke it is served here
 *         }
 *     }
 *     void SysTick_Handler(void) { tw_systick_isr(); }
 *
 * The interrupts are masked from the question to the sleep, so that none can arm something
 * earlier in between and be slept over: one that is pending ends the sleep, masked or not.
 *
 * Interrupts arm from the present, at tw_systick_now() + delay + 1: tw_now(&wheel) is of before
 * the sleep.
 *
 * With TW_TICK_BITS=32 widen what tw_next says, or after 2^32 ticks nothing is slept for: see
 * clock_deadline in toolchains/boards/clock.h.
 *
 * Ticks count from 0 at the start, with 64 bits. The clock is never ahead of the timer that it
 * reads. It does not drift: the timer runs on from tick to tick and is not restarted, but
 * where something was armed earlier than what is slept on; see systick.c.
 *
 * SysTick belongs to this file. It has to run while the CPU sleeps (on most parts: not in
 * deep sleep), and its interrupt must not be held up for a tick or longer: of two that come
 * while interrupts are masked one is lost, and the clock falls behind by a tick.
 * tw_systick_now may be called from anywhere but NMI and HardFault, the rest from main. */
#ifndef TICKWHEEL_CORTEXM_SYSTICK_H
#define TICKWHEEL_CORTEXM_SYSTICK_H

#include <stdint.h>

#include <tickwheel/cortexm/interrupts.h>

#ifdef __cplusplus
extern "C" {
#endif

enum tw_systick_mode {
    TW_TICKING, /* an interrupt at each tick */
    TW_TICKLESS /* and none at the ticks that sleep_until sleeps through */
};

enum { TW_SYSTICK_FEWEST_CYCLES = 256, TW_SYSTICK_MOST_CYCLES = 0x1000000 };

/* Tick 0 begins now. `cycles_per_tick`: of the core's clock, TW_SYSTICK_FEWEST_CYCLES to
 * TW_SYSTICK_MOST_CYCLES. Returns 0, or -22 (EINVAL) if it is out of these bounds. */
int tw_systick_start(uint32_t cycles_per_tick, enum tw_systick_mode mode);

/* The tick that has begun. Never goes back. */
uint64_t tw_systick_now(void);

/* To be called with interrupts masked, see above. Returns when the tick `deadline` (UINT64_MAX:
 * none) has begun, at once if it has already; or as soon as another interrupt than SysTick's is
 * pending. With TW_TICKING, after each interrupt. */
void tw_systick_sleep_until(uint64_t deadline);

/* What the handler of the SysTick interrupt has to do. */
void tw_systick_isr(void);

#ifdef __cplusplus
}
#endif

#endif

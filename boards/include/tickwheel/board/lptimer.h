/* tickwheel/board/lptimer.h - a clock on a low-power timer (RTC, LPTIM): the present tick, and sleep.
 *
 * The clock needs a counter that runs on in deep sleep, usually at 32768 Hz, and a compare register. The
 * board supplies a function that reads the counter, and one that sets the register:
 *
 *     static uint32_t read_counter(void) { return RTC->COUNTER; }
 *     static int set_compare(uint32_t count) { RTC->COMPARE = count; return 1; }
 *     static const struct tw_lptimer rtc = {24, 3, read_counter, set_compare};
 *
 *     int main(void) {
 *         ...                                             // start the counter, enable its interrupt
 *         tw_lptimer_start(&rtc, 32);                     // ticks of 32 counts, 1/1024 s
 *         tw_init(&wheel, tw_lptimer_now(), 0);
 *         for (;;) {
 *             tw_advance(&wheel, tw_lptimer_now(), TW_UNBOUNDED);
 *             const uint32_t mask = tw_interrupts_mask();
 *             tw_lptimer_sleep_until(tw_next(&wheel));
 *             tw_interrupts_restore(mask);                // the interrupt that woke it runs here
 *         }
 *     }
 *     void RTC_Handler(void) {
 *         RTC->MATCHED = 0;                               // acknowledge it
 *         tw_lptimer_isr();
 *     }
 *
 * cortexm/systick.h says why interrupts are masked from tw_next to the sleep, how interrupts arm, and what
 * 32-bit ticks need. The program chooses the depth of each sleep, see board/hooks.h.
 *
 * Ticks are 64 bits wide and count from 0 at the start. The clock never writes the counter, so it does not
 * drift and is never ahead of the counter. The counter may wrap at any time: even while the program is awake,
 * the clock has an interrupt after three quarters of the counter's range at the latest. The program must not
 * delay that interrupt for the last quarter, which is 0.5 s for 16 bits at 32768 Hz. So each time that the
 * clock ends a sleep it writes the register twice, for this interrupt and then for the next sleep: if the
 * register is slow, tw_lptimer_sleep_until returns at once, and the loop calls it again, until the register
 * takes the second value.
 *
 * tw_lptimer_now may be called from anywhere except NMI and HardFault, tw_lptimer_isr from the timer's
 * handler alone, and the other functions from main. */
#ifndef TICKWHEEL_BOARD_LPTIMER_H
#define TICKWHEEL_BOARD_LPTIMER_H

#include <stdint.h>

#include <tickwheel/board/interrupts.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A counter that goes up by 1 from 0 to 2^bits - 1, and on from 0, and its compare register. The clock calls
 * the functions with all interrupts masked. */
struct tw_lptimer {
    /* Width of the counter and of the compare register: 8 to 32. */
    uint32_t bits;

    /* How many counts a compare value must be ahead of the counter when set_compare returns, so that the
     * counter certainly meets it: 1 to an eighth of the range. A register that a slower clock takes over
     * needs 2 or 3. If the interrupt may come some counts early, add those counts. */
    uint32_t least_ahead;

    /* Returns the counter; bits above its width do not matter. If the counter changes just then, any result
     * will do: the clock reads until two readings agree. The processor must be able to read twice within a
     * count. */
    uint32_t (*read)(void);

    /* Makes the interrupt come when the counter reaches `count`, instead of at the former value, and returns
     * 1. Returns 0 and does nothing if the register cannot be written yet, because it is still taking over
     * the former value; the clock then asks again. An interrupt for the former value does no harm. */
    int (*set_compare)(uint32_t count);
};

/* Starts the clock on `timer`, whose counter must be running: tick 0 begins at the present count. `*timer`
 * must stay in place while the clock is in use. `counts_per_tick` is 1 to a quarter of the range. Returns 0,
 * or -22 (EINVAL) if a number is out of its bounds. */
int tw_lptimer_start(const struct tw_lptimer *timer, uint32_t counts_per_tick);

/* Returns the tick that has begun. It never goes back. */
uint64_t tw_lptimer_now(void);

/* Sleeps until the tick `deadline` has begun (UINT64_MAX: no deadline), or an interrupt is pending. Returns
 * early if the deadline is further away than three quarters of the range, or nearer than a compare value may
 * be: the loop calls it again. Returns at once if the tick has already begun. Call it with interrupts masked,
 * see above. */
void tw_lptimer_sleep_until(uint64_t deadline);

/* Call this from the handler of the compare register's interrupt, after acknowledging it. */
void tw_lptimer_isr(void);

#ifdef __cplusplus
}
#endif

#endif

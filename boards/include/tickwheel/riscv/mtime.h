/* tickwheel/riscv/mtime.h - a clock on the machine timer of RISC-V: the present tick, and sleep.
 *
 *     int main(void) {
 *         tw_mtime_start(MTIME, MTIMECMP, MTIME_HZ / 1000, TW_TICKLESS);   // ticks of 1 ms
 *         tw_init(&wheel, tw_mtime_now(), 0);
 *         for (;;) {
 *             tw_advance(&wheel, tw_mtime_now(), TW_UNBOUNDED);
 *             const uint32_t mask = tw_interrupts_mask();
 *             tw_mtime_sleep_until(tw_next(&wheel));
 *             tw_interrupts_restore(mask);                 // the interrupt that woke it runs here
 *         }
 *     }
 *     // and in the trap, for the timer's interrupt: tw_mtime_isr();
 *
 * Interrupts are masked from tw_next to the sleep. Otherwise an interrupt could arm an earlier timer
 * in between, and the sleep would miss it. An interrupt that is pending ends the sleep, even while it
 * is masked.
 *
 * In an interrupt, arm from the present, at tw_mtime_now() + delay + 1: tw_now(&wheel) is the tick before
 * the sleep.
 *
 * With TW_ENGINE=tree32 widen the result of tw_next with tw_clock_deadline (board/deadline.h) before you pass
 * it to the clock; otherwise the clock no longer sleeps after 2^32 ticks.
 *
 * Ticks are 64 bits wide and count from 0 at the start. The clock is mtime itself, so it does not
 * drift and is never ahead, and a late timer interrupt does no harm.
 *
 * For one hart in machine mode. The clock owns that hart's mtimecmp. tw_mtime_now may be called from
 * anywhere, tw_mtime_isr from the timer's handler alone, and the other functions from main. */
#ifndef TICKWHEEL_RISCV_MTIME_H
#define TICKWHEEL_RISCV_MTIME_H

#include <stdint.h>

#include <tickwheel/riscv/interrupts.h>

#ifdef __cplusplus
extern "C" {
#endif

enum tw_mtime_mode {
    TW_TICKING, /* an interrupt at every tick */
    TW_TICKLESS /* an interrupt only at the end of tw_mtime_sleep_until */
};

/* Starts the clock in `mode`: tick 0 begins now. `mtime` and `mtimecmp` are the addresses of the two
 * registers, from the part's manual. `counts_per_tick` is in counts of mtime. Returns 0, or -22 (EINVAL) if
 * `counts_per_tick` is 0. */
int tw_mtime_start(uintptr_t mtime, uintptr_t mtimecmp, uint32_t counts_per_tick, enum tw_mtime_mode mode);

/* Returns the tick that has begun. It never goes back. */
uint64_t tw_mtime_now(void);

/* Sleeps until the tick `deadline` has begun (UINT64_MAX: no deadline), or an interrupt other than
 * the timer's is pending; with TW_TICKING it returns after every interrupt. Returns at once if the tick
 * has already begun. Call it with interrupts masked, see above. */
void tw_mtime_sleep_until(uint64_t deadline);

/* Call this from the handler of the machine timer interrupt. */
void tw_mtime_isr(void);

#ifdef __cplusplus
}
#endif

#endif

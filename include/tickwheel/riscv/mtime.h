/* riscv/mtime.h - ticks from the machine timer of RISC-V: what time it is, and sleep.
 *
 *     int main(void) {
 *         tw_mtime_start(MTIME, MTIMECMP, MTIME_HZ / 1000, TW_TICKLESS);   // ticks of 1 ms
 *         tw_init(&wheel, tw_mtime_now(), 0);
 *         for (;;) {
 *             tw_advance(&wheel, tw_mtime_now(), TW_UNBOUNDED);
 *             const uint32_t mask = tw_interrupts_mask();
 *             tw_mtime_sleep_until(tw_next(&wheel));
 *             tw_interrupts_restore(mask);                 // what woke it is served here
 *         }
 *     }
 *     // and in the trap, for the timer's interrupt: tw_mtime_isr();
 *
 * The interrupts are masked from the question to the sleep, so that none can arm something
 * earlier in between and be slept over: one that is pending ends the sleep, masked or not.
 *
 * Interrupts arm from the present, at tw_mtime_now() + delay + 1: tw_now(&wheel) is of before
 * the sleep.
 *
 * With TW_TICK_BITS=32 widen what tw_next says, or after 2^32 ticks nothing is slept for: see
 * clock_deadline in toolchains/boards/clock.h.
 *
 * Ticks count from 0 at the start, with 64 bits. The clock is mtime itself, so it does not
 * drift, is never ahead, and it does not matter how late the interrupt is served.
 *
 * For one hart in machine mode, whose mtimecmp belongs to this file. tw_mtime_now may be called
 * from anywhere, the rest from main. */
#ifndef TICKWHEEL_RISCV_MTIME_H
#define TICKWHEEL_RISCV_MTIME_H

#include <stdint.h>

#include <tickwheel/riscv/interrupts.h>

#ifdef __cplusplus
extern "C" {
#endif

enum tw_mtime_mode {
    TW_TICKING, /* an interrupt at each tick */
    TW_TICKLESS /* and none but at the end of sleep_until */
};

/* Tick 0 begins now. `mtime`, `mtimecmp`: addresses of the two registers, see the manual of
 * the part. `counts_per_tick`: of mtime. Returns 0, or -22 (EINVAL) if that is 0. */
int tw_mtime_start(uintptr_t mtime, uintptr_t mtimecmp, uint32_t counts_per_tick, enum tw_mtime_mode mode);

/* The tick that has begun. Never goes back. */
uint64_t tw_mtime_now(void);

/* To be called with interrupts masked, see above. Returns when the tick `deadline` (UINT64_MAX:
 * none) has begun, at once if it has already; or as soon as another interrupt than the timer's
 * is pending. With TW_TICKING, after each interrupt. */
void tw_mtime_sleep_until(uint64_t deadline);

/* What the handler of the timer's interrupt has to do. */
void tw_mtime_isr(void);

#ifdef __cplusplus
}
#endif

#endif

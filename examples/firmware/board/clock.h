/* clock.h - the clock of the CPU's family under one name, so that an image is one source for
 * all. A program for one part calls tw_systick_* or tw_mtime_* itself. */
#ifndef CLOCK_H
#define CLOCK_H

#include <machine.h>

#ifdef __riscv
#include <riscv/mtime.h>
static inline int clock_start(uint32_t counts_per_tick, enum tw_mtime_mode mode) {
    return tw_mtime_start(CLINT_MTIME, CLINT_MTIMECMP, counts_per_tick, mode);
}
#define clock_now tw_mtime_now
#define clock_sleep_until tw_mtime_sleep_until
#define clock_isr tw_mtime_isr
#else
#include <cortexm/systick.h>
#define clock_start tw_systick_start
#define clock_now tw_systick_now
#define clock_sleep_until tw_systick_sleep_until
#define clock_isr tw_systick_isr
#endif

#endif

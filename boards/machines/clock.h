/* clock.h - the clock of each CPU family under one name, so that one source builds for all of
 * them. A program for one part calls tw_systick_* or tw_mtime_* directly. */
#ifndef CLOCK_H
#define CLOCK_H

#include <tickwheel/tw.h>

#include <machine.h>

#ifdef __riscv
#include <tickwheel/riscv/mtime.h>
static inline int clock_start(uint32_t counts_per_tick, enum tw_mtime_mode mode) {
    return tw_mtime_start(CLINT_MTIME, CLINT_MTIMECMP, counts_per_tick, mode);
}
#define clock_now tw_mtime_now
#define clock_sleep_until tw_mtime_sleep_until
#define clock_isr tw_mtime_isr
#else
#include <tickwheel/cortexm/systick.h>
#define clock_start tw_systick_start
#define clock_now tw_systick_now
#define clock_sleep_until tw_systick_sleep_until
#define clock_isr tw_systick_isr
#endif

#endif

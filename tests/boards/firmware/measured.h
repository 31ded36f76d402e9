/* measured.h - the clock beside the stopwatch, which is another timer of the machine. */
#ifndef MEASURED_H
#define MEASURED_H

#include <stdint.h>

#include <board.h>
#include <clock.h>
#include <timer.h>

enum { TICKS_PER_SECOND = 10000 };
#define CLOCK_PER_TICK (CLOCK_HZ / TICKS_PER_SECOND)
#define WATCH_PER_TICK (STOPWATCH_HZ / TICKS_PER_SECOND)
#define MICROSECONDS(us) (STOPWATCH_HZ / 1000000u * (us))

#ifdef __riscv
#define MOST_WAITS(ticks) 1u /* mtime goes as far as one likes */
#else
/* The rest of this tick, then as much of the deadline as 24 bits hold, again and again. */
#define MOST_WAITS(ticks) (2u + (ticks) / ((1u << 24) / CLOCK_PER_TICK))
#endif

/* Starts both, the stopwatch some instructions earlier. */
void measure(int tickless);

/* Counts of the stopwatch since then: to be read before it wraps. */
uint64_t watched(void);

/* How far the clock lies behind the stopwatch when a tick begins, in counts of that. */
uint32_t lag(void);

/* Waits awake. */
void spin_until(uint64_t watch);

/* Some number below `bound`, the same ones in each run. */
uint32_t some(uint32_t bound);

/* Sleeps, with interrupts masked, as a main loop does; then interrupts may come. */
void sleep_masked(uint64_t deadline);

/* The same, again and again till the deadline: by the stopwatch it was not early, and not
 * late by a tick. */
void sleep_exactly(uint64_t deadline);

#endif

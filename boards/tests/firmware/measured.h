/* measured.h - compares the clock with the stopwatch, which is another timer of the machine. */
#ifndef MEASURED_H
#define MEASURED_H

#include <stdint.h>

#include <board.h>
#include <clock.h>
#include <stopwatch.h>

enum { TICKS_PER_SECOND = 10000 };
#define CLOCK_PER_TICK (CLOCK_HZ / TICKS_PER_SECOND)
#define WATCH_PER_TICK (STOPWATCH_HZ / TICKS_PER_SECOND)
#define MICROSECONDS(us) (STOPWATCH_HZ / 1000000u * (us))

#ifdef __riscv
#define MOST_WAITS(ticks) 1u /* mtime's deadlines have no limit */
#else
/* One wait to the end of the tick, then one for each stretch that 24 bits can count; and one that ends at
 * once if a tick ends while the clock prepares the sleep, as in 2 to 4 of 100 phases of the counter. */
#define MOST_WAITS(ticks) (3u + (ticks) / ((1u << 24) / CLOCK_PER_TICK))
#endif

/* Starts both, the stopwatch some instructions before the clock. */
void measure(int tickless);

/* Returns the stopwatch's counts since `measure`. Call it again before the stopwatch wraps. */
uint64_t watched(void);

/* Returns by how much the clock lags behind the stopwatch when a tick begins, in stopwatch
 * counts. */
uint32_t lag(void);

/* Busy-waits. */
void spin_until(uint64_t watch);

/* Returns a number below `bound`, the same sequence in each run. */
uint32_t some(uint32_t bound);

/* Sleeps with interrupts masked, as a main loop does, then unmasks them. */
void sleep_masked(uint64_t deadline);

/* Sleeps repeatedly until the deadline. Asserts by the stopwatch that it was not early, and
 * less than a tick late. */
void sleep_exactly(uint64_t deadline);

#endif

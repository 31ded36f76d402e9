/* The adapter to Zephyr, under the names that the tests of all adapters use. The adapter has the same
 * functions for threads and interrupts. */
#ifndef TICKWHEEL_TESTS_KERNELS_ZEPHYR_ADAPTER_H
#define TICKWHEEL_TESTS_KERNELS_ZEPHYR_ADAPTER_H

#include <tickwheel/zephyr/timers.h>

#define tw_kernel tw_zephyr
#define tw_kernel_init tw_zephyr_init
#define tw_kernel_start tw_zephyr_start
#define tw_kernel_start_from_isr tw_zephyr_start
#define tw_kernel_start_every tw_zephyr_start_every
#define tw_kernel_start_every_from_isr tw_zephyr_start_every
#define tw_kernel_stop tw_zephyr_stop
#define tw_kernel_wake_by tw_zephyr_wake_by
#define tw_kernel_wake_by_from_isr tw_zephyr_wake_by
#define tw_kernel_now tw_zephyr_now

#define LONGEST_DELAY TW_ZEPHYR_LONGEST
#if TW_TICK_BITS == 32
#define LONGEST_SLEEP ((int64_t)(TW_ZEPHYR_LONGEST / 2))
#else
#define LONGEST_SLEEP INT64_MAX
#endif

enum { HAS_TICK_HOOK = 0, HAS_CALLS_FOR_INTERRUPTS = 0 };

static inline void tw_kernel_tick(struct tw_zephyr *timers) { (void)timers; }
static inline void run_timers(void *timers) { tw_zephyr_run(timers, NULL, NULL); }

#endif

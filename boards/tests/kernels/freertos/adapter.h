/* The adapter to FreeRTOS, under the names that the tests of all adapters use. */
#ifndef TICKWHEEL_TESTS_KERNELS_FREERTOS_ADAPTER_H
#define TICKWHEEL_TESTS_KERNELS_FREERTOS_ADAPTER_H

#include <tickwheel/freertos/timers.h>

#define tw_kernel tw_freertos
#define tw_kernel_init tw_freertos_init
#define tw_kernel_tick tw_freertos_tick
#define tw_kernel_start tw_freertos_start
#define tw_kernel_start_from_isr(...) tw_freertos_start_from_isr(__VA_ARGS__, NULL)
#define tw_kernel_start_every tw_freertos_start_every
#define tw_kernel_start_every_from_isr(...) tw_freertos_start_every_from_isr(__VA_ARGS__, NULL)
#define tw_kernel_stop tw_freertos_stop
#define tw_kernel_wake_by tw_freertos_wake_by
#define tw_kernel_wake_by_from_isr(...) tw_freertos_wake_by_from_isr(__VA_ARGS__, NULL)
#define tw_kernel_now xTaskGetTickCount

#define LONGEST_DELAY TW_FREERTOS_LONGEST
#define LONGEST_SLEEP ((int64_t)(TW_FREERTOS_LONGEST / 2))

enum { HAS_TICK_HOOK = 1, HAS_CALLS_FOR_INTERRUPTS = 1 };

static inline void run_timers(void *timers) { tw_freertos_run(timers); }

#endif

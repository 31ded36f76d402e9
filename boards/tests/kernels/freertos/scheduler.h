/* scheduler.h - how tests suspend the scheduler of the simulated FreeRTOS. */
#ifndef TICKWHEEL_TESTS_KERNELS_FREERTOS_SCHEDULER_H
#define TICKWHEEL_TESTS_KERNELS_FREERTOS_SCHEDULER_H

#include <stdbool.h>

/* True in the interrupt that ends a sleep of tickless idle. */
extern bool scheduler_is_suspended;

#endif

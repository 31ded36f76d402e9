/* What tests tell the simulated FreeRTOS. */
#ifndef TICKWHEEL_TESTS_KERNELS_FREERTOS_TICKLESS_H
#define TICKWHEEL_TESTS_KERNELS_FREERTOS_TICKLESS_H

#include <stdbool.h>

/* As it is in the interrupt that ends a sleep of tickless idle. */
extern bool scheduler_is_suspended;

#endif

/* tickwheel/freertos/kernel.h - the headers of FreeRTOS, under the names that they have in its kernel or in
 * ESP-IDF; for the port and the adapter. */
#ifndef TICKWHEEL_FREERTOS_KERNEL_H
#define TICKWHEEL_FREERTOS_KERNEL_H

#ifdef ESP_PLATFORM
#include <freertos/FreeRTOS.h>

#include <freertos/task.h>
#else
#include <FreeRTOS.h>

#include <task.h>
#endif

#endif

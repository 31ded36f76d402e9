/* A stand-in for the kernel of FreeRTOS, in the layout of its repository, with the declarations that
 * Tickwheel and its tests use. The tests act as the kernel. */
#ifndef FREERTOS_H
#define FREERTOS_H

#include <stddef.h>
#include <stdint.h>

/* The same on every machine of the tests; in the kernel, part of portmacro.h. */
typedef uint32_t TickType_t;
typedef uint32_t StackType_t;
typedef long BaseType_t;
typedef unsigned long UBaseType_t;
#define portMAX_DELAY ((TickType_t)0xffffffffu)
#define portYIELD_FROM_ISR(woken) ((void)(woken))

#include <FreeRTOSConfig.h>
#include <portmacro.h>

#ifndef configUSE_TICKLESS_IDLE
#define configUSE_TICKLESS_IDLE 0
#endif
#ifndef INCLUDE_xTaskGetSchedulerState
#define INCLUDE_xTaskGetSchedulerState 0
#endif

#define pdFALSE ((BaseType_t)0)
#define pdTRUE ((BaseType_t)1)
#define pdPASS pdTRUE
#define pdFAIL pdFALSE
#define pdMS_TO_TICKS(ms) ((TickType_t)((uint64_t)(ms)*configTICK_RATE_HZ / 1000u))

typedef struct {
    void *words[20];
} StaticTask_t;

#endif

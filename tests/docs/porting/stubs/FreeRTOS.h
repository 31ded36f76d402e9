/* As much of FreeRTOS as docs/PORTING.md uses; the test plays the kernel. */
#ifndef FREERTOS_H
#define FREERTOS_H

#include <stdint.h>

#define pdTRUE 1

typedef uint32_t TickType_t;
typedef unsigned long UBaseType_t;

#endif

/* The parts of FreeRTOS that docs/PORTING.md uses; the test acts as the kernel. */
#ifndef FREERTOS_H
#define FREERTOS_H

#include <stdint.h>

#define pdTRUE 1

typedef uint32_t TickType_t;
typedef unsigned long UBaseType_t;

#endif

/* Timers of the stand-in, which do nothing. */
#ifndef TIMERS_H
#define TIMERS_H

#include "task.h"

typedef struct timer *TimerHandle_t;
typedef void (*TimerCallbackFunction_t)(TimerHandle_t);
typedef struct {
    void *words[10];
} StaticTimer_t;

TimerHandle_t xTimerCreateStatic(const char *name, TickType_t period, BaseType_t reloads, void *id,
                                 TimerCallbackFunction_t callback, StaticTimer_t *storage);
BaseType_t xTimerStart(TimerHandle_t timer, TickType_t wait);
BaseType_t xTimerStop(TimerHandle_t timer, TickType_t wait);
BaseType_t xTimerChangePeriod(TimerHandle_t timer, TickType_t period, TickType_t wait);

#endif

/* See timers.h. */
#include <FreeRTOS.h>
#include <timers.h>

TimerHandle_t xTimerCreateStatic(const char *name, TickType_t period, BaseType_t reloads, void *id,
                                 TimerCallbackFunction_t callback, StaticTimer_t *storage) {
    (void)name, (void)period, (void)reloads, (void)id, (void)callback;
    return (TimerHandle_t)storage;
}

static BaseType_t accept(TimerHandle_t timer) { return timer == NULL ? pdFAIL : pdPASS; }

BaseType_t xTimerStart(TimerHandle_t timer, TickType_t wait) {
    (void)wait;
    return accept(timer);
}

BaseType_t xTimerStop(TimerHandle_t timer, TickType_t wait) {
    (void)wait;
    return accept(timer);
}

BaseType_t xTimerChangePeriod(TimerHandle_t timer, TickType_t period, TickType_t wait) {
    (void)period, (void)wait;
    return accept(timer);
}

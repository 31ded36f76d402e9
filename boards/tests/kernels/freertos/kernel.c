/* FreeRTOS on the simulation: defines the functions that the stand-in in kernel/ declares. */
#include "scheduler.h"

#include <FreeRTOS.h>
#include <task.h>

#include "simulation.h"

bool scheduler_is_suspended;

UBaseType_t test_mask(void) {
    EXPECT(!is_masked());
    return mask();
}

void test_unmask(UBaseType_t was) { unmask((unsigned)was); }

TickType_t xTaskGetTickCount(void) {
    point();
    return (TickType_t)present();
}

TickType_t xTaskGetTickCountFromISR(void) { return xTaskGetTickCount(); }

BaseType_t xTaskNotifyGive(TaskHandle_t task) {
    point();
    ++asked.wakes;
    ++*signal_of((struct thread *)task);
    return pdPASS;
}

void vTaskNotifyGiveFromISR(TaskHandle_t task, BaseType_t *woken) {
    (void)xTaskNotifyGive(task);
    ++asked.wakes_from_isr;
    if (woken != NULL)
        *woken = pdTRUE;
}

uint32_t ulTaskNotifyTake(BaseType_t clear, TickType_t ticks) {
    unsigned *const notified = signal_of(this_thread());
    EXPECT(clear == pdTRUE);
    point();
    ++asked.sleeps;
    asked.last_sleep = ticks;
    if (*notified == 0 && ticks != 0)
        sleep_until(present() + ticks, notified);
    const unsigned taken = *notified;
    *notified = 0;
    return taken;
}

void vTaskDelay(TickType_t ticks) { pass(ticks); }

TaskHandle_t xTaskGetCurrentTaskHandle(void) { return (TaskHandle_t)this_thread(); }

BaseType_t xTaskGetSchedulerState(void) {
    return scheduler_is_suspended ? taskSCHEDULER_SUSPENDED : taskSCHEDULER_RUNNING;
}

TaskHandle_t xTaskCreateStatic(TaskFunction_t function, const char *name, uint32_t depth, void *arg,
                               UBaseType_t priority, StackType_t *stack, StaticTask_t *storage) {
    EXPECT(name != NULL && depth != 0 && priority < configMAX_PRIORITIES && stack != NULL && storage != NULL);
    return (TaskHandle_t)create(function, arg);
}

/* Tasks of the stand-in, on a board: no task ever waits, and only the task that was created last runs. */
#include <FreeRTOS.h>
#include <task.h>

struct task {
    TaskFunction_t function;
    void *arg;
    uint32_t notified;
};

static volatile TickType_t ticks;
static struct task tasks[4], *last = tasks;

TickType_t xTaskGetTickCount(void) { return ticks; }
TickType_t xTaskGetTickCountFromISR(void) { return ticks; }

BaseType_t xTaskIncrementTick(void) {
    ++ticks;
#if configUSE_TICK_HOOK == 1
    vApplicationTickHook();
#endif
    return pdFALSE;
}

void vTaskDelay(TickType_t delay) { ticks += delay; }

TaskHandle_t xTaskCreateStatic(TaskFunction_t function, const char *name, uint32_t depth, void *arg,
                               UBaseType_t priority, StackType_t *stack, StaticTask_t *storage) {
    (void)name, (void)depth, (void)priority, (void)stack, (void)storage;
    ++last;
    last->function = function;
    last->arg = arg;
    return last;
}

TaskHandle_t xTaskGetCurrentTaskHandle(void) { return last; }
void vTaskStartScheduler(void) { last->function(last->arg); }

BaseType_t xTaskNotifyGive(TaskHandle_t task) {
    ++task->notified;
    return pdPASS;
}

void vTaskNotifyGiveFromISR(TaskHandle_t task, BaseType_t *woken) {
    ++task->notified;
    if (woken != NULL)
        *woken = pdTRUE;
}

uint32_t ulTaskNotifyTake(BaseType_t clear, TickType_t delay) {
    (void)clear;
    vTaskDelay(delay);
    return 0;
}

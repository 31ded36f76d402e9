/* Tasks of the stand-in; see FreeRTOS.h. */
#ifndef TASK_H
#define TASK_H

#ifndef FREERTOS_H
#error "include FreeRTOS.h before task.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct task *TaskHandle_t;
typedef void (*TaskFunction_t)(void *);

#define taskENTER_CRITICAL_FROM_ISR() portSET_INTERRUPT_MASK_FROM_ISR()
#define taskEXIT_CRITICAL_FROM_ISR(mask) portCLEAR_INTERRUPT_MASK_FROM_ISR(mask)

#define taskSCHEDULER_SUSPENDED ((BaseType_t)0)
#define taskSCHEDULER_NOT_STARTED ((BaseType_t)1)
#define taskSCHEDULER_RUNNING ((BaseType_t)2)

TaskHandle_t xTaskCreateStatic(TaskFunction_t function, const char *name, uint32_t depth, void *arg,
                               UBaseType_t priority, StackType_t *stack, StaticTask_t *storage);
void vTaskStartScheduler(void);
BaseType_t xTaskGetSchedulerState(void);
TaskHandle_t xTaskGetCurrentTaskHandle(void);

TickType_t xTaskGetTickCount(void);
TickType_t xTaskGetTickCountFromISR(void);
BaseType_t xTaskIncrementTick(void);
void vTaskDelay(TickType_t ticks);

BaseType_t xTaskNotifyGive(TaskHandle_t task);
void vTaskNotifyGiveFromISR(TaskHandle_t task, BaseType_t *woken);
uint32_t ulTaskNotifyTake(BaseType_t clear, TickType_t ticks);

void vApplicationTickHook(void);

#ifdef __cplusplus
}
#endif

#endif

/* The task in docs/PORTING.md, on a FreeRTOS whose tick count wraps. */
#include <FreeRTOS.h>
#include <setjmp.h>
#include <task.h>

#include "scene.h"

extern TaskHandle_t timer_task;
void run_timers(void *arg);
int timer_start(struct tw_node *node, TickType_t delay);

static jmp_buf over;
static bool notified;

UBaseType_t taskENTER_CRITICAL_FROM_ISR(void) { return mask(); }
void taskEXIT_CRITICAL_FROM_ISR(UBaseType_t was) { masked = was != 0; }
TaskHandle_t xTaskGetCurrentTaskHandle(void) { return timer_task; }
TickType_t xTaskGetTickCount(void) { return now; }
void vTaskDelay(TickType_t ticks) { now += ticks; }
void xTaskNotifyGive(TaskHandle_t task) { notified = task == timer_task; }

uint32_t ulTaskNotifyTake(int clear, TickType_t ticks) {
    assert(clear == pdTRUE && !masked);
    if (scene_is_over())
        longjmp(over, 1);
    for (const tw_tick end = now + ticks; !notified && now != end;)
        sleep_to(end);
    notified = false;
    return 1;
}

static void arm_second(void) { assert(timer_start(&second, SECOND_DELAY) == 0); }

int main(void) {
    set_scene(UINT32_MAX - 70);
    assert(timer_start(&first, FIRST_DELAY) == 0);
    if (setjmp(over) == 0)
        run_timers(NULL);
    assert(tw_wait(&wheel, &first) == 0);
    check_scene();
}

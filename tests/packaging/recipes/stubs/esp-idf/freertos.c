#include <freertos/FreeRTOS.h>
#include <freertos/task.h>
#include <stdlib.h>

void enter_critical(portMUX_TYPE *mux) { ++mux->count; }

void exit_critical(portMUX_TYPE *mux) {
    if (--mux->count < 0)
        abort();
}

TaskHandle_t xTaskGetCurrentTaskHandle(void) { return (TaskHandle_t)1; }
void vTaskDelay(uint32_t ticks) { (void)ticks; }

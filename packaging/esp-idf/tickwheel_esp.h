/* Port for ESP-IDF: a spinlock of its own kind, for tasks and interrupts of both cores. It does not fit
 * into the word of a wheel, so all wheels share one, which nests. */
#include <freertos/FreeRTOS.h>
#include <freertos/task.h>

static portMUX_TYPE tw_port_mux = portMUX_INITIALIZER_UNLOCKED;

static inline void tw_port_lock_init(uint32_t *word) { *word = 0; }

static inline void tw_port_lock(uint32_t *word) {
    (void)word;
    portENTER_CRITICAL_SAFE(&tw_port_mux);
}

static inline void tw_port_unlock(uint32_t *word) {
    (void)word;
    portEXIT_CRITICAL_SAFE(&tw_port_mux);
}

/* For tw_wait. */
static inline uintptr_t tw_port_self(void) { return (uintptr_t)xTaskGetCurrentTaskHandle(); }

static inline void tw_port_wait(uint32_t *word, uint32_t seen, int64_t deadline_ns) {
    (void)word, (void)seen, (void)deadline_ns;
    vTaskDelay(1); /* it may return early: tw_wait checks again */
}

static inline void tw_port_wake_all(uint32_t *word) { (void)word; }

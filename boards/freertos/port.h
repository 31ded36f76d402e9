/* Port for FreeRTOS and ESP-IDF: for tasks, and for all interrupts that may call the kernel. Interrupts above
 * configMAX_SYSCALL_INTERRUPT_PRIORITY are not masked and must not call the library. */
#include <tickwheel/freertos/kernel.h>

#if INCLUDE_xTaskGetCurrentTaskHandle != 1 && configUSE_MUTEXES != 1
#error "FreeRTOSConfig.h: the port of Tickwheel needs INCLUDE_xTaskGetCurrentTaskHandle 1"
#endif
#if INCLUDE_vTaskDelay != 1
#error "FreeRTOSConfig.h: the port of Tickwheel needs INCLUDE_vTaskDelay 1"
#endif

static inline void tw_port_lock_init(uint32_t *word) { *word = 0; }

#if defined(ESP_PLATFORM)

/* A spinlock for tasks and interrupts of both cores. It does not fit into the word of a wheel, so all
 * wheels share one, which nests. */
static portMUX_TYPE tw_port_mux = portMUX_INITIALIZER_UNLOCKED;

static inline void tw_port_lock(uint32_t *word) {
    (void)word;
    portENTER_CRITICAL_SAFE(&tw_port_mux);
}

static inline void tw_port_unlock(uint32_t *word) {
    (void)word;
    portEXIT_CRITICAL_SAFE(&tw_port_mux);
}

#elif defined(__riscv)

/* On RISC-V interrupts do not nest under FreeRTOS, and the kernel's pair for interrupts masks nothing. */
#if (defined(configNUMBER_OF_CORES) && configNUMBER_OF_CORES > 1) || \
    (defined(configNUM_CORES) && configNUM_CORES > 1)
#error "this lock masks the interrupts of one core: a kernel for more cores needs a port header of your own"
#endif
#include <tickwheel/riscv/interrupts.h>

static inline void tw_port_lock(uint32_t *word) {
    const uint32_t mask = tw_interrupts_mask();
    *word = mask;
}

static inline void tw_port_unlock(uint32_t *word) { tw_interrupts_restore(*word); }

#else

/* The pair for interrupts, in tasks too, because it returns the former mask and therefore nests. On several
 * cores the kernel's pair takes its spinlock as well. The word is written after masking, so it holds the
 * mask that this caller has to restore.
 *
 * The array's size is negative if the kernel's pair masks nothing, because interrupts do not nest there: such
 * a kernel needs a port header of your own. */
static inline void tw_port_lock(uint32_t *word) {
    (void)sizeof(char[__builtin_constant_p(taskENTER_CRITICAL_FROM_ISR()) ? -1 : 1]);
    const UBaseType_t mask = taskENTER_CRITICAL_FROM_ISR();
    *word = (uint32_t)mask;
}

static inline void tw_port_unlock(uint32_t *word) { taskEXIT_CRITICAL_FROM_ISR(*word); }

#endif

/* For tw_wait. */
static inline uintptr_t tw_port_self(void) { return (uintptr_t)xTaskGetCurrentTaskHandle(); }

static inline void tw_port_wait(uint32_t *word, uint32_t seen, int64_t deadline_ns) {
    (void)word, (void)seen, (void)deadline_ns;
    vTaskDelay(1); /* it may return early: tw_wait checks again */
}

static inline void tw_port_wake_all(uint32_t *word) { (void)word; }

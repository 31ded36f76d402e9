/* The part of Zephyr's kernel that the port and the adapter use, for tests. kernel.c simulates it. */
#ifndef ZEPHYR_KERNEL_H
#define ZEPHYR_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CONFIG_TIMEOUT_64BIT 1
#define CONFIG_SYS_CLOCK_TICKS_PER_SEC 10000u

typedef int64_t k_ticks_t;
typedef struct {
    k_ticks_t ticks; /* -1: forever */
    bool is_absolute;
} k_timeout_t;

#ifdef __cplusplus
#define SIMULATED_TIMEOUT(ticks, is_absolute) (k_timeout_t{(ticks), (is_absolute)})
#else
#define SIMULATED_TIMEOUT(ticks, is_absolute) ((k_timeout_t){(ticks), (is_absolute)})
#endif
#define K_TICKS(ticks) SIMULATED_TIMEOUT(ticks, false)
#define K_TIMEOUT_ABS_TICKS(ticks) SIMULATED_TIMEOUT(ticks, true)
#define K_FOREVER SIMULATED_TIMEOUT(-1, false)
#define K_NO_WAIT SIMULATED_TIMEOUT(0, false)

struct k_sem {
    unsigned count, limit;
};
typedef struct k_thread *k_tid_t;

unsigned irq_lock(void);
void irq_unlock(unsigned key);
k_ticks_t k_uptime_ticks(void);
int k_sem_init(struct k_sem *sem, unsigned count, unsigned limit);
int k_sem_take(struct k_sem *sem, k_timeout_t timeout);
void k_sem_give(struct k_sem *sem);
int32_t k_sleep(k_timeout_t timeout);
k_tid_t k_current_get(void);

static inline uint32_t k_ms_to_ticks_ceil32(uint32_t ms) {
    return ms * (CONFIG_SYS_CLOCK_TICKS_PER_SEC / 1000u);
}

#ifdef __cplusplus
}
#endif

#endif

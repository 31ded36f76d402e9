/* The parts of Zephyr that docs/PORTING.md uses; the test acts as the kernel. */
#ifndef ZEPHYR_KERNEL_H
#define ZEPHYR_KERNEL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int64_t k_ticks_t;
typedef struct {
    k_ticks_t until; /* -1: no timeout */
} k_timeout_t;
struct k_sem {
    unsigned count, limit;
};

#define K_SEM_DEFINE(name, initial, most) struct k_sem name = {initial, most}
#define K_FOREVER ((k_timeout_t){-1})
#define K_TIMEOUT_ABS_TICKS(tick) ((k_timeout_t){tick})

unsigned irq_lock(void);
void irq_unlock(unsigned key);
k_ticks_t k_uptime_ticks(void);
int k_sem_take(struct k_sem *sem, k_timeout_t timeout);
void k_sem_give(struct k_sem *sem);

#ifdef __cplusplus
}
#endif

#endif

/* Of Zephyr's kernel what the port uses. The program ends if masks do not nest. */
#ifndef ZEPHYR_KERNEL_H
#define ZEPHYR_KERNEL_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef struct k_thread *k_tid_t;
typedef struct {
    int64_t ticks;
} k_timeout_t;
#define K_TICKS(t) (k_timeout_t{(t)})
unsigned int irq_lock(void);
void irq_unlock(unsigned int key);
k_tid_t k_current_get(void);
int32_t k_sleep(k_timeout_t timeout);
#ifdef __cplusplus
}
#endif
#endif

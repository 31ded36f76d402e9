/* Zephyr on the simulation: defines the functions that include/zephyr/kernel.h declares. */
#include <errno.h>
#include <zephyr/kernel.h>

#include "simulation.h"

unsigned irq_lock(void) { return mask(); }
void irq_unlock(unsigned key) { unmask(key); }

k_ticks_t k_uptime_ticks(void) {
    point();
    return present();
}

int k_sem_init(struct k_sem *sem, unsigned count, unsigned limit) {
    *sem = (struct k_sem){count, limit};
    return 0;
}

/* With interrupts masked the kernel would not switch to the thread that becomes ready. */
void k_sem_give(struct k_sem *sem) {
    EXPECT(!is_masked());
    point();
    ++asked.wakes;
    if (sem->count < sem->limit)
        ++sem->count;
}

/* The tick at which a wait that begins now ends. An absolute timeout in the past ends at the next tick. */
static int64_t end_of(k_timeout_t timeout) {
    if (timeout.ticks == K_FOREVER.ticks && !timeout.is_absolute)
        return INT64_MAX;
    if (!timeout.is_absolute)
        return timeout.ticks == 0 ? present() : present() + timeout.ticks + 1;
    return timeout.ticks > present() ? timeout.ticks : present() + 1;
}

int k_sem_take(struct k_sem *sem, k_timeout_t timeout) {
    point();
    const int64_t end = end_of(timeout);
    ++asked.sleeps;
    asked.last_sleep = end == INT64_MAX ? end : end - present();
    if (sem->count == 0 && end != present())
        sleep_until(end, &sem->count);
    if (sem->count == 0)
        return -EAGAIN;
    --sem->count;
    return 0;
}

int32_t k_sleep(k_timeout_t timeout) {
    point();
    sleep_until(end_of(timeout), NULL);
    return 0;
}

k_tid_t k_current_get(void) { return (k_tid_t)this_thread(); }

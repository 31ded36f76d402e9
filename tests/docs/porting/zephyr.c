/* The thread in docs/PORTING.md. */
#include <setjmp.h>
#include <stddef.h>
#include <zephyr/kernel.h>

#include "scene.h"

void run_timers(void *a, void *b, void *c);
int timer_start(struct tw_node *node, k_ticks_t delay);

static jmp_buf over;

unsigned irq_lock(void) { return mask(); }
void irq_unlock(unsigned key) { masked = key != 0; }
k_ticks_t k_uptime_ticks(void) { return (k_ticks_t)now; }

void k_sem_give(struct k_sem *sem) {
    if (sem->count < sem->limit)
        ++sem->count;
}

int k_sem_take(struct k_sem *sem, k_timeout_t timeout) {
    assert(!masked);
    if (scene_is_over())
        longjmp(over, 1);
    assert(timeout.until != -1); /* a timer is armed */
    while (sem->count == 0 && timeout.until > k_uptime_ticks())
        sleep_to((tw_tick)timeout.until);
    sem->count = 0;
    return 0;
}

static void arm_second(void) { assert(timer_start(&second, SECOND_DELAY) == 0); }

int main(void) {
    set_scene(12345);
    assert(timer_start(&first, FIRST_DELAY) == 0);
    if (setjmp(over) == 0)
        run_timers(NULL, NULL, NULL);
    check_scene();
}

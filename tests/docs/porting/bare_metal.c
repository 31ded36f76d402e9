/* The two main loops of docs/PORTING.md, one program each. */
#include <board_clock.h>
#include <board_interrupts.h>

#include "scene.h"

void main_loop_turn(void);

uint32_t irq_save(void) { return mask(); }
void irq_restore(uint32_t was) { masked = was != 0; }

static void arm_second(void) { assert(tw_arm_at(&wheel, &second, now + SECOND_DELAY + 1) == 0); }

#ifdef TICKLESS
uint64_t clock_now(void) { return now; }

void clock_sleep_until(uint64_t tick) {
    assert(masked); /* since before tw_next, which has taken and released the lock */
    sleep_to(tick);
}
void wait_for_interrupt(void) {}
#else
void tick_interrupt(void);
tw_tick ticks_now(void);

void wait_for_interrupt(void) {
    assert(!masked);
    tick_interrupt();
    sleep_to(ticks_now());
}
#endif

int main(void) {
#ifdef TICKLESS
    set_scene(12345);
#else
    set_scene(0);
#endif
    assert(tw_arm_at(&wheel, &first, now + FIRST_DELAY + 1) == 0);
    while (!scene_is_over())
        main_loop_turn();
    check_scene();
}

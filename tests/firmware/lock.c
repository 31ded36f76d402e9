/* The port's lock: it masks interrupts, nests, and puts back what was. */
#include <board.h>
#include <tickwheel/port.h>

#include "expect.h"

static volatile unsigned signals;
static uint32_t outer, inner;

void on_signal(void) {
    ++signals;
    tw_port_lock(&outer);
    tw_port_lock(&inner);
    tw_port_unlock(&inner);
    tw_port_unlock(&outer);
}

static void holds_interrupts_off_until_the_outermost_is_unlocked(void) {
    signals = 0;
    tw_port_lock(&outer);
    signal_raise();
    tw_port_lock(&inner);
    tw_port_unlock(&inner);
    EXPECT(signals == 0);
    tw_port_unlock(&outer);
    EXPECT(signals == 1);
}

static void leaves_masked_interrupts_masked(void) {
    signals = 0;
    const uint32_t mask = tw_interrupts_mask();
    tw_port_lock(&outer);
    signal_raise();
    tw_port_unlock(&outer);
    EXPECT(signals == 0);
    tw_interrupts_restore(mask);
    EXPECT(signals == 1);
}

static void lets_interrupts_come_again(void) {
    signals = 0;
    for (unsigned i = 1; i <= 100; ++i) {
        tw_port_lock(&outer);
        tw_port_unlock(&outer);
        signal_raise();
        EXPECT(signals == i);
    }
}

int main(void) {
    signal_start();
    tw_port_lock_init(&outer);
    tw_port_lock_init(&inner);
    holds_interrupts_off_until_the_outermost_is_unlocked();
    leaves_masked_interrupts_masked();
    lets_interrupts_come_again();
    return 0;
}

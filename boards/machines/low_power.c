/* See low_power.h. */
#include "low_power.h"

enum { BITS = 16, TOP = 0xFFFF, SLOWNESS = 3 };

static uint32_t busy_since, is_busy; /* the count at which the register began to take over a value, if any */

static uint32_t count_at(uint32_t stopwatch) { return stopwatch / LOW_POWER_DIVIDER; }

static uint32_t read_counter(void) { return count_at(stopwatch_read()); }

/* Imitates a register in the domain of another clock, which takes over a value only after SLOWNESS counts.
 * Until then the register cannot be written. If the counter passes the value meanwhile, the alarm comes a
 * whole range later. */
static int set_compare(uint32_t count) {
    const uint32_t now = stopwatch_read();
    if (is_busy && count_at(now) - busy_since < SLOWNESS)
        return 0;
    busy_since = count_at(now);
    is_busy = 1;
    uint32_t ahead = (count - count_at(now)) & TOP;
    if (ahead < SLOWNESS)
        ahead += TOP + 1;
    alarm_start(ahead * LOW_POWER_DIVIDER - now % LOW_POWER_DIVIDER);
    return 1;
}

const struct tw_lptimer low_power_timer = {BITS, SLOWNESS, read_counter, set_compare};

void low_power_start(void) {
    is_busy = 0;
    stopwatch_start();
}

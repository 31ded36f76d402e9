/* Compares the clock with the stopwatch. See measured.h. */
#include "measured.h"

#include "expect.h"

static uint64_t total;
static uint32_t seen;

uint64_t watched(void) {
    const uint32_t now = stopwatch_read();
    total += now - seen;
    seen = now;
    return total;
}

void measure(int tickless) {
    stopwatch_start();
    alarm_silence();
    total = 0;
    seen = stopwatch_read();
    EXPECT(clock_start(CLOCK_PER_TICK, tickless ? TW_TICKLESS : TW_TICKING) == 0);
}

static uint32_t lag_at_next_tick(void) {
    const uint64_t tick = clock_now();
    uint64_t next;
    while ((next = clock_now()) == tick) {
    }
    return (uint32_t)(watched() - next * WATCH_PER_TICK);
}

uint32_t lag(void) {
    uint32_t least = UINT32_MAX;
    for (unsigned i = 0; i < 50; ++i) { /* the loop takes various paths around a tick */
        const uint32_t here = lag_at_next_tick();
        least = here < least ? here : least;
    }
    return least;
}

void spin_until(uint64_t watch) {
    while (watched() < watch) {
    }
}

uint32_t some(uint32_t bound) {
    static uint32_t state = 1;
    state = state * 1664525u + 1013904223u;
    return (state >> 16) % bound;
}

void sleep_masked(uint64_t deadline) {
    const uint32_t mask = tw_interrupts_mask();
    clock_sleep_until(deadline);
    tw_interrupts_restore(mask);
}

void sleep_exactly(uint64_t deadline) {
    do
        sleep_masked(deadline);
    while (clock_now() < deadline);
    const uint64_t woken = watched();
    EXPECT(woken >= deadline * WATCH_PER_TICK);
    EXPECT(woken < (deadline + 1) * WATCH_PER_TICK);
}

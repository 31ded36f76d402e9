/* The RISC-V machine timer at the moment when the low half of mtime carries into the high
 * half. */
#include "expect.h"
#include "measured.h"

#define MTIME ((volatile uint32_t *)CLINT_MTIME)
#define CARRY (UINT64_C(1) << 32)
#define SPAN UINT32_C(20000) /* a clock starts this many counts before the carry */

enum { PER_TICK = 500 };

static uint64_t counts(void) {
    uint32_t high, low;
    do {
        high = MTIME[1];
        low = MTIME[0];
    } while (high != MTIME[1]);
    return (uint64_t)high << 32 | low;
}

void on_tick(void) { clock_isr(); }

/* Sets mtime to `before` counts before a carry, and starts the clock. Clears the low half first, so
 * that no carry happens between the writes. */
static uint64_t start_before_carry(uint32_t high, uint32_t before, enum tw_mtime_mode mode) {
    MTIME[0] = 0;
    MTIME[1] = high;
    MTIME[0] = 0u - before;
    const uint64_t start = counts();
    EXPECT(clock_start(PER_TICK, mode) == 0);
    return start;
}

static void sleeps_end_on_their_tick_across_the_carry(void) {
    for (uint64_t deadline = 1; deadline < 3 * SPAN / PER_TICK; ++deadline) {
        const uint64_t start = start_before_carry((uint32_t)deadline, SPAN, TW_TICKLESS);
        sleep_masked(deadline);
        const uint64_t woken = counts();
        EXPECT(woken >= start + deadline * PER_TICK);
        EXPECT(woken < start + (deadline + 1) * PER_TICK);
        EXPECT(clock_now() >= deadline);
    }
}

static void the_clock_is_read_in_one_piece(void) {
    for (unsigned round = 0; round < 200; ++round) {
        const uint64_t start = start_before_carry(round, 200 + round, TW_TICKLESS);
        uint64_t before = 0;
        for (unsigned i = 0; i < 40; ++i) {
            const uint64_t now = clock_now();
            EXPECT(now >= before && now <= (counts() - start) / PER_TICK);
            before = now;
        }
    }
}

static void ticking_goes_on_across_the_carry(void) {
    const uint64_t end = 2 * SPAN / PER_TICK;
    (void)start_before_carry(7, SPAN, TW_TICKING);
    while (clock_now() < end)
        sleep_masked(UINT64_MAX);
    EXPECT(clock_now() < end + 2);
}

/* A deadline beyond the range of mtime means "never", and must not overflow to an earlier one. */
static void deadlines_beyond_the_end_of_time_are_none(void) {
    static const uint64_t deadlines[] = {UINT64_MAX, UINT64_MAX - 1, UINT64_MAX / PER_TICK + 1,
                                         UINT64_MAX / PER_TICK};
    for (unsigned i = 0; i < sizeof deadlines / sizeof *deadlines; ++i) {
        const uint64_t start = start_before_carry(9, SPAN, TW_TICKLESS);
        const uint32_t mask = tw_interrupts_mask();
        signal_raise(); /* otherwise the clock would sleep */
        clock_sleep_until(deadlines[i]);
        const volatile uint32_t *const compare = (volatile uint32_t *)CLINT_MTIMECMP;
        EXPECT(compare[0] == UINT32_MAX && compare[1] == UINT32_MAX);
        EXPECT(counts() < start + CARRY);
        tw_interrupts_restore(mask);
    }
}

void on_signal(void) {}

int main(void) {
    signal_start();
    sleeps_end_on_their_tick_across_the_carry();
    the_clock_is_read_in_one_piece();
    ticking_goes_on_across_the_carry();
    deadlines_beyond_the_end_of_time_are_none();
    return 0;
}

/* Ticks from the mtime counter of a RISC-V hart; mtime.h says how to use it. One hart; interrupts may
 * call tw_mtime_now.
 *
 * mtime counts without end, and the timer interrupt is pending while mtime >= mtimecmp. There is no
 * state to keep in step with the counter: the present tick follows from mtime, and a sleep only
 * sets mtimecmp.
 *
 * Invariants
 *   M1  now = (mtime - origin) / counts_per_tick
 *   M2  mtimecmp is written in two halves. In between it is never smaller than both its old and
 *       its new value, so no interrupt comes that neither value asked for. */
#include <tickwheel/riscv/mtime.h>

#include <stdbool.h>

#include <tickwheel/board/hooks.h>

#define NEVER UINT64_MAX

static struct {
    volatile uint32_t *mtime, *mtimecmp; /* low half, high half */
    uint64_t origin;                     /* mtime when tick 0 began */
    uint32_t counts_per_tick;
    bool ticking; /* sleeps end at each tick */
} timer;

/* The halves of a register. */
#define LOW 0
#define HIGH 1

#define MIE_MTIE 0x80u

/* The counter may carry between the two reads: read the high half again, and start over if it
 * changed. */
static uint64_t counts(void) {
    uint32_t high, low;
    do {
        high = timer.mtime[HIGH];
        low = timer.mtime[LOW];
    } while (high != timer.mtime[HIGH]);
    return (uint64_t)high << 32 | low;
}

static void set_interrupt(uint64_t at) {
    timer.mtimecmp[LOW] = UINT32_MAX; /* M2: first not smaller than before */
    timer.mtimecmp[HIGH] = (uint32_t)(at >> 32);
    timer.mtimecmp[LOW] = (uint32_t)at;
}

/* The value of mtime at which a tick begins; NEVER if mtime does not reach it. */
static uint64_t begin_of(uint64_t tick) {
    uint64_t counts_from_origin, at;
    if (__builtin_mul_overflow(tick, timer.counts_per_tick, &counts_from_origin) ||
        __builtin_add_overflow(timer.origin, counts_from_origin, &at))
        return NEVER;
    return at;
}

/* A 64-bit division is done in software; short spans do without it. */
static uint64_t ticks_in(uint64_t span) {
    return span >> 32 == 0u ? (uint32_t)span / timer.counts_per_tick : span / timer.counts_per_tick;
}

uint64_t tw_mtime_now(void) { return ticks_in(counts() - timer.origin); }

static void set_next_tick(void) { set_interrupt(begin_of(tw_mtime_now() + 1u)); }

int tw_mtime_start(uintptr_t mtime, uintptr_t mtimecmp, uint32_t counts_per_tick, enum tw_mtime_mode mode) {
    if (counts_per_tick == 0u)
        return -22;
    timer.mtime = (volatile uint32_t *)mtime;
    timer.mtimecmp = (volatile uint32_t *)mtimecmp;
    timer.counts_per_tick = counts_per_tick;
    timer.ticking = mode == TW_TICKING;
    timer.origin = counts();
    tw_mtime_isr();
    __asm__ volatile("csrs mie, %0" : : "r"(MIE_MTIE));
    return 0;
}

void tw_mtime_isr(void) {
    if (timer.ticking)
        set_next_tick();
    else
        set_interrupt(NEVER);
}

static bool others_pending(void) {
    uintptr_t pending, enabled;
    __asm__ volatile("csrr %0, mip\n\tcsrr %1, mie" : "=&r"(pending), "=r"(enabled));
    return (pending & enabled & ~(uintptr_t)MIE_MTIE) != 0u;
}

/* The length of a sleep that begins in tick `now`, for tw_before_sleep. */
static uint64_t ticks_of_sleep(uint64_t now, uint64_t deadline) {
    if (timer.ticking)
        return 1u;
    return deadline == NEVER ? NEVER : deadline - now;
}

void tw_mtime_sleep_until(uint64_t deadline) {
    const uint32_t mask = tw_interrupts_mask_to_wait();
    if (!timer.ticking)
        set_interrupt(begin_of(deadline));
    uint64_t now = tw_mtime_now();
    while (now < deadline) {
        tw_before_sleep(ticks_of_sleep(now, deadline));
        tw_interrupts_wait();
        tw_after_sleep();
        if (timer.ticking || others_pending())
            break;
        now = tw_mtime_now();
    }
    tw_interrupts_restore_from_wait(mask);
}

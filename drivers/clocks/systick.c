/* The counter goes down from LOAD to 0, where the interrupt comes and LOAD is read again: a
 * period has LOAD + 1 cycles, 2^24 at most. While the CPU is awake a period is a tick. A
 * sleep writes the way to its deadline into LOAD before the present tick ends: that takes
 * effect at its end, to the cycle, with nothing lost. So a sleep has two interrupts, at the
 * next tick and at its deadline, or more if it is longer than the longest period.
 *
 * Only a deadline inside a long period that runs, armed by an interrupt during the sleep, makes
 * the counter start anew. By what passes between reading it and restarting it, a few cycles,
 * the clock then falls behind; it never runs ahead.
 *
 * Invariants, with interrupts masked
 *   S1  `ends` is the tick that begins when the running period ends, unless COUNTFLAG says
 *       that it has ended; then that is ends + following, and LOAD was last read at its begin.
 *   S2  Every period ends when a tick begins. So now = ends - left / cycles_per_tick, rounded up.
 *   S3  LOAD holds `following` ticks, and so is never 0, which would stop the counter. */
#include <tickwheel/cortexm/systick.h>

#include <stdbool.h>

#ifndef REGISTER /* a test has registers of its own */
#define REGISTER(address) (*(volatile uint32_t *)(address))
#endif
#define CONTROL REGISTER(0xE000E010u)
#define LOAD REGISTER(0xE000E014u)
#define VALUE REGISTER(0xE000E018u)
#define ICSR REGISTER(0xE000ED04u)

#define RUNNING 7u                 /* CONTROL: counts, interrupts, at the core's clock */
#define COUNTFLAG (1u << 16)       /* CONTROL: it went to 0 since this was last read */
#define PENDSTCLR (1u << 25)       /* ICSR: SysTick is pending no more */
#define VECTPENDING (0x1FFu << 12) /* ICSR: the most urgent interrupt that is pending */
#define SYSTICK (15u << 12)        /* as such */

/* What is to happen in fewer cycles is waited for, not programmed: it could be over first. */
#define GUARD 128u

static struct {
    uint64_t ends;
    uint32_t following; /* ticks of the period that comes next */
    uint32_t longest;   /* ticks, 2^24 cycles at most */
    uint32_t cycles_per_tick;
    bool ticking; /* sleeps end at each tick */
} counter;

/* Cycles until the period ends. It is 0 for a cycle, until LOAD is read again; for longer, and
 * before COUNTFLAG says so, in QEMU without -icount. */
static uint32_t cycles_left(void) {
    uint32_t value;
    do
        value = VALUE;
    while (value == 0u);
    return value;
}

static bool period_ended(void) { return (CONTROL & COUNTFLAG) != 0u; }

static void follow_by(uint32_t ticks) {
    LOAD = ticks * counter.cycles_per_tick - 1u;
    counter.following = ticks;
}

/* Begins a period of what LOAD holds. Also takes COUNTFLAG back. */
static void restart(uint64_t ends) {
    VALUE = 0;
    counter.ends = ends;
}

/* Chooses the period after the one that runs. If that ended in the midst of it, nobody can
 * tell which of the two was loaded: start anew, late by what has passed since. */
static void choose_following(uint32_t ticks) {
    follow_by(ticks);
    if (period_ended())
        restart(counter.ends + ticks);
}

/* Notices the end of a period; returns the cycles left of the one that runs. The flag is
 * read after the counter: where it is not set, the counter was that of the period we know. */
static uint32_t catch_up(void) {
    const uint32_t left = cycles_left();
    if (!period_ended())
        return left;
    counter.ends += counter.following;
    if (counter.following != 1u) {
        (void)cycles_left(); /* until it is loaded: what LOAD held until now */
        choose_following(1);
    }
    return cycles_left();
}

static uint64_t tick_at(uint32_t left) {
    if (left <= counter.cycles_per_tick)
        return counter.ends - 1u; /* mostly so, and a Cortex-M0 has no division */
    return counter.ends - (left + counter.cycles_per_tick - 1u) / counter.cycles_per_tick;
}

/* Ends the running period at the tick `at`, so many cycles before its end, and lets ticks
 * follow. What passes from the reading to the restart is what the clock falls behind: three
 * instructions. */
static void cut(uint64_t at, uint32_t before_end) {
    const uint32_t rest = before_end + 1u; /* a period has LOAD + 1 cycles */
    LOAD = VALUE - rest;
    restart(at);
    (void)cycles_left(); /* until it is loaded, at the next cycle */
    follow_by(1);
    if (period_ended()) /* we were held up: it may be the short one again that runs */
        restart(at + 1u);
}

/* Sees to an interrupt when tick `deadline` begins, or earlier: then there is more to sleep.
 * False if the time is too near to do it safely: ask again. Looks at the counter once more, and
 * after all that takes long: a division, as in tick_at, is hundreds of cycles of a Cortex-M0. */
static bool set_interrupt(uint64_t deadline) {
    const uint64_t ends = counter.ends;
    if (deadline == ends)
        return true;
    const bool inside = deadline < ends;
    const uint32_t before_end = inside ? (uint32_t)(ends - deadline) * counter.cycles_per_tick : 0u;
    const uint32_t ticks = deadline - ends < counter.longest ? (uint32_t)(deadline - ends) : counter.longest;
    if (catch_up() < before_end + GUARD || counter.ends != ends)
        return false;
    if (inside)
        cut(deadline, before_end);
    else if (ticks != counter.following)
        choose_following(ticks);
    return true;
}

/* Ticks follow while the CPU is awake, also if the sleep ended before the long period began. */
static void be_awake(void) {
    if (counter.following != 1u && catch_up() >= GUARD)
        choose_following(1);
}

int tw_systick_start(uint32_t cycles_per_tick, enum tw_systick_mode mode) {
    if (cycles_per_tick < TW_SYSTICK_FEWEST_CYCLES || cycles_per_tick > TW_SYSTICK_MOST_CYCLES)
        return -22;
    CONTROL = 0;
    counter.cycles_per_tick = cycles_per_tick;
    counter.ticking = mode == TW_TICKING;
    counter.longest = counter.ticking ? 1u : TW_SYSTICK_MOST_CYCLES / cycles_per_tick;
    follow_by(1);
    restart(1);
    CONTROL = RUNNING;
    return 0;
}

uint64_t tw_systick_now(void) {
    const uint32_t mask = tw_interrupts_mask();
    const uint64_t now = tick_at(catch_up());
    tw_interrupts_restore(mask);
    return now;
}

void tw_systick_isr(void) { (void)tw_systick_now(); }

/* Clears what is pending of SysTick: catch_up sees to that. What comes after this and before
 * catch_up ends the next wait for nothing, but is not lost. */
static bool others_pending(void) {
    ICSR = PENDSTCLR;
    const uint32_t pending = ICSR & VECTPENDING;
    return pending != 0u && pending != SYSTICK;
}

void tw_systick_sleep_until(uint64_t deadline) {
    const uint32_t mask = tw_interrupts_mask();
    for (;;) {
        if (!counter.ticking && others_pending())
            break;
        if (deadline <= tick_at(catch_up()))
            break;
        if (!set_interrupt(deadline))
            continue;
        tw_interrupts_wait();
        if (counter.ticking)
            break; /* the handler is to see each tick */
    }
    be_awake();
    tw_interrupts_restore(mask);
}

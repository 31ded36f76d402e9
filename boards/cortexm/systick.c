/* Ticks from the SysTick timer of a Cortex-M; systick.h says how to use it. One core; interrupts may
 * call tw_systick_now.
 *
 * The counter goes down from LOAD to 0. There the interrupt comes and the counter reads LOAD again, so
 * a period has LOAD + 1 cycles, at most 2^24. While the processor is awake each period is one tick.
 * To sleep, the clock writes the distance to the deadline into LOAD before the present tick ends.
 * The counter takes up LOAD at the end of that tick, to the cycle, so no time is lost. A sleep
 * therefore has two interrupts, at the next tick and at its deadline, or more if it is longer than
 * the longest period.
 *
 * The clock restarts the counter only if an interrupt during the sleep has armed a deadline inside the
 * running long period. The clock then falls behind by the few cycles between reading the counter and
 * restarting it. It never runs ahead (P1).
 *
 * Invariants, with interrupts masked
 *   S1  `ends` is the tick that begins when the running period ends. If COUNTFLAG is set that
 *       period is over: the running one ends at ends + following, and its length was read from
 *       LOAD when it began.
 *   S2  Every period ends where a tick begins. So now = ends - left / cycles_per_tick, rounded up.
 *   S3  LOAD holds `following` ticks and is never 0, which would stop the counter. */
#include <tickwheel/cortexm/systick.h>

#include <stdbool.h>

#include <tickwheel/board/hooks.h>

#ifndef REGISTER /* a test defines its own */
#define REGISTER(address) (*(volatile uint32_t *)(address))
#endif
#define CONTROL REGISTER(0xE000E010u)
#define LOAD REGISTER(0xE000E014u)
#define VALUE REGISTER(0xE000E018u)
#define ICSR REGISTER(0xE000ED04u)

#define RUNNING 7u                 /* CONTROL: enabled, with interrupt, at the core's clock */
#define COUNTFLAG (1u << 16)       /* CONTROL: the counter has reached 0 since CONTROL was read last */
#define PENDSTCLR (1u << 25)       /* ICSR: clears a pending SysTick */
#define VECTPENDING (0x1FFu << 12) /* ICSR: the pending interrupt of highest priority */
#define SYSTICK (15u << 12)        /* SysTick, in VECTPENDING */

/* For an event in fewer cycles the clock does not set the counter, because the event could pass meanwhile: it
 * busy-waits. */
#define GUARD 128u

static struct {
    uint64_t ends;
    uint32_t following; /* ticks of the next period */
    uint32_t longest;   /* ticks, 2^24 cycles at most */
    uint32_t cycles_per_tick;
    bool ticking; /* sleeps end at each tick */
} counter;

/* Cycles until the period ends. The counter reads 0 for one cycle, until it reads LOAD again. In QEMU
 * without -icount it reads 0 for longer, and before COUNTFLAG is set. */
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

/* Begins a period of the length in LOAD. Also clears COUNTFLAG. */
static void restart(uint64_t ends) {
    VALUE = 0;
    counter.ends = ends;
}

/* Chooses the length of the period after the running one. If the running period ended meanwhile it
 * is unknown whether the counter has read the old LOAD or the new one, so the counter is restarted:
 * late by the time that has passed since, never early. */
static void choose_following(uint32_t ticks) {
    follow_by(ticks);
    if (period_ended())
        restart(counter.ends + ticks);
}

/* Follows the counter into the next period if one has ended (S1), and returns the cycles left of the
 * running one. The flag is read after the counter: if it is not set, the value read belongs to the
 * period that we know. */
static uint32_t catch_up(void) {
    const uint32_t left = cycles_left();
    if (!period_ended())
        return left;
    counter.ends += counter.following;
    if (counter.following != 1u) {
        (void)cycles_left(); /* wait until the counter has read LOAD */
        choose_following(1);
    }
    return cycles_left();
}

static uint64_t tick_at(uint32_t left) {
    if (left <= counter.cycles_per_tick)
        return counter.ends - 1u; /* the usual case; a Cortex-M0 has no division */
    return counter.ends - (left + counter.cycles_per_tick - 1u) / counter.cycles_per_tick;
}

/* Cuts the running period short: it then ends at tick `at`, `before_end` cycles earlier than before,
 * and single ticks follow. The clock falls behind by the three instructions between the reading of
 * the counter and the restart. */
static void cut(uint64_t at, uint32_t before_end) {
    const uint32_t rest = before_end + 1u; /* a period has LOAD + 1 cycles */
    LOAD = VALUE - rest;
    restart(at);
    (void)cycles_left(); /* wait until the counter has read LOAD, at the next cycle */
    follow_by(1);
    if (period_ended()) /* delayed meanwhile: the short period may be running once more */
        restart(at + 1u);
}

/* Makes an interrupt come when tick `deadline` begins; or earlier if that is too far for one period,
 * and then the caller sleeps again. Returns false if a period is about to end and it is not safe to
 * touch the counter: the caller asks again. The counter is read once more here, after everything
 * that takes long: a division as in tick_at is hundreds of cycles of a Cortex-M0. */
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

/* Lets single ticks follow while the processor is awake, even if the sleep ended before the long
 * period began. */
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

/* True if an interrupt other than SysTick is pending. Clears a pending SysTick, because catch_up does its
 * handler's work. A SysTick that comes before catch_up reads the counter only ends the next wait early. */
static bool others_pending(void) {
    ICSR = PENDSTCLR;
    const uint32_t pending = ICSR & VECTPENDING;
    return pending != 0u && pending != SYSTICK;
}

void tw_systick_sleep_until(uint64_t deadline) {
    const uint32_t mask = tw_interrupts_mask_to_wait();
    for (;;) {
        if (!counter.ticking && others_pending())
            break;
        const uint64_t now = tick_at(catch_up());
        if (deadline <= now)
            break;
        if (!set_interrupt(deadline))
            continue;
        tw_before_sleep(counter.ends - now);
        tw_interrupts_wait();
        tw_after_sleep();
        if (counter.ticking)
            break; /* so that the handler sees each tick */
    }
    be_awake();
    tw_interrupts_restore_from_wait(mask);
}

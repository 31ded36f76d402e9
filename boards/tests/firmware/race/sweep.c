/* Times an interrupt to each instruction in turn. See sweep.h. */
#include "sweep.h"

#include <stddef.h>
#include <stdint.h>

#include <stopwatch.h>

#include "../expect.h"
#include "priorities.h"

/* Counts of the alarm's timer in the time of one instruction, rounded down. */
#define STEP (INSTRUCTION_NS * (STOPWATCH_HZ / 100000u) / 10000u)

/* The shortest delay for which the alarm can be set before it has passed. */
#define SOONEST (32 * STEP)

/* No interrupt is delayed by this many instructions. */
#define LONGEST (100000 * STEP)

static const struct round *running;
static volatile bool has_begun, is_over, has_struck, has_struck_early, has_struck_inside;

static uint32_t sent, arrived;        /* the alarm of this round, by the stopwatch */
static uint32_t latency = UINT32_MAX; /* of an alarm that was not delayed */
static uint32_t longest;              /* of all */

void on_alarm(void) {
    arrived = stopwatch_read();
    alarm_silence();
    has_struck_early = !has_begun;
    has_struck_inside = !is_over;
    running->strike();
    has_struck = true;
}

/* Delays `act` by some instructions, so that the first interrupt comes before it. */
static void act(void) {
    __asm__ volatile(".rept 64\n\tnop\n\t.endr");
    has_begun = true;
    running->act();
    is_over = true;
}

void on_signal(void) { interruptibly(act); }

/* Returns true if the interrupt came before main was done. */
static bool play(uint32_t counts) {
    has_begun = is_over = has_struck = false;
    running->open();
    stopwatch_start(); /* again each time: not every machine's stopwatch continues when it wraps */
    sent = stopwatch_read();
    alarm_start(counts);
    if (running->in_interrupt)
        signal_raise();
    else
        act();
    while (!is_over || !has_struck) {
    }
    running->close();
    return has_struck_inside;
}

/* Returns the distance to the next moment to try. An interrupt while interrupts were masked
 * was delayed until they were unmasked, and all moments in between would give the same. */
static uint32_t step_after(uint32_t counts) {
    const uint32_t took = arrived - sent - counts;
    EXPECT(took < LONGEST); /* fails if the stopwatch stood still */
    if (took < latency)
        latency = took;
    if (took > longest)
        longest = took;
    return took - latency > 2 * STEP ? took - latency - STEP : STEP;
}

unsigned sweep(const struct round *round) {
    static bool is_ready;
    if (!is_ready) {
        stopwatch_start();
        signal_start();
        set_priorities();
        is_ready = true;
    }
    running = round;
    unsigned rounds = 1;
    uint32_t counts = SOONEST;
    while (play(counts)) {
        EXPECT(has_struck_early || rounds > 1);
        counts += step_after(counts);
        ++rounds;
    }
    return rounds;
}

uint32_t sweep_longest_delay(void) { return (longest - latency) / STEP; }

/* ---- The proof. */

enum { STORES = 16 };
static volatile unsigned row[STORES];
static bool seen[STORES + 1]; /* an interrupt came after this many stores */

static void clear_row(void) {
    for (unsigned i = 0; i < STORES; ++i)
        row[i] = 0;
}

static void store(void) {
    row[0] = 1, row[1] = 1, row[2] = 1, row[3] = 1, row[4] = 1, row[5] = 1, row[6] = 1, row[7] = 1;
    row[8] = 1, row[9] = 1, row[10] = 1, row[11] = 1, row[12] = 1, row[13] = 1, row[14] = 1, row[15] = 1;
}

static void look(void) {
    unsigned stored = 0;
    while (stored < STORES && row[stored] != 0)
        ++stored;
    seen[stored] = true;
}

static void nothing(void) {}

void sweep_prove(void) {
    for (unsigned in_interrupt = 0; in_interrupt < 2; ++in_interrupt) {
        for (unsigned i = 0; i <= STORES; ++i)
            seen[i] = false;
        sweep(&(struct round){clear_row, store, look, nothing, in_interrupt != 0});
        for (unsigned i = 0; i <= STORES; ++i)
            EXPECT(seen[i]);
    }
}

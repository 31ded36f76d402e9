/* ledger.h - timers on two wheels, with an account of each. In whatever order interrupts come,
 * an arming either fires or a cancel reports that it prevented the fire, never both (P4, P6).
 *
 * Main, and interrupts that come in the middle of main's actions, do the same actions. */
#ifndef LEDGER_H
#define LEDGER_H

#include <stdbool.h>

#include <tickwheel/tw.h>

enum timer {
    SOON,
    WITH_SOON, /* on the same tick */
    NEXT_BLOCK,
    HIGHER, /* lowered from the top level */
    FAR,    /* in a later round */
    PERIODIC,
    FREE,
    OTHER_FREE,
    CHAINED, /* on the other wheel; NEXT_BLOCK's callback arms it */
    TIMERS
};

struct action {
    const char *name;
    void (*act)(void);
};

extern const struct action actions[];
extern const unsigned action_count;

extern struct tw wheel, other_wheel;

/* Each side has its own accounts, because an interrupt may come while main is writing one. */
enum { IN_MAIN, IN_INTERRUPT, SIDES };
extern unsigned side;

/* Make the call and enter it in the account. The library may refuse a call only where tw.h says so. */
void arm(enum timer timer, tw_tick tick);
void cancel(enum timer timer);

/* Makes wheels and timers for a round. */
void ledger_open(void);

/* Runs the action and asserts that it restores the interrupt mask. */
void ledger_act(const struct action *action);

/* Takes one wheel's lock inside the other's: tw_check reports with the lock held. */
void ledger_lock_both(void);

/* Checks both wheels, then advances them to the end and asserts that the accounts balance. */
void ledger_close(void);

#endif

/* ledger.h - timers on two wheels, and an account of each, whichever interrupts the other: what was
 * armed fires, or a cancel said that it prevented that, and never both (P4, P6).
 *
 * The same actions are done by main and by interrupts that come in their midst. */
#ifndef LEDGER_H
#define LEDGER_H

#include <stdbool.h>

#include <tickwheel/tw.h>

enum timer {
    SOON,
    WITH_SOON, /* on the same tick */
    NEXT_BLOCK,
    HIGHER, /* comes down from the top level */
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

/* Accounts are kept apart: an interrupt may come while main writes into its own. */
enum { IN_MAIN, IN_INTERRUPT, SIDES };
extern unsigned side;

/* What arm() has seen of a timer, and more calls like it. Refused only where they have to be. */
void arm(enum timer timer, tw_tick tick);
void cancel(enum timer timer);

/* Wheels and timers as each round begins. */
void ledger_open(void);

/* Runs the action; it leaves the mask of interrupts as it was. */
void ledger_act(const struct action *action);

/* Takes the lock of one wheel inside that of the other: tw_check reports under lock. */
void ledger_lock_both(void);

/* Both wheels are in order; then their time passes, and the accounts must be even. */
void ledger_close(void);

#endif

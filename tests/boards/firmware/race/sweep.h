/* sweep.h - an interrupt at every instruction of what main does: each round it comes one
 * instruction later, or a little less, until it comes when main is done. Where interrupts are
 * masked it comes once, after. */
#ifndef SWEEP_H
#define SWEEP_H

#include <stdbool.h>

struct round {
    void (*open)(void);
    void (*act)(void);    /* what main does */
    void (*strike)(void); /* what the interrupt does in its midst */
    void (*close)(void);
    bool in_interrupt; /* `act` runs in an interrupt itself, one of low priority */
};

/* Returns how many rounds there were. */
unsigned sweep(const struct round *round);

/* That the interrupt does come at each instruction: between any two of a row of stores. */
void sweep_prove(void);

#endif

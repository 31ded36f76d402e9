/* sweep.h - an interrupt at every instruction of main's action. In each round the interrupt comes one
 * instruction later, or a little less, until it comes after the action. For each stretch in which interrupts
 * are masked there is only one round, because the interrupt always comes at the end of the mask. */
#ifndef SWEEP_H
#define SWEEP_H

#include <stdbool.h>
#include <stdint.h>

struct round {
    void (*open)(void);
    void (*act)(void);    /* main's action */
    void (*strike)(void); /* the interrupt's action, in the middle of main's */
    void (*close)(void);
    bool in_interrupt; /* `act` itself runs in an interrupt of low priority */
};

/* Returns the number of rounds. */
unsigned sweep(const struct round *round);

/* Returns the longest delay of an interrupt in all sweeps so far, in instructions. */
uint32_t sweep_longest_delay(void);

/* Proves that the interrupt comes at each instruction: between any two of a row of stores. */
void sweep_prove(void);

#endif

/* sweep.h - an interrupt at every instruction of main's action. Each round it comes one
 * instruction later, or a little less, until it comes after the action. While interrupts are
 * masked it comes only once, after the mask. */
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

/* Returns by how many instructions an interrupt of the sweeps so far was delayed, at most. */
uint32_t sweep_longest_delay(void);

/* Proves that the interrupt comes at each instruction: between any two of a row of stores. */
void sweep_prove(void);

#endif

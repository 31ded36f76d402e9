/* Computes in which slot a wheel keeps a timer, by the documented rule: a tick is a number with
 * LEVELS digits of SLOT_BITS bits, and a node stands on the level of the highest digit in which its
 * tick differs from the wheel's time, in the slot with the number of that digit. A node of a later round
 * waits in a far slot; the picture shows it on the top level. The library's digits have 8 bits, so its wheel
 * has 256 slots a level; the picture has 16, which fit on a screen. */
#ifndef WHEEL_PLACE_H
#define WHEEL_PLACE_H

#include <stdbool.h>
#include <stdint.h>
#include <tickwheel/tw.h>

#define SLOT_BITS 4
#define LEVELS 3
#define SLOTS (1u << SLOT_BITS)

struct place {
    unsigned level;
    unsigned slot;
    uint64_t tick; /* the tick that gave the place; a postponed node is due later */
};

/* Returns the digit of `tick` on `level`. */
unsigned digit(uint64_t tick, unsigned level);

/* Returns the place of a node that is due at `tick` when the time is `now`. */
struct place place_of(uint64_t tick, uint64_t now);

/* Returns true if the slot has opened, so that its nodes fire or are lowered. */
bool place_opened(struct place place, uint64_t now);

#endif

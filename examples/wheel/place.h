/* Where the wheel keeps a timer, worked out from the outside.
 *
 * The documented rule: a tick is a number with TW_LEVELS digits of TW_BITS bits;
 * a node sits on the level of the highest digit in which its tick differs from
 * the wheel's time, in the slot which that digit names. Whatever differs further
 * up waits for a later round, in far slots; here it is shown on the top level. */
#ifndef WHEEL_PLACE_H
#define WHEEL_PLACE_H

#include <stdbool.h>
#include <stdint.h>
#include <tickwheel/tw.h>

#define SLOTS (1u << TW_BITS)

struct place {
    unsigned level;
    unsigned slot;
    uint64_t tick; /* the tick that it was placed by; a postponed node is due later */
};

/* The digit of `tick` on `level`. */
unsigned digit(uint64_t tick, unsigned level);

/* Where a node due at `tick` goes when the time is `now`. */
struct place place_of(uint64_t tick, uint64_t now);

/* Whether the slot has opened: what it held is fired, or moves on. */
bool place_opened(struct place place, uint64_t now);

#endif

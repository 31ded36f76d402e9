/* play.h - one life of two wheels and their timers, every choice in it drawn from
 * a source: a random number generator, or the bytes of a fuzzer. */
#ifndef TICKWHEEL_TESTS_PLAY_H
#define TICKWHEEL_TESTS_PLAY_H

#include "model.h"

struct source {
    uint64_t (*draw)(struct source *s, uint64_t below); /* 0 .. below - 1; below > 0 */
    bool (*is_empty)(const struct source *s);           /* no more choices: the life ends */
};

/* Where clocks start: beside powers of two, where digits carry, and the end of time. */
enum { PLAY_ORIGINS = 8 };

/* Plays from origin number `origin` until `operations` are done, those in callbacks
 * included, or the source is empty. `m` is zero but for allocate, release, on_failure and counts. */
void play(struct model *m, struct source *s, unsigned origin, uint64_t operations);

#endif

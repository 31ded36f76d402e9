/* play.h - one life of two wheels and their timers. A source makes every choice: a random
 * number generator, or a fuzzer's bytes. */
#ifndef TICKWHEEL_TESTS_PLAY_H
#define TICKWHEEL_TESTS_PLAY_H

#include "model.h"
#include "source.h"

/* The clocks' start times: near powers of two, where digits carry, and near the end of time. */
enum { PLAY_ORIGINS = 8 };

/* Plays from origin number `origin` until `operations` are done, including those in callbacks,
 * or the source is empty. `m` is zero except for allocate, release, on_failure and counts. */
void play(struct model *m, struct source *s, unsigned origin, uint64_t operations);

#endif

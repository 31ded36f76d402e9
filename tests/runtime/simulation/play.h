/* play.h - chooses lives and operations at random, all from one seed. */
#ifndef TICKWHEEL_TESTS_PLAY_H
#define TICKWHEEL_TESTS_PLAY_H

#include "world.h"

/* Plays life after life until `steps` operations were made outside callbacks. */
void play(struct world *w, uint64_t steps);

#endif

/* play.h - who chooses: lives and operations at random, all of it from one seed. */
#ifndef TICKWHEEL_TESTS_PLAY_H
#define TICKWHEEL_TESTS_PLAY_H

#include "world.h"

/* Life after life, until `steps` operations were done outside callbacks. */
void play(struct world *w, uint64_t steps);

#endif

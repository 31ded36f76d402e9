/* The wheel as three rings: the far timers in the middle, the next ones on the
 * rim. Beside it the timers by name and what happened last. */
#ifndef WHEEL_PICTURE_H
#define WHEEL_PICTURE_H

#include "story.h"

/* Remembers what the pictures to come should show of an event. */
void picture_hear(const struct event *event);

/* Draws the state of the wheel and the timers, one frame on. */
void picture_draw(void);

#endif

/* Draws the wheel as three rings, with far timers in the middle and the next timers on the rim. Next to the
 * wheel are the named timers and the latest events. */
#ifndef WHEEL_PICTURE_H
#define WHEEL_PICTURE_H

#include "story.h"

/* Stores what the next frames show of an event. */
void picture_hear(const struct event *event);

/* Draws the next frame: the state of the wheel and of the timers. */
void picture_draw(void);

#endif

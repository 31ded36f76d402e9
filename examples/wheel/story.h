/* What happens in the picture: some timers, a script of what is done to them at
 * which tick, and a record of what they did. Knows nothing of screens. */
#ifndef WHEEL_STORY_H
#define WHEEL_STORY_H

#include <stdbool.h>
#include <stdint.h>
#include <tickwheel/tw.h>

#include "place.h"

enum {
    STORY_BEGIN = 1200, /* ticks */
    STORY_END = 1640,
    NAMED = 11, /* timers with a name and a line of their own */
    CONNECTIONS = 60,
    TIMERS = NAMED + CONNECTIONS
};

enum state { IDLE, ARMED, DONE, CANCELLED };

struct timer {
    struct tw_node node;
    char name[12];
    const char *kind;
    enum state state;
    uint64_t due;       /* what was asked for: the tick, or the first of a window */
    uint64_t due_until; /* the last of the window; the same as `due` without one */
    uint64_t period;    /* 0: fires once */
    uint64_t fired;     /* the last fire; TW_NEVER: none yet */
    uint64_t late;      /* the worst of all fires, in ticks */
    uint64_t early;     /* likewise */
    unsigned fires;
    struct place place; /* while armed */
};

enum what { EVENT_ARM, EVENT_FIRE, EVENT_POSTPONE, EVENT_CANCEL, EVENT_MOVE, EVENT_CASCADE };

struct event {
    enum what what;
    uint64_t tick;
    const struct timer *timer; /* all but EVENT_CASCADE: who */
    struct place from, to;     /* EVENT_MOVE: one node of a cascade; EVENT_FIRE: `from` */
    unsigned moved;            /* EVENT_CASCADE: how many left the slot `from` */
};

typedef void listener(const struct event *event);

extern struct tw wheel;
extern struct timer timers[TIMERS];

/* Sets the wheel to STORY_BEGIN. `hears` is told of everything that happens. */
void story_begin(listener *hears);

/* One tick: the wheel advances, then the script's actions for that tick are done.
 * Returns whether there is more to come. */
bool story_tick(void);

/* The tick that a timer is due at now, by the wheel; TW_NEVER if it is not armed. */
uint64_t story_due(const struct timer *timer);

/* One line of at most 36 characters that says what happened. */
void event_text(const struct event *event, char *text, unsigned size);

#endif

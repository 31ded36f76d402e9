/* The story of the picture: some timers, a script of actions on them by tick, and a record of their fires.
 * The story draws nothing. */
#ifndef WHEEL_STORY_H
#define WHEEL_STORY_H

#include <stdbool.h>
#include <stdint.h>
#include <tickwheel/tw.h>

#include "place.h"

enum {
    STORY_BEGIN = 1200, /* ticks */
    STORY_END = 1340,
    NAMED = 8, /* timers with a name and their own line */
    CONNECTIONS = 36,
    TIMERS = NAMED + CONNECTIONS
};

enum state { IDLE, ARMED, DONE, CANCELLED };

struct timer {
    struct tw_node node;
    char name[12];
    const char *kind;
    enum state state;
    uint64_t due;       /* the requested tick, or the first of a window */
    uint64_t due_until; /* the last of the window; the same as `due` without one */
    uint64_t period;    /* 0: fires once */
    uint64_t fired;     /* tick of the last fire; TW_NEVER: none yet */
    uint64_t late;      /* the maximum over all fires, in ticks */
    uint64_t early;     /* likewise */
    unsigned fires;
    struct place place; /* while armed */
};

enum what { EVENT_ARM, EVENT_FIRE, EVENT_POSTPONE, EVENT_CANCEL, EVENT_MOVE, EVENT_CASCADE };

struct event {
    enum what what;
    uint64_t tick;
    const struct timer *timer; /* the timer; not for EVENT_CASCADE */
    struct place from, to;     /* EVENT_MOVE: one node of a cascade; EVENT_FIRE: `from` */
    unsigned moved;            /* EVENT_CASCADE: number of nodes that left the slot `from` */
};

typedef void listener(const struct event *event);

extern struct tw wheel;
extern struct timer timers[TIMERS];

/* Sets the wheel to STORY_BEGIN. The story calls `hears` with every event. */
void story_begin(listener *hears);

/* Advances the wheel by one tick, then performs the script's actions for that tick. Returns false at the
 * end of the story. */
bool story_tick(void);

/* Returns the tick that a timer is due at, from the wheel; TW_NEVER if it is not armed. */
uint64_t story_due(const struct timer *timer);

/* Writes one line of at most 36 characters that describes the event. */
void event_text(const struct event *event, char *text, unsigned size);

#endif

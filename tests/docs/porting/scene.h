/* The same scene for each system: two timers, one of which an interrupt arms while the system
 * sleeps until the other. The system calls sleep_to, and scene_is_over before that. */
#ifndef SCENE_H
#define SCENE_H

#undef NDEBUG
#include <assert.h>
#include <stdbool.h>

#include <tickwheel/tw.h>

enum { FIRST_DELAY = 100, INTERRUPT_AFTER = 50, SECOND_DELAY = 10 };

extern struct tw wheel; /* defined by the page's code */
static tw_tick begin, now;
static bool masked, interrupted;
static struct tw_node first, second;
static tw_tick first_at, second_at;

static void arm_second(void); /* the interrupt's handler */

static inline bool mask(void) {
    const bool was = masked;
    masked = true;
    return was;
}

static void note(struct tw_node *node, void *at) {
    (void)node;
    assert(!masked);
    *(tw_tick *)at = now;
}

static inline void set_scene(tw_tick at) {
    begin = now = at;
    tw_init(&wheel, now, 0);
    tw_node_init(&first, note, &first_at);
    tw_node_init(&second, note, &second_at);
}

static inline bool scene_is_over(void) { return first_at != 0 && second_at != 0; }

/* Sleeps until the tick. If the interrupt comes first, it ends the sleep. */
static inline void sleep_to(tw_tick tick) {
    const tw_tick comes = begin + INTERRUPT_AFTER;
    if (!interrupted && tick - begin >= INTERRUPT_AFTER) {
        now = comes;
        interrupted = true;
        arm_second();
    } else {
        now = tick;
    }
}

/* Each timer fired on its tick: its delay, plus the rest of the tick in which it was armed. */
static inline void check_scene(void) {
    assert(first_at == begin + FIRST_DELAY + 1);
    assert(second_at == begin + INTERRUPT_AFTER + SECOND_DELAY + 1);
    assert(!masked);
    masked = true; /* interrupts that were masked stay masked */
    assert(tw_count(&wheel) == 0 && masked);
}

#endif

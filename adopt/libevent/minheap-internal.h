/* The timeouts of libevent on a wheel of Tickwheel: this file replaces minheap-internal.h, with functions
 * of the same names. One tick is a microsecond.
 *
 * What changes: a base grows by the wheel, and an event by a node, so programs that contain a struct event
 * must be recompiled. Events of one microsecond fire in the order in which they were added, and so do events
 * whose time had passed when they were added. If many events lie far ahead, the loop may wake before the
 * first is due. */
#ifndef MINHEAP_INTERNAL_H_INCLUDED_
#define MINHEAP_INTERNAL_H_INCLUDED_

#include <stdint.h>

#include <tickwheel/tw.h>

#include "event2/event.h"
#include "event2/event_struct.h"
#include "mm-internal.h"
#include "util-internal.h"

#define MIN_HEAP_LOOKS 32 /* at the first events */

extern int event_debug_mode_on_;

typedef struct min_heap {
    struct event **p; /* all events, for event_base_foreach_event; not listed if n is 0 */
    unsigned n;
    unsigned count;
    struct event_base *base;
    struct event *top; /* what min_heap_top_ returns, perhaps taken from the wheel; null: to be found */
    struct event stand_in;
    tw_tick now; /* the latest time that libevent has read; event.c sets it */
    struct tw wheel;
} min_heap_t;

static inline struct event *min_heap_event_of_(const struct tw_node *node) {
    return EVUTIL_UPCAST(node, struct event, ev_node);
}

/* A program may pass any number of microseconds. libevent compares seconds first, so numbers outside a second
 * do not reach into another one. */
static inline tw_tick min_heap_tick_(const struct timeval *at) {
    const tw_tick last = TW_NEVER / 1000000 - 1;
    const suseconds_t us = at->tv_usec < 0 ? 0 : at->tv_usec < 1000000 ? at->tv_usec : 1000000;
    if (at->tv_sec < 0)
        return 0;
    return ((tw_tick)at->tv_sec < last ? (tw_tick)at->tv_sec : last) * 1000000 + (tw_tick)us;
}

static inline tw_tick min_heap_later_(tw_tick a, tw_tick b) { return a > b ? a : b; }

static inline void min_heap_ctor_(min_heap_t *s) {
    memset(s, 0, offsetof(min_heap_t, wheel));
    tw_init(&s->wheel, 0, TW_UNLOCKED);
}

static inline void min_heap_dtor_(min_heap_t *s) {
    if (event_debug_mode_on_ && s->stand_in.ev_base != NULL)
        event_debug_unassign(&s->stand_in);
    if (s->p != NULL)
        mm_free(s->p);
}

static inline void min_heap_elem_init_(struct event *e) { e->ev_timeout_pos.min_heap_idx = -1; }
static inline int min_heap_empty_(min_heap_t *s) { return s->count == 0; }
static inline unsigned min_heap_size_(min_heap_t *s) { return s->count; }
static inline int min_heap_reserve_(min_heap_t *s, unsigned n) { return (void)s, (void)n, 0; }

/* libevent calls this for an event that it has just added. */
static inline int min_heap_elt_is_top_(const struct event *e) { return e->ev_timeout_pos.min_heap_idx == 0; }

/* Events are taken from the wheel, which never calls this. */
static inline void min_heap_fire_(struct tw_node *node, void *arg) { (void)node, (void)arg; }

/* Makes `stand_in` the first event: it is not on the wheel, and nothing is due before its time. */
static inline struct event *min_heap_stand_in_(min_heap_t *s, const struct timeval *time) {
    if (event_debug_mode_on_ && s->stand_in.ev_base == NULL)
        event_assign(&s->stand_in, s->base, -1, 0, NULL, NULL);
    s->stand_in.ev_base = s->base;
    s->stand_in.ev_evcallback.evcb_flags |= EVLIST_INTERNAL | EVLIST_TIMEOUT;
    s->stand_in.ev_timeout_pos.min_heap_idx = 0;
    s->stand_in.ev_timeout = *time;
    return s->top = &s->stand_in;
}

/* Returns the first event, or if there are too many to look through `stand_in`, which is not due yet. */
static inline struct event *min_heap_top_(min_heap_t *s) {
    struct tw_fire due;
    const struct tw_node *first;
    struct timeval until;
    tw_tick next;
    if (s->count == 0)
        return s->top = NULL;
    if (s->top != NULL && (s->top != &s->stand_in || min_heap_tick_(&s->top->ev_timeout) > s->now))
        return s->top;
    if (tw_take(&s->wheel, min_heap_later_(s->now, tw_now(&s->wheel)), &due) == 1)
        return s->top = min_heap_event_of_(due.node);
    if ((first = tw_first(&s->wheel, MIN_HEAP_LOOKS)) != NULL)
        return s->top = min_heap_event_of_(first);
    next = min_heap_later_(s->now + 1, tw_next(&s->wheel));
    until.tv_sec = (time_t)(next / 1000000);
    until.tv_usec = (suseconds_t)(next % 1000000);
    return min_heap_stand_in_(s, &until);
}

static inline int min_heap_push_(min_heap_t *s, struct event *e) {
    tw_node_init(&e->ev_node, min_heap_fire_, NULL);
    tw_arm_at(&s->wheel, &e->ev_node, min_heap_tick_(&e->ev_timeout));
    s->base = e->ev_base;
    s->count++;
    s->n = 0;
    if (s->top != NULL && evutil_timercmp(&e->ev_timeout, &s->top->ev_timeout, <)) {
        if (s->top != &s->stand_in && !tw_pending(&s->wheel, &s->top->ev_node)) /* it was taken */
            tw_arm_at(&s->wheel, &s->top->ev_node, min_heap_tick_(&s->top->ev_timeout));
        s->top = e;
    }
    if (s->top == NULL)
        min_heap_top_(s);
    e->ev_timeout_pos.min_heap_idx = s->top == e ? 0 : 1;
    return 0;
}

static inline int min_heap_erase_(min_heap_t *s, struct event *e) {
    struct tw_fire any;
    if (e->ev_timeout_pos.min_heap_idx == -1)
        return -1;
    /* event_base_free erases all events, in any order. Nothing else erases a first event that is not due. */
    if (e == &s->stand_in) {
        s->top = NULL;
        if (tw_take(&s->wheel, TW_NEVER - 1, &any) == 1)
            s->top = min_heap_event_of_(any.node);
        return 0;
    }
    if (tw_cancel(&s->wheel, &e->ev_node) != 1) /* it was taken, so it is the first */
        s->top = NULL;
    else if (s->top == e) /* a search here would cost time for each extension of the oldest event */
        min_heap_stand_in_(s, &e->ev_timeout);
    e->ev_timeout_pos.min_heap_idx = -1;
    s->count--;
    s->n = 0;
    return 0;
}

/* Only libevent's test of the heap calls this. */
static inline struct event *min_heap_pop_(min_heap_t *s) {
    struct event *e = min_heap_top_(s);
    if (e == &s->stand_in)
        e = min_heap_event_of_(tw_first(&s->wheel, TW_UNBOUNDED));
    if (e != NULL)
        min_heap_erase_(s, e);
    return e;
}

#endif

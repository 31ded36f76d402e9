/* The timeouts of libevent on a wheel of Tickwheel: this file takes the place of minheap-internal.h, and
 * keeps its functions. One tick is a microsecond.
 *
 * `struct event` keeps its size, so that programs need not be compiled again: nodes come from a pool, which
 * grows in min_heap_reserve_, and an event finds its node by tqe_prev, which otherwise only common timeouts
 * use. A base allocates its wheel with its first timeout.
 *
 * What changes: events of one microsecond fire in the order in which they were added, and so do those whose
 * time had passed when they were added. Where many events lie far ahead, the loop may wake before the first
 * is due. */
#ifndef MINHEAP_INTERNAL_H_INCLUDED_
#define MINHEAP_INTERNAL_H_INCLUDED_

#include <stdint.h>
#include <time.h>

#include <tickwheel/tw.h>

#include "event2/event.h"
#include "event2/event_struct.h"
#include "mm-internal.h"
#include "util-internal.h"

#define MIN_HEAP_CHUNK 64 /* nodes */
#define MIN_HEAP_LOOKS 32 /* at the first events */

extern int event_debug_mode_on_;

struct min_heap_node {
    struct tw_node node;
    union {
        struct event *event;
        struct min_heap_node *next_free;
    } is;
};

struct min_heap_chunk {
    struct min_heap_chunk *next;
    struct min_heap_node nodes[MIN_HEAP_CHUNK];
};

typedef struct min_heap {
    struct event **p; /* all events, for event_base_foreach_event; no such list if n is 0 */
    unsigned n;
    unsigned count;
    struct tw *wheel;
    struct min_heap_chunk *chunks;
    struct min_heap_node *free;
    struct event_base *base;
    struct event *top; /* what min_heap_top_ returns, perhaps taken from the wheel; null: to be found */
    struct event stand_in;
} min_heap_t;

static inline struct min_heap_node *min_heap_node_of_(const struct event *e) {
    return EVUTIL_UPCAST(e->ev_timeout_pos.ev_next_with_common_timeout.tqe_prev, struct min_heap_node,
                         is.event);
}

static inline struct event *min_heap_event_of_(const struct tw_node *node) {
    return EVUTIL_UPCAST(node, struct min_heap_node, node)->is.event;
}

static inline tw_tick min_heap_tick_(const struct event *e) {
    const struct timeval *at = &e->ev_timeout;
    const tw_tick last = TW_NEVER / 1000000 - 1;
    if (at->tv_sec < 0)
        return 0;
    return ((tw_tick)at->tv_sec < last ? (tw_tick)at->tv_sec : last) * 1000000 + (tw_tick)at->tv_usec;
}

/* libevent's clock is one of the two, or a time that it has read before. By the coarse clock, which is
 * behind, the wheel never comes to a tick before libevent has. */
static inline tw_tick min_heap_now_(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (tw_tick)now.tv_sec * 1000000 + (tw_tick)now.tv_nsec / 1000;
}

static inline tw_tick min_heap_later_(tw_tick a, tw_tick b) { return a > b ? a : b; }

static inline void min_heap_ctor_(min_heap_t *s) { memset(s, 0, sizeof *s); }

static inline void min_heap_dtor_(min_heap_t *s) {
    struct min_heap_chunk *chunk;
    while ((chunk = s->chunks) != NULL) {
        s->chunks = chunk->next;
        mm_free(chunk);
    }
    if (s->wheel != NULL)
        mm_free(s->wheel);
    if (event_debug_mode_on_ && s->stand_in.ev_base != NULL)
        event_debug_unassign(&s->stand_in);
    if (s->p != NULL)
        mm_free(s->p);
}

static inline void min_heap_elem_init_(struct event *e) { e->ev_timeout_pos.min_heap_idx = -1; }
static inline int min_heap_empty_(min_heap_t *s) { return s->count == 0; }
static inline unsigned min_heap_size_(min_heap_t *s) { return s->count; }

/* libevent asks this of an event that it has just added. */
static inline int min_heap_elt_is_top_(const struct event *e) { return e->ev_timeout_pos.min_heap_idx == 0; }

/* Nodes are taken from the wheel, which never calls this. */
static inline void min_heap_fire_(struct tw_node *node, void *arg) { (void)node, (void)arg; }

/* Makes room for one more event: libevent never asks for more. */
static inline int min_heap_reserve_(min_heap_t *s, unsigned n) {
    struct min_heap_chunk *chunk;
    int i;
    (void)n;
    if (s->wheel == NULL) {
        if ((s->wheel = mm_malloc(sizeof *s->wheel)) == NULL)
            return -1;
        tw_init(s->wheel, min_heap_now_(CLOCK_MONOTONIC_COARSE), TW_UNLOCKED);
    }
    if (s->free != NULL)
        return 0;
    if ((chunk = mm_malloc(sizeof *chunk)) == NULL)
        return -1;
    chunk->next = s->chunks;
    s->chunks = chunk;
    for (i = MIN_HEAP_CHUNK; i-- != 0; s->free = &chunk->nodes[i]) {
        tw_node_init(&chunk->nodes[i].node, min_heap_fire_, NULL);
        chunk->nodes[i].is.next_free = s->free;
    }
    return 0;
}

/* Makes `stand_in` the first event: it is not in the heap, and nothing is due before its time. */
static inline struct event *min_heap_stand_in_(min_heap_t *s, const struct timeval *time) {
    if (event_debug_mode_on_ && s->stand_in.ev_base == NULL)
        event_assign(&s->stand_in, s->base, -1, 0, NULL, NULL);
    s->stand_in.ev_base = s->base;
    s->stand_in.ev_evcallback.evcb_flags |= EVLIST_INTERNAL | EVLIST_TIMEOUT;
    s->stand_in.ev_timeout_pos.min_heap_idx = 0;
    s->stand_in.ev_timeout = *time;
    return s->top = &s->stand_in;
}

/* Returns the first event, or `stand_in`, not due yet, where there are too many to look through. */
static inline struct event *min_heap_top_(min_heap_t *s) {
    struct tw_fire due;
    const struct tw_node *first;
    struct timeval until;
    tw_tick next;
    if (s->count == 0)
        return s->top = NULL;
    if (s->top != NULL && (s->top != &s->stand_in || min_heap_tick_(s->top) > min_heap_now_(CLOCK_MONOTONIC)))
        return s->top;
    if (tw_take(s->wheel, min_heap_later_(min_heap_now_(CLOCK_MONOTONIC_COARSE), tw_now(s->wheel)), &due) ==
        1)
        return s->top = min_heap_event_of_(due.node);
    if ((first = tw_first(s->wheel, MIN_HEAP_LOOKS)) != NULL)
        return s->top = min_heap_event_of_(first);
    next = min_heap_later_(tw_next(s->wheel), min_heap_now_(CLOCK_MONOTONIC) + 1);
    until.tv_sec = (time_t)(next / 1000000);
    until.tv_usec = (suseconds_t)(next % 1000000);
    return min_heap_stand_in_(s, &until);
}

static inline int min_heap_push_(min_heap_t *s, struct event *e) {
    struct min_heap_node *node;
    if (min_heap_reserve_(s, s->count + 1) != 0)
        return -1;
    node = s->free;
    s->free = node->is.next_free;
    node->is.event = e;
    e->ev_timeout_pos.ev_next_with_common_timeout.tqe_prev = &node->is.event;
    tw_arm_at(s->wheel, &node->node, min_heap_tick_(e));
    s->base = e->ev_base;
    s->count++;
    s->n = 0;
    if (s->top != NULL && evutil_timercmp(&e->ev_timeout, &s->top->ev_timeout, <)) {
        struct tw_node *former = s->top != &s->stand_in ? &min_heap_node_of_(s->top)->node : NULL;
        if (former != NULL && !tw_pending(s->wheel, former)) /* it was taken */
            tw_arm_at(s->wheel, former, min_heap_tick_(s->top));
        s->top = e;
    }
    if (s->top == NULL)
        min_heap_top_(s);
    e->ev_timeout_pos.min_heap_idx = s->top == e ? 0 : 1;
    return 0;
}

static inline int min_heap_erase_(min_heap_t *s, struct event *e) {
    struct min_heap_node *node;
    struct tw_fire any;
    if (e->ev_timeout_pos.min_heap_idx == -1)
        return -1;
    if (e ==
        &s->stand_in) { /* event_base_free wants all, in any order, and nothing else erases what is not due */
        s->top = NULL;
        if (tw_take(s->wheel, TW_NEVER - 1, &any) == 1)
            s->top = min_heap_event_of_(any.node);
        return 0;
    }
    node = min_heap_node_of_(e);
    if (tw_cancel(s->wheel, &node->node) != 1) /* it was taken, so it is the first */
        s->top = NULL;
    else if (s->top == e) /* a search here would cost time for each extension of the oldest event */
        min_heap_stand_in_(s, &e->ev_timeout);
    node->is.next_free = s->free;
    s->free = node;
    e->ev_timeout_pos.min_heap_idx = -1;
    s->count--;
    s->n = 0;
    return 0;
}

/* Only the test of the heap asks for this. */
static inline struct event *min_heap_pop_(min_heap_t *s) {
    struct event *e = min_heap_top_(s);
    if (e == &s->stand_in)
        e = min_heap_event_of_(tw_first(s->wheel, TW_UNBOUNDED));
    if (e != NULL)
        min_heap_erase_(s, e);
    return e;
}

#endif

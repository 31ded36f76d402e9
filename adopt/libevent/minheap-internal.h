/* The timeouts of libevent on a wheel of Tickwheel: this file takes the place of minheap-internal.h, and
 * keeps its functions. One tick is a microsecond.
 *
 * `struct event` keeps its size, so that programs need not be compiled again: nodes come from a pool, which
 * grows in min_heap_reserve_, and an event finds its node by tqe_prev, which otherwise only common timeouts
 * use. A base allocates its wheel with its first timeout.
 *
 * What changes: events of one microsecond fire in the order in which they were added. */
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
    struct event **p; /* event.c reads this array; it is empty but while events are listed */
    unsigned n;
    unsigned count;
    struct tw *wheel;
    struct min_heap_chunk *chunks;
    struct min_heap_node *free;
    struct event *top; /* the first event, which may have been taken from the wheel; null: to be found */
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

/* The clock of libevent, or a little before that. */
static inline tw_tick min_heap_now_(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (tw_tick)now.tv_sec * 1000000 + (tw_tick)now.tv_nsec / 1000;
}

static inline void min_heap_ctor_(min_heap_t *s) { memset(s, 0, sizeof *s); }

static inline void min_heap_dtor_(min_heap_t *s) {
    struct min_heap_chunk *chunk;
    while ((chunk = s->chunks) != NULL) {
        s->chunks = chunk->next;
        mm_free(chunk);
    }
    if (s->wheel != NULL)
        mm_free(s->wheel);
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
        tw_init(s->wheel, min_heap_now_(), TW_UNLOCKED);
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

static inline int min_heap_push_(min_heap_t *s, struct event *e) {
    struct min_heap_node *node;
    if (min_heap_reserve_(s, s->count + 1) != 0)
        return -1;
    node = s->free;
    s->free = node->is.next_free;
    node->is.event = e;
    e->ev_timeout_pos.ev_next_with_common_timeout.tqe_prev = &node->is.event;
    tw_arm_at(s->wheel, &node->node, min_heap_tick_(e));
    if (s->top != NULL && evutil_timercmp(&e->ev_timeout, &s->top->ev_timeout, <)) {
        /* If the top was taken, it goes back. */
        tw_arm_at(s->wheel, &min_heap_node_of_(s->top)->node, min_heap_tick_(s->top));
        s->top = e;
    } else if (s->count == 0) {
        s->top = e;
    }
    e->ev_timeout_pos.min_heap_idx = s->top == e ? 0 : 1;
    s->count++;
    return 0;
}

static inline int min_heap_erase_(min_heap_t *s, struct event *e) {
    struct min_heap_node *node = min_heap_node_of_(e);
    if (e->ev_timeout_pos.min_heap_idx == -1)
        return -1;
    tw_cancel(s->wheel, &node->node);
    node->is.next_free = s->free;
    s->free = node;
    if (s->top == e)
        s->top = NULL;
    e->ev_timeout_pos.min_heap_idx = -1;
    s->count--;
    return 0;
}

static inline struct event *min_heap_top_(min_heap_t *s) {
    struct tw_fire due;
    if (s->top != NULL || s->count == 0)
        return s->top;
    if (tw_take(s->wheel, min_heap_now_(), &due) == 1)
        s->top = min_heap_event_of_(due.node);
    else
        s->top = min_heap_event_of_(tw_first(s->wheel, TW_UNBOUNDED));
    return s->top;
}

static inline struct event *min_heap_pop_(min_heap_t *s) {
    struct event *e = min_heap_top_(s);
    if (e != NULL)
        min_heap_erase_(s, e);
    return e;
}

#endif

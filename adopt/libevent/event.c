/* Wraps libevent's event.c, included under the name event_original.c. Three functions of that file go through
 * the heap's array. Two of them first call a function of evmap.c, with the base's lock held: that call now
 * also fills or empties the array. This file replaces the third. */
#include "event2/event.h"
#include "evconfig-private.h"
#include "event-internal.h"
#include "evmap-internal.h"
#include "evthread-internal.h"

/* Lists the events in the array, or no event if there is no memory for the array. */
static int list_events(struct event_base *base, event_base_foreach_event_cb fn, void *arg) {
    min_heap_t *heap = &base->timeheap;
    struct event **p = heap->count != 0 ? mm_realloc(heap->p, heap->count * sizeof *p) : NULL;
    struct tw_walk walk = {0};
    const struct tw_node *node;
    heap->n = 0;
    if (p != NULL) {
        heap->p = p;
        while ((node = tw_walk_next(&heap->wheel, &walk)) != NULL)
            p[heap->n++] = min_heap_event_of_(node);
        if (heap->n < heap->count)
            p[heap->n++] = heap->top; /* it was taken */
    }
    return evmap_foreach_event_(base, fn, arg);
}

/* Empties the array, in which event_base_assert_ok_ would check the order of a heap. */
static void check_integrity(struct event_base *base) {
    base->timeheap.n = 0;
    evmap_check_integrity_(base);
}

/* Reads libevent's clock. The wheel must not go further than libevent, which in callbacks uses the time at
 * which they began. */
static int read_clock(struct evutil_monotonic_timer *clock, struct timeval *now) {
    struct event_base *base = EVUTIL_UPCAST(clock, struct event_base, monotonic_timer);
    const int result = evutil_gettime_monotonic_(clock, now);
    if (result == 0)
        base->timeheap.now = min_heap_tick_(now);
    return result;
}

static void active_by_fd(struct event_base *base, evutil_socket_t fd, short events);

#define evmap_foreach_event_ list_events
#define evmap_check_integrity_ check_integrity
#define evutil_gettime_monotonic_ read_clock
#define event_base_active_by_fd active_by_fd
#include "event_original.c"
#undef event_base_active_by_fd

static int activate(const struct event_base *base, const struct event *event, void *fd) {
    (void)base;
    if (event->ev_fd == *(evutil_socket_t *)fd && (event->ev_flags & EVLIST_TIMEOUT) != 0)
        event_active_nolock_((struct event *)event, EV_TIMEOUT, 1);
    return 0;
}

void event_base_active_by_fd(struct event_base *base, evutil_socket_t fd, short events) {
    if ((events & EV_TIMEOUT) == 0) {
        active_by_fd(base, fd, events);
        return;
    }
    EVBASE_ACQUIRE_LOCK(base, th_base_lock);
    event_base_foreach_event_nolock_(base, activate, &fd);
    EVBASE_RELEASE_LOCK(base, th_base_lock);
}

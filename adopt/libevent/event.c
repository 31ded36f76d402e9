/* libevent's event.c, which is included under the name event_original.c, goes through the array of the heap
 * when a program asks for all events. For the time of such a call the array lists them. */
#define event_base_active_by_fd listed_active_by_fd
#define event_base_dump_events listed_dump
#define event_base_foreach_event listed_foreach
#include "event_original.c"
#undef event_base_active_by_fd
#undef event_base_dump_events
#undef event_base_foreach_event

/* Takes the base's lock, which unlist gives back. Without memory for the array no timeout is listed. */
static void list(struct event_base *base) {
    min_heap_t *heap = &base->timeheap;
    struct tw_walk walk = {0};
    struct tw_node *node;
    EVBASE_ACQUIRE_LOCK(base, th_base_lock);
    heap->p = mm_malloc((heap->count + 1) * sizeof *heap->p);
    if (heap->p == NULL || heap->count == 0)
        return;
    while ((node = tw_walk_next(heap->wheel, &walk)) != NULL)
        heap->p[heap->n++] = min_heap_event_of_(node);
    if (heap->n < heap->count)
        heap->p[heap->n++] = heap->top; /* taken */
}

static void unlist(struct event_base *base) {
    mm_free(base->timeheap.p);
    base->timeheap.p = NULL;
    base->timeheap.n = 0;
    EVBASE_RELEASE_LOCK(base, th_base_lock);
}

void event_base_active_by_fd(struct event_base *base, evutil_socket_t fd, short events) {
    list(base);
    listed_active_by_fd(base, fd, events);
    unlist(base);
}

void event_base_dump_events(struct event_base *base, FILE *output) {
    list(base);
    listed_dump(base, output);
    unlist(base);
}

int event_base_foreach_event(struct event_base *base, event_base_foreach_event_cb fn, void *arg) {
    int result;
    if (base == NULL)
        return -1;
    list(base);
    result = listed_foreach(base, fn, arg);
    unlist(base);
    return result;
}

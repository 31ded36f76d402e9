/* The timers of libuv on a wheel of Tickwheel: this file replaces src/timer.c.
 *
 * One tick is a millisecond, as in libuv, and loop->time is the wheel's clock. Timers fire in the same order
 * as from libuv's heap: by deadline, then in the order of uv_timer_start. Starting and stopping allocate
 * nothing.
 *
 * What changes: a loop grows by the wheel, and a timer by the node minus the heap's fields, so programs must
 * be recompiled. uv_timer_get_due_in returns 0 for a stopped timer. If many timers lie far ahead,
 * uv_backend_timeout may end before the first deadline; the loop then wakes, fires nothing and sleeps
 * again. */
#include "uv-common.h"
#include "uv.h"

#include <limits.h>

#define LOOKS 32 /* at the first timers, for an exact timeout */

static void fire(struct tw_node *node, void *arg) {
    uv_timer_t *timer = arg;
    (void)node;
    uv__handle_stop(timer);
    uv_timer_again(timer);
    timer->timer_cb(timer);
}

/* The loop's wheel, set up by its first use, because uv_loop_init only zeroes the heap. */
static struct tw *wheel_of(uv_loop_t *loop) {
    if (loop->timer_heap.min == NULL) {
        tw_init(&loop->wheel, loop->time, TW_UNLOCKED);
        loop->timer_heap.min = &loop->wheel;
    }
    return &loop->wheel;
}

int uv_timer_init(uv_loop_t *loop, uv_timer_t *timer) {
    uv__handle_init(loop, (uv_handle_t *)timer, UV_TIMER);
    tw_node_init(&timer->node, fire, timer);
    timer->timer_cb = NULL;
    timer->repeat = 0;
    return 0;
}

int uv_timer_start(uv_timer_t *timer, uv_timer_cb callback, uint64_t timeout, uint64_t repeat) {
    const uint64_t now = timer->loop->time;
    if (uv__is_closing(timer) || callback == NULL)
        return UV_EINVAL;
    timer->timer_cb = callback;
    timer->repeat = repeat;
    tw_arm_at(wheel_of(timer->loop), &timer->node, timeout < TW_NEVER - now ? now + timeout : TW_NEVER - 1);
    uv__handle_start(timer);
    return 0;
}

int uv_timer_stop(uv_timer_t *timer) {
    if (uv__is_active(timer)) {
        tw_cancel(&timer->loop->wheel, &timer->node);
        uv__handle_stop(timer);
    }
    return 0;
}

int uv_timer_again(uv_timer_t *timer) {
    if (timer->timer_cb == NULL)
        return UV_EINVAL;
    return timer->repeat != 0 ? uv_timer_start(timer, timer->timer_cb, timer->repeat, timer->repeat) : 0;
}

void uv_timer_set_repeat(uv_timer_t *timer, uint64_t repeat) { timer->repeat = repeat; }

uint64_t uv_timer_get_repeat(const uv_timer_t *timer) { return timer->repeat; }

uint64_t uv_timer_get_due_in(const uv_timer_t *timer) {
    const tw_tick due = tw_expiry(wheel_of(timer->loop), &timer->node);
    return due != TW_NEVER && due > timer->loop->time ? due - timer->loop->time : 0;
}

int uv__next_timeout(const uv_loop_t *loop) {
    struct tw *wheel = loop->timer_heap.min;
    const struct tw_node *first;
    tw_tick next;
    if (wheel == NULL || tw_count(wheel) == 0)
        return -1; /* sleep until another event */
    first = tw_first(wheel, LOOKS);
    next = first != NULL ? tw_expiry(wheel, first) : tw_next(wheel);
    if (next <= loop->time)
        return 0;
    return next - loop->time < INT_MAX ? (int)(next - loop->time) : INT_MAX;
}

void uv__run_timers(uv_loop_t *loop) {
    struct tw_fire due;
    struct tw *wheel = loop->timer_heap.min;
    while (wheel != NULL && tw_take(wheel, loop->time, &due) == 1)
        due.fn(due.node, due.arg);
}

void uv__timer_close(uv_timer_t *timer) { uv_timer_stop(timer); }

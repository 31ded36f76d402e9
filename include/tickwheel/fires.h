/* tickwheel/fires.h - timers for programs that poll: a node whose callback counts its fires, and a
 * function that returns how many there were since the last poll.
 *
 *     static struct tw_fire_count blinks;
 *     static struct tw_node blink = TW_NODE(tw_count_fire, &blinks);
 *     ...
 *     if (tw_fired(&blinks) != 0)
 *         led_toggle();
 *
 * Any number of nodes of one wheel may share a tw_fire_count, because their callbacks run one after
 * the other. Work items may not, because they run on worker threads. One thread or interrupt polls;
 * it need not be the one that advances the wheel. No lock is taken. */
#ifndef TICKWHEEL_FIRES_H
#define TICKWHEEL_FIRES_H

#include <tickwheel/tw.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Fires that were counted, and how many of them the last poll saw. All zeroes at first. */
struct tw_fire_count {
    uint32_t counted; /* written only by the callback */
    uint32_t seen;    /* written only by tw_fired */
};

/* A callback for any `node`: counts the fire in its argument, the struct tw_fire_count `fires`. Fires that a
 * policy skips are not counted; tw_overruns returns their number. */
static inline void tw_count_fire(struct tw_node *node, void *fires) {
    struct tw_fire_count *const counter = (struct tw_fire_count *)fires;
    (void)node;
#ifdef __GNUC__
    __atomic_store_n(&counter->counted, counter->counted + 1, __ATOMIC_RELEASE);
#else
    *(volatile uint32_t *)&counter->counted = counter->counted + 1;
#endif
}

/* Returns how many fires were counted since the last poll; at most UINT32_MAX, after which the
 * count starts again at 0. */
static inline uint32_t tw_fired(struct tw_fire_count *fires) {
#ifdef __GNUC__
    const uint32_t counted = __atomic_load_n(&fires->counted, __ATOMIC_ACQUIRE);
#else
    const uint32_t counted = *(volatile uint32_t *)&fires->counted;
#endif
    const uint32_t fresh = counted - fires->seen;
    fires->seen = counted;
    return fresh;
}

#ifdef __cplusplus
}
#endif

#endif

/* Wraps libwebsockets' header of the same name: each service thread gets a wheel. The wheel is part of the
 * context, so scheduling still allocates nothing, and is initialised together with the thread's mutex. */
#ifndef TICKWHEEL_ADOPT_PRIVATE_LIB_CORE_H
#define TICKWHEEL_ADOPT_PRIVATE_LIB_CORE_H

#define attach_owner \
    attach_owner; \
    struct tw sul_wheel
#include "private-lib-core-original.h"
#undef attach_owner

/* An owner with a tail but no head is one of a thread's two owners of timers, and its tail is the wheel. No
 * real list has a tail but no head. */
static inline struct tw *lws_sul_wheel(const lws_dll2_owner_t *owner) {
    return owner->head == NULL ? (struct tw *)(void *)owner->tail : NULL;
}

static inline void lws_sul_pt_init(struct lws_context_per_thread *pt) {
    lws_pt_mutex_init(pt);
    tw_init(&pt->sul_wheel, (tw_tick)lws_now_usecs(), TW_UNLOCKED);
    for (int n = 0; n < LWS_COUNT_PT_SUL_OWNERS; n++)
        pt->pt_sul_owner[n].tail = (struct lws_dll2 *)(void *)&pt->sul_wheel;
}
#undef lws_pt_mutex_init
#define lws_pt_mutex_init lws_sul_pt_init

#endif

/* Replaces libwebsockets' lib/core-net/sorted-usec-list.c: its timers ("suls") wait on a wheel instead of in
 * sorted lists. One tick is a microsecond.
 *
 * A service thread has two lists of suls, "miss" and "wake if suspended", and fires both in order of time.
 * Here the suls of both are on one wheel, and the lists only count them. A pending sul still names its list
 * as its owner, because much of libwebsockets reads the owner, and lws_dll2_remove takes the sul off the
 * wheel (lws_dll2.c). private-lib-core.h has the wheel, and lws-timeout-timer.h the node.
 *
 * What changes: suls of the same microsecond fire in the order in which they were scheduled (before: the last
 * one first, and "wake" before "miss"), and a past time counts as the present. The service may wake a few
 * times without a sul to fire, because tw_next can be early. lws_sul_earliest_wakeable_event goes through all
 * suls of a thread that has a "wake" sul. A sul grows by a node, a context by a wheel. */
#include "private-lib-core.h"

static lws_sorted_usec_list_t *sul_of(struct tw_node *node) {
    return lws_container_of(node, lws_sorted_usec_list_t, node);
}

static void fire(struct tw_node *node, void *arg) {
    struct lws_context_per_thread *pt = arg;
    lws_sorted_usec_list_t *sul = sul_of(node);
    lws_dll2_remove(&sul->list);
    sul->us = 0;
    pt->inside_lws_service = 1;
    sul->cb(sul);
    pt->inside_lws_service = 0;
}

int __lws_sul_insert(lws_dll2_owner_t *own, lws_sorted_usec_list_t *sul) {
    struct tw *wheel = lws_sul_wheel(own);
    assert(sul->cb);
    if (sul->list.owner != own) {
        lws_dll2_remove(&sul->list);
        lws_dll2_clear(&sul->list);
        tw_node_init(&sul->node, fire, lws_container_of(wheel, struct lws_context_per_thread, sul_wheel));
        sul->list.owner = own;
        own->count++;
    }
    return tw_arm_at(wheel, &sul->node, sul->us > 0 ? (tw_tick)sul->us : 0);
}

void lws_sul_cancel(lws_sorted_usec_list_t *sul) {
    lws_dll2_remove(&sul->list);
    sul->us = 0;
}

void lws_sul2_schedule(struct lws_context *context, int tsi, int flags, lws_sorted_usec_list_t *sul) {
    struct lws_context_per_thread *pt = &context->pt[tsi];
    lws_pt_assert_lock_held(pt);
    __lws_sul_insert(&pt->pt_sul_owner[!!(flags & LWSSULLI_WAKE_IF_SUSPENDED)], sul);
}

static void schedule(struct lws_context *ctx, int tsi, int flags, lws_sorted_usec_list_t *sul, sul_cb_t cb,
                     lws_usec_t us) {
    struct lws_context_per_thread *pt = &ctx->pt[tsi];
    lws_pt_lock(pt, __func__);
    if (us == LWS_SET_TIMER_USEC_CANCEL)
        lws_sul_cancel(sul);
    else {
        sul->cb = cb;
        sul->us = lws_now_usecs() + us;
        lws_sul2_schedule(ctx, tsi, flags, sul);
    }
    lws_pt_unlock(pt);
}

void lws_sul_schedule(struct lws_context *ctx, int tsi, lws_sorted_usec_list_t *sul, sul_cb_t cb,
                      lws_usec_t us) {
    schedule(ctx, tsi, LWSSULLI_MISS_IF_SUSPENDED, sul, cb, us);
}

void lws_sul_schedule_wakesuspend(struct lws_context *ctx, int tsi, lws_sorted_usec_list_t *sul, sul_cb_t cb,
                                  lws_usec_t us) {
    schedule(ctx, tsi, LWSSULLI_WAKE_IF_SUSPENDED, sul, cb, us);
}

/* Fires the ripe suls. Returns the microseconds to sleep, or 0 if nothing is pending. */
lws_usec_t __lws_sul_service_ripe(lws_dll2_owner_t *own, int own_len, lws_usec_t usnow) {
    struct lws_context_per_thread *pt = lws_container_of(own, struct lws_context_per_thread, pt_sul_owner[0]);
    struct tw *wheel = &pt->sul_wheel;
    tw_tick now = (tw_tick)usnow, next;
    struct tw_fire ripe;
    (void)own_len;
    if (pt->attach_owner.count)
        lws_system_do_attach(pt);
    lws_pt_assert_lock_held(pt);
    if (now < tw_now(wheel)) /* the clock is not monotonic */
        tw_set_back(wheel, now);
    while (tw_take(wheel, now, &ripe) == 1)
        ripe.fn(ripe.node, ripe.arg);
    next = tw_next(wheel);
    if (next == TW_NEVER)
        return 0;
    return next > now ? (lws_usec_t)(next - now) : 1;
}

static void step(struct tw_node *node, void *step_us) {
    lws_sorted_usec_list_t *sul = sul_of(node);
    sul->us += *(int64_t *)step_us;
    __lws_sul_insert(sul->list.owner, sul);
}

lws_usec_t lws_sul_nonmonotonic_adjust(struct lws_context *ctx, int64_t step_us) {
    for (int n = 0; n < ctx->count_threads; n++) {
        struct lws_context_per_thread *pt = &ctx->pt[n];
        lws_pt_lock(pt, __func__);
        if (step_us < 0)
            tw_set_back(&pt->sul_wheel, tw_now(&pt->sul_wheel) + (tw_tick)step_us);
        tw_cancel_all(&pt->sul_wheel, step, &step_us);
        lws_pt_unlock(pt);
    }
    return 0;
}

int lws_sul_earliest_wakeable_event(struct lws_context *ctx, lws_usec_t *pearliest) {
    int none = 1;
    for (int n = 0; n < ctx->count_threads; n++) {
        struct lws_context_per_thread *pt = &ctx->pt[n];
        lws_dll2_owner_t *wake = &pt->pt_sul_owner[LWSSULLI_WAKE_IF_SUSPENDED];
        struct tw_walk walk = {0};
        struct tw_node *node;
        lws_pt_lock(pt, __func__);
        while (wake->count != 0 && (node = tw_walk_next(&pt->sul_wheel, &walk)) != NULL)
            if (sul_of(node)->list.owner == wake && (none || sul_of(node)->us < *pearliest)) {
                *pearliest = sul_of(node)->us;
                none = 0;
            }
        lws_pt_unlock(pt);
    }
    return none;
}

#if defined(LWS_WITH_SUL_DEBUGGING)
void lws_sul_debug_zombies(struct lws_context *ctx, void *po, size_t len, const char *destroy_description) {
    for (int n = 0; n < ctx->count_threads; n++) {
        struct lws_context_per_thread *pt = &ctx->pt[n];
        struct tw_walk walk = {0};
        struct tw_node *node;
        lws_pt_lock(pt, __func__);
        while ((node = tw_walk_next(&pt->sul_wheel, &walk)) != NULL)
            if ((size_t)((char *)sul_of(node) - (char *)po) < len) {
                lwsl_err("%s: %s still has a sul with cb %p\n", __func__, destroy_description,
                         sul_of(node)->cb);
                assert(0);
            }
        lws_pt_unlock(pt);
    }
}
#endif

/* Wraps libwebsockets' file of the same name: many places remove a timer from its list directly, without
 * lws_sul_cancel. */
#include "private-lib-core.h"

void lws_dll2_unlink(struct lws_dll2 *d);

#define lws_dll2_remove lws_dll2_unlink
#include "lws_dll2_original.c"
#undef lws_dll2_remove

void lws_dll2_remove(struct lws_dll2 *d) {
    struct tw *wheel = d->owner != NULL ? lws_sul_wheel(d->owner) : NULL;
    if (wheel != NULL)
        tw_cancel(wheel, &lws_container_of(d, lws_sorted_usec_list_t, list)->node);
    lws_dll2_unlink(d);
}

/* A driver that counts its closes, so that a test sees when a runtime is gone. */
#ifndef TICKWHEEL_TESTS_SUPPORT_COUNTED_CLOSES_H
#define TICKWHEEL_TESTS_SUPPORT_COUNTED_CLOSES_H

#include "support/runtime_test.h"

static atomic_int closed;
static void (*uncounted_close)(void *state);

static void counted_close(void *state) {
    uncounted_close(state);
    atomic_fetch_add(&closed, 1);
}

/* Options of a runtime on the driver of this name, with counted closes. Resets the count. */
static inline struct tw_runtime_options with_counted_closes(const char *name) {
    static struct tw_driver driver;
    driver = *tw_driver_named(name);
    uncounted_close = driver.close;
    driver.close = counted_close;
    atomic_store(&closed, 0);
    return (struct tw_runtime_options){.own_driver = &driver};
}

#endif

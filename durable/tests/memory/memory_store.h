/* A database in memory, an example of your own store: it uses only durable_store.h. The connections of a
 * process with the same address share a database, which ends with the last of them. Its clock is the local
 * one, which follows virtual time. */
#ifndef TICKWHEEL_TESTS_MEMORY_STORE_H
#define TICKWHEEL_TESTS_MEMORY_STORE_H

#include <tickwheel/durable_store.h>

#ifdef __cplusplus
extern "C" {
#endif

extern const struct tw_store memory_store;

/* Calls tw_durable_open for a database in memory, unless the options have another store. */
static inline int open_in_memory(struct tw_durable **durable, struct tw_runtime *rt, const char *address,
                                 struct tw_durable_options options) {
    if (options.store == NULL)
        options.store = &memory_store;
    return tw_durable_open(durable, rt, address, &options);
}

#ifdef __cplusplus
}
#endif

#endif

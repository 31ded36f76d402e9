/* The environment variables that control random and long tests. */
#ifndef TICKWHEEL_TESTS_SUPPORT_ENVIRONMENT_H
#define TICKWHEEL_TESTS_SUPPORT_ENVIRONMENT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline bool is_set(const char *name) {
    const char *const value = getenv(name);
    return value != NULL && *value != '\0';
}

/* True if TW_NIGHTLY is set: tests take their long form. */
static inline bool is_nightly(void) { return is_set("TW_NIGHTLY"); }

/* Prints and returns the seed of a random test: TW_SEED, else 1, or another seed each time in the nightly
 * form. */
static inline uint64_t seed_of_run(void) {
    const uint64_t seed =
        is_set("TW_SEED") ? strtoull(getenv("TW_SEED"), NULL, 0) : (is_nightly() ? (uint64_t)time(NULL) : 1);
    printf("TW_SEED=%llu\n", (unsigned long long)seed);
    return seed;
}

#endif

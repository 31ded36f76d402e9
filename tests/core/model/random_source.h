/* A source of random choices that never ends. One seed determines a run. */
#ifndef TICKWHEEL_TESTS_RANDOM_SOURCE_H
#define TICKWHEEL_TESTS_RANDOM_SOURCE_H

#include "source.h"

#include "support/random.h"

struct random_source {
    struct source source;
    uint64_t state;
};

static inline uint64_t random_draw(struct source *s, uint64_t below) {
    struct random_source *r = (struct random_source *)s;
    return random_below(&r->state, below);
}

static inline bool random_is_empty(const struct source *s) {
    (void)s;
    return false;
}

static inline struct random_source random_source_of(uint64_t seed) {
    const struct random_source made = {{random_draw, random_is_empty}, seed};
    return made;
}

#endif

/* A source of choices that are drawn from bytes, and that ends with them. */
#ifndef TICKWHEEL_TESTS_BYTE_SOURCE_H
#define TICKWHEEL_TESTS_BYTE_SOURCE_H

#include "source.h"

#include <stddef.h>

struct byte_source {
    struct source source;
    const uint8_t *next, *end;
};

/* Uses as few bytes as the range needs, so that inputs stay short. */
static inline uint64_t byte_draw(struct source *s, uint64_t below) {
    struct byte_source *b = (struct byte_source *)s;
    uint64_t value = 0;
    for (uint64_t left = below - 1; left > 0 && b->next < b->end; left >>= 8)
        value = value << 8 | *b->next++;
    return value % below;
}

static inline bool byte_is_empty(const struct source *s) {
    const struct byte_source *b = (const struct byte_source *)s;
    return b->next == b->end;
}

static inline struct byte_source byte_source_of(const uint8_t *bytes, size_t size) {
    const struct byte_source made = {{byte_draw, byte_is_empty}, bytes, bytes + size};
    return made;
}

#endif

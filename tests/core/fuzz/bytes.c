/* Draws the model test's choices from bytes. See bytes.h. */
#include "bytes.h"

#include "play.h"

#include <stdlib.h>

enum { OPERATIONS_MAX = 4000 };

struct bytes {
    struct source source;
    const uint8_t *next, *end;
};

/* Uses as few bytes as the range needs, so that inputs stay short. */
static uint64_t draw(struct source *s, uint64_t below) {
    struct bytes *b = (struct bytes *)s;
    uint64_t value = 0;
    for (uint64_t left = below - 1; left > 0 && b->next < b->end; left >>= 8)
        value = value << 8 | *b->next++;
    return value % below;
}

static bool is_empty(const struct source *s) {
    const struct bytes *b = (const struct bytes *)s;
    return b->next == b->end;
}

void play_bytes(const uint8_t *bytes, size_t size) {
    if (size == 0)
        return;
    static struct model m;
    m = (struct model){.allocate = malloc, .release = free};
    struct bytes b = {{draw, is_empty}, bytes + 1, bytes + size};
    play(&m, &b.source, bytes[0], OPERATIONS_MAX);
}

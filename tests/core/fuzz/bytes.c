/* See bytes.h. */
#include "bytes.h"

#include "byte_source.h"
#include "play.h"

#include <stdlib.h>

enum { OPERATIONS_MAX = 4000 };

void play_bytes(const uint8_t *bytes, size_t size) {
    if (size == 0)
        return;
    static struct model m;
    m = (struct model){.allocate = malloc, .release = free};
    struct byte_source b = byte_source_of(bytes + 1, size - 1);
    play(&m, &b.source, bytes[0], OPERATIONS_MAX);
}

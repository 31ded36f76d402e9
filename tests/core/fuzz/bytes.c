/* See bytes.h. The first byte of an input of the fuzzer chooses the shape of the wheel. */
#include "bytes.h"

#include "byte_source.h"
#include "play.h"
#include "shapes/shapes.h"

#include <stdlib.h>

enum { OPERATIONS_MAX = 4000 };

static void play_bytes(const uint8_t *bytes, size_t size) {
    if (size == 0)
        return;
    static struct model m;
    m = (struct model){.allocate = malloc, .release = free};
    struct byte_source b = byte_source_of(bytes + 1, size - 1);
    play(&m, &b.source, bytes[0], OPERATIONS_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0)
        return 0;
    unsigned shapes = 0;
    while (use_shape(shapes))
        ++shapes;
    use_shape(data[0] % shapes);
    play_bytes(data + 1, size - 1);
    return 0;
}

void replay_bytes(const uint8_t *bytes, size_t size) {
    for (unsigned i = 0; use_shape(i); ++i)
        play_bytes(bytes, size);
}

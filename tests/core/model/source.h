/* source.h - makes the choices of a model test: a random number generator (random_source.h), or a fuzzer's
 * bytes (../fuzz/byte_source.h). */
#ifndef TICKWHEEL_TESTS_SOURCE_H
#define TICKWHEEL_TESTS_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

struct source {
    uint64_t (*draw)(struct source *s, uint64_t below); /* 0 .. below - 1; below > 0 */
    bool (*is_empty)(const struct source *s);           /* no choices left: the life ends */
};

#endif

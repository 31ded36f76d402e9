/* bytes.h - plays one life of the model test, with all choices drawn from bytes. */
#ifndef TICKWHEEL_TESTS_BYTES_H
#define TICKWHEEL_TESTS_BYTES_H

#include <stddef.h>
#include <stdint.h>

void play_bytes(const uint8_t *bytes, size_t size);

#endif

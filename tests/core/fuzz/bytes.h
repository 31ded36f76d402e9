/* bytes.h - plays the model (model/play.h) with all choices drawn from bytes. */
#ifndef TICKWHEEL_TESTS_BYTES_H
#define TICKWHEEL_TESTS_BYTES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* libFuzzer's entry point. To reproduce a finding: ./FUZZER FILE */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Plays an input of the corpus, on each shape if there are several. */
void replay_bytes(const uint8_t *bytes, size_t size);

#ifdef __cplusplus
}
#endif

#endif

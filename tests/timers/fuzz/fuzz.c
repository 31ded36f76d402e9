/* libFuzzer's entry point for timers that the library keeps: see play.h. */
#include "play.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    play_name = "fuzzed";
    play_timers(data, size);
    return 0;
}

/* libFuzzer's entry. A finding: ./fuzz_2x3 FILE runs one input again. */
#include "bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    play_bytes(data, size);
    return 0;
}

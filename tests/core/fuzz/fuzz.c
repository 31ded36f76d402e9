/* libFuzzer's entry. A finding: ./tickwheel_fuzz FILE runs one input again. */
#include "bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    play_bytes(data, size);
    return 0;
}

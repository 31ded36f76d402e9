/* libFuzzer's entry point. To reproduce a finding: ./tickwheel_fuzz FILE */
#include "bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    play_bytes(data, size);
    return 0;
}

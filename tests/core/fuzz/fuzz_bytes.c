/* libFuzzer's entry point, where there is no shape to choose. To reproduce a finding: ./FUZZER FILE */
#include "bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    play_bytes(data, size);
    return 0;
}

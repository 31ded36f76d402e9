/* libFuzzer's entry point. The first byte chooses the shape of the wheel. To reproduce a finding:
 * ./tickwheel_fuzz FILE */
#include "bytes.h"
#include "shapes/shapes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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

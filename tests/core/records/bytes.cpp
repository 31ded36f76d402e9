// Draws the operations on a wheel of records from bytes. See ../fuzz/bytes.h.
#include "../fuzz/bytes.h"

#include "../fuzz/byte_source.h"
#include "play.hpp"

void replay_bytes(const std::uint8_t *bytes, std::size_t size) {
    using shape = tickwheel::core::log_shape<2>;
    constexpr std::uint64_t most_operations = 4000;
    static tickwheel::core::record_model<shape, MODEL_TIMERS> model;
    if (size == 0)
        return;
    byte_source source = byte_source_of(bytes + 1, size - 1);
    tickwheel::core::record_play<shape>(model, source.source).life(bytes[0], most_operations);
}

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    replay_bytes(data, size);
    return 0;
}

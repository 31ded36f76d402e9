// Draws the operations on a wheel of records from bytes. See ../fuzz/bytes.h.
#include "../fuzz/byte_source.h"
#include "play.hpp"

extern "C" {
#include "../fuzz/bytes.h"
}

void play_bytes(const std::uint8_t *bytes, std::size_t size) {
    using shape = tickwheel::core::log_shape<2, true>;
    constexpr std::uint64_t most_operations = 4000;
    static tickwheel::core::record_model<shape> model;
    if (size == 0)
        return;
    byte_source source = byte_source_of(bytes + 1, size - 1);
    tickwheel::core::record_play<shape>(model, source.source).life(bytes[0], most_operations);
}

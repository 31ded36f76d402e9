// src/core/bitmap.hpp: bits across words, and the search for the next one that is set.
#include "core/bitmap.hpp"

#include <initializer_list>

#include "support/test.h"

namespace {

constexpr unsigned size = 3 * 64 + 7;  // the last word is not full
using bits = tickwheel::core::bitmap<size>;

// Tests every range against a single bit in every position.
TEST(bitmap_find_gives_the_bit_if_it_is_in_the_range_and_else_the_end) {
    for (unsigned bit = 0; bit<size; bit += bit % 64> 2 && bit % 64 < 60 ? 11 : 1) {
        bits map = {};
        map.set(bit);
        for (unsigned from = 0; from < size; ++from)
            for (unsigned to = from + 1; to <= size; ++to)
                if (map.find(from, to) != (bit >= from && bit < to ? bit : to))
                    fail_msg("bit %u in [%u, %u)", bit, from, to);
    }
}

// The same for each end, with another bit below.
TEST(bitmap_find_last_gives_the_bit_that_is_nearest_below_the_end) {
    for (unsigned bit = 1; bit < size; ++bit)
        for (const bool has_lower : {false, true}) {
            bits map = {};
            map.set(bit);
            if (has_lower)
                map.set(bit / 2);
            for (unsigned from = 0; from < size; ++from) {
                const unsigned below = has_lower && bit / 2 <= from ? bit / 2 : size;
                if (map.find_last(from) != (bit <= from ? bit : below))
                    fail_msg("bit %u in [0, %u]", bit, from);
            }
        }
}

}  // namespace

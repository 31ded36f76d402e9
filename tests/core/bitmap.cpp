// src/core/bitmap.hpp: bits across words, and the search for the next one that is set.
#include "core/bitmap.hpp"

#include "support/test.h"

namespace {

constexpr unsigned size = 3 * 64 + 7;  // the last word is not full
using bits = tickwheel::core::bitmap<size>;

TEST(bitmap_starts_empty) {
    const bits map = {};
    for (unsigned bit = 0; bit < size; ++bit)
        assert_false(map.test(bit));
    assert_int_equal(map.find(0, size), size);
}

TEST(bitmap_set_and_clear_change_one_bit) {
    bits map = {};
    for (unsigned bit = 0; bit < size; ++bit) {
        map.set(bit);
        for (unsigned other = 0; other < size; ++other)
            assert_int_equal(map.test(other), other == bit);
        map.clear(bit);
        assert_false(map.test(bit));
    }
}

TEST(bitmap_clear_leaves_the_neighbours) {
    bits map = {};
    for (unsigned bit = 0; bit < size; ++bit)
        map.set(bit);
    map.clear(64);
    assert_true(map.test(63));
    assert_false(map.test(64));
    assert_true(map.test(65));
}

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

TEST(bitmap_find_gives_the_first_of_many) {
    bits map = {};
    for (unsigned bit = 5; bit < size; bit += 31)
        map.set(bit);
    unsigned expected = 5;
    for (unsigned at = map.find(0, size); at < size; at = at + 1 < size ? map.find(at + 1, size) : size) {
        assert_int_equal(at, expected);
        expected += 31;
    }
    assert_true(expected >= size);
}

TEST(bitmap_of_less_than_a_word_works) {
    tickwheel::core::bitmap<2> map = {};
    map.set(1);
    assert_int_equal(map.find(0, 2), 1);
    assert_int_equal(map.find(0, 1), 1);
    assert_int_equal(map.find(1, 2), 1);
    map.clear(1);
    assert_int_equal(map.find(0, 2), 2);
}

}  // namespace

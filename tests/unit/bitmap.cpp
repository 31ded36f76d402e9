// src/core/bitmap.hpp: bits across words, and the search for the next one.
#include "core/bitmap.hpp"

#include "support/test.h"

namespace {

constexpr unsigned size = 3 * 64 + 7;  // the last word is not full
using bits = tickwheel::core::bitmap<size>;

// As callers walk it: from one bit to the next that is set, `size` if there is none.
unsigned find(const bits &map, unsigned from) {
    while (from < size) {
        const unsigned clear = map.clear_from(from);
        if (clear == 0)
            return from;
        from += clear;
    }
    return size;
}

TEST(bitmap_starts_empty) {
    const bits map = {};
    for (unsigned bit = 0; bit < size; ++bit)
        assert_false(map.test(bit));
    assert_int_equal(find(map, 0), size);
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

// From every place, against one bit in every place: never past it, and on by one at least.
TEST(bitmap_clear_from_leads_to_the_next_bit_word_by_word) {
    for (unsigned bit = 0; bit < size; ++bit) {
        bits map = {};
        map.set(bit);
        for (unsigned from = 0; from < size; ++from) {
            const unsigned clear = map.clear_from(from);
            if (from <= bit && bit < from + clear)
                fail_msg("from %u past %u by %u", from, bit, clear);
            assert_int_equal(clear == 0, from == bit);
            assert_int_equal(find(map, from), from <= bit ? bit : size);
        }
    }
}

TEST(bitmap_clear_from_gives_the_first_of_many) {
    bits map = {};
    for (unsigned bit = 5; bit < size; bit += 31)
        map.set(bit);
    unsigned expected = 5;
    for (unsigned at = find(map, 0); at < size; at = find(map, at + 1)) {
        assert_int_equal(at, expected);
        expected += 31;
    }
    assert_true(expected >= size);
}

TEST(bitmap_of_less_than_a_word_works) {
    tickwheel::core::bitmap<2> map = {};
    map.set(1);
    assert_int_equal(map.clear_from(0), 1);
    assert_int_equal(map.clear_from(1), 0);
    map.clear(1);
    assert_true(map.clear_from(0) >= 2);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(bitmap_starts_empty),
        cmocka_unit_test(bitmap_set_and_clear_change_one_bit),
        cmocka_unit_test(bitmap_clear_leaves_the_neighbours),
        cmocka_unit_test(bitmap_clear_from_leads_to_the_next_bit_word_by_word),
        cmocka_unit_test(bitmap_clear_from_gives_the_first_of_many),
        cmocka_unit_test(bitmap_of_less_than_a_word_works),
    };
    return cmocka_run_group_tests_name("bitmap", tests, nullptr, nullptr);
}

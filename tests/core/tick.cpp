// src/core/tick.hpp: how a geometry divides ticks into digits; and errors.hpp.
#include "core/geometry.hpp"

#include <errno.h>

#include <bit>

#include "core/errors.hpp"
#include "support/test.h"

namespace {

using namespace tickwheel::core;

using usual = geometry<8, 3, true>;
using plain = geometry<8, 3, false>;
using small = geometry<1, 3, true>;
using hashed = geometry<8, 1, true>;

TEST(tick_level_is_that_of_the_highest_differing_digit) {
    assert_int_equal(usual::level_of(0), 0);
    assert_int_equal(usual::level_of(1), 0);
    assert_int_equal(usual::level_of(0xff), 0);
    assert_int_equal(usual::level_of(0x100), 1);
    assert_int_equal(usual::level_of(0xffff), 1);
    assert_int_equal(usual::level_of(0x10000), 2);
    assert_int_equal(usual::level_of(0x7fffff), 2);
    assert_int_equal(plain::level_of(0xffffff), 2);
}

TEST(tick_beyond_a_round_is_far) {
    for (unsigned bit = 23; bit < 64; ++bit)
        assert_int_equal(usual::level_of(tick{1} << bit), usual::far);
    assert_int_equal(usual::level_of(never), usual::far);
    assert_int_equal(plain::level_of(0x1000000), plain::far);
    assert_int_equal(small::level_of(1), 0);
    assert_int_equal(small::level_of(2), 1);
    assert_int_equal(small::level_of(4), small::far);
    assert_int_equal(small::level_of(8), small::far);
    assert_int_equal(hashed::level_of(255), 0);
    assert_int_equal(hashed::level_of(256), hashed::far);
    assert_int_equal(hashed::level_of(never), hashed::far);
}

template <class G> void assert_a_far_slot_for_each_bit_beyond_a_round() {
    for (unsigned bit = G::round_bits; bit < 64; ++bit) {
        const unsigned slot = G::near_slots + bit - G::round_bits;
        assert_int_equal(G::far_slot(tick{1} << bit), slot);
        assert_int_equal(G::far_slot((tick{1} << bit) + (tick{1} << bit) - 1), slot);
        assert_int_equal(G::far_shift(slot), bit);
    }
    assert_int_equal(G::far_slot(never), G::slots - 1);
}

TEST(tick_each_bit_beyond_a_round_has_a_far_slot) {
    assert_a_far_slot_for_each_bit_beyond_a_round<usual>();
    assert_a_far_slot_for_each_bit_beyond_a_round<plain>();
    assert_a_far_slot_for_each_bit_beyond_a_round<small>();
    assert_a_far_slot_for_each_bit_beyond_a_round<hashed>();
}

TEST(tick_until_next_is_the_way_to_the_next_slot) {
    assert_int_equal(usual::until_next(0, 77), 1);
    assert_int_equal(usual::until_next(1, 0x1200), 256);
    assert_int_equal(usual::until_next(1, 0x12ff), 1);
    assert_int_equal(usual::until_next(2, 0x12345), 0x10000 - 0x2345);
    assert_int_equal(usual::until_next(usual::far, 0x1812345), 0x800000 - 0x12345);
    assert_int_equal(plain::until_next(plain::far, 0x1812345), 0x1000000 - 0x812345);
}

unsigned trailing_zeroes(tick t) { return t == 0 ? 64 : static_cast<unsigned>(std::countr_zero(t)); }

void assert_roundest(tick first, tick last) {
    const tick chosen = roundest(first, last);
    assert_in_range(chosen, first, last);
    for (tick t = first; t <= last; ++t)
        assert_true(trailing_zeroes(t) <= trailing_zeroes(chosen));
}

TEST(tick_roundest_has_the_most_trailing_zero_bits_of_its_range) {
    for (tick first = 0; first < 70; ++first)
        for (tick last = first; last < 140; ++last)
            assert_roundest(first, last);
    assert_roundest(last_tick - 100, last_tick);
    assert_int_equal(roundest(last_tick, last_tick), last_tick);
    assert_int_equal(roundest(1, last_tick), tick{1} << 63);
}

TEST(errors_are_those_of_errno_h) {
    assert_int_equal(eperm, EPERM);
    assert_int_equal(enoent, ENOENT);
    assert_int_equal(ebusy, EBUSY);
    assert_int_equal(einval, EINVAL);
    assert_int_equal(erange, ERANGE);
}

}  // namespace

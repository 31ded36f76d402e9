// How a geometry divides ticks into digits, other arithmetic with ticks, and errors.hpp.
#include <errno.h>

#include <bit>

#include "core/bounds.hpp"
#include "core/errors.hpp"
#include "core/periodic.hpp"
#include "core/placement.hpp"
#include "support/test.h"

namespace {

using namespace tickwheel::core;

using usual = geometry<8, 3, true>;
using plain = geometry<8, 3, false>;
using small = geometry<1, 3, true>;
using hashed = geometry<8, 1, true>;
using wide = geometry<2, 2, true>;  // of whose two levels the lower one has more slots

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

template <class G> void assert_slots_are_numbered_upwards() {
    unsigned slot = 0;
    for (unsigned level = 0; level <= G::top; ++level)
        for (unsigned index = 0; index < G::width(level); ++index, ++slot) {
            assert_int_equal(G::first_slot(level) + index, slot);
            assert_int_equal(G::level_of_slot(slot), level);
        }
    assert_int_equal(slot, G::near_slots);
    for (; slot < G::slots; ++slot)
        assert_int_equal(G::level_of_slot(slot), G::far);
}

TEST(tick_slots_are_numbered_level_by_level) {
    assert_slots_are_numbered_upwards<usual>();
    assert_slots_are_numbered_upwards<plain>();
    assert_slots_are_numbered_upwards<small>();
    assert_slots_are_numbered_upwards<hashed>();
    assert_slots_are_numbered_upwards<wide>();
}

TEST(tick_a_stretch_is_as_long_as_its_slot) {
    assert_true(usual::is_same_stretch(0xffff, 2, 0));
    assert_false(usual::is_same_stretch(0x10000, 2, 0));
    assert_true(usual::is_same_stretch(0x1ffffff, usual::far, usual::near_slots + 2));
    assert_false(usual::is_same_stretch(0x2000000, usual::far, usual::near_slots + 2));
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

// The lead is limited to 4194304 ticks, half a round.
TEST(tick_the_lead_into_far_slots_grows_with_the_number_of_nodes) {
    static placement<usual> at;
    static const struct {
        unsigned level, count, near_lead, lead;
    } cases[] = {
        {usual::top, 1000000, 7, 7}, {usual::far, 1000000, 0, 0},      {usual::far, 10, 7, 160},
        {usual::far, 10, 161, 161},  {usual::far, 262143, 7, 4194288}, {usual::far, 1000000, 7, 4194304},
    };
    for (const auto &one : cases) {
        at.count = one.count;
        assert_int_equal(at.lead_into(one.level, one.near_lead), one.lead);
    }
}

// `ticks` have passed since the last call; `late` ticks ago tw_next had asked for the next one.
TEST(tick_a_caller_who_has_slept_as_asked_has_the_share_of_one_tick) {
    static const struct {
        unsigned ticks, late, shares;
    } cases[] = {{0, 0, 1}, {1, 0, 1}, {10, 0, 1}, {10, 3, 4}, {3, 3, 3}, {3, 10, 3}, {0, 10, 1}};
    for (const auto &one : cases)
        assert_int_equal(shares_of(one.ticks, one.late), one.shares);
}

TEST(tick_division_by_bits_is_division) {
    static const tick numbers[] = {1,         2,    3, 7, 10, 97, 1000, 0xffff, 0x100000000, last_tick / 2,
                                   last_tick, never};
    for (const tick dividend : numbers)
        for (const tick divisor : numbers)
            for (tick more = 0; more <= 1; ++more) {
                const quotient got = divide_by_bits(dividend - more, divisor);
                assert_int_equal(got.whole, (dividend - more) / divisor);
                assert_int_equal(got.rest, (dividend - more) % divisor);
            }
}

#if TW_RUNTIME
TEST(tick_parts_are_counted_as_far_as_numbers_go) {
    assert_int_equal(in_parts(3, 10, 7), 37);
    assert_int_equal(in_parts(never / 10, 10, 0), never / 10 * 10);
    assert_int_equal(in_parts(never / 10 + 1, 10, 0), never);
    assert_int_equal(in_parts(0, 10, never), never);
}
#endif

TEST(errors_are_those_of_errno_h) {
    assert_int_equal(eperm, EPERM);
    assert_int_equal(enoent, ENOENT);
    assert_int_equal(ebusy, EBUSY);
    assert_int_equal(einval, EINVAL);
    assert_int_equal(erange, ERANGE);
}

}  // namespace

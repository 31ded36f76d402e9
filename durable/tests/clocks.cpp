// A process's estimate of the database's clock, and its own lease.
#include "src/database_clock.hpp"
#include "src/lease.hpp"

#include "support/test.h"

namespace {

using tickwheel::durable::database_clock;
using tickwheel::durable::lease;

constexpr std::int64_t ms = 1'000'000, second = 1'000 * ms, minute = 60 * second;

// --- the clock of the database -----------------------------------------------------------------

// The database's clock is 1,000 s ahead, and the database read it 4 ms after the question and 6 ms before the
// answer.
struct known_clock {
    database_clock clock;

    known_clock() { assert_false(clock.add({second, second + 10 * ms, 1'001 * second + 4 * ms})); }
};

TEST(a_clock_is_unknown_until_it_was_read) {
    database_clock clock;
    assert_false(clock.is_known());
    assert_false(clock.add({0, 0, minute}));
    assert_true(clock.is_known());
    assert_int_equal(clock.at(0), minute);
    assert_int_equal(clock.uncertainty(), 0);
}

// The database may have read its clock just before the answer arrived.
TEST(a_clock_reads_the_lower_end_of_what_it_may_be) {
    const known_clock known;
    assert_int_equal(known.clock.at(second + 10 * ms), 1'001 * second + 4 * ms);
    assert_int_equal(known.clock.when(1'001 * second + 4 * ms), second + 10 * ms);
    assert_int_equal(known.clock.uncertainty(), 10 * ms);
}

TEST(each_reading_narrows_the_range_and_a_slow_one_does_not_widen_it) {
    known_clock known;
    assert_false(known.clock.add({second + 11 * ms, second + 12 * ms, 1'001 * second + 11 * ms}));
    assert_in_range(known.clock.uncertainty(), ms, ms + 1000);  // drift of 2 ms
    assert_int_equal(known.clock.at(second + 12 * ms), 1'001 * second + 11 * ms);
    assert_false(known.clock.add({second + 12 * ms, 2 * second, 1'001 * second + 500 * ms}));
    assert_in_range(known.clock.uncertainty(), ms, ms + 200'000);  // drift of a second
    assert_in_range(known.clock.at(2 * second), 1'002 * second - ms - 100'000, 1'002 * second - ms);
}

TEST(a_clock_drifts_by_a_ten_thousandth_for_a_minute_at_most) {
    const known_clock known;
    const std::int64_t read = second + 10 * ms, then = 1'001 * second + 4 * ms;
    assert_int_equal(known.clock.at(read + 10 * second), then + 10 * second - ms);
    assert_int_equal(known.clock.when(then + 10 * second), read + 10 * second + ms);
    assert_int_equal(known.clock.at(read + 60 * minute), then + 60 * minute - 6 * ms);
    assert_int_equal(known.clock.at(read - second), then - second);
}

// The readings come ten seconds after the last one, so the drift is 1 ms.
TEST(a_reading_that_contradicts_the_former_ones_replaces_them) {
    const struct {
        std::int64_t off;
        bool was_set;
    } cases[] = {{0, false},       {5 * ms, false}, {6 * ms, true}, {minute, true},
                 {-6 * ms, false}, {-7 * ms, true}, {-minute, true}};
    for (const auto &each : cases) {
        known_clock known;
        const std::int64_t local = 11 * second + 10 * ms, now = local + 1'000 * second + each.off - ms / 2;
        assert_int_equal(known.clock.add({local, local, now}), each.was_set);
        assert_int_equal(known.clock.at(local), now);
        assert_int_equal(known.clock.uncertainty(), 0);
        assert_int_equal(known.clock.at(local + second), now + second - ms / 10);
    }
}

// --- leases --------------------------------------------------------------------------------------

TEST(a_lease_counts_from_the_question_and_ends_a_thousandth_early) {
    lease held;
    assert_int_equal(held.member().id, 0);
    assert_int_equal(held.remaining(0, 0), 0);
    held.begin({7, 1}, second, 10 * second);
    assert_int_equal(held.until(), 11 * second - 10 * ms);
    assert_int_equal(held.remaining(7, second), 10 * second - 10 * ms);
    assert_int_equal(held.remaining(7, 11 * second - 10 * ms - 1), 1);
    assert_int_equal(held.remaining(7, 11 * second - 10 * ms), 0);
    assert_int_equal(held.remaining(8, second), 0);
    held.set_length(5 * second, 20 * second);
    assert_int_equal(held.remaining(7, 5 * second), 20 * second - 20 * ms);
    held.set_epoch(2);
    assert_int_equal(held.member().epoch, 2);
    assert_int_equal(held.member().id, 7);
}

TEST(a_membership_that_has_ended_holds_nothing) {
    lease held;
    held.begin({7, 1}, 0, 10 * second);
    held.end();
    assert_int_equal(held.member().id, 0);
    assert_int_equal(held.remaining(7, 0), 0);
    assert_int_equal(held.remaining(0, 0), 0);
    assert_int_equal(held.until(), 0);
}

}  // namespace

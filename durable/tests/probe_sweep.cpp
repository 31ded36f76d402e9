// Sweeps over rows that a database cannot clear away, on a clock of the test.
#include "src/probe_sweep.hpp"

#include "support/test.h"

namespace {

using tickwheel::durable::sweep;

constexpr std::int64_t us = 1'000, ms = 1'000 * us, second = 1'000 * ms, day = 86'400 * second,
                       pause = 20 * second;

// A database in which each second since `reader_since` has rows that a look needs `cost` to pass.
struct world {
    sweep of;
    std::int64_t now = 20'000 * day, reader_since = INT64_MAX, cost = 2 * ms, latency = 100 * us;
    std::int64_t slowest = 0, busy = 0;
    unsigned pieces = 0;

    // Carries out the next piece when it is due. Returns where it began.
    std::int64_t go_on() {
        now = std::max(now, of.at());
        const sweep::piece piece = of.next(now);
        const std::int64_t end = piece.until != 0 ? piece.until : now;
        const std::int64_t begin = std::max(piece.from, reader_since);
        const std::int64_t took = latency + (begin < end ? (end - begin) / second * cost : 0);
        of.note(piece, now, now + took, pause);
        now += took;
        busy += took;
        slowest = std::max(slowest, took);
        ++pieces;
        return piece.from;
    }

    void sweep_once() {
        slowest = pieces = 0;
        for (std::int64_t last = 0, from = go_on(); from != 0; from = go_on()) {
            assert_true(last == 0 || from < last);
            last = from;
        }
    }
};

TEST(a_quick_sweep_is_one_piece) {
    world idle;
    const std::int64_t begun = idle.now;
    for (int i = 0; i < 10; ++i) {
        idle.sweep_once();
        assert_int_equal(idle.pieces, 1);
    }
    assert_in_range(idle.now - begun, 9 * pause, 9 * pause + second);
}

TEST(a_sweep_over_many_rows_goes_in_short_pieces_and_takes_a_fiftieth_of_the_time) {
    world busy;
    busy.reader_since = busy.now - 3600 * second;
    busy.sweep_once();  // finds out
    const std::int64_t begun = busy.now;
    busy.busy = 0;
    for (int i = 0; i < 5; ++i) {
        busy.sweep_once();
        assert_true(busy.slowest <= 400 * ms);  // twice as long as one that is not slow
        assert_true(busy.pieces > 20);
    }
    assert_true(busy.busy * 49 <= busy.now - begun);
}

TEST(pieces_leave_no_time_out) {
    world busy;
    busy.reader_since = busy.now - 600 * second;
    busy.sweep_once();
    std::int64_t until = 0;
    do {
        const sweep::piece next = busy.of.next(busy.now);
        assert_int_equal(next.until, until);
        until = busy.go_on();
    } while (until != 0);
}

TEST(sweeps_are_whole_once_more_after_the_rows_are_gone) {
    world busy;
    busy.reader_since = busy.now - 600 * second;
    for (int i = 0; i < 3; ++i)
        busy.sweep_once();
    assert_true(busy.pieces > 5);
    busy.reader_since = INT64_MAX;
    for (int i = 0; i < 12; ++i)
        busy.sweep_once();
    assert_int_equal(busy.pieces, 1);
}

TEST(a_sweep_of_a_distant_database_reaches_the_start_soon) {
    world distant;
    distant.latency = 150 * ms;
    distant.of.note_failure(distant.now, distant.now + second);
    distant.sweep_once();
    assert_true(distant.pieces < 40);
    for (int i = 0; i < 12; ++i)
        distant.sweep_once();
    assert_int_equal(distant.pieces, 1);
}

TEST(a_piece_that_the_database_refuses_is_smaller_the_next_time_and_later) {
    world busy;
    busy.of.note_failure(busy.now, busy.now + 4 * second);
    assert_int_equal(busy.of.at(), busy.now + 4 * second + 49 * 4 * second);
    const sweep::piece next = busy.of.next(busy.now);
    assert_true(next.until == 0 && next.from == busy.now - 16 * second);
}

}  // namespace

// The wheel of records under patterns that leave as many stale entries as can be, where they hurt most:
// nothing is lost, nothing fires twice, their number is bounded (R6), and so is what each call does (P8).
#include <algorithm>
#include <numeric>

#include "fixture.hpp"
#include "support/random.h"

namespace {

using namespace tickwheel::core;

using shape = log_shape<RECORD_BITS>;
using fixture = record_fixture<shape>;

constexpr std::size_t most_looks = 48;  // at records in one call, with what it sweeps

std::uint64_t seed = 1;
std::uint32_t random_cell(std::size_t below) {
    return static_cast<std::uint32_t>(random_below(&seed, below));
}

std::vector<std::uint32_t> shuffled(std::uint32_t count) {
    std::vector<std::uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0u);
    for (std::uint32_t i = count; i > 1; --i)
        std::swap(order[i - 1], order[random_cell(i)]);
    return order;
}

void assert_bounds(fixture &it) {
    assert_true(it.is_within_bound());
    assert_true(it.looks <= most_looks);
    it.looks = 0;
}

// All that is armed fires, and then nothing is left.
void assert_ends_well(fixture &it, tick last) {
    assert_int_equal(it.broken(), 0);
    const std::size_t armed = it->armed();
    it.fired.clear();
    it.advance(last);
    assert_int_equal(it.fired.size(), armed);
    assert_int_equal(it->entries(), 0);
    assert_int_equal(it.broken(), 0);
}

// Records start and stop at random, due at `tick_of()`.
template <class TickOf> void storm(fixture &it, unsigned calls, TickOf tick_of) {
    for (unsigned i = 0; i < calls; ++i) {
        const std::uint32_t cell = random_cell(it.timings.size());
        if (it.is_armed[cell] && i % 3 != 0)
            it.disarm(cell);
        else
            it.arm(cell, tick_of());
        assert_bounds(it);
    }
}

TEST(records_hold_their_bounds_in_storms) {
    for (const std::size_t records : {2u, 40u, 3000u}) {
        fixture it(records, 1000);
        storm(it, 40000, [] { return tick{5000}; });
        assert_int_equal(it.broken(), 0);
        storm(it, 40000, [] { return 1000 + random_below(&seed, tick{1} << random_cell(40)); });
        assert_ends_well(it, tick{1} << 41);
    }
}

// Waves: all start, then all stop, from either end or at random.
TEST(records_hold_their_bounds_in_waves) {
    fixture it(4000, 77);
    for (unsigned wave = 0; wave < 12; ++wave) {
        std::vector<std::uint32_t> order = shuffled(4000);
        if (wave % 3 == 0)
            std::sort(order.begin(), order.end());
        for (std::uint32_t cell : order)
            it.arm(cell, 100000 + (wave % 2 == 0 ? 0 : tick{cell} * 999));
        for (std::uint32_t cell : order) {
            it.disarm(cell);
            assert_bounds(it);
        }
        assert_int_equal(it.broken(), 0);
    }
    it.arm(0, 100000);
    assert_ends_well(it, 5000000);
}

TEST(records_hold_their_bounds_when_moved_to_earlier_for_ever) {
    for (const std::uint32_t records : {1u, 5u, 2000u}) {
        fixture it(records);
        constexpr tick far = tick{1} << 50;
        for (unsigned i = 0; i < 60000; ++i) {
            it.arm(i % records, far - i);
            assert_bounds(it);
        }
        assert_ends_well(it, far);
    }
}

TEST(records_started_and_stopped_in_turn_leave_nothing_behind) {
    fixture it(1000);
    for (std::uint32_t i = 1; i < 1000; ++i)
        it.arm(i, 500 + i % 3);
    for (unsigned i = 0; i < 100000; ++i) {
        it.arm(0, 500 + i % 3);
        it.disarm(0);
        assert_true(it->entries() <= it->armed() + 3);  // one a log, whose chunk it began
    }
    it.looks = 0;
    assert_ends_well(it, 600);
}

// The entry stands where it was before its record was moved to a later tick.
TEST(records_that_were_moved_later_leave_nothing_behind_when_they_are_stopped) {
    fixture it(1);
    for (const tick due : {5, 100, 200, 3}) {
        it.arm(0, due);
        assert_int_equal(it->entries(), 1);
        it.arm(0, due + 1);
    }
    it.disarm(0);
    assert_int_equal(it->entries(), 0);
}

// Its entry stays where it is, and has no room for more.
TEST(records_that_are_moved_later_by_more_than_32_bits_of_ticks_begin_again) {
    fixture it(2);
    it.arm(0, 5);
    it.arm(1, 5);
    it.arm(0, 5 + tick{UINT32_MAX});
    assert_int_equal(it->entries(), 2);
    it.arm(0, 6 + tick{UINT32_MAX});
    assert_int_equal(it->entries(), 3);
    assert_ends_well(it, 6 + tick{UINT32_MAX});
}

// What the runtime plans its look-ahead by.
TEST(records_tell_how_early_look_ahead_begins_and_how_late_the_caller_is) {
    fixture it(200);
    assert_int_equal(it->near_lead(), 1);
    for (std::uint32_t i = 0; i < 2 * (ahead_per_tick / 4); ++i) {  // those that come down in two ticks
        assert_int_equal(it->near_lead(), i < ahead_per_tick / 4 ? 1 : 2);
        it.arm(i, 5000 + i);
    }
    assert_int_equal(it->near_lead(), 3);
    const tick asked_for = it->next(it->near_lead());
    it->begin_advance(asked_for - 1);
    assert_true(it->ticks_after_asked() > UINT64_MAX / 2);  // early
    it->begin_advance(asked_for + 7);
    assert_int_equal(it->ticks_after_asked(), 7);
}

// By one level with each call, when the slots that hold it open within the lead.
TEST(records_come_down_within_the_lead_and_not_before) {
    for (unsigned level = 1; level < 4; ++level) {
        const tick opening = 3 * shape::span(level);
        fixture it(1, opening - 2);
        it.arm(0, opening + 2);
        assert_int_equal(it->lower_some(1), 0);
        for (unsigned calls = 0; calls < level; ++calls)
            assert_int_equal(it->lower_some(2), 1);
        assert_int_equal(it->lower_some(2), 0);
        assert_ends_well(it, opening + 2);
    }
}

// Until a slot opens on level 0, or look-ahead to one on another level is due; at most to the end of the
// block.
TEST(records_leave_the_wheel_quiet_until_there_is_something_to_do) {
    for (const unsigned level : {1u, 2u, 3u, shape::top}) {
        const tick opening = shape::span(level), begin = opening - shape::span(1) + 1;
        for (const tick due : {begin + 1, opening, opening + shape::span(1), opening + shape::span(2)})
            for (const tick lead : {tick{0}, tick{1}, tick{2}}) {
                fixture it(1, begin);
                it.arm(0, due);
                it->set_quiet(lead);
                const bool is_in_the_next_slot = due - opening < shape::span(level);
                const tick quiet_until = due < opening ? due : opening - (is_in_the_next_slot ? lead : 0);
                assert_false(it->pass_quietly(quiet_until));
                assert_true(it->pass_quietly(quiet_until - 1));
                assert_ends_well(it, due);
            }
    }
}

TEST(records_leave_the_wheel_quiet_up_to_the_last_tick) {
    fixture it(1, last_tick - 1);
    it->set_quiet(0);
    assert_true(it->pass_quietly(last_tick));
}

// At once if they have to come down, else at their tick.
TEST(records_that_are_armed_in_the_quiet_end_it) {
    fixture it(2);
    it->set_quiet(0);
    it.arm(0, 2);
    assert_false(it->pass_quietly(2));
    assert_true(it->pass_quietly(1));
    it.arm(1, shape::span(1));
    assert_false(it->pass_quietly(1));
}

// Each level costs the same few steps, however many empty slots are passed.
TEST(records_far_away_are_as_many_steps_away_as_near_ones) {
    const auto steps_to = [](tick due) {
        fixture it(1);
        it.arm(0, due);
        it->begin_advance(due);
        unsigned steps = 1;
        while (it.step() != fixture::result::due)
            ++steps;
        return steps;
    };
    for (unsigned level = 1; level <= shape::top; ++level)
        assert_int_equal(steps_to((shape::span(1) - 1) * shape::span(level)), steps_to(shape::span(level)));
}

// A sweep meets entries again that come down while it goes on. So that they come down just behind it, each
// time to be looked at once more, it is held up on each level by others that stand there.
TEST(records_hold_their_bounds_while_entries_come_down_in_step_with_a_sweep) {
    if (RECORD_BITS != 8)
        return skip();
    constexpr std::uint32_t live = 20000, stale = 16000, holding = 30;
    constexpr unsigned top = 5;
    constexpr tick boundary = shape::span(top);
    fixture it(live + stale + top * holding, boundary - 1000);
    const auto come_down = [&] {
        for (unsigned i = 0; i <= live / 16; ++i) {
            it->lower_some(5000);
            assert_bounds(it);
        }
    };
    for (unsigned level = 2; level <= top; ++level)
        for (std::uint32_t i = 0; i < holding; ++i)
            it.arm(live + stale + (level - 1) * holding + i, boundary + shape::span(level));
    for (std::uint32_t i = 0; i < stale; ++i)
        it.arm(live + i, boundary + 200);
    for (unsigned level = top; level != 1; --level)
        come_down();
    for (std::uint32_t i = 0; i < live; ++i)
        it.arm(i, boundary + 1);
    for (std::uint32_t i = 0; !it.inside().is_sweeping(); ++i) {
        it.disarm(live + i);
        assert_bounds(it);
    }
    std::uint32_t stopped = 0;
    for (unsigned level = top; level != 1; --level) {
        const log *const held_up =
            &it.inside().levels().slots[shape::slot(level, boundary + shape::span(level))];
        for (; it.inside().is_sweeping() && it.inside().swept() != held_up && stopped < live / 2; ++stopped) {
            it.disarm(stopped);
            assert_bounds(it);
        }
        come_down();
    }
    for (; stopped < live; ++stopped) {
        it.disarm(stopped);
        assert_bounds(it);
    }
    assert_ends_well(it, 3 * boundary);
}

// Lives are swept first, from as many logs as there can be, and the stale entries last.
TEST(records_hold_their_bounds_while_a_sweep_finds_one_entry_a_log) {
    constexpr tick start = shape::span(1), end_of_block = 2 * start - 1;
    constexpr std::uint32_t live = static_cast<std::uint32_t>(start - 1) * shape::top;
    fixture it(2 * live + 40, start);
    std::uint32_t armed = 0;
    for (unsigned level = 1; level <= shape::top; ++level)
        for (tick digit = level == 1 ? 2 : 1; digit < start; ++digit)
            it.arm(armed++, digit * shape::span(level));
    for (std::uint32_t i = armed; i < it.timings.size(); ++i)
        it.arm(i, end_of_block);
    for (std::uint32_t i = armed; !it.inside().is_sweeping(); ++i)
        it.disarm(i);
    it.looks = 0;
    for (std::uint32_t i = 0; i < armed; ++i) {
        it.disarm(i);
        assert_bounds(it);
    }
    assert_false(it.inside().is_sweeping());  // it has an end
    assert_ends_well(it, end_of_block);
}

// Those of `moved` go on to the next tick whenever the sweep has met them, to be met there again: the steps
// that move them sweep as many entries.
TEST(records_hold_their_bounds_while_entries_move_on_ahead_of_a_sweep) {
    if (RECORD_BITS != 8)
        return skip();
    constexpr std::uint32_t moved = 8000, far = 2000, stale = 7600;
    fixture it(moved + far + stale);
    for (std::uint32_t i = 0; i < stale + moved; ++i)
        it.arm(i, 1);
    for (std::uint32_t i = 0; i < stale + moved; ++i)
        it.arm(i, i < stale ? 10 : 2);
    for (std::uint32_t i = stale + moved; i < it.timings.size(); ++i)
        it.arm(i, shape::span(shape::top));
    it->begin_advance(1);
    for (std::uint32_t i = 0; i <= stale; ++i)  // and one to come to tick 1
        it.step();
    for (std::uint32_t i = 0; !it.inside().is_sweeping(); ++i)
        it.disarm(i);
    it.looks = 0;
    std::uint32_t stopped = stale + moved;
    for (tick at = 1; at != 5; ++at) {
        const unsigned slot = shape::slot(0, at);
        const log &met = at == 1 ? it.inside().levels().slots[slot] : it.inside().levels().late[slot];
        while (it.inside().is_sweeping() && it.inside().sweep_at() != met.tail) {
            it.disarm(stopped++);
            assert_bounds(it);
        }
        it->begin_advance(at);
        while (it.step() == fixture::result::moved)
            assert_bounds(it);
        for (std::uint32_t i = stale; i < stale + moved; ++i)
            it.arm(i, at + 2);
    }
    assert_ends_well(it, shape::span(shape::top));
}

// The sweep has taken away the first chunk, and stands before the next one, which is the first now.
TEST(records_come_down_out_of_the_chunk_that_is_swept_next) {
    constexpr std::uint32_t records = 200;
    constexpr tick due = shape::span(1) + 1;
    fixture it(records, due - 2);
    for (std::uint32_t cell = 0; cell < records; ++cell)
        it.arm(cell, due);
    for (std::uint32_t cell = 0; !it.inside().is_sweeping(); ++cell)
        it.disarm(cell);
    assert_ptr_equal(it.inside().sweep_at(), it.inside().swept()->head);
    assert_true(it->lower_some(1) > log_chunk::size);
    assert_ends_well(it, due);
}

// --- late entries ---

// Moves all of so many records to one tick in random order; and some back and forth.
std::vector<std::uint32_t> move_to_one_tick(fixture &it, std::uint32_t count, tick at) {
    const std::vector<std::uint32_t> order = shuffled(count);
    for (std::uint32_t i = 0; i < count; ++i)
        it.arm(i, at - 1 - i % 50);
    for (std::uint32_t cell : order)
        it.arm(cell, at);
    return order;
}

TEST(records_moved_to_one_tick_fire_in_the_order_of_moving) {
    for (const tick at : {tick{1000}, (tick{1} << 40) + 1, tick{1} << 63})
        for (const std::uint32_t count : {1u, 7u, 8u, 9u, 64u, 65u, 3001u}) {
            fixture it(count, at - 100);
            const std::vector<std::uint32_t> order = move_to_one_tick(it, count, at);
            it.advance(at);
            assert_true(it.fired == order);
            assert_int_equal(it->entries(), 0);
        }
}

// The slot at the cursor is still busy when its plain log is empty, and its late ones are in the queue.
TEST(records_that_are_being_sorted_are_not_forgotten_when_one_that_came_meanwhile_is_stopped) {
    fixture it(41);
    move_to_one_tick(it, 40, 200);
    it->begin_advance(200);
    while (it.inside().queue().is_empty())
        it.step();
    while (!it.inside().levels().late[shape::slot(0, 200)].is_empty())
        it.step();
    for (const tick due : {200, 201}) {
        it.arm(40, due);
        it.disarm(40);
        assert_int_equal(it.broken(), 0);
    }
    it.advance(200);
    assert_int_equal(it.fired.size(), 40);
}

TEST(records_that_have_stopped_do_not_keep_those_behind_them_waiting) {
    fixture it(3);
    it.arm(0, 3);
    it.arm(1, 3);
    it.arm(2, 2);
    it.arm(2, 3);  // goes on at 2, as a late one
    it.arm(0, 2);  // leaves a stale entry at 3, ahead of record 1
    it.advance(3);
    assert_true((it.fired == std::vector<std::uint32_t>{0, 1, 2}));
}

// Eight at a time. The first fires when each has moved twice, and the others move on between two fires.
TEST(records_that_are_late_are_brought_in_order_in_bounded_steps_and_soon_fire) {
    constexpr std::uint32_t batches = 64;
    fixture it(8 * batches, 900);
    move_to_one_tick(it, 8 * batches, 1001);
    it->begin_advance(1000);
    while (it.step() != fixture::result::done)
        assert_false(it->has_late_entries_here());
    it->begin_advance(1001);
    unsigned steps = 0, steps_until_late = 0;
    for (; it.step() != fixture::result::due; ++steps)
        steps_until_late += it->has_late_entries_here() ? 0 : 1;
    assert_in_range(steps, 2 * batches, 2 * batches + 2);
    assert_in_range(steps_until_late, 0, 1);  // until the slot opens
    unsigned between_fires = 0;
    for (steps = 0;; ++steps) {
        const fixture::result said = it.step();
        if (said == fixture::result::done)
            break;
        if (said == fixture::result::due)
            steps = 0;
        between_fires = larger(between_fires, steps);
    }
    assert_in_range(between_fires, 2, 2 + order_queue::width * order_queue::width / 8);
}

// Nothing that was stale when the sweep began is left when it ends, and nothing else is swept away.
TEST(records_that_have_stopped_are_swept_out_of_the_queue) {
    for (unsigned steps = 0; steps < 4000; steps += 170) {
        fixture it(3000, 900);
        move_to_one_tick(it, 3000, 1000);
        it->begin_advance(1000);
        for (unsigned i = 0; it.inside().queue().is_empty() || (i < steps && it.fired.empty()); ++i)
            it.step();
        const std::vector<std::uint32_t> order = shuffled(3000);
        for (std::uint32_t i = 0; !it.inside().is_sweeping(); ++i)
            if (it.is_armed[order[i]])
                it.disarm(order[i]);
        it.looks = 0;
        while (it.inside().is_sweeping() && it.step() != fixture::result::done)
            assert_bounds(it);
        assert_int_equal(it->entries(), it->armed());
        assert_ends_well(it, 1000);
    }
}

// With steps of the queue between, as many as `steps`: sweeps and moves meet in all ways.
void stop_all_while_they_are_sorted(std::uint32_t count, unsigned steps, unsigned until_sort) {
    fixture it(count, 900);
    move_to_one_tick(it, count, 1000);
    it->begin_advance(1000);
    while (it.inside().queue().is_empty() || (until_sort-- != 0 && it.fired.empty()))
        it.step();
    for (std::uint32_t cell : shuffled(count)) {
        it.looks = 0;
        if (it.is_armed[cell])
            it.disarm(cell);
        assert_bounds(it);
        for (unsigned i = 0; i < steps; ++i) {
            it.looks = 0;
            it.step();
            assert_bounds(it);
        }
        if (count < 300)
            assert_int_equal(it.broken(), 0);
    }
    assert_int_equal(it->armed(), 0);
    while (it->entries() != 0)
        it.step();
    assert_int_equal(it->next(1), never);
    assert_ends_well(it, 1000);
    it.arm(0, 1000);
    it.arm(1, 1001);
    assert_ends_well(it, 1001);
}

TEST(records_may_all_be_stopped_while_they_are_sorted) {
    for (unsigned steps = 0; steps < 3; ++steps)
        for (const std::uint32_t count : {9u, 20u, 60u, 250u, 3000u})
            for (const unsigned until_sort : {0u, count / 16, count / 8 + 3, count})
                stop_all_while_they_are_sorted(count, steps, until_sort);
}

// The last entry of a slot may be a stale one of the same record.
TEST(records_are_stopped_behind_stale_entries_of_their_own) {
    fixture it(20, 4);
    for (std::uint32_t i = 1; i <= log_chunk::size; ++i)
        it.arm(i, 6);
    it.arm(0, 6);  // begins a chunk, and is left there
    it.arm(0, 5);
    it.arm(0, 6);  // goes on at 5, as a late one
    it.advance(5);
    assert_int_equal(it->entries(), it->armed() + 1);
    it.disarm(0);
    assert_int_equal(it->entries(), it->armed() + 2);
    assert_ends_well(it, 6);
}

// A sweep has left one entry in the first chunk of a log and stands before the second, when the record of
// that entry fires and its chunk goes.
TEST(records_fire_out_of_the_chunk_that_a_sweep_has_just_left) {
    constexpr std::uint32_t records = 200;
    constexpr tick due = 1001;
    fixture it(records, 1000);
    for (std::uint32_t cell = 0; cell < records; ++cell)
        it.arm(cell, due);
    for (std::uint32_t cell = 0; !it.inside().is_sweeping(); ++cell)
        if (cell % log_chunk::size != 0)
            it.disarm(cell);
    const log_chunk *const left = it.inside().sweep_before();
    assert_non_null(left);
    assert_ptr_equal(left, it.inside().swept()->head);
    assert_int_equal(left->count(), 1);
    assert_ends_well(it, due);
}

// --- time ---

TEST(records_leave_no_bit_behind_where_the_last_was_stopped) {
    fixture it(2);
    it.arm(0, 5);
    it.arm(1, 5);
    it.disarm(0);
    it.disarm(1);
    it->begin_advance(5);
    while (it->entries() != 0)
        it.step();
    it->begin_advance(9);
    assert_int_equal(it->next(1), never);
    assert_int_equal(it->due_tick(), 9);
    assert_int_equal(it.broken(), 0);
}

TEST(records_are_over_with_a_tick_when_the_last_of_it_has_fired) {
    for (const bool are_late : {false, true}) {
        fixture it(21, 900);
        for (std::uint32_t i = 0; i < 20; ++i)
            it.arm(i, 1000);
        if (are_late)
            move_to_one_tick(it, 20, 1000);
        it.arm(20, 5000);
        it->begin_advance(1000);
        while (it.fired.size() != 20)
            it.step();
        assert_int_equal(it->next(1), 5000);
    }
}

TEST(records_choose_the_first_busy_tick_of_the_running_block_or_else_the_roundest) {
    constexpr tick block = shape::span(1), start = 3 * block;
    const tick busy[] = {start + 1, start + block - 1, start + block};
    fixture it(3, start);
    for (std::uint32_t i = 0; i < 3; ++i)
        it.arm(i, busy[i]);
    for (tick first = start; first != start + 3 * block; ++first)
        for (tick last = first + 1; last != start + 3 * block; ++last) {
            tick best = roundest(larger(first, start + 1), last);
            for (const tick t : {busy[1], busy[0]})
                if (t >= first && t <= last)
                    best = t;
            assert_int_equal(it->choose(first, last), best);
        }
    constexpr tick far = start + (tick{1} << 32);
    assert_int_equal(it->choose(far + 1, far + 2), far + 2);
}

TEST(records_choose_the_last_tick_of_a_range_that_has_passed) {
    fixture it(1, 96);
    for (tick last = 90; last <= 96; ++last)
        assert_int_equal(it->choose(80, last), last);
    assert_int_equal(it->choose(80, 97), 97);
}

TEST(records_are_next_when_their_slot_opens_if_there_are_too_many_to_look_at) {
    constexpr tick opening = shape::span(3);
    fixture it(100);
    for (std::uint32_t i = 0; i < 31; ++i)
        it.arm(i, opening + 2);
    assert_int_equal(it->next(1), opening + 2);
    for (std::uint32_t i = 31; i < 100; ++i)
        it.arm(i, opening + 2);
    assert_int_equal(it->next(1), opening - 1);
    assert_int_equal(it->next(opening), 0);
    it.advance(opening + 1);
    assert_int_equal(it->next(1), opening + 2);
    it.looks = 0;
    assert_ends_well(it, opening + 2);
}

// However many there are in the same slot, or in the next one.
TEST(records_are_next_exactly_when_one_is_due_as_its_slot_or_the_next_one_opens) {
    constexpr tick opening = 2 * shape::span(1);
    fixture it(101);
    for (std::uint32_t i = 0; i < 100; ++i)
        it.arm(i, opening);
    assert_int_equal(it->next(1), opening);
    for (std::uint32_t i = 0; i < 100; ++i)
        it.arm(i, opening + 1);
    it.arm(100, opening - 1);
    it.arm(100, opening);
    assert_int_equal(it->next(shape::span(1)), opening);
}

TEST(records_that_were_moved_later_may_have_to_be_looked_for_when_their_slot_opens) {
    fixture it(100);
    for (std::uint32_t i = 0; i < 100; ++i)
        it.arm(i, 2);
    for (std::uint32_t i = 0; i < 31; ++i)
        it.arm(i, 100000);
    assert_int_equal(it->next(1), 2);
    for (std::uint32_t i = 31; i < 100; ++i)
        it.arm(i, 100000);
    assert_int_equal(it->next(1), 2);
    assert_ends_well(it, 100000);
}

// --- stamps that come round ---

constexpr tick of_stale = 5000;

// A record is not armed, and its next stamp is that of a stale entry of it, due at of_stale, that was left
// behind 2^29 stamps ago.
void come_round(fixture &it) {
    it.arm(0, of_stale);
    it.arm(1, of_stale);  // so that the entry cannot be taken back
    const std::uint32_t stamp = it.timings[0].stamp;
    it.disarm(0);
    it.timings[0].stamp -= 2 * 8;
    while (it.timings[0].stamp + 8 + 2 != stamp) {
        it.arm(0, 30);
        it.disarm(0);
    }
}

void assert_each_fires_once(fixture &it, std::size_t records) {
    const std::size_t fired = it.fired.size();
    it.advance(20000);
    assert_int_equal(it.fired.size() - fired, records);
    assert_int_equal(it->armed(), 0);
    assert_int_equal(it->entries(), 0);
    assert_int_equal(it.broken(), 0);
}

TEST(records_whose_stamp_comes_round_fire_once) {
    for (const tick due : {tick{10}, of_stale - 1, of_stale, of_stale + 1, of_stale + 9000}) {
        fixture it(2);
        come_round(it);
        it.arm(0, due);
        assert_each_fires_once(it, 2);
    }
}

TEST(records_whose_stamp_comes_round_do_not_fire_when_they_have_fired_or_are_stopped) {
    fixture it(2);
    come_round(it);
    it.arm(0, 10);
    it.advance(of_stale - 1);
    assert_int_equal(it.fired.size(), 1);
    assert_each_fires_once(it, 1);

    fixture stopped(2);
    come_round(stopped);
    stopped.arm(0, of_stale - 1);
    stopped.disarm(0);
    assert_each_fires_once(stopped, 1);
}

// Two wheels share the memory of a record. The stale entry on the first has the count of the entry on the
// second.
TEST(records_whose_stamp_comes_round_on_another_wheel_are_not_taken_for_those_of_this_one) {
    fixture it(2);
    it.arm(0, of_stale);
    it.arm(1, of_stale);
    it.disarm(0);
    fixture other(1, 0, true);
    other.timings[0].stamp = it.timings[0].stamp - 8;
    other.arm(0, 20000);
    it.timings[0] = other.timings[0];
    assert_each_fires_once(it, 1);
    assert_each_fires_once(other, 1);
}

TEST(records_whose_stamp_comes_round_may_be_moved) {
    for (const tick first : {of_stale - 2000, of_stale, of_stale + 2000})
        for (const tick second : {of_stale - 1000, of_stale, of_stale + 1000, of_stale + 4000})
            for (const tick between : {tick{0}, of_stale - 2001}) {
                fixture it(2);
                come_round(it);
                it.arm(0, first);
                it.advance(between);
                it.arm(0, second);
                assert_each_fires_once(it, 2);
            }
}

// --- memory ---

TEST(records_get_chunks_from_every_block_of_memory) {
    log_chunk memory[7];
    memset(static_cast<void *>(memory), 0xff, sizeof memory);
    chunk_pool pool{};
    pool.add(memory + 1, 2);
    pool.add(memory + 4, 1);
    pool.add(memory + 6, 1);
    std::vector<log_chunk *> taken(4);
    for (log_chunk *&chunk : taken)
        chunk = pool.take();
    std::sort(taken.begin(), taken.end());
    assert_true((taken == std::vector<log_chunk *>{memory + 1, memory + 2, memory + 4, memory + 6}));
}

// Two entries for each record, and some for each wheel. All chunks are full but two of each log, and the one
// where a sweep is.
TEST(records_need_memory_for_two_entries_each) {
    constexpr std::size_t logs = shape::slots + shape::width(0) + order_queue::logs, many = 15000000;
    assert_int_equal(fixture::wheel::chunks_for(1, 2), 2 + 2 * fixture::wheel::spare);
    assert_int_equal(fixture::wheel::chunks_for(many, 2),
                     (2 * many + 2 * fixture::wheel::spare) / log_chunk::size + 2 * (2 * logs + 1));
}

}  // namespace

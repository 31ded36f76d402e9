// Records under patterns that leave as many stale entries as possible, where these cost most: no timer is
// lost, none fires twice, the number of stale entries is bounded (R4), and so is the work of each call (P8).
#include <algorithm>
#include <numeric>

#include "fixture.hpp"
#include "support/random.h"

namespace {

using namespace tickwheel::core;

using shape = geometry<RECORD_BITS, RECORD_LEVELS, true>;
using fixture = record_fixture<shape>;

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

// Makes a call that moves at most `moves` entries, and asserts that in this call the sweep gets no further
// than the call must pay for, plus the rest of a chunk.
//
// The assertion has to look at all logs, so builds with assertions make it for one call in 61.
template <class Fixture, class Call>
void bounded(Fixture &wheel, Call call, std::size_t moves = order_queue::batch) {
    static unsigned calls;
    if (asserts && ++calls % 61 != 0) {
        call();
        assert_true(wheel.is_within_bound());
        return;
    }
    const std::size_t most = sweep::share + log_chunk::size + 2 * moves, entries = wheel.entries();
    const bool was_under_way = wheel.sweeping().is_under_way();
    const bool may_begin =
        4 * (entries - wheel.armed()) + 8 > 3 * wheel.armed() + 2 * fixture::all_logs::spare;
    const std::size_t ahead = was_under_way || may_begin ? wheel.ahead_of_sweep() : 0;
    call();
    assert_true(wheel.is_within_bound());
    if (wheel.sweeping().is_under_way())
        assert_true(wheel.ahead_of_sweep() + most >= ahead);
    else
        assert_true((was_under_way ? ahead : entries - wheel.entries()) <= most || wheel.entries() > entries);
}
template <class Fixture> void arm_bounded(Fixture &wheel, std::uint32_t cell, tick due) {
    bounded(
        wheel, [&] { wheel.arm(cell, due); }, 1);
}
template <class Fixture> void disarm_bounded(Fixture &wheel, std::uint32_t cell) {
    bounded(
        wheel, [&] { wheel.disarm(cell); }, 1);
}
template <class Fixture> next_step step_bounded(Fixture &wheel) {
    next_step said = next_step::none;
    bounded(wheel, [&] { said = wheel.step(); });
    return said;
}

// Every armed record and node fires, and then no entry is left.
template <class Fixture> void assert_ends_well(Fixture &wheel, tick last) {
    assert_int_equal(wheel.broken(), 0);
    const std::size_t armed = wheel.armed();
    wheel.fired.clear();
    wheel.advance(last);
    assert_int_equal(wheel.fired.size(), armed);
    assert_int_equal(wheel.entries(), 0);
    assert_int_equal(wheel.broken(), 0);
}

// Records start and stop at random, due at `tick_of()`.
template <class TickOf> void storm(fixture &wheel, unsigned calls, TickOf tick_of) {
    for (unsigned i = 0; i < calls; ++i) {
        const std::uint32_t cell = random_cell(wheel.timings.size());
        if (wheel.is_armed(cell) && i % 3 != 0)
            disarm_bounded(wheel, cell);
        else
            arm_bounded(wheel, cell, tick_of());
    }
}

TEST(records_hold_their_bounds_in_storms) {
    for (const std::size_t records : {2u, 40u, 3000u}) {
        fixture wheel(records, 1000);
        storm(wheel, 40000, [] { return tick{5000}; });
        assert_int_equal(wheel.broken(), 0);
        storm(wheel, 40000, [] { return 1000 + random_below(&seed, tick{1} << random_cell(40)); });
        assert_ends_well(wheel, tick{1} << 41);
    }
}

// Waves: all start, then all stop, from either end or at random.
TEST(records_hold_their_bounds_in_waves) {
    fixture wheel(4000, 77);
    for (unsigned wave = 0; wave < 12; ++wave) {
        std::vector<std::uint32_t> order = shuffled(4000);
        if (wave % 3 == 0)
            std::sort(order.begin(), order.end());
        for (std::uint32_t cell : order)
            wheel.arm(cell, 100000 + (wave % 2 == 0 ? 0 : tick{cell} * 999));
        for (std::uint32_t cell : order)
            disarm_bounded(wheel, cell);
        assert_int_equal(wheel.broken(), 0);
    }
    wheel.arm(0, 100000);
    assert_ends_well(wheel, 5000000);
}

TEST(records_hold_their_bounds_when_moved_to_earlier_for_ever) {
    for (const std::uint32_t records : {1u, 5u, 2000u}) {
        fixture wheel(records);
        constexpr tick far = tick{1} << 50;
        for (unsigned i = 0; i < 60000; ++i)
            arm_bounded(wheel, i % records, far - i);
        assert_ends_well(wheel, far);
    }
}

TEST(records_started_and_stopped_in_turn_leave_nothing_behind) {
    fixture wheel(1000);
    for (std::uint32_t i = 1; i < 1000; ++i)
        wheel.arm(i, 500 + i % 3);
    for (unsigned i = 0; i < 100000; ++i) {
        wheel.arm(0, 500 + i % 3);
        wheel.disarm(0);
        assert_true(wheel.entries() <=
                    wheel.armed() + 3);  // one for each log: the entry that began its chunk
    }
    assert_ends_well(wheel, 600);
}

// The entry stands where it was before its record was moved to a later tick.
TEST(records_that_were_moved_later_leave_nothing_behind_when_they_are_stopped) {
    fixture wheel(1);
    for (const tick due : {5, 100, 200, 3}) {
        wheel.arm(0, due);
        assert_int_equal(wheel.entries(), 1);
        wheel.arm(0, due + 1);
    }
    wheel.disarm(0);
    assert_int_equal(wheel.entries(), 0);
}

// `lag` has 32 bits: a longer move needs a new entry.
TEST(records_that_are_moved_later_by_more_than_32_bits_of_ticks_begin_again) {
    fixture wheel(2);
    wheel.arm(0, 5);
    wheel.arm(1, 5);
    wheel.arm(0, 5 + tick{UINT32_MAX});
    assert_int_equal(wheel.entries(), 2);
    wheel.arm(0, 6 + tick{UINT32_MAX});
    assert_int_equal(wheel.entries(), 3);
    assert_ends_well(wheel, 6 + tick{UINT32_MAX});
}

// Each level costs the same few steps, however many empty slots lie in between.
TEST(records_far_away_are_as_many_steps_away_as_near_ones) {
    const auto steps_to = [](tick due) {
        fixture wheel(1);
        wheel.arm(0, due);
        wheel.begin_advance(due);
        unsigned steps = 1;
        while (wheel.step() != next_step::fire_record)
            ++steps;
        return steps;
    };
    for (unsigned level = 1; level <= shape::top; ++level)
        assert_int_equal(steps_to((shape::span(1) / 2 - 1) * shape::span(level)),
                         steps_to(shape::span(level)));
}

// Entries come down to logs ahead of a sweep that has already looked at them, so the sweep meets them again.
// Other entries hold up the sweep on each level, so that the former come down just after the sweep has looked
// at them.
TEST(records_hold_their_bounds_while_entries_come_down_in_step_with_a_sweep) {
    if (shape::top < 5)
        return skip();
    constexpr std::uint32_t live = 20000, stale = 16000, holding = 30, most = 16;
    constexpr tick boundary = shape::span(shape::top);
    fixture wheel(live + stale + shape::top * holding, boundary - shape::span(1) + 1);
    const auto log_of = [&](unsigned level, tick t) -> log & {
        return wheel.logs().plain[shape::slot(level, shape::low(t))];
    };
    const auto come_down_from = [&](unsigned level) {
        while (!log_of(level, boundary).is_empty())
            bounded(
                wheel, [&] { wheel.look_ahead(shape::span(1), most); }, most);
    };
    for (unsigned level = 2; level <= shape::top; ++level)
        for (std::uint32_t i = 0; i < holding; ++i)
            wheel.arm(live + stale + (level - 1) * holding + i, boundary + shape::span(level));
    for (std::uint32_t i = 0; i < stale; ++i)
        wheel.arm(live + i, boundary + 200);
    for (unsigned level = shape::top; level != 1; --level)
        come_down_from(level);
    for (std::uint32_t i = 0; i < live; ++i)
        wheel.arm(i, boundary + 1);
    for (std::uint32_t i = 0; !wheel.sweeping().is_under_way(); ++i)
        disarm_bounded(wheel, live + i);
    std::uint32_t stopped = 0;
    for (unsigned level = shape::top; level != 1; --level) {
        const log &held_up = log_of(level, boundary + shape::span(level));
        while (wheel.sweeping().is_under_way() &&
               &wheel.logs().log_at(wheel.sweeping().number()) != &held_up && stopped < live / 2)
            disarm_bounded(wheel, stopped++);
        come_down_from(level);
    }
    while (stopped < live)
        disarm_bounded(wheel, stopped++);
    assert_ends_well(wheel, 3 * boundary);
}

// The sweep meets the entries that are not stale first, each in its own log, and the stale ones last.
TEST(records_hold_their_bounds_while_a_sweep_finds_one_entry_a_log) {
    constexpr tick start = shape::span(1), end_of_block = 2 * start - 1;
    std::vector<tick> due;
    for (unsigned level = 1; level <= shape::top; ++level)
        for (tick t = level == 1 ? 2 * start : shape::span(level);
             t < larger<tick>(start, shape::round) && t < shape::span(level) * start; t += shape::span(level))
            due.push_back(t);
    for (unsigned slot = shape::near_slots; slot != shape::slots; ++slot)
        due.push_back(tick{1} << shape::far_shift(slot));
    const auto live = static_cast<std::uint32_t>(due.size());
    fixture wheel(2 * live + 40, start);
    for (std::uint32_t i = 0; i < wheel.timings.size(); ++i)
        wheel.arm(i, i < live ? due[i] : end_of_block);
    for (std::uint32_t i = live; !wheel.sweeping().is_under_way(); ++i)
        wheel.disarm(i);
    for (std::uint32_t i = 0; i < live; ++i)
        disarm_bounded(wheel, i);
    assert_false(wheel.sweeping().is_under_way());  // the sweep does end
    assert_ends_well(wheel, end_of_block);
}

// Whenever the sweep has met the entries of `moved`, they move on to the next tick, where the sweep meets
// them again: the steps that move them sweep as many entries.
TEST(records_hold_their_bounds_while_entries_move_on_ahead_of_a_sweep) {
    if (RECORD_BITS != 8)
        return skip();
    constexpr std::uint32_t moved = 8000, far = 2000, stale = 7600;
    fixture wheel(moved + far + stale);
    for (std::uint32_t i = 0; i < stale + moved; ++i)
        wheel.arm(i, 1);
    for (std::uint32_t i = 0; i < stale + moved; ++i)
        wheel.arm(i, i < stale ? 10 : 2);
    for (std::uint32_t i = stale + moved; i < wheel.timings.size(); ++i)
        wheel.arm(i, shape::span(shape::top));
    wheel.begin_advance(1);
    for (std::uint32_t i = 0; i <= stale; ++i)  // one step more goes to tick 1
        wheel.step();
    for (std::uint32_t i = 0; !wheel.sweeping().is_under_way(); ++i)
        wheel.disarm(i);
    std::uint32_t stopped = stale + moved;
    for (tick at = 1; at != 5; ++at) {
        const unsigned slot = shape::slot(0, shape::low(at));
        const log &met = at == 1 ? wheel.logs().plain[slot] : wheel.logs().late[slot];
        while (wheel.sweeping().is_under_way() && wheel.sweeping().at() != met.tail)
            disarm_bounded(wheel, stopped++);
        wheel.begin_advance(at);
        while (step_bounded(wheel) == next_step::move) {
        }
        for (std::uint32_t i = stale; i < stale + moved; ++i)
            wheel.arm(i, at + 2);
    }
    assert_ends_well(wheel, shape::span(shape::top));
}

// The sweep has taken away the first chunk, and stands before the next one, which is the first now.
TEST(records_come_down_out_of_the_chunk_that_is_swept_next) {
    constexpr std::uint32_t records = 200;
    constexpr tick due = shape::span(1) + 1;
    fixture wheel(records, due - 2);
    for (std::uint32_t cell = 0; cell < records; ++cell)
        wheel.arm(cell, due);
    for (std::uint32_t cell = 0; !wheel.sweeping().is_under_way(); ++cell)
        wheel.disarm(cell);
    assert_ptr_equal(wheel.sweeping().at(), wheel.logs().log_at(wheel.sweeping().number()).head);
    assert_true(wheel.look_ahead(1, 64) > log_chunk::size);
    assert_ends_well(wheel, due);
}

// --- late entries ---

// Arms so many records, and moves all of them to one tick in random order. Returns that order.
std::vector<std::uint32_t> move_to_one_tick(fixture &wheel, std::uint32_t count, tick at) {
    const std::vector<std::uint32_t> order = shuffled(count);
    for (std::uint32_t i = 0; i < count; ++i)
        wheel.arm(i, at - 1 - i % 50);
    for (std::uint32_t cell : order)
        wheel.arm(cell, at);
    return order;
}

TEST(records_moved_to_one_tick_fire_in_the_order_of_moving) {
    for (const tick at : {tick{1000}, (tick{1} << 40) + 1, tick{1} << 63})
        for (const std::uint32_t count : {1u, 7u, 8u, 9u, 64u, 65u, 3001u}) {
            fixture wheel(count, at - 100);
            const std::vector<std::uint32_t> order = move_to_one_tick(wheel, count, at);
            wheel.advance(at);
            assert_true(wheel.fired == order);
            assert_int_equal(wheel.entries(), 0);
        }
}

// The slot at the cursor is still busy while its plain log is empty and its late entries are in the queue.
TEST(records_that_are_being_sorted_are_not_forgotten_when_one_that_came_meanwhile_is_stopped) {
    fixture wheel(41);
    move_to_one_tick(wheel, 40, 200);
    wheel.begin_advance(200);
    while (wheel.queue().is_empty())
        wheel.step();
    while (!wheel.logs().late[shape::slot(0, 200)].is_empty())
        wheel.step();
    for (const tick due : {200, 201}) {
        wheel.arm(40, due);
        wheel.disarm(40);
        assert_int_equal(wheel.broken(), 0);
    }
    wheel.advance(200);
    assert_int_equal(wheel.fired.size(), 40);
}

TEST(records_that_have_stopped_do_not_keep_those_behind_them_waiting) {
    fixture wheel(3);
    wheel.arm(0, 3);
    wheel.arm(1, 3);
    wheel.arm(2, 2);
    wheel.arm(2, 3);  // its entry moves on at 2, and is then late
    wheel.arm(0, 2);  // leaves a stale entry at 3, ahead of record 1
    wheel.advance(3);
    assert_true((wheel.fired == std::vector<std::uint32_t>{0, 1, 2}));
}

// The first record fires when each entry has moved twice; the others move on between two fires.
TEST(records_that_are_late_are_brought_in_order_in_bounded_steps_and_soon_fire) {
    constexpr std::uint32_t count = 512;
    fixture wheel(count, 900);
    move_to_one_tick(wheel, count, 1001);
    wheel.begin_advance(1000);
    while (wheel.step() != next_step::none)
        assert_false(wheel.has_late_entries_here());
    wheel.begin_advance(1001);
    unsigned steps = 0, steps_until_late = 0;
    for (; wheel.step() != next_step::fire_record; ++steps)
        steps_until_late += wheel.has_late_entries_here() ? 0 : 1;
    assert_in_range(steps, 2 * count, 2 * count + 2);
    assert_in_range(steps_until_late, 0, 1);  // until the slot opens
    unsigned between_fires = 0;
    for (steps = 0;; ++steps) {
        const next_step said = wheel.step();
        if (said == next_step::none)
            break;
        if (said == next_step::fire_record)
            steps = 0;
        between_fires = larger(between_fires, steps);
    }
    assert_in_range(between_fires, 2, 2 + order_queue::width * order_queue::width);
}

TEST(records_that_have_stopped_are_swept_out_of_a_log_of_late_ones) {
    constexpr std::uint32_t count = 100;
    fixture wheel(3 * count);
    for (std::uint32_t i = 0; i < 3 * count; ++i)
        wheel.arm(i, i < count ? 2 : 1000);
    for (std::uint32_t i = 0; i < count; ++i)
        wheel.arm(i, 3);
    wheel.advance(2);
    const log &late = wheel.logs().late[shape::slot(0, 3)];
    assert_false(late.is_empty());
    for (std::uint32_t i = 0; i < 3 * count; ++i)
        wheel.disarm(i);
    assert_true(late.is_empty());
    assert_int_equal(wheel.broken(), 0);
}

// A sweep takes away every entry that was stale when the sweep began, and no other.
TEST(records_that_have_stopped_are_swept_out_of_the_queue) {
    for (unsigned steps = 0; steps < 4000; steps += 170) {
        fixture wheel(3000, 900);
        move_to_one_tick(wheel, 3000, 1000);
        wheel.begin_advance(1000);
        for (unsigned i = 0; wheel.queue().is_empty() || (i < steps && wheel.fired.empty()); ++i)
            wheel.step();
        const std::vector<std::uint32_t> order = shuffled(3000);
        for (std::uint32_t i = 0; !wheel.sweeping().is_under_way(); ++i)
            if (wheel.is_armed(order[i]))
                wheel.disarm(order[i]);
        while (wheel.sweeping().is_under_way() && step_bounded(wheel) != next_step::none) {
        }
        assert_int_equal(wheel.entries(), wheel.armed());
        assert_ends_well(wheel, 1000);
    }
}

// Takes up to `steps` steps of the queue in between, so that sweeps and moves meet in all ways.
void stop_all_while_they_are_sorted(std::uint32_t count, unsigned steps, unsigned until_sort) {
    fixture wheel(count, 900);
    move_to_one_tick(wheel, count, 1000);
    wheel.begin_advance(1000);
    while (wheel.queue().is_empty() || (until_sort-- != 0 && wheel.fired.empty()))
        wheel.step();
    for (std::uint32_t cell : shuffled(count)) {
        if (wheel.is_armed(cell))
            disarm_bounded(wheel, cell);
        for (unsigned i = 0; i < steps; ++i)
            step_bounded(wheel);
        if (count < 300)
            assert_int_equal(wheel.broken(), 0);
    }
    assert_int_equal(wheel.armed(), 0);
    while (wheel.entries() != 0)
        wheel.step();
    assert_int_equal(wheel->next(), never);
    assert_ends_well(wheel, 1000);
    wheel.arm(0, 1000);
    wheel.arm(1, 1001);
    assert_ends_well(wheel, 1001);
}

TEST(records_may_all_be_stopped_while_they_are_sorted) {
    for (unsigned steps = 0; steps < 3; ++steps)
        for (const std::uint32_t count : {9u, 20u, 60u, 250u, 3000u})
            for (const unsigned until_sort : {0u, count / 16, count / 8 + 3, count})
                stop_all_while_they_are_sorted(count, steps, until_sort);
}

// The last entry of a slot may be a stale entry of the record that is stopped.
TEST(records_are_stopped_behind_stale_entries_of_their_own) {
    fixture wheel(20, 4);
    for (std::uint32_t i = 1; i <= log_chunk::size; ++i)
        wheel.arm(i, 6);
    wheel.arm(0, 6);  // its entry begins a chunk, and stays there as a stale one
    wheel.arm(0, 5);
    wheel.arm(0, 6);  // its entry moves on at 5, and is then late
    wheel.advance(5);
    assert_int_equal(wheel.entries(), wheel.armed() + 1);
    wheel.disarm(0);
    assert_int_equal(wheel.entries(), wheel.armed() + 2);
    assert_ends_well(wheel, 6);
}

// A sweep has left one entry in the first chunk of a log and stands before the second, when the record of
// that entry fires and its chunk goes.
TEST(records_fire_out_of_the_chunk_that_a_sweep_has_just_left) {
    constexpr std::uint32_t records = 200;
    constexpr tick due = 1001;
    fixture wheel(records, 1000);
    for (std::uint32_t cell = 0; cell < records; ++cell)
        wheel.arm(cell, due);
    for (std::uint32_t cell = 0; !wheel.sweeping().is_under_way(); ++cell)
        if (cell % log_chunk::size != 0)
            wheel.disarm(cell);
    const log_chunk *const left = test_access::before(wheel.sweeping());
    assert_non_null(left);
    assert_ptr_equal(left, wheel.logs().log_at(wheel.sweeping().number()).head);
    assert_int_equal(left->count(), 1);
    assert_ends_well(wheel, due);
}

// --- what is next ---

TEST(records_leave_no_bit_behind_where_the_last_was_stopped) {
    fixture wheel(2);
    wheel.arm(0, 5);
    wheel.arm(1, 5);
    wheel.disarm(0);
    wheel.disarm(1);
    wheel.begin_advance(5);
    while (wheel.entries() != 0)
        wheel.step();
    wheel.begin_advance(9);
    assert_int_equal(wheel->next(), never);
    assert_int_equal(wheel.inside().cursor, 9);
    assert_int_equal(wheel.broken(), 0);
}

TEST(records_are_over_with_a_tick_when_the_last_of_it_has_fired) {
    for (const bool are_late : {false, true}) {
        fixture wheel(21, 900);
        for (std::uint32_t i = 0; i < 20; ++i)
            wheel.arm(i, 1000);
        if (are_late)
            move_to_one_tick(wheel, 20, 1000);
        wheel.arm(20, 5000);
        wheel.begin_advance(1000);
        while (wheel.fired.size() != 20)
            wheel.step();
        assert_int_equal(wheel->next(), 5000);
    }
}

// If they are few, the wheel looks at each of them. If they are too many, it only knows when the slot opens,
// and how early look-ahead begins.
TEST(records_are_next_exactly_if_few_and_else_when_their_slot_opens) {
    constexpr tick opening = shape::span(2), due = opening + 2;
    fixture wheel(100);
    for (std::uint32_t i = 0; i < 31; ++i)
        wheel.arm(i, due);
    assert_int_equal(wheel->next(), due);
    for (std::uint32_t i = 31; i < 100; ++i)
        wheel.arm(i, due);
    const tick lead = 100 / (ahead_per_tick / 4) + 1;
    assert_in_range(wheel->next(), opening - smaller(lead, opening), opening);
    wheel.advance(opening);
    assert_int_equal(wheel->next(), due);
    assert_ends_well(wheel, due);
    assert_int_equal(wheel->next(), never);
}

TEST(records_are_next_exactly_if_there_are_few) {
    constexpr tick opening = shape::span(2);
    fixture wheel(10, 0, 1);
    for (std::uint32_t i = 0; i < 10; ++i)
        wheel.arm(i, opening + 12 - i);
    assert_int_equal(wheel->next(), opening + 3);
    wheel.arm_node(0, opening + 2);
    wheel.arm(0, opening + 20);  // behind a node
    assert_int_equal(wheel->next(), opening + 2);
    assert_non_null(wheel->first(100));
    assert_null(wheel->first(5));
    wheel.cancel_node(0);
    for (std::uint32_t i = 0; i < 10; ++i)
        wheel.arm(i, opening + 40);  // all entries stay where they are
    assert_null(wheel->first(100));  // there are no nodes, either
    assert_ends_well(wheel, opening + 40);
}

TEST(records_that_are_being_put_in_order_are_due_at_once) {
    fixture wheel(20, 900, 1);
    move_to_one_tick(wheel, 20, 1000);
    wheel.arm_node(0, 1001);
    wheel.begin_advance(1000);
    while (wheel.queue().is_empty() || wheel.logs().late[wheel.inside().cursor_slot()].head != nullptr)
        wheel.step();
    assert_int_equal(wheel.fired.size(), 0);
    assert_null(wheel->first(100));
    assert_int_equal(wheel->next(), 1000);
    while (wheel.step() != next_step::none) {
    }
    assert_non_null(wheel->first(100));
    assert_int_equal(wheel->next(), 1001);
}

// --- stamps that come round ---

constexpr tick of_stale = 5000;

// Leaves record 0 disarmed. Its next stamp will be that of its stale entry due at of_stale, which is 2^29
// stamps old.
void come_round(fixture &wheel) {
    wheel.arm(0, of_stale);
    wheel.arm(1, of_stale);  // so that disarm cannot take the entry back
    const std::uint32_t stamp = wheel.timings[0].stamp;
    wheel.disarm(0);
    wheel.timings[0].stamp -= 2 * stamps::one_arming;
    while (wheel.timings[0].stamp + stamps::one_arming + stamps::armed != stamp) {
        wheel.arm(0, 30);
        wheel.disarm(0);
    }
}

void assert_each_fires_once(fixture &wheel, std::size_t records) {
    const std::size_t fired = wheel.fired.size();
    wheel.advance(20000);
    assert_int_equal(wheel.fired.size() - fired, records);
    assert_int_equal(wheel.armed(), 0);
    assert_int_equal(wheel.entries(), 0);
    assert_int_equal(wheel.broken(), 0);
}

TEST(records_whose_stamp_comes_round_fire_once) {
    for (const tick due : {tick{10}, of_stale - 1, of_stale, of_stale + 1, of_stale + 9000}) {
        fixture wheel(2);
        come_round(wheel);
        wheel.arm(0, due);
        assert_each_fires_once(wheel, 2);
    }
}

TEST(records_whose_stamp_comes_round_do_not_fire_when_they_have_fired_or_are_stopped) {
    fixture wheel(2);
    come_round(wheel);
    wheel.arm(0, 10);
    wheel.advance(of_stale - 1);
    assert_int_equal(wheel.fired.size(), 1);
    assert_each_fires_once(wheel, 1);

    fixture stopped(2);
    come_round(stopped);
    stopped.arm(0, of_stale - 1);
    stopped.disarm(0);
    assert_each_fires_once(stopped, 1);
}

// Two wheels share the memory of a record. The stale entry on the first has the count of the entry on the
// second.
TEST(records_whose_stamp_comes_round_on_another_wheel_are_not_taken_for_those_of_this_one) {
    fixture wheel(2);
    wheel.arm(0, of_stale);
    wheel.arm(1, of_stale);
    wheel.disarm(0);
    fixture other(1, 0, 0, true);
    other.timings[0].stamp = wheel.timings[0].stamp - stamps::one_arming;
    other.arm(0, 20000);
    wheel.timings[0] = other.timings[0];
    assert_each_fires_once(wheel, 1);
    assert_each_fires_once(other, 1);
}

TEST(records_whose_stamp_comes_round_may_be_moved) {
    for (const tick first : {of_stale - 2000, of_stale, of_stale + 2000})
        for (const tick second : {of_stale - 1000, of_stale, of_stale + 1000, of_stale + 4000})
            for (const tick between : {tick{0}, of_stale - 2001}) {
                fixture wheel(2);
                come_round(wheel);
                wheel.arm(0, first);
                wheel.advance(between);
                wheel.arm(0, second);
                assert_each_fires_once(wheel, 2);
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

// With few records, each entry has a chunk of its own; with many, the chunks are full.
TEST(records_need_memory_for_two_entries_each) {
    constexpr std::size_t many = 15000000, spare = fixture::all_logs::spare;
    const auto entries_of = [](std::size_t records, unsigned wheels) { return 2 * records + wheels * spare; };
    assert_true(fixture::door::chunks_for(1, 2) >= entries_of(1, 2));
    const std::uint64_t needed = fixture::door::chunks_for(many, 2) * log_chunk::size;
    assert_in_range(needed, entries_of(many, 2), entries_of(many, 2) + entries_of(many, 2) / 10);
}

// One entry in each log.
TEST(records_have_chunks_for_as_many_logs_as_there_can_be) {
    for (const std::uint32_t records : {1u, 2u, 3u, 20u, 300u, 1400u}) {
        fixture wheel(records, 0, records);
        const auto tick_of = [](std::uint32_t i) {
            const unsigned slot = 1 + i % (shape::slots - 1);
            if (slot >= shape::near_slots)
                return tick{1} << shape::far_shift(slot);
            const unsigned level = shape::level_of_slot(slot);
            const tick t = tick{slot - shape::first_slot(level)} * shape::span(level);
            return t == 0 ? tick{1} : t;
        };
        for (unsigned round = 0; round < 3; ++round)
            for (std::uint32_t i = 0; i < records; ++i) {
                wheel.arm_node(i, tick_of(i + round));
                bounded(wheel, [&] { wheel.arm(i, tick_of(i + round)); });
            }
        assert_int_equal(wheel.broken(), 0);
        for (std::uint32_t i = 0; i < records; ++i)
            wheel.cancel_node(i);
        assert_ends_well(wheel, tick{1} << 63);
    }
}

}  // namespace

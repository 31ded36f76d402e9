// Nodes and records of one tick fire in the order of arming (P3), wherever they stand, and whatever happens
// to the timers before and behind them.
#include <algorithm>

#include "fixture.hpp"

namespace {

using namespace tickwheel::core;

using shape = geometry<RECORD_BITS, 3, true>;
using fixture = record_fixture<shape>;
using fires = std::vector<std::uint32_t>;

// Distances to level 0, to each other level, and to a near and a distant far slot.
const tick distances[] = {1, shape::span(1) + 1, shape::span(2) + 1, shape::round + 1, (tick{1} << 41) + 1};

constexpr tick start = shape::round - shape::span(1) + 1;  // close to the end of a round

// A sequence of kinds: if bit i is set, the i-th timer is a record, else a node. Records and nodes each count
// from 0.
class sequence {
  public:
    static constexpr unsigned length = asserts ? 5 : 6,
                              count = 1u << length;  // builds with assertions are slow

    explicit sequence(unsigned kinds) : kinds_(kinds) {}

    bool is_record(std::uint32_t i) const { return (kinds_ >> i & 1) != 0; }
    std::uint32_t name(std::uint32_t i) const { return is_record(i) ? i : node_at(i); }

    void arm(fixture &wheel, std::uint32_t i, tick t) const {
        if (is_record(i))
            wheel.arm(i, t);
        else
            wheel.arm_node(i, t);
    }
    void arm_all(fixture &wheel, tick t) const {
        for (std::uint32_t i = 0; i < length; ++i)
            arm(wheel, i, t);
    }
    void disarm(fixture &wheel, std::uint32_t i) const {
        if (is_record(i))
            wheel.disarm(i);
        else
            wheel.cancel_node(i);
    }

    // The sequence without the timers whose bits are set in `without`.
    fires all_but(unsigned without) const {
        fires in_order;
        for (std::uint32_t i = 0; i < length; ++i)
            if ((without >> i & 1) == 0)
                in_order.push_back(name(i));
        return in_order;
    }
    fires all() const { return all_but(0); }

  private:
    unsigned kinds_;
};

void assert_fires(fixture &wheel, tick last, const fires &expected) {
    assert_int_equal(wheel.broken(), 0);
    wheel.fired.clear();
    wheel.advance(last);
    assert_true(wheel.fired == expected);
    assert_int_equal(wheel.entries(), 0);
    assert_int_equal(wheel->timers(), 0);
    assert_int_equal(wheel.broken(), 0);
}

// Takes so many steps of look-ahead, or of an advance to `to`.
void go_some_steps(fixture &wheel, bool by_look_ahead, tick to, unsigned steps) {
    if (!by_look_ahead)
        wheel.begin_advance(to);
    for (unsigned i = 0; i < steps; ++i) {
        if (by_look_ahead)
            wheel.look_ahead(shape::round, 1);
        else
            wheel.step();
    }
}

// --- as they are armed ---

TEST(nodes_and_records_of_one_tick_fire_in_the_order_of_arming) {
    for (const tick distance : distances)
        for (unsigned kinds = 0; kinds < sequence::count; ++kinds) {
            fixture wheel(sequence::length, start, sequence::length);
            sequence(kinds).arm_all(wheel, start + distance);
            assert_fires(wheel, start + distance, sequence(kinds).all());
        }
}

TEST(nodes_and_records_keep_their_order_when_some_are_disarmed) {
    for (const tick distance : {distances[0], distances[3]})
        for (unsigned kinds = 0; kinds < sequence::count; ++kinds)
            for (unsigned without = 0; without < sequence::count; ++without) {
                fixture wheel(sequence::length, start, sequence::length);
                const sequence armed(kinds);
                armed.arm_all(wheel, start + distance);
                for (std::uint32_t i = sequence::length; i-- != 0;)
                    if ((without >> i & 1) != 0)
                        armed.disarm(wheel, i);
                if (distance != 1 && wheel.armed() == 0)
                    wheel->look();
                assert_fires(wheel, start + distance, armed.all_but(without));
            }
}

// A timer that is moved to the tick where it already is goes behind the others.
TEST(nodes_and_records_that_are_moved_go_behind_the_others) {
    for (const tick distance : distances)
        for (unsigned kinds = 0; kinds < sequence::count; ++kinds)
            for (std::uint32_t moved = 0; moved < sequence::length; ++moved) {
                fixture wheel(sequence::length, start, sequence::length);
                const sequence armed(kinds);
                armed.arm_all(wheel, start + distance);
                armed.arm(wheel, moved, start + distance);
                fires expected = armed.all_but(1u << moved);
                expected.push_back(armed.name(moved));
                assert_fires(wheel, start + distance, expected);
            }
}

// --- as they come down ---

// Calls between(wheel) after each arming.
template <class Between> void assert_order_if_armed_between(tick due, unsigned kinds, Between between) {
    fixture wheel(sequence::length, start, sequence::length);
    for (std::uint32_t i = 0; i < sequence::length; ++i) {
        sequence(kinds).arm(wheel, i, due);
        between(wheel);
        assert_int_equal(wheel.broken(), 0);
    }
    assert_fires(wheel, due, sequence(kinds).all());
}

TEST(nodes_and_records_that_are_armed_while_others_come_down_step_by_step_keep_the_order) {
    for (const tick distance : distances)
        for (unsigned kinds = 0; kinds < sequence::count; ++kinds)
            for (unsigned steps = 1; steps < 4; ++steps)
                assert_order_if_armed_between(start + distance, kinds, [&](fixture &wheel) {
                    wheel.begin_advance(start + distance - 1);
                    for (unsigned i = 0; i < steps; ++i)
                        wheel.step();
                });
}

TEST(nodes_and_records_that_are_armed_while_look_ahead_moves_others_keep_the_order) {
    for (const tick distance : distances)
        for (unsigned kinds = 0; kinds < sequence::count; ++kinds)
            for (const std::uint32_t most : {1u, 2u, 3u})
                assert_order_if_armed_between(start + distance, kinds,
                                              [&](fixture &wheel) { wheel.look_ahead(shape::round, most); });
}

TEST(nodes_and_records_that_are_armed_while_time_passes_keep_the_order) {
    for (const tick distance : distances)
        for (unsigned kinds = 0; kinds < sequence::count; ++kinds)
            assert_order_if_armed_between(start + distance, kinds, [&](fixture &wheel) {
                wheel.advance(wheel.now() + (start + distance - wheel.now()) / 2);
            });
}

// A step lowers a node or an entry. Here nodes and records cross each other on the way to several
// ticks.
TEST(nodes_and_records_of_several_ticks_come_down_in_order) {
    constexpr std::uint32_t each = 40, ticks = 3;
    for (const tick distance : distances) {
        fixture wheel(each * ticks, start, each * ticks);
        fires expected[ticks];
        for (std::uint32_t i = 0; i < each * ticks; ++i) {
            wheel.arm_node(i, start + distance + i % ticks);
            wheel.arm(i, start + distance + i % ticks);
            expected[i % ticks].push_back(node_at(i));
            expected[i % ticks].push_back(i);
        }
        assert_true(wheel.is_within_bound());
        for (std::uint32_t i = 1; i < ticks; ++i)
            expected[0].insert(expected[0].end(), expected[i].begin(), expected[i].end());
        assert_fires(wheel, start + distance + ticks, expected[0]);
    }
}

TEST(slots_with_nodes_and_records_lose_their_bit_with_the_last_of_them) {
    fixture wheel(1, 0, 1);
    wheel.arm_node(0, 3);
    wheel.arm(0, 3);
    wheel.cancel_node(0);
    assert_true(wheel.inside().slots.busy.test(3));
    wheel.disarm(0);
    assert_false(wheel.inside().slots.busy.test(3));
    assert_int_equal(wheel->next(), never);
}

// Nodes and records go behind each other again and again, from the front or from the end.
TEST(nodes_and_records_keep_their_order_however_often_they_change_places) {
    for (const tick distance : {distances[0], distances[2]})
        for (const std::uint32_t count : {1u, 2u, 5u, 60u})
            for (const bool are_disarmed : {false, true}) {
                fixture wheel(count, start, count);
                for (std::uint32_t i = 0; i < 20 * count; ++i) {
                    wheel.arm_node(i % count, start + distance);
                    if (are_disarmed && wheel.is_armed(i % count))
                        wheel.disarm(i % count);
                    wheel.arm(i % count, start + distance);
                    assert_true(wheel.is_within_bound());
                }
                fires expected;
                for (std::uint32_t i = 0; i < count; ++i) {
                    expected.push_back(node_at(i));
                    expected.push_back(i);
                }
                assert_fires(wheel, start + distance, expected);
            }
}

// --- sweeps ---

// Arms nodes and records in turn, disarms the records for which `stays(i)` is false, and sweeps all logs.
template <class Stays> void assert_order_after_sweep(tick distance, std::uint32_t count, Stays stays) {
    constexpr std::uint32_t others = 400;
    fixture wheel(count + others, start, count);
    const tick due = start + distance;
    fires expected;
    for (std::uint32_t i = 0; i < count; ++i) {
        wheel.arm_node(i, due);
        wheel.arm(i, due);
    }
    for (std::uint32_t i = 0; i < count; ++i) {
        expected.push_back(node_at(i));
        if (stays(i))
            expected.push_back(i);
        else
            wheel.disarm(i);
    }
    for (unsigned sweeps = 0; sweeps < 3; ++sweeps) {
        for (std::uint32_t i = 0; i < others; ++i)
            wheel.arm(count + i, due + (tick{1} << 50));
        for (std::uint32_t i = 0; i < others; ++i) {
            wheel.disarm(count + i);
            assert_true(wheel.is_within_bound());
            if (i % 16 == 0)
                assert_int_equal(wheel.broken(), 0);
        }
    }
    wheel.fired.clear();
    wheel.advance(due);
    assert_true(wheel.fired == expected);
    assert_int_equal(wheel.broken(), 0);
}

TEST(sweeps_keep_the_order_of_nodes_and_records) {
    for (const tick distance : distances)
        for (const std::uint32_t count : {1u, 2u, 7u, 8u, 15u, 16u, 100u}) {
            if (asserts && count > 2 && count < 15)
                continue;
            assert_order_after_sweep(distance, count, [](std::uint32_t) { return true; });
            assert_order_after_sweep(distance, count, [](std::uint32_t) { return false; });
            assert_order_after_sweep(distance, count, [](std::uint32_t i) { return i == 0; });
            for (const std::uint32_t kept : {2u, 3u, 8u, 40u})
                assert_order_after_sweep(distance, count, [kept](std::uint32_t i) { return i % kept == 1; });
        }
}

// --- cancel_all ---

// The records stay, and timers that are armed later go behind them.
TEST(cancel_all_leaves_records_in_order_with_what_is_armed_later) {
    for (const tick distance : distances)
        for (unsigned kinds = 0; kinds < sequence::count; ++kinds)
            for (const unsigned later_kinds : {0x15u, 0x2au, 0x3u, 0x3cu}) {
                fixture wheel(2 * sequence::length, start, sequence::length);
                const sequence before(kinds), after(later_kinds);
                before.arm_all(wheel, start + distance);
                assert_int_equal(fixture::wheel_api::cancel_all(wheel.w(), nullptr, nullptr), 0);
                assert_int_equal(wheel.broken(), 0);
                fires expected;
                for (const std::uint32_t name : before.all())
                    if (name < first_node)
                        expected.push_back(name);
                for (std::uint32_t i = 0; i < sequence::length; ++i) {
                    if (after.is_record(i))
                        wheel.arm(sequence::length + i, start + distance);
                    else
                        wheel.arm_node(i, start + distance);
                    expected.push_back(after.is_record(i) ? sequence::length + i : node_at(i));
                }
                assert_fires(wheel, start + distance, expected);
            }
}

// Calls act(wheel, i) when a cancel_all hands out its i-th node.
struct cancel_all_with {
    fixture &wheel;
    void (*act)(fixture &wheel, unsigned i);
    unsigned count = 0;

    static void each(tw_node *, void *arg) {
        auto &self = *static_cast<cancel_all_with *>(arg);
        self.act(self.wheel, self.count++);
    }
    void run() { assert_int_equal(fixture::wheel_api::cancel_all(wheel.w(), each, this), 0); }
};

TEST(cancel_all_leaves_what_is_armed_meanwhile_in_order) {
    for (const tick distance : distances) {
        fixture wheel(20, start, 20);
        for (std::uint32_t i = 0; i < 5; ++i) {
            wheel.arm_node(i, start + distance);
            wheel.arm(i, start + distance);
        }
        static tick due;
        due = start + distance;
        cancel_all_with call = {wheel, [](fixture &with, unsigned i) {
                                    with.arm_node(10 + i, due);
                                    with.arm(10 + i, due);
                                    assert_int_equal(with.broken(), 0);
                                }};
        call.run();
        assert_int_equal(call.count, 5);
        fires expected = {0, 1, 2, 3, 4};
        for (std::uint32_t i = 10; i < 15; ++i) {
            expected.push_back(node_at(i));
            expected.push_back(i);
        }
        assert_fires(wheel, due, expected);
    }
}

TEST(cancel_all_may_have_records_stopped_meanwhile) {
    fixture wheel(5, start, 5);
    for (std::uint32_t i = 0; i < 5; ++i) {
        wheel.arm_node(i, start + 1);
        wheel.arm(i, start + 1);
    }
    cancel_all_with call = {wheel, [](fixture &with, unsigned i) {
                                with.disarm(4 - i);
                                assert_int_equal(with.broken(), 0);
                            }};
    call.run();
    assert_int_equal(call.count, 5);
    assert_int_equal(wheel.armed(), 0);
    wheel.arm_node(0, start + 1);
    wheel.arm(0, start + 1);
    assert_fires(wheel, start + 1, {node_at(0), 0});
}

// Nodes that a cancel_all has not handed out yet are pending again, behind the other nodes.
TEST(cancel_all_may_be_ended_by_a_shift_of_all) {
    fixture wheel(4, 0, 4);
    wheel.arm(0, 9);
    wheel.arm_node(0, 9);
    wheel.arm_node(1, 9);
    wheel.arm(1, 9);
    cancel_all_with call = {wheel, [](fixture &with, unsigned) {
                                with.arm_node(2, 9);
                                with.arm(2, 9);
                                with.arm_node(3, 6);
                                with.shift(100);
                                assert_int_equal(with.broken(), 0);
                            }};
    call.run();
    assert_int_equal(call.count, 1);
    assert_fires(wheel, 109, {node_at(3), 0, 1, node_at(2), node_at(1), 2});
}

// A slot before that of the records has a node.
TEST(cancel_all_may_have_all_shifted_while_it_hands_out_the_last_node) {
    fixture wheel(3, 0, 3);
    wheel.arm(0, 2);
    wheel.arm_node(0, 2);
    wheel.arm(1, 2);
    cancel_all_with call = {wheel, [](fixture &with, unsigned) {
                                with.arm_node(1, 1);
                                with.shift(100);
                                assert_int_equal(with.broken(), 0);
                            }};
    call.run();
    assert_int_equal(call.count, 1);
    assert_fires(wheel, 102, {node_at(1), 0, 1});
}

// The record behind the node has stopped, and its entry was taken back; the entries before the node have come
// down already.
TEST(nodes_may_come_down_after_all_entries_of_their_slot) {
    constexpr tick there = shape::span(1) + 1;
    fixture wheel(log_chunk::size + 1, 0, 1);
    fires expected;
    for (std::uint32_t i = 0; i < log_chunk::size; ++i) {
        wheel.arm(i, there);
        expected.push_back(i);
    }
    wheel.arm_node(0, there);
    expected.push_back(node_at(0));
    wheel.arm(log_chunk::size, there);
    wheel.disarm(log_chunk::size);
    wheel.advance(1);
    assert_int_equal(wheel.look_ahead(shape::round, log_chunk::size), log_chunk::size);
    assert_fires(wheel, there, expected);
}

// --- shifts ---

TEST(shifts_keep_the_order_of_nodes_and_records) {
    for (const tick distance : distances)
        for (const tick by : {tick{1}, tick{shape::span(1)}, tick{shape::round} + 3})
            for (unsigned kinds = 0; kinds < sequence::count; ++kinds) {
                fixture wheel(sequence::length, start, sequence::length);
                const sequence armed(kinds);
                armed.arm_all(wheel, start + distance);
                wheel.shift(by);
                assert_int_equal(wheel.broken(), 0);
                assert_fires(wheel, start + distance + by, armed.all());
            }
}

// Timers of one tick stand in several slots, because look-ahead has lowered some of them.
TEST(shifts_keep_the_order_of_what_look_ahead_has_moved) {
    for (const tick distance : distances)
        for (unsigned kinds = 0; kinds < sequence::count; ++kinds)
            for (unsigned steps = 0; steps < 6; ++steps) {
                fixture wheel(sequence::length, start, sequence::length);
                const sequence armed(kinds);
                armed.arm_all(wheel, start + distance);
                if (steps % 2 == 0) {
                    wheel.look_ahead(shape::round, 1 + steps / 2);
                } else {
                    wheel.begin_advance(start + distance - 1);
                    for (unsigned i = 0; i < steps; ++i)
                        wheel.step();
                }
                wheel.shift(70);
                assert_fires(wheel, start + distance + 70, armed.all());
            }
}

TEST(shifts_keep_late_records_before_the_nodes_that_were_armed_later) {
    for (const tick by : {tick{1}, tick{9}, tick{shape::round}})
        for (unsigned steps = 0; steps < 20; ++steps) {
            fixture wheel(20, 0, 2);
            for (std::uint32_t i = 0; i < 20; ++i)
                wheel.arm(i, 2);
            for (std::uint32_t i = 20; i-- != 0;)
                wheel.arm(i, 3);
            wheel.arm_node(0, 3);
            wheel.begin_advance(3);
            for (unsigned i = 0; i < 20 + steps && wheel.fired.empty(); ++i)
                wheel.step();
            fires expected = wheel.fired;
            for (std::uint32_t i = 20; i-- != 0;)
                if (wheel.is_armed(i))
                    expected.push_back(i);
            wheel.shift(by);
            wheel.arm_node(1, 3 + by);
            wheel.advance(3 + by);
            expected.push_back(node_at(0));
            expected.push_back(node_at(1));
            assert_true(wheel.fired == expected);
            assert_int_equal(wheel.broken(), 0);
        }
}

// One step moves one node or record. All timers stay pending in between.
TEST(shifts_go_on_in_steps_between_which_all_may_be_stopped) {
    constexpr std::uint32_t count = 30;
    for (unsigned steps = 0; steps < 3 * count; ++steps) {
        fixture wheel(count, start, count);
        for (std::uint32_t i = 0; i < count; ++i) {
            wheel.arm_node(i, start + distances[i % 4]);
            wheel.arm(i, start + distances[i % 4]);
        }
        wheel->begin_shift(50);
        for (unsigned i = 0; i < steps; ++i)
            wheel->shift_one();
        assert_int_equal(wheel.broken(), 0);
        for (std::uint32_t i = 0; i < count; i += 2) {
            wheel.disarm(i);
            wheel.cancel_node(i + 1);
            assert_int_equal(wheel.broken(), 0);
        }
        assert_int_equal(wheel->timers(), count);
        wheel.advance(start + distances[3] + 50);
        fires expected;
        for (const std::uint32_t slot : {0u, 1u, 2u, 3u})
            for (std::uint32_t i = slot; i < count; i += 4)
                expected.push_back(i % 2 == 0 ? node_at(i) : i);
        assert_true(wheel.fired == expected);
    }
}

// --- moves to a later tick ---

// The entry stays where it is.
TEST(records_are_moved_later_by_touching_them_alone) {
    fixture wheel(1, 0, 3);
    wheel.arm_node(0, 1);
    wheel.arm_node(1, 3);
    wheel.arm_node(2, shape::span(2));
    wheel.arm(0, 1);
    wheel.arm(0, 2);
    assert_int_equal(wheel.timings[0].lag, 1);
    wheel.arm(0, shape::span(1));
    assert_int_equal(wheel.timings[0].lag, shape::span(1) - 1);
    wheel.arm(0, shape::round);
    assert_int_equal(wheel.timings[0].lag, shape::round - 1);
    assert_fires(wheel, shape::round, {node_at(0), node_at(1), node_at(2), 0});
}

// A record that is moved to a node's tick fires after the node if the node was armed before the move, else
// before it. This also holds while both come down, by look-ahead or by steps.
TEST(records_that_are_moved_later_keep_in_order_with_nodes) {
    for (const tick first : distances)
        for (const tick second : distances)
            for (const tick from : {start, start + 1, start + shape::span(1) - 2})
                for (unsigned steps = 0; steps < 12; ++steps)
                    for (const bool by_look_ahead : {false, true}) {
                        const tick earlier = from + first, due = from + second;
                        if (due <= earlier)
                            continue;
                        fixture wheel(3, from, 3);
                        const auto go_on = [&] { go_some_steps(wheel, by_look_ahead, earlier - 1, steps); };
                        wheel.arm(0, earlier);
                        wheel.arm(1, earlier);
                        wheel.arm_node(2, earlier);
                        wheel.arm_node(0, due);
                        go_on();
                        wheel.arm(0, due);  // behind node 0
                        wheel.arm_node(1, due);
                        wheel.arm(1, due);  // behind node 1
                        wheel.arm(2, due);
                        assert_int_equal(wheel.broken(), 0);
                        assert_fires(wheel, due, {node_at(2), node_at(0), 0, node_at(1), 1, 2});
                    }
}

// Nodes of far slots may already stand where a later round looks for them.
TEST(records_that_are_moved_rounds_later_keep_in_order_with_nodes) {
    for (const tick round_at : {tick{1}, tick{3}, tick{7}})
        for (tick round = round_at + 1; round < 3 * round_at + 2; ++round)
            for (unsigned steps = 0; steps < 5; ++steps)
                for (const bool by_look_ahead : {false, true}) {
                    const tick border = (round_at + 1) * shape::round, due = round * shape::round + 5;
                    fixture wheel(1, border - 2, 2);
                    wheel.arm(0, border + 3);
                    wheel.arm_node(0, due);
                    wheel.arm_node(1, due + 1);
                    go_some_steps(wheel, by_look_ahead, border, steps);
                    wheel.arm(0, due);
                    wheel.cancel_node(1);
                    assert_fires(wheel, due, {node_at(0), 0});
                }
}

// The same record moves twice, with nodes in between.
TEST(records_that_are_moved_later_twice_keep_in_order_with_nodes) {
    for (const tick distance : distances)
        for (const bool is_first : {false, true}) {
            const tick due = start + distance + 5;
            fixture wheel(2, start, 1);
            wheel.arm(0, start + distance);
            wheel.arm(0, due);
            if (is_first)
                wheel.arm_node(0, due);
            wheel.arm(0, due);
            if (!is_first)
                wheel.arm_node(0, due);
            wheel.arm(1, due);
            assert_fires(wheel, due, is_first ? fires{node_at(0), 0, 1} : fires{0, node_at(0), 1});
        }
}

// Late entries, others and nodes of one slot.
TEST(records_that_were_moved_later_fire_before_the_nodes_that_were_armed_after_them) {
    constexpr tick due = 3;
    for (unsigned without = 0; without < 64; ++without) {
        fixture wheel(6, 0, 2);
        wheel.arm(0, due);
        wheel.arm(1, 2);
        wheel.arm(2, 2);
        wheel.arm(3, 1);
        wheel.arm(2, due);
        wheel.arm(3, due);
        wheel.arm(1, due);
        wheel.arm_node(0, due);
        wheel.arm(4, due);
        wheel.arm_node(1, due);
        wheel.arm(5, due);
        fires expected;
        for (const std::uint32_t name : {0u, 2u, 3u, 1u, node_at(0), 4u, node_at(1), 5u}) {
            if (name < 6 && (without >> name & 1) != 0)
                wheel.disarm(name);
            else
                expected.push_back(name);
        }
        assert_fires(wheel, due, expected);
    }
}

// --- what is next ---

TEST(entries_that_are_stale_are_no_timers) {
    fixture wheel(2, 0, 1);
    wheel.arm_node(0, 5);
    wheel.arm(0, 5);
    wheel.arm(0, 5 + shape::round);  // its entry stays if possible
    wheel.cancel_node(0);
    wheel.disarm(0);
    assert_int_equal(wheel->next(), never);
    assert_null(wheel->first(100));
    wheel.arm_node(0, 5);
    wheel.arm(0, 5);
    wheel.arm(1, 5);
    wheel.cancel_node(0);
    wheel.disarm(0);
    assert_int_equal(wheel->next(), 5);
    assert_int_equal(wheel->timers(), 1);
}

// --- what happens while all is shifted, or walked ---

TEST(records_that_are_moved_in_the_middle_of_a_shift_do_not_stay_behind) {
    fixture wheel(2, 0, 1);
    wheel.arm(0, 5);
    wheel.arm(1, 5);
    wheel.arm_node(0, 10);
    wheel->begin_shift(10);
    wheel.arm(0, 20);
    assert_int_equal(wheel.entries(), 2);
    while (wheel->shift_one())
        assert_int_equal(wheel.broken(), 0);
    assert_fires(wheel, 20, {1, node_at(0), 0});
}

// A sweep empties a log that the shift has not reached yet.
TEST(records_that_are_stopped_in_the_middle_of_a_shift_are_swept_away) {
    constexpr std::uint32_t count = 400;
    fixture wheel(count, 0, 1);
    for (std::uint32_t i = 0; i < count; ++i)
        wheel.arm(i, 5);
    wheel->begin_shift(10);
    for (std::uint32_t i = 0; i < count; ++i) {
        wheel.disarm(i);
        assert_int_equal(wheel.broken(), 0);
    }
    for (std::uint32_t i = 0; i < 100; ++i)  // so that there is another sweep
        wheel.arm(i, 20);
    for (std::uint32_t i = 0; i < 100; ++i)
        wheel.disarm(i);
    assert_true(wheel.logs().shifting.is_empty());
    assert_false(wheel->shift_one());
    wheel.arm(0, 20);
    assert_fires(wheel, 20, {0});
}

// The place of a walk stands between nodes that come down.
TEST(places_of_walks_are_dropped_on_the_way_down) {
    constexpr std::uint32_t count = 5;
    constexpr tick due = shape::span(1) + 2;
    fixture wheel(1, 0, count);
    fires expected;
    for (std::uint32_t i = 0; i < count; ++i) {
        wheel.arm_node(i, due);
        expected.push_back(node_at(i));
    }
    wheel.arm(0, due);
    expected.push_back(0);
    tw_walk at = {};
    walk<shape> way(*wheel, at);
    for (std::uint32_t i = 0; i < 3; ++i)
        assert_ptr_equal(way.next(), &wheel.nodes[i]);
    assert_fires(wheel, due, expected);
    assert_null(way.next());
    assert_true(way.is_over());
}

// --- what a fork interrupts ---

// The child of a fork takes out the places of walks and changes nothing else.
TEST(nodes_and_records_keep_their_order_when_the_places_of_walks_are_dropped) {
    constexpr std::uint32_t count = 9;
    fixture wheel(1, 0, count);
    fires expected;
    for (std::uint32_t i = 0; i < count; ++i) {
        wheel.arm_node(i, 5);
        expected.push_back(node_at(i));
    }
    wheel.arm(0, 5);
    expected.push_back(0);
    tw_walk at = {};
    walk<shape> way(*wheel, at);
    for (std::uint32_t i = 0; i < 3; ++i)
        assert_ptr_equal(way.next(), &wheel.nodes[i]);
    wheel->drop_places();
    assert_fires(wheel, 5, expected);
}

void begin_cancel_all_of_another_thread(fixture &wheel) {
    static cancel_all_call own;
    own = {nullptr, 1, nullptr, nullptr};
    wheel->begin_cancel_all(own);
}
void abandon_it(fixture &wheel) {
    wheel->abandon_cancel_alls(2);
    assert_int_equal(wheel.broken(), 0);
}

// The nodes of a cancel_all are pending again, behind all others.
TEST(nodes_and_records_keep_their_order_when_a_cancel_all_is_abandoned) {
    fixture wheel(2, 0, 3);
    wheel.arm_node(0, 5);
    begin_cancel_all_of_another_thread(wheel);
    wheel.arm(0, 5);
    wheel.arm_node(1, 5);
    wheel.arm(1, 5);
    wheel.arm_node(2, 5);
    abandon_it(wheel);
    assert_fires(wheel, 5, {0, node_at(1), 1, node_at(2), node_at(0)});
}

TEST(nodes_of_an_abandoned_cancel_all_fire_behind_records_that_were_moved_to_their_tick) {
    for (const bool is_moved_before : {false, true}) {
        fixture wheel(2, 0, 1);
        wheel.arm(1, 1);
        wheel.arm(0, 3);
        if (is_moved_before)
            wheel.arm(1, 3);
        wheel.arm_node(0, 3);
        begin_cancel_all_of_another_thread(wheel);
        if (!is_moved_before)
            wheel.arm(1, 3);
        abandon_it(wheel);
        assert_fires(wheel, 3, {0, 1, node_at(0)});
    }
}

// A cancel_all has taken the nodes before a record, and a slot before that of the record has a node.
TEST(shifts_keep_the_order_of_what_a_cancel_all_has_left) {
    for (const bool are_all_handed_out : {false, true}) {
        fixture wheel(2, 0, 3);
        wheel.arm_node(0, 40);  // so that its slot opens before that of the record
        wheel.arm_node(1, 2);
        wheel.arm(0, 2);
        begin_cancel_all_of_another_thread(wheel);
        if (are_all_handed_out)
            while (wheel->drop_leaving() || wheel->take_leaving() != nullptr) {
            }
        wheel.arm_node(2, 1);
        wheel.arm(1, 1);
        wheel.shift(100);
        assert_int_equal(wheel.broken(), 0);
        const fires expected =
            are_all_handed_out ? fires{node_at(2), 1, 0} : fires{node_at(2), 1, node_at(1), 0, node_at(0)};
        assert_fires(wheel, 140, expected);
    }
}

}  // namespace

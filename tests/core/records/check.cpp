// tw_check names each invariant of the logs that is broken. The tests break them by hand, one at a time, in a
// wheel whose other parts are all in use.
#include <algorithm>
#include <memory>
#include <string>

#include "fixture.hpp"

namespace {

using namespace tickwheel::core;

using shape = geometry<3, 3, true>;
using fixture = record_fixture<shape>;

// Records, named for where they stand (but for `crowd`), and nodes.
constexpr std::uint32_t near = 0, twin = 1, middle = 2, far = 3, behind_node = 4, between = 5, crowd = 10,
                        records = 200;
constexpr tick start = 100, near_tick = start + 2, middle_tick = start + 20, far_tick = start + 3000,
               mixed_tick = start + 3;

std::unique_ptr<fixture> wheel;

unsigned slot_of(tick t) { return shape::slot_from(start, t); }
log &plain(tick t) { return wheel->logs().plain[slot_of(t)]; }
log &late(tick t) { return wheel->logs().late[slot_of(t)]; }
auto &busy() { return wheel->inside().slots.busy; }

int fresh(void **) {
    wheel = std::make_unique<fixture>(records, start, 8);
    wheel->arm(near, near_tick);
    wheel->arm(twin, near_tick);
    wheel->arm(middle, middle_tick);
    wheel->arm(far, far_tick);
    wheel->arm_node(0, mixed_tick);
    wheel->arm(behind_node, mixed_tick);
    wheel->arm_node(1, mixed_tick);
    wheel->arm(between, mixed_tick);
    wheel->arm_node(2, mixed_tick);
    wheel->arm_node(3, middle_tick);
    return wheel->broken();
}

// A wheel with late entries, of which the queue knows the earliest.
int fresh_queue(void **state) {
    fresh(state);
    for (std::uint32_t i = 0; i < 60; ++i)
        wheel->arm(crowd + i, start + 1);
    for (std::uint32_t i = 60; i != 0; --i)
        wheel->arm(crowd + i - 1, start + 4);
    wheel->begin_advance(start + 4);
    while (!wheel->queue().is_first_known())
        wheel->step();
    return wheel->broken();
}

// A wheel with a sweep that stands in a log and has more to sweep.
int fresh_sweep(void **state) {
    fresh(state);
    for (std::uint32_t i = crowd; i < records; ++i)
        wheel->arm(i, far_tick);
    for (std::uint32_t i = crowd;
         !wheel->sweeping().is_under_way() || test_access::before(wheel->sweeping()) == nullptr; ++i)
        wheel->disarm(i);
    return wheel->broken();
}

void collect(const char *invariant, const tw_node *, void *arg) {
    static_cast<std::vector<std::string> *>(arg)->push_back(invariant);
}

bool names(const std::string &invariant) {
    std::vector<std::string> all;
    const int broken = fixture::wheel_api::check(wheel->w(), collect, &all);
    assert_int_equal(broken, all.size());
    assert_int_equal(fixture::wheel_api::check(wheel->w(), nullptr, nullptr), broken);
    return std::find(all.begin(), all.end(), invariant) != all.end();
}

// Asserts that the checker reports this invariant.
void assert_names(const std::string &invariant) {
    if (!names(invariant))
        fail_msg("not reported: %s", invariant.c_str());
}

// A way to break a wheel, and the invariant that the checker must then report.
struct breakage {
    const char *invariant;
    void (*act)();
};

// Breaks a fresh wheel in each of these ways.
template <std::size_t N> void assert_names_each(const breakage (&all)[N]) {
    for (const breakage &one : all) {
        assert_int_equal(fresh(nullptr), 0);
        one.act();
        assert_names(one.invariant);
    }
}

// Moves a log to another slot.
void move_log(tick from, unsigned to) {
    wheel->logs().plain[to] = plain(from);
    plain(from) = {};
    busy().set(to);
    wheel->inside().slots.clear_if_empty(slot_of(from));
}

FIXTURE(fresh, nullptr);

TEST(record_check_finds_nothing_in_a_whole_wheel) { assert_int_equal(wheel->broken(), 0); }

TEST(record_check_finds_counts_and_bits_that_are_wrong) {
    const char *const bits = "a slot's bit says whether it holds timers";
    const char *const entries = "entries is the number of entries";
    assert_names_each({
        {entries, [] { ++wheel->logs().entries; }},
        {entries, [] { --wheel->logs().entries; }},
        {"each armed record has one entry that is not stale", [] { --wheel->logs().armed; }},
        {"each armed record has one entry that is not stale",
         [] { wheel->timings[far].stamp += stamps::one_arming; }},
        {"places is the number of places of walks", [] { ++wheel->inside().places; }},
        {bits, [] { busy().clear(slot_of(near_tick)); }},
        {bits, [] { busy().clear(slot_of(far_tick)); }},
        {bits, [] { busy().set(slot_of(start + 1)); }},
        {bits, [] { busy().set(slot_of(start)); }},
        {"a quiet wheel has caught up",
         [] {
             wheel->inside().now = start + 1;
             wheel->inside().quiet_until = start + 2;
         }},
        {"no slot opens while the wheel is quiet", [] { wheel->inside().quiet_until = near_tick + 1; }},
    });
}

TEST(record_check_finds_too_many_stale_entries) {
    for (std::uint32_t i = crowd; i < records; ++i)
        wheel->arm(i, far_tick);
    for (std::uint32_t i = crowd; i < records; ++i)
        wheel->timings[i].stamp += stamps::one_arming;
    const char *const invariant = "stale entries outnumber armed records by at most a constant";
    wheel->logs().armed = (wheel->logs().entries - fixture::all_logs::spare + 1) / 2;
    assert_false(names(invariant));
    --wheel->logs().armed;
    assert_names(invariant);
}

TEST(record_check_finds_entries_that_stand_where_they_should_not) {
    const char *const another = "an entry stands in a slot of its tick";
    const char *const late_logs = "late entries, and no others, stand in the late logs";
    const char *const due = "no slot opens after a record in it is due";
    const char *const order = "entries that are not late stand in the order of arming";
    assert_names_each({
        {another, [] { ++plain(near_tick).front().low; }},
        {another, [] { plain(middle_tick).front().low += 8; }},
        {"no slot opens after the tick of an entry in it",
         [] { move_log(near_tick, shape::slot(1, shape::low(start))); }},
        {"timers stand in the running or the next block",
         [] { move_log(near_tick, shape::slot(1, shape::low(start))); }},
        {late_logs, [] { plain(near_tick).front().mark |= stamps::late; }},
        {late_logs, [] { std::swap(plain(near_tick), late(near_tick)); }},
        {"the stamp of a record with an entry says that it is armed on this wheel",
         [] {
             plain(near_tick).front().mark ^= stamps::second_wheel;
             wheel->timings[near].stamp ^= stamps::second_wheel;
         }},
        {"the stamp of a record with an entry says that it is armed on this wheel",
         [] {
             plain(near_tick).front().mark ^= stamps::armed;
             wheel->timings[near].stamp ^= stamps::armed;
         }},
        {due, [] { --wheel->timings[near].due; }},
        {due, [] { wheel->timings[near].lag = 1; }},
        {due, [] { wheel->timings[far].lag = UINT32_MAX; }},
        {due, [] { wheel->timings[far].due = start + 4; }},
        {order, [] { std::swap(wheel->timings[near].order, wheel->timings[twin].order); }},
        {order, [] { wheel->timings[near].order = wheel->timings[twin].order; }},
        {order, [] { std::swap(wheel->timings[behind_node].order, wheel->timings[between].order); }},
    });
}

TEST(record_check_allows_records_that_were_moved_later_and_what_is_overdue) {
    wheel->arm(near, start + 4000);
    assert_int_equal(wheel->timings[near].lag, 4000 - 2);
    wheel->arm(crowd, start - 50);
    wheel->arm_node(4, start - 40);
    wheel->arm(crowd + 1, start - 60);
    assert_int_equal(wheel->broken(), 0);
}

TEST(record_check_allows_what_is_shifted_step_by_step) {
    (*wheel)->begin_shift(50);
    do
        assert_int_equal(wheel->broken(), 0);
    while ((*wheel)->shift_one());
    assert_int_equal(wheel->broken(), 0);
}

TEST(record_check_finds_chunks_and_logs_that_are_wrong) {
    assert_names_each({
        {"a chunk holds entries",
         [] {
             log_chunk &chunk = *plain(near_tick).head;
             chunk.first = chunk.end;
         }},
        {"a chunk holds entries",
         [] {
             log_chunk &chunk = *plain(near_tick).head;
             std::swap(chunk.first, chunk.end);
         }},
        {"a log ends with its tail", [] { plain(near_tick).tail = nullptr; }},
        {"a log ends with its tail", [] { plain(start + 1).tail = plain(near_tick).tail; }},
    });
}

FIXTURE(fresh_queue, nullptr);

// The logs of the queue that hold entries, the earliest first.
std::vector<log *> logs_of_queue() {
    std::vector<log *> found;
    for (unsigned i = order_queue::logs; i-- != 0;)
        if (log &in = wheel->queue().at(i); !in.is_empty())
            found.push_back(&in);
    return found;
}

unsigned number_of(const log &in) {
    return order_queue::added - static_cast<unsigned>(&in - &wheel->queue().at(order_queue::added));
}

TEST(record_check_finds_an_order_that_the_queue_does_not_expect_where_it_stands) {
    log &later = *logs_of_queue().back();
    const std::uint32_t order = later.front().low;
    test_access::base(wheel->queue()) += 1000000;
    assert_names("no order in the queue is before its base");
    test_access::base(wheel->queue()) -= 1000000;
    later.front().low = order + 1000000;
    assert_names("an entry of the queue stands where its order differs from the base");
    later.front().low = order;
    assert_int_equal(wheel->broken(), 0);
    test_access::least(wheel->queue(), order_queue::added - number_of(later)) += 1000000;
    assert_names("a log of the queue knows its least order");
}

TEST(record_check_asks_records_for_orders_that_are_far_apart) {
    log &later = *logs_of_queue().back();
    later.front().low += 1000000;
    test_access::are_far_apart(wheel->queue()) = true;
    assert_int_equal(wheel->broken(), 0);
    timing &record = *later.front().record;
    record.order += std::uint64_t{1} << 40;
    assert_names("an entry of the queue stands where its order differs from the base");
    wheel->disarm(static_cast<std::uint32_t>(
        &record - wheel->timings.data()));  // a stale entry may have another order than its record
    assert_int_equal(wheel->broken(), 0);
}

// The checker looks at each step, while logs of all levels open.
TEST(record_check_finds_nothing_while_late_entries_are_sorted) {
    wheel = std::make_unique<fixture>(records, start);
    for (std::uint32_t i = 0; i < records; ++i)
        wheel->arm(i, start + 1);
    for (std::uint32_t i = 0; i < records; ++i)
        wheel->arm(i * 7 % records, start + 4);
    wheel->begin_advance(start + 4);
    while (wheel->step() != next_step::none)
        assert_int_equal(wheel->broken(), 0);
}

TEST(record_check_finds_entries_that_the_queue_does_not_know) {
    test_access::busy(wheel->queue(), 0) ^= 1u << 15;
    assert_names("the queue knows which of its logs hold entries");
    test_access::busy(wheel->queue(), 0) ^= 1u << 15;
    test_access::busy_levels(wheel->queue()) ^= 1u << 9;
    assert_names("the queue knows which of its levels hold entries");
    test_access::busy_levels(wheel->queue()) ^= 1u << 9;
    test_access::open(wheel->queue()) = 9 * order_queue::width;
    assert_names("an open log of the queue holds entries");
}

TEST(record_check_finds_a_queue_without_the_bit_of_its_slot) {
    busy().clear(wheel->inside().cursor_slot());
    assert_names("a slot's bit says whether it holds timers");
}

FIXTURE(fresh_sweep, nullptr);

TEST(record_check_finds_a_sweep_that_does_not_stand_in_its_log) {
    const char *const stands = "a sweep stands in its log, behind the chunk before";
    log_chunk elsewhere = {};
    test_access::at(wheel->sweeping()) = &elsewhere;
    assert_names(stands);
    fresh_sweep(nullptr);
    test_access::swept(wheel->sweeping()) = &plain(near_tick);
    assert_names(stands);
    fresh_sweep(nullptr);
    test_access::before(wheel->sweeping()) = nullptr;
    assert_names(stands);
    test_access::at(wheel->sweeping()) = nullptr;
    assert_int_equal(wheel->broken(), 0);
    test_access::before(wheel->sweeping()) = &elsewhere;
    assert_names(stands);
}

TEST(record_check_finds_a_chunk_with_room_between_others) {
    log &in = plain(far_tick);
    --in.tail->end;
    for (log_chunk *chunk = in.head; chunk != in.tail; chunk = chunk->next)
        if (chunk != in.head && chunk != test_access::before(wheel->sweeping()))
            --chunk->end;
    assert_names("chunks between the first and the last are full");
}

FIXTURE(fresh, nullptr);

TEST(record_check_reads_no_chunk_beyond_its_end) {
    plain(near_tick).head->end = log_chunk::size + 1;
    assert_names("a chunk holds entries");
}

TEST(record_check_comes_back_from_a_log_that_leads_in_a_circle) {
    log &in = plain(near_tick);
    in.tail->next = in.head;
    assert_true(wheel->broken() > 0);
}

}  // namespace

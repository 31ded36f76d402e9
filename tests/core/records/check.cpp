// The checker names each invariant of a wheel of records that is broken. The tests break them by hand, one at
// a time, in a wheel that is otherwise as busy as one gets.
#include <algorithm>
#include <memory>
#include <string>

#include "fixture.hpp"

namespace {

using namespace tickwheel::core;

using shape = log_shape<3>;
using fixture = record_fixture<shape>;

constexpr std::uint32_t near = 0, twin = 1, middle = 2, far = 3, first_of_crowd = 10, records = 200;
constexpr tick start = 100;

std::unique_ptr<fixture> it;

unsigned slot_of(unsigned level, tick t) { return shape::slot(level, t); }
log &plain(unsigned level, tick t) { return it->inside().levels().slots[slot_of(level, t)]; }
entry &first_of(log &in) { return in.head->entries[in.head->first]; }

int fresh(void **) {
    it = std::make_unique<fixture>(records, start);
    it->arm(near, start + 2);
    it->arm(twin, start + 2);
    it->arm(middle, start + 20);
    it->arm(far, start + 3000);
    return it->broken();
}

// Late entries, of which the earliest is known.
int fresh_queue(void **state) {
    fresh(state);
    for (std::uint32_t i = 0; i < 60; ++i)
        it->arm(first_of_crowd + i, start + 1);
    for (std::uint32_t i = 60; i != 0; --i)
        it->arm(first_of_crowd + i - 1, start + 3);
    (*it)->begin_advance(start + 3);
    while (!it->inside().queue().is_first_known())
        it->step();
    return it->broken();
}

// A sweep that stands in a log with more to sweep.
int fresh_sweep(void **state) {
    fresh(state);
    for (std::uint32_t i = first_of_crowd; i < records; ++i)
        it->arm(i, start + 3000);
    for (std::uint32_t i = first_of_crowd;
         !it->inside().is_sweeping() || it->inside().sweep_before() == nullptr; ++i)
        it->disarm(i);
    return it->broken();
}

void collect(const char *invariant, const tw_node *, void *arg) {
    static_cast<std::vector<std::string> *>(arg)->push_back(invariant);
}

bool names(const std::string &invariant) {
    std::vector<std::string> all;
    const int broken = record_checker<fixture::wheel>(**it, collect, &all).run();
    assert_int_equal(broken, all.size());
    assert_int_equal(record_checker<fixture::wheel>(**it, nullptr, nullptr).run(), broken);
    return std::find(all.begin(), all.end(), invariant) != all.end();
}

// The checker must report this invariant.
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
        fresh(nullptr);
        one.act();
        assert_names(one.invariant);
    }
}

FIXTURE(fresh, nullptr);

TEST(record_check_finds_nothing_in_a_whole_wheel) { assert_int_equal(it->broken(), 0); }

TEST(record_check_finds_a_wheel_whose_own_state_is_wrong) {
    const char *const origins = "slots are counted from the cursor, or from before the level that has opened";
    assert_names_each({
        {"no slot is counted from after the cursor", [] { it->inside().origin() = start + 1; }},
        {"the cursor is not ahead of now", [] { it->inside().now() = start - 1; }},
        {"now is a tick", [] { it->inside().now() = never; }},
        {origins, [] { it->inside().origin() = start - 1; }},
        {origins, [] { it->inside().open_level() = 2; }},
        {"a quiet wheel has caught up",
         [] {
             it->inside().now() = start + 1;
             it->inside().quiet_until() = start + 2;
         }},
        {"no slot opens while the wheel is quiet", [] { it->inside().quiet_until() = start + 3; }},
        {"entries is the number of entries", [] { ++it->inside().entries(); }},
        {"entries is the number of entries", [] { --it->inside().entries(); }},
        {"each armed record has one entry that is not stale", [] { --it->inside().armed(); }},
        {"a slot has its bit set if it holds entries",
         [] { it->inside().levels().busy.clear(slot_of(0, start + 2)); }},
        {"a slot without entries has its bit cleared",
         [] { it->inside().levels().busy.set(slot_of(0, start + 5)); }},
    });
}

TEST(record_check_finds_too_many_stale_entries) {
    for (std::uint32_t i = first_of_crowd; i < records; ++i)
        it->arm(i, start + 3000);
    for (std::uint32_t i = first_of_crowd; i < records; ++i)
        it->timings[i].stamp += 8;
    const char *const invariant = "no more entries are stale than records are armed, and some";
    it->inside().armed() = (it->inside().entries() - fixture::wheel::spare) / 2;
    assert_false(names(invariant));
    --it->inside().armed();
    assert_names(invariant);
}

TEST(record_check_allows_quiet_until_a_slot_of_a_higher_level_opens) {
    it->disarm(twin);
    it->disarm(near);
    it->inside().quiet_until() = start + 20;
    assert_int_equal(it->broken(), 0);
    ++it->inside().quiet_until();
    assert_names("no slot opens while the wheel is quiet");
}

TEST(record_check_allows_the_bit_of_the_slot_at_the_cursor) {
    it->inside().levels().busy.set(slot_of(0, start));
    assert_int_equal(it->broken(), 0);
}

TEST(record_check_finds_entries_that_stand_where_they_should_not) {
    const char *const another = "an entry stands in a slot of its tick";
    const char *const late = "no entry stands later than its record is due";
    assert_names_each({
        {another, [] { ++first_of(plain(0, start + 2)).due; }},
        {another, [] { first_of(plain(0, start + 2)).due -= shape::width(0); }},
        {"no slot opens after the tick of an entry in it",
         [] {
             plain(1, start) = plain(0, start + 2);
             plain(0, start + 2) = {};
             it->inside().levels().busy.set(slot_of(1, start));
             it->inside().levels().busy.clear(slot_of(0, start + 2));
         }},
        {"entries stand in the running or the next block",
         [] { first_of(plain(0, start + 2)).due = start + 12; }},  // the first tick of the block after these
        {"late entries, and no others, stand in the late logs",
         [] { first_of(plain(0, start + 2)).mark |= 1; }},
        {"the stamp of a record with an entry says that it is armed on this wheel",
         [] {
             first_of(plain(0, start + 2)).mark ^= fixture::access::other_wheel;
             it->timings[near].stamp ^= fixture::access::other_wheel;
         }},
        {late, [] { --it->timings[near].due; }},
        {late, [] { it->timings[far].lag = 1; }},
        {late, [] { it->timings[far].lag = UINT32_MAX; }},
        {"entries that are not late stand in the order of arming",
         [] { std::swap(it->timings[near].order, it->timings[twin].order); }},
        {"entries that are not late stand in the order of arming",
         [] { it->timings[near].order = it->timings[twin].order; }},
    });
}

TEST(record_check_allows_records_that_were_moved_later_and_what_is_overdue) {
    it->arm(near, start + 4000);
    it->arm(first_of_crowd, start - 50);
    it->offset = 1000;
    assert_int_equal(it->broken(), 0);
}

TEST(record_check_finds_chunks_and_logs_that_are_wrong) {
    assert_names_each({
        {"a chunk holds entries",
         [] {
             log_chunk &chunk = *plain(0, start + 2).head;
             chunk.first = chunk.end;
         }},
        {"a chunk holds entries",
         [] {
             log_chunk &chunk = *plain(0, start + 2).head;
             std::swap(chunk.first, chunk.end);
         }},
        {"a chunk holds entries", [] { plain(0, start + 2).head->end = log_chunk::size + 1; }},
        {"a log ends with its tail", [] { plain(0, start + 2).tail = nullptr; }},
    });
}

TEST(record_check_comes_back_from_a_log_that_leads_in_a_circle) {
    log &in = plain(0, start + 2);
    in.tail->next = in.head;
    assert_true(it->broken() > 0);
}

FIXTURE(fresh_queue, nullptr);

// The logs of the queue that hold entries, the earliest first.
std::vector<log *> logs_of_queue() {
    std::vector<log *> found;
    for (unsigned i = order_queue::logs; i-- != 0;)
        if (log &in = it->inside().queue().at(i); !in.is_empty())
            found.push_back(&in);
    return found;
}

unsigned number_of(const log &in) {
    return order_queue::added - static_cast<unsigned>(&in - &it->inside().queue().at(order_queue::added));
}

TEST(record_check_finds_an_order_that_the_queue_does_not_expect_where_it_stands) {
    log &later = *logs_of_queue().back();
    const tick order = first_of(later).due;
    it->inside().base() += 1000000;
    assert_names("no order in the queue is before its base");
    it->inside().base() -= 1000000;
    first_of(later).due = order + 1000000;
    assert_names("an entry of the queue stands where its order differs from the base");
    first_of(later).due = order;
    assert_int_equal(it->broken(), 0);
    it->inside().least(order_queue::added - number_of(later)) = order + 1000000;
    assert_names("a log of the queue knows its least order");
}

TEST(record_check_finds_entries_that_the_queue_does_not_know) {
    it->inside().busy(0) ^= 1u << 15;
    assert_names("the queue knows which of its logs hold entries");
    it->inside().busy(0) ^= 1u << 15;
    it->inside().busy_levels() ^= 1u << 9;
    assert_names("the queue knows which of its levels hold entries");
    it->inside().busy_levels() ^= 1u << 9;
    it->inside().open() = 9 * order_queue::width;
    assert_names("an open log of the queue holds entries");
}

TEST(record_check_finds_a_queue_without_the_bit_of_its_slot) {
    it->inside().levels().busy.clear(slot_of(0, start + 3));
    assert_names("a slot has its bit set if it holds entries");
}

FIXTURE(fresh_sweep, nullptr);

TEST(record_check_finds_a_sweep_that_does_not_stand_in_its_log) {
    const char *const stands = "a sweep stands in its log, behind the chunk before";
    log_chunk elsewhere = {};
    it->inside().sweep_at() = &elsewhere;
    assert_names(stands);
    fresh_sweep(nullptr);
    it->inside().swept() = &plain(0, start + 2);
    assert_names(stands);
    fresh_sweep(nullptr);
    it->inside().sweep_before() = nullptr;
    assert_names(stands);
    it->inside().sweep_at() = nullptr;
    assert_int_equal(it->broken(), 0);
    it->inside().sweep_before() = &elsewhere;
    assert_names(stands);
}

TEST(record_check_finds_a_chunk_with_room_between_others) {
    log &in = plain(shape::level_of((start + 3000) ^ start), start + 3000);
    --in.tail->end;
    for (log_chunk *chunk = in.head; chunk != in.tail; chunk = chunk->next)
        if (chunk != in.head && chunk != it->inside().sweep_before())
            --chunk->end;
    assert_names("chunks between the first and the last are full");
}

}  // namespace

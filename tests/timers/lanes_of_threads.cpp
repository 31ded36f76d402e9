// Which lane a thread starts its timers in (src/runtime/lanes.hpp).
#include <tickwheel/keyed.h>
#include <tickwheel/timers.h>

#include <bit>
#include <cerrno>
#include <cstdint>
#include <latch>
#include <thread>
#include <vector>

#include "runtime/state.hpp"
#include "support/sanitized.h"
#include "support/test.h"
#include "timers/record_set.hpp"

namespace {

void never_fires(const tw_event *, void *) { fail(); }

void start_one(tw_timers *set) {
    tw_handle id;
    assert_int_equal(tw_timer_after(set, &id, TW_SECOND * 1000, never_fires, nullptr), 0);
}

int lanes_of(const tw_runtime *rt) { return std::popcount(rt->steady.lanes.made.load()); }

// A runtime with a set, on virtual time.
struct service {
    explicit service(unsigned lanes) {
        tw_runtime_options options = {};
        options.driver = "manual";
        options.lanes = lanes;
        assert_int_equal(tw_runtime_new(&rt, &options), 0);
        assert_int_equal(tw_timers_new(&set, rt, nullptr), 0);
    }
    service(const service &) = delete;
    service &operator=(const service &) = delete;
    ~service() { tw_runtime_free(rt); }

    tw_runtime *rt = nullptr;
    tw_timers *set = nullptr;
};

// Starts two timers from each of `count` threads, which exist at the same time.
void start_from_threads(tw_timers *set, int count) {
    std::latch all(count);
    std::vector<std::jthread> threads;
    for (int i = 0; i < count; ++i)
        threads.emplace_back([&] {
            start_one(set);
            all.arrive_and_wait();
            start_one(set);
        });
}

}  // namespace

TEST(each_thread_starts_its_timers_in_a_lane_of_its_own) {
    const service at(8);
    start_one(at.set);
    start_one(at.set);
    assert_int_equal(lanes_of(at.rt), 1);
    start_from_threads(at.set, 3);
    assert_int_equal(lanes_of(at.rt), 4);
    assert_int_equal(tw_timers_count(at.set), 8);
}

TEST(a_runtime_has_as_many_lanes_as_its_options_say) {
    const struct {
        const char *driver;
        enum tw_clock clock;
        unsigned asked, has;
    } cases[] = {
        {"sleep", TW_CLOCK_DEFAULT, 0, 64}, {"sleep", TW_CLOCK_DEFAULT, 1, 1},
        {"sleep", TW_CLOCK_DEFAULT, 2, 2},  {"epoll", TW_CLOCK_DEFAULT, 64, 64},
        {"manual", TW_CLOCK_DEFAULT, 0, 1}, {"manual", TW_CLOCK_DEFAULT, 5, 5},
        {"epoll", TW_CLOCK_WALL, 0, 1},     {"epoll", TW_CLOCK_WALL, 8, 1},
    };
    for (const auto &each : cases) {
        tw_runtime_options options = {};
        options.driver = each.driver;
        options.clock = each.clock;
        options.lanes = each.asked;
        tw_runtime *rt = nullptr;
        assert_int_equal(tw_runtime_new(&rt, &options), 0);
        assert_int_equal(rt->steady.lanes.limit, each.has);
        tw_runtime_free(rt);
    }
}

TEST(more_threads_than_lanes_share_them) {
    for (unsigned lanes = 2; lanes <= 8; lanes += 2) {
        const service at(lanes);
        start_from_threads(at.set, 7);
        assert_int_equal(lanes_of(at.rt), lanes < 7 ? lanes : 7);
        assert_int_equal(tw_timers_count(at.set), 14);
    }
}

TEST(a_thread_keeps_its_lane_while_it_uses_another_runtime) {
    const service one(8), other(8);
    start_from_threads(other.set, 1);
    for (int i = 0; i < 5; ++i) {
        start_one(one.set);
        start_one(other.set);
    }
    assert_int_equal(lanes_of(one.rt), 1);
    assert_int_equal(lanes_of(other.rt), 2);
}

// A new runtime often gets the memory of the freed one.
TEST(a_runtime_made_where_one_was_freed_has_lanes_of_its_own) {
    for (int round = 0; round < 20; ++round) {
        const service at(round % 2 == 0 ? 8 : 2);
        const bool is_first = round % 3 == 0;
        if (!is_first)
            start_from_threads(at.set, 1);
        start_one(at.set);
        assert_int_equal(lanes_of(at.rt), is_first ? 1 : 2);
    }
}

// The memory of a thread that has ended, and the lane with it, usually goes to the next thread.
TEST_IF(!SANITIZED, threads_that_follow_each_other_share_a_lane) {
    const service at(8);
    start_one(at.set);
    for (int i = 0; i < 20; ++i)
        start_from_threads(at.set, 1);
    assert_in_range(lanes_of(at.rt), 1, 3);
}

namespace {

// The lanes in which a timer was armed.
std::uint64_t lanes_in_use(const tw_runtime *rt) {
    std::uint64_t lanes = 0;
    for (unsigned lane = 0; lane != tickwheel::runtime::most_lanes; ++lane)
        if (tickwheel::runtime::next_of(rt->steady.lanes, lane) != tickwheel::runtime::never)
            lanes |= std::uint64_t{1} << lane;
    return lanes;
}

constexpr tw_set_options bounded = [] {
    tw_set_options options = {};
    options.capacity = 4;
    return options;
}();

}  // namespace

// So threads that have sets of their own do not meet, though such a set has one lane.
TEST(a_set_with_a_capacity_is_in_the_lane_of_the_thread_that_made_it) {
    const service at(8);
    start_one(at.set);
    tw_timers *set = nullptr;
    std::thread([&] { assert_int_equal(tw_timers_new(&set, at.rt, &bounded), 0); }).join();
    assert_int_equal(lanes_in_use(at.rt), 0b01);
    tw_handle id;
    assert_int_equal(tw_timer_after(set, &id, TW_SECOND * 1000, never_fires, nullptr), 0);
    assert_int_equal(lanes_in_use(at.rt), 0b11);
    assert_int_equal(tw_timer_cancel(at.set, id), -ENOENT);
    assert_int_equal(tw_timer_cancel(set, id), 1);
    assert_int_equal(tw_timer_cancel(set, id), -ESTALE);
}

TEST(keys_with_a_capacity_are_in_the_lane_of_the_thread_that_made_their_table) {
    const service at(8);
    start_one(at.set);
    tw_keyed *keys = nullptr;
    std::thread([&] { assert_int_equal(tw_keyed_new(&keys, at.rt, &bounded), 0); }).join();
    for (std::uint64_t key = 1; key <= bounded.capacity; ++key)
        assert_int_equal(tw_keyed_after(keys, tw_key_number(key), TW_SECOND * 1000, never_fires, nullptr), 0);
    assert_int_equal(lanes_in_use(at.rt), 0b11);
    assert_int_equal(tw_keyed_after(keys, tw_key_number(5), TW_SECOND, never_fires, nullptr), -ENOSPC);
    assert_int_equal(tw_keyed_cancel(keys, tw_key_number(1)), 1);
    assert_int_equal(tw_keyed_count(keys), 3);
    assert_int_equal(tw_keyed_cancel_all(keys, nullptr, nullptr), 3);
}

// With more threads than lanes, too, though the lane of this thread was chosen by turns.
TEST(a_thread_that_shares_a_lane_stays_there) {
    const service at(4);
    std::latch over(1), all(4);
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&] {
            start_one(at.set);
            all.count_down();
            over.wait();
        });
    all.wait();
    assert_int_equal(lanes_in_use(at.rt), 0b1111);
    const void *lane = nullptr;
    for (int i = 0; i < 8; ++i) {
        tw_timers *set = nullptr;
        assert_int_equal(tw_timers_new(&set, at.rt, &bounded), 0);
        tw_handle id;
        assert_int_equal(tw_timer_after(set, &id, TW_SECOND, never_fires, nullptr), 0);
        const void *const its_lane =
            tickwheel::timers::find_block_of(static_cast<std::uint32_t>(id))->owner.load()->space;
        assert_true(lane == nullptr || its_lane == lane);
        lane = its_lane;
    }
    over.count_down();
}

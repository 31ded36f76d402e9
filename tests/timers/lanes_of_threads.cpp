// Which lane a thread starts its timers in (src/runtime/lanes.hpp).
#include <tickwheel/timers.h>

#include <bit>
#include <latch>
#include <thread>
#include <vector>

#include "runtime/state.hpp"
#include "support/sanitized.h"
#include "support/test.h"

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

// A new runtime often gets the memory of the freed one, which own_lane still names. Lane 1 is made where
// another thread has taken lane 0.
TEST(a_thread_goes_to_few_lanes_in_a_runtime_made_where_one_was_freed) {
    for (int round = 0; round < 20; ++round) {
        const service at(round % 2 == 0 ? 8 : 2);
        if (round % 3 != 0)
            start_from_threads(at.set, 1);
        start_one(at.set);
        assert_in_range(lanes_of(at.rt), 1, 2);
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

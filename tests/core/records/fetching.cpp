// src/core/fetching.hpp: how far ahead of the cursor the wheel looks for records to prefetch. A test cannot
// see the prefetches themselves.
#include "core/fetching.hpp"

#include <vector>

#include "core/geometry.hpp"
#include "support/test.h"

namespace {

using namespace tickwheel::core;

using shape = geometry<8, 3, true>;
constexpr unsigned most = 4;  // slots ahead

// Every `every`-th slot of level 0 is busy.
struct fixture {
    struct {
        log plain[shape::slots];
    } memory = {};
    decltype(memory) *records = &memory;
    tick every = 1;
    mutable std::vector<tick> found = {};  // ticks of the slots that the searches have found
    mutable tick from = 0;
    tick cursor = 0;

    unsigned next_busy(unsigned level, shape::digits t, unsigned after, unsigned last) const {
        assert_int_equal(level, 0);
        assert_int_equal(after, 0);
        assert_true(t >= cursor && t + last <= cursor + shape::width(0) / 2);
        const tick next = t - t % every + every;
        if (next - t > last)
            return 0;
        found.push_back(next);
        return static_cast<unsigned>(next - t);
    }

    void go_to(fetching<shape> &ahead, tick t) {
        cursor = t;
        found.clear();
        ahead.go_to(t, *this);
        assert_true(ahead.is_at(t));
        assert_false(ahead.is_at(t + 1));
    }
};

TEST(fetching_begins_with_some_slots_and_goes_on_with_one_for_each) {
    for (const tick every : {tick{1}, tick{5}, tick{20}}) {
        fixture test;
        test.every = every;
        fetching<shape> ahead = {};
        test.go_to(ahead, 100 * every);
        assert_int_equal(test.found.size(), most);
        assert_int_equal(test.found.back(), (100 + most) * every);
        for (tick i = 101; i < 140; ++i) {
            test.go_to(ahead, i * every);
            assert_int_equal(test.found.size(), 1);
            assert_int_equal(test.found[0], (i + most) * every);
        }
    }
}

TEST(fetching_begins_again_when_the_cursor_has_passed_all) {
    fixture test;
    fetching<shape> ahead = {};
    test.go_to(ahead, 10);
    test.go_to(ahead, 1000);
    assert_int_equal(test.found.size(), most);
    assert_int_equal(test.found[0], 1001);
}

TEST(fetching_goes_no_further_than_half_of_level_0) {
    fixture test;
    test.every = shape::width(0) / 4 + 1;
    fetching<shape> ahead = {};
    test.go_to(ahead, test.every);
    assert_int_equal(test.found.size(), 1);
    test.every = shape::width(0);
    test.go_to(ahead, 5 * test.every);
    assert_int_equal(test.found.size(), 0);
}

TEST(fetching_reads_chunks_up_to_their_ends) {
    log_chunk chunks[2] = {};
    log in = {&chunks[0], &chunks[1]};
    chunks[0].end = chunks[1].end = log_chunk::size;
    fetch_next_chunk(in);  // the last
    fetch_lines_behind(in);
    chunks[0].next = &chunks[1];
    for (; chunks[0].first != chunks[0].end; ++chunks[0].first) {
        fetch_next_chunk(in);
        fetch_lines_behind(in);
    }
}

}  // namespace

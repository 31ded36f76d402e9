// The times at which elements expire, where model.cpp does not draw them.
#include <tickwheel/ttl_map.hpp>

#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "runtimes.hpp"

namespace {

using map = tickwheel::ttl_map<int, int>;
using tickwheel::expiry;

TEST(ttl_map_times, each_entry_may_have_its_own) {
    virtual_runtime rt;
    map m(rt, {.ttl = 1s});
    m.set(1, 1, 10ms);
    m.set(2, 2, 1.5h);
    rt.advance(10ms);
    EXPECT_FALSE(m.contains(1));
    rt.advance(1h);
    EXPECT_TRUE(m.contains(2));
    rt.advance(30min);
    EXPECT_FALSE(m.contains(2));
}

TEST(ttl_map_times, longer_than_time_itself_is_for_ever) {
    virtual_runtime rt;
    map m(rt, {.ttl = std::chrono::nanoseconds::max(), .jitter = 1});
    m.set(1, 1, std::chrono::hours::max());
    m.set(2, 2, std::chrono::duration<double>(std::numeric_limits<double>::infinity()));
    map exact(rt, {.ttl = std::chrono::nanoseconds::max()});
    exact.set(3, 3);
    rt.advance(24h * 365 * 100);
    EXPECT_TRUE(exact.contains(3));
    EXPECT_EQ(m.size() + exact.size(), m.stats().size + 1);
}

TEST(ttl_map_times, less_than_a_nanosecond_is_one) {
    virtual_runtime rt;
    map m(rt, {.ttl = 1s});
    m.set(1, 1, std::chrono::duration<double, std::nano>(0.1));
    EXPECT_TRUE(m.contains(1));
    rt.advance(1ms);
    EXPECT_FALSE(m.contains(1));
}

TEST(ttl_map_times, jitter_spreads_within_its_fraction) {
    virtual_runtime rt;
    map m(rt, {.ttl = 1000ms, .jitter = 0.2, .seed = 1});
    for (int i = 0; i < 1000; ++i)
        m.set(i, i);
    rt.advance(799ms);
    EXPECT_EQ(m.size(), 1000U);
    rt.advance(101ms);  // a quarter of the range
    EXPECT_NEAR(static_cast<double>(m.size()), 750, 100);
    rt.advance(100ms);
    EXPECT_NEAR(static_cast<double>(m.size()), 500, 100);
    rt.advance(201ms);
    EXPECT_EQ(m.size(), 0U);
}

TEST(ttl_map_times, jitter_of_one_leaves_a_positive_time) {
    virtual_runtime rt;
    map m(rt, {.ttl = 2ns, .jitter = 1});
    for (int i = 0; i < 100; ++i)
        m.set(i, i);
    EXPECT_EQ(m.size(), 100U);
    rt.advance(1ms);
    EXPECT_EQ(m.size(), 0U);
}

// Time leaps past the element's deadline, and the first callback to run still finds it in memory.
template <class What> void while_it_is_late(virtual_runtime &rt, map &m, What what) {
    at_time first(rt, 10ms, what);
    m.set(1, 1, 10ms);
    rt.leap(20ms);
    EXPECT_EQ(m.size(), 0U);
}

TEST(ttl_map_times, an_expired_entry_is_not_returned_while_its_timer_is_late) {
    virtual_runtime rt;
    map m(rt, {.ttl = 1s, .expiry = expiry::sliding});
    while_it_is_late(rt, m, [&m] {
        EXPECT_EQ(m.size(), 1U);
        EXPECT_FALSE(m.get(1));
        EXPECT_FALSE(m.contains(1));
        EXPECT_FALSE(m.touch(1));
    });
}

TEST(ttl_map_times, an_expired_entry_cannot_be_erased) {
    virtual_runtime rt;
    int reported = 0;
    map m(rt, {.ttl = 1s, .on_expire = [&](int, int) { ++reported; }});
    while_it_is_late(rt, m, [&m] { EXPECT_FALSE(m.erase(1)); });
    EXPECT_EQ(reported, 1);
}

// On the wall clock, delays follow the steady clock.
TEST(ttl_map_times, setting_the_wall_clock_changes_nothing) {
    virtual_runtime rt(TW_CLOCK_WALL);
    map m(rt, {.ttl = 100ms});
    m.set(1, 1);
    rt.set_wall(24h);
    EXPECT_TRUE(m.contains(1));
    rt.advance(99ms);
    EXPECT_TRUE(m.contains(1));
    rt.set_wall(1s);
    rt.advance(1ms);
    EXPECT_EQ(m.size(), 0U);
    while_it_is_late(rt, m, [&] {
        rt.set_wall(0s);
        EXPECT_FALSE(m.contains(1));
    });
}

}  // namespace

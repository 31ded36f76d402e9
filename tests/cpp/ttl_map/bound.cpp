// The bound on the number of elements, and which element it evicts.
#include <tickwheel/ttl_map.hpp>

#include <set>

#include <gtest/gtest.h>

#include "runtimes.hpp"

namespace {

using map = tickwheel::ttl_map<int, int>;

std::set<int> keys_in(const map &m) {
    std::set<int> keys;
    for (int key = 0; key < 100; ++key)
        if (m.contains(key))
            keys.insert(key);
    return keys;
}

struct bounded : testing::Test {
    virtual_runtime rt;
    map m{rt, {.ttl = 1s, .max_size = 3}};

    void SetUp() override {
        for (int key : {1, 2, 3})
            m.set(key, key);
    }
};

TEST_F(bounded, the_oldest_leaves_if_none_was_used) {
    m.set(4, 4);
    EXPECT_EQ(keys_in(m), (std::set{2, 3, 4}));
    EXPECT_EQ(m.stats().evicted, 1U);
    EXPECT_EQ(m.size(), 3U);
}

TEST_F(bounded, get_is_a_use) {
    m.get(1);
    m.set(4, 4);
    EXPECT_EQ(keys_in(m), (std::set{1, 3, 4}));
}

TEST_F(bounded, touch_is_a_use) {
    m.touch(1);
    m.set(4, 4);
    EXPECT_EQ(keys_in(m), (std::set{1, 3, 4}));
}

TEST_F(bounded, set_again_is_a_use_and_evicts_nothing) {
    m.set(1, 10);
    EXPECT_EQ(m.size(), 3U);
    m.set(4, 4);
    EXPECT_EQ(keys_in(m), (std::set{1, 3, 4}));
}

TEST_F(bounded, contains_is_no_use) {
    EXPECT_TRUE(m.contains(1));
    m.set(4, 4);
    EXPECT_EQ(keys_in(m), (std::set{2, 3, 4}));
}

TEST_F(bounded, a_loaded_value_pushes_out_too) {
    m.get_or_load(4, [](int) { return 4; });
    EXPECT_EQ(keys_in(m), (std::set{2, 3, 4}));
}

TEST_F(bounded, erasing_and_expiring_make_room) {
    m.erase(2);
    m.set(3, 3, 1ms);
    rt.advance(1ms);
    m.set(4, 4);
    m.set(5, 5);
    EXPECT_EQ(keys_in(m), (std::set{1, 4, 5}));
    EXPECT_EQ(m.stats().evicted, 0U);
}

TEST_F(bounded, who_is_pushed_out_has_no_timer_left) {
    m.set(4, 4);
    EXPECT_EQ(tw_runtime_count(rt.native()), 3U);
}

TEST(bound, shards_share_it) {
    virtual_runtime rt;
    map m(rt, {.ttl = 1s, .max_size = 64, .shards = 4});
    for (int i = 0; i < 10'000; ++i)
        m.set(i, i);
    EXPECT_EQ(m.size(), 64U);
    EXPECT_EQ(m.stats().evicted, 10'000U - 64U);
}

TEST(bound, of_one_entry) {
    virtual_runtime rt;
    map m(rt, {.ttl = 1s, .max_size = 1});
    m.set(1, 1);
    m.set(2, 2);
    m.set(2, 3);
    EXPECT_EQ(keys_in(m), (std::set{2}));
    EXPECT_EQ(m.get(2), 3);
}

}  // namespace

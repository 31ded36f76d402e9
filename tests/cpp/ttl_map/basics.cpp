// The map apart from time: keys, values, lookups, statistics. What calls answer: model.cpp.
#include <tickwheel/ttl_map.hpp>

#include <limits>
#include <memory>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "runtimes.hpp"

namespace {

using map = tickwheel::ttl_map<std::string, int>;

TEST(ttl_map, takes_a_plain_runtime) {
    virtual_runtime rt;
    map m(rt.native(), {.ttl = 1s});
    m.set("a", 1);
    EXPECT_EQ(m.get("a"), 1);
}

TEST(ttl_map, set_replaces_a_value_that_cannot_be_assigned) {
    struct fixed {
        const int number;
    };
    virtual_runtime rt;
    tickwheel::ttl_map<int, fixed> m(rt, {.ttl = 1s, .max_size = 1});
    m.set(1, {10});
    m.set(1, {20});
    EXPECT_EQ(m.get(1)->number, 20);
    EXPECT_EQ(m.size(), 1U);
    EXPECT_EQ(m.stats().evicted, 0U);
}

TEST(ttl_map, contains_is_no_hit) {
    virtual_runtime rt;
    map m(rt, {.ttl = 1s});
    m.set("a", 1);
    EXPECT_TRUE(m.contains("a"));
    EXPECT_FALSE(m.contains("b"));
    EXPECT_EQ(m.stats().hits + m.stats().misses, 0U);
}

TEST(ttl_map, clear_removes_all) {
    virtual_runtime rt;
    tickwheel::ttl_map<int, int> m(rt, {.ttl = 1s, .shards = 3});
    for (int i = 0; i < 1000; ++i)
        m.set(i, i);
    EXPECT_EQ(m.size(), 1000U);
    m.clear();
    EXPECT_EQ(m.size(), 0U);
    EXPECT_EQ(tw_runtime_count(rt.native()), 0U);
    m.set(1, 1);
    EXPECT_EQ(m.get(1), 1);
}

TEST(ttl_map, finds_each_of_many_keys) {
    virtual_runtime rt;
    tickwheel::ttl_map<int, int> m(rt, {.ttl = 1s});
    for (int i = 0; i < 20'000; ++i)
        m.set(i, -i);
    for (int i = 0; i < 20'000; ++i)
        ASSERT_EQ(m.get(i), -i);
    for (int i = 0; i < 20'000; i += 2)
        ASSERT_TRUE(m.erase(i));
    for (int i = 0; i < 20'000; ++i)
        ASSERT_EQ(m.contains(i), i % 2 == 1);
}

TEST(ttl_map, keys_of_one_hash_are_told_apart) {
    struct same {
        std::size_t operator()(int) const { return 7; }
    };
    virtual_runtime rt;
    tickwheel::ttl_map<int, int, same> m(rt, {.ttl = 1s});
    for (int i = 0; i < 100; ++i)
        m.set(i, i);
    EXPECT_TRUE(m.erase(50));
    for (int i = 0; i < 100; ++i)
        ASSERT_EQ(m.contains(i), i != 50);
}

struct view_hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
};

TEST(ttl_map, looks_up_without_making_a_key) {
    virtual_runtime rt;
    tickwheel::ttl_map<std::string, int, view_hash> m(rt, {.ttl = 1s});
    m.set("a", 1);
    const std::string_view a = "a";  // does not convert to std::string implicitly
    EXPECT_EQ(m.get(a), 1);
    EXPECT_TRUE(m.contains(a));
    EXPECT_TRUE(m.touch(a));
    EXPECT_TRUE(m.erase(a));
}

// A type that cannot form a key is rejected by overload resolution, not by an error inside.
template <class Map, class K>
concept gets = requires(Map &m, const K &key) {
    m.get(key);
};
template <class Map, class K>
concept touches = requires(Map &m, const K &key) {
    m.touch(key);
};
template <class Map, class K>
concept contains = requires(Map &m, const K &key) {
    m.contains(key);
};
template <class Map, class K>
concept erases = requires(Map &m, const K &key) {
    m.erase(key);
};
template <class Map, class K>
constexpr int lookups = gets<Map, K> + touches<Map, K> + contains<const Map, K> + erases<Map, K>;

using numbers = tickwheel::ttl_map<int, int>;
using viewed = tickwheel::ttl_map<std::string, int, view_hash>;
using pointers = tickwheel::ttl_map<std::unique_ptr<int>, int>;
using text = char[5];
static_assert(lookups<numbers, int> == 4 && lookups<numbers, short> == 4 && lookups<numbers, long> == 4);
static_assert(lookups<numbers, text> == 0 && lookups<numbers, std::string> == 0);
static_assert(lookups<map, std::string> == 4 && lookups<map, text> == 4);
static_assert(lookups<map, std::string_view> == 4 && lookups<map, void *> == 0);
static_assert(lookups<viewed, std::string> == 4 && lookups<viewed, std::string_view> == 4);
static_assert(lookups<viewed, text> == 4 && lookups<viewed, int> == 0);
static_assert(lookups<pointers, std::unique_ptr<int>> == 4 && lookups<pointers, int> == 0);

TEST(ttl_map, statistics_count) {
    virtual_runtime rt;
    map m(rt, {.ttl = 1s, .max_size = 2, .shards = 2});
    m.set("a", 1);
    m.get("a");
    m.get("a");
    m.get("b");
    m.get_or_load("c", [](const std::string &) { return 3; });
    EXPECT_THROW(m.get_or_load("d", [](const std::string &) -> int { throw 1; }), int);
    rt.advance(1s);
    const tickwheel::ttl_map_stats seen = m.stats();
    EXPECT_EQ(seen.hits, 2U);
    EXPECT_EQ(seen.misses, 3U);
    EXPECT_EQ(seen.loads, 2U);
    EXPECT_EQ(seen.load_failures, 1U);
    EXPECT_EQ(seen.expired + seen.evicted, 2U);
    EXPECT_EQ(seen.size, 0U);
}

TEST(ttl_map, shards_share_the_bound) {
    virtual_runtime rt;
    tickwheel::ttl_map<int, int> m(rt, {.ttl = 1s, .max_size = 64, .shards = 4});
    for (int i = 0; i < 10'000; ++i)
        m.set(i, i);
    EXPECT_EQ(m.size(), 64U);
    EXPECT_EQ(m.stats().evicted, 10'000U - 64U);
}

TEST(ttl_map, destroying_it_frees_the_values_and_reports_nothing) {
    virtual_runtime rt;
    const auto value = std::make_shared<int>(1);
    {
        tickwheel::ttl_map<int, std::shared_ptr<int>> m(
            rt, {.ttl = 1s, .on_expire = [](int, const auto &) { FAIL(); }});
        m.set(1, value);
        m.set(2, value);
        EXPECT_EQ(value.use_count(), 3);
    }
    EXPECT_EQ(value.use_count(), 1);
    rt.advance(2s);
}

template <class Make> int error_of(Make make) {
    try {
        make();
    } catch (const std::system_error &e) {
        return e.code().value();
    }
    return 0;
}

TEST(ttl_map, refuses_options_out_of_range) {
    virtual_runtime rt;
    const auto made = [&rt](map::options o) { return error_of([&] { map(rt, std::move(o)); }); };
    EXPECT_EQ(made({.ttl = 1s}), 0);
    EXPECT_EQ(made({}), EINVAL);
    EXPECT_EQ(made({.ttl = -1s}), EINVAL);
    EXPECT_EQ(made({.ttl = 1s, .jitter = -0.1}), EINVAL);
    EXPECT_EQ(made({.ttl = 1s, .jitter = 1.1}), EINVAL);
    EXPECT_EQ(made({.ttl = 1s, .jitter = std::numeric_limits<double>::quiet_NaN()}), EINVAL);
    EXPECT_EQ(made({.ttl = 1s, .shards = 0}), EINVAL);
    EXPECT_EQ(made({.ttl = 1s, .max_size = 3, .shards = 4}), EINVAL);
    EXPECT_EQ(error_of([] { map(nullptr, {.ttl = 1s}); }), EINVAL);
}

TEST(ttl_map, refuses_a_time_to_live_that_is_not_positive) {
    virtual_runtime rt;
    map m(rt, {.ttl = 1s});
    const auto answer = [](const std::string &) { return 1; };
    EXPECT_EQ(error_of([&] { m.set("a", 1, 0s); }), EINVAL);
    EXPECT_EQ(error_of([&] { m.set("a", 1, -1ns); }), EINVAL);
    EXPECT_EQ(error_of([&] { m.get_or_load("a", answer, 0ms); }), EINVAL);
    const std::chrono::duration<double> no_number(std::numeric_limits<double>::quiet_NaN());
    EXPECT_EQ(error_of([&] { m.set("a", 1, no_number); }), EINVAL);
    EXPECT_EQ(m.size(), 0U);
}

}  // namespace

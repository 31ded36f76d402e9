// Every allocation of every call fails in turn: the call throws std::bad_alloc, and the map is
// unchanged.
#include <tickwheel/ttl_map.hpp>

#include <cstddef>
#include <new>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "failing_heap.hpp"
#include "runtimes.hpp"

namespace {

using map = tickwheel::ttl_map<std::string, std::string>;

std::string long_text(int number) { return std::to_string(1'000'000 + number) + std::string(60, 'x'); }

// Repeats `what` with one more allocation allowed each time, until it succeeds. Calls `unchanged`
// after each failure. Returns the number of failures.
template <class Do, class Check> int with_failures(Do what, Check unchanged) {
    for (int failures = 0;; ++failures) {
        until_failure = failures;
        try {
            what();
            until_failure = -1;
            return failures;
        } catch (const std::bad_alloc &) {
            until_failure = -1;
            unchanged();
        }
    }
}

struct short_of_memory : testing::Test {
    virtual_runtime rt;
    int evictions = 0;
    map m{rt, {.ttl = 1s, .max_size = 16, .on_evict = [this](auto &&...) { ++evictions; }}};

    void SetUp() override {
        for (int i = 0; i < 16; ++i)
            m.set(long_text(i), "value");
    }
    void expect_unchanged() {
        EXPECT_EQ(m.size(), 16U);
        EXPECT_EQ(tw_runtime_count(rt.native()), 16U);
        EXPECT_EQ(evictions, 0);
        for (int i = 0; i < 16; ++i)
            EXPECT_EQ(m.get(long_text(i)), "value");
    }
};

TEST_F(short_of_memory, set_of_a_new_key) {
    const int failures =
        with_failures([this] { m.set(long_text(99), long_text(1)); }, [this] { expect_unchanged(); });
    EXPECT_GE(failures, 3);  // key, value, element
    EXPECT_EQ(m.get(long_text(99)), long_text(1));
    EXPECT_EQ(evictions, 1);
}

TEST_F(short_of_memory, set_of_a_key_that_is_there) {
    const int failures =
        with_failures([this] { m.set(long_text(5), long_text(1)); }, [this] { expect_unchanged(); });
    EXPECT_GE(failures, 2);
    EXPECT_EQ(m.get(long_text(5)), long_text(1));
}

TEST_F(short_of_memory, get) {
    m.set(long_text(5), long_text(1));
    std::optional<std::string> got;
    const int failures = with_failures([&] { got = m.get(long_text(5)); }, [] {});
    EXPECT_GE(failures, 1);
    EXPECT_EQ(got, long_text(1));
}

TEST_F(short_of_memory, get_or_load) {
    int runs = 0;
    const auto loader = [&runs](const std::string &key) { return ++runs, key + "!"; };
    const int failures = with_failures([&] { m.get_or_load(long_text(99), loader); },
                                       [this] {
                                           EXPECT_FALSE(m.contains(long_text(99)));
                                           expect_unchanged();
                                       });
    EXPECT_GE(failures, 6);
    EXPECT_EQ(m.get(long_text(99)), long_text(99) + "!");
    EXPECT_EQ(m.stats().load_failures + 1, static_cast<std::uint64_t>(runs));
}

TEST_F(short_of_memory, erase_and_clear_allocate_nothing) {
    const std::string key = long_text(3);
    until_failure = 0;
    const bool erased = m.erase(key);
    m.clear();
    until_failure = -1;
    EXPECT_TRUE(erased);
    EXPECT_EQ(m.size(), 0U);
}

TEST(out_of_memory, growing) {
    virtual_runtime rt;
    tickwheel::ttl_map<int, int> m(rt, {.ttl = 1s});
    int failures = 0;
    for (int i = 0; i < 300; ++i)
        failures += with_failures([&] { m.set(i, i); },
                                  [&] {
                                      EXPECT_FALSE(m.contains(i));
                                      EXPECT_EQ(m.size(), static_cast<std::size_t>(i));
                                      EXPECT_EQ(tw_runtime_count(rt.native()), static_cast<std::size_t>(i));
                                  });
    EXPECT_EQ(failures, 300 + 5);  // one per element; buckets at 16, 32, 64, 128, 256
    for (int i = 0; i < 300; ++i)
        EXPECT_EQ(m.get(i), i);
}

TEST(out_of_memory, construction) {
    virtual_runtime rt;
    std::optional<map> m;
    const int failures = with_failures([&] { m.emplace(rt, map::options{.ttl = 1s, .shards = 3}); },
                                       [&] { EXPECT_EQ(tw_runtime_count(rt.native()), 0U); });
    EXPECT_EQ(failures, 4);  // the shards, and the buckets of each
    m->set("a", "b");
    EXPECT_EQ(m->get("a"), "b");
}

}  // namespace

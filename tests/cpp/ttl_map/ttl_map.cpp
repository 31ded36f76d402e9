// The expiring map, on virtual time. model.cpp plays calls in random order.
#include <tickwheel/ttl_map.hpp>

#include <atomic>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "../support.hpp"

namespace {

using map = tickwheel::ttl_map<std::string, int>;
using numbers = tickwheel::ttl_map<int, int>;
using texts = tickwheel::ttl_map<int, std::string>;
using strings = std::vector<std::string>;
using tickwheel::expiry;
using tickwheel::virtual_runtime;

// --- keys, values, statistics

TEST(ttl_map, set_replaces_a_value_that_cannot_be_assigned) {
    struct fixed {
        const int number;
    };
    virtual_runtime rt;
    tickwheel::ttl_map<int, fixed> m(rt.native(), {.ttl = 1s, .max_size = 1});
    m.set(1, {10});
    m.set(1, {20});
    EXPECT_EQ(m.get(1)->number, 20);
    EXPECT_EQ(m.size(), 1U);
    EXPECT_EQ(m.stats().evicted, 0U);
}

TEST(ttl_map, finds_each_of_many_keys_until_it_is_cleared) {
    virtual_runtime rt;
    numbers m(rt, {.ttl = 1s, .shards = 3});
    for (int i = 0; i < 20'000; ++i)
        m.set(i, -i);
    for (int i = 0; i < 20'000; ++i)
        ASSERT_EQ(m.get(i), -i);
    for (int i = 0; i < 20'000; i += 2)
        ASSERT_TRUE(m.erase(i));
    for (int i = 0; i < 20'000; ++i)
        ASSERT_EQ(m.contains(i), i % 2 == 1);
    m.clear();
    EXPECT_EQ(m.size(), 0U);
    EXPECT_EQ(tw_runtime_count(rt.native()), 0U);
    m.set(1, 1);
    EXPECT_EQ(m.get(1), 1);
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
    const std::string_view a = "a";  // no implicit conversion to std::string
    EXPECT_EQ(m.get(a), 1);
    EXPECT_TRUE(m.contains(a));
    EXPECT_TRUE(m.touch(a));
    EXPECT_TRUE(m.erase(a));
}

// Overload resolution rejects a type that cannot form a key; the compiler reports no error inside the map.
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
    EXPECT_TRUE(m.contains("a"));   // is no hit
    EXPECT_FALSE(m.contains("b"));  // and no miss
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

TEST(ttl_map, refuses_options_out_of_range) {
    virtual_runtime rt;
    const auto made = [&rt](map::options o) { return error_of([&] { map(rt, std::move(o)); }); };
    EXPECT_EQ(made({.ttl = 1s}), std::error_code());
    EXPECT_EQ(made({}), std::errc::invalid_argument);
    EXPECT_EQ(made({.ttl = -1s}), std::errc::invalid_argument);
    EXPECT_EQ(made({.ttl = 1s, .jitter = -0.1}), std::errc::invalid_argument);
    EXPECT_EQ(made({.ttl = 1s, .jitter = 1.1}), std::errc::invalid_argument);
    EXPECT_EQ(made({.ttl = 1s, .jitter = std::numeric_limits<double>::quiet_NaN()}),
              std::errc::invalid_argument);
    EXPECT_EQ(made({.ttl = 1s, .shards = 0}), std::errc::invalid_argument);
    EXPECT_EQ(made({.ttl = 1s, .max_size = 3, .shards = 4}), std::errc::invalid_argument);
    EXPECT_EQ(error_of([] { map(static_cast<tw_runtime *>(nullptr), {.ttl = 1s}); }),
              std::errc::invalid_argument);
}

TEST(ttl_map, refuses_a_time_to_live_that_is_not_positive) {
    virtual_runtime rt;
    map m(rt, {.ttl = 1s});
    const auto answer = [](const std::string &) { return 1; };
    EXPECT_EQ(error_of([&] { m.set("a", 1, 0s); }), std::errc::invalid_argument);
    EXPECT_EQ(error_of([&] { m.set("a", 1, -1ns); }), std::errc::invalid_argument);
    EXPECT_EQ(error_of([&] { m.get_or_load("a", answer, 0ms); }), std::errc::invalid_argument);
    const std::chrono::duration<double> no_number(std::numeric_limits<double>::quiet_NaN());
    EXPECT_EQ(error_of([&] { m.set("a", 1, no_number); }), std::errc::invalid_argument);
    EXPECT_EQ(m.size(), 0U);
}

// --- times

TEST(ttl_map_times, less_than_a_nanosecond_is_one) {
    virtual_runtime rt;
    numbers m(rt, {.ttl = 2ns, .jitter = 1});
    for (int i = 0; i < 100; ++i)
        m.set(i, i);
    m.set(100, 100, std::chrono::duration<double, std::nano>(0.1));
    EXPECT_EQ(m.size(), 101U);
    for (int i = 0; i < 101; ++i)
        EXPECT_TRUE(m.contains(i));
    rt.advance(1ms);
    EXPECT_EQ(m.size(), 0U);
}

TEST(ttl_map_times, longer_than_time_itself_is_for_ever) {
    virtual_runtime rt;
    numbers m(rt, {.ttl = std::chrono::nanoseconds::max(), .jitter = 1});
    m.set(1, 1, std::chrono::hours::max());
    m.set(2, 2, std::chrono::duration<double>(std::numeric_limits<double>::infinity()));
    numbers exact(rt, {.ttl = std::chrono::nanoseconds::max()});
    exact.set(3, 3);
    rt.advance(24h * 365 * 100);
    EXPECT_TRUE(exact.contains(3));
    EXPECT_EQ(m.size() + exact.size(), m.stats().size + 1);
}

TEST(ttl_map_times, jitter_spreads_within_its_fraction) {
    virtual_runtime rt;
    numbers m(rt, {.ttl = 1000ms, .jitter = 0.2, .seed = 1});
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

// Leaps past an element's deadline and calls `what` in the first callback, while the map still holds the
// element.
template <class Map, class What> void while_it_is_late(virtual_runtime &rt, Map &m, What what) {
    tickwheel::pinned_timer first(rt, what);
    first.after(10ms);
    m.set(1, {}, 10ms);
    rt.leap(20ms);
}

TEST(ttl_map_times, an_expired_entry_is_gone_while_its_timer_is_late) {
    virtual_runtime rt;
    int reported = 0;
    numbers m(rt, {.ttl = 1s, .expiry = expiry::sliding, .on_expire = [&](int, int) { ++reported; }});
    while_it_is_late(rt, m, [&m] {
        EXPECT_EQ(m.size(), 1U);
        EXPECT_FALSE(m.get(1));
        EXPECT_FALSE(m.contains(1));
        EXPECT_FALSE(m.touch(1));
        EXPECT_FALSE(m.erase(1));
    });
    EXPECT_EQ(m.size(), 0U);
    EXPECT_EQ(reported, 1);
}

// On the wall clock, delays follow the steady clock.
TEST(ttl_map_times, setting_the_wall_clock_changes_nothing) {
    tickwheel::virtual_wall_runtime rt;
    numbers m(rt, {.ttl = 100ms});
    const auto set_wall = [&](auto to) { rt.set_wall(std::chrono::system_clock::time_point(to)); };
    m.set(1, 1);
    set_wall(24h);
    EXPECT_TRUE(m.contains(1));
    rt.advance(99ms);
    EXPECT_TRUE(m.contains(1));
    set_wall(1s);
    rt.advance(1ms);
    EXPECT_EQ(m.size(), 0U);
    tickwheel::pinned_timer first(rt, [&] {
        set_wall(0s);
        EXPECT_FALSE(m.contains(1));
    });
    first.after(10ms);
    m.set(1, 1, 10ms);
    rt.leap(20ms);
}

// --- reports: on_expire, on_evict and on_exception

struct reporting : testing::Test {
    virtual_runtime rt;
    strings expired, evicted;

    texts::options with(std::size_t max_size = 0) {
        return {.ttl = 10ms,
                .max_size = max_size,
                .on_expire = [this](int, const std::string &value) { expired.push_back(value); },
                .on_evict = [this](int, const std::string &value) { evicted.push_back(value); }};
    }
};

// The new entry replaces the one of its own key, or pushes out that of another key.
TEST_F(reporting, set_reports_an_expired_entry_that_it_removes_as_expired) {
    for (const int key : {1, 2}) {
        texts m(rt, with(1));
        expired.clear();
        while_it_is_late(rt, m, [&] {
            m.set(key, "new", 5ms);
            EXPECT_EQ(expired, strings{""});
        });
        EXPECT_EQ(expired, strings{""});
        rt.advance(5ms);
        EXPECT_EQ(expired, (strings{"", "new"}));
        EXPECT_TRUE(evicted.empty());
        EXPECT_EQ(m.stats().expired, 2U);
        EXPECT_EQ(m.stats().evicted, 0U);
    }
}

TEST(reports, on_expire_may_call_the_map) {
    virtual_runtime rt;
    std::optional<texts> m;
    int rounds = 0;
    m.emplace(rt, texts::options{.ttl = 10ms, .on_expire = [&](int key, std::string &value) {
                                     EXPECT_FALSE(m->contains(key));
                                     if (++rounds < 5)
                                         m->set(key, std::move(value));
                                 }});
    m->set(1, "again");
    rt.advance(30ms);
    EXPECT_EQ(m->get(1), "again");
    rt.advance(1s);
    EXPECT_EQ(rounds, 5);
    EXPECT_EQ(m->size(), 0U);
}

TEST(reports, on_evict_may_call_the_map) {
    virtual_runtime rt;
    std::optional<texts> m;
    strings spilt;
    m.emplace(rt, texts::options{.ttl = 1s, .max_size = 2, .on_evict = [&](int key, std::string &value) {
                                     EXPECT_FALSE(m->contains(key));
                                     EXPECT_EQ(m->size(), 2U);
                                     spilt.push_back(value);
                                 }});
    for (int i = 0; i < 4; ++i)
        m->set(i, std::to_string(i));
    EXPECT_EQ(spilt, (strings{"0", "1"}));
}

TEST(reports, what_callbacks_throw_goes_to_on_exception_and_the_map_goes_on) {
    virtual_runtime rt;
    strings heard;
    const auto fail = [](int, const std::string &value) { throw std::runtime_error(value); };
    texts m(rt, {.ttl = 10ms,
                 .max_size = 2,
                 .on_expire = fail,
                 .on_evict = fail,
                 .on_exception = [&heard](std::exception_ptr error) {
                     try {
                         std::rethrow_exception(error);
                     } catch (const std::runtime_error &e) {
                         heard.push_back(e.what());
                     }
                 }});
    m.set(1, "evicted");
    m.set(2, "a");
    m.set(3, "b");
    rt.advance(10ms);
    EXPECT_EQ(heard, (strings{"evicted", "a", "b"}));
    EXPECT_EQ(m.size(), 0U);
}

TEST(reports, without_on_exception_stderr_hears_of_it) {
    virtual_runtime rt;
    texts m(rt, {.ttl = 10ms, .on_expire = [](int key, const std::string &value) {
                     if (key == 1)
                         throw std::runtime_error(value);
                     throw key;
                 }});
    m.set(1, "no disk");
    m.set(2, "");
    testing::internal::CaptureStderr();
    rt.advance(10ms);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "tickwheel: a callback has thrown: no disk\n"
                                                      "tickwheel: a callback has thrown something unknown\n");
}

// --- get_or_load: a single loader for all callers that miss a key at once

struct loading : testing::Test {
    virtual_runtime rt;
    map m{rt, {.ttl = 100ms}};
    std::atomic<int> runs{0};

    int load(int value) {
        return m.get_or_load("a", [&](const std::string &) { return ++runs, value; });
    }
};

TEST_F(loading, gives_the_loader_its_key_and_holds_no_lock) {
    const int value = m.get_or_load("a", [this](const std::string &key) {
        EXPECT_EQ(key, "a");
        m.set("b", 2);
        return m.get_or_load("c", [](const std::string &) { return 3; }) + *m.get("b");
    });
    EXPECT_EQ(value, 5);
    EXPECT_EQ(m.size(), 3U);
}

TEST_F(loading, an_exception_leaves_nothing_behind) {
    EXPECT_THROW(m.get_or_load("a", [](const std::string &) -> int { throw std::runtime_error("down"); }),
                 std::runtime_error);
    EXPECT_EQ(m.size(), 0U);
    EXPECT_EQ(load(1), 1);
}

TEST_F(loading, a_loader_that_asks_for_its_own_key_is_told) {
    const auto again = [this](const std::string &) { return load(1); };
    EXPECT_EQ(error_of([&] { m.get_or_load("a", again); }), std::errc::resource_deadlock_would_occur);
    EXPECT_EQ(load(2), 2);
}

TEST_F(loading, what_is_set_meanwhile_stays) {
    const int value = m.get_or_load("a", [this](const std::string &) {
        m.set("a", 10);
        return 1;
    });
    EXPECT_EQ(value, 1);
    EXPECT_EQ(m.get("a"), 10);
}

TEST_F(loading, what_is_erased_meanwhile_is_not_kept) {
    for (const bool clear : {false, true}) {
        const int value = m.get_or_load("a", [&](const std::string &) {
            clear ? m.clear() : static_cast<void>(m.erase("a"));
            return 1;
        });
        EXPECT_EQ(value, 1);
        EXPECT_FALSE(m.contains("a"));
    }
}

TEST_F(loading, another_loader_may_run_once_the_key_was_erased) {
    const int value = m.get_or_load("a", [this](const std::string &) {
        m.erase("a");
        EXPECT_EQ(load(2), 2);
        return 1;
    });
    EXPECT_EQ(value, 1);
    EXPECT_EQ(m.get("a"), 2);
}

constexpr unsigned callers = 6;

std::uint64_t misses_before;

// All callers miss before the only loader ends.
template <class Caller> void concurrently(map &m, Caller caller) {
    std::vector<std::thread> threads;
    misses_before = m.stats().misses;
    for (unsigned i = 0; i < callers; ++i)
        threads.emplace_back(caller);
    for (std::thread &each : threads)
        each.join();
    EXPECT_EQ(m.stats().misses - misses_before, callers);
}

void wait_until_all_missed(map &m) {
    while (m.stats().misses - misses_before < callers)
        std::this_thread::yield();
}

// Also if another call erases the key meanwhile.
TEST_F(loading, runs_once_for_concurrent_misses) {
    for (const bool is_erased : {false, true}) {
        std::atomic<int> right{0};
        runs = 0;
        m.clear();
        concurrently(m, [&] {
            right += m.get_or_load("a", [&](const std::string &) {
                wait_until_all_missed(m);
                if (is_erased)
                    m.erase("a");
                return ++runs;
            }) == 1;
        });
        EXPECT_EQ(runs, 1);
        EXPECT_EQ(right, callers);
        EXPECT_EQ(m.contains("a"), !is_erased);
    }
}

TEST_F(loading, all_who_wait_get_the_exception) {
    std::atomic<int> heard{0};
    concurrently(m, [&] {
        try {
            m.get_or_load("a", [&](const std::string &) -> int {
                wait_until_all_missed(m);
                ++runs;
                throw std::runtime_error("down");
            });
        } catch (const std::runtime_error &) {
            ++heard;
        }
    });
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(heard, callers);
    EXPECT_EQ(m.stats().load_failures, 1U);
    EXPECT_EQ(m.size(), 0U);
}

TEST_F(loading, different_keys_load_at_once) {
    std::atomic<unsigned> inside{0};
    std::atomic<int> next{0};
    concurrently(m, [&] {
        m.get_or_load(std::to_string(next++), [&](const std::string &) {
            ++inside;
            while (inside < callers)
                std::this_thread::yield();
            return 1;
        });
    });
    EXPECT_EQ(m.size(), static_cast<std::size_t>(callers));
}

}  // namespace

// get_or_load: a single loader for all callers that miss a key at once.
#include <tickwheel/ttl_map.hpp>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "runtimes.hpp"

namespace {

using map = tickwheel::ttl_map<std::string, int>;

struct loading : testing::Test {
    virtual_runtime rt;
    map m{rt, {.ttl = 100ms}};
    std::atomic<int> runs{0};

    int load(int value) {
        return m.get_or_load("a", [&](const std::string &) { return ++runs, value; });
    }
};

TEST_F(loading, runs_the_loader_on_a_miss_only) {
    EXPECT_EQ(load(1), 1);
    EXPECT_EQ(load(2), 1);
    EXPECT_EQ(runs, 1);
    rt.advance(100ms);
    EXPECT_EQ(load(3), 3);
}

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
    try {
        m.get_or_load("a", again);
        FAIL();
    } catch (const std::system_error &e) {
        EXPECT_EQ(e.code(), std::errc::resource_deadlock_would_occur);
    }
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

constexpr int callers = 6;

// All callers miss before the only loader ends.
template <class Caller> void concurrently(map &m, Caller caller) {
    std::vector<std::thread> threads;
    for (int i = 0; i < callers; ++i)
        threads.emplace_back(caller);
    for (std::thread &each : threads)
        each.join();
    EXPECT_EQ(m.stats().misses, static_cast<std::uint64_t>(callers));
}

void wait_until_all_missed(map &m) {
    while (m.stats().misses < callers)
        std::this_thread::yield();
}

TEST_F(loading, runs_once_for_concurrent_misses) {
    std::atomic<int> right{0};
    concurrently(m, [&] {
        right += m.get_or_load("a", [&](const std::string &) {
            wait_until_all_missed(m);
            return ++runs;
        }) == 1;
    });
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(right, callers);
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

TEST_F(loading, those_who_wait_get_what_was_loaded_though_the_key_was_erased) {
    std::atomic<int> right{0};
    concurrently(m, [&] {
        right += m.get_or_load("a", [&](const std::string &) {
            wait_until_all_missed(m);
            m.erase("a");
            return ++runs;
        }) == 1;
    });
    EXPECT_EQ(right, callers);
    EXPECT_FALSE(m.contains("a"));
}

TEST_F(loading, different_keys_load_at_once) {
    std::atomic<int> inside{0};
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

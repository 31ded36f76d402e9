// An element's callback is in progress (the wheel has released the node) while another thread
// holds the lock and removes that element. Keys are compared under the lock, so a comparison that
// waits creates this situation every time.
#include <tickwheel/ttl_map.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "runtimes.hpp"

namespace {

struct one_bucket {
    std::size_t operator()(int) const { return 0; }
};

struct watched_equal {
    std::shared_ptr<std::function<void()>> meanwhile = std::make_shared<std::function<void()>>();

    bool operator()(int a, int b) const {
        if (*meanwhile)
            std::exchange(*meanwhile, nullptr)();
        return a == b;
    }
};

using map = tickwheel::ttl_map<int, std::string, one_bucket, watched_equal>;

struct in_flight : testing::Test {
    virtual_runtime rt;
    watched_equal equal;
    std::vector<std::string> expired, evicted;
    std::optional<map> m;
    std::thread clock;

    void SetUp() override {
        m.emplace(
            rt,
            map::options{.ttl = 10ms,
                         .max_size = 1,
                         .on_expire = [this](int, const std::string &value) { expired.push_back(value); },
                         .on_evict = [this](int, const std::string &value) { evicted.push_back(value); }},
            one_bucket{}, equal);
        m->set(1, "old");
        *equal.meanwhile = [this] {
            clock = std::thread([this] { rt.advance(10ms); });
            while (tw_runtime_count(rt.native()) != 0)
                std::this_thread::yield();
        };
    }

    void after(std::vector<std::string> reported) {
        clock.join();
        EXPECT_EQ(expired, reported);
        EXPECT_TRUE(evicted.empty());
        EXPECT_EQ(m->stats().expired, reported.size());
    }
};

TEST_F(in_flight, get_finds_nothing) {
    EXPECT_FALSE(m->get(1));
    after({"old"});
}

TEST_F(in_flight, erase_leaves_it_to_the_callback) {
    EXPECT_FALSE(m->erase(1));
    after({"old"});
    EXPECT_EQ(m->size(), 0U);
}

TEST_F(in_flight, touch_does_not_bring_it_back) {
    EXPECT_FALSE(m->touch(1));
    after({"old"});
}

TEST_F(in_flight, set_replaces_it) {
    m->set(1, "new");
    after({"old"});
    EXPECT_EQ(m->get(1), "new");
}

TEST_F(in_flight, another_key_pushes_it_out) {
    m->set(2, "new");
    after({"old"});
    EXPECT_EQ(m->get(2), "new");
    EXPECT_EQ(m->size(), 1U);
}

TEST_F(in_flight, loading_replaces_it) {
    EXPECT_EQ(m->get_or_load(1, [](int) { return "new"; }), "new");
    after({"old"});
    EXPECT_EQ(m->get(1), "new");
}

// The destructor returns only when a running callback has ended.
TEST(races, destructor_waits_for_the_callback) {
    using plain_map = tickwheel::ttl_map<int, int>;
    virtual_runtime rt;
    std::atomic<bool> entered = false, destroying = false, ended = false;
    plain_map *m = nullptr;
    const auto on_expire = [&](int, int) {
        entered = true;
        while (!destroying)
            std::this_thread::yield();
        for (int i = 0; i < 10'000; ++i)  // time for a destructor that does not wait
            std::this_thread::yield();
        m->set(2, 2);
        ended = true;
    };
    m = new plain_map(rt, {.ttl = 10ms, .on_expire = on_expire});
    m->set(1, 1);
    std::thread clock([&] { rt.advance(10ms); });
    while (!entered)
        std::this_thread::yield();
    destroying = true;
    delete m;
    EXPECT_TRUE(ended);
    EXPECT_EQ(tw_runtime_count(rt.native()), 0U);
    clock.join();
}

}  // namespace

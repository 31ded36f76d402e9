// Threads that race for the map and its elements. Sanitizers find late accesses.
#include <tickwheel/ttl_map.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../support.hpp"
#include "support/random.h"

namespace {

using tickwheel::virtual_runtime;

// --- an element's callback is in progress (the wheel has released the node) while another thread holds the
// lock and removes that element. The map compares keys under the lock, so a comparison that waits creates
// this situation every time.

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

using watched_map = tickwheel::ttl_map<int, std::string, one_bucket, watched_equal>;

struct in_flight : testing::Test {
    virtual_runtime rt;
    watched_equal equal;
    std::vector<std::string> expired, evicted;
    std::optional<watched_map> m;
    std::thread clock;

    void SetUp() override {
        m.emplace(rt,
                  watched_map::options{
                      .ttl = 10ms,
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
        for (int i = 0; i < 10'000; ++i)  // time in which a destructor that did not wait would return
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

// --- several threads make every call on a few keys while these expire: the map reports each value at most
// once, and intact

constexpr int keys = 40, threads = 3, steps = 8000, rounds = 6;

std::atomic<int> living{0};

// Knows its key, and counts its instances.
class counted {
  public:
    explicit counted(int key, std::size_t number) : key_(key), number_(number) { ++living; }
    counted(const counted &other) noexcept : key_(other.key_), number_(other.number_) { ++living; }
    counted &operator=(const counted &) noexcept = default;
    ~counted() { --living; }

    int key() const { return key_; }
    std::size_t number() const { return number_; }

  private:
    int key_;
    std::size_t number_;
};

using map = tickwheel::ttl_map<int, counted>;

class hammer {
  public:
    hammer(tickwheel::runtime &rt, std::size_t most, tickwheel::expiry expiry, std::size_t shards)
        : reports_(threads * steps * 2) {
        m_.emplace(rt,
                   map::options{.ttl = 1ms,
                                .jitter = 0.5,
                                .max_size = most,
                                .expiry = expiry,
                                .shards = shards,
                                .on_expire = [this](int key, const counted &value) { on_expire(key, value); },
                                .on_evict = [this](int key, const counted &value) { note(key, value); }});
    }

    void run() {
        std::vector<std::thread> all;
        for (int i = 0; i < threads; ++i)
            all.emplace_back([this, i] { work(static_cast<std::uint64_t>(i)); });
        for (std::thread &each : all)
            each.join();
        check_counts();
        m_.reset();  // while elements expire
        for (const auto &each : reports_)
            EXPECT_LE(each, 1);
    }

  private:
    counted fresh(int key) { return counted(key, next_++ % reports_.size()); }

    void note(int key, const counted &value) {
        EXPECT_EQ(key, value.key());
        ++reports_[value.number()];
    }

    void on_expire(int key, const counted &value) {
        note(key, value);
        ++expired_;
        if (value.number() % 8 == 0 && next_ < reports_.size() / 2)
            m_->set(key, fresh(key));
    }

    void work(std::uint64_t seed) {
        for (int i = 0; i < steps; ++i)
            step(static_cast<int>(random_below(&seed, keys)), random_below(&seed, 12),
                 random_below(&seed, 2000));
    }

    void step(int key, std::uint64_t what, std::uint64_t us) {
        switch (what) {
        case 0:
            m_->erase(key);
            break;
        case 1:
            m_->touch(key);
            break;
        case 2:
            us < 20 ? m_->clear() : static_cast<void>(m_->contains(key));
            break;
        case 3:
        case 4:
            load(key, us < 500);
            break;
        case 5:
        case 6:
        case 7:
            m_->set(key, fresh(key), std::chrono::microseconds(us + 1));
            break;
        default:
            if (const std::optional<counted> found = m_->get(key)) {
                EXPECT_EQ(found->key(), key);
            }
        }
    }

    void load(int key, bool fails) {
        try {
            const counted value = m_->get_or_load(
                key, [&](int k) { return fails ? throw std::runtime_error("down") : fresh(k); }, 300us);
            EXPECT_EQ(value.key(), key);
        } catch (const std::runtime_error &) {
        }
    }

    // The map counts an expiry before it reports it, so one report may still be in progress.
    void check_counts() {
        const std::uint64_t counted_before = m_->stats().expired;
        while (expired_ < counted_before)
            std::this_thread::yield();
    }

    std::vector<std::atomic<int>> reports_;  // for each value
    std::atomic<std::size_t> next_{0};
    std::atomic<std::uint64_t> expired_{0};
    std::optional<map> m_;
};

void play(std::size_t most, tickwheel::expiry expiry, std::size_t shards) {
    tickwheel::runtime rt({.tick = 50us});
    for (int i = 0; i < rounds && !testing::Test::HasFailure(); ++i) {
        hammer(rt, most, expiry, shards).run();
        EXPECT_EQ(living, 0);
        EXPECT_EQ(tw_runtime_count(rt.native()), 0U);
    }
}

TEST(ttl_map_hammer, fixed) { play(0, tickwheel::expiry::fixed, 1); }
TEST(ttl_map_hammer, sliding) { play(0, tickwheel::expiry::sliding, 1); }
TEST(ttl_map_hammer, bounded) { play(16, tickwheel::expiry::fixed, 1); }
TEST(ttl_map_hammer, sharded) { play(16, tickwheel::expiry::sliding, 4); }

}  // namespace

// Compares random histories on virtual time with a simple oracle: a list in order of use.
#include <tickwheel/ttl_map.hpp>

#include <algorithm>
#include <list>
#include <optional>
#include <vector>

#include "../support.hpp"
#include "support/environment.h"
#include "support/random.h"

namespace {

using map = tickwheel::ttl_map<int, int>;
using tickwheel::expiry;

constexpr int keys = 24;

class oracle {
  public:
    struct entry {
        int key, value;
        int ttl, deadline;  // ms
    };
    std::vector<int> expired, evicted;  // values

    oracle(std::size_t most, bool sliding) : most_(most), sliding_(sliding) {}

    void set(int key, int value, int ttl) {
        if (erase(key); most_ != 0 && entries_.size() == most_) {
            evicted.push_back(entries_.back().value);
            entries_.pop_back();
        }
        entries_.push_front({key, value, ttl, now_ + ttl});
    }
    const entry *find(int key) const {
        const auto at = std::ranges::find(entries_, key, &entry::key);
        return at == entries_.end() ? nullptr : &*at;
    }
    const entry *use(int key, bool renewing) {
        const auto at = std::ranges::find(entries_, key, &entry::key);
        if (at == entries_.end())
            return nullptr;
        if (renewing)
            at->deadline = now_ + at->ttl;
        entries_.splice(entries_.begin(), entries_, at);
        return &entries_.front();
    }
    const entry *get(int key) { return use(key, sliding_); }
    bool erase(int key) {
        return std::erase_if(entries_, [key](const entry &e) { return e.key == key; }) != 0;
    }
    void clear() { entries_.clear(); }
    void advance(int by) {
        now_ += by;
        for (const entry &e : entries_)
            if (e.deadline <= now_)
                expired.push_back(e.value);
        std::erase_if(entries_, [this](const entry &e) { return e.deadline <= now_; });
    }
    std::size_t size() const { return entries_.size(); }

  private:
    std::list<entry> entries_;  // most recently used first
    int now_ = 0;
    std::size_t most_;
    bool sliding_;
};

class history {
  public:
    history(std::uint64_t seed, std::size_t most, bool sliding)
        : seed_(seed), expected_(most, sliding),
          m_(rt_, {.ttl = 1s,
                   .max_size = most,
                   .expiry = sliding ? expiry::sliding : expiry::fixed,
                   .on_expire = [this](int, int value) { expired_.push_back(value); },
                   .on_evict = [this](int, int value) { evicted_.push_back(value); }}) {}

    void run(int steps) {
        for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) {
            step(i);
            compare();
        }
    }

  private:
    int below(int bound) { return static_cast<int>(random_below(&seed_, static_cast<std::uint64_t>(bound))); }
    int any_ttl() { return below(4) == 0 ? 1 + below(3000) : 1 + below(40); }

    void step(int value) {
        const int key = below(keys);
        switch (below(16)) {
        case 0:
            return advance(below(30));
        case 1:
            return erase(key);
        case 2:
            return touch(key);
        case 3:
            return load(key, value, any_ttl());
        case 4:
            return below(40) == 0 ? clear() : advance(below(3));
        case 5:
            return below(20) == 0 ? advance(below(4000)) : advance(1);
        default:
            return value % 2 == 0 ? get(key) : set(key, value, any_ttl());
        }
    }

    void advance(int ms) {
        rt_.advance(std::chrono::milliseconds(ms));
        expected_.advance(ms);
    }
    void erase(int key) { EXPECT_EQ(m_.erase(key), expected_.erase(key)); }
    void touch(int key) { EXPECT_EQ(m_.touch(key), expected_.use(key, true) != nullptr); }
    void clear() {
        m_.clear();
        expected_.clear();
    }
    void set(int key, int value, int ttl) {
        m_.set(key, value, std::chrono::milliseconds(ttl));
        expected_.set(key, value, ttl);
    }
    void get(int key) {
        const oracle::entry *e = expected_.get(key);
        ++lookups_;
        EXPECT_EQ(m_.get(key), e != nullptr ? std::optional(e->value) : std::nullopt);
    }
    void load(int key, int value, int ttl) {
        ++lookups_;
        const int got = m_.get_or_load(
            key, [value](int) { return value; }, std::chrono::milliseconds(ttl));
        if (expected_.get(key) == nullptr)
            expected_.set(key, value, ttl);
        EXPECT_EQ(got, expected_.find(key)->value);
    }

    void compare() {
        EXPECT_EQ(m_.size(), expected_.size());
        EXPECT_EQ(tw_runtime_count(rt_.native()), expected_.size());
        for (int key = 0; key < keys; ++key)
            EXPECT_EQ(m_.contains(key), expected_.find(key) != nullptr) << "key " << key;
        std::ranges::sort(expired_);  // one advance may expire them in any order
        std::ranges::sort(expected_.expired);
        EXPECT_EQ(expired_, expected_.expired);
        EXPECT_EQ(evicted_, expected_.evicted);
        all_expired_ += expired_.size();
        all_evicted_ += evicted_.size();
        const tickwheel::ttl_map_stats stats = m_.stats();
        EXPECT_EQ(stats.expired, all_expired_);
        EXPECT_EQ(stats.evicted, all_evicted_);
        EXPECT_EQ(stats.hits + stats.misses, lookups_);
        expired_.clear();
        evicted_.clear();
        expected_.expired.clear();
        expected_.evicted.clear();
    }

    std::uint64_t seed_;
    tickwheel::virtual_runtime rt_;
    std::vector<int> expired_, evicted_;
    std::uint64_t all_expired_ = 0, all_evicted_ = 0, lookups_ = 0;
    oracle expected_;
    map m_;
};

void play(std::size_t most, bool sliding) {
    const std::uint64_t first = seed_of_run();
    for (std::uint64_t seed = first; seed < first + 20 && !testing::Test::HasFailure(); ++seed) {
        SCOPED_TRACE(testing::Message() << "TW_SEED=" << seed);
        history(seed, most, sliding).run(1000);
    }
}

TEST(ttl_map_model, fixed) { play(0, false); }
TEST(ttl_map_model, sliding) { play(0, true); }
TEST(ttl_map_model, fixed_and_bounded) { play(10, false); }
TEST(ttl_map_model, sliding_and_bounded) { play(10, true); }
TEST(ttl_map_model, bounded_to_one) { play(1, false); }

}  // namespace

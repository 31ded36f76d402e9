// P10: which operations of the C++ interface allocate and which do not; and the expiring map when every
// allocation of every call fails in turn. The test replaces the heap.
#include <tickwheel/ttl_map.hpp>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <optional>
#include <stop_token>
#include <string>

#include "support.hpp"

extern "C" {
#include "support/counted_heap.h"
}

static unsigned news = 0;
static thread_local int until_failure = -1;  // allocations of this thread before one fails; -1: none fails

// Allocates by malloc and frees by free, whose calls counted_heap.h counts.
static void *allocate(std::size_t size, std::size_t alignment) {
    ++news;
    if (until_failure == 0)
        throw std::bad_alloc();
    if (until_failure > 0)
        --until_failure;
    const std::size_t whole = (size + alignment - 1) / alignment * alignment;
    void *const memory =
        alignment > alignof(std::max_align_t) ? std::aligned_alloc(alignment, whole) : std::malloc(size);
    return memory != nullptr ? memory : throw std::bad_alloc();
}

// Not inlined, because gcc 12 would report a mismatched pair. The operators for arrays are here, too, because
// a sanitizer would supply its own.
#define NOT_INLINED [[gnu::noinline]]
NOT_INLINED void *operator new(std::size_t size) { return allocate(size, 1); }
NOT_INLINED void *operator new(std::size_t size, std::align_val_t alignment) {
    return allocate(size, static_cast<std::size_t>(alignment));
}
NOT_INLINED void operator delete(void *memory) noexcept { std::free(memory); }
NOT_INLINED void operator delete(void *memory, std::size_t) noexcept { std::free(memory); }
NOT_INLINED void operator delete(void *memory, std::align_val_t) noexcept { std::free(memory); }
NOT_INLINED void operator delete(void *memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void *operator new[](std::size_t size) { return operator new(size); }
void *operator new[](std::size_t size, std::align_val_t alignment) { return operator new(size, alignment); }
void operator delete[](void *memory) noexcept { operator delete(memory); }
void operator delete[](void *memory, std::size_t) noexcept { operator delete(memory); }
void operator delete[](void *memory, std::align_val_t) noexcept { operator delete(memory); }
void operator delete[](void *memory, std::size_t, std::align_val_t) noexcept { operator delete(memory); }

namespace {

using tickwheel::inline_size;
using tickwheel::virtual_runtime;

// Returns how many calls to the heap `what` makes.
template <class What> unsigned heap_calls(What what) {
    const unsigned before = allocations;
    what();
    return allocations - before;
}

// A callable of the largest size that needs no allocation, and one that is a byte larger.
struct full {
    int *fired;
    std::array<std::byte, inline_size - sizeof(int *)> rest{};
    void operator()() const { ++*fired; }
};
struct overfull {
    int *fired;
    std::array<std::byte, inline_size - sizeof(int *) + 1> rest{};
    void operator()() const { ++*fired; }
};
static_assert(sizeof(full) == inline_size);

class Allocation : public testing::Test {
  protected:
    virtual_runtime rt{{.capacity = 16}};
    int fired = 0;
};

int *volatile kept;  // keeps the compiler from removing the allocation

TEST(Heap, IsCounted) {
    const unsigned calls = heap_calls([] {
        kept = new int(1);
        delete kept;
    });
    EXPECT_EQ(calls, 2U);
}

TEST_F(Allocation, TimersWithSmallCallablesNeedNone) {
    const unsigned calls = heap_calls([&] {
        for (int i = 0; i < 100; ++i) {
            rt.spawn(1s, full{&fired});
            rt.spawn(1s, [this] { ++fired; });
            auto after = rt.after(2s, full{&fired});
            const auto at = rt.at(rt.now() + 1s, full{&fired});
            const auto every = rt.every(1s, full{&fired}, {.fires = 2});
            const auto next = rt.schedule([](auto due) { return due + 1s; }, [this] { ++fired; });
            after.move(1s);
            rt.advance(1s);
        }
    });
    EXPECT_EQ(fired, 600);
    EXPECT_EQ(calls, 0U);
}

TEST_F(Allocation, TimersWithLargeCallablesNeedOne) {
    const unsigned before = news;
    rt.spawn(1s, overfull{&fired});
    rt.advance(1s);
    EXPECT_EQ(fired, 1);
    EXPECT_EQ(news - before, 1U);
}

TEST_F(Allocation, PinnedTimersNeedNoneWhateverTheirSize) {
    const unsigned calls = heap_calls([&] {
        tickwheel::pinned_timer t(rt, overfull{&fired});
        for (int i = 0; i < 100; ++i) {
            t.after(5s);
            t.postpone(8s);
            t.move(1s);
            rt.advance(1s);
        }
    });
    EXPECT_EQ(fired, 100);
    EXPECT_EQ(calls, 0U);
}

job sleep_often(virtual_runtime &rt, std::stop_token token, int &woke) {
    for (;;) {
        co_await rt.sleep_for(1s);
        co_await rt.sleep_for(1s, token);
        ++woke;
    }
}

TEST_F(Allocation, SleepsNeedNone) {
    const std::stop_source stop;
    const job sleeper = sleep_often(rt, stop.get_token(), fired);
    EXPECT_EQ(heap_calls([&] { rt.advance(200s); }), 0U);
    EXPECT_EQ(fired, 100);
}

TEST(AllocationWithoutCapacity, IsRareAsTheirNumberGrows) {
    virtual_runtime rt;
    const auto spawn_many = [&] {
        for (int i = 0; i < 10'000; ++i)
            rt.spawn(1s, [] {});
    };
    EXPECT_LT(heap_calls(spawn_many), 1'000U);
    rt.advance(1s);
    EXPECT_EQ(heap_calls(spawn_many), 0U);  // freed records are reused
}

// --- the expiring map: a call that gets no memory throws std::bad_alloc and leaves the map unchanged

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

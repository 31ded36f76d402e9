// P10: which operations of the C++ interface allocate and which do not. The test replaces the
// heap.
#include <array>
#include <cstdlib>
#include <new>
#include <optional>
#include <stop_token>

#include "support.hpp"

extern "C" {
#include "support/counted_heap.h"
}

// They use malloc and free, whose calls are counted.
static unsigned news = 0;

// Not inlined: gcc 12 reports a mismatched pair otherwise.
[[gnu::noinline]] void *operator new(std::size_t size) {
    ++news;
    if (void *const memory = std::malloc(size))
        return memory;
    throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void *memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void *memory, std::size_t) noexcept { std::free(memory); }

namespace {

using tickwheel::inline_size;
using tickwheel::virtual_runtime;

// Returns how many calls to the heap `what` makes.
template <class What> unsigned heap_calls(What what) {
    const unsigned before = allocations;
    what();
    return allocations - before;
}

// A callable of the largest size that needs no allocation, and one with a byte more.
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

}  // namespace

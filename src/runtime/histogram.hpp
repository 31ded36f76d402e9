// Histograms of durations, with two buckets for each power of two. Any thread may read.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

#include <tickwheel/observe.h>

namespace tickwheel::runtime {

// Who writes a counter: one thread at a time, which needs no exchange, or any thread.
struct by_one_thread {
    static void add(std::atomic<std::uint64_t> &counter, std::uint64_t more) {
        counter.store(counter.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
    }
    // Stops at INT64_MAX: virtual time can be late by centuries.
    static void add(std::atomic<std::int64_t> &counter, std::int64_t more) {
        std::int64_t sum = 0;
        if (__builtin_add_overflow(counter.load(std::memory_order_relaxed), more, &sum)) [[unlikely]]
            sum = INT64_MAX;
        counter.store(sum, std::memory_order_relaxed);
    }
    static void raise(std::atomic<std::int64_t> &largest, std::int64_t to) {
        if (to > largest.load(std::memory_order_relaxed))
            largest.store(to, std::memory_order_relaxed);
    }
};
struct by_any_thread {
    template <class Number> static void add(std::atomic<Number> &counter, Number more) {
        counter.fetch_add(more, std::memory_order_relaxed);
    }
    static void raise(std::atomic<std::int64_t> &largest, std::int64_t to) {
        std::int64_t known = largest.load(std::memory_order_relaxed);
        while (to > known && !largest.compare_exchange_weak(known, to, std::memory_order_relaxed)) {
        }
    }
};

// Bucket 0 holds durations below 2^9 ns. Above that, a duration's two highest bits select its bucket.
inline constexpr unsigned lowest_width = 9;

constexpr unsigned bucket_of(std::int64_t ns) {
    const auto width = static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(ns)));
    if (width <= lowest_width)
        return 0;
    const unsigned bucket =
        (width - lowest_width - 1) * 2 + 1 + (static_cast<std::uint64_t>(ns) >> (width - 2) & 1);
    return bucket < TW_BUCKETS ? bucket : TW_BUCKETS - 1;
}

// The least duration that is too long for the bucket.
constexpr std::int64_t limit_of_bucket(unsigned bucket) {
    if (bucket >= TW_BUCKETS - 1)
        return INT64_MAX;
    const std::int64_t power = std::int64_t{1} << lowest_width << bucket / 2;
    return bucket % 2 == 0 ? power : power + power / 2;
}
static_assert(bucket_of(0) == 0 && bucket_of(511) == 0 && bucket_of(512) == 1 && bucket_of(767) == 1 &&
              bucket_of(768) == 2 && bucket_of(1023) == 2 && bucket_of(1024) == 3);
static_assert(limit_of_bucket(0) == 512 && limit_of_bucket(1) == 768 && limit_of_bucket(2) == 1024);

template <class Writing> struct buckets {
    std::atomic<std::uint64_t> counts[TW_BUCKETS];

    void add(std::int64_t ns, unsigned times) { Writing::add(counts[bucket_of(ns)], std::uint64_t{times}); }

    void add_to(tw_histogram &total) const {
        for (unsigned bucket = 0; bucket < TW_BUCKETS; ++bucket)
            total.counts[bucket] += counts[bucket].load(std::memory_order_relaxed);
    }
};

template <class Writing> struct histogram : buckets<Writing> {
    std::atomic<std::int64_t> sum, max;

    void add(std::int64_t ns, unsigned times) {
        buckets<Writing>::add(ns, times);
        Writing::add(sum, ns > INT64_MAX / times ? INT64_MAX : ns * times);
        Writing::raise(max, ns);
    }

    void add_to(tw_histogram &total) const {
        buckets<Writing>::add_to(total);
        total.sum_ns += sum.load(std::memory_order_relaxed);
        const std::int64_t largest = max.load(std::memory_order_relaxed);
        total.max_ns = largest > total.max_ns ? largest : total.max_ns;
    }
};

}  // namespace tickwheel::runtime

// The last fires of a runtime, in memory allocated once. Any number of threads may write and read, and none
// waits for another.
//
// Fire n goes into place n % size. The place's `turn` is 2 n + 1 while a thread writes fire n, and 2 n + 2
// when the fire is complete. A reader skips a fire if it finds another turn before or after copying the
// place. A writer drops its fire if a writer of an earlier round still uses the place.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tickwheel::observe {

// One recorded fire.
struct kept_fire {
    std::uint64_t begun, ended;  // readings of the stopwatch
    std::int64_t due, late;      // `late` is negative if unknown
    std::uint64_t timer;         // the address of a node, or a handle; 0: neither
    std::uint64_t function;
    std::uint64_t tags;  // see fire_tags in trace.hpp
};

class trace_ring {
  public:
    static constexpr std::size_t words = sizeof(kept_fire) / sizeof(std::uint64_t);

    // A cache line, initially all 0.
    struct alignas(64) place {
        std::atomic<std::uint64_t> turn;
        std::atomic<std::uint64_t> fire[words];
    };
    static_assert(sizeof(place) == 64);

    // `size` is a power of two.
    void use(place *places, std::uint64_t size) {
        places_ = places;
        size_ = size;
    }
    std::uint64_t size() const { return size_; }

    // Forgets all fires. Threads that are recording a fire may still add it.
    void forget() { first_.store(written(), std::memory_order_relaxed); }

    // In the child of a fork, where the writing threads do not exist: forgets all fires, and lets writers
    // use the places that those threads left unfinished.
    void begin_in_child() {
        inherited_.store(written(), std::memory_order_relaxed);
        forget();
    }

    // The number of fires ever written, and the number of the oldest fire that may still be there.
    std::uint64_t written() const { return next_.load(std::memory_order_acquire); }
    std::uint64_t oldest() const {
        const std::uint64_t end = written(), first = first_.load(std::memory_order_relaxed);
        return end > size_ && end - size_ > first ? end - size_ : first;
    }
    std::uint64_t forgotten() const { return first_.load(std::memory_order_relaxed); }

    void put(const kept_fire &fire) {
        const std::uint64_t number = next_.fetch_add(1, std::memory_order_acq_rel);
        place &at = places_[number & (size_ - 1)];
        std::uint64_t turn = at.turn.load(std::memory_order_relaxed);
        const std::uint64_t mine = 2 * number + 1;
        const bool is_in_use = turn % 2 != 0 && turn / 2 >= inherited_.load(std::memory_order_relaxed);
        if (is_in_use || turn > mine ||
            !at.turn.compare_exchange_strong(turn, mine, std::memory_order_acq_rel))
            return;
        std::uint64_t copy[words];
        __builtin_memcpy(copy, &fire, sizeof fire);
        for (std::size_t i = 0; i < words; ++i)
            at.fire[i].store(copy[i], std::memory_order_release);  // not before `turn` is odd
        at.turn.store(mine + 1, std::memory_order_release);
    }

    // Copies a fire. Returns false if the ring does not have it (any more).
    bool get(std::uint64_t number, kept_fire &fire) const {
        const place &at = places_[number & (size_ - 1)];
        const std::uint64_t whole = 2 * number + 2;
        if (at.turn.load(std::memory_order_acquire) != whole)
            return false;
        std::uint64_t copy[words];
        for (std::size_t i = 0; i < words; ++i)
            copy[i] = at.fire[i].load(std::memory_order_acquire);  // before `turn` is read again
        if (at.turn.load(std::memory_order_relaxed) != whole)
            return false;
        __builtin_memcpy(&fire, copy, sizeof fire);
        return true;
    }

  private:
    place *places_;
    std::uint64_t size_;
    std::atomic<std::uint64_t> first_{0};
    std::atomic<std::uint64_t> inherited_{0};  // number of fires written before the process forked
    alignas(64) std::atomic<std::uint64_t> next_{0};
};

}  // namespace tickwheel::observe

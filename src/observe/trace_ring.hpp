// The last fires of a runtime, in memory that is allocated once. Any number of threads write and read, and
// none waits for another.
//
// The n-th fire goes into place n % size. `turn` of a place is 2 n + 1 while its n-th fire is being written,
// and 2 n + 2 when it is whole; a reader that finds another turn before or after it has copied the place
// leaves it out. A writer that finds a place in use by one that is slower by a whole round drops its fire.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tickwheel::observe {

// One fire, as it is kept.
struct kept_fire {
    std::uint64_t begun, ended;  // readings of the stopwatch
    std::int64_t due, late;      // `late` is negative if it is not known
    std::uint64_t timer;         // the address of a node, or a handle; 0: neither
    std::uint64_t function;
    std::uint64_t tags;  // see fire_tags in trace.hpp
};

class trace_ring {
  public:
    static constexpr std::size_t words = sizeof(kept_fire) / sizeof(std::uint64_t);

    // A cache line. All are 0 at the beginning.
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

    // Forgets what is there. Fires that are being written may still come in.
    void forget() { first_.store(written(), std::memory_order_relaxed); }

    // In the child of a fork, which has none of the threads that were writing: forgets all, and may use
    // the places that those have left unfinished.
    void begin_in_child() {
        inherited_.store(written(), std::memory_order_relaxed);
        forget();
    }

    // How many fires have been written, ever; and the number of the oldest that may be there.
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

    // Copies a fire. False if it is not there, or not any more.
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
    std::atomic<std::uint64_t> inherited_{0};  // fires that were written before the process forked
    alignas(64) std::atomic<std::uint64_t> next_{0};
};

}  // namespace tickwheel::observe

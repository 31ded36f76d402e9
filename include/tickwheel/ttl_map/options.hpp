// tickwheel/ttl_map/options.hpp - the settings and the statistics of a ttl_map. See ttl_map.hpp.
#include <tickwheel/cplusplus.hpp>
#if defined(TICKWHEEL_CPLUSPLUS_20) && !defined(TICKWHEEL_TTL_MAP_OPTIONS_HPP)
#define TICKWHEEL_TTL_MAP_OPTIONS_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>

#include <tickwheel/callback.hpp>

namespace tickwheel {

enum class expiry {
    fixed,   // the time to live counts from set() and touch()
    sliding  // and from get() and get_or_load()
};

template <class Key, class Value> struct ttl_map_options {
    // The time to live of entries that are set without one of their own. Must be positive.
    std::chrono::nanoseconds ttl{0};

    // From 0 to 1. Each entry lives for a random time from ttl * (1 - jitter) to
    // ttl * (1 + jitter), so that entries that were set together do not expire together.
    double jitter = 0;

    // The largest number of entries; 0: no bound. Each shard keeps at most max_size / shards entries.
    // A full shard evicts its least recently used entry.
    std::size_t max_size = 0;

    tickwheel::expiry expiry = tickwheel::expiry::fixed;

    // The number of parts, each with its own lock. More shards let more threads work at once.
    std::size_t shards = 1;

    // The seed of jitter and hashing; 0: a random one. Set it to repeat a run exactly.
    std::uint64_t seed = 0;

    std::function<void(const Key &, Value &)> on_expire{};  // called when an entry's time is over
    std::function<void(const Key &, Value &)> on_evict{};   // called when an entry is evicted
    exception_handler on_exception{};  // receives what these two throw; if empty, print_exception
};

// The counts of a map since it was made. A call that waits for another call's loader is a miss.
struct ttl_map_stats {
    std::uint64_t hits = 0, misses = 0;  // of get and get_or_load
    std::uint64_t loads = 0;             // loaders that were called
    std::uint64_t load_failures = 0;     // loaders that threw
    std::uint64_t expired = 0, evicted = 0;
    std::size_t size = 0;  // entries now, including expired ones whose timer is late
};

}  // namespace tickwheel

#endif

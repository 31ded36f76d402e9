// tickwheel/ttl_map.hpp - a map whose entries expire: key to value, with a time to live.
//
//     tickwheel::ttl_map<std::string, page> pages(rt, {.ttl = 5min, .jitter = 0.05, .max_size = 10'000});
//     pages.set("/", front_page);
//     std::optional<page> found = pages.get("/");
//     page loaded = pages.get_or_load("/about", [](const std::string &path) { return render(path); });
//
// Conventions
//   Time       The map never returns an entry whose time to live is over, however late the
//              runtime's thread may be. Each entry has a timer, which removes and reports the
//              entry: never early, and promptly (P1, P2). Setting the clock makes no difference,
//              not even on a runtime on the wall clock.
//   Threads    Any thread may make any call, callbacks included, except the destructor. No other
//              call may be in progress when the destructor begins. A callback of this map must
//              not destroy the map, because the destructor waits for callbacks; the map does not
//              keep what callbacks set meanwhile.
//   Lifetime   Destroy the map before its runtime is freed. In particular, no callable that the
//              runtime drops as it ends may hold the last reference to the map. While the runtime
//              is stopped nothing is reported, but max_size and the times to live hold. After a
//              fork, leave the map alone in the child.
//   Locks      Each shard has a lock, held for one entry at a time, by clear() and the
//              destructor for some dozens, and never while callbacks and loaders run. The map
//              copies keys and values and compares keys under the lock, so these operations
//              must not call the map. If values are large to copy, store a
//              std::shared_ptr<const T>.
//   Callbacks  on_expire runs on the runtime's thread; or, if that is late, on the thread whose
//              set() finds the expired entry. on_evict runs on the thread that calls set().
//              Both may call the map. Exceptions of both go to on_exception, which must not
//              throw.
//   Errors     std::system_error with invalid_argument for a null runtime, a time to live that
//              is not positive, a jitter outside 0 .. 1, no shards, or more shards than
//              max_size; with no_child_process in the child of a fork. std::bad_alloc; and what
//              hashing, comparing and copying throw. After any exception the map is unchanged.
//   Hashing    The result of Hash is mixed with a secret seed, so keys cannot be chosen to
//              share a bucket. Keys whose whole hash is equal still do, and std::hash of strings
//              has no seed: if keys come from untrusted sources, pass a keyed hash such as
//              SipHash.
#include <tickwheel/cplusplus.hpp>
#if defined(TICKWHEEL_CPLUSPLUS_20) && !defined(TICKWHEEL_TTL_MAP_HPP)
#define TICKWHEEL_TTL_MAP_HPP

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include <tickwheel/chrono.hpp>
#include <tickwheel/runtime.h>
#include <tickwheel/ttl_map/containers.hpp>
#include <tickwheel/ttl_map/options.hpp>
#include <tickwheel/ttl_map/shard.hpp>

namespace tickwheel {

namespace detail {

// True if a lookup need not convert its argument to a Key.
template <class Hash, class Equal>
concept transparent = requires {
    typename Hash::is_transparent;
    typename Equal::is_transparent;
};

// The types of arguments that a lookup accepts.
template <class K, class Key, class Hash, class Equal>
concept lookup_key = std::same_as<K, Key> ||
    (transparent<Hash, Equal> ? std::invocable<const Hash &, const K &>
                              : std::constructible_from<Key, const K &>);

}  // namespace detail

template <class Key, class Value, class Hash = std::hash<Key>, class Equal = std::equal_to<>> class ttl_map {
  public:
    using options = ttl_map_options<Key, Value>;

    // Makes an empty map whose timers are on `rt`.
    ttl_map(tw_runtime *rt, options o, Hash hash = {}, Equal equal = {})
        : setup_(rt, std::move(o), std::move(equal)), hash_(std::move(hash)),
          shards_(std::make_unique<shard[]>(setup_.options.shards)) {
        for (std::size_t i = 0; i < setup_.options.shards; ++i)
            shards_[i].begin(setup_, i);
    }

    // The same for a runtime of tickwheel.hpp, or anything else with a member native().
    template <class Runtime>
    requires requires(Runtime &rt) {
        { rt.native() } -> std::convertible_to<tw_runtime *>;
    }
    ttl_map(Runtime &rt, options o, Hash hash = {}, Equal equal = {})
        : ttl_map(rt.native(), std::move(o), std::move(hash), std::move(equal)) {}

    // Removes all entries without reporting them, and waits for callbacks that run.
    ~ttl_map() {
        for_each_shard([](shard &s) { s.remove_all(true); });
        for_each_shard([](shard &s) { s.wait_for_callbacks(); });
    }
    ttl_map(const ttl_map &) = delete;
    ttl_map &operator=(const ttl_map &) = delete;

    // Puts a value under a key and replaces the former one, if any. If the key's shard is full, evicts
    // the least recently used entry of that shard. The time to live is that of the options, or `ttl`.
    void set(Key key, Value value) { set_for(std::move(key), std::move(value), setup_.ttl); }
    template <class Rep, class Period>
    void set(Key key, Value value, std::chrono::duration<Rep, Period> ttl) {
        set_for(std::move(key), std::move(value), detail::ttl_in(ttl));
    }

    // Lookups take a Key, or anything that a Key can be constructed from. If Hash and Equal are
    // transparent, lookups take whatever Hash and Equal take, and construct no Key.

    // Returns a copy of the value; nothing if the key is absent or has expired.
    template <detail::lookup_key<Key, Hash, Equal> K = Key> std::optional<Value> get(const K &key) {
        const auto &k = as_key(key);
        const location at = locate(k);
        return at.home.get(at.hash, k);
    }

    // Restarts the entry's time to live, and makes it the most recently used one. Returns false if
    // the key is absent or has expired.
    template <detail::lookup_key<Key, Hash, Equal> K = Key> bool touch(const K &key) {
        const auto &k = as_key(key);
        const location at = locate(k);
        return at.home.touch(at.hash, k);
    }

    // Returns true if get() would return a value. Changes nothing, statistics included.
    template <detail::lookup_key<Key, Hash, Equal> K = Key> [[nodiscard]] bool contains(const K &key) const {
        const auto &k = as_key(key);
        const location at = locate(k);
        return at.home.contains(at.hash, k);
    }

    // Removes an entry without reporting it. Returns false if the key is absent or has expired.
    template <detail::lookup_key<Key, Hash, Equal> K = Key> bool erase(const K &key) {
        const auto &k = as_key(key);
        const location at = locate(k);
        return at.home.erase(at.hash, k);
    }

    // Removes the entries that are there when it is called, without reporting them.
    void clear() {
        for_each_shard([](shard &s) { s.remove_all(false); });
    }

    // Returns the value under a key. If there is none, calls loader(key), sets and returns its
    // result. If several calls miss the same key at once, one of them runs its loader; the others
    // wait for it and get the same value or exception. An exception leaves no entry behind. If
    // the key is set or erased while it is being loaded, the loaded value is returned but not
    // kept.
    //
    // A loader that asks for its own key gets resource_deadlock_would_occur. Loaders that wait
    // for each other's keys wait forever.
    template <class Loader> Value get_or_load(const Key &key, Loader &&loader) {
        return get_or_load_for(key, loader, setup_.ttl);
    }
    template <class Loader, class Rep, class Period>
    Value get_or_load(const Key &key, Loader &&loader, std::chrono::duration<Rep, Period> ttl) {
        return get_or_load_for(key, loader, detail::ttl_in(ttl));
    }

    // Returns the number of entries, including expired ones whose timer is late.
    [[nodiscard]] std::size_t size() const { return stats().size; }

    // Returns the sum over all shards, one after the other: calls that run meanwhile may or may
    // not be counted.
    [[nodiscard]] ttl_map_stats stats() const {
        ttl_map_stats sum;
        for_each_shard([&sum](shard &s) { s.add_to(sum); });
        return sum;
    }

  private:
    using shard = detail::ttl_shard<Key, Value, Equal>;

    struct location {
        shard &home;
        std::uint64_t hash;
    };

    template <class K> static decltype(auto) as_key(const K &key) {
        if constexpr (detail::transparent<Hash, Equal> || std::same_as<K, Key>)
            return static_cast<const K &>(key);
        else
            return static_cast<Key>(key);
    }

    // The upper half of the hash chooses the shard, the lower half the bucket.
    template <class K> location locate(const K &key) const {
        const auto &o = setup_.options;
        const std::uint64_t hash = detail::mix(static_cast<std::uint64_t>(hash_(key)) ^ o.seed);
        return {shards_[static_cast<std::size_t>((hash >> 32) * o.shards >> 32)], hash};
    }

    template <class Do> void for_each_shard(Do what) const {
        for (std::size_t i = 0; i < setup_.options.shards; ++i)
            what(shards_[i]);
    }

    void set_for(Key &&key, Value &&value, std::int64_t ttl) {
        const location at = locate(key);
        at.home.set(at.hash, std::move(key), std::move(value), ttl);
    }

    template <class Loader> Value get_or_load_for(const Key &key, Loader &loader, std::int64_t ttl) {
        const location at = locate(key);
        return at.home.get_or_load(at.hash, key, loader, ttl);
    }

    detail::ttl_map_setup<Key, Value, Equal> setup_;
    Hash hash_;
    std::unique_ptr<shard[]> shards_;
};

}  // namespace tickwheel

#endif

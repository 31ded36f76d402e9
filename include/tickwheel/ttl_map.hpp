// tickwheel/ttl_map.hpp - a map whose entries expire: key to value, with a time to live.
//
//     tickwheel::ttl_map<std::string, page> pages(rt, {.ttl = 5min, .jitter = 0.05, .max_size = 10'000});
//     pages.set("/", front_page);
//     std::optional<page> found = pages.get("/");
//     page loaded = pages.get_or_load("/about", [](const std::string &path) { return render(path); });
//
// Conventions
//   Time       An entry is never returned once its time to live is over, however late the
//              runtime's thread may be. It leaves memory, and is reported, by a timer of its
//              own: not before that, and promptly (P1, P2). On the wall clock too, setting
//              the clock does not matter.
//   Threads    Any call from any thread, callbacks included, but for the destructor: nobody
//              is in a call then, and it does not run inside a callback of this map (it
//              would wait for itself). What callbacks set meanwhile is not kept.
//   Lifetime   The map is destroyed before its runtime is freed: so no callable that the
//              runtime drops as it ends holds the last reference to it. While the runtime
//              is stopped nothing is reported; bound and times hold all the same. A map
//              does not follow into the child of a fork: leave it alone there.
//   Locks      One for each shard, held for one entry at a time. Callbacks and loaders run
//              without it. Copying a key or value and comparing keys runs under it, and
//              does not call the map: for values that are large to copy, store a
//              std::shared_ptr<const T>.
//   Callbacks  on_expire runs on the runtime's thread; if that is late, on the thread whose
//              set() comes across the entry. on_evict runs on the thread that sets. Both may
//              call the map. What they throw goes to on_exception, which throws nothing.
//   Errors     std::system_error: invalid_argument for a null runtime, a time to live that
//              is not positive, a jitter outside 0 .. 1, no shards or more than max_size;
//              no_child_process in the child of a fork. std::bad_alloc, and what hashing,
//              comparing and copying throw. Whatever is thrown, the map is as it was.
//   Hashing    What Hash answers is mixed with a secret seed, so that keys cannot be chosen
//              to share a bucket. Keys that share their whole hash still do: std::hash of
//              strings is not seeded. For keys that strangers choose, pass a keyed hash
//              such as SipHash.
#include <tickwheel/cplusplus.hpp>
#if defined(TICKWHEEL_CPLUSPLUS_20) && !defined(TICKWHEEL_TTL_MAP_HPP)
#define TICKWHEEL_TTL_MAP_HPP

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <concepts>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <type_traits>
#include <utility>

#include <tickwheel/callback.hpp>
#include <tickwheel/chrono.hpp>
#include <tickwheel/runtime.h>
#include <tickwheel/ttl_map_detail.hpp>

namespace tickwheel {

enum class expiry {
    fixed,   // time to live counts from set() and touch()
    sliding  // and from get() and get_or_load()
};

template <class Key, class Value> struct ttl_map_options {
    std::chrono::nanoseconds ttl{0};  // time to live of entries that are set without one
    double jitter = 0;                // each is drawn from ttl * (1 - jitter) .. ttl * (1 + jitter)
    std::size_t max_size = 0;         // entries; the least recently used one leaves first. 0: no bound
    tickwheel::expiry expiry = tickwheel::expiry::fixed;
    std::size_t shards = 1;  // parts with a lock each; max_size / shards bounds each of them
    std::uint64_t seed = 0;  // of jitter and hashing; 0: a random one
    std::function<void(const Key &, Value &)> on_expire{};  // its time was over
    std::function<void(const Key &, Value &)> on_evict{};   // there were too many
    exception_handler on_exception{};                       // what these threw; none: print_exception
};

// What a map has seen so far; a call that waits for another's loader is a miss, too.
struct ttl_map_stats {
    std::uint64_t hits = 0, misses = 0;  // of get and get_or_load
    std::uint64_t loads = 0;             // runs of loaders
    std::uint64_t load_failures = 0;     // of these, ended by an exception
    std::uint64_t expired = 0, evicted = 0;
    std::size_t size = 0;  // entries now, those included whose timer is late
};

// Invariants, for each shard, under its lock
//   M1  A key has one entry in the table at most.
//   M2  An entry's node is armed once, before the entry is listed; while it is pending it
//       may be moved. So its callback comes at most once, and the node is due at the
//       entry's deadline or later.
//   M3  Whoever unlists an entry, unless it is its callback, cancels its node. If that
//       prevented the fire, the entry is his to free. If not, its callback is on its way, and
//       frees it. `in_flight`: callbacks that are on their way to an entry which is not
//       listed any more, or run.
template <class Key, class Value, class Hash = std::hash<Key>, class Equal = std::equal_to<>> class ttl_map {
  public:
    using options = ttl_map_options<Key, Value>;

    ttl_map(tw_runtime *rt, options o, Hash hash = {}, Equal equal = {})
        : rt_(rt), options_(std::move(o)), hash_(std::move(hash)), equal_(std::move(equal)),
          ttl_(detail::period_in(options_.ttl)), clock_(rt) {
        const std::size_t n = options_.shards, most = options_.max_size;
        if (!(options_.jitter >= 0 && options_.jitter <= 1))
            detail::refuse("the jitter is not 0 .. 1");
        if (n == 0 || (most != 0 && most < n))
            detail::refuse("no shards, or more of them than max_size");
        if (!options_.on_exception)
            options_.on_exception = print_exception;
        if (options_.seed == 0)
            options_.seed = std::random_device{}() * 0x100000001ULL ^ std::random_device{}();
        bound_ = most / n;
        shards_ = std::make_unique<shard[]>(n);
        for (std::size_t i = 0; i < n; ++i) {
            shards_[i].map = this;
            shards_[i].random = detail::mix(options_.seed + i);
        }
    }

    // A runtime of tickwheel.hpp, or anything else that has one.
    template <class Runtime>
    requires requires(Runtime &rt) {
        { rt.native() } -> std::convertible_to<tw_runtime *>;
    }
    ttl_map(Runtime &rt, options o, Hash hash = {}, Equal equal = {})
        : ttl_map(rt.native(), std::move(o), std::move(hash), std::move(equal)) {}

    ~ttl_map() {
        for_each_shard([this](shard &s) { empty(s, true); });
        for_each_shard([](shard &s) {
            std::unique_lock lock(s.mutex);
            s.idle.wait(lock, [&s] { return s.in_flight == 0; });
        });
    }
    ttl_map(const ttl_map &) = delete;
    ttl_map &operator=(const ttl_map &) = delete;

    // Puts the value under the key, in the place of another one.
    void set(Key key, Value value) { set_for(std::move(key), std::move(value), ttl_); }
    template <class Rep, class Period>
    void set(Key key, Value value, std::chrono::duration<Rep, Period> ttl) {
        set_for(std::move(key), std::move(value), detail::period_in(ttl));
    }

    // Lookups take a Key, or what one can be made from; or, if Hash and Equal are transparent,
    // whatever these take.

    // A copy of the value; nothing if the key is not there, or has expired.
    template <detail::lookup_key<Key, Hash, Equal> K = Key> std::optional<Value> get(const K &key) {
        const auto &k = as_key(key);
        const place p = place_of(k);
        const hold lock(p.home.mutex);
        if (const entry *e = looked_up(p, k))
            return e->value;
        return std::nullopt;
    }

    // Has its time to live begin anew, and makes it the one used last; false if it is not there.
    template <detail::lookup_key<Key, Hash, Equal> K = Key> bool touch(const K &key) {
        const auto &k = as_key(key);
        const place p = place_of(k);
        const hold lock(p.home.mutex);
        return use(p, k, true) != nullptr;
    }

    // Whether get() would answer; changes nothing.
    template <detail::lookup_key<Key, Hash, Equal> K = Key> bool contains(const K &key) const {
        const auto &k = as_key(key);
        const place p = place_of(k);
        const hold lock(p.home.mutex);
        const entry *e = find(p, k);
        return e != nullptr && clock_.now() < e->deadline;
    }

    // Removes it; false if it is not there, or has expired. Nothing is reported.
    template <detail::lookup_key<Key, Hash, Equal> K = Key> bool erase(const K &key) {
        const auto &k = as_key(key);
        const place p = place_of(k);
        std::unique_ptr<entry> gone;  // freed after the lock is
        const hold lock(p.home.mutex);
        entry *e = find(p, k);
        if (const auto *running = p.home.loads.find(p.hash, k, equal_))
            p.home.loads.forget(*running);
        if (e != nullptr && clock_.now() < e->deadline)
            gone = unlist(p.home, *e);
        return gone != nullptr;
    }

    // Removes all that is there when it is called. Nothing is reported.
    void clear() {
        for_each_shard([this](shard &s) { empty(s, false); });
    }

    // The value under the key; if there is none, what loader(key) returns, which is then
    // set. Of callers who miss the same key at once one runs its loader; the others wait, and
    // get the same value or exception. An exception leaves nothing behind. If the key is set
    // or erased while it is being loaded, then what was loaded is returned but not kept.
    // A loader that asks for its own key gets resource_deadlock_would_occur; loaders that
    // wait for each other's keys do so for ever.
    template <class Loader> Value get_or_load(const Key &key, Loader &&loader) {
        return get_or_load_for(key, loader, ttl_);
    }
    template <class Loader, class Rep, class Period>
    Value get_or_load(const Key &key, Loader &&loader, std::chrono::duration<Rep, Period> ttl) {
        return get_or_load_for(key, loader, detail::period_in(ttl));
    }

    std::size_t size() const { return stats().size; }

    ttl_map_stats stats() const {
        ttl_map_stats sum;
        for_each_shard([&sum](shard &s) {
            const hold lock(s.mutex);
            sum.hits += s.seen.hits;
            sum.misses += s.seen.misses;
            sum.loads += s.seen.loads;
            sum.load_failures += s.seen.load_failures;
            sum.expired += s.seen.expired;
            sum.evicted += s.seen.evicted;
            sum.size += s.size;
        });
        return sum;
    }

  private:
    struct shard;

    // What a lookup reads stands in front.
    struct entry : detail::use_link {
        entry *next = nullptr;
        std::uint64_t hash;
        std::int64_t deadline = 0;  // as clock_ reads
        Key key;
        Value value;
        std::int64_t ttl = 0;  // with its jitter
        shard &home;
        bool listed = false;
        tw_node node;

        entry(shard &s, std::uint64_t h, Key &&k, Value &&v)
            : hash(h), key(std::move(k)), value(std::move(v)), home(s) {
            tw_node_init(&node, fired, this);
        }
    };

    struct alignas(64) shard {
        std::mutex mutex;
        ttl_map *map = nullptr;
        detail::bucket_array<entry> table;
        detail::use_link uses;  // .older: used last; .newer: used least recently. Kept if there is a bound
        detail::loads<Key, Value> loads;  // whose results are to be kept
        std::size_t size = 0;             // entries that are listed
        ttl_map_stats seen;               // all but its size
        std::uint64_t random = 0;
        std::size_t in_flight = 0;
        std::condition_variable idle;  // in_flight is 0
        bool closing = false;
    };

    // Where a key belongs.
    struct place {
        shard &home;
        std::uint64_t hash;
    };

    // An entry that set() has removed, and may have to report when the lock is free.
    struct leaver {
        std::unique_ptr<entry> who;
        bool has_expired = false;
    };
    struct leavers {
        leaver replaced, pushed_out;
    };

    // Entries that nobody needs any more, to be freed when the lock is free.
    struct pile {
        entry *first = nullptr;

        void add(std::unique_ptr<entry> e) {
            if (e != nullptr) {
                e->next = first;
                first = e.release();
            }
        }
        ~pile() {
            while (first != nullptr)
                delete std::exchange(first, first->next);
        }
    };

    using hold = std::unique_lock<std::mutex>;

    template <class K> static decltype(auto) as_key(const K &key) {
        if constexpr (detail::transparent<Hash, Equal> || std::same_as<K, Key>)
            return static_cast<const K &>(key);
        else
            return static_cast<Key>(key);
    }

    template <class K> place place_of(const K &key) const {
        const std::uint64_t hash = detail::mix(static_cast<std::uint64_t>(hash_(key)) ^ options_.seed);
        return {shards_[static_cast<std::size_t>((hash >> 32) * options_.shards >> 32)], hash};
    }

    template <class Do> void for_each_shard(Do what) const {
        for (std::size_t i = 0; i < options_.shards; ++i)
            what(shards_[i]);
    }

    // --- with the lock held ---------------------------------------------------------------

    template <class K> entry *find(const place &p, const K &key) const {
        entry *e = p.home.table.of(p.hash);
        while (e != nullptr && !(e->hash == p.hash && equal_(e->key, key)))
            e = e->next;
        return e;
    }

    template <class K> entry *looked_up(const place &p, const K &key) {
        entry *const e = use(p, key, options_.expiry == expiry::sliding);
        ++(e != nullptr ? p.home.seen.hits : p.home.seen.misses);
        return e;
    }

    // The entry, if it is alive; it is then the one used last.
    template <class K> entry *use(const place &p, const K &key, bool renewing) {
        entry *const e = find(p, key);
        if (e == nullptr)
            return nullptr;
        const std::int64_t now = clock_.now();
        if (now >= e->deadline || (renewing && !renew(*e, e->ttl, now)))
            return nullptr;
        was_used(*e);
        return e;
    }

    void was_used(entry &e) {
        if (bound_ == 0 || e.home.uses.older == &e)
            return;
        e.leave();
        e.join_before(e.home.uses);
    }

    static std::int64_t later(std::int64_t now, std::int64_t by) {
        return by > TW_NO_DEADLINE - now ? TW_NO_DEADLINE : now + by;
    }

    // Gives it a time to live from now on; false if its callback is on its way (M2).
    bool renew(entry &e, std::int64_t ttl, std::int64_t now) {
        const std::int64_t deadline = later(now, ttl);
        const int moved = deadline >= e.deadline ? tw_runtime_postpone(rt_, &e.node, ttl)
                                                 : tw_runtime_move(rt_, &e.node, ttl);
        if (moved == -ENOENT)
            return false;
        detail::check(moved);
        e.deadline = deadline;
        e.ttl = ttl;
        return true;
    }

    // In its place, if that cannot fail half way.
    bool overwrite(entry &e, Value &value, std::int64_t ttl, std::int64_t now) {
        if constexpr (std::is_nothrow_swappable_v<Value>) {
            if (now >= e.deadline || !renew(e, ttl, now))
                return false;
            using std::swap;
            swap(e.value, value);
            was_used(e);
            return true;
        }
        return false;
    }

    std::int64_t drawn(shard &s, std::int64_t ttl) const {
        if (options_.jitter == 0)
            return ttl;
        s.random += 0x9e3779b97f4a7c15;
        const double in_0_2 = static_cast<double>(detail::mix(s.random) >> 11) * 0x1p-52;
        const double exact = static_cast<double>(ttl) * (1 + options_.jitter * (in_0_2 - 1));
        return exact >= 0x1p63 ? TW_NO_DEADLINE : exact < 1 ? 1 : static_cast<std::int64_t>(exact);
    }

    leavers store(const place &p, Key &&key, Value &value, std::int64_t longest) {
        shard &s = p.home;
        leavers out;
        if (s.closing)
            return out;
        entry *const old = find(p, key);
        const std::int64_t ttl = drawn(s, longest), now = clock_.now();
        if (old != nullptr && overwrite(*old, value, ttl, now))
            return out;
        auto fresh = std::make_unique<entry>(s, p.hash, std::move(key), std::move(value));
        s.table.make_room_for(s.size + 1);
        fresh->ttl = ttl;
        fresh->deadline = later(now, ttl);
        detail::check(tw_runtime_after(rt_, &fresh->node, ttl));
        if (old != nullptr)
            out.replaced = remove(s, *old, now);
        if (bound_ != 0 && s.size == bound_) {
            out.pushed_out = remove(s, static_cast<entry &>(*s.uses.newer), now);
            s.seen.evicted += out.pushed_out.who != nullptr && !out.pushed_out.has_expired;
        }
        list(s, *fresh.release());
        return out;
    }

    void list(shard &s, entry &e) {
        s.table.insert(e);
        if (bound_ != 0)
            e.join_before(s.uses);
        e.listed = true;
        ++s.size;
    }

    static void take_off(shard &s, entry &e) {
        s.table.remove(e);
        e.leave();
        e.listed = false;
        --s.size;
    }

    // Null if its callback is on its way (M3). In the child of a fork, where cancelling is
    // refused, the runtime still knows the node: it is never freed.
    std::unique_ptr<entry> unlist(shard &s, entry &e) {
        take_off(s, e);
        const int prevented = tw_runtime_cancel(rt_, &e.node);
        s.in_flight += prevented == 0;
        return std::unique_ptr<entry>(prevented > 0 ? &e : nullptr);
    }

    leaver remove(shard &s, entry &e, std::int64_t now) {
        leaver out{unlist(s, e), now >= e.deadline};
        s.seen.expired += out.who != nullptr && out.has_expired;
        return out;
    }

    // --- without the lock -------------------------------------------------------------------

    void set_for(Key &&key, Value &&value, std::int64_t ttl) {
        const place p = place_of(key);
        leavers out;
        {
            const hold lock(p.home.mutex);
            const auto *const outdated = p.home.loads.find(p.hash, key, equal_);
            out = store(p, std::move(key), value, ttl);
            if (outdated != nullptr)
                p.home.loads.forget(*outdated);
        }
        report(out);
    }

    using load = typename detail::loads<Key, Value>::one;

    template <class Loader> Value get_or_load_for(const Key &key, Loader &loader, std::int64_t ttl) {
        const place p = place_of(key);
        hold lock(p.home.mutex);
        if (const entry *e = looked_up(p, key))
            return e->value;
        if (load *const running = p.home.loads.find(p.hash, key, equal_))
            return running->result(lock);
        const std::shared_ptr<load> mine = p.home.loads.begin(p.hash, key);
        ++p.home.seen.loads;
        lock.unlock();
        return run(p, *mine, loader, ttl);
    }

    // All that may fail is done before the value is stored.
    template <class Loader> Value run(const place &p, load &l, Loader &loader, std::int64_t ttl) {
        std::optional<Value> loaded;
        leavers out;
        try {
            loaded.emplace(loader(std::as_const(l.key)));
            l.value.emplace(*loaded);
            Value kept = *loaded;
            Key key = l.key;
            const hold lock(p.home.mutex);
            if (p.home.loads.forget(l))
                out = store(p, std::move(key), kept, ttl);
            l.end();
        } catch (...) {
            const hold lock(p.home.mutex);
            p.home.loads.forget(l);
            ++p.home.seen.load_failures;
            l.error = std::current_exception();
            l.end();
            throw;
        }
        report(out);
        return std::move(*loaded);
    }

    // A few entries at a time, so that others get in between. Buckets that are added
    // meanwhile come last, and take from ones that are still to come.
    void empty(shard &s, bool closing) {
        constexpr std::size_t portion = 64;
        for (std::size_t next = 0, end = 1; next < end;) {
            pile gone;  // freed after the lock is
            const hold lock(s.mutex);
            s.closing |= closing;
            s.loads.forget_all();
            end = s.table.count();
            for (std::size_t stop = std::min(end, next + portion); next < stop; ++next)
                while (entry *const e = s.table.at(next))
                    gone.add(unlist(s, *e));
        }
    }

    // The node's callback (M3).
    static void fired(tw_node *, void *arg) {
        std::unique_ptr<entry> e(static_cast<entry *>(arg));
        shard &s = e->home;
        {
            const hold lock(s.mutex);
            if (e->listed) {
                take_off(s, *e);
                ++s.in_flight;
            }
            ++s.seen.expired;
        }
        s.map->call(s.map->options_.on_expire, *e);
        e.reset();
        const hold lock(s.mutex);
        if (--s.in_flight == 0)
            s.idle.notify_all();
    }

    void report(leavers &out) const {
        if (out.replaced.has_expired && out.replaced.who != nullptr)
            call(options_.on_expire, *out.replaced.who);
        if (out.pushed_out.who != nullptr)
            call(out.pushed_out.has_expired ? options_.on_expire : options_.on_evict, *out.pushed_out.who);
    }

    void call(const std::function<void(const Key &, Value &)> &what, entry &e) const noexcept {
        try {
            if (what)
                what(e.key, e.value);
        } catch (...) {
            options_.on_exception(std::current_exception());
        }
    }

    tw_runtime *const rt_;
    options options_;
    Hash hash_;
    Equal equal_;
    std::int64_t ttl_;
    std::size_t bound_ = 0;  // of each shard; 0: none
    detail::delay_clock clock_;
    std::unique_ptr<shard[]> shards_;
};

}  // namespace tickwheel

#endif

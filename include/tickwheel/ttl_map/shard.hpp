// tickwheel/ttl_map/shard.hpp - a part of a ttl_map that has a lock of its own. Part of ttl_map.hpp.
//
// Any member function may be called from any thread. The public ones take the lock; the private
// ones say whether they need it.
#include <tickwheel/cplusplus.hpp>
#if defined(TICKWHEEL_CPLUSPLUS_20) && !defined(TICKWHEEL_TTL_MAP_SHARD_HPP)
#define TICKWHEEL_TTL_MAP_SHARD_HPP

#include <algorithm>
#include <cerrno>
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
#include <tickwheel/ttl_map/containers.hpp>
#include <tickwheel/ttl_map/delay_clock.hpp>
#include <tickwheel/ttl_map/loads.hpp>
#include <tickwheel/ttl_map/options.hpp>

namespace tickwheel::detail {

// The part of a map that its shards share. The constructor checks the options; nothing changes after it.
template <class Key, class Value, class Equal> struct ttl_map_setup {
    tw_runtime *const rt;
    ttl_map_options<Key, Value> options;
    Equal equal;
    std::int64_t ttl;
    std::size_t bound;  // of entries in each shard; 0: none
    delay_clock clock;

    ttl_map_setup(tw_runtime *runtime, ttl_map_options<Key, Value> o, Equal e)
        : rt(runtime), options(std::move(o)), equal(std::move(e)), ttl(ttl_in(options.ttl)), bound(0),
          clock(runtime) {
        const std::size_t shards = options.shards, most = options.max_size;
        if (!(options.jitter >= 0 && options.jitter <= 1))
            refuse("the jitter is not 0 .. 1");
        if (shards == 0 || (most != 0 && most < shards))
            refuse("no shards, or more of them than max_size");
        if (!options.on_exception)
            options.on_exception = print_exception;
        if (options.seed == 0)
            options.seed = std::random_device{}() * 0x100000001ULL ^ std::random_device{}();
        bound = most / shards;
    }
};

// Tells the processor that this thread spins.
inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
    __asm__ volatile("yield");
#endif
}

// Invariants, under the lock
//   M1  At most one entry of a key is listed, that is, in the table.
//   M2  An entry's node is armed once, before the entry is listed, and may be moved while it is
//       pending. So its callback runs at most once, and not before the entry's deadline.
//   M3  A thread that unlists an entry, other than the entry's own callback, cancels the node. If
//       that prevented the fire, the thread owns the entry and frees it. Otherwise the callback
//       is on its way, owns the entry and frees it. `in_flight` counts the callbacks whose entry
//       is not listed any more.
template <class Key, class Value, class Equal> class alignas(64) ttl_shard {
  public:
    using setup = ttl_map_setup<Key, Value, Equal>;

    // Called once, before any other member function.
    void begin(const setup &of, std::size_t number) {
        setup_ = &of;
        random_ = mix(of.options.seed + number);
    }

    void set(std::uint64_t hash, Key &&key, Value &&value, std::int64_t ttl) {
        departures out;
        {
            const hold lock = acquire();
            const auto *const outdated = loads_.find(hash, key, setup_->equal);
            out = store(hash, std::move(key), value, ttl);
            if (outdated != nullptr)
                loads_.forget(*outdated);
        }
        report(out);
    }

    template <class K> std::optional<Value> get(std::uint64_t hash, const K &key) {
        const hold lock = acquire();
        if (const entry *e = look_up(hash, key))
            return e->value;
        return std::nullopt;
    }

    template <class K> bool touch(std::uint64_t hash, const K &key) {
        const hold lock = acquire();
        return use(hash, key, true) != nullptr;
    }

    template <class K> bool contains(std::uint64_t hash, const K &key) {
        const hold lock = acquire();
        const entry *e = find(hash, key);
        return e != nullptr && setup_->clock.now() < e->deadline;
    }

    template <class K> bool erase(std::uint64_t hash, const K &key) {
        std::unique_ptr<entry> gone;  // declared first, so freed after the lock is released
        const hold lock = acquire();
        entry *e = find(hash, key);
        if (const auto *running = loads_.find(hash, key, setup_->equal))
            loads_.forget(*running);
        if (e != nullptr && setup_->clock.now() < e->deadline)
            gone = unlist(*e);
        return gone != nullptr;
    }

    template <class Loader>
    Value get_or_load(std::uint64_t hash, const Key &key, Loader &loader, std::int64_t ttl) {
        hold lock = acquire();
        if (const entry *e = look_up(hash, key))
            return e->value;
        if (load *const running = loads_.find(hash, key, setup_->equal))
            return running->result(lock);
        const std::shared_ptr<load> mine = loads_.begin(hash, key);
        ++seen_.loads;
        lock.unlock();
        return run(*mine, loader, ttl);
    }

    // Removes the entries that are there when it is called; if `closing`, none is added from then
    // on. Releases the lock after every few entries, so that other threads get in between. The
    // table may grow meanwhile: new buckets come last, and take their entries from buckets that
    // this loop has emptied or not reached yet.
    void remove_all(bool closing) {
        constexpr std::size_t portion = 64;
        for (std::size_t next = 0, end = 1; next < end;) {
            pile gone;  // declared first, so freed after the lock is released
            const hold lock = acquire();
            closing_ |= closing;
            loads_.forget_all();
            end = table_.bucket_count();
            for (std::size_t stop = std::min(end, next + portion); next < stop; ++next)
                while (entry *const e = table_.bucket(next))
                    gone.add(unlist(*e));
        }
    }

    // Returns when no callback of a removed entry is on its way or runs.
    void wait_for_callbacks() {
        hold lock = acquire();
        idle_.wait(lock, [this] { return in_flight_ == 0; });
    }

    void add_to(ttl_map_stats &sum) {
        const hold lock = acquire();
        sum.hits += seen_.hits;
        sum.misses += seen_.misses;
        sum.loads += seen_.loads;
        sum.load_failures += seen_.load_failures;
        sum.expired += seen_.expired;
        sum.evicted += seen_.evicted;
        sum.size += size_;
    }

  private:
    using load = detail::load<Key, Value>;
    using hold = std::unique_lock<std::mutex>;

    // The members that a lookup reads come first, to share a cache line.
    struct entry : use_link {
        entry *next = nullptr;
        std::uint64_t hash;
        std::int64_t deadline = 0;  // a reading of the clock
        Key key;
        Value value;
        std::int64_t ttl = 0;  // jitter included
        ttl_shard &owner;
        bool listed = false;
        tw_node node;

        entry(ttl_shard &shard, std::uint64_t h, Key &&k, Value &&v)
            : hash(h), key(std::move(k)), value(std::move(v)), owner(shard) {
            tw_node_init(&node, fired, this);
        }
    };

    // An entry that set() has removed, to be reported and freed without the lock. `who` is null if
    // its callback is on its way, which then reports it (M3).
    struct departure {
        std::unique_ptr<entry> who;
        bool has_expired = false;
    };
    struct departures {
        departure replaced, pushed_out;
    };

    // Frees the entries that were added to it. Does not allocate.
    class pile {
      public:
        pile() = default;
        pile(const pile &) = delete;
        pile &operator=(const pile &) = delete;
        ~pile() {
            while (first_ != nullptr)
                delete std::exchange(first_, first_->next);
        }
        void add(std::unique_ptr<entry> e) {
            if (e != nullptr) {
                e->next = first_;
                first_ = e.release();
            }
        }

      private:
        entry *first_ = nullptr;
    };

    // Takes the lock. A hold mostly lasts less than a microsecond, and a sleep costs several, so a thread
    // spins before it sleeps. That matters when many entries expire at once.
    hold acquire() {
        constexpr int most_tries = 100;
        hold lock(mutex_, std::try_to_lock);
        for (int tries = 0; !lock && tries < most_tries; ++tries) {
            relax();
            (void)lock.try_lock();
        }
        if (!lock)
            lock.lock();
        return lock;
    }

    // --- REQUIRES: lock held ----------------------------------------------------------------

    template <class K> entry *find(std::uint64_t hash, const K &key) {
        entry *e = table_.bucket_of(hash);
        while (e != nullptr && !(e->hash == hash && setup_->equal(e->key, key)))
            e = e->next;
        return e;
    }

    template <class K> entry *look_up(std::uint64_t hash, const K &key) {
        entry *const e = use(hash, key, setup_->options.expiry == expiry::sliding);
        ++(e != nullptr ? seen_.hits : seen_.misses);
        return e;
    }

    // Returns the entry if it has not expired, and makes it the one used last.
    template <class K> entry *use(std::uint64_t hash, const K &key, bool renewing) {
        entry *const e = find(hash, key);
        if (e == nullptr)
            return nullptr;
        const std::int64_t now = setup_->clock.now();
        if (now >= e->deadline || (renewing && !renew(*e, e->ttl, now)))
            return nullptr;
        was_used(*e);
        return e;
    }

    void was_used(entry &e) {
        if (setup_->bound == 0 || uses_.older == &e)
            return;
        e.leave();
        e.join_before(uses_);
    }

    // Gives an entry a new time to live from now on. Returns false if its callback is on its way
    // (M2). Postponing is the cheaper call, and leaves the node where it is.
    bool renew(entry &e, std::int64_t ttl, std::int64_t now) {
        const std::int64_t deadline = saturating_add(now, ttl);
        const int moved = deadline >= e.deadline ? tw_runtime_postpone(setup_->rt, &e.node, ttl)
                                                 : tw_runtime_move(setup_->rt, &e.node, ttl);
        if (moved == -ENOENT)
            return false;
        check(moved);
        e.deadline = deadline;
        e.ttl = ttl;
        return true;
    }

    // Replaces the value in place, if no step of that can throw half way. Returns false if it did not.
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

    std::int64_t with_jitter(std::int64_t ttl) {
        const double jitter = setup_->options.jitter;
        if (jitter == 0)
            return ttl;
        random_ += 0x9e3779b97f4a7c15;
        const double from_0_to_2 = static_cast<double>(mix(random_) >> 11) * 0x1p-52;
        const double exact = static_cast<double>(ttl) * (1 + jitter * (from_0_to_2 - 1));
        return exact >= 0x1p63 ? TW_NO_DEADLINE : exact < 1 ? 1 : static_cast<std::int64_t>(exact);
    }

    // Puts a value under a key. All steps that can throw come first, so an exception changes
    // nothing: the new entry is listed only when nothing can fail any more.
    departures store(std::uint64_t hash, Key &&key, Value &value, std::int64_t ttl_without_jitter) {
        departures out;
        if (closing_)
            return out;
        entry *const old = find(hash, key);
        const std::int64_t ttl = with_jitter(ttl_without_jitter), now = setup_->clock.now();
        if (old != nullptr && overwrite(*old, value, ttl, now))
            return out;
        auto fresh = std::make_unique<entry>(*this, hash, std::move(key), std::move(value));
        table_.make_room_for(size_ + 1);
        fresh->ttl = ttl;
        fresh->deadline = saturating_add(now, ttl);
        check(tw_runtime_after(setup_->rt, &fresh->node, ttl));
        if (old != nullptr)
            out.replaced = remove(*old, now);
        if (setup_->bound != 0 && size_ == setup_->bound) {
            out.pushed_out = remove(static_cast<entry &>(*uses_.newer), now);
            seen_.evicted += out.pushed_out.who != nullptr && !out.pushed_out.has_expired;
        }
        list(*fresh.release());
        return out;
    }

    void list(entry &e) {
        table_.insert(e);
        if (setup_->bound != 0)
            e.join_before(uses_);
        e.listed = true;
        ++size_;
    }

    void take_off(entry &e) {
        table_.remove(e);
        e.leave();
        e.listed = false;
        --size_;
    }

    // Returns the entry, or null if its callback is on its way (M3). In the child of a fork,
    // cancelling is refused and the runtime still knows the node: the entry is never freed there.
    std::unique_ptr<entry> unlist(entry &e) {
        take_off(e);
        const int prevented = tw_runtime_cancel(setup_->rt, &e.node);
        in_flight_ += prevented == 0;
        return std::unique_ptr<entry>(prevented > 0 ? &e : nullptr);
    }

    departure remove(entry &e, std::int64_t now) {
        departure out{unlist(e), now >= e.deadline};
        seen_.expired += out.who != nullptr && out.has_expired;
        return out;
    }

    // --- without the lock -------------------------------------------------------------------

    // Calls the loader and stores its value. All steps that can throw come before the store.
    template <class Loader> Value run(load &l, Loader &loader, std::int64_t ttl) {
        std::optional<Value> loaded;
        departures out;
        try {
            loaded.emplace(loader(std::as_const(l.key)));
            l.value.emplace(*loaded);
            Value kept = *loaded;
            Key key = l.key;
            const hold lock = acquire();
            if (loads_.forget(l))
                out = store(l.hash, std::move(key), kept, ttl);
            l.end();
        } catch (...) {
            const hold lock = acquire();
            loads_.forget(l);
            ++seen_.load_failures;
            l.error = std::current_exception();
            l.end();
            throw;
        }
        report(out);
        return std::move(*loaded);
    }

    // The callback of an entry's node (M3).
    static void fired(tw_node *, void *arg) {
        std::unique_ptr<entry> e(static_cast<entry *>(arg));
        ttl_shard &owner = e->owner;
        owner.expire(std::move(e));
    }

    // The map may be destroyed as soon as in_flight_ is 0 and the lock is released.
    void expire(std::unique_ptr<entry> e) {
        {
            const hold lock = acquire();
            if (e->listed) {
                take_off(*e);
                ++in_flight_;
            }
            ++seen_.expired;
        }
        call(setup_->options.on_expire, *e);
        e.reset();
        const hold lock = acquire();
        if (--in_flight_ == 0)
            idle_.notify_all();
    }

    void report(departures &out) const {
        const auto &options = setup_->options;
        if (out.replaced.has_expired && out.replaced.who != nullptr)
            call(options.on_expire, *out.replaced.who);
        if (out.pushed_out.who != nullptr)
            call(out.pushed_out.has_expired ? options.on_expire : options.on_evict, *out.pushed_out.who);
    }

    void call(const std::function<void(const Key &, Value &)> &callback, entry &e) const noexcept {
        try {
            if (callback)
                callback(e.key, e.value);
        } catch (...) {
            setup_->options.on_exception(std::current_exception());
        }
    }

    const setup *setup_ = nullptr;

    std::mutex mutex_;  // guards all members below
    linear_hash_table<entry> table_;
    use_link
        uses_;  // .older: the entry used last; .newer: the one used least recently. Unused without a bound
    load_list<Key, Value> loads_;
    std::size_t size_ = 0;  // listed entries
    ttl_map_stats seen_;    // without its size
    std::uint64_t random_ = 0;
    std::size_t in_flight_ = 0;
    std::condition_variable idle_;  // in_flight_ has become 0
    bool closing_ = false;
};

}  // namespace tickwheel::detail

#endif

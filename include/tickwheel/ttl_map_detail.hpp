// What ttl_map.hpp is made of: the clock that times to live count on, what is looked up by,
// buckets, the ring that knows what was used last, and loaders that run. Not for use by itself.
#include <tickwheel/cplusplus.hpp>
#if defined(TICKWHEEL_CPLUSPLUS_20) && !defined(TICKWHEEL_TTL_MAP_DETAIL_HPP)
#define TICKWHEEL_TTL_MAP_DETAIL_HPP

#include <array>
#include <bit>
#include <cerrno>
#include <concepts>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include <tickwheel/chrono.hpp>
#include <tickwheel/runtime.h>

namespace tickwheel::detail {

// The finaliser of splitmix64: every bit of x counts for every bit of the result.
inline std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

// The clock that a runtime counts delays on. That is tw_runtime_now, except on the wall
// clock: there it is read off a node that is due at the end of time.
class delay_clock {
  public:
    explicit delay_clock(tw_runtime *rt) : rt_(rt) {
        tw_node_init(
            &end_, [](tw_node *, void *) {}, nullptr);
        check(tw_runtime_at(rt, &end_, TW_NO_DEADLINE - 1));
        is_wall_ = tw_runtime_postpone(rt, &end_, 0) == -EINVAL;
        if (is_wall_)
            tw_runtime_after(rt, &end_, TW_NO_DEADLINE);
        else
            tw_runtime_cancel(rt, &end_);
    }
    ~delay_clock() { tw_runtime_cancel_wait(rt_, &end_); }
    delay_clock(const delay_clock &) = delete;
    delay_clock &operator=(const delay_clock &) = delete;

    std::int64_t now() const {
        return is_wall_ ? TW_NO_DEADLINE - tw_runtime_remaining(rt_, &end_) : tw_runtime_now(rt_);
    }

  private:
    tw_runtime *rt_;
    tw_node end_;
    bool is_wall_;
};

// Whether lookups take what is no key as it is.
template <class Hash, class Equal>
concept transparent = requires {
    typename Hash::is_transparent;
    typename Equal::is_transparent;
};

// What a map of these is asked for.
template <class K, class Key, class Hash, class Equal>
concept lookup_key = std::same_as<K, Key> ||
    (transparent<Hash, Equal> ? std::invocable<const Hash &, const K &>
                              : std::constructible_from<Key, const K &>);

// Buckets of chained entries (with members `next` and `hash`), by linear hashing: there are
// at least as many buckets as entries, and a new one takes its share from one other. So no
// insertion pays for moving them all. Buckets do not become fewer.
template <class Entry> class bucket_array {
  public:
    bucket_array() { segments_[0] = std::make_unique<Entry *[]>(first); }

    std::size_t count() const { return count_; }
    Entry *&at(std::size_t i) {
        return i < first ? segments_[0][i] : segments_[segment_of(i)][i - std::bit_floor(i)];
    }
    Entry *&of(std::uint64_t hash) { return at(index_of(hash)); }

    // So that there is a bucket for each of `entries`.
    void make_room_for(std::size_t entries) {
        if (entries <= count_)
            return;
        if (std::has_single_bit(count_))
            segments_[segment_of(count_)] = std::make_unique_for_overwrite<Entry *[]>(count_);
        ++count_;
        at(count_ - 1) = nullptr;
        divide(count_ - 1 - std::bit_floor(count_ - 1));
    }

    void insert(Entry &e) {
        e.next = of(e.hash);
        of(e.hash) = &e;
    }

    void remove(const Entry &e) {
        Entry **link = &of(e.hash);
        while (*link != &e)
            link = &(*link)->next;
        *link = e.next;
    }

  private:
    static constexpr std::size_t first = 16;  // buckets in segment 0; segment n has first * 2^(n-1)

    static std::size_t segment_of(std::size_t i) {
        return static_cast<std::size_t>(std::bit_width(i) - std::bit_width(first)) + 1;
    }

    std::size_t index_of(std::uint64_t hash) const {
        const std::size_t low = std::bit_floor(count_);
        const std::size_t i = static_cast<std::size_t>(hash) & (2 * low - 1);
        return i < count_ ? i : i - low;
    }

    void divide(std::size_t i) {
        for (Entry *e = std::exchange(at(i), nullptr); e != nullptr;)
            insert(*std::exchange(e, e->next));
    }

    std::size_t count_ = first;
    std::array<std::unique_ptr<Entry *[]>, std::numeric_limits<std::size_t>::digits> segments_;
};

struct use_link {  // in a ring by last use
    use_link *newer = this, *older = this;

    void leave() {  // NOLINT(readability-make-member-function-const)
        newer->older = older;
        older->newer = newer;
    }
    void join_before(use_link &other) {  // as its next older one
        newer = &other;
        older = other.older;
        older->newer = other.older = this;
    }
};

// The loaders that run in one shard, for keys whose result is to be kept. As many as threads
// load, so they are looked through one by one. All but `result` with the shard's lock held.
template <class Key, class Value> class loads {
  public:
    // Its result is written by the thread that loads, before the end, and not after it.
    struct one : std::enable_shared_from_this<one> {
        std::uint64_t hash;
        Key key;
        std::thread::id by = std::this_thread::get_id();
        bool has_ended = false;
        std::optional<Value> value{};
        std::exception_ptr error{};
        std::condition_variable ended{};
        std::shared_ptr<one> next{};

        one(std::uint64_t h, const Key &k) : hash(h), key(k) {}

        void end() {
            has_ended = true;
            ended.notify_all();
        }

        // Waits for the end; lets go of the lock.
        Value result(std::unique_lock<std::mutex> &lock) {
            const auto myself = this->shared_from_this();
            if (by == std::this_thread::get_id())
                throw std::system_error(std::make_error_code(std::errc::resource_deadlock_would_occur));
            ended.wait(lock, [this] { return has_ended; });
            lock.unlock();
            if (error != nullptr)
                std::rethrow_exception(error);
            return *value;
        }
    };

    std::shared_ptr<one> begin(std::uint64_t hash, const Key &key) {
        auto fresh = std::make_shared<one>(hash, key);
        fresh->next = std::move(first_);
        first_ = fresh;
        return fresh;
    }

    template <class K, class Equal> one *find(std::uint64_t hash, const K &key, const Equal &equal) const {
        one *each = first_.get();
        while (each != nullptr && !(each->hash == hash && equal(each->key, key)))
            each = each->next.get();
        return each;
    }

    // True if it was to be kept so far.
    bool forget(const one &which) {
        std::shared_ptr<one> *link = &first_;
        while (*link != nullptr && link->get() != &which)
            link = &(*link)->next;
        if (*link == nullptr)
            return false;
        *link = std::shared_ptr<one>(std::move((*link)->next));
        return true;
    }
    void forget_all() { first_.reset(); }

  private:
    std::shared_ptr<one> first_;
};

}  // namespace tickwheel::detail

#endif

// tickwheel/ttl_map/containers.hpp - the hash table and the ring of last use that hold the entries
// of a shard. Part of ttl_map.hpp. Neither has a lock: the shard's is held.
#include <tickwheel/cplusplus.hpp>
#if defined(TICKWHEEL_CPLUSPLUS_20) && !defined(TICKWHEEL_TTL_MAP_CONTAINERS_HPP)
#define TICKWHEEL_TTL_MAP_CONTAINERS_HPP

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

namespace tickwheel::detail {

// The finaliser of splitmix64: every bit of x affects every bit of the result.
inline std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

// A hash table of chained entries, which have members `next` and `hash`. It grows by linear
// hashing: there are at least as many buckets as entries, and each new bucket takes its entries
// from one other bucket. So no insertion moves all entries. The table never shrinks.
template <class Entry> class linear_hash_table {
  public:
    linear_hash_table() { segments_[0] = std::make_unique<Entry *[]>(first_size); }

    std::size_t bucket_count() const { return bucket_count_; }

    // The first entry of bucket i, or null.
    Entry *&bucket(std::size_t i) {
        return i < first_size ? segments_[0][i] : segments_[segment_of(i)][i - std::bit_floor(i)];
    }
    Entry *&bucket_of(std::uint64_t hash) { return bucket(index_of(hash)); }

    // Adds a bucket if there are fewer than `entries`. May throw std::bad_alloc, and has then
    // changed nothing.
    void make_room_for(std::size_t entries) {
        if (entries <= bucket_count_)
            return;
        if (std::has_single_bit(bucket_count_))
            segments_[segment_of(bucket_count_)] = std::make_unique_for_overwrite<Entry *[]>(bucket_count_);
        ++bucket_count_;
        bucket(bucket_count_ - 1) = nullptr;
        rehash(bucket_count_ - 1 - std::bit_floor(bucket_count_ - 1));
    }

    void insert(Entry &e) {
        e.next = bucket_of(e.hash);
        bucket_of(e.hash) = &e;
    }

    void remove(const Entry &e) {
        Entry **link = &bucket_of(e.hash);
        while (*link != &e)
            link = &(*link)->next;
        *link = e.next;
    }

  private:
    static constexpr std::size_t first_size = 16;  // of segment 0; segment n has first_size * 2^(n-1)

    static std::size_t segment_of(std::size_t i) {
        return static_cast<std::size_t>(std::bit_width(i) - std::bit_width(first_size)) + 1;
    }

    std::size_t index_of(std::uint64_t hash) const {
        const std::size_t low = std::bit_floor(bucket_count_);
        const std::size_t i = static_cast<std::size_t>(hash) & (2 * low - 1);
        return i < bucket_count_ ? i : i - low;
    }

    void rehash(std::size_t i) {
        for (Entry *e = std::exchange(bucket(i), nullptr); e != nullptr;)
            insert(*std::exchange(e, e->next));
    }

    std::size_t bucket_count_ = first_size;
    std::array<std::unique_ptr<Entry *[]>, std::numeric_limits<std::size_t>::digits> segments_;
};

// A link of a ring that is ordered by last use. A link alone is a ring of its own.
struct use_link {
    use_link *newer = this, *older = this;

    void leave() {  // NOLINT(readability-make-member-function-const)
        newer->older = older;
        older->newer = newer;
    }

    // Joins the ring of `other` as its next older link.
    void join_before(use_link &other) {
        newer = &other;
        older = other.older;
        older->newer = other.older = this;
    }
};

}  // namespace tickwheel::detail

#endif

// See key_table.hpp.
#include "key_table.hpp"

#include <sys/mman.h>
#include <sys/random.h>

#include <bit>
#include <cassert>
#include <cerrno>

#include "runtime/no_thread_cancel.hpp"

namespace tickwheel::timers {

namespace {

constexpr std::uint32_t smallest = 512;  // buckets: a page

// The number of buckets that one call moves. A move of n buckets is over after n / 8 calls, and the table,
// which doubles when half of its buckets are in use, grows again only after n / 2 new keys.
constexpr std::uint32_t buckets_a_step = 8;

// The memory of moved buckets returns to the system in pieces of this many buckets, because unmapping
// megabytes at once takes long (P8). A multiple of buckets_a_step and, in bytes, of any page size.
constexpr std::uint32_t buckets_given_back = 8192;

constexpr std::uint64_t domain_of_numbers = 0xee;  // so that numbers hash apart from strings

int draw(sip_seed &seed) {
    const runtime::no_thread_cancel guard;
    ssize_t drawn;
    do
        drawn = getrandom(&seed, sizeof seed, 0);
    while (drawn < 0 && errno == EINTR);
    return drawn < 0 ? -errno : 0;
}

}  // namespace

// P8: mmap gives zeroed pages at no cost; calloc might clear megabytes of recycled heap.
int bucket_array::open(std::uint32_t size) {
    void *const pages =
        mmap(nullptr, size * sizeof(bucket), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        return -ENOMEM;
    buckets_ = static_cast<bucket *>(pages);
    mask_ = size - 1;
    return 0;
}

void bucket_array::close() {
    if (buckets_ != nullptr)
        munmap(buckets_, size() * sizeof(bucket));
    buckets_ = nullptr;
}

void bucket_array::insert(std::uint32_t hash, std::uint32_t number) {
    std::uint32_t i = home(hash);
    while (buckets_[i].number_plus_1 != 0)
        i = (i + 1) & mask_;
    buckets_[i] = {hash, number + 1};
}

// Moves up the buckets after the hole, but none past its own home.
void bucket_array::erase(std::uint32_t hole) {
    for (std::uint32_t i = (hole + 1) & mask_; buckets_[i].number_plus_1 != 0; i = (i + 1) & mask_) {
        const std::uint32_t searched = (i - buckets_[i].hash) & mask_;
        if (searched >= ((i - hole) & mask_)) {
            buckets_[hole] = buckets_[i];
            hole = i;
        }
    }
    buckets_[hole].number_plus_1 = 0;
}

void bucket_array::move_to(bucket_array &other, std::uint32_t i) {
    while (buckets_[i].number_plus_1 != 0) {
        other.insert(buckets_[i].hash, number(i));
        erase(i);
    }
}

// A failure does no harm, because `close` unmaps everything.
void bucket_array::give_back(std::uint32_t from, std::uint32_t to) {
    madvise(buckets_ + from, (to - from) * sizeof(bucket), MADV_DONTNEED);
}

int key_table::open(std::uint32_t capacity) {
    if (const int error = draw(seed_); error != 0)
        return error;
    grows_ = capacity == 0;
    bucket_array buckets;
    if (const int error = buckets.open(grows_ ? smallest : std::bit_ceil(2 * capacity)); error != 0)
        return error;
    use(buckets);
    return 0;
}

void key_table::use(const bucket_array &buckets) {
    buckets_ = buckets;
    prefetched_.store(buckets.buckets(), std::memory_order_relaxed);
    prefetched_mask_.store(buckets.size() - 1, std::memory_order_relaxed);
}

void key_table::close() {
    buckets_.close();
    old_.close();
}

std::uint32_t key_table::hash(const tw_key &key) const {
    const bool number = key.is_number != 0;
    siphash<1, 3> sip(seed_, number ? domain_of_numbers : 0);
    return static_cast<std::uint32_t>(number ? sip.of(&key.number, sizeof key.number)
                                             : sip.of(key.bytes, key.size));
}

int key_table::reserve_one() {
    if (!grows_ || count_ < buckets_.size() / 2)
        return 0;
    assert(!old_.is_open());
    bucket_array larger;
    if (const int error = larger.open(2 * buckets_.size()); error != 0)
        return error;
    old_ = buckets_;
    old_left_ = old_.size();
    use(larger);
    return 0;
}

void key_table::insert(std::uint32_t hash, std::uint32_t number) {
    assert(count_ < buckets_.size() / 2 || !grows_);
    move_some();
    buckets_.insert(hash, number);
    ++count_;
}

void key_table::erase(std::uint32_t hash, std::uint32_t number) {
    const auto same = [number](std::uint32_t other) { return other == number; };
    if (const std::uint32_t i = buckets_.find(hash, same); i != none)
        buckets_.erase(i);
    else if (const std::uint32_t old = may_be_old(hash) ? old_.find(hash, same) : none; old != none)
        old_.erase(old);
    else
        return;
    --count_;
    move_some();
}

// Moves buckets from the last one down, so the buckets after the moved one are empty and nothing moves up
// into its place. The exception is a run of buckets that wraps around to the front.
void key_table::move_some() {
    if (!old_.is_open())
        return;
    for (std::uint32_t i = 0; i < buckets_a_step; ++i)
        old_.move_to(buckets_, --old_left_);
    if (old_left_ == 0)
        old_.close();
    else if (old_left_ % buckets_given_back == 0)
        old_.give_back(old_left_, old_left_ + buckets_given_back);
}

}  // namespace tickwheel::timers

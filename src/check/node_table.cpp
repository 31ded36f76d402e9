// The table of node_table.hpp: a chained hash table, divided into stripes that have a mutex each.
#include "node_table.hpp"

#include <pthread.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <cstring>

#include "base/kept_errno.hpp"
#include "base/mutex.hpp"

namespace tickwheel::check {

namespace {

// --- memory: objects of one size, allocated from chunks and reused ----------------------------

// The first memory is static, so that the checks of most programs need none from the system.
constexpr std::size_t arena_size = 1 << 20, alignment = 64;
alignas(alignment) char arena[arena_size];
std::atomic<std::size_t> arena_used{0};

// Null if there is not enough left.
void *from_arena(std::size_t size) {
    size = (size + alignment - 1) / alignment * alignment;
    std::size_t used = arena_used.load(std::memory_order_relaxed);
    do
        if (size > arena_size - used)
            return nullptr;
    while (!arena_used.compare_exchange_weak(used, used + size, std::memory_order_relaxed));
    return arena + used;
}

template <class T> class supply {
  public:
    T *take() {
        if (spare_ == nullptr)
            refill();
        T *const taken = spare_;
        if (taken != nullptr)
            std::memcpy(&spare_, static_cast<void *>(taken), sizeof(void *));
        return taken;
    }
    void give_back(T *freed) {
        std::memcpy(static_cast<void *>(freed), &spare_, sizeof(void *));
        spare_ = freed;
    }

  private:
    // Each chunk is twice as large as the one before, up to `most` objects.
    void refill() {
        auto *const chunk = static_cast<T *>(memory_for_good(next_ * sizeof(T)));
        for (std::size_t i = 0; chunk != nullptr && i < next_; ++i)
            give_back(chunk + i);
        if (next_ < most)
            next_ *= 2;
    }
    static constexpr std::size_t most = 4096;
    std::size_t next_ = 8;
    T *spare_ = nullptr;
};

// --- nodes --------------------------------------------------------------------------------------

std::uint64_t hash_of(const void *address) {
    return (reinterpret_cast<std::uintptr_t>(address) >> 3) * std::uint64_t{0x9E3779B97F4A7C15};
}

struct buckets {
    watched_node **first = nullptr;
    std::size_t count = 0;  // a power of two, or 0

    // REQUIRES: count != 0
    watched_node *&of(const tw_node *node) const { return first[(hash_of(node) >> 24) & (count - 1)]; }
};

struct stripe {
    base::mutex mutex = {PTHREAD_MUTEX_INITIALIZER};
    buckets chains TW_GUARDED_BY(mutex);
    std::size_t count TW_GUARDED_BY(mutex) = 0;  // nodes
    supply<watched_node> nodes TW_GUARDED_BY(mutex);
};

constexpr unsigned stripe_bits = 5;
stripe stripes[1 << stripe_bits];

stripe &stripe_of(const tw_node *node) { return stripes[hash_of(node) >> (64 - stripe_bits)]; }

// Doubles the number of buckets. If there is no memory for that, the chains get longer.
void grow(stripe &in) TW_REQUIRES(in.mutex) {
    const std::size_t count = in.chains.count == 0 ? 16 : 2 * in.chains.count;
    const buckets larger = {static_cast<watched_node **>(memory_for_good(count * sizeof(void *))), count};
    if (larger.first == nullptr)
        return;
    for (std::size_t i = 0; i < in.chains.count; ++i)
        while (watched_node *const watched = in.chains.first[i]) {
            in.chains.first[i] = watched->next_in_bucket;
            watched_node *&chain = larger.of(watched->node);
            watched->next_in_bucket = chain;
            chain = watched;
        }
    in.chains = larger;  // we never free the former buckets: all of them together are fewer than the new ones
}

// Null if there is no memory.
watched_node *put(const tw_node *node) {
    stripe &in = stripe_of(node);
    const base::mutex_hold lock(&in.mutex);
    if (in.count >= in.chains.count)
        grow(in);
    watched_node *const watched = in.chains.count != 0 ? in.nodes.take() : nullptr;
    if (watched == nullptr)
        return nullptr;
    watched_node *&chain = in.chains.of(node);
    *watched = {};
    watched->node = node;
    watched->next_in_bucket = chain;
    chain = watched;
    ++in.count;
    return watched;
}

void take_out(watched_node *watched) {
    stripe &in = stripe_of(watched->node);
    const base::mutex_hold lock(&in.mutex);
    watched_node **link = &in.chains.of(watched->node);
    while (*link != watched)
        link = &(*link)->next_in_bucket;
    *link = watched->next_in_bucket;
    --in.count;
    in.nodes.give_back(watched);
}

// --- wheels ---------------------------------------------------------------------------------------

base::mutex wheels_mutex = {PTHREAD_MUTEX_INITIALIZER};
watched_wheel *wheels[256] TW_GUARDED_BY(wheels_mutex);
supply<watched_wheel> wheel_supply TW_GUARDED_BY(wheels_mutex);

watched_wheel **bucket_of(const tw *wheel) TW_REQUIRES(wheels_mutex) { return &wheels[hash_of(wheel) >> 56]; }

watched_wheel **link_to(const tw *wheel) TW_REQUIRES(wheels_mutex) {
    watched_wheel **link = bucket_of(wheel);
    while (*link != nullptr && (*link)->wheel != wheel)
        link = &(*link)->next;
    return link;
}

void forget_at(watched_wheel **link) TW_REQUIRES(wheels_mutex) {
    watched_wheel *const gone = *link;
    while (watched_node *const watched = gone->first) {
        gone->first = watched->next;
        take_out(watched);
    }
    *link = gone->next;
    wheel_supply.give_back(gone);
}

// --- fork: the child finds the table as it was, and its mutexes free --------------------------------

// Both unchecked: clang cannot count locks taken in a loop.
void lock_all() TW_UNCHECKED_LOCKING {
    wheels_mutex.lock();
    for (stripe &each : stripes)
        each.mutex.lock();
}

void unlock_all() TW_UNCHECKED_LOCKING {
    for (stripe &each : stripes)
        each.mutex.unlock();
    wheels_mutex.unlock();
}

// Registered before main, and so before the handlers that lock wheels: fork locks in the reverse order, the
// wheels first.
__attribute__((constructor)) void survive_forks() { pthread_atfork(lock_all, unlock_all, unlock_all); }

}  // namespace

void *memory_for_good(std::size_t size) {
    if (void *const memory = from_arena(size); memory != nullptr)
        return memory;
    const base::kept_errno kept;
    void *const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory != MAP_FAILED ? memory : nullptr;
}

watched_node *find(const tw_node *node) {
    stripe &in = stripe_of(node);
    const base::mutex_hold lock(&in.mutex);
    watched_node *watched = in.chains.count != 0 ? in.chains.of(node) : nullptr;
    while (watched != nullptr && watched->node != node)
        watched = watched->next_in_bucket;
    return watched;
}

watched_wheel *find_or_add_wheel(const tw *wheel) {
    const base::mutex_hold lock(&wheels_mutex);
    watched_wheel **const link = link_to(wheel);
    if (*link == nullptr) {
        watched_wheel *const made = wheel_supply.take();
        if (made == nullptr)
            return nullptr;
        *made = {};
        made->wheel = wheel;
        *link = made;
    }
    return *link;
}

watched_node *add(const tw_node *node) {
    watched_wheel *const wheel = find_or_add_wheel(wheel_of(*node, node));
    watched_node *const watched = wheel != nullptr ? put(node) : nullptr;
    if (watched == nullptr)
        return nullptr;
    watched->wheel = wheel;
    watched->next = wheel->first;
    if (watched->next != nullptr)
        watched->next->previous = watched;
    wheel->first = watched;
    return watched;
}

void remove(watched_node *watched) {
    watched_wheel &wheel = *watched->wheel;
    (watched->previous != nullptr ? watched->previous->next : wheel.first) = watched->next;
    if (watched->next != nullptr)
        watched->next->previous = watched->previous;
    if (wheel.next_to_look_at == watched)
        wheel.next_to_look_at = watched->next;
    const bool is_last = wheel.first == nullptr && !wheel.is_lasting && wheel.made_again == nullptr;
    take_out(watched);
    if (is_last)
        forget(wheel.wheel);
}

watched_wheel *find_wheel(const tw *wheel) {
    const base::mutex_hold lock(&wheels_mutex);
    return *link_to(wheel);
}

void forget(const tw *wheel) {
    const base::mutex_hold lock(&wheels_mutex);
    if (watched_wheel **const link = link_to(wheel); *link != nullptr)
        forget_at(link);
}

void forget_overlapping(const tw *wheel) {
    const auto begin = reinterpret_cast<std::uintptr_t>(wheel);
    const base::mutex_hold lock(&wheels_mutex);
    for (watched_wheel *&bucket : wheels)
        for (watched_wheel **link = &bucket; *link != nullptr;) {
            const auto at = reinterpret_cast<std::uintptr_t>((*link)->wheel);
            if (at - begin < sizeof(tw) || begin - at < sizeof(tw))
                forget_at(link);
            else
                link = &(*link)->next;
        }
}

// Does not hold the wheels' locks, so another thread may change the nodes during the comparison. Call it only
// to explain an error that stops the program anyway.
const tw_node *find_alike(const tw_node &node) {
    constexpr std::size_t links = offsetof(tw_node, expiry);
    for (stripe &in : stripes) {
        const base::mutex_hold lock(&in.mutex);
        for (std::size_t i = 0; i < in.chains.count; ++i)
            for (const watched_node *watched = in.chains.first[i]; watched != nullptr;
                 watched = watched->next_in_bucket)
                if (std::memcmp(reinterpret_cast<const char *>(&watched->seen) + links,
                                reinterpret_cast<const char *>(&node) + links, sizeof node - links) == 0)
                    return watched->node;
    }
    return nullptr;
}

}  // namespace tickwheel::check

// src/timers/key_table.hpp and siphash.hpp: the hash table behind keyed.h.
#include "timers/key_table.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <utility>
#include <vector>

#include "support/random.h"
#include "support/test.h"

namespace {

using tickwheel::timers::key_table;
using tickwheel::timers::sip_seed;
using tickwheel::timers::siphash;
using hash_function = std::uint32_t (*)(std::uint64_t key);

int allocations_left = INT32_MAX, allocations, interruptions, random_error;
std::size_t live, given_back;  // bytes
bool has_fixed_seed;
constexpr tickwheel::timers::sip_seed fixed_seed = {
    64650, 0};  // a seed for which two strings of one byte have the same hash

}  // namespace

// Replaces the system calls that the table makes (-Wl,--wrap).
extern "C" {
void *__real_mmap64(void *at, size_t size, int protection, int flags, int fd, off_t offset);
int __real_munmap(void *memory, size_t size);
int __real_madvise(void *memory, size_t size, int advice);
ssize_t __real_getrandom(void *buffer, size_t size, unsigned flags);

void *__wrap_mmap64(void *at, size_t size, int protection, int flags, int fd, off_t offset) {
    if (allocations_left == 0)
        return MAP_FAILED;
    --allocations_left;
    ++allocations;
    live += size;
    return __real_mmap64(at, size, protection, flags, fd, offset);
}
int __wrap_munmap(void *memory, size_t size) {
    live -= size;
    return __real_munmap(memory, size);
}
int __wrap_madvise(void *memory, size_t size, int advice) {
    assert_int_equal(
        reinterpret_cast<std::uintptr_t>(memory) % static_cast<std::size_t>(sysconf(_SC_PAGESIZE)), 0);
    given_back += size;
    return __real_madvise(memory, size, advice);
}
ssize_t __wrap_getrandom(void *buffer, size_t size, unsigned flags) {
    if (has_fixed_seed) {
        std::memcpy(buffer, &fixed_seed, sizeof fixed_seed);
        return static_cast<ssize_t>(size);
    }
    if (interruptions > 0) {
        --interruptions;
        errno = EINTR;
        return -1;
    }
    if (random_error != 0) {
        errno = random_error;
        return -1;
    }
    return __real_getrandom(buffer, size, flags);
}
}

namespace {

// Compares a key_table with a std::unordered_map. Keys are numbers, and each gets a cell number that is used
// once.
class checked_table {
  public:
    checked_table(std::uint32_t capacity, hash_function hash) : hash_(hash) {
        assert_int_equal(table_.open(capacity), 0);
    }
    ~checked_table() { table_.close(); }
    checked_table(const checked_table &) = delete;
    checked_table &operator=(const checked_table &) = delete;

    void set(std::uint64_t key) {
        assert_int_equal(table_.reserve_one(), 0);
        insert(key);
    }
    void insert(std::uint64_t key) {
        const auto cell = static_cast<std::uint32_t>(keys_.size());
        keys_.push_back(key);
        table_.insert(hash_(key), cell);
        cells_[key] = cell;
    }
    void remove(std::uint64_t key) {
        table_.erase(hash_(key), cells_.at(key));
        cells_.erase(key);
    }
    bool has(std::uint64_t key) const { return cells_.count(key) != 0; }

    void check(std::uint64_t key) const {
        const auto expected = cells_.find(key);
        assert_int_equal(find(key),
                         expected == cells_.end() ? tickwheel::timers::key_table::none : expected->second);
    }
    void check_all() const {
        assert_int_equal(table_.count(), cells_.size());
        for (const auto &[key, cell] : cells_)
            assert_int_equal(find(key), cell);
    }
    std::size_t count() const { return cells_.size(); }
    tickwheel::timers::key_table &itself() { return table_; }

  private:
    std::uint32_t find(std::uint64_t key) const {
        return table_.find(hash_(key), [&](std::uint32_t cell) { return keys_.at(cell) == key; });
    }

    hash_function hash_;
    tickwheel::timers::key_table table_;
    std::unordered_map<std::uint64_t, std::uint32_t> cells_;
    std::vector<std::uint64_t> keys_;  // by cell
};

// Hashes, from good to worse.
std::uint32_t spread(std::uint64_t key) { return static_cast<std::uint32_t>(random_next(&key)); }
std::uint32_t clustered(std::uint64_t key) { return static_cast<std::uint32_t>(key); }
std::uint32_t at_the_end(std::uint64_t key) { return UINT32_MAX - static_cast<std::uint32_t>(key % 5); }
std::uint32_t few(std::uint64_t key) { return static_cast<std::uint32_t>(key % 7) * 0x10001u; }
std::uint32_t one(std::uint64_t) { return 0; }

// Sets random absent keys and removes present ones. Setting and removing prevail in turn, so the table fills
// and empties.
void go_random(checked_table &table, std::uint64_t seed, std::uint64_t keys, std::size_t most,
               int operations) {
    print_message("seed %llu\n", static_cast<unsigned long long>(seed));
    for (int i = 0; i < operations; ++i) {
        const bool filling = i / 1000 % 3 != 2;
        const std::uint64_t key = random_below(&seed, keys);
        table.check(key);
        if (table.has(key)) {
            if (!filling || random_below(&seed, 4) == 0)
                table.remove(key);
        } else if (table.count() < most) {
            table.set(key);
        }
        table.check(key);
        if (i % 1000 == 0)
            table.check_all();
    }
    table.check_all();
}

void nothing(const tw_event *, void *) {}

void assert_told_apart(tw_keyed *keyed, const tw_key (&keys)[2]) {
    for (const tw_key &key : keys)
        assert_int_equal(tw_keyed_after(keyed, key, TW_SECOND, nothing, const_cast<tw_key *>(&key)), 0);
    for (const tw_key &key : keys) {
        tw_entry timer;
        assert_int_equal(tw_keyed_get(keyed, key, &timer), 0);
        assert_ptr_equal(timer.arg, &key);
    }
    for (const tw_key &key : keys)
        assert_int_equal(tw_keyed_cancel(keyed, key), 1);
}

// Numbers, and strings of 1, 8, 12 and 20 bytes, which `text` holds.
tw_key key_of(std::uint64_t i, char (&text)[20]) {
    const std::size_t sizes[] = {0, 8, i < 1024 ? 1u : 12u, 20};
    const std::uint64_t number = i / 4;
    std::memset(text, 0, sizeof text);
    std::memcpy(text, &number, sizeof number);
    return i % 4 == 0 ? tw_key_number(number) : tw_key_bytes(text, sizes[i % 4]);
}

// Published values of SipHash-2-4, and CPython's values of SipHash-1-3 with a seed of 0.
TEST(siphash_is_that_of_other_implementations) {
    const struct {
        std::size_t size;
        std::uint64_t hash;
    } vectors[] = {{0, 0x726fdb47dd0e0e31}, {1, 0x74f839c593dc67fd},  {7, 0xab0200f58b01d137},
                   {8, 0x93f5f5799a932462}, {15, 0xa129ca6149be45e5}, {63, 0x958a324ceb064572}};
    unsigned char bytes[64];
    for (unsigned char i = 0; i < sizeof bytes; ++i)
        bytes[i] = i;
    const tickwheel::timers::sip_seed seed{0x0706050403020100, 0x0f0e0d0c0b0a0908};
    for (const auto &each : vectors)
        assert_true((tickwheel::timers::siphash<2, 4>(seed).of(bytes, each.size) == each.hash));
    assert_true((tickwheel::timers::siphash<1, 3>({0, 0}).of(bytes, 9) == 0x75927f9d95124362));
    assert_true((tickwheel::timers::siphash<1, 3>({0, 0}).of(bytes, 16) == 0x8972188433a5c5b7));
}

TEST(table_hashes_keys_apart_with_a_secret_of_its_own) {
    tickwheel::timers::key_table tables[2];
    tickwheel::timers::key_table &table = tables[0];
    unsigned as_other_table = 0, as_string = 0, as_shorter = 0;
    const char text[] = "0123456789abcdefX", same_start[] = "0123456789abcdefY";
    for (key_table &each : tables)
        assert_int_equal(each.open(0), 0);
    for (std::uint64_t key = 0; key < 100; ++key) {
        const std::uint32_t hash = table.hash(tw_key_number(key));
        assert_int_equal(hash, table.hash(tw_key_number(key)));
        as_other_table += hash == tables[1].hash(tw_key_number(key));
        as_string += hash == table.hash(tw_key_bytes(&key, sizeof key));
    }
    for (std::size_t size = 0; size < 17; ++size)
        as_shorter += table.hash(tw_key_bytes(text, size)) == table.hash(tw_key_bytes(text, size + 1));
    as_shorter += table.hash(tw_key_bytes(text, 17)) == table.hash(tw_key_bytes(same_start, 17));
    assert_in_range(as_other_table, 0, 3);
    assert_in_range(as_string, 0, 3);
    assert_in_range(as_shorter, 0, 2);
    assert_int_equal(table.hash(tw_key_bytes(text, 16)), table.hash(tw_key_bytes(same_start, 16)));
    assert_int_equal(table.hash(tw_key_bytes(nullptr, 0)), table.hash(tw_key_bytes(text, 0)));
    for (key_table &each : tables)
        each.close();
}

TEST(table_is_as_a_map_while_it_grows) {
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        checked_table table(0, spread);
        go_random(table, seed, 8000, SIZE_MAX, 40'000);
    }
}

TEST(table_is_as_a_map_when_hashes_collide) {
    for (hash_function hash : {clustered, at_the_end, few, one})
        for (std::uint64_t seed = 11; seed <= 13; ++seed) {
            checked_table table(0, hash);
            go_random(table, seed, 1000, SIZE_MAX, 9000);
        }
}

TEST(table_with_a_capacity_fills_up_to_it_and_allocates_once) {
    for (std::uint32_t capacity : {1u, 2u, 3u, 64u, 100u, 1000u}) {
        const int before = allocations;
        checked_table table(capacity, spread);
        for (std::uint64_t key = 0; key < capacity; ++key)
            table.set(key);
        table.check_all();
        assert_int_equal(table.itself().reserve_one(), 0);  // as before replacing a key
        go_random(table, capacity, 2 * capacity, capacity, 10'000);
        assert_false(table.itself().growing());
        assert_int_equal(allocations, before + 1);
    }
}

TEST(table_does_not_wear_out) {
    checked_table table(64, spread);
    for (std::uint64_t key = 0; key < 100'000; ++key) {
        table.set(key);
        if (key >= 60)
            table.remove(key - 60);
        table.check(key + 1);
    }
    table.check_all();
}

// P8: no insert moves all buckets, and yet all have moved long before the table grows again.
TEST(p8_table_grows_in_small_steps) {
    checked_table table(0, spread);
    std::uint64_t key = 0;
    for (unsigned cells = 512; cells <= 1u << 18; cells *= 2) {
        while (table.count() < cells / 2)
            table.set(key++);
        assert_false(table.itself().growing());
        unsigned steps = 0;
        do
            table.set(key++), ++steps;
        while (table.itself().growing());
        assert_int_equal(steps, cells / 8);
    }
    table.check_all();
}

TEST(table_grows_on_while_keys_are_removed) {
    checked_table table(0, spread);
    std::uint64_t key = 0;
    while (table.count() < 512)
        table.set(key++);
    table.set(key++);
    assert_true(table.itself().growing());
    for (std::uint64_t removed = 0; table.itself().growing(); ++removed) {
        table.remove(removed);
        table.check(removed);
        table.check_all();
    }
    assert_in_range(table.count(), 512 - 128, 512);
}

TEST(table_without_memory_stays_as_it_is) {
    checked_table table(0, spread);
    std::uint64_t key = 0;
    int failures = 0;
    for (allocations_left = 0; table.count() < 2000; allocations_left = 0) {
        const bool room = table.itself().reserve_one() == 0;
        if (!room) {
            ++failures;
            table.check_all();
            assert_false(table.itself().growing());
            assert_int_equal(table.itself().reserve_one(), -ENOMEM);
            allocations_left = 1;
            assert_int_equal(table.itself().reserve_one(), 0);
        }
        table.insert(key++);
    }
    allocations_left = INT32_MAX;
    table.check_all();
    assert_int_equal(failures, 3);  // at 256, 512 and 1024
}

TEST(table_is_not_opened_without_memory_or_a_secret) {
    tickwheel::timers::key_table table;
    allocations_left = 0;
    assert_int_equal(table.open(0), -ENOMEM);
    assert_int_equal(table.open(1000), -ENOMEM);
    allocations_left = INT32_MAX;
    random_error = ENOSYS;
    assert_int_equal(table.open(0), -ENOSYS);
    random_error = 0;
    table.close();
    interruptions = 3;
    assert_int_equal(table.open(0), 0);
    assert_int_equal(interruptions, 0);
    table.close();
}

// A growing table gives back, page by page, the buckets that it has moved; the end gives back everything.
TEST(table_gives_all_memory_back) {
    constexpr std::uint32_t large = 1 << 14;
    const std::size_t before = live;
    for (const bool closes_while_growing : {false, true}) {
        tickwheel::timers::key_table table;
        assert_int_equal(table.open(0), 0);
        std::uint32_t cell = 0;
        while (cell < large || !table.growing()) {
            assert_int_equal(table.reserve_one(), 0);
            table.insert(spread(cell), cell);
            ++cell;
        }
        assert_int_equal(live, before + 8 * 6 * large);
        given_back = 0;
        for (; table.growing() && !closes_while_growing; ++cell)
            table.insert(spread(cell), cell);
        if (!closes_while_growing) {
            assert_int_equal(live, before + 8 * 4 * large);
            assert_in_range(given_back, 8 * large, 8 * 2 * large - 1);  // munmap gives back the rest
        }
        table.close();
        assert_int_equal(live, before);
        table.close();
        assert_int_equal(live, before);
    }
}

// There are so many keys that some share one of the 2^32 hashes.
TEST(keys_with_one_hash_are_told_apart) {
    has_fixed_seed = true;
    tw_runtime_options options = {};
    tw_runtime *rt = nullptr;
    tw_keyed *keyed = nullptr;
    tickwheel::timers::key_table table;
    std::vector<std::pair<std::uint32_t, unsigned>> hashes;
    unsigned of_one_byte = 0, of_one_size = 0, of_two_sizes = 0, with_number = 0;
    options.driver = "manual";
    assert_int_equal(tw_runtime_new(&rt, &options), 0);
    assert_int_equal(tw_keyed_new(&keyed, rt, nullptr), 0);
    assert_int_equal(table.open(1), 0);
    char texts[2][20];
    for (unsigned i = 0; i < 400'000; ++i)
        hashes.emplace_back(table.hash(key_of(i, texts[0])), i);
    std::sort(hashes.begin(), hashes.end());
    for (std::size_t i = 1; i < hashes.size(); ++i) {
        if (hashes[i].first != hashes[i - 1].first)
            continue;
        const tw_key keys[] = {key_of(hashes[i - 1].second, texts[0]), key_of(hashes[i].second, texts[1])};
        assert_told_apart(keyed, keys);
        const bool has_number = keys[0].is_number + keys[1].is_number == 1;
        with_number += has_number;
        of_one_byte += keys[0].size == 1 && keys[1].size == 1;
        of_one_size += keys[0].size > 1 && keys[0].size == keys[1].size;
        of_two_sizes += !has_number && keys[0].size != keys[1].size;
    }
    assert_true(of_one_byte != 0 && of_one_size != 0 && of_two_sizes != 0 && with_number != 0);
    table.close();
    tw_runtime_free(rt);
    has_fixed_seed = false;
}

}  // namespace

// Four ways to find a timer by a key of 16 bytes: this library's table, and the alternatives
// considered. Each is a class with
//   Peer(n)       for up to n records; reserves their memory only, the table grows from nothing
//   insert(key)   a key that is absent
//   find(key)     its record, or null
//   erase(key)    a key that is present; touches its record, as cancelling a timer does
// A record has the size of the one in keyed.h: 128 bytes, key included.
#ifndef TICKWHEEL_BENCH_TABLES_PEERS_H
#define TICKWHEEL_BENCH_TABLES_PEERS_H

#include <unordered_map>

#include "../keys.h"
#include "../module.h"
#include "timers/key_table.hpp"

#if __has_include(<tsl/robin_map.h>)
#include <tsl/robin_map.h>
#endif
#if __has_include(<uthash.h>)
#define HASH_NONFATAL_OOM 1
#include <uthash.h>
#endif

namespace bench {

struct Record {
    Key key;
    unsigned char rest[112];
};

// Records by number. Free ones are reused, last freed first.
template <class Each> class Slab {
  public:
    explicit Slab(std::size_t n)
        : bytes_(n * sizeof(Each)), records_(static_cast<Each *>(fresh_memory(bytes_))) {
        free_.reserve(n);
        for (std::size_t number = n; number > 0; --number)
            free_.push_back(static_cast<std::uint32_t>(number - 1));
    }
    ~Slab() { give_back(records_, bytes_); }
    Slab(const Slab &) = delete;
    Slab &operator=(const Slab &) = delete;

    std::uint32_t take() {
        const std::uint32_t number = free_.back();
        free_.pop_back();
        return number;
    }
    void free(std::uint32_t number) { free_.push_back(number); }
    Each &operator[](std::uint32_t number) { return records_[number]; }
    std::uint32_t number_of(const Each *record) const {
        return static_cast<std::uint32_t>(record - records_);
    }

  private:
    std::size_t bytes_;
    Each *records_;
    std::vector<std::uint32_t> free_;
};

class Own {
  public:
    static constexpr const char *name = "tickwheel";
    explicit Own(std::size_t n) : records_(n) { require(table_.open(0) == 0, "table"); }
    ~Own() { table_.close(); }
    Own(const Own &) = delete;
    Own &operator=(const Own &) = delete;

    void insert(const Key &key) {
        const std::uint32_t number = records_.take();
        records_[number].key = key;
        require(table_.reserve_one() == 0, "out of memory");
        table_.insert(hash(key), number);
    }
    Record *find(const Key &key) {
        const std::uint32_t number = number_of(hash(key), key);
        return number != table::none ? &records_[number] : nullptr;
    }
    void erase(const Key &key) {
        const std::uint32_t hashed = hash(key), number = number_of(hashed, key);
        records_[number].rest[0] = 0;
        table_.erase(hashed, number);
        records_.free(number);
    }

  private:
    using table = tickwheel::timers::key_table;

    std::uint32_t hash(const Key &key) const {
        return table_.hash(tw_key_bytes(key.bytes, sizeof key.bytes));
    }
    std::uint32_t number_of(std::uint32_t hashed, const Key &key) {
        return table_.find(hashed, [&](std::uint32_t number) { return records_[number].key == key; });
    }

    table table_;
    Slab<Record> records_;
};

class UnorderedMap {
  public:
    static constexpr const char *name = "std::unordered_map";
    explicit UnorderedMap(std::size_t) {}
    void insert(const Key &key) { map_[key].key = key; }
    Record *find(const Key &key) {
        const auto found = map_.find(key);
        return found != map_.end() ? &found->second : nullptr;
    }
    void erase(const Key &key) {
        const auto found = map_.find(key);
        found->second.rest[0] = 0;
        map_.erase(found);
    }

  private:
    std::unordered_map<Key, Record, KeyHash> map_;
};

#if __has_include(<tsl/robin_map.h>)
class RobinMap {
  public:
    static constexpr const char *name = "tsl::robin_map";
    explicit RobinMap(std::size_t n) : records_(n) {}
    void insert(const Key &key) {
        const std::uint32_t number = records_.take();
        records_[number].key = key;
        numbers_.insert({key, number});
    }
    Record *find(const Key &key) {
        const auto found = numbers_.find(key);
        return found != numbers_.end() ? &records_[found->second] : nullptr;
    }
    void erase(const Key &key) {
        const auto found = numbers_.find(key);
        records_[found->second].rest[0] = 0;
        records_.free(found->second);
        numbers_.erase(found);
    }

  private:
    tsl::robin_map<Key, std::uint32_t, KeyHash> numbers_;
    Slab<Record> records_;
};
#endif

#if __has_include(<uthash.h>)
// Warnings in its macros are not ours to fix.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wextra"
class Uthash {
  public:
    static constexpr const char *name = "uthash";
    explicit Uthash(std::size_t n) : records_(n) {}
    ~Uthash() { HASH_CLEAR(links, first_); }
    Uthash(const Uthash &) = delete;
    Uthash &operator=(const Uthash &) = delete;

    void insert(const Key &key) {
        Linked *record = &records_[records_.take()];
        record->key = key;
        HASH_ADD(links, first_, key, sizeof(Key), record);
    }
    Record *find(const Key &key) { return linked(key); }
    void erase(const Key &key) {
        Linked *record = linked(key);
        record->rest[0] = 0;
        HASH_DELETE(links, first_, record);
        records_.free(records_.number_of(record));
    }

  private:
    struct Linked : Record {
        UT_hash_handle links;
    };
    Linked *linked(const Key &key) {
        Linked *found = nullptr;
        HASH_FIND(links, first_, &key, sizeof key, found);
        return found;
    }

    Linked *first_ = nullptr;
    Slab<Linked> records_;
};
#pragma GCC diagnostic pop
#endif

}  // namespace bench

#endif

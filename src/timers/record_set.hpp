// Timers that the library keeps, a set of them. handle.cpp finds them by number, keyed.cpp by
// name; how one starts, lives and ends is in entry_start.cpp and entry_life.cpp.
//
// The lock of a set guards its records. It is taken before those of workers and wheels, and
// never held while anything of the user's runs but the `wake` of a driver. What that makes
// certain:
//   - A slot is given to another timer only after nothing can come to the former one: its
//     node is on no wheel, no callback of it is about to begin, waits, or runs (P11).
//   - `drop` is called by whoever ends a record: by the last of its runs if there are any,
//     else by the call that ends it. That is decided under the lock, so once.
// What the lock does not cover is the moment between the wheel's taking a node off and the
// node's callback having the lock. A call that ends a record which may be in that moment
// marks it, lets go of the lock, and waits for the callback, which then finds nothing to
// do and returns at once (wait_for_unseen).
#pragma once

#include <tickwheel/handle.h>
#include <tickwheel/keyed.h>
#include <tickwheel/port.h>

#include "record_store.hpp"
#include "runtime/components.hpp"
#include "runtime/nodes.hpp"

namespace tickwheel::runtime {

class set_lock;

// How the records of a set are known to its users.
struct lookup_hooks {
    // With the lock, and the hash of its key. Null: they are known by number alone.
    int (*reserve)(record_set &, record &, std::uint32_t) = nullptr;      // room for it: 0, -ENOMEM, -ENOSPC
    record *(*publish)(record_set &, record &, std::uint32_t) = nullptr;  // returns whose place it takes
    void (*unpublish)(record_set &, record &) = nullptr;  // it is known no more, unless its place was taken

    // Without it. There are no records any more.
    void (*close)(record_set &);

    // With the lock, which it lets go meanwhile: covers more slots. 0 or a negative errno.
    int (*cover)(record_set &, set_lock &) = nullptr;
};

// So many slots have a tag of their own in their handles, and generations that begin somewhere.
// See handle.cpp; a set that is known by keys has one block, without a tag.
inline constexpr std::uint32_t records_of_block = std::uint32_t{1} << 16;
struct block {
    std::uint32_t first_generation;
    std::uint16_t tag;  // 0: none
};

// A copy of a user's key, and its hash: made before there is a record to keep it.
struct key_copy {
    key_copy() = default;
    ~key_copy();
    key_copy(const key_copy &) = delete;
    key_copy &operator=(const key_copy &) = delete;

    kept_key key;
    std::uint16_t size = 0;  // also 0 once a record has taken it, which then frees it
    bool is_number = false;
    std::uint32_t hash = 0;
};

inline constexpr std::size_t most_storage = 4096;
inline constexpr std::size_t storage_alignment = 16;

struct record_set : component {
    // Fixed.
    const lookup_hooks *how;
    tw_workers *workers;
    bool concurrent;
    bool is_observed;  // see tw_port_is_observed
    std::size_t storage;

    std::uint32_t lock;    // the port's; guards what follows
    bool closing;          // nothing is started any more
    std::uint8_t epoch;    // of 7 bits; record_set of former ones fire no more: they are being drained
    std::uint64_t drains;  // that go on: bit n for one whose epoch is n modulo 64
    std::uint32_t count;
    std::uint32_t most_reused;  // generations that the most used slot has seen
    block first_block;          // fixed
    block *further_blocks;      // of the slots behind it; null: there was no need
    std::uint32_t blocks;
    std::uint32_t waiting;   // threads that wait for a record to come further
    std::uint32_t progress;  // counts that; they sleep on it
    record_store all;

    std::atomic<std::uint32_t> users;  // its owner, and runs on workers: the last frees it
};

inline void lock(record_set &set) {
    if (set.is_observed) [[unlikely]]
        tw_port_lock_observed(&set.lock);
    else
        tw_port_lock(&set.lock);
}

inline void unlock(record_set &set) {
    if (set.is_observed) [[unlikely]]
        tw_port_unlock_observed(&set.lock);
    else
        tw_port_unlock(&set.lock);
}

// The lock, for a call or a fire. When it goes, the call returns.
class set_lock : public end_of_call {
  public:
    explicit set_lock(record_set &set) : set_(set) { lock(); }
    ~set_lock() { unlock(); }
    set_lock(const set_lock &) = delete;
    set_lock &operator=(const set_lock &) = delete;

    void lock() { runtime::lock(set_); }
    void unlock() { runtime::unlock(set_); }

  private:
    record_set &set_;
};

// handle.h and keyed.h have the same options.
struct set_options {
    std::uint32_t capacity;
    std::size_t storage;
    tw_workers *workers;
    bool concurrent;
};

// What to answer to a call that makes a set like this; 0 if it may be made.
int check_usable(const tw_runtime *rt, const set_options &options);

// As those of a runtime, for a call on a set.
inline int refuse_set() { return refuse(-EINVAL, "the set of timers is null"); }
inline int check_usable(const record_set *set) {
    return set == nullptr ? refuse_set() : check_usable(set->rt);
}
inline int check_arming(const record_set *set) {
    return set == nullptr ? refuse_set() : check_arming(set->rt);
}

// Makes zeroed memory a set, and a part of the runtime; 0, or -ENOMEM, and then it is as it
// was. The memory is freed by the last user.
int open(record_set &set, tw_runtime &rt, const set_options &options, const lookup_hooks &how);

// Ends every record, and the set. -EBUSY from inside one of them.
int close(record_set &set);

// Starts a timer; 0 or a negative errno. `key` is null for a set without keys; the record
// takes it over. `handle`, if not null, is stored before the timer can fire.
int start(record_set &set, const tw_when *when, const tw_task *task, key_copy *key, tw_handle *handle);

// The same for the usual cases; the first is to be fast.
int start_after(record_set &set, std::int64_t delay, tw_task_callback *fn, void *arg, key_copy *key,
                tw_handle *handle);
int start_every(record_set &set, std::int64_t period, tw_missed missed, tw_task_callback *fn, void *arg,
                key_copy *key, tw_handle *handle);

// Of a record that is live. With the lock, which `end` may let go of meanwhile.
int end(record &it, set_lock &hold);  // 1 if this prevented a fire, else 0
int move(record &it, delayed_call &to);
std::int64_t remaining(record &it);

// Until the timer that was this generation of a slot is over; at once inside it.
void wait_until_over(record &it, std::uint32_t generation, set_lock &hold);

// What a drain calls on those that had still to fire: one of them, or nothing.
struct drain_visitor {
    tw_keyed_each *by_key = nullptr;
    tw_handles_each *by_handle = nullptr;
    void *arg = nullptr;
};
std::int64_t drain(record_set &set, const drain_visitor &each);

// The key of a record; good while it is not over.
tw_key key_of(const record &it);

// What of a key does not fit into a record; null: all fits.
inline long_key *long_key_of(const record &it) {
    return it.key_size > sizeof it.key.bytes ? it.key.longer : nullptr;
}

inline const block &block_of(const record_set &set, std::uint32_t number) {
    const bool is_first = number < records_of_block || set.further_blocks == nullptr;
    return is_first ? set.first_block : set.further_blocks[number / records_of_block - 1];
}

inline bool has_handles(const record_set &set) { return set.first_block.tag != 0; }

// 0 in a set that is known by keys.
inline tw_handle handle_of(const record &it) {
    if (!has_handles(*it.set))
        return 0;
    const tw_handle tag = block_of(*it.set, it.number).tag;
    return tw_handle{it.generation} << 32 | tag << 16 | it.number % records_of_block;
}

}  // namespace tickwheel::runtime

// Timers that the library keeps, a set of them. handle.cpp finds them by number, keyed.cpp by
// name; how one starts, lives and ends is in entry_start.cpp and entry_life.cpp.
//
// The lock of a set guards its entries. It is taken before those of workers and wheels, and
// never held while anything of the user's runs but the `wake` of a driver. What that makes
// certain:
//   - A slot is given to another timer only after nothing can come to the former one: its
//     node is on no wheel, no callback of it is about to begin, waits, or runs (P11).
//   - `drop` is called by whoever ends an entry: by the last of its runs if there are any,
//     else by the call that ends it. That is decided under the lock, so once.
// What the lock does not cover is the moment between the wheel's taking a node off and the
// node's callback having the lock. A call that ends an entry which may be in that moment
// marks it, lets go of the lock, and waits for the callback, which then finds nothing to
// do and returns at once (wait_for_unseen).
#pragma once

#include <tickwheel/handle.h>
#include <tickwheel/keyed.h>
#include <tickwheel/port.h>

#include "nodes.hpp"
#include "parts.hpp"
#include "slots.hpp"

namespace tickwheel::runtime {

class entries_hold;

// How the entries of a set are known to its users.
struct entries_kind {
    // With the lock, and the hash of its key. Null: they are known by number alone.
    int (*reserve)(entries &, entry &, std::uint32_t) = nullptr;     // room for it: 0, -ENOMEM, -ENOSPC
    entry *(*publish)(entries &, entry &, std::uint32_t) = nullptr;  // returns whose place it takes
    void (*unpublish)(entries &, entry &) = nullptr;  // it is known no more, unless its place was taken

    // Without it. There are no entries any more.
    void (*close)(entries &);

    // With the lock, which it lets go meanwhile: covers more slots. 0 or a negative errno.
    int (*cover)(entries &, entries_hold &) = nullptr;
};

// So many slots have a tag of their own in their handles, and generations that begin somewhere.
// See handle.cpp; a set that is known by keys has one block, without a tag.
inline constexpr std::uint32_t slots_of_block = std::uint32_t{1} << 16;
struct block {
    std::uint32_t first_generation;
    std::uint16_t tag;  // 0: none
};

// A copy of a user's key, and its hash: made before there is an entry to keep it.
struct key_copy {
    key_copy() = default;
    ~key_copy();
    key_copy(const key_copy &) = delete;
    key_copy &operator=(const key_copy &) = delete;

    kept_key key;
    std::uint16_t size = 0;  // also 0 once an entry has taken it, which then frees it
    bool is_number = false;
    std::uint32_t hash = 0;
};

inline constexpr std::size_t most_storage = 4096;
inline constexpr std::size_t storage_alignment = 16;

struct entries : part {
    // Fixed.
    const entries_kind *how;
    tw_workers *workers;
    bool concurrent;
    bool is_observed;  // see tw_port_is_observed
    std::size_t storage;

    std::uint32_t lock;    // the port's; guards what follows
    bool closing;          // nothing is started any more
    std::uint8_t epoch;    // of 7 bits; entries of former ones fire no more: they are being drained
    std::uint64_t drains;  // that go on: bit n for one whose epoch is n modulo 64
    std::uint32_t count;
    std::uint32_t most_reused;  // generations that the most used slot has seen
    block first_block;          // fixed
    block *further_blocks;      // of the slots behind it; null: there was no need
    std::uint32_t blocks;
    std::uint32_t waiting;       // threads that wait for an entry to come further
    std::uint32_t came_further;  // counts that; they sleep on it
    slots all;

    std::atomic<std::uint32_t> users;  // its owner, and runs on workers: the last frees it
};

inline void lock(entries &set) {
    if (set.is_observed) [[unlikely]]
        tw_port_lock_observed(&set.lock);
    else
        tw_port_lock(&set.lock);
}

inline void unlock(entries &set) {
    if (set.is_observed) [[unlikely]]
        tw_port_unlock_observed(&set.lock);
    else
        tw_port_unlock(&set.lock);
}

// The lock, for a call or a fire. When it goes, the call returns.
class entries_hold : public end_of_call {
  public:
    explicit entries_hold(entries &set) : set_(set) { lock(); }
    ~entries_hold() { unlock(); }
    entries_hold(const entries_hold &) = delete;
    entries_hold &operator=(const entries_hold &) = delete;

    void lock() { runtime::lock(set_); }
    void unlock() { runtime::unlock(set_); }

  private:
    entries &set_;
};

// handle.h and keyed.h have the same options.
struct entries_options {
    std::uint32_t capacity;
    std::size_t storage;
    tw_workers *workers;
    bool concurrent;
};

// What to answer to a call that makes a set like this; 0 if it may be made.
int refusal(const tw_runtime *rt, const entries_options &options);

// As those of a runtime, for a call on a set.
inline int refuse_set() { return refuse(-EINVAL, "the set of timers is null"); }
inline int refusal(const entries *set) { return set == nullptr ? refuse_set() : refusal(set->rt); }
inline int refusal_to_arm(const entries *set) {
    return set == nullptr ? refuse_set() : refusal_to_arm(set->rt);
}

// Makes zeroed memory a set, and a part of the runtime; 0, or -ENOMEM, and then it is as it
// was. The memory is freed by the last user.
int open(entries &set, tw_runtime &rt, const entries_options &options, const entries_kind &how);

// Ends every entry, and the set. -EBUSY from inside one of them.
int close(entries &set);

// Starts a timer; 0 or a negative errno. `key` is null for a set without keys; the entry
// takes it over. `handle`, if not null, is stored before the timer can fire.
int start(entries &set, const tw_when *when, const tw_task *task, key_copy *key, tw_handle *handle);

// The same for the usual cases; the first is to be fast.
int start_after(entries &set, std::int64_t delay, tw_task_callback *fn, void *arg, key_copy *key,
                tw_handle *handle);
int start_every(entries &set, std::int64_t period, tw_missed missed, tw_task_callback *fn, void *arg,
                key_copy *key, tw_handle *handle);

// Of an entry that is live. With the lock, which `end` may let go of meanwhile.
int end(entry &it, entries_hold &hold);  // 1 if this prevented a fire, else 0
int move(entry &it, delayed &to);
std::int64_t remaining(entry &it);

// Until the timer that was this generation of a slot is over; at once inside it.
void wait_until_over(entry &it, std::uint32_t generation, entries_hold &hold);

// What a drain calls on those that had still to fire: one of them, or nothing.
struct each_drained {
    tw_keyed_each *by_key = nullptr;
    tw_handles_each *by_handle = nullptr;
    void *arg = nullptr;
};
std::int64_t drain(entries &set, const each_drained &each);

// The key of an entry; good while it is not over.
tw_key key_of(const entry &it);

// What of a key does not fit into an entry; null: all fits.
inline long_key *long_key_of(const entry &it) {
    return it.key_size > sizeof it.key.bytes ? it.key.longer : nullptr;
}

inline const block &block_of(const entries &set, std::uint32_t number) {
    const bool is_first = number < slots_of_block || set.further_blocks == nullptr;
    return is_first ? set.first_block : set.further_blocks[number / slots_of_block - 1];
}

inline bool has_handles(const entries &set) { return set.first_block.tag != 0; }

// 0 in a set that is known by keys.
inline tw_handle handle_of(const entry &it) {
    if (!has_handles(*it.set))
        return 0;
    const tw_handle tag = block_of(*it.set, it.number).tag;
    return tw_handle{it.generation} << 32 | tag << 16 | it.number % slots_of_block;
}

}  // namespace tickwheel::runtime

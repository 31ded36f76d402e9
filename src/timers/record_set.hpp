// A set of records: what tw_handles and tw_keyed have in common.
//
//     handle.cpp, keyed.cpp   the public functions, and how a record is found
//     record_start.cpp        starting a record
//     record_life.cpp         firing, moving and ending it
//     record_set.cpp          making, draining and freeing the set
//     record_store            the memory
//
// The lock of the set guards its records; runtime.hpp has the order of locks. It is released while
// a function of the user's runs; the one exception is a driver's `wake`.
//
// Invariants
//   S1  A cell is reused only when nothing can reach its former record any more: the node is
//       on no wheel, and no callback of it is about to begin, waits for a worker, or runs (P11).
//   S2  `drop` is called once: by the last run of an ended record, or, if there is none, by
//       the call that ended it. The lock decides which of the two it is.
//
// One moment is outside the lock: the wheel has taken a node off, and the node's callback has
// not locked the set yet. A call that ends a record in that moment marks it as ended, releases
// the lock and waits for the callback, which sees the mark and returns
// (wait_for_node_callback; tests/timers/record_end.pml).
#pragma once

#include <cstdlib>
#include <new>

#include <tickwheel/handle.h>
#include <tickwheel/keyed.h>
#include <tickwheel/port.h>

#include "record_store.hpp"
#include "runtime/components.hpp"
#include "runtime/nodes.hpp"

namespace tickwheel::runtime {

class set_lock;
struct set_options;

// How the records of a set are found: by handle or by key. The hooks from `reserve` on are null
// in a set of handles, `add_range` is null in a set of keys.
struct lookup_hooks {
    // How many records more than its capacity the set needs, so that a full set can replace one.
    std::uint32_t spare_records;

    // Makes the lookup, when nothing else knows the set yet. Returns 0 or a negative errno.
    int (*open)(record_set &, const set_options &);

    // Frees the lookup, when the set has no records any more; also after `open` has failed.
    void (*close)(record_set &);

    // Makes more cells available to handles. Returns 0 or a negative errno.
    // RELEASES AND REACQUIRES: set lock
    int (*add_range)(record_set &, set_lock &) = nullptr;

    // REQUIRES: set lock held
    // Makes room for a record with this hash of its key. Returns 0, -ENOMEM or -ENOSPC.
    int (*reserve)(record_set &, record &, std::uint32_t hash) = nullptr;
    // Makes the record known, after `reserve`. Returns the record that it replaces, or null.
    record *(*publish)(record_set &, record &, std::uint32_t hash) = nullptr;
    // Makes the record unknown, unless another one has replaced it.
    void (*unpublish)(record_set &, record &) = nullptr;
};

// The cells that share one tag in their handles (see handle.cpp). A set of keys has one range,
// without a tag.
inline constexpr std::uint32_t cells_of_range = std::uint32_t{1} << 16;
struct handle_range {
    std::uint32_t first_generation;
    std::uint16_t tag;  // 0: none
};

// A copy of a user's key, and its hash. It is made before there is a record to take it over.
struct key_copy {
    key_copy() = default;
    ~key_copy();
    key_copy(const key_copy &) = delete;
    key_copy &operator=(const key_copy &) = delete;

    stored_key key;
    std::uint16_t size = 0;  // 0 also once a record has taken over the key, and will free it
    bool is_number = false;
    std::uint32_t hash = 0;
};

inline constexpr std::size_t most_storage = 4096;
inline constexpr std::size_t storage_alignment = 16;

struct record_set : component {
    // Constant once the set is made.
    const lookup_hooks *lookup;
    tw_workers *workers;
    bool concurrent;
    bool is_observed;  // see tw_port_is_observed
    std::size_t storage;

    std::uint32_t lock;    // of the port; guards all members below except `references`
    bool closing;          // no record can be started any more
    std::uint8_t epoch;    // of 7 bits; records of former epochs are being drained, and do not fire
    std::uint64_t drains;  // bit n: a drain with an epoch of n modulo 64 is going on
    std::uint32_t count;
    std::uint32_t most_generations;  // that any cell has used
    handle_range first_range;        // constant
    handle_range *further_ranges;    // null while one is enough
    std::uint32_t ranges;
    std::uint32_t waiting;   // threads in wait_for_progress
    std::uint32_t progress;  // the word they sleep on; counts the progress of any record
    record_store records;

    std::atomic<std::uint32_t> references;  // of the owner and of fires on workers; the last frees the set
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

// Holds the lock of a set during a call or a fire. If a function of the user's frees the runtime
// meanwhile, that happens when this goes, after the lock has been released (end_of_call).
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

// --- making and freeing ------------------------------------------------------------------

struct set_options {
    std::uint32_t capacity;
    std::size_t storage;
    tw_workers *workers;
    bool concurrent;
};

// From the options of handle.h or keyed.h.
template <class Options> set_options options_of(const Options *options) {
    if (options == nullptr)
        return {};
    return {options->capacity, options->storage, options->workers, options->concurrent != 0};
}

// Returns 0 if a set with these options may be made on `rt`.
int check_usable(const tw_runtime *rt, const set_options &options);

// Makes zeroed memory a set and a component of the runtime. Returns 0 or a negative errno; on
// error the caller frees the memory.
int open(record_set &set, tw_runtime &rt, const set_options &options, const lookup_hooks &lookup);

// Makes a `Set`, which is tw_handles or tw_keyed, and stores it in *made. It is freed with
// its last reference (see release_references).
template <class Set>
int make_set(Set **made, tw_runtime *rt, const set_options &options, const lookup_hooks &lookup) {
    if (const int error = check_usable(rt, options); error != 0)
        return error;
    if (made == nullptr)
        return refuse(-EINVAL, "no place for the set");
    void *const memory = std::calloc(1, sizeof(Set));
    if (memory == nullptr)
        return -ENOMEM;
    auto *const set = new (memory) Set{};  // cppcheck-suppress legacyUninitvar
    if (const int error = open(*set, *rt, options, lookup); error != 0) {
        std::free(set);
        return error;
    }
    *made = set;
    return 0;
}

// Ends every record and frees the set, which may be null. -EBUSY from inside one of its
// callbacks.
int free_set(record_set *set);

// --- calls on a set ----------------------------------------------------------------------

// Return 0 if `set` is a set that may be used; or used to start or move a record.
inline int refuse_set() { return refuse(-EINVAL, "the set of timers is null"); }
inline int check_usable(const record_set *set) {
    return set == nullptr ? refuse_set() : check_usable(set->rt);
}
inline int check_arming(const record_set *set) {
    return set == nullptr ? refuse_set() : check_arming(set->rt);
}

std::size_t count_of(record_set *set);

// The function that a drain calls for each record that still had to fire: one of these, or none.
struct drain_visitor {
    tw_keyed_each *by_key = nullptr;
    tw_handles_each *by_handle = nullptr;
    void *arg = nullptr;
};
std::int64_t drain(record_set *set, const drain_visitor &visitor);

// Starts a record; returns 0, 1 if it replaces another one, or a negative errno. `key` is null
// in a set of handles. *handle, unless null, is written before the record can fire.
int start(record_set &set, const tw_when *when, const tw_task *task, key_copy *key, tw_handle *handle);

// The same for the usual cases.
int start_after(record_set &set, std::int64_t delay, tw_task_callback *fn, void *arg, key_copy *key,
                tw_handle *handle);
int start_every(record_set &set, std::int64_t period, const tw_missed &missed, tw_task_callback *fn,
                void *arg, key_copy *key, tw_handle *handle);

// --- calls on a live record --------------------------------------------------------------

// Returns 1 if this prevented a fire, else 0.
// RELEASES AND REACQUIRES: set lock
int end(record &record, set_lock &lock);

// REQUIRES: set lock held
int move(record &record, prepared_delay &to);
std::int64_t remaining(record &record);

// Returns once the record that had this generation of the cell is over; at once from inside
// one of its callbacks.
// RELEASES AND REACQUIRES: set lock
void wait_until_over(record &record, std::uint32_t generation, set_lock &lock);

// Points into the record: valid until that is over.
tw_key key_of(const record &record);

// The key's part on the heap; null if all of it fits into the record.
inline long_key *long_key_of(const record &record) {
    return record.key_size > sizeof record.key.bytes ? record.key.longer : nullptr;
}

inline const handle_range &range_of(const record_set &set, std::uint32_t number) {
    const bool is_first = number < cells_of_range || set.further_ranges == nullptr;
    return is_first ? set.first_range : set.further_ranges[number / cells_of_range - 1];
}

inline bool has_handles(const record_set &set) { return set.first_range.tag != 0; }

// Returns 0 in a set of keys.
inline tw_handle handle_of(const record &record) {
    if (!has_handles(*record.set))
        return 0;
    const tw_handle tag = range_of(*record.set, record.number).tag;
    return tw_handle{record.generation} << 32 | tag << 16 | record.number % cells_of_range;
}

}  // namespace tickwheel::runtime

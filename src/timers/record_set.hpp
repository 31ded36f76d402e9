// A set of records: what tw_handles and tw_keyed have in common.
//
//     handle.cpp, keyed.cpp   the public functions, and how a record is found
//     record_start.cpp        starting a record
//     record_move             moving it
//     record_life.cpp         firing and ending it
//     record_set.cpp          making, walking, draining and freeing the set
//     record_store, cells     the memory of one set, and how it is numbered
//     spare_memory, slab      the memory that sets leave to others, and where all of it comes from
//     record_space            what all sets of a runtime share: the lock, memory for entries, the fire
//
// Invariants
//   S1  A cell is reused only when nothing can reach its former record any more: it is on no wheel, and no
//       fire of it waits for a worker or runs (P11). Entries of a wheel that still name it are stale.
//   S2  `drop` is called once: by the last run of an ended record, or, if there is none, by
//       the call that ended it. The lock decides which of the two it is.
#pragma once

#include <cstdlib>
#include <new>

#include <tickwheel/handle.h>
#include <tickwheel/keyed.h>

#include "record_space.hpp"

namespace tickwheel::timers {

struct set_options;

// How the records of a set with keys are found.
struct lookup_hooks {
    // Makes the lookup, when nothing else knows the set yet. Returns 0 or a negative errno.
    int (*open)(record_set &, const set_options &);

    // Frees the lookup, when the set has no records any more; also after `open` has failed.
    void (*close)(record_set &);

    // These follow with the record lock held.
    // Makes room for a record that has its key. Returns 0, -ENOMEM or -ENOSPC.
    int (*reserve)(record_set &, record &);
    // Makes the record known, after `reserve`. Returns the record that it replaces, or null.
    record *(*publish)(record_set &, record &);
    // Makes the record unknown, unless another one has replaced it.
    void (*unpublish)(record_set &, record &);
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

inline constexpr std::size_t storage_alignment = 16;

struct record_set : runtime::component {
    // Constant once the set is made.
    record_space *space;
    record_store *records;
    const lookup_hooks *lookup;  // null: by handle
    tw_workers *workers;
    bool concurrent;
    bool has_rests;  // in its cells, behind each record
    std::size_t storage;
    std::uint8_t label;  // of records that bring none of their own

    bool closing TW_GUARDED_BY(core::wheels_lock);  // no record can be started any more
    // Of 7 bits; records of former epochs are being drained, and do not fire.
    std::uint8_t epoch TW_GUARDED_BY(core::wheels_lock);
    // Bit n: a drain with an epoch of n modulo 64 is going on.
    std::uint64_t drains TW_GUARDED_BY(core::wheels_lock);
    std::uint32_t count TW_GUARDED_BY(core::wheels_lock);

    std::atomic<std::uint32_t> references;  // of the owner and of fires on workers; the last frees the set
};

inline bool has_keys(const record_set &set) { return set.lookup != nullptr; }

// --- making and freeing ------------------------------------------------------------------

struct set_options {
    std::uint32_t capacity;
    std::size_t storage;
    tw_workers *workers;
    bool concurrent;
    const char *label;
};

// From the options of handle.h or keyed.h.
template <class Options> set_options options_of(const Options *options) {
    if (options == nullptr)
        return {};
    return {options->capacity, options->storage, options->workers, options->concurrent != 0, options->label};
}

// Returns 0 if a set with these options may be made on `rt`.
int check_usable(const tw_runtime *rt, const set_options &options);

// Makes zeroed memory a set and a component of the runtime. Returns 0 or a negative errno; on
// error the caller frees the memory.
int open(record_set &set, tw_runtime &rt, const set_options &options, const lookup_hooks *lookup);

// Makes a `Set`, which is tw_handles or tw_keyed, and stores it in *made. It is freed with
// its last reference (see release_references).
template <class Set>
int make_set(Set **made, tw_runtime *rt, const set_options &options, const lookup_hooks *lookup) {
    if (const int error = check_usable(rt, options); error != 0)
        return error;
    if (made == nullptr)
        return runtime::refuse(-EINVAL, "no place for the set");
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

// Allocates more cells for a set, without the lock; see record_store::plan. If another thread has been
// faster, its result is used and this one freed. Returns 0, -ENOMEM or -EMFILE.
int grow(record_set &set, bool to_limit = false) TW_YIELDS(core::wheels_lock);

// Ends every record and frees the set, which may be null. -EBUSY from inside one of its
// callbacks.
int free_set(record_set *set);

// --- calls on a set ----------------------------------------------------------------------

// Return 0 if `set` is a set that may be used; or used to start or move a record.
inline int refuse_set() { return runtime::refuse(-EINVAL, "the set of timers is null"); }
inline int check_usable(const record_set *set) {
    return set == nullptr ? refuse_set() : runtime::check_usable(set->rt);
}
inline int check_arming(const record_set *set) {
    return set == nullptr ? refuse_set() : runtime::check_arming(set->rt);
}

std::size_t count_of(record_set *set);

// The function that a walk or a drain calls for each record: one of these, or none.
struct record_visitor {
    tw_keyed_visitor *by_key = nullptr;
    tw_handles_visitor *by_handle = nullptr;
    void *arg = nullptr;
};

// Where a walk over all armed records of a runtime has come to: a set, by its number as a component, and a
// number in its store.
struct walk_position {
    std::uint64_t set = 0;
    std::uint32_t record = 0;

    // Bounds, read when the walk arrives: of this set's records, and of the sets. 0: not read yet. Without
    // them a visitor that starts timers or makes sets would never end.
    std::uint32_t end = 0;
    std::uint64_t last_set = 0;
};

// An armed record, as the walk has met it.
struct met_record {
    tw_handle handle;  // TW_NO_HANDLE in a set with keys
    tw_key key;        // valid in such a set, until the visit is over
    unsigned label;
    bool is_on_wall;
    std::int64_t due, period;
};

// Calls visit(met, arg) for the next armed record from a position on, and moves that behind it. Returns false
// if there is none. A record that is ended meanwhile is kept until the visit is over. Sets may be made and
// freed between two calls.
bool visit_next(tw_runtime &rt, walk_position &at, void (*visit)(const met_record &, void *), void *arg);
std::int64_t drain(record_set *set, const record_visitor &visitor);
std::int64_t walk(record_set *set, const record_visitor &visitor);

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
int end(record_set &set, record &timer, record_lock &lock) TW_YIELDS(core::wheels_lock);

// Arms a live record for a deadline on the absolute timeline, as the user's schedule (`next`) asks. Returns
// false if the runtime is closed.
bool arm_at(record_set &set, record &timer, std::int64_t deadline) TW_REQUIRES(core::wheels_lock);

// Returns once the record that had this generation of the cell is over; at once from inside
// one of its callbacks.
void wait_until_over(record_set &set, record &timer, std::uint32_t generation, record_lock &lock)
    TW_YIELDS(core::wheels_lock);

// Points into the record: valid until that is over.
// REQUIRES: the set has keys
tw_key key_of(const record &timer);

// The key's part on the heap; null if all of it fits into the record.
// REQUIRES: it has a rest
inline unsigned char *long_key_of(const record &timer) {
    return timer.rest->key_size > sizeof timer.rest->key.bytes ? timer.rest->key.longer : nullptr;
}

// A handle is 32 bits of generation and 32 bits of cell.
inline tw_handle handle_of(const record &timer) { return tw_handle{timer.generation} << 32 | timer.number; }

// By which the user knows a record: its handle or its key.
inline tw_handle handle_in(const record_set &set, const record &timer) {
    return has_keys(set) ? TW_NO_HANDLE : handle_of(timer);
}
inline tw_key key_in(const record_set &set, const record &timer) {
    return has_keys(set) ? key_of(timer) : tw_key{};
}

}  // namespace tickwheel::timers

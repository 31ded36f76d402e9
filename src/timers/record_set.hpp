// Sets of records. A timer set is what the user makes, the common part of tw_timers and tw_keyed; it has a
// record set in each lane that it uses: with a capacity, that of its maker; else lane 0, and others once a
// timer is started there.
//
//     timers.cpp, keyed.cpp   the public functions, and finding a record
//     record_start.cpp        starting a record
//     record_move             moving a record
//     record_life.cpp         firing and ending a record
//     record_set.cpp          making, walking, emptying and freeing a timer set
//     record_store, cells     the memory of one record set, and its numbering
//     spare_memory, slab      the memory that sets leave to others, and the source of all memory
//     record_space            shared by all sets of a lane: the lock, memory for entries, the current fire
//
// Invariants
//   S1  A cell is reused only when nothing can reach its former record any more: the record is on no wheel,
//       and none of its fires runs or waits for a worker (P11). Wheel entries that still name it are stale.
//   S2  `drop` is called once: by the last run of an ended record, or, if no run is left, by the call that
//       ended the record. The lock decides which of the two.
#pragma once

#include <cstdlib>
#include <new>

#include <tickwheel/keyed.h>
#include <tickwheel/timers.h>

#include "record_space.hpp"

namespace tickwheel::timers {

// Finds the records of a set with keys.
struct lookup_hooks {
    std::size_t size;  // of the struct, derived from record_set, that has the lookup

    // Makes the lookup, before any other code can find the set. Returns 0 or a negative errno.
    int (*open)(record_set &);

    // Frees the lookup once the set has no records left; also after `open` has failed.
    void (*close)(record_set &);

    // The following need the record lock.

    // Makes room for a record that has its key. Returns 0, -ENOMEM or -ENOSPC.
    int (*reserve)(record_set &, record &);
    // Publishes the record under its key, after `reserve`. Returns the record that it replaces, or null.
    record *(*publish)(record_set &, record &);
    // Removes the record from the lookup, unless another one has replaced it.
    void (*unpublish)(record_set &, record &);
};

// A copy of a user's key, and its hash, made before the record that takes over the copy exists.
struct key_copy {
    key_copy() = default;
    ~key_copy();
    key_copy(const key_copy &) = delete;
    key_copy &operator=(const key_copy &) = delete;

    stored_key key;
    std::uint16_t size = 0;  // also 0 once a record has taken over the key, which it will free
    bool is_number = false;
    std::uint32_t hash = 0;
};

inline constexpr std::size_t storage_alignment = 16;

// Constant once the set is made, except as noted.
struct set_traits {
    const lookup_hooks *lookup;  // null: by handle
    tw_workers *workers;
    std::size_t storage;
    std::uint32_t capacity;
    bool concurrent;
    bool has_rests;      // in its cells, after each record
    std::uint8_t label;  // for records without their own
};

// The records of a timer set in one lane, guarded by the lane's record lock.
struct record_set : set_traits {
    // Constant.
    timer_set *whole;
    tw_runtime *rt;
    record_space *space;
    record_store *records;

    // In all lanes the same; changes with all locks held.
    bool closing TW_GUARDED_BY(core::wheels_lock);  // no record can start any more
    // 7 bits. Records of earlier epochs do not fire: cancel_all is ending them.
    std::uint8_t epoch TW_GUARDED_BY(core::wheels_lock);

    std::uint32_t count TW_GUARDED_BY(core::wheels_lock);
};

struct timer_set : runtime::component {
    set_traits traits;
    record_spaces *spaces;
    unsigned lanes;  // 1: it uses only `first`; else those below this number, and `first` is 0
    unsigned first;  // its record set always exists; the others are null until used
    std::atomic<record_set *> in_lanes[runtime::most_lanes];

    // Bit n: a cancel_all whose epoch is n modulo 64 is in progress. Guarded by the lock of the first lane.
    std::uint64_t cancels_under_way TW_GUARDED_BY(core::wheels_lock);

    // One for the owner, and one for each fire on a worker. Releasing the last one frees the set.
    std::atomic<std::uint32_t> references;
};

inline bool has_keys(const record_set &set) { return set.lookup != nullptr; }
inline record_set &first_of(const timer_set &set) {
    return *set.in_lanes[set.first].load(std::memory_order_relaxed);
}

// --- making and freeing ------------------------------------------------------------------

// Returns 0 if a set with these options can be made on `rt`.
int check_usable(const tw_runtime *rt, const tw_set_options &options);

// Turns zeroed memory into a set, and a component of the runtime. Returns 0 or a negative errno; on error the
// caller frees the memory.
int open(timer_set &set, tw_runtime &rt, const tw_set_options &options, const lookup_hooks *lookup);

// Makes a `Set`, which is tw_timers or tw_keyed, and stores it in *made. The last reference frees it (see
// release_references).
template <class Set>
int make_set(Set **made, tw_runtime *rt, const tw_set_options *given, const lookup_hooks *lookup) {
    const tw_set_options options = given != nullptr ? *given : tw_set_options{};
    if (const int error = check_usable(rt, options); error != 0)
        return error;
    if (made == nullptr)
        return runtime::refuse(-EINVAL, "the place for the set or table is null");
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

// Allocates more cells for a set, without the lock; see record_store::plan. If another thread was faster,
// this uses that thread's cells and frees its own. Returns 0, -ENOMEM or -EMFILE.
int grow(record_set &set, bool to_limit = false) TW_YIELDS(core::wheels_lock);

// Ends every record and frees the set, which may be null. -EBUSY from inside one of the set's callbacks.
int free_set(timer_set *set);

// Frees the memory of a set that has no references.
void free_memory(timer_set &set);

// Makes the record set of `set` in a lane. Null if memory is lacking.
[[gnu::cold]] record_set *open_in_lane(timer_set &set, unsigned lane);

// The record set in a lane. Makes it when the lane is first used; null if memory is lacking.
TW_INLINED inline record_set *records_in(timer_set &set, unsigned lane) {
    record_set *const found = set.in_lanes[lane].load(std::memory_order_acquire);
    return found != nullptr ? found : open_in_lane(set, lane);
}

// The records in the lane where this thread starts a timer (see runtime/lanes.hpp), or in the first if memory
// is lacking.
[[gnu::cold]] record_set &records_in_own_lane(timer_set &set);
TW_INLINED inline record_set &records_here(timer_set &set) {
    if (set.lanes == 1)
        return first_of(set);
    const runtime::used_lane own = runtime::own_lane;
    const bool is_known = own.of == set.rt->steady.lanes.serial;
    record_set *const found = is_known ? set.in_lanes[own.number].load(std::memory_order_acquire) : nullptr;
    return found != nullptr ? *found : records_in_own_lane(set);
}

// --- calls on a set ----------------------------------------------------------------------

// check_usable returns 0 if a call may use `set`; check_arming, if the call may also start or move a record.
inline int refuse_set() { return runtime::refuse(-EINVAL, "the set or table is null"); }
inline int check_usable(const timer_set *set) {
    return set == nullptr ? refuse_set() : runtime::check_usable(set->rt);
}
inline int check_arming(const timer_set *set) {
    return set == nullptr ? refuse_set() : runtime::check_arming(set->rt);
}

std::size_t count_of(timer_set *set);

// The function that `walk` or `cancel_all` calls for each record; null: none.
struct record_visitor {
    tw_visitor *visit = nullptr;
    void *arg = nullptr;
};

// The position of a walk over all armed records of a runtime: the set's number as a component, the lane, and
// the record's number in the store there.
struct walk_position {
    std::uint64_t set = 0;
    unsigned lane = 0;
    std::uint32_t record = 0;

    // Bounds of this set's records and of the sets, which the walk reads when it arrives; 0: not read yet.
    // Without bounds, a visitor that starts timers or makes sets could keep the walk going forever.
    std::uint32_t end = 0;
    std::uint64_t last_set = 0;
};

// Describes a record for queries and visitors. In a set with keys the description points to `key`, where this
// function stores the record's key.
tw_entry entry_of(const record_set &set, const record &timer, tw_key &key) TW_REQUIRES(core::wheels_lock);

// Visits the next armed record from `at` on, and moves `at` past it. Returns false if no record is left, else
// stores what the visitor has returned. Keeps a record that ends meanwhile until the visit is over. Sets may
// be made and freed between two calls.
bool visit_next(tw_runtime &rt, walk_position &at, const record_visitor &visitor, int &result);

// Visits one record; returns what the visitor has returned.
int visit_one(record_set &set, record &timer, const record_visitor &visitor, record_lock &lock)
    TW_YIELDS(core::wheels_lock);
std::int64_t cancel_all(timer_set *set, const record_visitor &visitor);
int walk(timer_set *set, const record_visitor &visitor);

// Starts a record, which replaces the one that has its key. Returns 0 or a negative errno. `key` is null in a
// set of handles. *handle, unless null, is written before the record can fire.
int start(record_set &set, const tw_when *when, const tw_task *task, key_copy *key, tw_handle *handle);

// The same for the usual cases.
int start_after(record_set &set, std::int64_t delay, tw_task_callback *fn, void *arg, key_copy *key,
                tw_handle *handle);
int start_every(record_set &set, std::int64_t period, const tw_missed &missed, tw_task_callback *fn,
                void *arg, key_copy *key, tw_handle *handle);

// --- calls on a live record --------------------------------------------------------------

// Returns 1 if this prevented a fire, else 0.
int end(record_set &set, record &timer, record_lock &lock) TW_YIELDS(core::wheels_lock);

// Arms a live record for the deadline that the user's schedule (`next`) has returned, on the absolute
// timeline. Returns false if the runtime is closed.
bool arm_at(record_set &set, record &timer, std::int64_t deadline) TW_REQUIRES(core::wheels_lock);

// Returns once the record that had this generation of the cell is over, or at once from inside one of its
// callbacks.
void wait_until_over(record_set &set, record &timer, std::uint32_t generation, record_lock &lock)
    TW_YIELDS(core::wheels_lock);

// Points into the record, so the key is valid until the record is over.
// REQUIRES: the set has keys
tw_key key_of(const record &timer);

// The key's part on the heap; null if all of it fits into the record.
// REQUIRES: it has a rest
inline unsigned char *long_key_of(const record &timer) {
    return timer.rest->key_size > sizeof timer.rest->key.bytes ? timer.rest->key.longer : nullptr;
}

// A handle is 32 bits of generation and 32 bits of cell.
inline tw_handle handle_of(const record &timer) { return tw_handle{timer.generation} << 32 | timer.number; }

// The user's name for a record: its handle or its key.
inline tw_handle handle_in(const record_set &set, const record &timer) {
    return has_keys(set) ? TW_NO_HANDLE : handle_of(timer);
}
inline tw_key key_in(const record_set &set, const record &timer) {
    return has_keys(set) ? key_of(timer) : tw_key{};
}

}  // namespace tickwheel::timers

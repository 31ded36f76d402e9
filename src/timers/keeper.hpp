// The keeper of records: one lock, and one wheel for each timeline, for all sets of a runtime. It fires what
// is due on the thread that drives the runtime; record_life.cpp says what a fire does.
//
// The lock guards all records of the runtime's sets, their stores and tables. It is released while a function
// of the user's runs; the one exception is a driver's `wake`. runtime.hpp has the order of locks.
#pragma once

#include <tickwheel/port.h>

#include "record_store.hpp"
#include "runtime/current_run.hpp"
#include "runtime/keeper.hpp"
#include "runtime/nodes.hpp"

namespace tickwheel::runtime {

// Finds records for the wheel of one timeline. Deadlines in records are ticks of the clock; when that is set
// back, the wheel's ticks move away from it, and all records become due later without being touched (P12).
struct records_of_line {
    const timeline *line;

    static core::timing &timing_of(std::uint32_t cell) { return record_at(cell).timing; }
    static void prefetch(std::uint32_t cell) { __builtin_prefetch(&record_at(cell), 1); }
    tick offset() const { return line->set_back.load(std::memory_order_relaxed); }
};

using record_shape = core::log_shape<8>;
using record_wheel = core::record_wheel<record_shape, records_of_line>;

// It begins as zeroed memory, of which most stays untouched: see record_wheel::init.
//
// Invariants
//   E1  There are chunks for the entries of all cells: chunk_count >= chunks_for(cells). So arming never
//       lacks one (P10).
//   E2  `fired` is null, or a record of `fired_in` that has a use.
struct record_keeper : keeper {
    tw_runtime *rt;
    bool is_observed;        // see tw_port_is_observed
    std::uint32_t lock;      // of the port; guards all members below
    std::uint64_t order;     // of the record that was armed last: records are numbered as they are armed (P3)
    std::uint32_t waiting;   // threads in wait_for_progress
    std::uint32_t progress;  // the word they sleep on; counts the progress of any record
    std::size_t cells;       // that have memory, in all stores
    std::size_t chunk_count;
    core::chunk_pool chunks;
    spare_memory memory;
    std::uint64_t cancelled[TW_LABELS];  // fires that calls have prevented, by label

    // The fire that is going on, on the firing thread; null if none.
    record *fired;
    record_set *fired_in;
    std::int64_t fired_due;

    record_wheel *wall;  // null if the runtime has no wall timeline
    record_wheel steady;
};

inline void lock(record_keeper &it) {
    if (it.is_observed) [[unlikely]]
        tw_port_lock_observed(&it.lock);
    else
        tw_port_lock(&it.lock);
}

inline void unlock(record_keeper &it) {
    if (it.is_observed) [[unlikely]]
        tw_port_unlock_observed(&it.lock);
    else
        tw_port_unlock(&it.lock);
}

// Holds the keeper's lock during a call in which no function of the user's runs.
class keeper_guard {
  public:
    explicit keeper_guard(record_keeper &it) : keeper_(it) { lock(); }
    ~keeper_guard() { unlock(); }
    keeper_guard(const keeper_guard &) = delete;
    keeper_guard &operator=(const keeper_guard &) = delete;

    void lock() { runtime::lock(keeper_); }
    void unlock() { runtime::unlock(keeper_); }

  private:
    record_keeper &keeper_;
};

// Holds it during a call or a run in which functions of the user's may run, with the lock released. If one of
// them frees the runtime, that happens when this goes, after the lock has been released.
class keeper_lock : public end_of_call, public keeper_guard {
  public:
    explicit keeper_lock(record_keeper &it) : keeper_guard(it) {}
};

// The keeper of a runtime, made if there is none yet. Returns 0 or -ENOMEM.
int open_keeper(tw_runtime &rt, record_keeper *&found);

inline timeline &line_of(record_keeper &it, bool on_wall) {
    return on_wall ? *it.rt->absolute : it.rt->steady;
}
inline record_wheel &wheel_of(record_keeper &it, bool on_wall) { return on_wall ? *it.wall : it.steady; }
inline record_wheel &wheel_of(record_keeper &it, const record &of) { return wheel_of(it, of.is_on_wall); }

// How many chunks the entries of so many records need at most.
std::size_t chunks_for(const record_keeper &it, std::size_t cells);

// Adds the chunks of a growth.
// REQUIRES: keeper lock held
void add_chunks(record_keeper &it, growth &with);

}  // namespace tickwheel::runtime

// One copy of what is not inlined, in keeper.cpp.
extern template class tickwheel::core::record_wheel<tickwheel::runtime::record_shape,
                                                    tickwheel::runtime::records_of_line>;

// The engine of records: one lock, and one wheel for each timeline, for all sets of a runtime. It fires what
// is due on the thread that drives the runtime; record_life.cpp says what a fire does.
//
// The lock guards all records of the runtime's sets, their stores and tables. It is released while a function
// of the user's runs; the one exception is a driver's `wake`. runtime.hpp has the order of locks.
#pragma once

#include <tickwheel/port.h>

#include "record_store.hpp"
#include "runtime/current_run.hpp"
#include "runtime/engine.hpp"
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

using record_shape = core::log_shape<8, TW_LOOKAHEAD != 0>;
using record_wheel = core::record_wheel<record_shape, records_of_line>;

// It begins as zeroed memory, of which most stays untouched: see record_wheel::init.
//
// Invariants
//   E1  There are chunks for the entries of all cells: chunk_count >= chunks_for(cells). So arming never
//   lacks
//       one (P10).
//   E2  `fired` is null, or a record of `fired_in` that has a use.
struct record_engine : engine {
    tw_runtime *rt;
    bool is_observed;        // see tw_port_is_observed
    std::uint32_t lock;      // of the port; guards all members below
    std::uint64_t order;     // of the record that was armed last
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

inline void lock(record_engine &it) {
    if (it.is_observed) [[unlikely]]
        tw_port_lock_observed(&it.lock);
    else
        tw_port_lock(&it.lock);
}

inline void unlock(record_engine &it) {
    if (it.is_observed) [[unlikely]]
        tw_port_unlock_observed(&it.lock);
    else
        tw_port_unlock(&it.lock);
}

// Holds the engine's lock during a call in which no function of the user's runs.
class engine_guard {
  public:
    explicit engine_guard(record_engine &it) : engine_(it) { lock(); }
    ~engine_guard() { unlock(); }
    engine_guard(const engine_guard &) = delete;
    engine_guard &operator=(const engine_guard &) = delete;

    void lock() { runtime::lock(engine_); }
    void unlock() { runtime::unlock(engine_); }

  private:
    record_engine &engine_;
};

// Holds it during a call or a run in which functions of the user's may run, with the lock released. If one of
// them frees the runtime, that happens when this goes, after the lock has been released.
class engine_lock : public end_of_call, public engine_guard {
  public:
    explicit engine_lock(record_engine &it) : engine_guard(it) {}
};

// The engine of a runtime, made if there is none yet. Returns 0 or -ENOMEM.
int open_engine(tw_runtime &rt, record_engine *&found);

inline timeline &line_of(record_engine &it, bool on_wall) {
    return on_wall ? *it.rt->absolute : it.rt->steady;
}
inline record_wheel &wheel_of(record_engine &it, bool on_wall) { return on_wall ? *it.wall : it.steady; }
inline record_wheel &wheel_of(record_engine &it, const record &of) { return wheel_of(it, of.is_on_wall); }

// The place of a record that is armed now in the order of arming: the reading of the clock, or one more than
// the last if that is not later. So records can be ordered across wheels that read the same clock (P3).
inline std::uint64_t next_order(record_engine &it, std::int64_t reading) {
    const auto now = static_cast<std::uint64_t>(reading);
    return it.order = now > it.order ? now : it.order + 1;
}

// How many chunks the entries of so many records need at most.
std::size_t chunks_for(const record_engine &it, std::size_t cells);

// Adds the chunks of a growth.
// REQUIRES: engine lock held
void add_chunks(record_engine &it, growth &with);

}  // namespace tickwheel::runtime

// One copy of what is not inlined, in engine.cpp.
extern template class tickwheel::core::record_wheel<tickwheel::runtime::record_shape,
                                                    tickwheel::runtime::records_of_line>;

// The interface for records, the timers that the library owns: all that src/timers uses of a wheel. Records
// and nodes share the wheels and the lock of a runtime, and fire in one order (P3).
//
// REQUIRES, for functions that require the lock: begin_records was called
#pragma once

#include <tickwheel/port.h>

#include <cstddef>
#include <cstdint>

#include "log.hpp"
#include "wheels_lock.hpp"

namespace tickwheel::core {

// The thread that advances a wheel calls this for each due record, which it has just taken off the wheel, or
// with null after an exception has ended the last fire (tw_core_abandon). `present` is the wheel's tick less
// the offset, as in timing::due. The wheel holds the lock; the function may release it and take it again.
using record_caller = void(timing *due, tick present, void *arg);

// --- setup: no lock held -------------------------------------------------------------------

// The size in bytes of the memory that begin_records needs for one wheel.
std::size_t size_of_records();

// The number of chunks that is always enough for this many records, spread over one or two wheels (P10).
std::size_t chunks_for(std::size_t records, unsigned wheels);

// Gives a wheel zeroed memory of size_of_records() bytes and a source of chunks, which wheels with one lock
// may share. From now on the wheel calls caller(due, present, arg) for its due records. `offset`: how many
// ticks the wheel is ahead of timing::due; tw_core_shift adds to it. `is_second`: pass true for exactly one
// of two wheels that share records.
void begin_records(tw *w, void *zeroed, chunk_pool &chunks, tick offset, bool is_second,
                   record_caller *caller, void *arg);

// The lock of a wheel. The owner of the records takes and releases it directly.
struct wheel_lock {
    std::uint32_t *word;  // the port's
    bool is_observed;     // see tw_port_is_observed
};
wheel_lock lock_of(tw *w);

// Both unchecked: clang does not understand ports.
inline void lock(const wheel_lock &of) TW_ACQUIRE(wheels_lock) TW_UNCHECKED_LOCKING {
    if (unlikely(of.is_observed))
        tw_port_lock_observed(of.word);
    else
        tw_port_lock(of.word);
}
inline void unlock(const wheel_lock &of) TW_RELEASE(wheels_lock) TW_UNCHECKED_LOCKING {
    if (unlikely(of.is_observed))
        tw_port_unlock_observed(of.word);
    else
        tw_port_unlock(of.word);
}

// --- records ---------------------------------------------------------------------------------

// Arm an unarmed record; move an armed one to another tick, or take it off the wheel. `due` is the tick of
// the wheel less the offset. A record that is armed or moved fires after the timers that its tick already has
// (P3). `moment`: see tw_core_join_lanes in door.h.
void arm_record(tw *w, timing &record, tick due, std::uint64_t moment) TW_REQUIRES(wheels_lock);
void move_record(tw *w, timing &record, tick due, std::uint64_t moment) TW_REQUIRES(wheels_lock);
void disarm_record(tw *w, timing &record) TW_REQUIRES(wheels_lock);

// tw_core_choose for a window that ends at `last`.
tick choose_tick(tw *w, tick first, tick last) TW_REQUIRES(wheels_lock);

// Counts prevented fires of this label, for tw_core_cancelled.
void count_cancelled(tw *w, unsigned label, std::uint64_t fires) TW_REQUIRES(wheels_lock);

}  // namespace tickwheel::core

// What src/timers uses of a wheel: the door for records, timers that the library keeps itself. They stand on
// the wheels of a runtime beside the nodes, behind the same lock, and fire in one order with them (P3).
//
// All functions but those that say otherwise: REQUIRES: lock of the wheel held, begin_records was called
#pragma once

#include <tickwheel/tw.h>

#include <cstddef>
#include <cstdint>

#include "record_memory.hpp"

namespace tickwheel::core {

// Called for each record that is due, on the thread that advances the wheel, when the record has been taken
// off it. Null: the record that was due last has been left by an exception (tw_abandon). The lock is held,
// and may be released and taken again.
using record_caller = void(timing *due, void *arg);

// --- making: no lock held ------------------------------------------------------------------

// The bytes that begin_records needs for one wheel.
std::size_t size_of_records();

// How many chunks are enough for so many records, spread over one or two wheels, come what may (P10).
std::size_t chunks_for(std::size_t records, unsigned wheels);

// Gives a wheel what records need: zeroed memory of size_of_records() bytes, and a source of chunks that
// wheels with one lock may share. From now on its due records are passed to caller(due, arg). `offset` is how
// many ticks the wheel is ahead of timing::due; tw_postpone_all adds to it. Of two wheels that a record may
// be armed on, one after the other, one is the second one.
void begin_records(tw *w, void *zeroed, record_memory &memory, tick offset, bool is_second,
                   record_caller *caller, void *arg);

// Has a wheel use the lock of another one. To be called right after tw_init.
void share_lock(tw *w, tw *with);

// The lock of a wheel, which its records' owner takes and releases by itself.
struct wheel_lock {
    std::uint32_t *word;  // of the port
    bool is_observed;     // see tw_port_is_observed
};
wheel_lock lock_of(tw *w);

// --- records ---------------------------------------------------------------------------------

// Arms a record that is not armed; takes an armed one to another tick, or off the wheel. `due` is less the
// offset. What is armed or moved fires last among all that is due at its tick (P3).
void arm_record(tw *w, timing &record, tick due);
void move_record(tw *w, timing &record, tick due);
void disarm_record(tw *w, timing &record);

// As tw_choose, for a window that ends at `last`.
tick choose_tick(tw *w, tick first, tick last);

// As tw_now.
tick now_of(tw *w);

// How many records are armed on a wheel; 0 without begin_records.
std::size_t count_records(tw *w);

// Counts fires of this label that a call has prevented, for tw_cancelled.
void count_cancelled(tw *w, unsigned label, std::uint64_t fires);

// --- for the thread that advances, inside and outside of callbacks; no lock is needed ------------

// True while a callback of a node or a record_caller runs.
bool is_in_callback(tw *w);

// Forgets a tw_interrupt that has not interrupted anything.
void forget_interruption(tw *w);

}  // namespace tickwheel::core

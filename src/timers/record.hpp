// A record: a timer that the library keeps, in a cell of its set's store.
//
// Arming, stopping and firing touch one cache line, `record`. The fields that only some timers need follow in
// `record_rest` and after it, and cost only the timers that use them.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tickwheel/keyed.h>
#include <tickwheel/task.h>
#include <tickwheel/timers.h>

#include "core/log.hpp"
#include "workers/runnable.hpp"

namespace tickwheel::timers {

struct record_set;
struct timer_set;

// The life of a record. One function makes each transition, with the record lock held:
//
//     free > starting   take_record     takes a cell; only one thread knows the cell, and fills it in
//     starting > live   make_live       the start arms the record, and its handle or key finds it
//     live > last       fire_record     begins the last fire; or ask_next, if the schedule has ended
//     last > live       take_back_last  that fire was withdrawn, discarded or cancelled before it ran
//     live > ended      retire          the record fires no more, and nothing finds it; or end_bare, for
//     last > ended                      a record without a rest
//     ended > free      free_record     nothing uses the record any more; its generation goes up
//     starting > ended  abandon         the start has failed; end_all, if a fork interrupted the start
//
// Whenever the lock is free:
//
//     state      armed       found by handle or key    uses
//     free       no          no                        0
//     starting   no          no                        0
//     live       yes or no   yes                       any
//     last       no          yes                       not 0
//     ended      no          no                        any
//
// `uses` counts the fires that run or wait for a worker, and the calls that keep the record while they have
// released the lock. The function that drops the last use of a record in `last` or `ended` finishes the
// record, which frees the cell; so does a call that ends a record without uses. The other variables answer
// other questions:
//
//     timing          whether the record is armed (core::is_armed), and on which wheel
//     begun           how many of `uses` have begun on a worker, so that no call can withdraw them any
//                     more; without workers, all of them
//     epoch           whether cancel_all is about to end the record: then the record no longer fires,
//                     though it is live
//     generation      whether a handle belongs to the record that has the cell now
//     set.references  when to free the set's memory: a fire on a worker may outlive the set
enum class record_state : std::uint8_t { free, starting, live, last, ended };

// A record's copy of its key. `has_number_key` and `key_size` tell which member is valid.
union stored_key {
    unsigned char bytes[16];
    unsigned char *longer;  // on the heap, for a key that does not fit into `bytes`
    std::uint64_t number;
};

// The part of a record that few timers need. In sets with keys, workers or a capacity every record has a rest
// behind it; in other sets a timer that needs a rest takes one from the record space's list when it starts.
struct alignas(64) record_rest {
    union {
        void *arg;
        record_rest *next_free;
    };
    tw_next_deadline *next;
    void (*drop)(void *);
    core::tick period;         // 0: one-shot; counted in ticks, or in parts of one if `part` is not 0
    std::uint32_t part;        // as in tw_node
    std::uint16_t fires_left;  // 0: no limit
    std::uint16_t key_size;
    stored_key key;
    std::uint32_t key_hash;
    std::uint8_t missed;
    bool has_number_key;
};

struct alignas(64) record {
    core::timing timing;  // the wheels' part of the record; in ticks of the clock
    std::int64_t delay;   // that the timer was started with; negative: none
    union {
        tw_task_callback *fn;
        record *next_free;  // while free
    };
    union {
        void *arg;          // the task's
        record_rest *rest;  // if has_rest; then it holds the argument
    };
    std::uint32_t number;      // of the cell
    std::uint32_t generation;  // of the cell; goes up when the record is over
    std::uint32_t uses;        // see record_state
    record_state state;
    bool has_rest : 1;
    bool is_on_wall : 1;  // its deadlines are on the wall timeline
    std::uint8_t epoch;   // of 7 bits; see cancel_all in record_set.cpp
    std::uint8_t label;   // see labels.hpp
};

// Follows the rest in a set with workers.
struct worker_part {
    tw_runnable runnable;
    std::uint32_t begun;  // how many of `uses` a worker has begun
};

static_assert(sizeof(record) == 64 && sizeof(record_rest) == 64 && TW_KEY_MAX <= UINT16_MAX);

inline record &record_of(core::timing &timing) { return reinterpret_cast<record &>(timing); }
static_assert(offsetof(record, timing) == 0);

inline record_rest &rest_behind(record &timer) { return *reinterpret_cast<record_rest *>(&timer + 1); }
inline worker_part &worker_part_of(record &timer) {
    return *reinterpret_cast<worker_part *>(&rest_behind(timer) + 1);
}
inline record &record_of(tw_runnable &runnable) {
    return *(reinterpret_cast<record *>(reinterpret_cast<record_rest *>(&runnable) - 1) - 1);
}
static_assert(offsetof(worker_part, runnable) == 0);

// Where the storage for the argument begins in a cell. A set with workers always has rests.
constexpr std::size_t storage_offset(bool has_rests, bool has_workers) {
    return sizeof(record) + (has_rests ? sizeof(record_rest) : 0) + (has_workers ? sizeof(worker_part) : 0);
}

// True if a handle or key finds the record.
inline bool is_live(const record &timer) {
    return timer.state == record_state::live || timer.state == record_state::last;
}
inline void *arg_of(const record &timer) { return timer.has_rest ? timer.rest->arg : timer.arg; }
inline bool has_next(const record &timer) { return timer.has_rest && timer.rest->next != nullptr; }
inline bool is_periodic(const record &timer) { return timer.has_rest && timer.rest->period != 0; }

}  // namespace tickwheel::timers

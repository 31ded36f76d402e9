// A record: a timer that the library keeps, in a cell of its set's store.
//
// What arming, stopping and firing touch is in one cache line, `record`. What only some timers need stands
// beside it, in `record_rest` and behind that, and costs only those that use it.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tickwheel/handle.h>
#include <tickwheel/keyed.h>
#include <tickwheel/task.h>

#include "core/log.hpp"
#include "workers/runnable.hpp"

namespace tickwheel::timers {

struct record_set;

// The life of a record. One function makes each transition, with the record lock held:
//
//     free > starting   take_record     a cell is taken, and filled in by one thread that alone knows it
//     starting > live   go_live         it is armed, and its handle or key finds it
//     live > last       fire_record     its last fire begins; ask_next, if its schedule has no further time
//     last > live       take_back_last  that fire was withdrawn, discarded or drained before it ran
//     live > ended      retire          it fires no more, and nothing finds it; end_bare, if nothing but a
//     last > ended                      handle finds it
//     ended > free      free_record     nothing uses it any more, and its generation goes up
//     starting > ended  abandon         its start has failed; end_all, if it was going on during a fork
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
// `uses` counts the fires that wait for a worker or run, and the calls that keep the record while they have
// released the lock. The function that takes away the last use of a record in `last` or `ended` finishes it,
// which frees the cell; so does the call that ends a record without uses. The other variables answer other
// questions:
//
//     timing          whether it is armed (core::is_armed), and on which wheel
//     begun           how many of `uses` have begun on a worker, and cannot be withdrawn any more; without
//                     workers, that is all of them
//     epoch           whether a drain is about to end it: then it no longer fires, though it is live
//     generation      whether a handle is that of the record that has the cell now
//     set.references  when the set's memory is freed: a fire on a worker may outlive the set
enum class record_state : std::uint8_t { free, starting, live, last, ended };

// A record's copy of its key. `has_number_key` and `key_size` tell which member is valid.
union stored_key {
    unsigned char bytes[16];
    unsigned char *longer;  // on the heap, if the key is longer than `bytes`
    std::uint64_t number;
};

// The part of a record that few timers need. In sets with keys, workers or a capacity it follows the record;
// in others it comes from the set's own list when a timer is started that needs it.
struct alignas(64) record_rest {
    union {
        void *arg;
        record_rest *next_free;
    };
    tw_next_deadline *next;
    void (*drop)(void *);
    core::tick period;         // 0: oneshot; counted in ticks, or in parts of one if `part` is not 0
    std::uint32_t part;        // as in tw_node
    std::uint16_t fires_left;  // 0: without end
    std::uint16_t key_size;
    stored_key key;
    std::uint32_t key_hash;
    std::uint8_t missed;
    bool has_number_key;
};

struct alignas(64) record {
    core::timing timing;  // by which the wheels know the record; in ticks of the clock
    std::int64_t delay;   // what it was last started or moved with; negative: none
    union {
        tw_task_callback *fn;
        record *next_free;  // while free
    };
    union {
        void *arg;          // the task's
        record_rest *rest;  // if has_rest: this has the argument
    };
    std::uint32_t number;      // of the cell
    std::uint32_t generation;  // of the cell; goes up when the record is over
    std::uint32_t uses;        // see record_state
    record_state state;
    bool has_rest : 1;
    bool is_on_wall : 1;  // its deadlines are on the wall timeline
    std::uint8_t epoch;   // of 7 bits; see the drains of record_set.cpp
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

// Where the storage for the argument begins in a cell. What has workers has rests.
constexpr std::size_t storage_offset(bool has_rests, bool has_workers) {
    return sizeof(record) + (has_rests ? sizeof(record_rest) : 0) + (has_workers ? sizeof(worker_part) : 0);
}

// A handle or key finds it.
inline bool is_live(const record &timer) {
    return timer.state == record_state::live || timer.state == record_state::last;
}
inline void *arg_of(const record &timer) { return timer.has_rest ? timer.rest->arg : timer.arg; }
inline bool has_next(const record &timer) { return timer.has_rest && timer.rest->next != nullptr; }
inline bool is_periodic(const record &timer) { return timer.has_rest && timer.rest->period != 0; }

}  // namespace tickwheel::timers

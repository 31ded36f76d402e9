// Record spaces: everything that the sets of a runtime share, one space for each lane. Records stand on the
// lane's wheel, as nodes do (core/records.hpp), and fire on the thread that drives the runtime;
// record_life.cpp says what a fire does.
//
// The record lock guards all records of the lane, their stores and tables. It is the lock of the lane's
// wheel, so while you hold it, never call a function of tw.h that takes that lock. With a wall timeline, a
// thread takes `wall_mutex` before the record lock and follows the wall clock, so that it can convert
// readings; a fire starts with the wheels' lock alone. The lock is released while a user's function runs,
// with one exception: a driver's `wake`. runtime/state.hpp has the order of locks.
#pragma once

#include <tickwheel/port.h>

#include "core/records.hpp"
#include "record_store.hpp"
#include "runtime/components.hpp"
#include "runtime/nodes.hpp"

namespace tickwheel::timers {

// Invariants
//   E1  The entries of all cells have chunks: chunk_count >= chunks_for(cells). So arming never lacks a
//       chunk (P10).
//   E2  `fired` is null, or a record of `fired_in` that has a use.
struct record_space {
    tw_runtime *rt;  // fixed, like the next four
    unsigned lane;
    tw *steady;  // the lane's wheel
    core::wheel_lock wheels;
    bool is_plain;  // no wall timeline, and no tool observes the lock

    bool has_wall_mutex TW_GUARDED_BY(core::wheels_lock);  // the holder of the lock has `wall_mutex`
    // The reading that the holder has followed; valid if has_wall_mutex.
    std::int64_t wall_reading TW_GUARDED_BY(core::wheels_lock);

    std::uint32_t waiting TW_GUARDED_BY(core::wheels_lock);  // threads in wait_for_progress
    // The word that these threads sleep on; counts the progress of all records.
    std::uint32_t progress TW_GUARDED_BY(core::wheels_lock);
    std::size_t cells TW_GUARDED_BY(core::wheels_lock);  // cells with memory, in all stores
    std::size_t chunk_count TW_GUARDED_BY(core::wheels_lock);
    core::chunk_pool chunks;  // for the entries of all records; guarded by the same lock
    spare_memory memory TW_GUARDED_BY(core::wheels_lock);

    // The current fire on the firing thread; null if none.
    record *fired TW_GUARDED_BY(core::wheels_lock);
    record_set *fired_in TW_GUARDED_BY(core::wheels_lock);
    std::int64_t fired_due TW_GUARDED_BY(core::wheels_lock);
};

// The spaces of a runtime, a component. It is made before the first set, and so destroyed after the last one.
struct record_spaces : runtime::component {
    std::atomic<record_space *> of_lanes[runtime::most_lanes];  // null until used
};

// Take and release the record lock. Not checked by clang, which does not know ports.
void lock_slowly(record_space &space) TW_ACQUIRE(core::wheels_lock);
void unlock_slowly(record_space &space) TW_RELEASE(core::wheels_lock);
inline void lock(record_space &space) TW_ACQUIRE(core::wheels_lock) TW_UNCHECKED_LOCKING {
    if (space.is_plain) [[likely]]
        tw_port_lock(space.wheels.word);
    else
        lock_slowly(space);
}
inline void unlock(record_space &space) TW_RELEASE(core::wheels_lock) TW_UNCHECKED_LOCKING {
    if (space.is_plain) [[likely]]
        tw_port_unlock(space.wheels.word);
    else
        unlock_slowly(space);
}

// Holds the record lock during a call that runs none of the user's functions.
class TW_SCOPED_CAPABILITY record_guard {
  public:
    explicit record_guard(record_space &space) TW_ACQUIRE(core::wheels_lock) : space_(space) { lock(space); }
    ~record_guard() TW_RELEASE() { unlock(space_); }
    record_guard(const record_guard &) = delete;
    record_guard &operator=(const record_guard &) = delete;

  private:
    record_space &space_;
};

// Holds the record lock during a call or run that may call the user's functions, which run unlocked. If one
// of them frees the runtime, the destructor unlocks first and then completes the freeing.
class TW_SCOPED_CAPABILITY record_lock : public runtime::end_of_call {
  public:
    explicit record_lock(record_space &space) TW_ACQUIRE(core::wheels_lock) : space_(space), is_lent_(false) {
        lock();
    }
    ~record_lock() TW_RELEASE() {
        if (!is_lent_)
            unlock();
        else if (space_.has_wall_mutex) [[unlikely]]
            release_wall();
    }
    record_lock(const record_lock &) = delete;
    record_lock &operator=(const record_lock &) = delete;

    void lock() TW_ACQUIRE(core::wheels_lock) { timers::lock(space_); }
    void unlock() TW_RELEASE(core::wheels_lock) { timers::unlock(space_); }

  protected:
    enum class how { lent };
    record_lock(record_space &space, how) : space_(space), is_lent_(true) {}

  private:
    void release_wall() TW_REQUIRES(core::wheels_lock);

    record_space &space_;
    const bool is_lent_;
};

// The same for a fire. The wheel lends its lock, still locked, and gets it back the same way.
class fire_lock : public record_lock {
  public:
    explicit fire_lock(record_space &space) TW_REQUIRES(core::wheels_lock) : record_lock(space, how::lent) {}
};

// Find the spaces of a runtime, or the space of a lane, or make them, and the lane. They return 0 or -ENOMEM.
int open_spaces(tw_runtime &rt, record_spaces *&found);
int open_space(record_spaces &spaces, unsigned lane, record_space *&found);

inline runtime::timeline &line_of(record_space &space, const record &of) {
    return of.is_on_wall ? *space.rt->absolute : space.rt->steady;
}
inline tw *wheel_of(record_space &space, const record &of) {
    return of.is_on_wall ? &space.rt->absolute->wheel : space.steady;
}

// The most chunks that the entries of `cells` records need.
std::size_t chunks_for(const record_space &space, std::size_t cells);

// Adds the chunks of a growth.
void add_chunks(record_space &space, growth &with) TW_REQUIRES(core::wheels_lock);

}  // namespace tickwheel::timers

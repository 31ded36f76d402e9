// The inside of a pool of workers, for workers.cpp, which runs fires, and pool.cpp, which makes and
// ends the pool. Any thread, except as noted.
//
// Invariants, while the pool mutex is held
//   - A runnable is ready if and only if it has a waiting fire, and either is concurrent or no
//     runner runs it. So the runs of one item never overlap.
//   - After the callback, a runner touches the runnable only if `more` is set, because the callback
//     may have freed it. `more` means that the runnable is not concurrent and has a further fire,
//     so it is still in use.
//   - At most `bound` fires wait, not counting those that an idle worker is about to take. One more
//     may wait from the callback that enqueues it until the firing thread has settled the pool,
//     which it does before it calls anything else (ask_to_settle).
#pragma once

#include "fire_queue.hpp"
#include "runnable.hpp"

namespace tickwheel::workers {

// A thread that runs fires: a worker, or the firing thread when it runs a fire inline.
struct runner {
    tw_workers *pool;
    pthread_t thread;              // inline: the thread of the current run
    tw_runnable *current;          // null: idle
    std::uint64_t ended;           // number of runs that have ended
    bool more;                     // see above
    runtime::deferred_free frees;  // set by a callback on this thread; only this thread reads it
};

}  // namespace tickwheel::workers

struct tw_workers : tickwheel::runtime::component {
    // Constant after `make`.
    unsigned threads;
    std::uint32_t bound;
    tw_when_full when_full;
    tw_at_stop at_stop;
    char thread_name[tickwheel::runtime::thread_name_size];
    tickwheel::workers::runner *runners;              // one for each worker, then the inline one
    tickwheel::runtime::running_callback *callbacks;  // the current callback of each runner

    tickwheel::base::mutex mutex;  // also guards the work items' runnables
    pthread_cond_t work;           // idle workers wait for a ready runnable
    pthread_cond_t changed;        // other threads wait for fires or runs to end
    tickwheel::workers::fire_queue queue TW_GUARDED_BY(mutex);
    // Runners discard fires with lower numbers.
    std::uint64_t discard_before TW_GUARDED_BY(mutex);
    // withdraw_next takes work items' fires with lower numbers.
    std::uint64_t withdraw_before TW_GUARDED_BY(mutex);
    std::uint32_t withdrawn_up_to TW_GUARDED_BY(mutex);  // place in the heap that withdraw_next has reached
    std::uint32_t running TW_GUARDED_BY(mutex);
    std::uint32_t awaiting TW_GUARDED_BY(mutex);
    std::uint32_t idle TW_GUARDED_BY(mutex);  // number of workers that run nothing
    unsigned started;  // number of threads; changes only while no other thread uses the pool
    unsigned references TW_GUARDED_BY(mutex);  // see add_reference
    bool leaving TW_GUARDED_BY(mutex);         // workers must end once the queue is empty
    bool settling TW_GUARDED_BY(mutex);        // the firing thread is in `settle`
    std::uint32_t forks;  // incremented in the child of a fork: a thread that sees it change is in a child
    tw_worker_stats stats TW_GUARDED_BY(mutex);
};

namespace tickwheel::workers {

// The number of waiting fires, not counting those that an idle worker is about to take.
inline std::uint32_t length(const tw_workers &pool) TW_REQUIRES(pool.mutex) {
    const std::uint32_t takable = pool.queue.takable();
    return pool.queue.waiting() - (takable < pool.idle ? takable : pool.idle);
}

inline bool is_at_rest(const tw_workers &pool) TW_REQUIRES(pool.mutex) {
    return pool.queue.waiting() == 0 && pool.running == 0;
}

// Waits until something may have changed.
inline void await_change(tw_workers &pool) TW_YIELDS(pool.mutex) {
    const runtime::no_thread_cancel guard;
    ++pool.awaiting;
    pthread_cond_wait(&pool.changed, &pool.mutex.native);
    --pool.awaiting;
}

inline void announce_change(tw_workers &pool) TW_REQUIRES(pool.mutex) {
    if (pool.awaiting != 0)
        pthread_cond_broadcast(&pool.changed);
}

// Discards the waiting fires of work items.
void discard_work_items(tw_workers &pool) TW_REQUIRES(pool.mutex);

// Called by the firing thread. Returns true once the pool is within its bound; false if the thread has
// to leave first.
bool settle(tw_workers &pool) TW_RELEASE(pool.mutex);

// For tw_runtime_cancel_all: begin_withdrawal marks the waiting fires of work items; withdraw_next withdraws
// those of one item and returns its node, or null when none is left.
void begin_withdrawal(tw_workers &pool);
tw_node *withdraw_next(tw_workers &pool);

// How the runtime handles the nodes of work items: their callback enqueues a fire.
extern const runtime::fire_relay work_relay;

// The main function of a worker's thread; `arg` is its runner.
void *worker_main(void *arg);

}  // namespace tickwheel::workers

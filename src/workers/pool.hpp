// A pool of workers from the inside, for workers.cpp, which runs fires, and pool.cpp, which makes and
// ends the pool. Any thread, except as noted.
//
// Invariants, while the pool mutex is held
//   - A runnable is ready if and only if it has a fire that waits, and either is concurrent or no
//     runner runs it. So the runs of one job follow each other.
//   - After the callback, a runner touches what it has run only if `more` is set, because the callback
//     may have freed it. `more` says that the runnable is not concurrent and has a further fire, which
//     means that it is still in use.
//   - At most `bound` fires wait, not counting those that an idle worker is about to take. One more
//     waits from the callback that enqueues it until the firing thread has settled the pool, which it
//     does before it calls anything else (ask_to_settle).
#pragma once

#include "fire_queue.hpp"
#include "runnable.hpp"

namespace tickwheel::workers {

// A thread that runs fires: a worker; or, inline, the firing thread.
struct runner {
    tw_workers *pool;
    pthread_t thread;              // inline: the thread that runs something now
    tw_runnable *current;          // null if it runs nothing
    std::uint64_t ended;           // how many runs have ended
    bool more;                     // see above
    runtime::deferred_free frees;  // left by a callback of this thread, which alone reads it
};

}  // namespace tickwheel::workers

struct tw_workers : tickwheel::runtime::component {
    // Fixed when it is made.
    unsigned threads;
    std::uint32_t bound;
    tw_when_full when_full;
    tw_at_stop at_stop;
    char thread_name[tickwheel::runtime::thread_name_size];
    tickwheel::workers::runner *runners;              // one for each worker, then the one that runs inline
    tickwheel::runtime::running_callback *callbacks;  // what each runner runs

    tickwheel::base::mutex mutex;  // also guards the jobs' runnables
    pthread_cond_t work;           // idle workers wait for something to take
    pthread_cond_t changed;        // others wait for fires and runs to become fewer
    tickwheel::workers::fire_queue queue TW_GUARDED_BY(mutex);
    // Fires with lower numbers are not run any more.
    std::uint64_t discard_before TW_GUARDED_BY(mutex);
    // Fires of jobs with lower numbers are being withdrawn.
    std::uint64_t clear_before TW_GUARDED_BY(mutex);
    std::uint32_t clearing_at TW_GUARDED_BY(mutex);  // how far that has come in the queue
    std::uint32_t running TW_GUARDED_BY(mutex);
    std::uint32_t awaiting TW_GUARDED_BY(mutex);
    std::uint32_t idle TW_GUARDED_BY(mutex);   // workers that run nothing
    unsigned started;                          // threads; changed while no other thread uses the pool
    unsigned references TW_GUARDED_BY(mutex);  // see add_reference
    bool leaving TW_GUARDED_BY(mutex);         // the threads are to end
    bool settling TW_GUARDED_BY(mutex);        // the firing thread is in `settle`
    std::uint32_t forks;  // goes up in the child of a fork: a thread that sees it change is in a child
    tw_worker_stats stats TW_GUARDED_BY(mutex);
};

namespace tickwheel::workers {

// How many fires wait that no idle worker is about to take.
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

inline void tell_of_change(tw_workers &pool) TW_REQUIRES(pool.mutex) {
    if (pool.awaiting != 0)
        pthread_cond_broadcast(&pool.changed);
}

// Throws away the fires of jobs that wait.
void discard_jobs(tw_workers &pool) TW_REQUIRES(pool.mutex);

// Returns true once no more fires wait than the bound allows; false if the firing thread, which calls
// this, has to leave before.
bool settle(tw_workers &pool) TW_RELEASE(pool.mutex);

// For tw_runtime_clear: the first marks the fires of jobs that wait now, the second withdraws those of
// one job and returns its node, or null when all are withdrawn.
void begin_clear(tw_workers &pool);
tw_node *clear_one(tw_workers &pool);

// The nodes of jobs: their callback enqueues.
extern const runtime::fire_relay job_relay;

// The main function of a worker's thread; `arg` is its runner.
void *worker_main(void *arg);

}  // namespace tickwheel::workers

// A pool of workers, as seen from within: by workers.cpp, which runs fires, and by
// pool.cpp, which makes and ends it.
//
// Invariants, with the mutex held
//   - A runnable is ready if and only if it has a fire that waits, and either is concurrent
//     or no runner runs it.
//   - A runner touches what it runs after the callback only if `more` is set: it may have
//     been freed. `more` says that it is not concurrent and has a further fire.
//   - At most `bound` fires wait, those not counted for which a worker is idle; but one
//     more from the callback that enqueues it until the firing thread has settled that
//     (ask_to_settle), before it calls anything else.
#pragma once

#include "fire_queue.hpp"
#include "workers.hpp"

namespace tickwheel::runtime {

// One that runs fires: a worker; or, in a worker's place, the runtime's thread.
struct runner {
    tw_workers *pool;
    pthread_t thread;     // of the one in a worker's place: whoever runs something now
    tw_runnable *runs;    // null: nothing
    std::uint64_t ended;  // runs, so far
    bool more;            // see above
    bool is_detached;
    deferred_free frees;  // left in the callback; by this thread alone
};

}  // namespace tickwheel::runtime

struct tw_workers : tickwheel::runtime::component {
    // Fixed when it is made.
    unsigned threads;
    std::uint32_t bound;
    tw_when_full when_full;
    tw_at_stop at_stop;
    char thread_name[tickwheel::runtime::thread_name_size];
    tickwheel::runtime::runner *runners;  // of each thread, then the one in a worker's place

    pthread_mutex_t mutex;   // guards all that follows, and the jobs' runnables
    pthread_cond_t work;     // idle workers wait for something to take
    pthread_cond_t changed;  // others wait for fires and runs to become fewer
    tickwheel::runtime::fire_queue queue;
    std::uint64_t discard_before;  // fires with lower numbers are not run any more
    std::uint64_t clear_before;    // those of jobs with lower numbers are being taken back
    std::uint32_t clearing_at;     // and this is how far that has come in the queue
    std::uint32_t running, awaiting;
    std::uint32_t idle;   // workers that run nothing
    unsigned started;     // threads
    unsigned users;       // see add_user
    bool leaving;         // the threads are to end
    bool settling;        // whoever fires is in here
    std::uint32_t forks;  // that made this process: who finds another number is in a child
    tw_worker_stats stats;
};

namespace tickwheel::runtime {

// Fires that wait, and for which no idle worker is there. With the mutex.
inline std::uint32_t length(const tw_workers &pool) {
    const std::uint32_t takable = pool.queue.takable();
    return pool.queue.waiting() - (takable < pool.idle ? takable : pool.idle);
}

inline bool is_at_rest(const tw_workers &pool) { return pool.queue.waiting() == 0 && pool.running == 0; }

// Waits until something may have changed. With the mutex.
inline void await_change(tw_workers &pool) {
    const uncancelled here;
    ++pool.awaiting;
    pthread_cond_wait(&pool.changed, &pool.mutex);
    --pool.awaiting;
}

inline void tell_of_change(tw_workers &pool) {
    if (pool.awaiting != 0)
        pthread_cond_broadcast(&pool.changed);
}

// Throws away the fires of jobs that wait. With the mutex.
void discard_jobs(tw_workers &pool);

// Has no more fires wait than may. False: the firing thread has to leave before.
// REQUIRES: pool mutex held. RELEASES: it
bool settle(tw_workers &pool);

// For tw_runtime_clear: jobs with fires that wait now, one after the other. The second takes back
// the fires of one and returns its node; null: there is none any more.
void begin_clear(tw_workers &pool);
tw_node *clear_one(tw_workers &pool);

// Passes the fires of jobs on.
extern const fire_relay job_relay;

// What a worker's thread does: arg is its runner.
void *work(void *arg);

}  // namespace tickwheel::runtime

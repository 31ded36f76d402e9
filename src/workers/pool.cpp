// A pool's life: made, stopped, forked, freed; its threads; and its hooks as a component of a runtime.
// Any thread.
#include "pool.hpp"

#include <cstdlib>

namespace tickwheel::workers {

namespace {

constexpr unsigned default_threads = 4;
constexpr std::uint32_t default_queue = 1024;
constexpr std::uint32_t longest_queue = std::uint32_t{1} << 24;

// Returns null if the options are valid, else why not.
const char *what_is_wrong(const tw_workers_options &o) {
    if (o.threads > TW_WORKERS_MAX)
        return "more threads than TW_WORKERS_MAX";
    if (o.queue > longest_queue)
        return "the queue is too long";
    if (!runtime::is_one_of(o.when_full, TW_FULL_INLINE, TW_FULL_BLOCK))
        return "when_full is none of its values";
    if (!runtime::is_one_of(o.at_stop, TW_STOP_DRAIN, TW_STOP_DISCARD))
        return "at_stop is none of its values";
    if (!runtime::is_thread_name(o.thread_name))
        return "thread_name has more than 15 characters";
    return nullptr;
}

void take_options(tw_workers &pool, const tw_workers_options &o) {
    pool.threads = o.threads != 0 ? o.threads : default_threads;
    pool.bound = o.queue != 0 ? o.queue : default_queue;
    pool.when_full = o.when_full;
    pool.at_stop = o.at_stop;
    runtime::copy_thread_name(pool.thread_name, o.thread_name, "tickwheel-work");
}

void make_conditions(tw_workers &pool) {
    pthread_cond_init(&pool.work, nullptr);
    pthread_cond_init(&pool.changed, nullptr);
}

// The fires of jobs go at once, so that the jobs are their owners' again. Those of records stay in the
// queue below discard_before: a worker takes them and calls `discarded`, which needs the record lock,
// and that comes before the pool's.
void discard(tw_workers &pool) TW_REQUIRES(pool.mutex) {
    if (pool.at_stop != TW_STOP_DISCARD)
        return;
    discard_jobs(pool);
    pool.discard_before = pool.queue.next_number();
}

// A worker ends when it finds nothing to take while `leaving` is set, so the queue is worked off first. A
// worker that frees the runtime calls this itself, and nothing joins it (free_runtime).
void end_threads(tw_workers &pool) {
    {
        const base::mutex_hold hold(&pool.mutex);
        pool.leaving = true;
        pthread_cond_broadcast(&pool.work);
    }
    for (unsigned i = 0; i < pool.started; ++i)
        if (pthread_equal(pool.runners[i].thread, pthread_self()) == 0)
            pthread_join(pool.runners[i].thread, nullptr);
    pool.started = 0;
    pool.mutex.assume_held();  // no thread is left that it excludes
    pool.leaving = false;
}

// Starts all of them, or none. A worker counts as idle before it runs for the first time: it takes what is
// offered to it as soon as it does.
int start_threads(tw_workers &pool) {
    for (; pool.started < pool.threads; ++pool.started) {
        runner &next = pool.runners[pool.started];
        if (const int error = runtime::create_thread(next.thread, nullptr, worker_main, &next); error != 0) {
            end_threads(pool);
            return error;
        }
    }
    pool.mutex.assume_held();  // nothing is in the queue yet, so no worker looks at `idle`
    pool.idle = pool.threads;
    return 0;
}

// --- as a component of its runtime -------------------------------------------------------

tw_workers &pool_of(runtime::component &it) { return static_cast<tw_workers &>(it); }

void lock(runtime::component &it) TW_ACQUIRE(pool_of(it).mutex) { pool_of(it).mutex.lock(); }
void unlock(runtime::component &it) TW_RELEASE(pool_of(it).mutex) { pool_of(it).mutex.unlock(); }

// The firing thread may wait in `settle` for room. It is told of a change, and finds that it has to leave.
void interrupt(runtime::component &it) {
    tw_workers &pool = pool_of(it);
    const base::mutex_hold hold(&pool.mutex);
    discard(pool);
    tell_of_change(pool);
}

// Returns when nothing waits and nothing runs. In the child of a fork that is true from the beginning.
void stop(runtime::component &it) {
    tw_workers &pool = pool_of(it);
    const base::mutex_hold hold(&pool.mutex);
    discard(pool);
    while (!is_at_rest(pool))
        await_change(pool);
}

// The fires that wait are the parent's to run. The queue has the runnables that are ready; those that were
// run, and have further fires, are found in their runners.
void forget_fires(tw_workers &pool) TW_REQUIRES(pool.mutex) {
    while (tw_runnable *const each = pool.queue.first())
        pool.queue.drop_all(*each);
    for (unsigned i = 0; i <= pool.threads; ++i) {
        runner &each = pool.runners[i];
        if (each.more)
            pool.queue.drop_all(*each.current);
        each = {};
        each.pool = &pool;
        pool.callbacks[i].end();
    }
}

// The forking thread has taken the mutex, so the queue is whole. Conditions are made anew, as threads that
// waited on them are not there. Its own run, if it is a worker, does not count any more: run_first sees
// `forks` change and touches the pool no more.
void begin_in_child(runtime::component &it) {
    tw_workers &pool = pool_of(it);
    pool.mutex.assume_held();  // see above
    forget_fires(pool);
    make_conditions(pool);
    pool.running = pool.idle = pool.awaiting = 0;
    pool.started = 0;
    pool.settling = pool.leaving = false;
    ++pool.forks;
    mark_settled(pool);
    pool.mutex.unlock();
}

// A child gets its threads from tw_runtime_after_fork. Until then nothing may run there (P13).
int revive(runtime::component &it) { return start_threads(pool_of(it)); }

void unmake(tw_workers &pool) {
    pool.mutex.assume_held();  // no other thread knows the pool
    pool.queue.unmake();
    pthread_cond_destroy(&pool.changed);
    pthread_cond_destroy(&pool.work);
    pool.mutex.destroy();
    std::free(pool.callbacks);
    std::free(pool.runners);
    std::free(&pool);
}

// The threads end first: they look at the pool, and at the runtime, until they have left.
void destroy(runtime::component &it) {
    tw_workers &pool = pool_of(it);
    end_threads(pool);
    remove_component(pool);
    unmake(pool);
}

constexpr runtime::component_hooks pool_hooks = {
    .job_relay = &job_relay,
    .lock = lock,
    .unlock = unlock,
    .begin_in_child = begin_in_child,
    .interrupt = interrupt,
    .settle = [](runtime::component &it) TW_RELEASE(pool_of(it).mutex) { return settle(pool_of(it)); },
    .begin_clear = [](runtime::component &it) { begin_clear(pool_of(it)); },
    .clear_one = [](runtime::component &it) { return clear_one(pool_of(it)); },
    .stop = stop,
    .revive = revive,
    .destroy = destroy,
    .callbacks = [](runtime::component &it) -> runtime::running_callbacks {
        tw_workers &pool = pool_of(it);
        const base::mutex_hold hold(&pool.mutex);
        return {pool.callbacks, pool.threads + 1, !is_at_rest(pool)};
    },
};

// Waits until the firing thread is no longer in `settle` for this pool. It cannot enter it again: it looks
// for a pool to settle with the components mutex held, and the mark is gone. Nothing waits in the queue
// any more, so a `settle` that is under way ends soon.
void wait_until_settled(tw_workers &pool) {
    {
        const base::mutex_hold no_settling_begins(&pool.rt->components_mutex);
        mark_settled(pool);
    }
    const base::mutex_hold hold(&pool.mutex);
    while (pool.settling)
        await_change(pool);
}

// All that running jobs will need is allocated here (P10): a cell for each fire that may wait, which is the
// bound, one for each idle worker, and the one too many of `settle`. The pool is added to its runtime last,
// when it is whole.
int make(tw_runtime &rt, const tw_workers_options &o, tw_workers *&made) {
    auto *pool = static_cast<tw_workers *>(std::calloc(1, sizeof(tw_workers)));
    if (pool == nullptr)
        return -ENOMEM;
    take_options(*pool, o);
    pool->rt = &rt;
    pool->mutex.init();
    pool->mutex.assume_held();  // no other thread knows the pool
    make_conditions(*pool);
    pool->runners = static_cast<runner *>(std::calloc(pool->threads + 1, sizeof(runner)));
    const bool has_room = pool->queue.make(std::size_t{pool->bound} + pool->threads + 1);
    pool->callbacks = static_cast<runtime::running_callback *>(
        std::calloc(pool->threads + 1, sizeof(runtime::running_callback)));
    int error = pool->runners == nullptr || pool->callbacks == nullptr || !has_room ? -ENOMEM : 0;
    for (unsigned i = 0; error == 0 && i <= pool->threads; ++i)
        pool->runners[i].pool = pool;
    if (error == 0)
        error = start_threads(*pool);
    if (error != 0) {
        unmake(*pool);
        return error;
    }
    add_component(*pool, rt, pool_hooks);
    made = pool;
    return 0;
}

// 0 if a call may wait for the pool, else a negative errno. A callback may not: it would wait for itself.
int check_waiting(const tw_workers *workers) {
    if (workers == nullptr)
        return runtime::refuse(-EINVAL, "the workers are null");
    if (const int error = runtime::check_usable(workers->rt); error != 0)
        return error;
    return runtime::inside_user_code::of(*workers->rt)
               ? runtime::refuse(-EBUSY, "called from inside a callback of the runtime")
               : 0;
}

}  // namespace

bool are_of(const tw_workers &workers, const tw_runtime &rt) { return workers.rt == &rt; }

void add_reference(tw_workers &workers) {
    const base::mutex_hold hold(&workers.mutex);
    ++workers.references;
}

void remove_reference(tw_workers &workers) {
    const base::mutex_hold hold(&workers.mutex);
    --workers.references;
}

}  // namespace tickwheel::workers

using namespace tickwheel;
using namespace tickwheel::workers;

TW_API int tw_workers_new(tw_workers **workers, tw_runtime *rt, const tw_workers_options *options) {
    const tw_workers_options o = options != nullptr ? *options : tw_workers_options{};
    if (workers == nullptr)
        return runtime::refuse(-EINVAL, "no place for the workers");
    if (rt != nullptr)  // else it is that which is wrong
        if (const char *const wrong = what_is_wrong(o); wrong != nullptr)
            return runtime::refuse(-EINVAL, wrong);
    if (const int error = runtime::check_arming(rt); error != 0)
        return error;
    const runtime::no_thread_cancel guard;
    return runtime::explain_system_error(make(*rt, o, *workers));
}

// `lifecycle_mutex` is held so that no other thread stops the runtime, and with it this pool, meanwhile.
TW_API int tw_workers_free(tw_workers *workers) {
    if (workers == nullptr)
        return 0;
    if (const int error = check_waiting(workers); error != 0)
        return error;
    const runtime::no_thread_cancel guard;
    const base::mutex_hold hold(&workers->rt->lifecycle_mutex);
    {
        const base::mutex_hold hold_pool(&workers->mutex);
        if (workers->references != 0)
            return runtime::refuse(-EBUSY, "a set of timers still uses these workers");
    }
    stop(*workers);
    wait_until_settled(*workers);
    destroy(*workers);
    return 0;
}

TW_API int tw_workers_wait(tw_workers *workers) {
    if (const int error = check_waiting(workers); error != 0)
        return error;
    const base::mutex_hold hold(&workers->mutex);
    while (!is_at_rest(*workers))
        await_change(*workers);
    return 0;
}

TW_API int tw_workers_stats(tw_workers *workers, tw_worker_stats *stats) {
    if (workers == nullptr || stats == nullptr)
        return runtime::refuse(-EINVAL, workers == nullptr ? "the workers are null" : "stats is null");
    if (const int error = runtime::check_usable(workers->rt); error != 0)
        return error;
    const base::mutex_hold hold(&workers->mutex);
    *stats = workers->stats;
    stats->waiting = length(*workers);
    stats->running = workers->running;
    return 0;
}

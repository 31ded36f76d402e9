// The life of a pool: making, stopping, forking and freeing it; its threads; and its hooks as a component
// of a runtime. Any thread.
#include "pool.hpp"

#include <cstdlib>

namespace tickwheel::workers {

namespace {

constexpr unsigned default_threads = 4;
constexpr std::uint32_t default_queue = 1024;
constexpr std::uint32_t longest_queue = std::uint32_t{1} << 24;

// Returns null if the options are valid, else the reason.
const char *what_is_wrong(const tw_workers_options &o) {
    if (o.threads > TW_WORKERS_MAX)
        return "threads is more than TW_WORKERS_MAX";
    if (o.queue > longest_queue)
        return "queue is more than 2^24";
    if (!base::is_one_of(o.when_full, TW_FULL_INLINE, TW_FULL_BLOCK))
        return "when_full is not a value of enum tw_when_full";
    if (!base::is_one_of(o.at_stop, TW_STOP_DRAIN, TW_STOP_DISCARD))
        return "at_stop is not a value of enum tw_at_stop";
    if (!runtime::is_thread_name(o.thread_name))
        return "thread_name has more than 15 bytes";
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

// Drops the fires of work items at once, so that the owners may free their work items. The fires of records
// stay in the queue, below discard_before: a worker takes them and calls `discarded`, which needs the record
// lock, and lock order puts that before the pool mutex.
void discard(tw_workers &pool) TW_REQUIRES(pool.mutex) {
    if (pool.at_stop != TW_STOP_DISCARD)
        return;
    discard_work_items(pool);
    pool.discard_before = pool.queue.next_number();
}

// A worker ends when `leaving` is set and it finds no ready runnable, so workers empty the queue first. A
// worker that frees the runtime calls this itself; it is detached and not joined (free_runtime).
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
    pool.mutex.assume_held();  // no other thread is left
    pool.leaving = false;
}

// Starts all threads, or none. A worker counts as idle before its thread first runs, because it will take
// an offered fire as soon as it runs.
int start_threads(tw_workers &pool) {
    for (; pool.started < pool.threads; ++pool.started) {
        runner &next = pool.runners[pool.started];
        if (const int error = runtime::create_thread(next.thread, nullptr, worker_main, &next); error != 0) {
            end_threads(pool);
            return error;
        }
    }
    pool.mutex.assume_held();  // the queue is still empty, so no worker touches `idle`
    pool.idle = pool.threads;
    return 0;
}

// --- the component -----------------------------------------------------------------------

tw_workers &pool_of(runtime::component &component) { return static_cast<tw_workers &>(component); }

void lock(runtime::component &component) TW_ACQUIRE(pool_of(component).mutex) {
    pool_of(component).mutex.lock();
}
void unlock(runtime::component &component) TW_RELEASE(pool_of(component).mutex) {
    pool_of(component).mutex.unlock();
}

// The firing thread may be waiting in `settle` for room. This wakes it, and it finds that it must leave.
void interrupt(runtime::component &component) {
    tw_workers &pool = pool_of(component);
    const base::mutex_hold hold(&pool.mutex);
    discard(pool);
    announce_change(pool);
}

// Returns when no fire waits and none runs. In the child of a fork, that is at once.
void stop(runtime::component &component) {
    tw_workers &pool = pool_of(component);
    const base::mutex_hold hold(&pool.mutex);
    discard(pool);
    while (!is_at_rest(pool))
        await_change(pool);
}

// The child forgets the waiting fires, because the parent runs them. Ready runnables are in the queue;
// runnables that had a run in progress and further fires are in the runners.
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

// The forking thread has held the mutex since before the fork, so the queue is consistent. The conditions
// are initialised again, as their waiters do not exist in the child. If the forking thread is a worker, its
// own run no longer counts: run_first sees `forks` change and does not touch the pool again.
void begin_in_child(runtime::component &component) {
    tw_workers &pool = pool_of(component);
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

// tw_runtime_after_fork starts the threads of a child. Until then nothing may run there (P13).
int revive(runtime::component &component) { return start_threads(pool_of(component)); }

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

// Ends the threads first, because they use the pool and the runtime until they end.
void destroy(runtime::component &component) {
    tw_workers &pool = pool_of(component);
    end_threads(pool);
    remove_component(pool);
    unmake(pool);
}

constexpr runtime::component_hooks pool_hooks = {
    .work_relay = &work_relay,
    .lock = lock,
    .unlock = unlock,
    .begin_in_child = begin_in_child,
    .interrupt = interrupt,
    .settle = [](runtime::component &component)
                  TW_RELEASE(pool_of(component).mutex) { return settle(pool_of(component)); },
    .begin_withdrawal = [](runtime::component &component) { begin_withdrawal(pool_of(component)); },
    .withdraw_next = [](runtime::component &component) { return withdraw_next(pool_of(component)); },
    .stop = stop,
    .revive = revive,
    .destroy = destroy,
    .callbacks = [](runtime::component &component) -> runtime::running_callbacks {
        tw_workers &pool = pool_of(component);
        const base::mutex_hold hold(&pool.mutex);
        return {pool.callbacks, pool.threads + 1, !is_at_rest(pool)};
    },
};

// Waits until the firing thread has left `settle` for this pool. The thread cannot enter `settle` again,
// because it looks for a pool to settle with the components mutex held, and mark_settled removes the mark
// under that mutex. The queue is empty, so a `settle` in progress ends soon.
void wait_until_settled(tw_workers &pool) {
    {
        const base::mutex_hold no_settling_begins(&pool.rt->components_mutex);
        mark_settled(pool);
    }
    const base::mutex_hold hold(&pool.mutex);
    while (pool.settling)
        await_change(pool);
}

// Allocates all memory that running work items will need (P10): a cell for each fire within the bound, one
// for each idle worker, and one for the fire over the bound (see `settle`). Adds the pool to its runtime
// last, when the pool is complete.
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

// 0 if the caller may wait for the pool, else a negative errno. A callback may not: it would wait for itself.
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
        return runtime::refuse(-EINVAL, "the place for the workers is null");
    if (rt != nullptr)  // else check_arming reports the null runtime
        if (const char *const wrong = what_is_wrong(o); wrong != nullptr)
            return runtime::refuse(-EINVAL, wrong);
    if (const int error = runtime::check_arming(rt); error != 0)
        return error;
    const runtime::no_thread_cancel guard;
    return runtime::explain_system_error(make(*rt, o, *workers));
}

// Holds `lifecycle_mutex` so that no other thread can stop the runtime, and with it this pool, meanwhile.
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

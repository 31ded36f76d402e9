// Fires on their way: from the firing thread into the queue, and from there to a worker or back to
// the thread that cancels. Any thread, except as noted. No lock is held while functions of the user's
// run.
//
// A runnable may be freed in its own callback, once nothing of it waits. So what a thread runs is noted
// in the thread's runner, and the runnable is touched after its callback only if the runner's `more` says
// that further fires of it wait. The address may be used for another runnable meanwhile; make_runnable
// then replaces it in the runners that still have it by the address of freed_runnable.
#include <tickwheel/port.h>

#include <cassert>

#include "pool.hpp"
#include "runtime/current_run.hpp"
#include "runtime/exceptions.h"
#include "runtime/lifetime.hpp"
#include "runtime/nodes.hpp"
#include "runtime/turn.hpp"

namespace tickwheel::workers {

namespace {

// Stands in a runner for a runnable that was freed in its own callback, and whose memory is in use for
// another one.
tw_runnable freed_runnable;

bool is_run(const tw_workers &pool, const tw_runnable &it) TW_REQUIRES(pool.mutex) {
    return it.runner != 0 && pool.runners[it.runner - 1].current == &it;
}

// The first invariant of pool.hpp.
[[maybe_unused]] bool is_ready_as_it_should_be(const tw_workers &pool, const tw_runnable &it)
    TW_REQUIRES(pool.mutex) {
    return fire_queue::is_ready(it) == (it.last != nullptr && (is_concurrent(it) || !is_run(pool, it)));
}

// --- running -----------------------------------------------------------------------

// A fire that was taken from the queue; or several that are to be discarded.
struct taken {
    tw_runnable &it;
    std::int64_t due;
    std::uint64_t overruns;
    std::uint32_t discards;
};

// Takes the oldest fire of the runnable that is first. What is left of its fires waits for this run to
// end, unless it is concurrent.
taken take(tw_workers &pool, runner &me) TW_REQUIRES(pool.mutex) {
    fire_queue &queue = pool.queue;
    tw_runnable &it = *queue.first();
    queue.make_unready(it);
    taken next = {it, TW_NO_DEADLINE, 0, 0};
    const tw_waiting_fire fire = queue.pop(it);
    if (fire.number >= pool.discard_before) {
        next.due = fire.due;
        next.overruns = fire.overruns;
    } else {
        ++next.discards;
        for (; it.last != nullptr && it.last->next->number < pool.discard_before; ++next.discards)
            queue.pop(it);
    }
    me.current = &it;
    me.more = it.last != nullptr && !is_concurrent(it);
    if (it.last != nullptr && is_concurrent(it))
        queue.make_ready(it);
    it.runner = static_cast<std::uint32_t>(&me - pool.runners) + 1;
    ++pool.running;
    assert(is_ready_as_it_should_be(pool, it));
    return next;
}

// Runs or discards what was taken; calls left() if an exception passes. If the callback frees the
// runtime, the note is left with the runner: only the outermost frame of a thread is asked to free, and
// for a fire that runs inline this frame is never the outermost.
template <class Left> void call(runner &me, const taken &next, Left left) {
    tw_runtime &rt = *me.pool->rt;
    const runtime::inside_user_code frame(rt, me.frees);
    const runtime::current_run run(rt, next.due, next.overruns);
    if (next.discards != 0) {
        next.it.hooks->discarded(next.it, next.discards);
        return;
    }
    runtime::running_callback &callback = me.pool->callbacks[&me - me.pool->runners];
    next.it.hooks->describe(next.it, callback);
    const runtime::stopwatch::reading begun = runtime::stopwatch::now();
    callback.begin(begun);
    runtime::passing_exceptions([&next] { next.it.hooks->run(next.it); },
                                [&] {
                                    callback.end();
                                    frame.leave();
                                    left();
                                });
    const runtime::stopwatch::reading ended = runtime::stopwatch::now();
    rt.on_workers.add_runs(callback.label.load(std::memory_order_relaxed),
                           runtime::stopwatch::between(begun, ended), 1);
    callback.end();
    if (rt.meter.recorder.load(std::memory_order_relaxed) != nullptr) [[unlikely]]
        rt.meter.record({begun, ended, next.due, {}, next.overruns, runtime::run_kind::on_worker, callback});
}

// The run of `me` is over. If it has a further fire, the runnable is in use and may be taken again; else
// nothing of it is touched, as the callback may have freed it.
void finish(tw_workers &pool, runner &me, std::uint32_t discards) TW_REQUIRES(pool.mutex) {
    assert(pool.running > 0 && (!me.more || !is_concurrent(*me.current)));
    tw_runnable *const again = me.more ? me.current : nullptr;
    me.current = nullptr;
    me.more = false;
    if (again != nullptr) {
        pool.queue.make_ready(*again);
        assert(is_ready_as_it_should_be(pool, *again));
    }
    ++me.ended;
    --pool.running;
    pool.stats.discarded += discards;
    pool.stats.runs += discards == 0 ? 1 : 0;
    tell_of_change(pool);
}

// A fire that ran inline has thrown, so the firing thread leaves `settle` without returning.
// In the child of a fork the pool was begun anew, and there is nothing to end.
void end_thrown_run(tw_workers &pool, runner &me, std::uint32_t forks) {
    if (pool.forks != forks)
        return;
    const base::mutex_hold hold(&pool.mutex);
    finish(pool, me, 0);
    pool.settling = false;
    if (pool.queue.first() != nullptr)
        pthread_cond_signal(&pool.work);
}

// Takes what is first and runs it. Returns false, with the mutex released, if the callback has forked and
// this is the child: its pool was begun anew, and has no place for this thread.
// Unchecked: clang cannot follow in this function that its result says whether the mutex is held.
bool run_first(tw_workers &pool, runner &me) TW_RELEASE(pool.mutex)
    TW_TRY_ACQUIRE(true, pool.mutex) TW_UNCHECKED_LOCKING {
    const taken next = take(pool, me);
    const std::uint32_t forks = pool.forks;
    pool.mutex.unlock();
    call(me, next, [&] { end_thrown_run(pool, me, forks); });
    if (pool.forks != forks)
        return false;
    pool.mutex.lock();
    finish(pool, me, next.discards);
    return true;
}

// --- a worker's thread ----------------------------------------------------------------

// Returns false if the worker is to end.
bool wait_for_work(tw_workers &pool) TW_YIELDS(pool.mutex) {
    while (pool.queue.first() == nullptr) {
        if (pool.leaving)
            return false;
        pthread_cond_wait(&pool.work, &pool.mutex.native);
    }
    return true;
}

// A callback on this worker has freed the runtime. A caller that drives the runtime at this moment is
// still in a call, so it has to be the one that frees it, at the end of that (by_last_caller). Returns
// false if there is no such caller: then no other thread is in a call, or it is the runtime's thread,
// which this worker can join.
bool is_left_to_caller(runner &me) {
    auto caller = runtime::driven::by_caller;
    if (!me.pool->rt->driven.compare_exchange_strong(caller, runtime::driven::by_last_caller))
        return false;
    me.frees.rt = nullptr;
    return true;
}

// Returns at once in the child of a fork, where the thread has to end.
void run_until_told_to_end(tw_workers &pool, runner &me) {
    pool.mutex.lock();
    while (wait_for_work(pool)) {
        --pool.idle;
        if (!run_first(pool, me))
            return;
        if (me.frees.rt != nullptr && !is_left_to_caller(me))
            break;
        ++pool.idle;
    }
    pool.mutex.unlock();
}

// Runs what waits now, and does not wait for more. Ends at once in the child of a fork.
void run_what_waits(tw_workers &pool, runner &me) {
    pool.mutex.lock();
    while (pool.queue.first() != nullptr)
        if (!run_first(pool, me))
            return;
    pool.mutex.unlock();
}

// A callback on this worker has freed the runtime. From here on this is a thread like any other, which
// frees it and is joined by none, so it is detached. It may have been the only worker, and tw_runtime_free
// waits for the queue to be empty, so it runs what waits first.
void free_runtime(runner &me) {
    tw_runtime &rt = *me.pool->rt;
    if (!rt.forked) {
        pthread_detach(pthread_self());
        runtime::end_firing(rt);
        run_what_waits(*me.pool, me);
    }
    tw_runtime_free(&rt);
}

// --- keeping to the bound ---------------------------------------------------------------

bool is_over(const tw_workers &pool) TW_REQUIRES(pool.mutex) { return length(pool) > pool.bound; }

// The firing thread runs what has waited longest. Returns false as run_first does.
// Unchecked: as run_first.
bool run_inline(tw_workers &pool) TW_RELEASE(pool.mutex)
    TW_TRY_ACQUIRE(true, pool.mutex) TW_UNCHECKED_LOCKING {
    runner &inline_runner = pool.runners[pool.threads];
    inline_runner.thread = pthread_self();
    if (!run_first(pool, inline_runner))
        return false;
    ++pool.stats.inlined;
    if (pool.queue.first() != nullptr)
        pthread_cond_signal(&pool.work);
    return true;
}

}  // namespace

// The bound of the queue. The callback of a node never waits for room: tw_runtime_cancel_wait of that
// node would wait with it, for a slow callback of an unrelated job. It takes the one fire too many in,
// and has the wheel call nothing more. Then the firing thread, outside of all callbacks, either waits
// here for room or makes room by running the oldest fire itself, as `when_full` says. With nothing that
// it may run, it can only wait: what waits belongs to jobs that run.
//
// Stopping and freeing interrupt this (interrupt_components tells of a change), as they do a wheel.
bool settle(tw_workers &pool) {
    bool waited = false;
    pool.settling = true;
    while (is_over(pool) && !runtime::must_leave(*pool.rt)) {
        if (pool.when_full == TW_FULL_BLOCK || pool.queue.first() == nullptr) {
            pool.stats.blocked += waited ? 0 : 1;
            waited = true;
            await_change(pool);
        } else if (!run_inline(pool)) {
            return false;
        }
    }
    const bool settled = !is_over(pool);
    if (settled)
        mark_settled(pool);
    pool.settling = false;
    tell_of_change(pool);
    pool.mutex.unlock();
    return settled;
}

namespace {

// --- runnables ------------------------------------------------------------------------

// True if a fire of this runnable could be taken at once, and a worker is idle to do so.
bool finds_idle(const tw_workers &pool, const tw_runnable &it) TW_REQUIRES(pool.mutex) {
    const bool may_be_taken = is_concurrent(it) || (!fire_queue::is_ready(it) && !is_run(pool, it));
    return may_be_taken && pool.queue.takable() < pool.idle;
}

// A new fire is in the queue. The runner that runs an earlier one makes it ready when that ends; else a
// worker that is idle takes it, if there is one.
void offer(tw_workers &pool, tw_runnable &it) TW_REQUIRES(pool.mutex) {
    if (!is_concurrent(it) && is_run(pool, it)) {
        pool.runners[it.runner - 1].more = true;
        return;
    }
    if (!fire_queue::is_ready(it))
        pool.queue.make_ready(it);
    assert(is_ready_as_it_should_be(pool, it));
    if (pool.idle != 0)
        pthread_cond_signal(&pool.work);
}

bool is_run_here(const tw_workers &pool, const tw_runnable &it) TW_REQUIRES(pool.mutex) {
    for (unsigned i = 0; i <= pool.threads; ++i)
        if (pool.runners[i].current == &it && pthread_equal(pool.runners[i].thread, pthread_self()))
            return true;
    return false;
}

// --- jobs -----------------------------------------------------------------------------

// A job is a node and a runnable in the caller's storage. The node is its first member, so the node's
// callback finds the job by the node's address.

tw_job &job_of(tw_runnable &it) {
    return *reinterpret_cast<tw_job *>(reinterpret_cast<char *>(&it) - offsetof(tw_job, runnable));
}

void run_job(tw_runnable &it) {
    tw_job &job = job_of(it);
    job.fn(&job.node, job.node.arg);
}

void discard_job(tw_runnable &, std::uint32_t) {}

void describe_job(const tw_runnable &it, runtime::running_callback &callback) {
    const tw_job &job = job_of(const_cast<tw_runnable &>(it));
    callback.describe(runtime::label_of(job.node), &job.node, TW_NO_HANDLE,
                      reinterpret_cast<const void *>(job.fn));
}

constexpr tw_runnable_hooks job_hooks = {run_job, discard_job, describe_job};

bool is_job(const tw_runnable &it) { return it.hooks == &job_hooks; }

// A job with fires that are to be withdrawn; null if there is none. The search goes on where the last
// one ended. As the queue changes in between, only a search that has begun at the front is proof that
// there is none; so it is made twice, if need be. Last come the jobs that run, which are not in the queue.
tw_runnable *job_to_withdraw(tw_workers &pool) TW_REQUIRES(pool.mutex) {
    const auto is_wanted = [before = pool.clear_before](const tw_runnable &it) {
        return is_job(it) && it.last != nullptr && it.last->next->number < before;
    };
    for (int tries = 0; tries < 2; ++tries) {
        if (tw_runnable *const ready = pool.queue.find(pool.clearing_at, is_wanted))
            return ready;
        pool.clearing_at = UINT32_MAX;
    }
    for (unsigned i = 0; i <= pool.threads; ++i)
        if (pool.runners[i].more && is_wanted(*pool.runners[i].current))
            return pool.runners[i].current;
    return nullptr;
}

// Takes back all fires of a runnable that wait; returns how many. A run of it goes on, but no further one
// follows, and its runner will not touch it again: so the runnable may be freed when that run has ended.
std::uint32_t withdraw_from(tw_workers &pool, tw_runnable &it) TW_REQUIRES(pool.mutex) {
    const std::uint32_t taken_back = pool.queue.drop_all(it);
    if (taken_back == 0)
        return 0;
    if (is_run(pool, it))
        pool.runners[it.runner - 1].more = false;
    assert(is_ready_as_it_should_be(pool, it));
    tell_of_change(pool);
    return taken_back;
}

// From here on job_to_withdraw finds the jobs with fires that wait now.
void look_for_jobs(tw_workers &pool) TW_REQUIRES(pool.mutex) { pool.clear_before = pool.queue.next_number(); }

// The callback of a job's node, on the firing thread. Once it is enqueued the job may be run, and freed.
void fire_job(tw_node *node, void *) {
    tw_runnable &it = reinterpret_cast<tw_job *>(node)->runnable;
    tw_runtime &rt = *it.workers->rt;
    // A oneshot's is TW_BURST.
    const bool skips = runtime::missed_of(*node) != TW_BURST;
    enqueue(it, skips, tw_runtime_due(&rt), tw_runtime_overruns(&rt));
}

tw_runnable &runnable_of(tw_node &node) { return reinterpret_cast<tw_job &>(node).runnable; }

// Returns when the runs that other threads are in have ended; at once from inside a run. A runner that
// has begun another run since counts as done, so this waits for no run that begins later.
void wait_for_runs(tw_runnable &it) {
    tw_workers &pool = *it.workers;
    const base::mutex_hold hold(&pool.mutex);
    if (is_run_here(pool, it))
        return;
    for (unsigned i = 0; i <= pool.threads; ++i) {
        const runner &each = pool.runners[i];
        const std::uint64_t ended = each.ended;
        while (each.current == &it && each.ended == ended)
            await_change(pool);
    }
}

}  // namespace

void *worker_main(void *arg) {
    runner &me = *static_cast<runner *>(arg);
    runtime::begin_thread(me.pool->thread_name);
    run_until_told_to_end(*me.pool, me);
    if (me.frees.rt != nullptr)
        free_runtime(me);
    return nullptr;
}

// A runner that still has this address runs something that has been freed since. It is given another
// one, or wait_for_runs would wait for that run, or return at once inside it.
void make_runnable(tw_runnable &it, tw_workers &workers, const tw_runnable_hooks &hooks, bool concurrent) {
    it = {};
    it.hooks = &hooks;
    it.workers = &workers;
    it.flags = concurrent ? TW_CONCURRENT : 0;
    const base::mutex_hold hold(&workers.mutex);
    for (unsigned i = 0; i <= workers.threads; ++i)
        if (workers.runners[i].current == &it)
            workers.runners[i].current = &freed_runnable;
}

// One fire, from the callback of its node. A job that is slower than its period does not fill the queue,
// unless it is TW_BURST: a fire joins the one that waits already. With TW_FULL_REJECT a fire is refused if
// the queue is full, but for one that an idle worker can take at once. Else the fire is taken in, and the
// pool asks to be settled if that is one too many.
enqueued enqueue(tw_runnable &it, bool skips, std::int64_t due, std::uint64_t overruns) {
    tw_workers &pool = *it.workers;
    const base::mutex_hold hold(&pool.mutex);
    if (skips && fire_queue::join(it, pool.discard_before, overruns))
        return enqueued::joins;
    if (pool.when_full == TW_FULL_REJECT && length(pool) >= pool.bound && !finds_idle(pool, it)) {
        ++pool.stats.rejected;
        return enqueued::rejected;
    }
    pool.queue.push(it, due, overruns);
    offer(pool, it);
    if (is_over(pool))
        ask_to_settle(pool);
    else if (length(pool) > pool.stats.longest)
        pool.stats.longest = length(pool);
    return enqueued::waits;
}

std::uint32_t withdraw(tw_runnable &it) {
    tw_workers &pool = *it.workers;
    const base::mutex_hold hold(&pool.mutex);
    return withdraw_from(pool, it);
}

void begin_clear(tw_workers &pool) {
    const base::mutex_hold hold(&pool.mutex);
    look_for_jobs(pool);
}

// The fires of one job. It is off the queue when this returns, so its owner may have it back.
tw_node *clear_one(tw_workers &pool) {
    const base::mutex_hold hold(&pool.mutex);
    tw_runnable *const found = job_to_withdraw(pool);
    if (found == nullptr)
        return nullptr;
    withdraw_from(pool, *found);
    return &job_of(*found).node;
}

// As a clear, but all at once and with no function called.
void discard_jobs(tw_workers &pool) {
    look_for_jobs(pool);
    while (tw_runnable *const job = job_to_withdraw(pool))
        pool.stats.discarded += withdraw_from(pool, *job);
}

const runtime::fire_relay job_relay = {
    .callback = fire_job,
    .withdraw = [](tw_node &node) { return withdraw(runnable_of(node)); },
    .wait_for_runs = [](tw_node &node) { wait_for_runs(runnable_of(node)); },
};

}  // namespace tickwheel::workers

using namespace tickwheel;
using namespace tickwheel::workers;

TW_API int tw_job_init(tw_job *job, tw_workers *workers, tw_callback *fn, void *arg, unsigned flags) {
    TW_NOTE_CALLER;
    if (job == nullptr || workers == nullptr || fn == nullptr)
        return runtime::refuse(-EINVAL, "the job, its workers or its function is null");
    if ((flags & ~unsigned{TW_CONCURRENT}) != 0)
        return runtime::refuse(-EINVAL, "an unknown flag");
    if (const int error = runtime::check_usable(workers->rt); error != 0)
        return error;
    tw_node_init(&job->node, fire_job, arg);
    make_runnable(job->runnable, *workers, job_hooks, (flags & TW_CONCURRENT) != 0);
    job->fn = fn;
    tw_port_hide(&job->node.missed_and_label, sizeof job->node.missed_and_label);  // see fire_job
    return 0;
}

TW_API size_t tw_job_size(void) { return sizeof(tw_job); }

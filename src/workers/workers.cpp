// Fires on their way: from the wheel's callback into the queue, from there to a worker,
// or back to whoever cancels. Any thread, except as noted.
#include <tickwheel/port.h>

#include <cassert>

#include "pool.hpp"
#include "runtime/exceptions.h"
#include "runtime/lifetime.hpp"
#include "runtime/off_wheel.hpp"
#include "runtime/turn.hpp"

namespace tickwheel::runtime {

namespace {

// What has been freed in its own callback, as seen by who runs it, once its memory is
// used for another.
tw_runnable freed_runnable;

// --- running -----------------------------------------------------------------------

// A fire that was taken; or several, to be discarded.
struct taken {
    tw_runnable &it;
    std::int64_t due;
    std::uint64_t overruns;
    std::uint32_t discards;
};

// What is first; what is left of its fires waits, if it may, for this run to end.
taken take(tw_workers &pool, runner &me) {
    fire_queue &queue = pool.queue;
    tw_runnable &it = *queue.first();
    queue.make_unready(it);
    taken next = {it, TW_NO_DEADLINE, 0, 0};
    for (; it.last != nullptr && it.last->next->number < pool.discard_before; ++next.discards)
        queue.pop(it);
    if (next.discards == 0) {
        const tw_run fire = queue.pop(it);
        next.due = fire.due;
        next.overruns = fire.overruns;
    }
    me.runs = &it;
    me.more = it.last != nullptr && !is_concurrent(it);
    if (it.last != nullptr && is_concurrent(it))
        queue.make_ready(it);
    it.runner = static_cast<std::uint32_t>(&me - pool.runners) + 1;
    ++pool.running;
    tell_of_change(pool);
    return next;
}

// left() is called besides if what it throws leaves it.
template <class Left> void call(runner &me, const taken &next, Left left) {
    const tw_runtime &rt = *me.pool->rt;
    const inside_user_code here(rt, me.frees);
    const off_wheel fire(rt, next.due, next.overruns);
    if (next.discards != 0)
        next.it.kind->discarded(next.it, next.discards);
    else
        passing_exceptions([&next] { next.it.kind->run(next.it); },
                           [&] {
                               here.leave();
                               left();
                           });
}

void finish(tw_workers &pool, runner &me, std::uint32_t discards) {
    assert(pool.running > 0 && (!me.more || !is_concurrent(*me.runs)));
    if (me.more)
        pool.queue.make_ready(*me.runs);
    me.runs = nullptr;
    me.more = false;
    ++me.ended;
    --pool.running;
    pool.stats.discarded += discards;
    pool.stats.runs += discards == 0 ? 1 : 0;
    tell_of_change(pool);
}

// What has run in a worker's place has thrown: whoever fires leaves with that.
void end_thrown_run(tw_workers &pool, runner &me, std::uint32_t forks) {
    if (pool.forks != forks)
        return;
    const mutex_hold hold(&pool.mutex);
    finish(pool, me, 0);
    pool.settling = false;
    if (pool.queue.first() != nullptr)
        pthread_cond_signal(&pool.work);
}

// Takes what is first and runs it. Called and left with the mutex held. False, and without
// the mutex: the callback has forked, and this is the child, where nothing more is called.
bool run_first(tw_workers &pool, runner &me) {
    const taken next = take(pool, me);
    const std::uint32_t forks = pool.forks;
    pthread_mutex_unlock(&pool.mutex);
    call(me, next, [&] { end_thrown_run(pool, me, forks); });
    if (pool.forks != forks)
        return false;
    pthread_mutex_lock(&pool.mutex);
    finish(pool, me, next.discards);
    return true;
}

// --- a worker's thread ----------------------------------------------------------------

// False: it is to end. With the mutex.
bool wait_for_work(tw_workers &pool) {
    while (pool.queue.first() == nullptr) {
        if (pool.leaving)
            return false;
        pthread_cond_wait(&pool.work, &pool.mutex);
    }
    return true;
}

// Whether a caller that drives the runtime just now frees it, at the end of its call. If
// not, nobody else is in a call, or the runtime's thread, which can be joined.
bool is_left_to_caller(runner &me) {
    auto caller = driven::by_caller;
    if (!me.pool->rt->driven.compare_exchange_strong(caller, driven::by_last_caller))
        return false;
    me.frees.rt = nullptr;
    return true;
}

void run_until_told_to_end(tw_workers &pool, runner &me) {
    pthread_mutex_lock(&pool.mutex);
    while (wait_for_work(pool)) {
        --pool.idle;
        if (!run_first(pool, me))
            return;
        if (me.frees.rt != nullptr && !is_left_to_caller(me))
            break;
        ++pool.idle;
    }
    pthread_mutex_unlock(&pool.mutex);
}

// Runs what is there, and does not wait for more. False: as run_first.
bool run_what_waits(tw_workers &pool, runner &me) {
    pthread_mutex_lock(&pool.mutex);
    while (pool.queue.first() != nullptr)
        if (!run_first(pool, me))
            return false;
    pthread_mutex_unlock(&pool.mutex);
    return true;
}

// A callback on this worker has freed the runtime. From here on this is a thread like any
// other, which frees it. It may have been the only worker, so it first does its work.
void free_runtime(runner &me) {
    tw_runtime &rt = *me.pool->rt;
    if (!rt.forked) {
        me.is_detached = true;
        pthread_detach(pthread_self());
        end_firing(rt);
        run_what_waits(*me.pool, me);
    }
    tw_runtime_free(&rt);
}

// --- keeping to the bound ---------------------------------------------------------------

bool is_over(const tw_workers &pool) { return length(pool) > pool.bound; }

// This thread runs what has waited longest. False: as run_first.
bool run_in_place(tw_workers &pool) {
    runner &in_place = pool.runners[pool.threads];
    in_place.thread = pthread_self();
    if (!run_first(pool, in_place))
        return false;
    ++pool.stats.inlined;
    if (pool.queue.first() != nullptr)
        pthread_cond_signal(&pool.work);
    return true;
}

}  // namespace

bool settle(tw_workers &pool) {
    bool waited = false;
    pool.settling = true;
    while (is_over(pool) && !must_leave(*pool.rt)) {
        if (pool.when_full == TW_FULL_BLOCK || pool.queue.first() == nullptr) {
            pool.stats.blocked += waited ? 0 : 1;
            waited = true;
            await_change(pool);
        } else if (!run_in_place(pool)) {
            return false;
        }
    }
    const bool settled = !is_over(pool);
    if (settled)
        mark_settled(pool);
    pool.settling = false;
    tell_of_change(pool);
    pthread_mutex_unlock(&pool.mutex);
    return settled;
}

namespace {

// --- runnables ------------------------------------------------------------------------

bool is_run(const tw_workers &pool, const tw_runnable &it) {
    return it.runner != 0 && pool.runners[it.runner - 1].runs == &it;
}

// Whether a fire may be taken at once, and somebody is there to do so.
bool finds_idle(const tw_workers &pool, const tw_runnable &it) {
    const bool may_be_taken = is_concurrent(it) || (!fire_queue::is_ready(it) && !is_run(pool, it));
    return may_be_taken && pool.queue.takable() < pool.idle;
}

// A new fire is there. The worker that runs an earlier one goes on with it; else one that
// is idle, if there is any.
void offer(tw_workers &pool, tw_runnable &it) {
    if (!is_concurrent(it) && is_run(pool, it)) {
        pool.runners[it.runner - 1].more = true;
        return;
    }
    if (!fire_queue::is_ready(it))
        pool.queue.make_ready(it);
    if (pool.idle != 0)
        pthread_cond_signal(&pool.work);
}

bool is_run_here(const tw_workers &pool, const tw_runnable &it) {
    for (unsigned i = 0; i <= pool.threads; ++i)
        if (pool.runners[i].runs == &it && pthread_equal(pool.runners[i].thread, pthread_self()))
            return true;
    return false;
}

// --- jobs -----------------------------------------------------------------------------

tw_job &job_of(tw_runnable &it) {
    return *reinterpret_cast<tw_job *>(reinterpret_cast<char *>(&it) - offsetof(tw_job, runnable));
}

void run_job(tw_runnable &it) {
    tw_job &job = job_of(it);
    job.fn(&job.node, job.node.arg);
}

void discard_job(tw_runnable &, std::uint32_t) {}

constexpr tw_runnable_kind job_kind = {run_job, discard_job};

bool is_job(const tw_runnable &it) { return it.kind == &job_kind; }

// A job with fires that are to be taken back. With the mutex. The queue changes between one
// and the next, so that only a search which has begun in front finds none.
tw_runnable *job_to_withdraw(tw_workers &pool) {
    const auto is_wanted = [&pool](const tw_runnable &it) {
        return is_job(it) && it.last != nullptr && it.last->next->number < pool.clear_before;
    };
    for (int tries = 0; tries < 2; ++tries) {
        if (tw_runnable *const ready = pool.queue.find(pool.clearing_at, is_wanted))
            return ready;
        pool.clearing_at = UINT32_MAX;
    }
    for (unsigned i = 0; i <= pool.threads; ++i)
        if (pool.runners[i].more && is_wanted(*pool.runners[i].runs))
            return pool.runners[i].runs;
    return nullptr;
}

// With the mutex.
std::uint32_t withdraw_from(tw_workers &pool, tw_runnable &it) {
    const std::uint32_t taken_back = pool.queue.drop_all(it);
    if (taken_back == 0)
        return 0;
    if (!is_concurrent(it) && is_run(pool, it))
        pool.runners[it.runner - 1].more = false;
    tell_of_change(pool);
    return taken_back;
}

// Those that wait now are what job_to_withdraw finds from here on.
void look_for_jobs(tw_workers &pool) {
    pool.clear_before = pool.queue.next_number();
    pool.clearing_at = UINT32_MAX;
}

// The node's callback, on the runtime's thread. Once it is enqueued the job may be freed.
void fire_job(tw_node *node, void *) {
    tw_runnable &it = reinterpret_cast<tw_job *>(node)->runnable;
    tw_runtime &rt = *it.workers->rt;
    enqueue(it, *node, tw_runtime_due(&rt), tw_runtime_overruns(&rt));
}

tw_runnable &runnable_of(tw_node &node) { return reinterpret_cast<tw_job &>(node).runnable; }

// Returns when the runs that other threads are in have ended; at once from inside one.
void wait_for_runs(tw_runnable &it) {
    tw_workers &pool = *it.workers;
    const mutex_hold hold(&pool.mutex);
    if (is_run_here(pool, it))
        return;
    for (unsigned i = 0; i <= pool.threads; ++i) {
        const runner &each = pool.runners[i];
        const std::uint64_t ended = each.ended;
        while (each.runs == &it && each.ended == ended)
            await_change(pool);
    }
}

}  // namespace

void *work(void *arg) {
    runner &me = *static_cast<runner *>(arg);
    begin_thread(me.pool->thread_name);
    run_until_told_to_end(*me.pool, me);
    if (me.frees.rt != nullptr)
        free_runtime(me);
    return nullptr;
}

// Whoever still runs something at this address ran what has been freed since.
void make_runnable(tw_runnable &it, tw_workers &workers, const tw_runnable_kind &kind, bool concurrent) {
    it = {};
    it.kind = &kind;
    it.workers = &workers;
    it.flags = concurrent ? TW_CONCURRENT : 0;
    const mutex_hold hold(&workers.mutex);
    for (unsigned i = 0; i <= workers.threads; ++i)
        if (workers.runners[i].runs == &it)
            workers.runners[i].runs = &freed_runnable;
}

enqueued enqueue(tw_runnable &it, const tw_node &node, std::int64_t due, std::uint64_t overruns) {
    tw_workers &pool = *it.workers;
    // Whoever arms the node meanwhile may write it. A oneshot's is TW_BURST.
    const bool skips = __atomic_load_n(&node.missed, __ATOMIC_RELAXED) != TW_BURST;
    const mutex_hold hold(&pool.mutex);
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
    const mutex_hold hold(&pool.mutex);
    return withdraw_from(pool, it);
}

void begin_clear(tw_workers &pool) {
    const mutex_hold hold(&pool.mutex);
    look_for_jobs(pool);
}

tw_node *clear_one(tw_workers &pool) {
    const mutex_hold hold(&pool.mutex);
    tw_runnable *const found = job_to_withdraw(pool);
    if (found == nullptr)
        return nullptr;
    withdraw_from(pool, *found);
    return &job_of(*found).node;
}

void discard_jobs(tw_workers &pool) {
    look_for_jobs(pool);
    while (tw_runnable *const job = job_to_withdraw(pool))
        pool.stats.discarded += withdraw_from(pool, *job);
}

const fire_relay job_relay = {
    .callback = fire_job,
    .withdraw = [](tw_node &node) { return withdraw(runnable_of(node)); },
    .wait_for_runs = [](tw_node &node) { wait_for_runs(runnable_of(node)); },
};

}  // namespace tickwheel::runtime

using namespace tickwheel::runtime;

TW_API int tw_job_init(tw_job *job, tw_workers *workers, tw_callback *fn, void *arg, unsigned flags) {
    if (job == nullptr || workers == nullptr || fn == nullptr)
        return refuse(-EINVAL, "the job, its workers or its function is null");
    if ((flags & ~unsigned{TW_CONCURRENT}) != 0)
        return refuse(-EINVAL, "an unknown flag");
    if (const int error = check_usable(workers->rt); error != 0)
        return error;
    tw_node_init(&job->node, fire_job, arg);
    make_runnable(job->runnable, *workers, job_kind, (flags & TW_CONCURRENT) != 0);
    job->fn = fn;
    tw_port_hide(&job->node.missed, sizeof job->node.missed);  // see enqueue
    return 0;
}

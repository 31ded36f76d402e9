// The path of a fire: from the firing thread into the queue, and from there to a worker or back to the
// cancelling thread. Any thread, except as noted. The user's functions run with no lock held.
//
// A callback may free its own runnable if the runnable has no waiting fire. So each thread records its
// current run in its runner, and touches the runnable after the callback only if the runner's `more` says
// that it has further fires. Meanwhile another runnable may be made at the same address; make_runnable then
// puts the address of freed_runnable into the runners that still have the old one.
#include <tickwheel/port.h>

#include <cassert>

#include "base/exceptions.h"
#include "pool.hpp"
#include "runtime/current_run.hpp"
#include "runtime/lifetime.hpp"
#include "runtime/nodes.hpp"
#include "runtime/turn.hpp"

namespace tickwheel::workers {

namespace {

// Replaces, in a runner, a runnable that its own callback freed and whose memory another runnable now uses.
tw_runnable freed_runnable;

bool is_run(const tw_workers &pool, const tw_runnable &runnable) TW_REQUIRES(pool.mutex) {
    return runnable.runner != 0 && pool.runners[runnable.runner - 1].current == &runnable;
}

// The first invariant of pool.hpp.
[[maybe_unused]] bool keeps_ready_invariant(const tw_workers &pool, const tw_runnable &runnable)
    TW_REQUIRES(pool.mutex) {
    return fire_queue::is_ready(runnable) ==
           (runnable.last != nullptr && (is_concurrent(runnable) || !is_run(pool, runnable)));
}

// --- running -----------------------------------------------------------------------

// A fire taken from the queue, or several fires to discard.
struct taken {
    tw_runnable &runnable;
    std::int64_t due;
    std::uint64_t overruns;
    std::uint32_t discards;
};

// Takes the oldest fire of the first runnable in the queue. Unless the runnable is concurrent, its other
// fires wait for this run to end.
taken take(tw_workers &pool, runner &me) TW_REQUIRES(pool.mutex) {
    fire_queue &queue = pool.queue;
    tw_runnable &runnable = *queue.first();
    queue.make_unready(runnable);
    taken next = {runnable, TW_NO_DEADLINE, 0, 0};
    const tw_waiting_fire fire = queue.pop(runnable);
    if (fire.number >= pool.discard_before) {
        next.due = fire.due;
        next.overruns = fire.overruns;
    } else {
        ++next.discards;
        for (; runnable.last != nullptr && runnable.last->next->number < pool.discard_before; ++next.discards)
            queue.pop(runnable);
    }
    me.current = &runnable;
    me.more = runnable.last != nullptr && !is_concurrent(runnable);
    if (runnable.last != nullptr && is_concurrent(runnable))
        queue.make_ready(runnable);
    runnable.runner = static_cast<std::uint32_t>(&me - pool.runners) + 1;
    ++pool.running;
    assert(keeps_ready_invariant(pool, runnable));
    return next;
}

// Runs or discards the taken fires; calls left() if an exception passes through. If the callback frees the
// runtime, the runner keeps the deferred free: only the outermost frame of a thread frees, and for an
// inline run this frame is never the outermost.
template <class Left> void call(runner &me, const taken &next, Left left) {
    tw_runtime &rt = *me.pool->rt;
    const runtime::inside_user_code frame(rt, me.frees);
    const runtime::current_run run(rt, next.due, next.overruns);
    if (next.discards != 0) {
        next.runnable.hooks->discarded(next.runnable, next.discards);
        return;
    }
    runtime::running_callback &callback = me.pool->callbacks[&me - me.pool->runners];
    next.runnable.hooks->describe(next.runnable, callback);
    const runtime::stopwatch::reading begun = runtime::stopwatch::now();
    callback.begin(begun);
    runtime::stopwatch::reading ended = begun;
    const auto end_callback = [&] {
        ended = runtime::stopwatch::now();
        rt.on_workers.add_runs(callback.label.load(std::memory_order_relaxed),
                               runtime::stopwatch::between(begun, ended), 1);
        callback.end();
    };
    base::passing_exceptions([&next] { next.runnable.hooks->run(next.runnable); },
                             [&] {
                                 end_callback();
                                 frame.leave();
                                 left();
                             });
    end_callback();
    if (rt.meter.recorder.load(std::memory_order_relaxed) != nullptr) [[unlikely]]
        rt.meter.record({begun, ended, next.due, {}, next.overruns, runtime::run_kind::on_worker, callback});
}

// Ends the run of `me`. A runnable with a further fire is still in use and becomes ready again; any other is
// not touched, as the callback may have freed it.
void finish(tw_workers &pool, runner &me, std::uint32_t discards) TW_REQUIRES(pool.mutex) {
    assert(pool.running > 0 && (!me.more || !is_concurrent(*me.current)));
    tw_runnable *const again = me.more ? me.current : nullptr;
    me.current = nullptr;
    me.more = false;
    if (again != nullptr) {
        pool.queue.make_ready(*again);
        assert(keeps_ready_invariant(pool, *again));
    }
    ++me.ended;
    --pool.running;
    pool.stats.discarded += discards;
    pool.stats.runs += discards == 0 ? 1 : 0;
    announce_change(pool);
}

// Called when an inline run throws, as the exception takes the firing thread out of `settle`. In the child
// of a fork, begin_in_child has reset the pool, and there is no run to end.
void end_thrown_run(tw_workers &pool, runner &me, std::uint32_t forks) {
    if (pool.forks != forks)
        return;
    const base::mutex_hold hold(&pool.mutex);
    finish(pool, me, 0);
    ++pool.stats.inlined;
    pool.settling = false;
    if (pool.queue.first() != nullptr)
        pthread_cond_signal(&pool.work);
}

// Takes the first fire and runs it. Returns false, with the mutex released, if the callback has forked and
// this is the child: begin_in_child has reset the pool, and this thread no longer belongs to it.
// Unchecked: inside this function clang cannot see that the result says whether the mutex is held.
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

// Returns false if the worker must end.
bool wait_for_work(tw_workers &pool) TW_YIELDS(pool.mutex) {
    while (pool.queue.first() == nullptr) {
        if (pool.leaving)
            return false;
        pthread_cond_wait(&pool.work, &pool.mutex.native);
    }
    return true;
}

// A callback on this worker has freed the runtime. If a caller is driving the runtime now, the caller must
// free it at the end of that call (by_last_caller). Returns false if there is no such caller: then either no
// thread drives the runtime, or the runtime's own thread does, and this worker can join that thread.
bool is_left_to_caller(runner &me) {
    auto caller = runtime::driven::by_caller;
    if (!me.pool->rt->driven.compare_exchange_strong(caller, runtime::driven::by_last_caller))
        return false;
    me.frees.rt = nullptr;
    return true;
}

// In the child of a fork, returns as soon as the callback does: the thread must end there.
void run_until_leaving(tw_workers &pool, runner &me) {
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

// Runs all fires in the queue, and does not wait for more. In the child of a fork, returns as soon as the
// callback does.
void run_waiting_fires(tw_workers &pool, runner &me) {
    pool.mutex.lock();
    while (pool.queue.first() != nullptr)
        if (!run_first(pool, me))
            return;
    pool.mutex.unlock();
}

// A callback on this worker has freed the runtime. From here on this is an ordinary thread that frees the
// runtime. No thread joins it, so it detaches. It may be the only worker, and tw_runtime_free waits for an
// empty queue, so it first runs the waiting fires.
void free_runtime(runner &me) {
    tw_runtime &rt = *me.pool->rt;
    if (!rt.forked) {
        pthread_detach(pthread_self());
        runtime::end_firing(rt);
        run_waiting_fires(*me.pool, me);
    }
    tw_runtime_free(&rt);
}

// --- keeping to the bound ---------------------------------------------------------------

bool is_over(const tw_workers &pool) TW_REQUIRES(pool.mutex) { return length(pool) > pool.bound; }

// Runs the oldest fire on the firing thread. Returns false as run_first does.
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

// Enforces the bound of the queue. The callback of a node never waits for room: tw_runtime_cancel_wait of
// that node would then wait too, for a slow callback of an unrelated item. Instead, the callback queues one
// fire over the bound and stops the wheel from calling more. Then the firing thread, outside of all
// callbacks, either waits here for room or makes room by running the oldest fire itself, as `when_full`
// says. If no runnable is ready, the firing thread can only wait, because all waiting fires belong to
// runnables that are running.
//
// Stopping and freeing interrupt this wait (interrupt_components wakes it), as they interrupt a wheel.
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
    announce_change(pool);
    pool.mutex.unlock();
    return settled;
}

namespace {

// --- runnables ------------------------------------------------------------------------

// True if an idle worker could take a new fire of this runnable at once.
bool has_idle_worker(const tw_workers &pool, const tw_runnable &runnable) TW_REQUIRES(pool.mutex) {
    const bool may_be_taken =
        is_concurrent(runnable) || (!fire_queue::is_ready(runnable) && !is_run(pool, runnable));
    return may_be_taken && pool.queue.takable() < pool.idle;
}

// Makes a new fire in the queue available. If a runner is running an earlier fire, it makes the runnable
// ready when that run ends; otherwise an idle worker, if there is one, takes the fire.
void offer(tw_workers &pool, tw_runnable &runnable) TW_REQUIRES(pool.mutex) {
    if (!is_concurrent(runnable) && is_run(pool, runnable)) {
        pool.runners[runnable.runner - 1].more = true;
        return;
    }
    if (!fire_queue::is_ready(runnable))
        pool.queue.make_ready(runnable);
    assert(keeps_ready_invariant(pool, runnable));
    if (pool.idle != 0)
        pthread_cond_signal(&pool.work);
}

bool is_run_here(const tw_workers &pool, const tw_runnable &runnable) TW_REQUIRES(pool.mutex) {
    for (unsigned i = 0; i <= pool.threads; ++i)
        if (pool.runners[i].current == &runnable && pthread_equal(pool.runners[i].thread, pthread_self()))
            return true;
    return false;
}

// --- work items -----------------------------------------------------------------------------

// A work item is a node and a runnable in the caller's storage. The node is the first member, so the node's
// callback finds the item by the node's address.

tw_work &item_of(tw_runnable &runnable) {
    return *reinterpret_cast<tw_work *>(reinterpret_cast<char *>(&runnable) - offsetof(tw_work, runnable));
}

void run_item(tw_runnable &runnable) {
    tw_work &item = item_of(runnable);
    item.fn(&item.node, item.node.arg);
}

void discard_item(tw_runnable &, std::uint32_t) {}

void describe_item(const tw_runnable &runnable, runtime::running_callback &callback) {
    const tw_work &item = item_of(const_cast<tw_runnable &>(runnable));
    callback.describe(runtime::label_of(item.node), &item.node, TW_NO_HANDLE,
                      reinterpret_cast<const void *>(item.fn));
}

constexpr tw_runnable_hooks item_hooks = {run_item, discard_item, describe_item};

bool is_item(const tw_runnable &runnable) { return runnable.hooks == &item_hooks; }

// Finds a work item with fires to withdraw; null if no item has any. Each search continues where the previous
// one ended. Because the queue changes in between, only a search of the whole heap can prove that no item has
// any, so if the first search fails, a second one starts at the last place. Running items are not in the
// heap; the function looks at them last.
tw_runnable *item_to_withdraw(tw_workers &pool) TW_REQUIRES(pool.mutex) {
    const auto is_wanted = [before = pool.withdraw_before](const tw_runnable &runnable) {
        return is_item(runnable) && runnable.last != nullptr && runnable.last->next->number < before;
    };
    for (int tries = 0; tries < 2; ++tries) {
        if (tw_runnable *const ready = pool.queue.find(pool.withdrawn_up_to, is_wanted))
            return ready;
        pool.withdrawn_up_to = UINT32_MAX;
    }
    for (unsigned i = 0; i <= pool.threads; ++i)
        if (pool.runners[i].more && is_wanted(*pool.runners[i].current))
            return pool.runners[i].current;
    return nullptr;
}

// Takes back all waiting fires of a runnable; returns how many. A run in progress continues, but no further
// run follows, and its runner does not touch the runnable again. So the owner may free it after that run.
std::uint32_t withdraw_from(tw_workers &pool, tw_runnable &runnable) TW_REQUIRES(pool.mutex) {
    const std::uint32_t taken_back = pool.queue.drop_all(runnable);
    if (taken_back == 0)
        return 0;
    if (is_run(pool, runnable))
        pool.runners[runnable.runner - 1].more = false;
    assert(keeps_ready_invariant(pool, runnable));
    announce_change(pool);
    return taken_back;
}

// Makes item_to_withdraw find the work items whose fires wait now.
void mark_items_to_withdraw(tw_workers &pool) TW_REQUIRES(pool.mutex) {
    pool.withdraw_before = pool.queue.next_number();
}

// The callback of an item's node, on the firing thread. Once enqueued, the item may run and be freed.
void fire_item(tw_node *node, void *) {
    tw_runnable &runnable = reinterpret_cast<tw_work *>(node)->runnable;
    tw_runtime &rt = *runnable.workers->rt;
    // A one-shot item has TW_BURST.
    const bool skips = runtime::missed_of(*node) != TW_BURST;
    enqueue(runnable, skips, tw_runtime_due(&rt), tw_runtime_overruns(&rt));
}

tw_runnable &runnable_of(tw_node &node) { return reinterpret_cast<tw_work &>(node).runnable; }

// Waits for the current runs on other threads; returns at once if called from a run of this runnable. A
// runner that has ended its run counts as done even if it has begun another, so this waits for no later run.
void wait_for_runs(tw_runnable &runnable) {
    tw_workers &pool = *runnable.workers;
    const base::mutex_hold hold(&pool.mutex);
    if (is_run_here(pool, runnable))
        return;
    for (unsigned i = 0; i <= pool.threads; ++i) {
        const runner &each = pool.runners[i];
        const std::uint64_t ended = each.ended;
        while (each.current == &runnable && each.ended == ended)
            await_change(pool);
    }
}

}  // namespace

void *worker_main(void *arg) {
    runner &me = *static_cast<runner *>(arg);
    runtime::begin_thread(me.pool->thread_name);
    run_until_leaving(*me.pool, me);
    if (me.frees.rt != nullptr)
        free_runtime(me);
    return nullptr;
}

// A runner that still has this address is running a runnable that was freed. This replaces the address:
// otherwise wait_for_runs would wait for that run, or return at once if called from it.
void make_runnable(tw_runnable &runnable, tw_workers &workers, const tw_runnable_hooks &hooks,
                   bool concurrent) {
    runnable = {};
    runnable.hooks = &hooks;
    runnable.workers = &workers;
    runnable.flags = concurrent ? TW_CONCURRENT : 0;
    const base::mutex_hold hold(&workers.mutex);
    for (unsigned i = 0; i <= workers.threads; ++i)
        if (workers.runners[i].current == &runnable)
            workers.runners[i].current = &freed_runnable;
}

// Queues one fire of a work item or record. A timer that is slower than its period does not fill the queue
// unless it is TW_BURST, because its fires join the waiting one. With TW_FULL_REJECT a full queue rejects the
// fire, unless an idle worker can take it at once. Otherwise the fire is queued, and if that exceeds the
// bound the pool asks to be settled.
enqueued enqueue(tw_runnable &runnable, bool skips, std::int64_t due, std::uint64_t overruns) {
    tw_workers &pool = *runnable.workers;
    const base::mutex_hold hold(&pool.mutex);
    if (skips && fire_queue::join(runnable, pool.discard_before, overruns))
        return enqueued::joins;
    if (pool.when_full == TW_FULL_REJECT && length(pool) >= pool.bound && !has_idle_worker(pool, runnable)) {
        ++pool.stats.rejected;
        return enqueued::rejected;
    }
    pool.queue.push(runnable, due, overruns);
    offer(pool, runnable);
    if (is_over(pool))
        ask_to_settle(pool);
    else if (length(pool) > pool.stats.longest)
        pool.stats.longest = length(pool);
    return enqueued::waits;
}

std::uint32_t withdraw(tw_runnable &runnable) {
    tw_workers &pool = *runnable.workers;
    const base::mutex_hold hold(&pool.mutex);
    return withdraw_from(pool, runnable);
}

void begin_withdrawal(tw_workers &pool) {
    const base::mutex_hold hold(&pool.mutex);
    mark_items_to_withdraw(pool);
}

// Withdraws the fires of one item. The item is off the queue when this returns, so its owner may free it.
tw_node *withdraw_next(tw_workers &pool) {
    const base::mutex_hold hold(&pool.mutex);
    tw_runnable *const found = item_to_withdraw(pool);
    if (found == nullptr)
        return nullptr;
    withdraw_from(pool, *found);
    return &item_of(*found).node;
}

// Withdraws the fires of all work items at once. Calls no user function.
void discard_work_items(tw_workers &pool) {
    mark_items_to_withdraw(pool);
    while (tw_runnable *const item = item_to_withdraw(pool))
        pool.stats.discarded += withdraw_from(pool, *item);
}

const runtime::fire_relay work_relay = {
    .callback = fire_item,
    .withdraw = [](tw_node &node) { return withdraw(runnable_of(node)); },
    .wait_for_runs = [](tw_node &node) { wait_for_runs(runnable_of(node)); },
};

}  // namespace tickwheel::workers

using namespace tickwheel;
using namespace tickwheel::workers;

TW_API int tw_work_init(tw_work *work, tw_workers *workers, tw_callback *fn, void *arg, unsigned flags) {
    TW_NOTE_CALLER;
    if (work == nullptr || workers == nullptr || fn == nullptr)
        return runtime::refuse(-EINVAL, "the work item, its workers or its function is null");
    if ((flags & ~unsigned{TW_CONCURRENT}) != 0)
        return runtime::refuse(-EINVAL, "an unknown flag");
    if (const int error = runtime::check_usable(workers->rt); error != 0)
        return error;
    tw_node_init(&work->node, fire_item, arg);
    work->node.missed_and_label = TW_BURST;  // see fire_item
    make_runnable(work->runnable, *workers, item_hooks, (flags & TW_CONCURRENT) != 0);
    work->fn = fn;
    tw_port_hide(&work->node.missed_and_label, sizeof work->node.missed_and_label);  // see missed_of
    return 0;
}

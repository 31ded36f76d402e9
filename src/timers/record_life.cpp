#include "record_life.hpp"

#include <cassert>
#include <cerrno>
#include <cstdlib>

#include "runtime/exceptions.h"

namespace tickwheel::runtime {

// --- waiting ---------------------------------------------------------------------------

void announce_progress(record_set &set) {
    if (set.waiting == 0)
        return;
    __atomic_store_n(&set.progress, set.progress + 1, __ATOMIC_RELAXED);
    tw_port_wake_all(&set.progress);
}

void wait_for_progress(record_set &set, set_lock &hold) {
    const std::uint32_t seen = set.progress;
    ++set.waiting;
    hold.unlock();
    tw_port_wait(&set.progress, seen, INT64_MAX);
    hold.lock();
    --set.waiting;
}

void wait_for_unseen(record &it, set_lock &hold) {
    if (it.runs != 0 && (it.set->workers == nullptr || it.next != nullptr))
        return;
    ++it.runs;
    hold.unlock();
    wait_for_callback(*it.set->rt, &it.node);
    hold.lock();
    --it.runs;
    announce_progress(*it.set);
}

// --- ending ----------------------------------------------------------------------------

void release(record_set &set, std::uint32_t times) {
    if (set.users.fetch_sub(times, std::memory_order_acq_rel) != times)
        return;
    set.all.free_all();
    std::free(&set);
}

void retire(record &it) {
    assert(it.state == record_state::live);
    it.state = record_state::ended;
    if (it.set->how->unpublish != nullptr)
        it.set->how->unpublish(*it.set, it);
}

namespace {

void free_record(record &it) {
    record_set &set = *it.set;
    assert(it.drop == nullptr && it.key_size == 0 && set.count > 0);
    assert(set.rt->forked || tw_pending(it.node.wheel, &it.node) <= 0);
    ++it.generation;
    const std::uint32_t reused = it.generation - block_of(set, it.number).first_generation;
    if (reused > set.most_reused)
        set.most_reused = reused;
    --set.count;
    set.all.give_back(it);
    if (set.count == 0)
        set.all.all_are_free();
    announce_progress(set);
}

}  // namespace

// What is given back to the user is taken out first: a fork may copy the record meanwhile.
void finish(record &it, set_lock &hold) {
    long_key *const key = long_key_of(it);
    void (*const drop)(void *) = it.drop;
    it.key_size = 0;
    it.drop = nullptr;
    if (drop != nullptr || key != nullptr) {
        const for_user unlocked(it, hold);
        if (drop != nullptr)
            drop(it.node.arg);
        std::free(key);
    }
    free_record(it);
}

void take_back(record &it) {
    if (it.set->workers == nullptr)
        return;
    const std::uint32_t taken = withdraw(worker_part_of(it).runnable);
    assert(taken <= it.runs - worker_part_of(it).begun);
    it.runs -= taken;
    it.is_last = it.is_last && taken == 0;
    it.set->users.fetch_sub(taken, std::memory_order_relaxed);  // never the last: the caller is one
}

bool has_still_to_fire(record &it) {
    const bool has_run_to_begin = it.set->workers != nullptr && it.runs > worker_part_of(it).begun;
    return !it.is_last || has_run_to_begin;
}

// --- firing ----------------------------------------------------------------------------

namespace {

int arm_at(record &it, std::int64_t deadline) {
    return tw_runtime_at(it.set->rt, &it.node, deadline > 0 ? deadline : 0);
}

// Asks a schedule of the user's for the next deadline, and arms the record for it.
void ask_next(record &it, std::int64_t due, set_lock &hold) {
    std::int64_t deadline;
    {
        const for_user unlocked(it, hold);
        deadline = it.next(due, it.node.arg);
    }
    if (it.state != record_state::live || is_drained(it))
        return;
    it.is_last = deadline == TW_NO_DEADLINE || arm_at(it, deadline) < 0;
}

// A fire is over, with or without its callback's having run. If that has forked, and this
// is the child, it has not returned as far as the library is concerned.
void after_fire(record &it, std::int64_t due, set_lock &hold) {
    const std::atomic<bool> &forked = it.set->rt->forked;
    if (it.next != nullptr && it.state == record_state::live && !is_drained(it) && !forked)
        ask_next(it, due, hold);
    if (forked)
        return;
    assert(it.runs > 0);
    --it.runs;
    announce_progress(*it.set);
    if (it.runs != 0 || (it.state == record_state::live && !it.is_last))
        return;
    if (it.state == record_state::live)
        retire(it);
    finish(it, hold);
}

// left() is called besides if what the callback has thrown leaves it.
template <class Left> void call(record &it, std::int64_t due, std::uint64_t overruns, Left left) {
    const tw_key key = key_of(it);
    const tw_event event = {handle_of(it), has_handles(*it.set) ? nullptr : &key, due, overruns};
    const inside_record here(it);
    let_pass([&] { it.fn(&event, it.node.arg); },
             [&] {
                 here.leave();
                 left();
             });
}

// Whether this is the last fire that the wheel will have of it.
bool is_last_fire(const record &it) {
    return it.next == nullptr && (it.node.period == 0 || tw_pending(it.node.wheel, &it.node) == 0);
}

// What a node on the steady timeline was due at it still says, unless it is periodic.
std::int64_t due_of(const record &it) {
    tw_runtime &rt = *it.set->rt;
    return it.node.period == 0 && rt.wall == nullptr ? rt.unit.reading(it.node.expiry) : tw_runtime_due(&rt);
}

void fire_here(record &it, std::int64_t due, std::uint64_t overruns, set_lock &hold) {
    hold.unlock();
    call(it, due, overruns, [&] {
        hold.lock();
        after_fire(it, due, hold);
        hold.unlock();
    });
    hold.lock();
    after_fire(it, due, hold);
}

// In the set's name: whoever runs it there lets go of it.
void fire_on_worker(record &it, std::int64_t due, std::uint64_t overruns, set_lock &hold) {
    it.set->users.fetch_add(1, std::memory_order_relaxed);
    const enqueued result = enqueue(worker_part_of(it).runnable, it.node, due, overruns);
    if (result == enqueued::waits)
        return;
    it.set->users.fetch_sub(1, std::memory_order_relaxed);
    if (result == enqueued::joins)
        --it.runs;
    else
        after_fire(it, due, hold);
}

}  // namespace

// On the thread that drives the runtime.
void on_due(tw_node *node, void *) {
    record &it = record_of(node);
    record_set &set = *it.set;
    set_lock hold(set);
    if (it.state != record_state::live || is_drained(it))
        return;  // it is seen off by whoever has ended it
    ++it.runs;
    it.is_last = is_last_fire(it);
    const std::int64_t due = due_of(it);
    const std::uint64_t overruns = node->period == 0 ? 0 : tw_runtime_overruns(set.rt);
    if (set.workers != nullptr)
        fire_on_worker(it, due, overruns, hold);
    else
        fire_here(it, due, overruns, hold);
}

namespace {

void end_run(record &it, std::int64_t due, set_lock &hold) {
    --worker_part_of(it).begun;
    after_fire(it, due, hold);
}

void release_after_run(record_set &set) {
    if (!set.rt->forked)
        release(set, 1);
}

// One fire, on a worker. If the record has been ended or drained since, that was told to have
// prevented it.
void run(tw_runnable &runnable) {
    record &it = record_of(runnable);
    record_set &set = *it.set;
    const std::int64_t due = tw_runtime_due(set.rt);
    {
        set_lock hold(set);
        ++worker_part_of(it).begun;
        if (is_drained(it))
            it.is_last = false;
        if (it.state == record_state::live && !is_drained(it)) {
            hold.unlock();
            call(it, due, tw_runtime_overruns(set.rt), [&] {
                hold.lock();
                end_run(it, due, hold);
                hold.unlock();
                release_after_run(set);
            });
            hold.lock();
        }
        end_run(it, due, hold);
    }
    release_after_run(set);
}

void discarded(tw_runnable &runnable, std::uint32_t fires) {
    record &it = record_of(runnable);
    record_set &set = *it.set;
    {
        set_lock hold(set);
        it.runs -= fires - 1;
        if (is_drained(it))
            it.is_last = false;
        after_fire(it, tw_runtime_now(set.rt), hold);
    }
    release(set, fires);
}

}  // namespace

const tw_runnable_kind runnable_hooks = {run, discarded};

// --- calls on one that is live ---------------------------------------------------------

// Without workers nothing else begins while a callback runs.
int end(record &it, set_lock &hold) {
    const bool cancelled = cancel(*it.set->rt, &it.node) > 0;
    take_back(it);
    const bool prevented = has_still_to_fire(it);
    const bool may_be_beginning = !cancelled || it.node.period != 0;
    retire(it);
    if (may_be_beginning)
        wait_for_unseen(it, hold);
    if (it.runs == 0)
        finish(it, hold);
    return prevented ? 1 : 0;
}

int move(record &it, delayed_call &to) {
    const int error = to.move(&it.node);
    return error == -ENOENT ? refuse(-EBUSY, "the timer's last callback runs or is about to") : error;
}

std::int64_t remaining(record &it) {
    const std::int64_t left = tw_runtime_remaining(it.set->rt, &it.node);
    return left == TW_NO_DEADLINE ? 0 : left;
}

void wait_until_over(record &it, std::uint32_t generation, set_lock &hold) {
    while (it.generation == generation && !inside_record::of(it))
        wait_for_progress(*it.set, hold);
}

tw_key key_of(const record &it) {
    if (it.has_number_key)
        return tw_key_number(it.key.number);
    long_key *const longer = long_key_of(it);
    return tw_key_bytes(longer != nullptr ? longer->bytes() : it.key.bytes, it.key_size);
}

}  // namespace tickwheel::runtime

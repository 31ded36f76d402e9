#include "entry_life.hpp"

#include <cassert>
#include <cerrno>
#include <cstdlib>

#include "exceptions.h"

namespace tickwheel::runtime {

// --- waiting ---------------------------------------------------------------------------

void came_further(entries &set) {
    if (set.waiting == 0)
        return;
    __atomic_store_n(&set.came_further, set.came_further + 1, __ATOMIC_RELAXED);
    tw_port_wake_all(&set.came_further);
}

void wait_until_one_comes_further(entries &set, entries_hold &hold) {
    const std::uint32_t seen = set.came_further;
    ++set.waiting;
    hold.unlock();
    tw_port_wait(&set.came_further, seen, INT64_MAX);
    hold.lock();
    --set.waiting;
}

void wait_for_unseen(entry &it, entries_hold &hold) {
    if (it.runs != 0 && (it.set->workers == nullptr || it.next != nullptr))
        return;
    ++it.runs;
    hold.unlock();
    wait_for_callback(*it.set->rt, &it.node);
    hold.lock();
    --it.runs;
    came_further(*it.set);
}

// --- ending ----------------------------------------------------------------------------

void let_go(entries &set, std::uint32_t times) {
    if (set.users.fetch_sub(times, std::memory_order_acq_rel) != times)
        return;
    set.all.free_all();
    std::free(&set);
}

void retire(entry &it) {
    assert(it.state == entry_state::live);
    it.state = entry_state::ended;
    if (it.set->how->unpublish != nullptr)
        it.set->how->unpublish(*it.set, it);
}

namespace {

void free_slot(entry &it) {
    entries &set = *it.set;
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
    came_further(set);
}

}  // namespace

// What is given back to the user is taken out first: a fork may copy the entry meanwhile.
void finish(entry &it, entries_hold &hold) {
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
    free_slot(it);
}

void take_back(entry &it) {
    if (it.set->workers == nullptr)
        return;
    const std::uint32_t taken = withdraw(worked_of(it).runnable);
    assert(taken <= it.runs - worked_of(it).begun);
    it.runs -= taken;
    it.is_last = it.is_last && taken == 0;
    it.set->users.fetch_sub(taken, std::memory_order_relaxed);  // never the last: the caller is one
}

bool has_still_to_fire(entry &it) {
    const bool has_run_to_begin = it.set->workers != nullptr && it.runs > worked_of(it).begun;
    return !it.is_last || has_run_to_begin;
}

// --- firing ----------------------------------------------------------------------------

namespace {

int arm_at(entry &it, std::int64_t deadline) {
    return tw_runtime_at(it.set->rt, &it.node, deadline > 0 ? deadline : 0);
}

// Asks a schedule of the user's for the next deadline, and arms the entry for it.
void ask_next(entry &it, std::int64_t due, entries_hold &hold) {
    std::int64_t deadline;
    {
        const for_user unlocked(it, hold);
        deadline = it.next(due, it.node.arg);
    }
    if (it.state != entry_state::live || is_drained(it))
        return;
    it.is_last = deadline == TW_NO_DEADLINE || arm_at(it, deadline) < 0;
}

// A fire is over, with or without its callback's having run. If that has forked, and this
// is the child, it has not returned as far as the library is concerned.
void after_fire(entry &it, std::int64_t due, entries_hold &hold) {
    const std::atomic<bool> &forked = it.set->rt->forked;
    if (it.next != nullptr && it.state == entry_state::live && !is_drained(it) && !forked)
        ask_next(it, due, hold);
    if (forked)
        return;
    assert(it.runs > 0);
    --it.runs;
    came_further(*it.set);
    if (it.runs != 0 || (it.state == entry_state::live && !it.is_last))
        return;
    if (it.state == entry_state::live)
        retire(it);
    finish(it, hold);
}

// left() is called besides if what the callback has thrown leaves it.
template <class Left> void call(entry &it, std::int64_t due, std::uint64_t overruns, Left left) {
    const tw_key key = key_of(it);
    const tw_event event = {handle_of(it), has_handles(*it.set) ? nullptr : &key, due, overruns};
    const in_entry here(it);
    let_pass([&] { it.fn(&event, it.node.arg); },
             [&] {
                 here.leave();
                 left();
             });
}

// Whether this is the last fire that the wheel will have of it.
bool is_last_fire(const entry &it) {
    return it.next == nullptr && (it.node.period == 0 || tw_pending(it.node.wheel, &it.node) == 0);
}

// What a node on the steady timeline was due at it still says, unless it is periodic.
std::int64_t due_of(const entry &it) {
    tw_runtime &rt = *it.set->rt;
    return it.node.period == 0 && rt.wall == nullptr ? rt.unit.reading(it.node.expiry) : tw_runtime_due(&rt);
}

void fire_here(entry &it, std::int64_t due, std::uint64_t overruns, entries_hold &hold) {
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
void fire_on_worker(entry &it, std::int64_t due, std::uint64_t overruns, entries_hold &hold) {
    it.set->users.fetch_add(1, std::memory_order_relaxed);
    const enqueued result = enqueue(worked_of(it).runnable, it.node, due, overruns);
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
    entry &it = entry_of(node);
    entries &set = *it.set;
    entries_hold hold(set);
    if (it.state != entry_state::live || is_drained(it))
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

void end_run(entry &it, std::int64_t due, entries_hold &hold) {
    --worked_of(it).begun;
    after_fire(it, due, hold);
}

void let_go_after_run(entries &set) {
    if (!set.rt->forked)
        let_go(set, 1);
}

// One fire, on a worker. If the entry has been ended or drained since, that was told to have
// prevented it.
void run(tw_runnable &runnable) {
    entry &it = entry_of(runnable);
    entries &set = *it.set;
    const std::int64_t due = tw_runtime_due(set.rt);
    {
        entries_hold hold(set);
        ++worked_of(it).begun;
        if (is_drained(it))
            it.is_last = false;
        if (it.state == entry_state::live && !is_drained(it)) {
            hold.unlock();
            call(it, due, tw_runtime_overruns(set.rt), [&] {
                hold.lock();
                end_run(it, due, hold);
                hold.unlock();
                let_go_after_run(set);
            });
            hold.lock();
        }
        end_run(it, due, hold);
    }
    let_go_after_run(set);
}

void discarded(tw_runnable &runnable, std::uint32_t fires) {
    entry &it = entry_of(runnable);
    entries &set = *it.set;
    {
        entries_hold hold(set);
        it.runs -= fires - 1;
        if (is_drained(it))
            it.is_last = false;
        after_fire(it, tw_runtime_now(set.rt), hold);
    }
    let_go(set, fires);
}

}  // namespace

const tw_runnable_kind worked_kind = {run, discarded};

// --- calls on one that is live ---------------------------------------------------------

// Without workers nothing else begins while a callback runs.
int end(entry &it, entries_hold &hold) {
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

int move(entry &it, delayed &to) {
    const int error = to.move(&it.node);
    return error == -ENOENT ? refuse(-EBUSY, "the timer's last callback runs or is about to") : error;
}

std::int64_t remaining(entry &it) {
    const std::int64_t left = tw_runtime_remaining(it.set->rt, &it.node);
    return left == TW_NO_DEADLINE ? 0 : left;
}

void wait_until_over(entry &it, std::uint32_t generation, entries_hold &hold) {
    while (it.generation == generation && !in_entry::of(it))
        wait_until_one_comes_further(*it.set, hold);
}

tw_key key_of(const entry &it) {
    if (it.has_number_key)
        return tw_key_number(it.key.number);
    long_key *const longer = long_key_of(it);
    return tw_key_bytes(longer != nullptr ? longer->bytes() : it.key.bytes, it.key_size);
}

}  // namespace tickwheel::runtime

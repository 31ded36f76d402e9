// Starting a record. See record_set.hpp for the invariants.
//
// A start that fails changes nothing, thanks to the order of steps: check, take a cell, fill it in, call the
// user's `copy` and `next`, arm, publish. No other thread can find the record before the last two.
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "record_life.hpp"
#include "runtime/labels.hpp"

namespace tickwheel::timers {

namespace {

// Returns null if the arguments are valid, else the reason why not.
const char *what_is_wrong_with(const record_set &set, const tw_when *when, const tw_task &task) {
    if (task.fn == nullptr)
        return "the task's function is null";
    if (task.arg_size > set.storage)
        return "the task's argument is larger than the storage that its set was made with";
    if (task.arg_size != 0 && task.arg == nullptr)
        return "the task's arg is null, but arg_size is not 0";
    if (task.copy != nullptr && task.arg_size == 0)
        return "the task has a copy function, but arg_size is 0";
    if (when == nullptr)
        return task.next != nullptr ? nullptr : "neither when nor a schedule of its own (next)";
    if (task.next != nullptr && when->period_ns != 0)
        return "the timer has both a period and a schedule (next)";
    return runtime::what_is_wrong(*set.rt, *when);
}

int check_open(const record_set &set) TW_REQUIRES(core::wheels_lock) {
    if (set.closing)
        return runtime::refuse(-EPERM, "the set is being freed");
    return set.rt->closed.load(std::memory_order_relaxed);
}

// Takes a cell of an open set, and grows the store if necessary. Checks the set again after that, because the
// set may be closed while the store grows.
TW_INLINED inline int take_record(record_set &set, record *&taken) TW_YIELDS(core::wheels_lock) {
    for (;;) {
        if (const int error = check_open(set); error != 0)
            return error;
        taken = set.records->take();
        if (taken != nullptr)
            break;
        if (set.records->is_full())
            return runtime::refuse(-ENOSPC, "the set has as many timers as its capacity, or TW_TIMERS_MAX");
        if (const int error = grow(set); error != 0)
            return error;
    }
    ++set.count;
    return 0;
}

// Takes a rest for a record whose set has no rests in its cells. P8: allocates without the lock, like grow.
int take_rest(record_set &set, record &timer, record_lock &lock) TW_YIELDS(core::wheels_lock) {
    record_rest *taken;
    while ((taken = set.space->memory.take_rest()) == nullptr) {
        lock.unlock();
        slab *const memory = allocate_slab(spare_memory::rests_of_slab * sizeof(record_rest));
        lock.lock();
        if (memory == nullptr)
            return -ENOMEM;
        set.space->memory.add_rests(memory);
    }
    timer.rest = taken;
    timer.has_rest = true;
    return 0;
}

void *storage_of(const record_set &set, record &timer) {
    return reinterpret_cast<char *>(&timer) + storage_offset(set.has_rests, set.workers != nullptr);
}

void take_key(record_rest &rest, key_copy *key) {
    rest.has_number_key = key != nullptr && key->is_number;
    rest.key_size = key != nullptr ? key->size : 0;
    if (key == nullptr)
        return;
    rest.key = key->key;
    rest.key_hash = key->hash;
    key->size = 0;
}

bool needs_rest(const tw_when *when, const tw_task &task) {
    return task.next != nullptr || task.drop != nullptr || (when != nullptr && when->period_ns != 0);
}

// Fills in the parts that a plain record lacks.
int fill_rest(record_set &set, record &timer, const tw_when *when, const tw_task &task, key_copy *key,
              record_lock &lock) TW_YIELDS(core::wheels_lock) {
    void *const arg = timer.arg;
    timer.has_rest = set.has_rests;
    if (set.has_rests)
        timer.rest = &rest_behind(timer);
    else if (!needs_rest(when, task))
        return 0;
    else if (const int error = take_rest(set, timer, lock); error != 0)
        return error;
    record_rest &rest = *timer.rest;
    rest.arg = arg;
    rest.next = task.next;
    rest.drop = task.drop;
    rest.period = 0;
    rest.part = 0;
    rest.fires_left = 0;
    rest.missed = TW_BURST;
    take_key(rest, key);
    if (set.workers != nullptr) {
        worker_part_of(timer).begun = 0;
        workers::make_runnable(worker_part_of(timer).runnable, *set.workers, record_hooks, set.concurrent);
    }
    return 0;
}

void fill(record &timer, tw_task_callback *fn, void *arg, std::uint8_t label) {
    timer.fn = fn;
    timer.arg = arg;
    timer.label = label;
    timer.uses = 0;
    timer.delay = -1;
    timer.has_rest = timer.is_on_wall = false;
}

// The task's own label, or else its set's.
std::uint8_t label_in(const record_set &set, const tw_task &task) {
    return task.label == nullptr ? set.label
                                 : static_cast<std::uint8_t>(runtime::label_number(*set.rt, task.label));
}

// Undoes the start of a record and returns `error`. Drops the argument only if the user's `copy` has made it.
// `drop` may cause another refusal, so this function notes its own reason again afterwards.
int abandon(record_set &set, record &timer, bool copied, int error, record_lock &lock)
    TW_YIELDS(core::wheels_lock) {
    const char *const why = runtime::noted_for(error);
    timer.state = record_state::ended;
    if (!copied && timer.has_rest)
        timer.rest->drop = nullptr;
    finish(set, timer, lock);
    return runtime::refuse(error, why);
}

// Asks the record's own schedule for the first deadline. Returns false if there is none.
bool ask_first(record_set &set, record &timer, tw_when &when) {
    const std::int64_t deadline = timer.rest->next(tw_runtime_now(set.rt), timer.rest->arg);
    when = runtime::at(deadline);
    return deadline != TW_NO_DEADLINE;
}

// Calls the user's functions that a start needs: `copy`, and `next` if `first` is not null.
// Returns 0 or -ENOENT.
int ask_user(record_set &set, record &timer, const tw_task &task, bool copies, tw_when *first,
             record_lock &lock) TW_YIELDS(core::wheels_lock) {
    const user_call unlocked(set, timer, lock);
    if (copies)
        task.copy(arg_of(timer), task.arg);
    const bool never_fires = first != nullptr && !ask_first(set, timer, *first);
    return never_fires ? runtime::refuse(-ENOENT, "the schedule (next) returned no first deadline") : 0;
}

bool is_plain(const tw_when &when) {
    return when.absolute == 0 && when.period_ns == 0 && when.slack_ns == 0 && when.jitter_ns == 0;
}

// A delay from now, the usual way to start a timer.
struct plain_delay {
    std::int64_t delay;
    runtime::tick due;  // on the steady timeline
    std::uint64_t moment;
};

// Call this without the lock, so that less work is done under it.
TW_INLINED inline plain_delay from_now(const record_set &set, std::int64_t delay) {
    const std::int64_t reading = set.rt->steady.clock.read();
    return {delay, set.rt->steady.tick_once_after(reading, delay),
            runtime::moment_at(set.rt->steady.lanes, reading)};
}

TW_INLINED inline bool arm_plain(record_set &set, record &timer, const plain_delay &when)
    TW_REQUIRES(core::wheels_lock) {
    timer.delay = when.delay;
    arm(*set.space, timer, when.due, when.moment);
    return runtime::note_armed(*set.rt, set.rt->steady, set.space->lane, when.due);
}

// Sets the grid of a periodic record, which starts at the deadline itself (P5).
void set_period(record &timer, const runtime::window &in, bool is_exact, const tw_when &when) {
    const runtime::tick_unit &unit = in.line.unit;
    record_rest &rest = *timer.rest;
    rest.fires_left = static_cast<std::uint16_t>(when.fires);
    rest.missed = static_cast<std::uint8_t>(when.missed);
    if (unit.divides(when.period_ns)) {
        rest.period = static_cast<runtime::tick>(when.period_ns) / unit.ns;
    } else {
        rest.period = static_cast<runtime::tick>(when.period_ns) / unit.part;
        rest.part = 1 + (is_exact ? unit.early(in.deadline) : 0);
    }
}

// The general case: any of deadline, delay, slack and period. Returns true if the driver must be woken.
bool arm_general(record_set &set, record &timer, const tw_when &when) TW_REQUIRES(core::wheels_lock) {
    record_space &space = *set.space;
    set.rt->wall_mutex.assume_held();  // along with the record lock
    const runtime::window in = runtime::window_of(*set.rt, when);
    timer.is_on_wall = in.line.can_be_set;
    timer.delay = when.period_ns != 0 ? when.period_ns : when.absolute == 0 ? when.due_ns : -1;
    const runtime::tick due =
        in.first == in.last ? in.first : core::choose_tick(wheel_of(space, timer), in.first, in.last);
    if (when.period_ns != 0)
        set_period(timer, in, when.slack_ns == 0, when);
    arm(space, timer, due - in.line.set_back, in.moment);
    return runtime::note_armed(*set.rt, in.line, space.lane, due);
}

void make_live(const record_set &set, record &timer) TW_REQUIRES(core::wheels_lock) {
    timer.state = record_state::live;
    timer.epoch = set.epoch;
}

// Arms and publishes a record that is filled in, and ends the record that it replaces.
TW_INLINED inline int go_live(record_set &set, record &fresh, const tw_when *when, const plain_delay *plain,
                              runtime::deferred_wake &wake, record_lock &lock) TW_YIELDS(core::wheels_lock) {
    int error = check_open(set);
    if (error == 0 && has_keys(set))
        error = set.lookup->reserve(set, fresh);
    if (error != 0)
        return error;
    make_live(set, fresh);
    wake.note(plain != nullptr ? arm_plain(set, fresh, *plain) : arm_general(set, fresh, *when));
    record *const replaced = has_keys(set) ? set.lookup->publish(set, fresh) : nullptr;
    if (replaced != nullptr) {
        wake.now();  // before `end`, whose `drop` may take long
        end(set, *replaced, lock);
    }
    return 0;
}

// Starts a record whose arguments are valid. `plain`, unless null, replaces *when. Inlined into its callers,
// so that a plain timer does not pay for features that it does not use.
TW_INLINED inline int start_checked(record_set &set, const tw_when *when, const plain_delay *plain,
                                    const tw_task &task, key_copy *key, tw_handle *handle) {
    const std::uint8_t label = label_in(set, task);
    runtime::deferred_wake wake(*set.rt);
    record_lock lock(*set.space);
    record *taken;
    if (const int error = take_record(set, taken); error != 0)
        return error;
    record &fresh = *taken;
    fill(fresh, task.fn, task.arg_size != 0 ? storage_of(set, fresh) : task.arg, label);
    const bool is_bare = plain != nullptr && !set.has_rests && task.drop == nullptr && task.next == nullptr;
    if (!is_bare)
        if (const int error = fill_rest(set, fresh, when, task, key, lock); error != 0)
            return abandon(set, fresh, false, error, lock);
    const bool copies = task.arg_size != 0 && task.copy != nullptr;
    const bool asks = when == nullptr && plain == nullptr;
    if (task.arg_size != 0 && !copies)
        std::memcpy(arg_of(fresh), task.arg, task.arg_size);
    tw_when asked;
    plain_delay after_copy;
    if (copies || asks) {
        const int error = ask_user(set, fresh, task, copies, asks ? &asked : nullptr, lock);
        if (error != 0)
            return abandon(set, fresh, copies, error, lock);
        if (plain != nullptr) {  // P3: `copy` may have armed other timers
            after_copy = {plain->delay, plain->due, runtime::moment_now(set.rt->steady.lanes)};
            plain = &after_copy;
        }
    }
    const int error = go_live(set, fresh, when != nullptr ? when : &asked, plain, wake, lock);
    if (error != 0)
        return abandon(set, fresh, copies, error, lock);
    if (handle != nullptr)
        *handle = handle_of(fresh);  // before the timer can fire, which needs the lock
    return 0;
}

tw_task plain_task(tw_task_callback *fn, void *arg) {
    tw_task task = {};
    task.fn = fn;
    task.arg = arg;
    return task;
}

}  // namespace

key_copy::~key_copy() {
    if (size > sizeof key.bytes)
        std::free(key.longer);
}

int start(record_set &set, const tw_when *when, const tw_task *task, key_copy *key, tw_handle *handle) {
    const char *const wrong = task == nullptr ? "the task is null" : what_is_wrong_with(set, when, *task);
    if (wrong != nullptr)
        return runtime::refuse(-EINVAL, wrong);
    if (when == nullptr || !is_plain(*when))
        return start_checked(set, when, nullptr, *task, key, handle);
    const plain_delay plain = from_now(set, when->due_ns);
    return start_checked(set, nullptr, &plain, *task, key, handle);
}

// The usual case: a delay, a function and an argument, in a set whose records need nothing else. A separate
// function, because it takes half as many instructions as start_checked.
static int start_bare(record_set &set, std::int64_t delay, tw_task_callback *fn, void *arg,
                      tw_handle *handle) {
    const plain_delay when = from_now(set, delay);
    runtime::deferred_wake wake(*set.rt);
    const record_guard lock(*set.space);
    record *taken;
    if (const int error = take_record(set, taken); error != 0)
        return error;
    record &fresh = *taken;
    fill(fresh, fn, arg, set.label);
    make_live(set, fresh);
    wake.note(arm_plain(set, fresh, when));
    *handle = handle_of(fresh);
    return 0;
}

int start_after(record_set &set, std::int64_t delay, tw_task_callback *fn, void *arg, key_copy *key,
                tw_handle *handle) {
    if (fn == nullptr || delay < 0)
        return fn == nullptr ? runtime::refuse(-EINVAL, "the function is null") : runtime::refuse_delay();
    if (!set.has_rests)
        return start_bare(set, delay, fn, arg, handle);
    const plain_delay plain = from_now(set, delay);
    return start_checked(set, nullptr, &plain, plain_task(fn, arg), key, handle);
}

int start_every(record_set &set, std::int64_t period, const tw_missed &missed, tw_task_callback *fn,
                void *arg, key_copy *key, tw_handle *handle) {
    if (period == 0)
        return runtime::refuse(-EINVAL, "the period is 0");
    const tw_when when = runtime::every(period, missed);
    const tw_task task = plain_task(fn, arg);
    return start(set, &when, &task, key, handle);
}

bool arm_at(record_set &set, record &timer, std::int64_t deadline) {
    if (set.rt->closed.load(std::memory_order_relaxed) != 0)
        return false;
    if (arm_general(set, timer, runtime::at(deadline)))
        runtime::wake_driver(*set.rt);
    return true;
}

}  // namespace tickwheel::timers

// Starting a record. See record_set.hpp for the lock and the invariants.
//
// The order is what makes a failing start change nothing: check, take a cell, fill it in, call
// the user's `copy` and `next`, arm, publish. All but the last two happen while no other thread
// can find the record.
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "record_life.hpp"

namespace tickwheel::runtime {

namespace {

// Returns null if valid, else why not.
const char *what_is_wrong_with(const record_set &set, const tw_when *when, const tw_task &task) {
    if (task.fn == nullptr)
        return "the task's function is null";
    if (task.arg_size > set.storage)
        return "the task's argument is larger than the storage that its set was made with";
    if (task.arg_size != 0 && task.arg == nullptr)
        return "the task's argument has a size, and is null";
    if (when == nullptr)
        return task.next != nullptr ? nullptr : "neither when nor a schedule of its own (next)";
    if (task.next != nullptr && when->period_ns != 0)
        return "both a period and a schedule of its own (next)";
    return what_is_wrong(*set.rt, *when);
}

// Takes a cell, growing the store if need be. P8: memory and ranges are allocated without the
// lock; if another thread has been faster, its result is used and this one freed.
// RELEASES AND REACQUIRES: set lock
[[gnu::always_inline]] inline int take_record(record_set &set, set_lock &lock, record *&taken) {
    while ((taken = set.records.take(set)) == nullptr) {
        if (set.records.is_full())
            return refuse(-ENOSPC, "the set has as many timers as it can hold");
        if (set.records.needs_allowance()) {
            if (const int error = set.lookup->add_range(set, lock); error != 0)
                return error;
            continue;
        }
        const unsigned slab = set.records.next_slab();
        lock.unlock();
        void *const memory = set.records.allocate(slab);
        lock.lock();
        if (memory == nullptr)
            return -ENOMEM;
        if (!set.records.add(slab, memory))
            std::free(memory);
    }
    ++set.count;
    return 0;
}

void *storage_of(record &record) {
    const std::size_t before =
        record.set->workers != nullptr ? sizeof(record) + sizeof(worker_part) : sizeof(record);
    return reinterpret_cast<char *>(&record) +
           (before + storage_alignment - 1) / storage_alignment * storage_alignment;
}

void take_key(record &record, key_copy *key) {
    record.has_number_key = key != nullptr && key->is_number;
    record.key_size = key != nullptr ? key->size : 0;
    if (key == nullptr)
        return;
    record.key = key->key;
    key->size = 0;
}

void fill(record &record, const tw_task &task) {
    record.node.fn = on_due;
    record.node.arg = task.arg_size != 0 ? storage_of(record) : task.arg;
    record.fn = task.fn;
    record.next = task.next;
    record.drop = task.drop;
    record.uses = 0;
    record.is_last = false;
    if (record.set->workers != nullptr) {
        worker_part_of(record).begun = 0;
        make_runnable(worker_part_of(record).runnable, *record.set->workers, record_hooks,
                      record.set->concurrent);
    }
}

// Undoes the start of a record and returns `error`. The argument is dropped only if the user's
// `copy` has made it. `drop` may cause a refusal of its own, so the reason of this one is noted
// again afterwards.
// RELEASES AND REACQUIRES: set lock
int abandon(record &record, bool copied, int error, set_lock &lock) {
    const char *const why = noted_for(error);
    record.state = record_state::ended;
    if (!copied)
        record.drop = nullptr;
    finish(record, lock);
    return refuse(error, why);
}

// Asks the record's own schedule for the first deadline. Returns false if there is none.
bool ask_first(record &record, tw_when &when) {
    const std::int64_t deadline = record.next(tw_runtime_now(record.set->rt), record.node.arg);
    when = {};
    when.due_ns = deadline > 0 ? deadline : 0;
    when.absolute = 1;
    return deadline != TW_NO_DEADLINE;
}

// Calls the user's functions that a start needs: `copy`, and `next` if `first` is not null.
// Returns 0 or -ENOENT.
// RELEASES AND REACQUIRES: set lock
int ask_user(record &record, const tw_task &task, bool copies, tw_when *first, set_lock &lock) {
    const user_call unlocked(record, lock);
    if (copies)
        task.copy(record.node.arg, task.arg);
    const bool never_fires = first != nullptr && !ask_first(record, *first);
    return never_fires ? refuse(-ENOENT, "its schedule (next) has no first time") : 0;
}

bool is_plain(const tw_when &when) { return when.absolute == 0 && when.period_ns == 0 && when.slack_ns == 0; }

// Arms and publishes a record that is filled in. Returns 0, 1 if it replaces another record,
// which is then ended, or a negative errno.
// RELEASES AND REACQUIRES: set lock
[[gnu::always_inline]] inline int go_live(record &fresh, const tw_when &when, prepared_delay *prepared,
                                          std::uint32_t hash, set_lock &lock) {
    record_set &set = *fresh.set;
    const lookup_hooks &lookup = *set.lookup;
    if (const int error = set.closing                 ? refuse(-EPERM, "the set is being freed")
                          : lookup.reserve != nullptr ? lookup.reserve(set, fresh, hash)
                                                      : 0;
        error != 0)
        return error;
    const int armed =
        prepared != nullptr ? prepared->arm(&fresh.node) : tw_runtime_arm(set.rt, &fresh.node, &when);
    if (armed < 0)
        return armed;
    fresh.state = record_state::live;
    fresh.epoch = set.epoch & 0x7f;
    record *const replaced = lookup.publish != nullptr ? lookup.publish(set, fresh, hash) : nullptr;
    if (replaced == nullptr)
        return 0;
    if (prepared != nullptr)
        prepared->wake_now();  // before `end`, which may call `drop`, and that may take long
    end(*replaced, lock);
    return 1;
}

// Starts a record whose arguments are valid. `prepared`, unless null, replaces *when. Inlined into
// its callers, so that a plain timer does not pay for what it does not use.
[[gnu::always_inline]] inline int start_checked(record_set &set, const tw_when *when,
                                                prepared_delay *prepared, const tw_task &task, key_copy *key,
                                                tw_handle *handle) {
    set_lock lock(set);
    record *fresh;
    if (const int error = take_record(set, lock, fresh); error != 0)
        return error;
    fill(*fresh, task);
    take_key(*fresh, key);
    const bool copies = task.arg_size != 0 && task.copy != nullptr;
    if (task.arg_size != 0 && !copies)
        std::memcpy(fresh->node.arg, task.arg, task.arg_size);
    tw_when asked;
    if (copies || when == nullptr) {
        const int error = ask_user(*fresh, task, copies, when == nullptr ? &asked : nullptr, lock);
        if (error != 0)
            return abandon(*fresh, copies, error, lock);
    }
    const std::uint32_t hash = key != nullptr ? key->hash : 0;
    const int replaced = go_live(*fresh, when != nullptr ? *when : asked, prepared, hash, lock);
    if (replaced < 0)
        return abandon(*fresh, copies, replaced, lock);
    if (handle != nullptr)
        *handle = handle_of(*fresh);  // before it can fire, which needs the lock
    return replaced;
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
        return refuse(-EINVAL, wrong);
    if (when == nullptr || !is_plain(*when))
        return start_checked(set, when, nullptr, *task, key, handle);
    prepared_delay prepared(*set.rt, when->due_ns);
    return start_checked(set, when, &prepared, *task, key, handle);
}

int start_after(record_set &set, std::int64_t delay, tw_task_callback *fn, void *arg, key_copy *key,
                tw_handle *handle) {
    if (fn == nullptr || delay < 0)
        return fn == nullptr ? refuse(-EINVAL, "the function is null") : refuse_delay();
    tw_when when = {};
    when.due_ns = delay;
    prepared_delay prepared(*set.rt, delay);
    return start_checked(set, &when, &prepared, plain_task(fn, arg), key, handle);
}

int start_every(record_set &set, std::int64_t period, const tw_missed &missed, tw_task_callback *fn,
                void *arg, key_copy *key, tw_handle *handle) {
    if (period == 0)
        return refuse(-EINVAL, "the period is 0");
    const tw_when when = every(period, missed);
    const tw_task task = plain_task(fn, arg);
    return start(set, &when, &task, key, handle);
}

}  // namespace tickwheel::runtime

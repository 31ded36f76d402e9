// How records come to be.
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "record_life.hpp"

namespace tickwheel::runtime {

namespace {

// Null: nothing.
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

// A slot, as nobody else knows it; growing if need be.
[[gnu::always_inline]] inline int take_record(record_set &set, set_lock &hold, record *&taken) {
    while ((taken = set.all.take(set)) == nullptr) {
        if (set.all.is_full())
            return refuse(-ENOSPC, "the set has as many timers as it can hold");
        if (!set.all.is_covered()) {
            if (const int error = set.how->cover(set, hold); error != 0)
                return error;
            continue;
        }
        const unsigned slab = set.all.next_slab();
        hold.unlock();
        void *const memory = set.all.allocate(slab);
        hold.lock();
        if (memory == nullptr)
            return -ENOMEM;
        if (!set.all.add(slab, memory))
            std::free(memory);
    }
    ++set.count;
    return 0;
}

void *storage_of(record &it) {
    const std::size_t before =
        it.set->workers != nullptr ? sizeof(record) + sizeof(worker_part) : sizeof(record);
    return reinterpret_cast<char *>(&it) +
           (before + storage_alignment - 1) / storage_alignment * storage_alignment;
}

void take_key(record &it, key_copy *key) {
    it.has_number_key = key != nullptr && key->is_number;
    it.key_size = key != nullptr ? key->size : 0;
    if (key == nullptr)
        return;
    it.key = key->key;
    key->size = 0;
}

void fill(record &it, const tw_task &task) {
    it.node.fn = on_due;
    it.node.arg = task.arg_size != 0 ? storage_of(it) : task.arg;
    it.fn = task.fn;
    it.next = task.next;
    it.drop = task.drop;
    it.runs = 0;
    it.is_last = false;
    if (it.set->workers != nullptr) {
        worker_part_of(it).begun = 0;
        make_runnable(worker_part_of(it).runnable, *it.set->workers, runnable_hooks, it.set->concurrent);
    }
}

// Undoes the start of a record, whose argument `drop` is called on if it was copied by a
// function of the user's.
int abandon(record &it, bool copied, int error, set_lock &hold) {
    const char *const why = noted_for(error);
    it.state = record_state::ended;
    if (!copied)
        it.drop = nullptr;
    finish(it, hold);
    return refuse(error, why);  // what it dropped may have been refused something else
}

// When it is to fire first, from its own schedule. False: never.
bool ask_first(record &it, tw_when &when) {
    const std::int64_t deadline = it.next(tw_runtime_now(it.set->rt), it.node.arg);
    when = {};
    when.due_ns = deadline > 0 ? deadline : 0;
    when.absolute = 1;
    return deadline != TW_NO_DEADLINE;
}

// What only the user's functions can do, without the lock: 0 or -ENOENT. `first`, if it is
// not null, is to be asked for.
int ask_user(record &it, const tw_task &task, bool copies, tw_when *first, set_lock &hold) {
    const for_user unlocked(it, hold);
    if (copies)
        task.copy(it.node.arg, task.arg);
    const bool is_for_ever_idle = first != nullptr && !ask_first(it, *first);
    return is_for_ever_idle ? refuse(-ENOENT, "its schedule (next) has no first time") : 0;
}

bool is_plain(const tw_when &when) { return when.absolute == 0 && when.period_ns == 0 && when.slack_ns == 0; }

// The record whose place it has taken ends.
[[gnu::always_inline]] inline int go_live(record &it, const tw_when &when, delayed_call *plain,
                                          std::uint32_t hash, set_lock &hold) {
    record_set &set = *it.set;
    const lookup_hooks &how = *set.how;
    if (const int error = set.closing              ? refuse(-EPERM, "the set is being freed")
                          : how.reserve != nullptr ? how.reserve(set, it, hash)
                                                   : 0;
        error != 0)
        return error;
    const int armed = plain != nullptr ? plain->arm(&it.node) : tw_runtime_arm(set.rt, &it.node, &when);
    if (armed < 0)
        return armed;
    it.state = record_state::live;
    it.epoch = set.epoch & 0x7f;
    record *const replaced = how.publish != nullptr ? how.publish(set, it, hash) : nullptr;
    if (replaced == nullptr)
        return 0;
    if (plain != nullptr)
        plain->tell();  // what is the user's, and comes next, may take its time
    end(*replaced, hold);
    return 1;
}

// All that comes after checking. `plain`, if it is not null, stands for *when. Inline: what
// a plain timer does not have costs it nothing.
[[gnu::always_inline]] inline int start_checked(record_set &set, const tw_when *when, delayed_call *plain,
                                                const tw_task &task, key_copy *key, tw_handle *handle) {
    set_lock hold(set);
    record *it;
    if (const int error = take_record(set, hold, it); error != 0)
        return error;
    fill(*it, task);
    take_key(*it, key);
    const bool copies = task.arg_size != 0 && task.copy != nullptr;
    if (task.arg_size != 0 && !copies)
        std::memcpy(it->node.arg, task.arg, task.arg_size);
    tw_when asked;
    if (copies || when == nullptr) {
        const int error = ask_user(*it, task, copies, when == nullptr ? &asked : nullptr, hold);
        if (error != 0)
            return abandon(*it, copies, error, hold);
    }
    const std::uint32_t hash = key != nullptr ? key->hash : 0;
    const int replaced = go_live(*it, when != nullptr ? *when : asked, plain, hash, hold);
    if (replaced < 0)
        return abandon(*it, copies, replaced, hold);
    if (handle != nullptr)
        *handle = handle_of(*it);  // its callback has to have the lock before it can begin
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
    delayed_call plain(*set.rt, when->due_ns);
    return start_checked(set, when, &plain, *task, key, handle);
}

int start_after(record_set &set, std::int64_t delay, tw_task_callback *fn, void *arg, key_copy *key,
                tw_handle *handle) {
    if (fn == nullptr || delay < 0)
        return fn == nullptr ? refuse(-EINVAL, "the function is null") : refuse_delay();
    tw_when when = {};
    when.due_ns = delay;
    delayed_call plain(*set.rt, delay);
    return start_checked(set, &when, &plain, plain_task(fn, arg), key, handle);
}

int start_every(record_set &set, std::int64_t period, tw_missed missed, tw_task_callback *fn, void *arg,
                key_copy *key, tw_handle *handle) {
    if (period == 0)
        return refuse(-EINVAL, "the period is 0");
    const tw_when when = every(period, missed);
    const tw_task task = plain_task(fn, arg);
    return start(set, &when, &task, key, handle);
}

}  // namespace tickwheel::runtime

#include "entries.hpp"

#include <cstdlib>
#include <cstring>

namespace tickwheel::runtime {

namespace {

constexpr std::size_t most_storage = 4096;
constexpr std::size_t storage_alignment = 16;

// Says that this thread runs something of an entry's user: a callback, `next`, `drop`.
class in_entry {
  public:
    explicit in_entry(const entry &it) : it_(&it), outer_(innermost) { innermost = this; }
    ~in_entry() { innermost = outer_; }
    in_entry(const in_entry &) = delete;
    in_entry &operator=(const in_entry &) = delete;

    static bool of(const entry &it) {
        for (const in_entry *each = innermost; each != nullptr; each = each->outer_)
            if (each->it_ == &it)
                return true;
        return false;
    }
    static bool of(const entries &set) {
        for (const in_entry *each = innermost; each != nullptr; each = each->outer_)
            if (each->it_->set == &set)
                return true;
        return false;
    }

  private:
    static constinit thread_local const in_entry *innermost;
    const entry *it_;
    const in_entry *outer_;
};

constinit thread_local const in_entry *in_entry::innermost = nullptr;

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

// Until a callback that the wheel has begun with, and that has not had the lock, is through.
// On workers a former fire may run meanwhile; it does not finish the entry. One with a
// schedule of its own is not armed while it runs, so nothing unseen is there; and `next`,
// which may be asked in the wheel's callback, must not be waited for.
void see_off(entry &it, entries_hold &hold) {
    if (it.runs != 0 && (it.set->workers == nullptr || it.next != nullptr))
        return;
    ++it.runs;
    hold.unlock();
    for_each_timeline(*it.set->rt, [&it](timeline &line) { tw_wait(&line.wheel, &it.node); });
    hold.lock();
    --it.runs;
    came_further(*it.set);
}

// --- ending ----------------------------------------------------------------------------

bool is_drained(const entry &it) { return it.epoch != it.set->epoch; }

void let_go(entries &set, std::uint32_t times) {
    if (set.users.fetch_sub(times, std::memory_order_acq_rel) != times)
        return;
    set.all.free_all();
    std::free(&set);
}

// From here on its handle or key is good no more.
void retire(entry &it) {
    it.state = entry_state::ended;
    if (it.set->how->unpublish != nullptr)
        it.set->how->unpublish(*it.set, it);
}

unsigned char *long_key_of(const entry &it) {
    return it.key_size > sizeof it.key.bytes ? it.key.more_bytes : nullptr;
}

void free_slot(entry &it) {
    entries &set = *it.set;
    ++it.generation;
    if (it.generation - set.first_generation > set.most_reused)
        set.most_reused = it.generation - set.first_generation;
    --set.count;
    set.all.give_back(it);
    came_further(set);
}

// What has ended, and has no runs any more, is over. What is given back to the user is taken
// out first: a fork may copy the entry meanwhile.
void finish(entry &it, entries_hold &hold) {
    unsigned char *const key = long_key_of(it);
    void (*const drop)(void *) = it.drop;
    it.key_size = 0;
    it.drop = nullptr;
    if (drop != nullptr || key != nullptr) {
        hold.unlock();
        if (drop != nullptr) {
            const in_entry here(it);
            drop(it.node.arg);
        }
        std::free(key);
        hold.lock();
    }
    free_slot(it);
}

// Takes back runs that wait for a worker, the last among them.
void take_back(entry &it) {
    if (it.set->workers == nullptr)
        return;
    const std::uint32_t taken = withdraw(worked_of(it).runnable);
    it.runs -= taken;
    it.is_last = it.is_last && taken == 0;
    it.set->users.fetch_sub(taken, std::memory_order_relaxed);  // never the last: the caller is one
}

// Once what waits has been taken back: of a live one, whether ending it prevents a fire.
bool has_still_to_fire(entry &it) {
    const bool has_run_to_begin = it.set->workers != nullptr && it.runs > worked_of(it).begun;
    return !it.is_last || has_run_to_begin;
}

// --- firing ----------------------------------------------------------------------------

int arm_at(entry &it, std::int64_t deadline) {
    return tw_runtime_at(it.set->rt, &it.node, deadline > 0 ? deadline : 0);
}

// Asks a schedule of the user's for the next deadline, and arms the entry for it.
void ask_next(entry &it, std::int64_t due, entries_hold &hold) {
    hold.unlock();
    std::int64_t deadline;
    {
        const in_entry here(it);
        deadline = it.next(due, it.node.arg);
    }
    hold.lock();
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
    --it.runs;
    came_further(*it.set);
    if (it.runs != 0 || (it.state == entry_state::live && !it.is_last))
        return;
    if (it.state == entry_state::live)
        retire(it);
    finish(it, hold);
}

void call(entry &it, std::int64_t due, std::uint64_t overruns) {
    const tw_key key = key_of(it);
    const tw_event event = {handle_of(it), it.set->tag == 0 ? &key : nullptr, due, overruns};
    const in_entry here(it);
    it.fn(&event, it.node.arg);
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
    call(it, due, overruns);
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

// The callback of every entry's node, on the thread that drives the runtime.
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
            call(it, due, tw_runtime_overruns(set.rt));
            hold.lock();
        }
        --worked_of(it).begun;
        after_fire(it, due, hold);
    }
    if (!set.rt->forked)
        let_go(set, 1);
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

constexpr tw_runnable_kind worked_kind = {run, discarded};

// --- starting --------------------------------------------------------------------------

bool can_start(const entries &set, const tw_when *when, const tw_task &task) {
    if (task.fn == nullptr || task.arg_size > set.storage || (when == nullptr && task.next == nullptr))
        return false;
    if (task.arg_size != 0 && task.arg == nullptr)
        return false;
    return when == nullptr || (is_valid(*set.rt, *when) && (task.next == nullptr || when->period_ns == 0));
}

// A slot, as nobody else knows it; growing if need be.
[[gnu::always_inline]] inline int take_slot(entries &set, entries_hold &hold, entry *&taken) {
    while ((taken = set.all.take(set, set.first_generation)) == nullptr) {
        if (set.all.is_full())
            return -ENOSPC;
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

void *storage_of(entry &it) {
    const std::size_t before = it.set->workers != nullptr ? sizeof(entry) + sizeof(worked) : sizeof(entry);
    return reinterpret_cast<char *>(&it) +
           (before + storage_alignment - 1) / storage_alignment * storage_alignment;
}

int take_key(entry &it, const tw_key *key) {
    it.key_size = 0;
    it.has_number_key = key != nullptr && key->is_number != 0;
    if (key == nullptr)
        return 0;
    if (it.has_number_key) {
        it.key.number = key->number;
        return 0;
    }
    unsigned char *to = it.key.bytes;
    if (key->size > sizeof it.key.bytes) {
        to = static_cast<unsigned char *>(std::malloc(key->size));
        if (to == nullptr)
            return -ENOMEM;
        it.key.more_bytes = to;
    }
    it.key_size = static_cast<std::uint16_t>(key->size);
    if (key->size != 0)
        std::memcpy(to, key->bytes, key->size);
    return 0;
}

void fill(entry &it, const tw_task &task) {
    it.node.fn = on_due;
    it.node.arg = task.arg_size != 0 ? storage_of(it) : task.arg;
    it.fn = task.fn;
    it.next = task.next;
    it.drop = task.drop;
    it.runs = 0;
    it.is_last = false;
    if (it.set->workers != nullptr) {
        worked_of(it).begun = 0;
        make_runnable(worked_of(it).runnable, *it.set->workers, worked_kind, it.set->concurrent);
    }
}

// Undoes the start of an entry, whose argument `drop` is called on if it was copied by a
// function of the user's.
int abandon(entry &it, bool copied, int error, entries_hold &hold) {
    it.state = entry_state::ended;
    if (!copied)
        it.drop = nullptr;
    finish(it, hold);
    return error;
}

// When it is to fire first, from its own schedule. False: never.
bool ask_first(entry &it, tw_when &when) {
    const in_entry here(it);
    const std::int64_t deadline = it.next(tw_runtime_now(it.set->rt), it.node.arg);
    when = {};
    when.due_ns = deadline > 0 ? deadline : 0;
    when.absolute = 1;
    return deadline != TW_NO_DEADLINE;
}

// What only the user's functions can do, without the lock: 0 or -ENOENT. `first`, if it is
// not null, is to be asked for.
int ask_user(entry &it, const tw_task &task, bool copies, tw_when *first, entries_hold &hold) {
    hold.unlock();
    if (copies) {
        const in_entry here(it);
        task.copy(it.node.arg, task.arg);
    }
    const int error = first != nullptr && !ask_first(it, *first) ? -ENOENT : 0;
    hold.lock();
    return error;
}

bool is_plain(const tw_when &when) { return when.absolute == 0 && when.period_ns == 0 && when.slack_ns == 0; }

// The entry whose place it has taken ends.
[[gnu::always_inline]] inline int go_live(entry &it, const tw_when &when, delayed *plain,
                                          entries_hold &hold) {
    entries &set = *it.set;
    const entries_kind &how = *set.how;
    if (const int error = set.closing              ? -EPERM
                          : how.reserve != nullptr ? how.reserve(set, it)
                                                   : 0;
        error != 0)
        return error;
    const int armed = plain != nullptr ? plain->arm(&it.node) : tw_runtime_arm(set.rt, &it.node, &when);
    if (armed < 0)
        return armed;
    it.state = entry_state::live;
    it.epoch = set.epoch & 0x7f;
    entry *const replaced = how.publish != nullptr ? how.publish(set, it) : nullptr;
    if (replaced == nullptr)
        return 0;
    if (plain != nullptr)
        plain->tell();  // what is the user's, and comes next, may take its time
    end(*replaced, hold);
    return 1;
}

// All that comes after checking. `plain`, if it is not null, stands for *when. Inline: what
// a plain timer does not have costs it nothing.
[[gnu::always_inline]] inline int start_checked(entries &set, const tw_when *when, delayed *plain,
                                                const tw_task &task, const tw_key *key, tw_handle *handle) {
    entries_hold hold(set);
    entry *it;
    if (const int error = take_slot(set, hold, it); error != 0)
        return error;
    fill(*it, task);
    const bool copies = task.arg_size != 0 && task.copy != nullptr;
    if (task.arg_size != 0 && !copies)
        std::memcpy(it->node.arg, task.arg, task.arg_size);
    if (const int error = take_key(*it, key); error != 0)
        return abandon(*it, false, error, hold);
    tw_when asked;
    if (copies || when == nullptr) {
        const int error = ask_user(*it, task, copies, when == nullptr ? &asked : nullptr, hold);
        if (error != 0)
            return abandon(*it, copies, error, hold);
    }
    const int replaced = go_live(*it, when != nullptr ? *when : asked, plain, hold);
    if (replaced < 0)
        return abandon(*it, copies, replaced, hold);
    if (handle != nullptr)
        *handle = handle_of(*it);  // its callback has to have the lock before it can begin
    return replaced;
}

}  // namespace

int start(entries &set, const tw_when *when, const tw_task *task, const tw_key *key, tw_handle *handle) {
    if (task == nullptr || !can_start(set, when, *task) || (key != nullptr && !is_valid(*key)))
        return -EINVAL;
    if (when == nullptr || !is_plain(*when))
        return start_checked(set, when, nullptr, *task, key, handle);
    delayed plain(*set.rt, when->due_ns);
    return start_checked(set, when, &plain, *task, key, handle);
}

int start_after(entries &set, std::int64_t delay, tw_task_callback *fn, void *arg, const tw_key *key,
                tw_handle *handle) {
    if (fn == nullptr || delay < 0 || (key != nullptr && !is_valid(*key)))
        return -EINVAL;
    tw_when when = {};
    when.due_ns = delay;
    tw_task task = {};
    task.fn = fn;
    task.arg = arg;
    delayed plain(*set.rt, delay);
    return start_checked(set, &when, &plain, task, key, handle);
}

// Without workers nothing else begins while a callback runs.
int end(entry &it, entries_hold &hold) {
    const bool cancelled = cancel(*it.set->rt, &it.node) > 0;
    take_back(it);
    const bool prevented = has_still_to_fire(it);
    const bool may_be_beginning = !cancelled || it.node.period != 0;
    retire(it);
    if (may_be_beginning)
        see_off(it, hold);
    if (it.runs == 0)
        finish(it, hold);
    return prevented ? 1 : 0;
}

int move(entry &it, delayed &to) {
    const int error = to.move(&it.node);
    return error == -ENOENT ? -EBUSY : error;
}

std::int64_t remaining(entry &it) {
    const std::int64_t left = tw_runtime_remaining(it.set->rt, &it.node);
    return left == TW_NO_DEADLINE ? 0 : left;
}

void wait_until_over(entry &it, std::uint32_t generation, entries_hold &hold) {
    while (it.generation == generation && !in_entry::of(it))
        wait_until_one_comes_further(*it.set, hold);
}

bool is_valid(const tw_key &key) {
    return key.is_number != 0 || (key.size <= TW_KEY_MAX && (key.bytes != nullptr || key.size == 0));
}

tw_key key_of(const entry &it) {
    if (it.has_number_key)
        return tw_key_number(it.key.number);
    const unsigned char *const more = long_key_of(it);
    return tw_key_bytes(more != nullptr ? more : it.key.bytes, it.key_size);
}

// --- draining --------------------------------------------------------------------------

namespace {

// Epochs less than 64 apart can be compared.
bool is_older(const entry &it, std::uint8_t epoch) { return ((it.epoch - epoch) & 0x7f) >= 0x40; }

// Taken if a drain that began 64 drains earlier still goes on.
std::uint64_t bit_of_next_drain(const entries &set) { return std::uint64_t{1} << ((set.epoch + 1) & 63); }

bool is_there(const entry &it) { return it.state == entry_state::live || it.state == entry_state::ended; }

void visit(entry &it, tw_keyed_each *each, void *drain_arg, entries_hold &hold) {
    if (each == nullptr)
        return;
    const tw_key key = key_of(it);
    hold.unlock();
    {
        const in_entry here(it);
        each(&key, it.node.arg, drain_arg);
    }
    hold.lock();
}

// True if it still had to fire. Runs that have begun are waited for: they were before.
bool drain_one(entry &it, tw_keyed_each *each, void *drain_arg, entries_hold &hold) {
    const std::uint32_t generation = it.generation;
    if (it.state == entry_state::live) {
        cancel(*it.set->rt, &it.node);
        take_back(it);
    }
    while (it.generation == generation && it.state == entry_state::live && it.runs != 0 && !in_entry::of(it))
        wait_until_one_comes_further(*it.set, hold);
    if (it.generation != generation || it.state != entry_state::live) {
        wait_until_over(it, generation, hold);
        return false;
    }
    const bool had_to_fire = has_still_to_fire(it);
    retire(it);
    see_off(it, hold);
    ++it.runs;
    if (had_to_fire)
        visit(it, each, drain_arg, hold);
    --it.runs;
    if (it.runs == 0)
        finish(it, hold);
    return had_to_fire;
}

}  // namespace

std::int64_t drain(entries &set, tw_keyed_each *each, void *drain_arg) {
    entries_hold hold(set);
    while ((set.drains & bit_of_next_drain(set)) != 0) {
        if (in_entry::of(set))
            return -EBUSY;
        wait_until_one_comes_further(set, hold);
    }
    const std::uint64_t own_bit = bit_of_next_drain(set);
    const std::uint8_t epoch = set.epoch = (set.epoch + 1) & 0x7f;
    set.drains |= own_bit;
    std::int64_t drained = 0;
    for (std::uint32_t number = 0; number < set.all.made(); ++number) {
        entry &it = set.all[number];
        if (is_there(it) && is_older(it, epoch) && drain_one(it, each, drain_arg, hold))
            ++drained;
        hold.unlock();
        hold.lock();
    }
    set.drains &= ~own_bit;
    came_further(set);
    return drained;
}

// --- the set ---------------------------------------------------------------------------

int refusal(const tw_runtime *rt, const entries_options &options) {
    if (const int error = refusal(rt); error != 0)
        return error;
    const bool in_range = options.capacity <= most_slots && options.storage <= most_storage;
    return in_range && (options.workers == nullptr || are_of(*options.workers, *rt)) ? 0 : -EINVAL;
}

int open(entries &set, tw_runtime &rt, const entries_options &options, const entries_kind &how) {
    set.how = &how;
    set.workers = options.workers;
    set.concurrent = options.concurrent;
    set.storage = options.storage;
    tw_port_lock_init(&set.lock);
    const std::size_t for_workers = options.workers != nullptr ? sizeof(worked) : 0;
    const std::size_t for_storage = options.storage != 0 ? options.storage + storage_alignment : 0;
    set.all.shape(options.capacity, for_workers + for_storage);
    set.users.store(1, std::memory_order_relaxed);
    if (options.capacity != 0 && set.all.allocate_all() != 0) {
        set.all.free_all();
        return -ENOMEM;
    }
    if (set.workers != nullptr)
        use(*set.workers);
    make_part(set, rt, how.as_part);
    return 0;
}

namespace {

void end_part(entries &set) {
    if (set.how->close != nullptr)
        set.how->close(set);
    no_part_any_more(set);
    if (set.workers != nullptr)
        use_no_more(*set.workers);
    let_go(set, 1);
}

// The callback that the runtime's thread has just left may still have to let go of the lock.
void see_off_thread(entries &set) {
    for_each_timeline(*set.rt, [&set](timeline &line) {
        tw_node *const last = tw_running(&line.wheel);
        if (last != nullptr && set.all.contain(last))
            tw_wait(&line.wheel, last);
    });
}

// Whether something of the user's was at work on it when the process forked: its argument is
// in no state to be dropped.
bool was_cut_short(entry &it) {
    const std::uint32_t begun = it.set->workers != nullptr ? worked_of(it).begun : it.runs;
    return it.state == entry_state::starting || begun != 0;
}

// All that is left when nobody fires and the wheels are empty; also in the child of a fork.
void end_all_at_rest(entries &set) {
    entries_hold hold(set);
    for (std::uint32_t number = 0; number < set.all.made(); ++number) {
        entry &it = set.all[number];
        if (it.state == entry_state::free || in_entry::of(it))
            continue;
        if (was_cut_short(it))
            it.drop = nullptr;
        if (it.state == entry_state::live)
            retire(it);
        it.state = entry_state::ended;
        finish(it, hold);
    }
}

}  // namespace

int close(entries &set) {
    if (in_entry::of(set))
        return -EBUSY;
    {
        entries_hold hold(set);
        set.closing = true;
    }
    drain(set, nullptr, nullptr);
    see_off_thread(set);
    end_part(set);
    return 0;
}

void fork_entries(part &it, tw_fork_moment moment) {
    entries &set = static_cast<entries &>(it);
    if (moment == TW_FORK_PREPARE) {
        tw_port_lock(&set.lock);
    } else if (moment == TW_FORK_PARENT) {
        tw_port_unlock(&set.lock);
    } else {
        tw_port_lock_init(&set.lock);
        set.waiting = 0;
        set.drains = 0;
        set.users.store(1, std::memory_order_relaxed);
    }
}

int revive_entries(part &it) {
    end_all_at_rest(static_cast<entries &>(it));
    return 0;
}

void destroy_entries(part &it) {
    entries &set = static_cast<entries &>(it);
    set.closing = true;
    end_all_at_rest(set);
    end_part(set);
}

}  // namespace tickwheel::runtime

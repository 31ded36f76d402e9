// Making, walking, emptying and freeing a set, and its hooks as a component. See record_set.hpp.
#include "record_set.hpp"

#include <cassert>
#include <cerrno>
#include <cstdlib>

#include "base/numbers.hpp"
#include "record_life.hpp"
#include "runtime/labels.hpp"

namespace tickwheel::timers {

// --- cancel_all ------------------------------------------------------------------------
//
// cancel_all raises the set's epoch in all lanes at once. From then on no record of an earlier epoch fires
// (is_cancelled), and cancel_all ends these records one by one. Epochs have 7 bits and are compared modulo
// 128, so all epochs in use must be less than 64 apart: a call begins only after the call 64 epochs earlier
// has ended.

namespace {

bool is_older(const record &timer, std::uint8_t epoch) { return ((timer.epoch - epoch) & 0x7f) >= 0x40; }

// Set in `cancels_under_way` while the call 64 epochs before the next one is in progress.
std::uint64_t bit_of_next_cancel_all(const timer_set &set) TW_REQUIRES(core::wheels_lock) {
    return std::uint64_t{1} << ((first_of(set).epoch + 1) & 63);
}

// Calls what(records) for the records of a set in each lane.
template <class Do> void for_each_lane(const timer_set &set, Do what) {
    for (unsigned lane = set.first; lane != set.first + set.lanes; ++lane)
        if (record_set *const records = set.in_lanes[lane].load(std::memory_order_acquire);
            records != nullptr)
            what(*records);
}

// Take and release the locks of all lanes of a set but the first. REQUIRES: the lock of the first lane, so
// that the set comes to no other lane
[[gnu::noinline]] void lock_others(const timer_set &set) TW_UNCHECKED_LOCKING {
    for_each_lane(set, [&set](record_set &records) TW_UNCHECKED_LOCKING {
        if (&records != &first_of(set))
            lock(*records.space);
    });
}
[[gnu::noinline]] void unlock_others(const timer_set &set) TW_UNCHECKED_LOCKING {
    for_each_lane(set, [&set](record_set &records) TW_UNCHECKED_LOCKING {
        if (&records != &first_of(set))
            unlock(*records.space);
    });
}

// Calls change(records) for the records in each lane, with the locks of all lanes held. So for other threads
// it happens everywhere at once.
template <class Do> void change_at_once(const timer_set &set, Do change) TW_REQUIRES(core::wheels_lock) {
    lock_others(set);
    for_each_lane(set, change);
    unlock_others(set);
}

bool is_in_use(const record &timer) { return is_live(timer) || timer.state == record_state::ended; }

// Calls the visitor's function with a description of the record. The caller holds a use of the record.
int visit(record_set &set, record &timer, const record_visitor &visitor, record_lock &lock)
    TW_YIELDS(core::wheels_lock) {
    if (visitor.visit == nullptr)
        return 0;
    tw_key key;
    const tw_entry entry = entry_of(set, timer, key);
    const user_call unlocked(set, timer, lock);
    return runtime::explain_system_error(visitor.visit(&entry, visitor.arg));
}

// Keeps a record during a visit, as a run that has begun would. If a call ends the record meanwhile, it
// leaves `finish` to the visit. To the child of a fork the argument counts as in use.
void hold(record_set &set, record &timer) TW_REQUIRES(core::wheels_lock) {
    ++timer.uses;
    if (set.workers != nullptr)
        ++worker_part_of(timer).begun;
}
void let_go(record_set &set, record &timer) TW_REQUIRES(core::wheels_lock) {
    --timer.uses;
    if (set.workers != nullptr)
        --worker_part_of(timer).begun;
    announce_progress(*set.space);
}

// Ends a record, and returns true if it still had to fire. Waits for the runs that have begun, because they
// began before cancel_all. The wait releases the lock, so another call may end the record meanwhile; then
// this function waits until the record is over.
bool cancel_record(record_set &set, record &timer, const record_visitor &visitor, record_lock &lock)
    TW_YIELDS(core::wheels_lock) {
    const std::uint32_t generation = timer.generation;
    if (is_live(timer)) {
        disarm(*set.space, timer);
        withdraw_fires(set, timer);
    }
    while (timer.generation == generation && is_live(timer) && timer.uses != 0 && !inside_record::of(timer))
        wait_for_progress(*set.space, lock);
    if (timer.generation != generation || !is_live(timer)) {
        wait_until_over(set, timer, generation, lock);
        return false;
    }
    const bool had_to_fire = has_still_to_fire(set, timer);
    count_cancelled(*set.space, timer, had_to_fire);
    retire(set, timer);
    hold(set, timer);
    if (had_to_fire)
        visit(set, timer, visitor, lock);
    let_go(set, timer);
    if (set.rt->forked)
        return had_to_fire;  // `visit` has forked: the child calls no further functions
    if (timer.uses == 0)
        finish(set, timer, lock);
    return had_to_fire;
}

// Ends the records of earlier epochs in one lane. Returns their number, or -ECHILD.
std::int64_t cancel_all(record_set &set, std::uint8_t epoch, const record_visitor &visitor) {
    record_lock lock(*set.space);
    std::int64_t cancelled = 0;
    const std::uint32_t end = set.records->end_number();  // later ones are of the new epoch
    for (std::uint32_t number = 0; number < base::smaller(end, set.records->end_number()); ++number) {
        record &timer = (*set.records)[number];
        if (is_in_use(timer) && is_older(timer, epoch) && cancel_record(set, timer, visitor, lock))
            ++cancelled;
        if (set.rt->forked)
            return -ECHILD;  // the user's function has forked; the child has reset `cancels_under_way`
        lock.unlock();       // P8: lets other threads in
        lock.lock();
    }
    return cancelled;
}

// Raises the epoch. Returns 0 or -EBUSY.
int begin_cancel_all(timer_set &set, std::uint8_t &epoch, std::uint64_t &own_bit) {
    record_lock lock(*first_of(set).space);
    while ((set.cancels_under_way & bit_of_next_cancel_all(set)) != 0) {
        if (inside_record::of(set))
            return runtime::refuse(-EBUSY, "another call that cancels all timers waits for this callback");
        wait_for_progress(*first_of(set).space, lock);
    }
    own_bit = bit_of_next_cancel_all(set);
    epoch = (first_of(set).epoch + 1) & 0x7f;
    change_at_once(set, [epoch](record_set &records) {
        core::assume_locked();
        records.epoch = epoch;
    });
    set.cancels_under_way |= own_bit;
    return 0;
}

void end_cancel_all(timer_set &set, std::uint64_t own_bit) {
    const record_guard lock(*first_of(set).space);
    assert((set.cancels_under_way & own_bit) != 0);
    set.cancels_under_way &= ~own_bit;
    announce_progress(*first_of(set).space);
}

// The frame is outermost, so if the visitor frees the runtime, that happens at the end of this function.
std::int64_t cancel_all(timer_set &set, const record_visitor &visitor) {
    runtime::end_of_call end;
    const runtime::inside_user_code frame(*set.rt, end);
    std::uint8_t epoch = 0;
    std::uint64_t own_bit = 0;
    if (const int error = begin_cancel_all(set, epoch, own_bit); error != 0)
        return error;
    std::int64_t cancelled = 0;
    for_each_lane(set, [&](record_set &records) {
        if (set.rt->forked)
            return;
        const std::int64_t here = cancel_all(records, epoch, visitor);
        cancelled += here > 0 ? here : 0;
    });
    if (set.rt->forked)
        return -ECHILD;
    end_cancel_all(set, own_bit);
    return cancelled;
}

// Visits each record of one lane that is live when the walk reaches it. Stops early if the visitor asks for
// that, has forked and this is the child, or has freed the runtime.
int walk(record_set &set, const record_visitor &visitor) {
    record_lock lock(*set.space);
    int result = 0;
    const std::uint32_t end = set.records->end_number();  // later ones would keep the walk going
    for (std::uint32_t number = 0; number < base::smaller(end, set.records->end_number()); ++number) {
        if (result != 0 || set.rt->is_freed != 0)
            break;
        record &timer = (*set.records)[number];
        if (is_live(timer) && !is_cancelled(set, timer))
            result = visit_one(set, timer, visitor, lock);
        if (set.rt->forked)
            break;
        lock.unlock();  // P8
        lock.lock();
    }
    return result;
}

}  // namespace

std::int64_t cancel_all(timer_set *set, const record_visitor &visitor) {
    const int error = check_usable(set);
    return error != 0 ? error : cancel_all(*set, visitor);
}

tw_entry entry_of(const record_set &set, const record &timer, tw_key &key) {
    const runtime::timeline &line = line_of(*set.space, timer);
    tw_entry entry = {};
    if (has_keys(set)) {
        key = key_in(set, timer);
        entry.key = &key;
    } else {
        entry.handle = handle_of(timer);
    }
    entry.arg = arg_of(timer);
    entry.label = runtime::label_text(*set.rt, timer.label);
    entry.due_ns = line.unit.reading(timer.timing.due);
    if (core::is_armed(timer.timing) || !is_live(timer))  // not live: cancel_all visits it
        entry.remaining_ns = runtime::until(entry.due_ns, line.clock.read());
    if (is_periodic(timer))
        entry.period_ns = static_cast<std::int64_t>(timer.rest->period *
                                                    (timer.rest->part != 0 ? line.unit.part : line.unit.ns));
    entry.on_wall = timer.is_on_wall ? 1 : 0;
    return entry;
}

int visit_one(record_set &set, record &timer, const record_visitor &visitor, record_lock &lock) {
    hold(set, timer);
    const int result = visit(set, timer, visitor, lock);
    let_go(set, timer);
    if (set.rt->forked)
        return -ECHILD;
    finish_if_over(set, timer, lock);
    return result;
}

int walk(timer_set *set, const record_visitor &visitor) {
    if (const int error = check_usable(set); error != 0)
        return error;
    if (visitor.visit == nullptr)
        return runtime::refuse_visitor();
    runtime::end_of_call end;
    const runtime::inside_user_code frame(*set->rt, end);
    int result = 0;
    for_each_lane(*set, [&](record_set &records) {
        if (result == 0 && !set->rt->forked && set->rt->is_freed == 0)
            result = walk(records, visitor);
    });
    return result;
}

std::size_t count_of(timer_set *set) {
    if (check_usable(set) != 0)
        return 0;
    const record_guard lock(*first_of(*set).space);
    std::size_t count = 0;
    change_at_once(*set, [&count](const record_set &records) {
        core::assume_locked();
        count += records.count;
    });
    return count;
}

// --- the set as a component of its runtime -----------------------------------------------

namespace {

// The space keeps the store, because the wheels may still have entries that name its cells.
void give_back_store(record_set &set) {
    const std::uint32_t blocks = set.records->detach();
    const record_guard lock(*set.space);
    set.space->memory.give(*set.records, blocks);
}

void close(record_set &set) {
    if (has_keys(set))
        set.lookup->close(set);
    give_back_store(set);
}

void destroy(timer_set &set) {
    remove_component(set);
    for_each_lane(set, close);
    if (set.traits.workers != nullptr)
        workers::remove_reference(*set.traits.workers);
    release_references(first_of(set), 1);
}

void destroy_set(runtime::component &base) { destroy(static_cast<timer_set &>(base)); }

// True if the fork may have interrupted one of the user's functions while it used the argument: the child
// cannot know the argument's state, so it must not drop it.
bool was_interrupted(const record_set &set, record &timer) {
    const std::uint32_t begun = set.workers != nullptr ? worker_part_of(timer).begun : timer.uses;
    return timer.state == record_state::starting || begun != 0;
}

// Ends all remaining records of one lane while no thread fires; also in the child of a fork.
void end_all(record_set &set) {
    record_lock lock(*set.space);
    for (std::uint32_t number = 0; number < set.records->end_number(); ++number) {
        record &timer = (*set.records)[number];
        assert(!inside_record::of(timer));
        if (timer.state == record_state::free)
            continue;
        if (was_interrupted(set, timer) && timer.has_rest)
            timer.rest->drop = nullptr;
        disarm(*set.space, timer);
        if (is_live(timer))
            retire(set, timer);
        else
            timer.state = record_state::ended;
        timer.uses = 0;
        finish(set, timer, lock);
    }
}

void end_all(runtime::component &base) {
    for_each_lane(static_cast<timer_set &>(base), [](record_set &records) { end_all(records); });
}

void begin_set_in_child(runtime::component &base) {
    auto &set = static_cast<timer_set &>(base);
    core::assume_locked();  // no other thread is here
    set.cancels_under_way = 0;
    for_each_lane(set, [](record_set &records) {
        core::assume_locked();
        records.closing = false;
    });
    set.references.store(1, std::memory_order_relaxed);
}

// No hooks for a lock, because the record lock is the wheels'. No `callbacks` hook, because a set has no
// threads: the firing thread and the workers run the callbacks.
constexpr runtime::component_hooks set_hooks = {
    .begin_in_child = begin_set_in_child,
    .end = end_all,
    .destroy = destroy_set,
};

}  // namespace

// --- walking over all sets of a runtime --------------------------------------------------

namespace {

// The set with this number, or else the next one. Null if none.
timer_set *set_from(const tw_runtime &rt, std::uint64_t number) TW_REQUIRES(rt.components_mutex) {
    timer_set *found = nullptr;  // the list begins with the highest number
    for (runtime::component *each = rt.components; each != nullptr && each->number >= number;
         each = each->next)
        if (each->hooks == &set_hooks)
            found = static_cast<timer_set *>(each);
    return found;
}

// The record set in the position's lane, or else in the next lane that has one. Null if none.
record_set *record_set_from(const timer_set &whole, walk_position &at) {
    for (at.lane = base::larger(at.lane, whole.first); at.lane < whole.first + whole.lanes; ++at.lane)
        if (record_set *const found = whole.in_lanes[at.lane].load(std::memory_order_acquire);
            found != nullptr)
            return found;
    return nullptr;
}

// Looks at some cells for an armed record. Null if none of them has one; then *is_end says whether they were
// the last cells.
record *armed_from(const record_set &set, std::uint32_t &number, std::uint32_t end, bool *is_end)
    TW_REQUIRES(core::wheels_lock) {
    for (unsigned looks = 0; looks < cells_of_block; ++looks, ++number) {
        *is_end = number >= end;
        if (*is_end)
            return nullptr;
        record &timer = (*set.records)[number];
        if (core::is_armed(timer.timing) && !is_cancelled(set, timer))
            return &timer;
    }
    return nullptr;
}

}  // namespace

// The components mutex keeps the set alive until the record is held; the held record keeps it alive until the
// visit is over.
bool visit_next(tw_runtime &rt, walk_position &at, const record_visitor &visitor, int &result) {
    for (;;) {
        rt.components_mutex.lock();
        if (at.last_set == 0 && rt.components != nullptr)
            at.last_set = rt.components->number;
        timer_set *const whole = set_from(rt, at.set);
        if (whole == nullptr || whole->number > at.last_set) {
            rt.components_mutex.unlock();
            return false;
        }
        if (whole->number != at.set)
            at = {whole->number, 0, 0, 0, at.last_set};
        record_set *const set = record_set_from(*whole, at);
        if (set == nullptr) {
            rt.components_mutex.unlock();
            at = {whole->number + 1, 0, 0, 0, at.last_set};
            continue;
        }
        record_lock lock(*set->space);
        if (at.end == 0)
            at.end = set->records->end_number();
        bool is_end = false;
        record *const timer = armed_from(*set, at.record, at.end, &is_end);
        if (timer != nullptr)
            hold(*set, *timer);
        rt.components_mutex.unlock();
        if (timer != nullptr) {
            ++at.record;
            result = visit(*set, *timer, visitor, lock);
            let_go(*set, *timer);
            if (!rt.forked)
                finish_if_over(*set, *timer, lock);
            return true;
        }
        if (is_end)
            at = {at.set, at.lane + 1, 0, 0, at.last_set};
    }
}

// --- making and freeing ------------------------------------------------------------------

int check_usable(const tw_runtime *rt, const tw_set_options &options) {
    if (const int error = runtime::check_arming(rt); error != 0)
        return error;
    if (options.capacity > most_records)
        return runtime::refuse(-EINVAL, "capacity is more than TW_TIMERS_MAX");
    if (options.storage > most_storage)
        return runtime::refuse(-EINVAL, "storage is more than 4096 bytes");
    if (options.concurrent != 0 && options.workers == nullptr)
        return runtime::refuse(-EINVAL, "concurrent is set, but there are no workers");
    if (options.workers != nullptr && !workers::are_of(*options.workers, *rt))
        return runtime::refuse(-EINVAL, "the workers are those of another runtime");
    return 0;
}

namespace {

std::uint32_t stride_of(const set_traits &of) {
    const std::size_t size = storage_offset(of.has_rests, of.workers != nullptr) + of.storage;
    static_assert(sizeof(record) % storage_alignment == 0 && sizeof(record_rest) % storage_alignment == 0 &&
                  sizeof(worker_part) % storage_alignment == 0);
    return static_cast<std::uint32_t>((size + cell_alignment - 1) / cell_alignment * cell_alignment);
}

record_store *take_spare(record_space &space, std::uint32_t stride) {
    const record_guard lock(space);
    return space.memory.take_store(stride);
}

record_store *make_store(record_space &space, std::uint32_t stride) {
    if (record_store *const spare = take_spare(space, stride); spare != nullptr)
        return spare;
    void *const memory = std::calloc(1, sizeof(record_store));
    if (memory == nullptr)
        return nullptr;
    auto *const made = new (memory) record_store{};  // cppcheck-suppress legacyUninitvar
    made->shape(stride, space.lane);
    return made;
}

int allocate_all(record_set &set, std::uint32_t capacity) {
    const record_guard lock(*set.space);
    while (set.records->allocated() < capacity)
        if (const int error = grow(set, true); error != 0)
            return error;
    return 0;
}

}  // namespace

int grow(record_set &set, bool to_limit) {
    record_space &space = *set.space;
    growth next;
    set.records->plan(next, to_limit, space.memory);
    const std::size_t new_cells = next.takes_spares ? 0 : next.cells;
    const std::size_t chunks = chunks_for(space, space.cells + new_cells);
    next.chunk_count = chunks > space.chunk_count ? chunks - space.chunk_count : 0;
    unlock(space);
    const int error = next.allocate(set.records->stride());
    lock(space);
    if (error != 0)
        return error;
    // Another set may have grown meanwhile, and its records need the chunks that this growth relied on.
    const std::size_t needed = chunks_for(space, space.cells + new_cells);
    if (space.chunk_count + next.chunk_count < needed || !set.records->add(next, set, space.memory)) {
        unlock(space);
        next.discard();
        lock(space);
        return 0;
    }
    space.cells += new_cells;
    if (next.chunks != nullptr)
        add_chunks(space, next);
    assert(space.chunk_count >= chunks_for(space, space.cells));
    return 0;
}

namespace {

// With keys, one more record, so that a full set can replace one.
std::uint32_t cells_for(const set_traits &of) {
    const bool has_spare = of.lookup != nullptr && of.capacity != 0 && of.capacity < most_records;
    return of.capacity + (has_spare ? 1 : 0);
}

// Makes the records of a set in a lane, but does not publish them. Returns 0 or a negative errno.
int make_in_lane(timer_set &of, unsigned lane, record_set *&made) {
    record_space *space;
    if (const int error = open_space(*of.spaces, lane, space); error != 0)
        return error;
    const std::size_t size = of.traits.lookup != nullptr ? of.traits.lookup->size : sizeof(record_set);
    void *const memory = std::calloc(1, size);
    if (memory == nullptr)
        return -ENOMEM;
    tw_port_hide(memory, size);
    auto *const set = new (memory) record_set{};  // cppcheck-suppress legacyUninitvar
    static_cast<set_traits &>(*set) = of.traits;
    set->whole = &of;
    set->rt = space->rt;
    set->space = space;
    set->records = make_store(*space, stride_of(of.traits));
    int error = set->records == nullptr ? -ENOMEM : 0;
    if (error == 0)
        set->records->attach(*set, cells_for(of.traits));
    if (error == 0 && has_keys(*set))
        error = set->lookup->open(*set);
    if (error == 0)
        error = allocate_all(*set, cells_for(of.traits));
    if (error == 0) {
        made = set;
        return 0;
    }
    if (set->records != nullptr)
        close(*set);
    std::free(set);
    return error;
}

}  // namespace

void free_memory(timer_set &set) {
    for_each_lane(set, [](record_set &records) { std::free(&records); });
    std::free(&set);
}

record_set *open_in_lane(timer_set &set, unsigned lane) {
    record_set *made = nullptr;
    if (make_in_lane(set, lane, made) != 0)
        return nullptr;
    {
        const record_guard lock(*first_of(set).space);  // so that no epoch begins meanwhile
        if (set.in_lanes[lane].load(std::memory_order_relaxed) == nullptr) {
            made->epoch = first_of(set).epoch;
            made->closing = first_of(set).closing;
            set.in_lanes[lane].store(made, std::memory_order_release);
            return made;
        }
    }
    close(*made);
    std::free(made);
    return set.in_lanes[lane].load(std::memory_order_acquire);
}

record_set &records_in_own_lane(timer_set &set) {
    record_set *const found = records_in(set, runtime::find_lane_for_start(set.rt->steady.lanes));
    return found != nullptr ? *found : first_of(set);
}

// A set with a capacity has all its cells in one lane, that of the thread that makes it: so threads that have
// sets of their own do not meet.
int open(timer_set &set, tw_runtime &rt, const tw_set_options &options, const lookup_hooks *lookup) {
    set.traits.lookup = lookup;
    set.traits.workers = options.workers;
    set.traits.concurrent = options.concurrent != 0;
    set.traits.storage = options.storage;
    set.traits.capacity = options.capacity;
    set.traits.label = static_cast<std::uint8_t>(runtime::label_number(rt, options.label));
    // A set with a capacity allocates nothing later, and any of its timers may need a rest.
    set.traits.has_rests = lookup != nullptr || options.workers != nullptr || options.capacity != 0;
    const runtime::lane_table &lanes = rt.steady.lanes;
    set.lanes = options.capacity != 0 ? 1 : lookup != nullptr ? lanes_for_keys(lanes) : lanes.limit;
    set.first = options.capacity != 0 ? runtime::find_own_lane(lanes) : 0;
    assert(set.lanes == 1 || set.first == 0);  // see change_at_once, and lane_of in keyed.cpp
    tw_port_hide(&set, sizeof set);
    set.references.store(1, std::memory_order_relaxed);
    if (const int error = open_spaces(rt, set.spaces); error != 0)
        return error;
    record_set *first = nullptr;
    if (const int error = make_in_lane(set, set.first, first); error != 0)
        return error;
    set.in_lanes[set.first].store(first, std::memory_order_relaxed);
    if (set.traits.workers != nullptr)
        workers::add_reference(*set.traits.workers);
    add_component(set, rt, set_hooks);
    return 0;
}

int free_set(timer_set *set) {
    if (set == nullptr)
        return 0;
    if (const int error = check_usable(set); error != 0)
        return error;
    if (inside_record::of(*set))
        return runtime::refuse(-EBUSY,
                               "called from a callback, next, drop, copy or visit of a timer of this set");
    runtime::end_of_call end;
    const runtime::inside_user_code frame(*set->rt, end);
    {
        const record_guard lock(*first_of(*set).space);
        change_at_once(*set, [](record_set &records) {
            core::assume_locked();
            records.closing = true;
        });
    }
    if (const std::int64_t cancelled = cancel_all(*set, {}); cancelled < 0)
        return static_cast<int>(cancelled);
    destroy(*set);
    return 0;
}

}  // namespace tickwheel::timers

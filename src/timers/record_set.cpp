// Making and freeing a set, and its hooks as a component. See record_set.hpp.
#include "record_set.hpp"

#include <cassert>
#include <cerrno>
#include <cstdlib>

#include "base/numbers.hpp"
#include "record_life.hpp"
#include "runtime/labels.hpp"

namespace tickwheel::timers {

// --- the set as a component of its runtime -----------------------------------------------

namespace {

// The space keeps the store, because the wheels may still have entries that name its cells.
void give_back_store(record_set &set) {
    const std::uint32_t blocks = set.records->detach();
    const record_guard lock(*set.space);
    set.space->memory.give(*set.records, blocks);
}

void destroy(record_set &set) {
    if (has_keys(set))
        set.lookup->close(set);
    remove_component(set);
    if (set.workers != nullptr)
        workers::remove_reference(*set.workers);
    give_back_store(set);
    release_references(set, 1);
}

void destroy(runtime::component &base) { destroy(static_cast<record_set &>(base)); }

// True if the fork may have interrupted one of the user's functions while it used the argument: the child
// cannot know the argument's state, so it must not drop it.
bool was_interrupted(const record_set &set, record &timer) {
    const std::uint32_t begun = set.workers != nullptr ? worker_part_of(timer).begun : timer.uses;
    return timer.state == record_state::starting || begun != 0;
}

// Ends all remaining records while no thread fires; also in the child of a fork.
void end_all(runtime::component &base) {
    record_set &set = static_cast<record_set &>(base);
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

void begin_in_child(runtime::component &base) {
    record_set &set = static_cast<record_set &>(base);
    core::assume_locked();  // no other thread is here
    set.cancels_under_way = 0;
    set.closing = false;
    set.references.store(1, std::memory_order_relaxed);
}

}  // namespace

// No hooks for a lock, because the record lock is the wheels'. No `callbacks` hook, because a set has no
// threads: the firing thread and the workers run the callbacks.
const runtime::component_hooks set_hooks = {
    .begin_in_child = begin_in_child,
    .end = end_all,
    .destroy = destroy,
};

// --- making and freeing ------------------------------------------------------------------

int check_usable(const tw_runtime *rt, const tw_set_options &options) {
    if (const int error = runtime::check_arming(rt); error != 0)
        return error;
    if (options.capacity > most_records)
        return runtime::refuse(-EINVAL, "the capacity is more than a set can hold");
    if (options.storage > most_storage)
        return runtime::refuse(-EINVAL, "the storage for each timer's argument is too large");
    if (options.concurrent != 0 && options.workers == nullptr)
        return runtime::refuse(-EINVAL, "concurrent is set, but there are no workers");
    if (options.workers != nullptr && !workers::are_of(*options.workers, *rt))
        return runtime::refuse(-EINVAL, "the workers are those of another runtime");
    return 0;
}

namespace {

std::uint32_t stride_of(const tw_set_options &options, bool has_rests) {
    const std::size_t size = storage_offset(has_rests, options.workers != nullptr) + options.storage;
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
    made->shape(stride);
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

int open(record_set &set, tw_runtime &rt, const tw_set_options &options, const lookup_hooks *lookup) {
    set.lookup = lookup;
    set.workers = options.workers;
    set.concurrent = options.concurrent != 0;
    set.storage = options.storage;
    set.label = static_cast<std::uint8_t>(runtime::label_number(rt, options.label));
    // A set with a capacity allocates nothing later, and any of its timers may need a rest.
    set.has_rests = has_keys(set) || options.workers != nullptr || options.capacity != 0;
    tw_port_hide(&set, sizeof set);
    set.references.store(1, std::memory_order_relaxed);
    if (const int error = open_records(rt, set.space); error != 0)
        return error;
    set.records = make_store(*set.space, stride_of(options, set.has_rests));
    if (set.records == nullptr)
        return -ENOMEM;
    // With keys, one more record, so that a full set can replace one.
    const bool has_spare = has_keys(set) && options.capacity != 0 && options.capacity < most_records;
    const std::uint32_t capacity = options.capacity + (has_spare ? 1 : 0);
    set.records->attach(set, capacity);
    int error = has_keys(set) ? lookup->open(set, options) : 0;
    if (error == 0)
        error = allocate_all(set, capacity);
    if (error != 0) {
        if (has_keys(set))
            lookup->close(set);
        give_back_store(set);
        return error;
    }
    if (set.workers != nullptr)
        workers::add_reference(*set.workers);
    add_component(set, rt, set_hooks);
    return 0;
}

int free_set(record_set *set) {
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
        const record_guard lock(*set->space);
        set->closing = true;
    }
    if (const std::int64_t cancelled = cancel_all(set, {}); cancelled < 0)
        return static_cast<int>(cancelled);
    destroy(*set);
    return 0;
}

std::size_t count_of(record_set *set) {
    if (check_usable(set) != 0)
        return 0;
    const record_guard lock(*set->space);
    return set->count;
}

}  // namespace tickwheel::timers

// See record_space.hpp.
#include "record_space.hpp"

#include <cerrno>
#include <cstdlib>
#include <new>

#include "record_life.hpp"
#include "runtime/wall.hpp"

namespace tickwheel::timers {

// --- the lock ---------------------------------------------------------------------------

// Not checked by clang, because this takes `wall_mutex` as well, which clang does not count as part of the
// record lock.
void lock_slowly(record_space &space) TW_UNCHECKED_LOCKING {
    tw_runtime &rt = *space.rt;
    runtime::wall_hold::lock(rt);
    const std::int64_t reading = runtime::has_wall(rt) ? runtime::follow_wall(rt) : 0;
    core::lock(space.wheels);
    space.has_wall_mutex = runtime::has_wall(rt);
    space.wall_reading = reading;
}

void unlock_slowly(record_space &space) {
    const bool has_wall_mutex = space.has_wall_mutex;
    space.has_wall_mutex = false;
    core::unlock(space.wheels);
    if (has_wall_mutex)
        pthread_mutex_unlock(&space.rt->wall_mutex.native);
}

void record_lock::release_wall() {
    space_.has_wall_mutex = false;
    pthread_mutex_unlock(&space_.rt->wall_mutex.native);
}

// --- as a component of its runtime ---------------------------------------------------------

namespace {

record_space &space_in(runtime::component &base) { return static_cast<record_space &>(base); }

// The child has no other threads, so none waits, and a fire on another thread is over. A callback that has
// forked finds the runtime marked when it returns.
void begin_in_child(runtime::component &base) {
    core::assume_locked();  // no other thread is here
    space_in(base).waiting = 0;
    space_in(base).fired = nullptr;
}

void destroy(runtime::component &base) {
    remove_component(base);
    core::assume_locked();  // no other thread knows the space
    space_in(base).memory.free_all();
    std::free(&base);
}

// No hooks for a lock, because the record lock is the wheels'.
constexpr runtime::component_hooks space_hooks = {
    .begin_in_child = begin_in_child,
    .destroy = destroy,
};

// --- making -------------------------------------------------------------------------------

constexpr std::size_t size_of_space =
    (sizeof(record_space) + cell_alignment - 1) / cell_alignment * cell_alignment;

// Zeroed memory for a space, followed by the logs of each wheel. Most of it stays untouched until records use
// it.
void *allocate(const tw_runtime &rt) {
    const std::size_t size = size_of_space + (runtime::has_wall(rt) ? 2 : 1) * core::size_of_records();
    void *const memory = std::calloc(1, size);
    if (memory != nullptr)
        tw_port_hide(memory, size);
    return memory;
}

// Takes the wall mutex, so that no other thread shifts the wheel while this one reads `set_back`.
record_space *make(tw_runtime &rt, void *memory) TW_REQUIRES(rt.components_mutex) {
    auto *const space = new (memory) record_space{};  // cppcheck-suppress legacyUninitvar
    char *logs = static_cast<char *>(memory) + size_of_space;
    const runtime::wall_hold hold(rt);
    runtime::for_each_timeline(rt, [&](runtime::timeline &line) {
        core::begin_records(&line.wheel, logs, space->chunks, line.set_back, line.can_be_set, fire_record,
                            space);
        logs += core::size_of_records();
    });
    space->wheels = core::lock_of(&rt.steady.wheel);
    space->is_plain = !runtime::has_wall(rt) && !space->wheels.is_observed;
    add_component_locked(*space, rt, space_hooks);
    rt.records.store(space, std::memory_order_release);
    return space;
}

// Null until the first set is made.
record_space *space_of(const tw_runtime &rt, std::memory_order order) {
    return static_cast<record_space *>(rt.records.load(order));
}

}  // namespace

// Two threads may make the first set at the same time: the second one finds the space of the first.
int open_records(tw_runtime &rt, record_space *&found) {
    found = space_of(rt, std::memory_order_acquire);
    if (found != nullptr)
        return 0;
    void *const memory = allocate(rt);
    if (memory == nullptr)
        return -ENOMEM;
    const base::mutex_hold hold(&rt.components_mutex);
    found = space_of(rt, std::memory_order_relaxed);
    if (found == nullptr)
        found = make(rt, memory);
    else
        std::free(memory);
    return 0;
}

// --- memory for entries -----------------------------------------------------------------------

std::size_t chunks_for(const record_space &space, std::size_t cells) {
    return core::chunks_for(cells, runtime::has_wall(*space.rt) ? 2 : 1);
}

void add_chunks(record_space &space, growth &with) {
    space.chunks.add(with.chunks->begin, with.chunk_count);
    space.chunk_count += with.chunk_count;
    space.memory.add(with.chunks);
}

}  // namespace tickwheel::timers

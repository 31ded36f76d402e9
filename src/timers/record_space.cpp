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

record_spaces &spaces_in(runtime::component &base) { return static_cast<record_spaces &>(base); }

template <class Do> void for_each_space(record_spaces &spaces, Do what) {
    for (std::atomic<record_space *> &each : spaces.of_lanes)
        if (record_space *const space = each.load(std::memory_order_acquire); space != nullptr)
            what(*space);
}

// The child has no other threads, so none waits, and a fire on another thread is over. A callback that has
// forked finds the runtime marked when it returns.
void begin_in_child(runtime::component &base) {
    core::assume_locked();  // no other thread is here
    for_each_space(spaces_in(base), [](record_space &space) {
        core::assume_locked();
        space.waiting = 0;
        space.fired = nullptr;
    });
}

void destroy(runtime::component &base) {
    remove_component(base);
    for_each_space(spaces_in(base), [](record_space &space) {
        core::assume_locked();  // no other thread knows the space
        space.memory.free_all();
        std::free(&space);
    });
    std::free(&base);
}

// No hooks for a lock, because the record lock is the wheels'.
constexpr runtime::component_hooks spaces_hooks = {
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
record_space *make(tw_runtime &rt, unsigned lane, void *memory) {
    auto *const space = new (memory) record_space{};  // cppcheck-suppress legacyUninitvar
    char *logs = static_cast<char *>(memory) + size_of_space;
    const runtime::wall_hold hold(rt);
    space->rt = &rt;
    space->lane = lane;
    space->steady = rt.steady.lanes.wheels[lane].load(std::memory_order_acquire);
    core::begin_records(space->steady, logs, space->chunks, 0, false, fire_record, space);
    if (runtime::has_wall(rt))
        core::begin_records(&rt.absolute->wheel, logs + core::size_of_records(), space->chunks,
                            rt.absolute->set_back, true, fire_record, space);
    space->wheels = core::lock_of(space->steady);
    space->is_plain = !runtime::has_wall(rt) && !space->wheels.is_observed;
    return space;
}

}  // namespace

// Two threads may make the spaces at the same time: the second one finds those of the first.
int open_spaces(tw_runtime &rt, record_spaces *&found) {
    const auto find = [&rt] {
        return static_cast<record_spaces *>(rt.records.load(std::memory_order_acquire));
    };
    if ((found = find()) != nullptr)
        return 0;
    void *const memory = std::calloc(1, sizeof(record_spaces));
    if (memory == nullptr)
        return -ENOMEM;
    const base::mutex_hold hold(&rt.components_mutex);
    if ((found = find()) != nullptr) {
        std::free(memory);
        return 0;
    }
    found = new (memory) record_spaces{};  // cppcheck-suppress legacyUninitvar
    add_component_locked(*found, rt, spaces_hooks);
    rt.records.store(found, std::memory_order_release);
    return 0;
}

int open_space(record_spaces &spaces, unsigned lane, record_space *&found) {
    tw_runtime &rt = *spaces.rt;
    std::atomic<record_space *> &at = spaces.of_lanes[lane];
    if ((found = at.load(std::memory_order_acquire)) != nullptr)
        return 0;
    if (const int error = runtime::make_lane(rt, lane); error != 0)
        return error;
    void *const memory = allocate(rt);
    if (memory == nullptr)
        return -ENOMEM;
    const base::mutex_hold hold(&rt.components_mutex);
    if ((found = at.load(std::memory_order_relaxed)) != nullptr) {
        std::free(memory);
        return 0;
    }
    found = make(rt, lane, memory);
    at.store(found, std::memory_order_release);
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

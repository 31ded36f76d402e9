// timers.h: finding records by handle, which is 32 bits of generation and 32 bits of cell. The directory of
// cells says which set a cell belongs to.
#include <tickwheel/timers.h>

#include <cerrno>

#include "record_move.hpp"

struct tw_timers : tickwheel::timers::timer_set {};

namespace {

using namespace tickwheel;
using namespace tickwheel::timers;

// --- finding ---------------------------------------------------------------------------

std::uint32_t cell_in(tw_handle handle) { return static_cast<std::uint32_t>(handle); }
std::uint32_t generation_in(tw_handle handle) { return static_cast<std::uint32_t>(handle >> 32); }

// Where a handle's cell is.
struct place_of_cell {
    record_set *records;  // null: the cell does not belong to the set
    const block *in;
};

TW_INLINED inline place_of_cell place_in(const tw_timers &set, tw_handle handle) {
    const block *const in = find_block_of(cell_in(handle));
    if (in == nullptr)
        return {nullptr, nullptr};
    record_set *const owner = in->owner.load(std::memory_order_relaxed);
    const unsigned lane = in->lane.load(std::memory_order_relaxed);
    const bool is_own = owner == set.in_lanes[lane].load(std::memory_order_acquire);
    return {is_own ? owner : nullptr, in};
}

// Prefetches the record of a handle. Needs no lock.
TW_INLINED inline void prefetch(const place_of_cell &at, tw_handle handle) {
    const char *const cells = at.in->cells.load(std::memory_order_relaxed);
    if (cells != nullptr)
        __builtin_prefetch(
            cells + std::size_t{cell_in(handle) % cells_of_block} * at.records->records->stride(), 1);
}

constexpr const char *no_such_handle = "no timer of this set ever had this handle";

// Returns the error for a handle whose record is not live: -ESTALE if the cell has had this generation, else
// -ENOENT. A cell with generation g has had all generations before g, and g itself if its record has ended.
__attribute__((cold)) int explain_not_live(const block &in, const record &timer, std::uint32_t generation) {
    const std::uint32_t had = timer.generation - in.generation;
    const std::uint32_t asked = generation - in.generation;
    const bool was_made = asked < had || (asked == had && timer.state == record_state::ended);
    return was_made ? -ESTALE : runtime::refuse(-ENOENT, no_such_handle);
}

int refuse_handle() { return runtime::refuse(-ENOENT, no_such_handle); }

// Finds a live record (P11). With -ESTALE, `found` is the record that now has the cell.
TW_INLINED inline int find(const place_of_cell &at, tw_handle handle, record *&found)
    TW_REQUIRES(core::wheels_lock) {
    if (!at.records->records->was_used(*at.in, cell_in(handle)))
        return refuse_handle();
    found = &record_in(*at.in, cell_in(handle));
    const bool is_match = found->generation == generation_in(handle) && is_live(*found);
    return is_match ? 0 : explain_not_live(*at.in, *found, generation_in(handle));
}

int check_start(const tw_timers *timers, const tw_handle *handle) {
    if (const int error = check_arming(timers); error != 0)
        return error;
    return handle == nullptr ? runtime::refuse(-EINVAL, "the place for the handle is null") : 0;
}

}  // namespace

TW_API int tw_timers_new(tw_timers **timers, tw_runtime *rt, const tw_set_options *options) {
    return make_set(timers, rt, options, nullptr);
}

TW_API int tw_timers_free(tw_timers *timers) { return free_set(timers); }

TW_API int tw_timer_start(tw_timers *timers, tw_handle *handle, const tw_when *when, const tw_task *task) {
    const int error = check_start(timers, handle);
    return error != 0 ? error : start(records_here(*timers), when, task, nullptr, handle);
}

TW_API int tw_timer_after(tw_timers *timers, tw_handle *handle, int64_t delay_ns, tw_task_callback *fn,
                          void *arg) {
    const int error = check_start(timers, handle);
    return error != 0 ? error : start_after(records_here(*timers), delay_ns, fn, arg, nullptr, handle);
}

TW_API int tw_timer_every(tw_timers *timers, tw_handle *handle, int64_t period_ns, tw_missed missed,
                          tw_task_callback *fn, void *arg) {
    const int error = check_start(timers, handle);
    return error != 0 ? error
                      : start_every(records_here(*timers), period_ns, missed, fn, arg, nullptr, handle);
}

namespace {

// Finds the place of a handle in a set. Returns 0 or a negative errno.
int look_up(const tw_timers *timers, tw_handle handle, place_of_cell &at) {
    if (const int error = check_usable(timers); error != 0)
        return error;
    at = place_in(*timers, handle);
    return at.records != nullptr ? 0 : refuse_handle();
}

int cancel_with_rest(const place_of_cell &at, tw_handle handle) {
    record_lock lock(*at.records->space);
    record *found = nullptr;
    const int error = find(at, handle, found);
    return error != 0 ? error : end(*at.records, *found, lock);
}

}  // namespace

TW_API int tw_timer_cancel(tw_timers *timers, tw_handle handle) {
    place_of_cell at;
    if (const int error = look_up(timers, handle, at); error != 0)
        return error;
    prefetch(at, handle);
    {
        const record_guard lock(*at.records->space);
        record *found = nullptr;
        const int error = find(at, handle, found);
        if (error != 0 || !found->has_rest)
            return error != 0 ? error : end_bare(*at.records, *found, *at.in);
    }
    return cancel_with_rest(at, handle);
}

TW_API int tw_timer_cancel_wait(tw_timers *timers, tw_handle handle) {
    place_of_cell at;
    if (const int error = look_up(timers, handle, at); error != 0)
        return error;
    record_lock lock(*at.records->space);
    record *found = nullptr;
    int result = find(at, handle, found);
    if (result == -ENOENT)
        return result;
    if (result == 0)
        result = end(*at.records, *found, lock);
    wait_until_over(*at.records, *found, generation_in(handle), lock);
    return result;
}

namespace {

// Moves a timer by `How`.
template <auto How> int move(tw_timers *set, tw_handle handle, std::int64_t delay) {
    if (const int error = check_arming(set); error != 0)
        return error;
    if (delay < 0)
        return runtime::refuse_delay();
    const place_of_cell at = place_in(*set, handle);
    if (at.records == nullptr)
        return refuse_handle();
    prefetch(at, handle);
    prepared_move to(*at.records, delay);
    const record_guard lock(*at.records->space);
    record *found = nullptr;
    const int error = find(at, handle, found);
    return error != 0 ? error : (to.*How)(*found);
}

}  // namespace

TW_API int tw_timer_move(tw_timers *timers, tw_handle handle, int64_t delay_ns) {
    return move<&prepared_move::move>(timers, handle, delay_ns);
}

TW_API int tw_timer_again(tw_timers *timers, tw_handle handle) {
    return move<&prepared_move::again>(timers, handle, 0);
}

TW_API int tw_timer_get(tw_timers *timers, tw_handle handle, tw_entry *entry) {
    place_of_cell at;
    if (const int error = look_up(timers, handle, at); error != 0)
        return error;
    const record_guard lock(*at.records->space);
    record *found = nullptr;
    const int error = find(at, handle, found);
    if (error == 0 && entry != nullptr) {
        tw_key none;
        *entry = entry_of(*at.records, *found, none);
    }
    return error;
}

TW_API size_t tw_timers_count(tw_timers *timers) { return count_of(timers); }

TW_API int tw_timers_each(tw_timers *timers, tw_visitor *visit, void *arg) {
    return tickwheel::timers::walk(timers, {visit, arg});
}

TW_API int64_t tw_timers_cancel_all(tw_timers *timers, tw_visitor *visit, void *arg) {
    return cancel_all(timers, {visit, arg});
}

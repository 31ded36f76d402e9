// handle.h: records that are found by handle.
//
// A handle is, from its highest bit, 32 bits of generation, 16 bits of tag and 16 bits of cell
// number. A tag stands for one range of 65,536 cells of one set in this process. A set has one
// range when it is made, and takes another one whenever it has used up its cells.
#include <tickwheel/handle.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

#include "record_set.hpp"

struct tw_handles : tickwheel::runtime::record_set {};

namespace {

using namespace tickwheel::runtime;

// --- tags ------------------------------------------------------------------------------

constexpr unsigned most_tags = 65535;  // and 0, which is for none
constexpr unsigned most_ranges = most_records / cells_of_range;

// A tag belongs to one set at a time. The next set that takes it continues its generations where
// the last one stopped, so handles of a set that was freed stay refused (P11).
struct tag_owner {
    std::atomic<std::uint32_t> is_taken;  // a bool in a whole word: see take
    std::uint32_t next_generation;        // of the set that has the tag, or of the next one
    std::atomic<std::uint32_t> range;     // which range of that set; only a hint for other sets
};
constinit tag_owner tags[most_tags + 1] = {};
constinit std::atomic<unsigned> last_tag{0};

// RISC-V has an atomic exchange of words, and of nothing smaller without a library.
bool take(tag_owner &tag) {
    return tag.is_taken.load(std::memory_order_relaxed) == 0 &&
           tag.is_taken.exchange(1, std::memory_order_acquire) == 0;
}

// Takes a tag for a range of a set. Returns 0, or -EMFILE if all are taken. Goes round all tags,
// so that a tag is reused as late as possible.
int take_tag(std::uint32_t number, handle_range &made) {
    const unsigned first = last_tag.fetch_add(1, std::memory_order_relaxed);
    for (unsigned tries = 0; tries < most_tags; ++tries) {
        const unsigned tag = (first + tries) % most_tags + 1;
        if (take(tags[tag])) {
            tags[tag].range.store(number, std::memory_order_relaxed);
            made = {tags[tag].next_generation, static_cast<std::uint16_t>(tag)};
            return 0;
        }
    }
    return refuse(-EMFILE, "there are as many sets of timers as a process can have");
}

void give_back_tag(const handle_range &range, std::uint32_t generations) {
    tags[range.tag].next_generation = range.first_generation + generations;
    tags[range.tag].is_taken.store(0, std::memory_order_release);
}

void give_back_tags(record_set &set) {
    for (std::uint32_t each = 0; each < set.ranges; ++each)
        give_back_tag(range_of(set, each * cells_of_range), set.most_generations + 1);
    std::free(set.further_ranges);
}

handle_range *room_for_further_ranges() {
    return static_cast<handle_range *>(std::calloc(most_ranges - 1, sizeof(handle_range)));
}

// Makes the next range without the lock. If another thread has been faster, throws it away.
// RELEASES AND REACQUIRES: set lock
int add_range(record_set &set, set_lock &lock) {
    const std::uint32_t number = set.ranges;
    handle_range *const there = set.further_ranges;
    lock.unlock();
    handle_range next = {};
    handle_range *const room = there != nullptr ? there : room_for_further_ranges();
    const int error = room == nullptr ? -ENOMEM : take_tag(number, next);
    lock.lock();
    const bool is_next = error == 0 && set.ranges == number;
    if (error == 0 && !is_next)
        give_back_tag(next, 0);
    if (set.further_ranges == nullptr && is_next)
        set.further_ranges = room;
    else if (room != there)
        std::free(room);
    if (is_next) {
        set.further_ranges[number - 1] = next;
        set.records.allow_below(++set.ranges * cells_of_range);
    }
    return set.ranges == number ? error : 0;
}

int take_tags(record_set &set, const set_options &options) {
    const std::uint32_t capacity = options.capacity;
    const std::uint32_t needed = capacity == 0 ? 1 : (capacity - 1) / cells_of_range + 1;
    if (needed > 1 && (set.further_ranges = room_for_further_ranges()) == nullptr)
        return -ENOMEM;
    for (; set.ranges < needed; ++set.ranges) {
        handle_range &range = set.ranges == 0 ? set.first_range : set.further_ranges[set.ranges - 1];
        if (const int error = take_tag(set.ranges, range); error != 0)
            return error;
    }
    set.records.allow_below(set.ranges * cells_of_range);
    return 0;
}

constexpr lookup_hooks by_handle = {
    .spare_records = 0,
    .open = take_tags,
    .close = give_back_tags,
    .add_range = add_range,
};

// --- finding ---------------------------------------------------------------------------

std::uint32_t tag_in(tw_handle handle) { return static_cast<std::uint32_t>(handle) >> 16; }
std::uint32_t generation_in(tw_handle handle) { return static_cast<std::uint32_t>(handle >> 32); }

// Returns the number of a handle's cell, provided that the handle is one of this set.
std::uint32_t number_in(const tw_handles &set, tw_handle handle) {
    const std::uint32_t in_range = static_cast<std::uint32_t>(handle) % cells_of_range;
    const std::uint32_t tag = tag_in(handle);
    if (tag == set.first_range.tag)
        return in_range;
    return tags[tag].range.load(std::memory_order_relaxed) * cells_of_range + in_range;
}

// Returns null for a handle of another set.
// REQUIRES: set lock held
[[gnu::always_inline]] inline record *record_at(const tw_handles &set, tw_handle handle) {
    const std::uint32_t number = number_in(set, handle);
    return range_of(set, number).tag == tag_in(handle) ? set.records.find(number) : nullptr;
}

constexpr const char *no_such_handle = "no timer of this set ever had this handle";

// Returns the error for a handle whose record is not live: -ESTALE if the cell has had this
// generation, else -ENOENT. A cell with generation g has had all generations before g; and g
// itself, if its record has ended.
__attribute__((cold)) int what_else_it_is(const tw_handles &set, const record &record,
                                          std::uint32_t generation) {
    const std::uint32_t first = range_of(set, record.number).first_generation;
    const std::uint32_t uses = record.generation - first;
    const std::uint32_t asked = generation - first;
    const bool was_made = asked < uses || (asked == uses && record.state == record_state::ended);
    return was_made ? -ESTALE : refuse(-ENOENT, no_such_handle);
}

// Finds a live record (P11). With -ESTALE, `found` is the record that now has the cell.
// REQUIRES: set lock held
[[gnu::always_inline]] inline int find(tw_handles &set, tw_handle handle, record *&found) {
    found = record_at(set, handle);
    if (found == nullptr)
        return refuse(-ENOENT, no_such_handle);
    const bool is_live = found->generation == generation_in(handle) && found->state == record_state::live;
    return is_live ? 0 : what_else_it_is(set, *found, generation_in(handle));
}

int check_start(const tw_handles *handles, const tw_handle *handle) {
    if (const int error = check_arming(handles); error != 0)
        return error;
    return handle == nullptr ? refuse(-EINVAL, "no place for the handle") : 0;
}

}  // namespace

TW_API int tw_handles_new(tw_handles **handles, tw_runtime *rt, const tw_handles_options *options) {
    return make_set(handles, rt, options_of(options), by_handle);
}

TW_API int tw_handles_free(tw_handles *handles) { return free_set(handles); }

TW_API int tw_handle_start(tw_handles *handles, tw_handle *handle, const tw_when *when, const tw_task *task) {
    const int error = check_start(handles, handle);
    return error != 0 ? error : start(*handles, when, task, nullptr, handle);
}

TW_API int tw_handle_after(tw_handles *handles, tw_handle *handle, int64_t delay_ns, tw_task_callback *fn,
                           void *arg) {
    const int error = check_start(handles, handle);
    return error != 0 ? error : start_after(*handles, delay_ns, fn, arg, nullptr, handle);
}

TW_API int tw_handle_every(tw_handles *handles, tw_handle *handle, int64_t period_ns, tw_missed missed,
                           tw_task_callback *fn, void *arg) {
    const int error = check_start(handles, handle);
    return error != 0 ? error : start_every(*handles, period_ns, missed, fn, arg, nullptr, handle);
}

TW_API int tw_handle_stop(tw_handles *handles, tw_handle handle) {
    if (const int error = check_usable(handles); error != 0)
        return error;
    set_lock lock(*handles);
    record *found = nullptr;
    const int error = find(*handles, handle, found);
    return error != 0 ? error : end(*found, lock);
}

TW_API int tw_handle_stop_wait(tw_handles *handles, tw_handle handle) {
    if (const int error = check_usable(handles); error != 0)
        return error;
    set_lock lock(*handles);
    record *found = nullptr;
    int result = find(*handles, handle, found);
    if (result == -ENOENT)
        return result;
    if (result == 0)
        result = end(*found, lock);
    wait_until_over(*found, generation_in(handle), lock);
    return result;
}

TW_API int tw_handle_move(tw_handles *handles, tw_handle handle, int64_t delay_ns) {
    if (const int error = check_arming(handles); error != 0)
        return error;
    if (delay_ns < 0)
        return refuse_delay();
    handles->records.prefetch(number_in(*handles, handle));
    prepared_delay to(*handles->rt, delay_ns);
    set_lock lock(*handles);
    record *found = nullptr;
    const int error = find(*handles, handle, found);
    return error != 0 ? error : move(*found, to);
}

TW_API int64_t tw_handle_remaining(tw_handles *handles, tw_handle handle) {
    if (check_usable(handles) != 0)
        return TW_NO_DEADLINE;
    set_lock lock(*handles);
    record *found = nullptr;
    return find(*handles, handle, found) == 0 ? remaining(*found) : TW_NO_DEADLINE;
}

TW_API size_t tw_handles_count(tw_handles *handles) { return count_of(handles); }

TW_API int64_t tw_handles_drain(tw_handles *handles, tw_handles_each *each, void *drain_arg) {
    return drain(handles, {.by_handle = each, .arg = drain_arg});
}

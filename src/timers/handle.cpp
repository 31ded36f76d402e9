// handle.h: records that are known by number. A handle is, from its highest bit, 32 bits of
// generation, 16 bits of tag and 16 bits of slot number: a tag tells the blocks of slots of a
// process apart. A set has one, and one more for each further block that it has grown by.
#include <tickwheel/handle.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>

#include "record_set.hpp"

struct tw_handles : tickwheel::runtime::record_set {};

namespace {

using namespace tickwheel::runtime;

// --- tags ------------------------------------------------------------------------------

constexpr unsigned most_tags = 65535;  // and 0, which is for none
constexpr unsigned most_blocks = most_records / records_of_block;

// A tag is one set's at a time. The next set that has it goes on where the generations of
// the last one ended, so that handles of a set that is gone stay refused.
struct tag_owner {
    std::atomic<std::uint32_t> is_taken;  // a truth, and a word: see take
    std::uint32_t next_generation;        // of its owner, or of the next one
    std::atomic<std::uint32_t> block;     // which one of its owner's it is for; found to be so by who asks
};
constinit tag_owner tags[most_tags + 1] = {};
constinit std::atomic<unsigned> last_tag{0};

// RISC-V can exchange a word without a library, and no smaller thing.
bool take(tag_owner &tag) {
    return tag.is_taken.load(std::memory_order_relaxed) == 0 &&
           tag.is_taken.exchange(1, std::memory_order_acquire) == 0;
}

// For a block of a set; -EMFILE if all are taken. Those that were given back last come last.
int take_tag(std::uint32_t number, block &made) {
    const unsigned first = last_tag.fetch_add(1, std::memory_order_relaxed);
    for (unsigned tries = 0; tries < most_tags; ++tries) {
        const unsigned tag = (first + tries) % most_tags + 1;
        if (take(tags[tag])) {
            tags[tag].block.store(number, std::memory_order_relaxed);
            made = {tags[tag].next_generation, static_cast<std::uint16_t>(tag)};
            return 0;
        }
    }
    return refuse(-EMFILE, "there are as many sets of timers as a process can have");
}

void give_back_tag(const block &of, std::uint32_t generations) {
    tags[of.tag].next_generation = of.first_generation + generations;
    tags[of.tag].is_taken.store(0, std::memory_order_release);
}

void give_back_tags(record_set &set) {
    for (std::uint32_t each = 0; each < set.blocks; ++each)
        give_back_tag(block_of(set, each * records_of_block), set.most_reused + 1);
    std::free(set.further_blocks);
}

block *room_for_further_blocks() { return static_cast<block *>(std::calloc(most_blocks - 1, sizeof(block))); }

// The next block is made with no lock held, and thrown away if somebody else has been faster.
int cover(record_set &set, set_lock &hold) {
    const std::uint32_t number = set.blocks;
    block *const there = set.further_blocks;
    hold.unlock();
    block next = {};
    block *const room = there != nullptr ? there : room_for_further_blocks();
    const int error = room == nullptr ? -ENOMEM : take_tag(number, next);
    hold.lock();
    const bool is_next = error == 0 && set.blocks == number;
    if (error == 0 && !is_next)
        give_back_tag(next, 0);
    if (set.further_blocks == nullptr && is_next)
        set.further_blocks = room;
    else if (room != there)
        std::free(room);
    if (is_next) {
        set.further_blocks[number - 1] = next;
        set.all.cover(++set.blocks * records_of_block);
    }
    return set.blocks == number ? error : 0;
}

// Before anybody knows the set.
int take_tags(record_set &set, std::uint32_t capacity) {
    const std::uint32_t needed = capacity == 0 ? 1 : (capacity - 1) / records_of_block + 1;
    if (needed > 1 && (set.further_blocks = room_for_further_blocks()) == nullptr)
        return -ENOMEM;
    int error = 0;
    for (; error == 0 && set.blocks < needed; set.blocks += error == 0 ? 1 : 0)
        error = take_tag(set.blocks, set.blocks == 0 ? set.first_block : set.further_blocks[set.blocks - 1]);
    return error;
}

constexpr lookup_hooks by_number = {
    .close = give_back_tags,
    .cover = cover,
};

// --- finding ---------------------------------------------------------------------------

std::uint32_t tag_in(tw_handle handle) { return static_cast<std::uint32_t>(handle) >> 16; }
std::uint32_t generation_in(tw_handle handle) { return static_cast<std::uint32_t>(handle >> 32); }

// Which slot a handle is of, if it is of this set's at all.
std::uint32_t number_in(const tw_handles &set, tw_handle handle) {
    const std::uint32_t in_block = static_cast<std::uint32_t>(handle) % records_of_block;
    const std::uint32_t tag = tag_in(handle);
    if (tag == set.first_block.tag)
        return in_block;
    return tags[tag].block.load(std::memory_order_relaxed) * records_of_block + in_block;
}

// Null for a handle of another set. With the lock.
[[gnu::always_inline]] inline record *record_at(const tw_handles &set, tw_handle handle) {
    const std::uint32_t number = number_in(set, handle);
    return block_of(set, number).tag == tag_in(handle) ? set.all.find(number) : nullptr;
}

constexpr const char *no_such_handle = "no timer of this set ever had this handle";

// What a handle is that is not of a live record: the slot's own generation is `uses`.
__attribute__((cold)) int what_else_it_is(const tw_handles &set, const record &it, std::uint32_t generation) {
    const std::uint32_t first = block_of(set, it.number).first_generation;
    const std::uint32_t uses = it.generation - first;
    const std::uint32_t asked = generation - first;
    const bool was_made = asked < uses || (asked == uses && it.state == record_state::ended);
    return was_made ? -ESTALE : refuse(-ENOENT, no_such_handle);
}

// P11. With the lock: 0 and the record, if it is live; or what the handle is instead, and
// with -ESTALE the record that it was of.
[[gnu::always_inline]] inline int find(tw_handles &set, tw_handle handle, record *&found) {
    found = record_at(set, handle);
    if (found == nullptr)
        return refuse(-ENOENT, no_such_handle);
    const bool is_live = found->generation == generation_in(handle) && found->state == record_state::live;
    return is_live ? 0 : what_else_it_is(set, *found, generation_in(handle));
}

int refuse_handle() { return refuse(-EINVAL, "no place for the handle"); }

}  // namespace

TW_API int tw_handles_new(tw_handles **handles, tw_runtime *rt, const tw_handles_options *options) {
    const tw_handles_options o = options != nullptr ? *options : tw_handles_options{};
    const set_options of_set = {o.capacity, o.storage, o.workers, o.concurrent != 0};
    if (const int error = check_usable(rt, of_set); error != 0 || handles == nullptr)
        return error != 0 ? error : refuse(-EINVAL, "no place for the set");
    void *const memory = std::calloc(1, sizeof(tw_handles));
    if (memory == nullptr)
        return -ENOMEM;
    auto *const set = new (memory) tw_handles{};  // cppcheck-suppress legacyUninitvar
    int error = take_tags(*set, o.capacity);
    if (error == 0)
        error = open(*set, *rt, of_set, by_number);
    if (error != 0) {
        give_back_tags(*set);
        std::free(set);
        return error;
    }
    set->all.cover(set->blocks * records_of_block);
    *handles = set;
    return 0;
}

TW_API int tw_handles_free(tw_handles *handles) {
    if (handles == nullptr)
        return 0;
    const int error = check_usable(handles);
    return error != 0 ? error : close(*handles);
}

TW_API int tw_handle_start(tw_handles *handles, tw_handle *handle, const tw_when *when, const tw_task *task) {
    if (const int error = check_arming(handles); error != 0)
        return error;
    return handle == nullptr ? refuse_handle() : start(*handles, when, task, nullptr, handle);
}

TW_API int tw_handle_after(tw_handles *handles, tw_handle *handle, int64_t delay_ns, tw_task_callback *fn,
                           void *arg) {
    if (const int error = check_arming(handles); error != 0)
        return error;
    return handle == nullptr ? refuse_handle() : start_after(*handles, delay_ns, fn, arg, nullptr, handle);
}

TW_API int tw_handle_every(tw_handles *handles, tw_handle *handle, int64_t period_ns, tw_missed missed,
                           tw_task_callback *fn, void *arg) {
    if (const int error = check_arming(handles); error != 0)
        return error;
    return handle == nullptr ? refuse_handle()
                             : start_every(*handles, period_ns, missed, fn, arg, nullptr, handle);
}

TW_API int tw_handle_stop(tw_handles *handles, tw_handle handle) {
    if (const int error = check_usable(handles); error != 0)
        return error;
    set_lock hold(*handles);
    record *it = nullptr;
    const int error = find(*handles, handle, it);
    return error != 0 ? error : end(*it, hold);
}

TW_API int tw_handle_stop_wait(tw_handles *handles, tw_handle handle) {
    if (const int error = check_usable(handles); error != 0)
        return error;
    set_lock hold(*handles);
    record *it = nullptr;
    int result = find(*handles, handle, it);
    if (result == -ENOENT)
        return result;
    if (result == 0)
        result = end(*it, hold);
    wait_until_over(*it, generation_in(handle), hold);
    return result;
}

TW_API int tw_handle_move(tw_handles *handles, tw_handle handle, int64_t delay_ns) {
    if (const int error = check_arming(handles); error != 0)
        return error;
    if (delay_ns < 0)
        return refuse_delay();
    handles->all.prefetch(number_in(*handles, handle));
    delayed_call to(*handles->rt, delay_ns);
    set_lock hold(*handles);
    record *it = nullptr;
    const int error = find(*handles, handle, it);
    return error != 0 ? error : move(*it, to);
}

TW_API int64_t tw_handle_remaining(tw_handles *handles, tw_handle handle) {
    if (check_usable(handles) != 0)
        return TW_NO_DEADLINE;
    set_lock hold(*handles);
    record *it = nullptr;
    return find(*handles, handle, it) == 0 ? remaining(*it) : TW_NO_DEADLINE;
}

TW_API size_t tw_handles_count(tw_handles *handles) {
    if (check_usable(handles) != 0)
        return 0;
    const set_lock hold(*handles);
    return handles->count;
}

TW_API int64_t tw_handles_drain(tw_handles *handles, tw_handles_each *each, void *drain_arg) {
    const int error = check_usable(handles);
    return error != 0 ? error : drain(*handles, {.by_handle = each, .arg = drain_arg});
}

// handle.h: entries that are known by number. A handle is, from its highest bit, 32 bits of
// generation, 8 bits that tell the sets of a process apart, and 24 bits of slot number.
#include <tickwheel/handle.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>

#include "entries.hpp"

struct tw_handles : tickwheel::runtime::entries {};

namespace {

using namespace tickwheel::runtime;

// --- tags ------------------------------------------------------------------------------

// A tag is one set's at a time. The next set that has it goes on where the generations of
// the last one ended, so that handles of a set that is gone stay refused. Tag 0 is for none.
struct tag_owner {
    std::atomic<std::uint32_t> is_taken;  // a truth, and a word: see take
    std::uint32_t next_generation;        // of its owner, or of the next one
};
constinit tag_owner tags[256] = {};
constinit std::atomic<unsigned> last_tag{0};

// RISC-V can exchange a word without a library, and no smaller thing.
bool take(tag_owner &tag) { return tag.is_taken.exchange(1, std::memory_order_acquire) == 0; }

// Those that were given back last come last.
int take_tag(tw_handles &set) {
    const unsigned first = last_tag.fetch_add(1, std::memory_order_relaxed);
    for (unsigned tries = 0; tries < 255; ++tries) {
        const unsigned tag = (first + tries) % 255 + 1;
        if (take(tags[tag])) {
            set.tag = static_cast<std::uint8_t>(tag);
            set.first_generation = tags[tag].next_generation;
            return 0;
        }
    }
    return -EMFILE;
}

void give_back_tag(entries &set) {
    tags[set.tag].next_generation = set.first_generation + set.most_reused + 1;
    tags[set.tag].is_taken.store(0, std::memory_order_release);
}

constexpr entries_kind by_number = {
    .as_part = {.stop = nullptr, .fork = fork_entries, .revive = revive_entries, .destroy = destroy_entries},
    .close = give_back_tag,
};

// --- finding ---------------------------------------------------------------------------

std::uint32_t number_in(tw_handle handle) { return static_cast<std::uint32_t>(handle) & (most_slots - 1); }
std::uint32_t tag_in(tw_handle handle) { return static_cast<std::uint32_t>(handle) >> 24; }
std::uint32_t generation_in(tw_handle handle) { return static_cast<std::uint32_t>(handle >> 32); }

// What a handle is that is not of a live entry: the slot's own generation is `uses`.
__attribute__((cold)) int what_else_it_is(const tw_handles &set, const entry &it, std::uint32_t generation) {
    const std::uint32_t uses = it.generation - set.first_generation;
    const std::uint32_t asked = generation - set.first_generation;
    const bool was_made = asked < uses || (asked == uses && it.state == entry_state::ended);
    return was_made ? -ESTALE : -ENOENT;
}

// P11. With the lock: 0 and the entry, if it is live; or what the handle is instead, and
// with -ESTALE the entry that it was of.
[[gnu::always_inline]] inline int find(tw_handles &set, tw_handle handle, entry *&found) {
    found = tag_in(handle) == set.tag ? set.all.find(number_in(handle)) : nullptr;
    if (found == nullptr)
        return -ENOENT;
    const bool is_live = found->generation == generation_in(handle) && found->state == entry_state::live;
    return is_live ? 0 : what_else_it_is(set, *found, generation_in(handle));
}

int refusal(const tw_handles *set) { return set == nullptr ? -EINVAL : tickwheel::runtime::refusal(set->rt); }

}  // namespace

TW_API int tw_handles_new(tw_handles **handles, tw_runtime *rt, const tw_handles_options *options) {
    const tw_handles_options o = options != nullptr ? *options : tw_handles_options{};
    const entries_options of_entries = {o.capacity, o.storage, o.workers, o.concurrent != 0};
    if (const int error = tickwheel::runtime::refusal(rt, of_entries); error != 0 || handles == nullptr)
        return error != 0 ? error : -EINVAL;
    void *const memory = std::calloc(1, sizeof(tw_handles));
    if (memory == nullptr)
        return -ENOMEM;
    auto *const set = new (memory) tw_handles{};  // cppcheck-suppress legacyUninitvar
    int error = take_tag(*set);
    if (error == 0) {
        error = open(*set, *rt, of_entries, by_number);
        if (error != 0)
            give_back_tag(*set);
    }
    if (error != 0)
        std::free(set);
    else
        *handles = set;
    return error;
}

TW_API int tw_handles_free(tw_handles *handles) {
    if (handles == nullptr)
        return 0;
    const int error = refusal(handles);
    return error != 0 ? error : close(*handles);
}

TW_API int tw_handle_start(tw_handles *handles, tw_handle *handle, const tw_when *when, const tw_task *task) {
    if (const int error = refusal(handles); error != 0)
        return error;
    return handle == nullptr ? -EINVAL : start(*handles, when, task, nullptr, handle);
}

TW_API int tw_handle_after(tw_handles *handles, tw_handle *handle, int64_t delay_ns, tw_task_callback *fn,
                           void *arg) {
    if (const int error = refusal(handles); error != 0)
        return error;
    return handle == nullptr ? -EINVAL : start_after(*handles, delay_ns, fn, arg, nullptr, handle);
}

TW_API int tw_handle_every(tw_handles *handles, tw_handle *handle, int64_t period_ns, tw_missed missed,
                           tw_task_callback *fn, void *arg) {
    if (const int error = refusal(handles); error != 0)
        return error;
    return handle == nullptr ? -EINVAL : start_every(*handles, period_ns, missed, fn, arg, nullptr, handle);
}

TW_API int tw_handle_stop(tw_handles *handles, tw_handle handle) {
    if (const int error = refusal(handles); error != 0)
        return error;
    entries_hold hold(*handles);
    entry *it = nullptr;
    const int error = find(*handles, handle, it);
    return error != 0 ? error : end(*it, hold);
}

TW_API int tw_handle_stop_wait(tw_handles *handles, tw_handle handle) {
    if (const int error = refusal(handles); error != 0)
        return error;
    entries_hold hold(*handles);
    entry *it = nullptr;
    int result = find(*handles, handle, it);
    if (result == -ENOENT)
        return result;
    if (result == 0)
        result = end(*it, hold);
    wait_until_over(*it, generation_in(handle), hold);
    return result;
}

TW_API int tw_handle_move(tw_handles *handles, tw_handle handle, int64_t delay_ns) {
    if (const int error = refusal(handles); error != 0)
        return error;
    if (delay_ns < 0)
        return -EINVAL;
    handles->all.prefetch(number_in(handle));
    delayed to(*handles->rt, delay_ns);
    entries_hold hold(*handles);
    entry *it = nullptr;
    const int error = find(*handles, handle, it);
    return error != 0 ? error : move(*it, to);
}

TW_API int64_t tw_handle_remaining(tw_handles *handles, tw_handle handle) {
    if (refusal(handles) != 0)
        return TW_NO_DEADLINE;
    entries_hold hold(*handles);
    entry *it = nullptr;
    return find(*handles, handle, it) == 0 ? remaining(*it) : TW_NO_DEADLINE;
}

TW_API size_t tw_handles_count(tw_handles *handles) {
    if (refusal(handles) != 0)
        return 0;
    const entries_hold hold(*handles);
    return handles->count;
}

// The checks of nodes in a checking build (TW_CHECK): see check.h, and port.h for when each is called. What
// is known of pending nodes is in node_table.hpp.
//
// What is found, at the latest when the wheel or a call comes to the node, and mostly before, by the look at
// a few nodes that each advance takes:
//   - a pending node that is initialised again: at once if its wheel is a runtime's, and else when the wheel
//     is used again, as it may have gone with its nodes, even from static memory;
//   - a pending node whose contents changed behind the library's back, because it was overwritten, freed or
//     left by its scope, and the memory is in use again;
//   - a pending node on the main thread's stack in a frame that has been left, though nothing has overwritten
//     it yet; and any that AddressSanitizer knows to be freed or out of scope, in a program built with it;
//   - a call that names a copy of a pending node, or a node that tw_node_init never made.
//
// What cannot be found: without AddressSanitizer, a freed node whose memory still has its contents, or has
// been given the same by another node; a node in a frame of another thread's stack until it is overwritten;
// garbage that has the callback of a real node in the right place and looks idle, which is what the copy of
// an idle node looks like, and that is allowed.
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "base/kept_errno.hpp"
#include "node_table.hpp"
#include "report.hpp"
#include <tickwheel/port.h>

extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
__attribute__((weak)) void *__asan_region_is_poisoned(void *, std::size_t);
extern __attribute__((weak)) void *__libc_stack_end;
// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
}

namespace tickwheel::check {

namespace {

[[noreturn]] void stop(const tw_node *node, unsigned state, const char *wrong, const char *more = "",
                       const void *other = nullptr) {
    base::message said;
    said.add("tickwheel: ");
    add_node(said, node, state);
    said.add(wrong);
    said.add(more);
    if (other != nullptr)
        said.add_address(other);
    said.add("\n");
    add_what_is_known(said, other != nullptr ? other : node);
    said.write();
    std::abort();
}

// --- memory that may have gone --------------------------------------------------------------------

bool is_poisoned(const void *from, std::size_t size) {
    return __asan_region_is_poisoned != nullptr &&
           __asan_region_is_poisoned(const_cast<void *>(from), size) != nullptr;
}

// Copies memory of this process. Returns how much could be read, or -1 if the system does not permit to ask.
ssize_t peek(const iovec &to, const iovec *from, unsigned long count) {
    const base::kept_errno kept;
    const ssize_t got = process_vm_readv(getpid(), &to, 1, from, count, 0);
    return got >= 0 ? got : errno == EFAULT ? 0 : -1;
}

// How far the main thread's stack may reach down.
std::uintptr_t reach_of_stack() {
    static std::atomic<std::uintptr_t> known{0};  // 0: not asked yet; all threads that ask get the same
    std::uintptr_t reach = known.load(std::memory_order_relaxed);
    if (reach == 0) {
        const base::kept_errno kept;
        constexpr rlim_t most = 8 << 20;
        rlimit stack = {};
        reach = static_cast<std::uintptr_t>(
            getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur < most ? stack.rlim_cur : most);
        known.store(reach, std::memory_order_relaxed);
    }
    return reach;
}

// True if the place is on the main thread's stack, this is the main thread, and the frame that the place
// was in has been left. Other threads' stacks have no bounds that can be asked for without malloc.
bool is_left_behind(const void *place) {
    if (&__libc_stack_end == nullptr || is_poisoned(place, 1))
        return false;
    const auto top = reinterpret_cast<std::uintptr_t>(__libc_stack_end);
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    const auto at = reinterpret_cast<std::uintptr_t>(place);
    const std::uintptr_t reach = reach_of_stack();
    return top - here < reach && top - at < reach && at < here;
}

// A wheel begins with its own address, or one more (self_of in src/core). What has gone without being cleared
// leaves its nodes in the table, and these are no fault of theirs.
bool has_gone(const tw *wheel) {
    if (is_poisoned(wheel, sizeof(std::uintptr_t)) || is_left_behind(wheel))
        return true;
    std::uintptr_t self = 0;
    const iovec to = {&self, sizeof self}, from = {const_cast<tw *>(wheel), sizeof self};
    if (peek(to, &from, 1) < 0)
        std::memcpy(&self, wheel, sizeof self);
    return self - reinterpret_cast<std::uintptr_t>(wheel) > 1;
}

// --- callbacks that tw_node_init was given -------------------------------------------------------------

// Only ever added to, without a lock. A program with more of them than fit is not checked for garbage.
constexpr std::size_t most_callbacks = 2048;
const void *callbacks[most_callbacks];

// The place of this callback, or the empty one where it would be; null if there is neither.
const void **place_of(const void *callback) {
    const std::size_t first = (reinterpret_cast<std::uintptr_t>(callback) >> 2) * 0x9E37u;
    for (std::size_t i = 0; i < most_callbacks; ++i) {
        const void **const place = &callbacks[(first + i) % most_callbacks];
        const void *const there = __atomic_load_n(place, __ATOMIC_RELAXED);
        if (there == callback || there == nullptr)
            return place;
    }
    return nullptr;
}

void note_callback(const void *callback) {
    for (const void **place; (place = place_of(callback)) != nullptr;) {
        const void *empty = nullptr;
        if (__atomic_load_n(place, __ATOMIC_RELAXED) == callback ||
            __atomic_compare_exchange_n(place, &empty, callback, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return;
    }
}

bool is_callback(tw_callback *fn) {
    const void **const place = place_of(reinterpret_cast<const void *>(fn));
    return place == nullptr || __atomic_load_n(place, __ATOMIC_RELAXED) != nullptr;
}

// --- nodes ---------------------------------------------------------------------------------------------

// What differs first, beside the links; null if nothing does.
const char *difference(const tw_node &a, const tw_node &b) {
    if (a.fn != b.fn)
        return "fn";
    if (a.arg != b.arg)
        return "arg";
    if (a.expiry != b.expiry)
        return "expiry";
    if (a.period != b.period)
        return "period";
    if (a.wheel != b.wheel)
        return "wheel";
    if (a.state != b.state)
        return "state";
    if (a.missed_and_label != b.missed_and_label || a.fires_left != b.fires_left)
        return "missed or fires_left";
#if TW_RUNTIME
    if (a.part != b.part)
        return "part";
#endif
    return nullptr;
}

void stop_if_gone(const watched_node &it) {
    if (is_poisoned(it.node, sizeof *it.node))
        stop(it.node, it.seen.state, "it was freed, or its scope has ended, while it was pending");
    if (is_left_behind(it.node))
        stop(it.node, it.seen.state,
             "the function that it is a variable of has returned while it was pending");
}

void stop_if_changed(const watched_node &it, const tw_node &now) {
    if (const char *const what = difference(it.seen, now); what != nullptr)
        stop(it.node, now.state,
             "it was overwritten, copied over or freed while it was pending; what has changed is its ", what);
}

void stop_if_not_kept(const watched_node &it) {
    stop_if_gone(it);
    stop_if_changed(it, *it.node);
}

// True for a node that TW_NODE has made and that was not used since: all but two of its members are zero.
bool is_as_declared(const tw_node &node) {
    tw_node fresh = {};
    fresh.fn = node.fn;
    fresh.arg = node.arg;
    return node.fn != nullptr && std::memcmp(&node, &fresh, sizeof node) == 0;
}

// A node that is not in the table is idle, and was made by tw_node_init or TW_NODE or is a copy of such a
// node.
void stop_if_not_idle(const tw_node &node) {
    if (is_as_declared(node))
        note_callback(reinterpret_cast<const void *>(node.fn));
    if (node.state == TW_PENDING)
        if (const tw_node *const original = find_alike(node); original != nullptr)
            stop(&node, node.state, "it is a copy of a pending node, the one at ", "", original);
    if (node.state == TW_PENDING && is_callback(node.fn))
        stop(&node, node.state,
             "it says that it is pending, and is not: it is the copy of a node that was, or its wheel has "
             "gone or "
             "was initialised anew");
    if (node.state == TW_PENDING || node.state > TW_SHUT || !is_callback(node.fn))
        stop(&node, node.state, "it was never initialised (tw_node_init), or was overwritten since");
}

constexpr char made_again[] = "it was initialised again while it was pending";

// The wheel may have been freed, and then this is no mistake. If it is used again, it is one. The node is in
// the table no more, as it may be armed on another wheel meanwhile.
void note_made_again(watched_wheel &wheel, watched_node &it) {
    wheel.made_again_from = it.seen;
    wheel.made_again_by = tw_port_check_caller();
    wheel.made_again = it.node;
    remove(&it);
}

void stop_if_made_again(const watched_wheel &wheel) {
    if (wheel.made_again == nullptr)
        return;
    base::message said;
    said.add("tickwheel: ");
    add_node(said, wheel.made_again, wheel.made_again_from.state);
    said.add(made_again);
    said.add("\n");
    add_code(said, "its callback is", reinterpret_cast<const void *>(wheel.made_again_from.fn));
    add_code(said, "it was initialised again in", call_before(wheel.made_again_by));
    said.write();
    std::abort();
}

// Up to this many nodes are looked at in each advance.
constexpr unsigned looks = 8;

struct looked_at {
    const watched_node *nodes[looks];
    iovec from[looks];
    unsigned count;
};

void choose(watched_wheel &wheel, looked_at &these) {
    watched_node *it = wheel.next_to_look_at;
    for (these.count = 0; these.count < looks; it = it->next) {
        if (it == nullptr)
            it = wheel.first;
        if (these.count != 0 && it == these.nodes[0])
            break;
        these.nodes[these.count] = it;
        these.from[these.count++] = {const_cast<tw_node *>(it->node), sizeof *it->node};
    }
    wheel.next_to_look_at = it;
}

// True if the word at this offset of a link, which may be no link at all, leads back to the node.
bool leads_back(const tw_link *link, std::size_t offset, const tw_node *node) {
    const tw_link *there = nullptr;
    const std::uintptr_t word = reinterpret_cast<std::uintptr_t>(link) + offset;
    const iovec to = {static_cast<void *>(&there), sizeof(void *)};
    const iovec from = {reinterpret_cast<void *>(word), sizeof(void *)};  // NOLINT(performance-no-int-to-ptr)
    return peek(to, &from, 1) < 0 || there == &node->link;
}

// What is freed mostly has its links overwritten first, by the allocator. If only one neighbour contradicts,
// that one is broken, and will be looked at itself.
void stop_if_contradicted(const watched_node &it, const tw_link &link) {
    if (!leads_back(link.next, offsetof(tw_link, prev), it.node) &&
        !leads_back(link.prev, offsetof(tw_link, next), it.node))
        stop(it.node, it.seen.state,
             "it was overwritten, copied over or freed while it was pending; what has changed is its ",
             "links");
}

// Their memory may not even be there any more, so it is read by way of the system.
void look_at(const looked_at &these) {
    tw_node now[looks];
    for (unsigned i = 0; i < these.count; ++i)
        stop_if_gone(*these.nodes[i]);
    const ssize_t got = peek({now, sizeof now}, these.from, these.count);
    const std::size_t all = these.count * sizeof now[0];
    for (unsigned i = 0; i < these.count; ++i) {
        const watched_node &it = *these.nodes[i];
        if (got >= 0 && static_cast<std::size_t>(got) < (i + 1) * sizeof now[0])
            stop(it.node, it.seen.state, "its memory was given back to the system while it was pending");
        stop_if_changed(it, got >= 0 ? now[i] : *it.node);
    }
    if (static_cast<std::size_t>(got) == all)
        for (unsigned i = 0; i < these.count; ++i)
            stop_if_contradicted(*these.nodes[i], now[i].link);
}

}  // namespace

}  // namespace tickwheel::check

// --- what the library calls ----------------------------------------------------------------------------

using namespace tickwheel;
using namespace tickwheel::check;

// Nodes that are pending on a wheel that is initialised anew may be initialised next (tw_init).
void tw_port_check_wheel_init(const tw *w) { forget_all_below(w); }

void tw_port_check_node_init(const tw_node *node, const void *callback) {
    if (watched_node *const it = find(node); it != nullptr) {
        watched_wheel &wheel = *it->wheel;
        if (wheel.is_lasting)
            stop(node, it->seen.state, made_again);
        if (has_gone(wheel.wheel))
            forget(wheel.wheel);
        else
            note_made_again(wheel, *it);
    }
    note_callback(callback);
}

// What has no function is refused in every build. Once is enough to find the struct that was only zeroed.
void tw_port_check_to_arm(const tw_node *node) {
    static std::atomic<bool> has_warned{false};
    if (node == nullptr || node->fn != nullptr || has_warned.exchange(true))
        return;
    base::message said;
    said.add("tickwheel: warning: ");
    add_node(said, node, node->state);
    said.add("it was never initialised (tw_node_init), so it cannot be armed\n");
    add_what_is_known(said, node);
    said.write();
}

void tw_port_check_used(const tw *w, const tw_node *node) {
    if (w == nullptr)
        return;
    if (const watched_node *const it = find(node); it == nullptr)
        stop_if_not_idle(*node);
    else if (it->wheel->wheel == w)
        stop_if_not_kept(*it);
}

void tw_port_check_kept(const tw_node *node) {
    if (const watched_node *const it = find(node); it != nullptr)
        stop_if_not_kept(*it);
}

void tw_port_check_pending(const tw_node *node) {
    watched_node *it = find(node);
    if (it != nullptr && it->wheel->wheel != wheel_of(*node, node)) {
        forget(it->wheel->wheel);
        it = nullptr;
    }
    if (it == nullptr)
        it = add(node);
    if (it == nullptr)
        return;
    it->seen = *node;
    if (const void *const caller = tw_port_check_caller(); caller != nullptr)
        it->armed_by = caller;
}

void tw_port_check_idle(const tw_node *node) {
    if (watched_node *const it = find(node); it != nullptr)
        remove(it);
}

void tw_port_check_some(const tw *w) {
    watched_wheel *const wheel = find_wheel(w);
    if (wheel == nullptr)
        return;
    stop_if_made_again(*wheel);
    if (wheel->first == nullptr)
        return;
    looked_at these;
    choose(*wheel, these);
    look_at(these);
}

void tw_port_check_wheel_lasts(const tw *w) {
    if (watched_wheel *const wheel = have_wheel(w); wheel != nullptr)
        wheel->is_lasting = true;
}

void tw_port_check_wheel_ends(const tw *w) { forget(w); }

void *tw_port_check_memory(std::size_t size) { return memory_for_good(size); }

// The node checks of a checking build (TW_CHECK): see check.h, and port.h for when the library calls each
// one. node_table.hpp remembers the pending nodes.
//
// The checks find misuse when the wheel or a call reaches the node, and usually earlier, because every
// advance looks at a few nodes. They find:
//   - a pending node that is initialised again: at once if its wheel belongs to a runtime,
//     otherwise when the program uses the wheel again, because the wheel may have gone with its
//     nodes, even from static memory;
//   - a pending node whose contents changed behind the library's back: the program overwrote it, or
//     freed it or left its scope, and the memory is in use again;
//   - a pending node in a frame of the main thread's stack that has returned, even if nothing has
//     overwritten the node yet; and in a program built with AddressSanitizer, any pending node that
//     AddressSanitizer knows to be freed or out of scope;
//   - a call that names a copy of a pending node, or a node that tw_node_init never initialised.
//
// They cannot find:
//   - without AddressSanitizer, a freed node whose memory still has the same contents, or got them
//     again from another node;
//   - a node in a returned frame of another thread's stack, until it is overwritten;
//   - garbage that has the callback of a real node in the right place and looks idle: a copy of an
//     idle node looks the same and is allowed.
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

#include <tickwheel/port.h>

#include "base/kept_errno.hpp"
#include "node_table.hpp"
#include "report.hpp"

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

// --- memory that may be gone ----------------------------------------------------------------------

bool is_poisoned(const void *from, std::size_t size) {
    return __asan_region_is_poisoned != nullptr &&
           __asan_region_is_poisoned(const_cast<void *>(from), size) != nullptr;
}

// Copies memory of this process. Returns the number of bytes it could read, or -1 if the system forbids the
// call.
ssize_t peek(const iovec &to, const iovec *from, unsigned long count) {
    const base::kept_errno kept;
    const ssize_t got = process_vm_readv(getpid(), &to, 1, from, count, 0);
    return got >= 0 ? got : errno == EFAULT ? 0 : -1;
}

// The size to which the main thread's stack may grow; we assume at most 8 MB.
std::uintptr_t reach_of_stack() {
    static std::atomic<std::uintptr_t> known{0};  // 0: not read yet; every thread reads the same value
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

// True if this is the main thread and the place is on its stack, in a frame that has returned. We do not
// check other threads' stacks, because we cannot get their bounds without malloc.
bool is_left_behind(const void *place) {
    if (&__libc_stack_end == nullptr || is_poisoned(place, 1))
        return false;
    const auto top = reinterpret_cast<std::uintptr_t>(__libc_stack_end);
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    const auto at = reinterpret_cast<std::uintptr_t>(place);
    const std::uintptr_t reach = reach_of_stack();
    return top - here < reach && top - at < reach && at < here;
}

// A wheel begins with its own address, or one more (self_of in src/core). A wheel that goes without
// tw_cancel_all leaves its nodes in the table, which is not a mistake.
bool has_gone(const tw *wheel) {
    if (is_poisoned(wheel, sizeof(std::uintptr_t)) || is_left_behind(wheel))
        return true;
    std::uintptr_t self = 0;
    const iovec to = {&self, sizeof self}, from = {const_cast<tw *>(wheel), sizeof self};
    if (peek(to, &from, 1) < 0)
        std::memcpy(&self, wheel, sizeof self);
    return self - reinterpret_cast<std::uintptr_t>(wheel) > 1;
}

// --- the callbacks passed to tw_node_init --------------------------------------------------------------

// The table only grows, with atomic operations and without a lock. In a program with more callbacks than fit,
// the checks take any function for a callback, and find no garbage.
constexpr std::size_t most_callbacks = 2048;
const void *callbacks[most_callbacks];

// The place of this callback, or the empty place for it; null if the table is full without it.
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

// The name of the first member that differs, not counting the links; null if none does.
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

void stop_if_gone(const watched_node &watched) {
    if (is_poisoned(watched.node, sizeof *watched.node))
        stop(watched.node, watched.seen.state, "it was freed, or its scope has ended, while it was pending");
    if (is_left_behind(watched.node))
        stop(watched.node, watched.seen.state,
             "the function that it is a variable of has returned while it was pending");
}

void stop_if_changed(const watched_node &watched, const tw_node &now) {
    if (const char *const what = difference(watched.seen, now); what != nullptr)
        stop(watched.node, now.state,
             "it was overwritten, copied over or freed while it was pending; what has changed is its ", what);
}

void stop_if_not_kept(const watched_node &watched) {
    stop_if_gone(watched);
    stop_if_changed(watched, *watched.node);
}

// True for an unused node made with TW_NODE: all but two of its members are zero.
bool is_as_declared(const tw_node &node) {
    tw_node fresh = {};
    fresh.fn = node.fn;
    fresh.arg = node.arg;
    return node.fn != nullptr && std::memcmp(&node, &fresh, sizeof node) == 0;
}

// A node that is not in the table must be idle, and made by tw_node_init or TW_NODE, or a copy of such a
// node.
void stop_if_not_idle(const tw_node &node) {
    if (is_as_declared(node))
        note_callback(reinterpret_cast<const void *>(node.fn));
    if (node.state == TW_PENDING)
        if (const tw_node *const original = find_alike(node); original != nullptr)
            stop(&node, node.state, "it is a copy of a pending node, the one at ", "", original);
    if (node.state == TW_PENDING && is_callback(node.fn))
        stop(&node, node.state,
             "it says that it is pending, but is not: it is a copy of a node that was, or its wheel is gone "
             "or was initialised again");
    const bool may_be_idle = node.fn == nullptr || is_callback(node.fn);
    if (node.state == TW_PENDING || node.state > TW_RETIRED || !may_be_idle)
        stop(&node, node.state, "it was never initialised (tw_node_init), or was overwritten since");
}

constexpr char made_again[] = "it was initialised again while it was pending";

// To initialise the node again is a mistake only if the program uses the wheel after that, and not if the
// wheel has gone. The node leaves the table, because the program may arm it on another wheel meanwhile.
void note_made_again(watched_wheel &wheel, watched_node &watched) {
    wheel.made_again_from = watched.seen;
    wheel.made_again_by = tw_port_check_caller();
    wheel.made_again = watched.node;
    remove(&watched);
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

// Each advance looks at up to this many nodes.
constexpr unsigned looks = 8;

struct looked_at {
    const watched_node *nodes[looks];
    iovec from[looks];
    unsigned count;
};

void choose(watched_wheel &wheel, looked_at &these) {
    watched_node *next = wheel.next_to_look_at;
    for (these.count = 0; these.count < looks; next = next->next) {
        if (next == nullptr)
            next = wheel.first;
        if (these.count != 0 && next == these.nodes[0])
            break;
        these.nodes[these.count] = next;
        these.from[these.count++] = {const_cast<tw_node *>(next->node), sizeof *next->node};
    }
    wheel.next_to_look_at = next;
}

// True if the word at this offset of a link points back to the node. The link may be garbage.
bool leads_back(const tw_link *link, std::size_t offset, const tw_node *node) {
    const tw_link *there = nullptr;
    const std::uintptr_t word = reinterpret_cast<std::uintptr_t>(link) + offset;
    const iovec to = {static_cast<void *>(&there), sizeof(void *)};
    const iovec from = {reinterpret_cast<void *>(word), sizeof(void *)};  // NOLINT(performance-no-int-to-ptr)
    return peek(to, &from, 1) < 0 || there == &node->link;
}

// An allocator usually overwrites the links of freed memory first. If only one neighbour contradicts the
// node, that neighbour is broken, and a later look finds it.
void stop_if_contradicted(const watched_node &watched, const tw_link &link) {
    if (!leads_back(link.next, offsetof(tw_link, prev), watched.node) &&
        !leads_back(link.prev, offsetof(tw_link, next), watched.node))
        stop(watched.node, watched.seen.state,
             "it was overwritten, copied over or freed while it was pending; what has changed is its ",
             "links");
}

// Reads the nodes through a system call, because their memory may be unmapped.
void look_at(const looked_at &these) {
    tw_node now[looks];
    for (unsigned i = 0; i < these.count; ++i)
        stop_if_gone(*these.nodes[i]);
    const ssize_t got = peek({now, sizeof now}, these.from, these.count);
    const std::size_t all = these.count * sizeof now[0];
    for (unsigned i = 0; i < these.count; ++i) {
        const watched_node &watched = *these.nodes[i];
        if (got >= 0 && static_cast<std::size_t>(got) < (i + 1) * sizeof now[0])
            stop(watched.node, watched.seen.state,
                 "its memory was given back to the system while it was pending");
        stop_if_changed(watched, got >= 0 ? now[i] : *watched.node);
    }
    if (static_cast<std::size_t>(got) == all)
        for (unsigned i = 0; i < these.count; ++i)
            stop_if_contradicted(*these.nodes[i], now[i].link);
}

}  // namespace

}  // namespace tickwheel::check

// --- called by the library -----------------------------------------------------------------------------

using namespace tickwheel;
using namespace tickwheel::check;

// tw_init on a wheel that has pending nodes is allowed, and the program may then initialise the nodes, too.
void tw_port_check_wheel_init(const tw *w) { forget_overlapping(w); }

void tw_port_check_node_init(const tw_node *node, const void *callback) {
    if (watched_node *const watched = find(node); watched != nullptr) {
        watched_wheel &wheel = *watched->wheel;
        if (wheel.is_lasting)
            stop(node, watched->seen.state, made_again);
        if (has_gone(wheel.wheel))
            forget(wheel.wheel);
        else
            note_made_again(wheel, *watched);
    }
    note_callback(callback);
}

// Every build refuses to arm a node without a callback. One warning is enough to find a node that was only
// zeroed.
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
    if (const watched_node *const watched = find(node); watched == nullptr)
        stop_if_not_idle(*node);
    else if (watched->wheel->wheel == w)
        stop_if_not_kept(*watched);
}

void tw_port_check_kept(const tw_node *node) {
    if (const watched_node *const watched = find(node); watched != nullptr)
        stop_if_not_kept(*watched);
}

void tw_port_check_pending(const tw_node *node) {
    watched_node *watched = find(node);
    if (watched != nullptr && watched->wheel->wheel != wheel_of(*node, node)) {
        forget(watched->wheel->wheel);
        watched = nullptr;
    }
    if (watched == nullptr)
        watched = add(node);
    if (watched == nullptr)
        return;
    watched->seen = *node;
    if (const void *const caller = tw_port_check_caller(); caller != nullptr)
        watched->armed_by = caller;
}

void tw_port_check_idle(const tw_node *node) {
    if (watched_node *const watched = find(node); watched != nullptr)
        remove(watched);
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
    if (watched_wheel *const wheel = find_or_add_wheel(w); wheel != nullptr)
        wheel->is_lasting = true;
}

void tw_port_check_wheel_ends(const tw *w) { forget(w); }

void *tw_port_check_memory(std::size_t size) { return memory_for_good(size); }

// The registry of runtimes in a checking build; see registry.hpp. It never follows a user's pointer, and
// looks a runtime up by its address. Any thread.
//
// The registry remembers at least the last 64 freed runtimes, each until a new runtime has the same address.
// From then on a pointer to the old runtime looks valid.
#include "registry.hpp"

#include <new>

#include "labels.hpp"
#include "turn.hpp"

namespace tickwheel::runtime::registry {

namespace {

enum class life { live, being_freed, freed };

// Guarded by registry_mutex, except as noted. An entry is never freed, but reused for another runtime.
struct known {
    const tw_runtime *rt;
    life state;
    const void *made_by, *freed_by;
    pthread_t freeing;       // valid in being_freed and freed
    std::uint64_t freed_as;  // the number of frees up to this one; see find_forgettable
    std::atomic<bool> is_driven, was_complained_of;  // not guarded
    bool was_asked_at_exit;
    known *next;
};

base::mutex registry_mutex = {PTHREAD_MUTEX_INITIALIZER};
known *runtimes TW_GUARDED_BY(registry_mutex) = nullptr;
std::uint64_t frees TW_GUARDED_BY(registry_mutex) = 0;
constexpr std::uint64_t remembered = 64;  // freed runtimes

// Counts changes of the registry. A thread that has found a runtime need not look again until the next
// change.
std::atomic<std::uint64_t> changes{1};
struct {
    const tw_runtime *rt;
    std::uint64_t changes;
} constinit TW_THREAD_LOCAL found_last = {nullptr, 0};

// --- the registry -------------------------------------------------------------------------------

known *find(const tw_runtime *rt) TW_REQUIRES(registry_mutex) {
    known *entry = runtimes;
    while (entry != nullptr && entry->rt != rt)
        entry = entry->next;
    return entry;
}

known *find_forgettable() TW_REQUIRES(registry_mutex) {
    known *entry = runtimes;
    while (entry != nullptr && (entry->state != life::freed || frees - entry->freed_as < remembered))
        entry = entry->next;
    return entry;
}

// Finds or makes an entry for this address. Null without memory.
known *entry_for(const tw_runtime *rt) TW_REQUIRES(registry_mutex) {
    if (known *const same = find(rt); same != nullptr)
        return same;
    if (known *const old = find_forgettable(); old != nullptr)
        return old;
    void *const memory = tw_port_check_memory(sizeof(known));
    if (memory == nullptr)
        return nullptr;
    auto *const made = new (memory) known();
    made->next = runtimes;
    runtimes = made;
    return made;
}

// --- fork ---------------------------------------------------------------------------------------

void lock() TW_ACQUIRE(registry_mutex) { registry_mutex.lock(); }
void unlock() TW_RELEASE(registry_mutex) { registry_mutex.unlock(); }

// A thread that was freeing a runtime does not exist in the child, which may free the runtime.
void unlock_in_child() TW_RELEASE(registry_mutex) {
    for (known *each = runtimes; each != nullptr; each = each->next)
        if (each->state == life::being_freed)
            each->state = life::live;
    unlock();
}

__attribute__((constructor)) void survive_forks() { pthread_atfork(lock, unlock, unlock_in_child); }

// --- complaints ---------------------------------------------------------------------------------

[[noreturn]] void stop(const char *wrong, const tw_runtime *rt, const known *entry, const void *by)
    TW_RELEASE(registry_mutex) {
    const void *const caller = tw_port_check_caller();
    const tw_port_fact facts[] = {{"it was made in", entry != nullptr ? entry->made_by : nullptr},
                                  {"it was freed in", entry != nullptr ? entry->freed_by : nullptr},
                                  {"this was found in the call from", caller != nullptr ? caller : by}};
    unlock();
    tw_port_check_stop(wrong, rt, facts, 3);
}

void stop_if_unknown(const known *entry, const tw_runtime *rt, const void *by) TW_REQUIRES(registry_mutex) {
    if (entry == nullptr)
        stop("there is no runtime at this address: it was never made, or freed long ago", rt, entry, by);
}

// How long timers may be due before we suspect that the program forgot to drive the runtime.
constexpr std::int64_t patience = 1'000'000'000;

bool has_been_due_for(tw_runtime &rt, std::int64_t ns) {
    const tw_deadlines next = what_is_next(rt);
    bool is_due = false;
    for_each_timeline(rt, [&](const timeline &line) {
        const std::int64_t deadline = next.*line.deadline_field;
        is_due = is_due || (deadline != TW_NO_DEADLINE && line.clock.read() - deadline >= ns);
    });
    return is_due;
}

void complain_if_never_driven(known &entry, tw_runtime &rt, std::int64_t due_for) {
    if (entry.is_driven.load(std::memory_order_relaxed) || is_manual(*rt.driver) || rt.forked ||
        entry.was_complained_of.load(std::memory_order_relaxed) || !has_been_due_for(rt, due_for))
        return;
    if (entry.was_complained_of.exchange(true))
        return;
    const tw_port_fact facts[] = {{"it was made in", entry.made_by}};
    tw_port_check_warn("warning: timers are armed on it and due, but it was never started "
                       "(tw_runtime_start, or tw_runtime_fd and tw_runtime_dispatch)",
                       &rt, facts, 1);
}

// The next runtime that no thread has driven, each once; null if none is left.
known *next_undriven() {
    const base::mutex_hold hold(&registry_mutex);
    known *entry = runtimes;
    while (entry != nullptr && (entry->state != life::live || entry->is_driven || entry->was_asked_at_exit))
        entry = entry->next;
    if (entry != nullptr)
        entry->was_asked_at_exit = true;
    return entry;
}

// For runtimes that the program has not freed when it exits. The checks run without the registry's mutex,
// because calls that hold the runtimes' locks take that mutex.
__attribute__((destructor)) void complain_at_exit() {
    while (known *const each = next_undriven())
        complain_if_never_driven(*each, const_cast<tw_runtime &>(*each->rt), 0);
}

// A thread that stops the program because of a node may hold any lock, including registry_mutex; then the
// report lacks the label.
const char *label_on(const tw *wheel, unsigned label) {
    if (!registry_mutex.try_lock())
        return nullptr;
    const char *text = nullptr;
    for (const known *each = runtimes; each != nullptr; each = each->next)
        if (each->state == life::live &&
            (wheel == &each->rt->steady.wheel || wheel == &each->rt->absolute->wheel))
            text = label_text(*each->rt, label);
    unlock();
    return text;
}

}  // namespace

void note_made(tw_runtime &rt) {
    tw_port_check_labels(label_on);
    const base::mutex_hold hold(&registry_mutex);
    if (known *const entry = entry_for(&rt); entry != nullptr) {
        entry->rt = &rt;
        entry->state = life::live;
        entry->made_by = tw_port_check_caller();
        entry->freed_by = nullptr;
        entry->is_driven = false;
        entry->was_complained_of = false;
        entry->was_asked_at_exit = false;
    }
    changes.fetch_add(1);
}

void note_gone(const tw_runtime &rt) {
    const base::mutex_hold hold(&registry_mutex);
    if (known *const entry = find(&rt); entry != nullptr) {
        entry->state = life::freed;
        entry->freed_as = ++frees;
    }
    changes.fetch_add(1);
}

void check_runtime(const tw_runtime *rt, const void *by) {
    const std::uint64_t now = changes.load();
    if (rt == nullptr || (found_last.rt == rt && found_last.changes == now))
        return;
    lock();
    const known *const entry = find(rt);
    stop_if_unknown(entry, rt, by);
    if (entry->state == life::freed)
        stop("it is used after it was freed", rt, entry, by);
    unlock();
    found_last = {rt, now};
}

// A callback may free its runtime twice, because the actual freeing follows later on the same thread.
void check_free(const tw_runtime *rt, const void *by) {
    if (rt == nullptr)
        return;
    lock();
    known *const entry = find(rt);
    stop_if_unknown(entry, rt, by);
    if (entry->state == life::freed)
        stop("it is freed a second time", rt, entry, by);
    if (entry->state == life::being_freed && pthread_equal(entry->freeing, pthread_self()) == 0)
        stop("two threads free it at the same time", rt, entry, by);
    if (entry->state == life::live) {
        entry->state = life::being_freed;
        entry->freeing = pthread_self();
        entry->freed_by = by;
    }
    const bool complains = !rt->forked;
    unlock();
    if (complains)
        complain_if_never_driven(*entry, const_cast<tw_runtime &>(*rt), 0);
}

void note_driven(const tw_runtime &rt) {
    const base::mutex_hold hold(&registry_mutex);
    if (known *const entry = find(&rt); entry != nullptr)
        entry->is_driven = true;
}

void warn_if_idle(tw_runtime &rt) {
    lock();
    known *const entry = find(&rt);
    unlock();
    if (entry != nullptr)
        complain_if_never_driven(*entry, rt, patience);
}

}  // namespace tickwheel::runtime::registry

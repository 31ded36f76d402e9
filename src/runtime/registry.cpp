// The registry of runtimes in a checking build; see registry.hpp. It is never asked to follow a pointer of
// the user's: a runtime is looked up by its address. Any thread.
//
// The last runtimes that were freed are remembered until their address is in use again. If a new runtime has
// that address, a pointer to the former one cannot be told from a good one.
#include "registry.hpp"

#include <new>

#include "labels.hpp"
#include "turn.hpp"

namespace tickwheel::runtime::registry {

namespace {

enum class life { live, being_freed, freed };

// Guarded by registry_mutex, except as noted. Kept for good, and used again for another runtime.
struct known {
    const tw_runtime *rt;
    life state;
    const void *made_by, *freed_by;
    pthread_t freeing;                               // valid in being_freed and freed
    std::uint64_t freed_as;                          // the older it is, the sooner it is forgotten
    std::atomic<bool> is_driven, was_complained_of;  // atomic
    bool was_asked_at_exit;
    known *next;
};

base::mutex registry_mutex = {PTHREAD_MUTEX_INITIALIZER};
known *runtimes TW_GUARDED_BY(registry_mutex) = nullptr;
std::uint64_t frees TW_GUARDED_BY(registry_mutex) = 0;
constexpr std::uint64_t remembered = 64;  // freed runtimes

// Counts changes of the registry; a thread that has found a runtime in it need not look again before the
// next.
std::atomic<std::uint64_t> changes{1};
struct {
    const tw_runtime *rt;
    std::uint64_t changes;
} constinit TW_THREAD_LOCAL found_last = {nullptr, 0};

// --- the registry -------------------------------------------------------------------------------

known *find(const tw_runtime *rt) TW_REQUIRES(registry_mutex) {
    known *it = runtimes;
    while (it != nullptr && it->rt != rt)
        it = it->next;
    return it;
}

known *find_forgettable() TW_REQUIRES(registry_mutex) {
    known *it = runtimes;
    while (it != nullptr && (it->state != life::freed || frees - it->freed_as < remembered))
        it = it->next;
    return it;
}

// Null if there is no memory.
known *have(const tw_runtime *rt) TW_REQUIRES(registry_mutex) {
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

// A thread that was freeing a runtime is not there in the child, which may free it.
void unlock_in_child() TW_RELEASE(registry_mutex) {
    for (known *each = runtimes; each != nullptr; each = each->next)
        if (each->state == life::being_freed)
            each->state = life::live;
    unlock();
}

__attribute__((constructor)) void survive_forks() { pthread_atfork(lock, unlock, unlock_in_child); }

// --- complaints ---------------------------------------------------------------------------------

[[noreturn]] void stop(const char *wrong, const tw_runtime *rt, const known *it, const void *by)
    TW_RELEASE(registry_mutex) {
    const void *const caller = tw_port_check_caller();
    const tw_port_fact facts[] = {{"it was made in", it != nullptr ? it->made_by : nullptr},
                                  {"it was freed in", it != nullptr ? it->freed_by : nullptr},
                                  {"this was found in the call from", caller != nullptr ? caller : by}};
    unlock();
    tw_port_check_stop(wrong, rt, facts, 3);
}

void stop_if_unknown(const known *it, const tw_runtime *rt, const void *by) TW_REQUIRES(registry_mutex) {
    if (it == nullptr)
        stop("there is no runtime at this address: it was never made, or freed long ago", rt, it, by);
}

// How long timers may have been due before a program is suspected to have forgotten to drive them.
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

void complain_if_never_driven(known &it, tw_runtime &rt, std::int64_t due_for) {
    if (it.is_driven.load(std::memory_order_relaxed) || is_manual(*rt.driver) || rt.forked ||
        it.was_complained_of.load(std::memory_order_relaxed) || !has_been_due_for(rt, due_for))
        return;
    if (it.was_complained_of.exchange(true))
        return;
    const tw_port_fact facts[] = {{"it was made in", it.made_by}};
    tw_port_check_warn("warning: timers are armed on it and due, but it was never started "
                       "(tw_runtime_start, or tw_runtime_fd and tw_runtime_dispatch)",
                       &rt, facts, 1);
}

// The next runtime that nobody has driven, each once; null if there is none left.
known *next_undriven() {
    const base::mutex_hold hold(&registry_mutex);
    known *it = runtimes;
    while (it != nullptr && (it->state != life::live || it->is_driven || it->was_asked_at_exit))
        it = it->next;
    if (it != nullptr)
        it->was_asked_at_exit = true;
    return it;
}

// Runtimes that the program leaves to its end. The registry's mutex is not held while they are asked, because
// calls that hold their locks take it.
__attribute__((destructor)) void complain_at_exit() {
    while (known *const each = next_undriven())
        complain_if_never_driven(*each, const_cast<tw_runtime &>(*each->rt), 0);
}

// A program that stops because of a node may hold any lock, this one as well; then it does without the label.
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

void is_made(tw_runtime &rt) {
    tw_port_check_labels(label_on);
    const base::mutex_hold hold(&registry_mutex);
    if (known *const it = have(&rt); it != nullptr) {
        it->rt = &rt;
        it->state = life::live;
        it->made_by = tw_port_check_caller();
        it->freed_by = nullptr;
        it->is_driven = false;
        it->was_complained_of = false;
        it->was_asked_at_exit = false;
    }
    changes.fetch_add(1);
}

void is_gone(const tw_runtime &rt) {
    const base::mutex_hold hold(&registry_mutex);
    if (known *const it = find(&rt); it != nullptr) {
        it->state = life::freed;
        it->freed_as = ++frees;
    }
    changes.fetch_add(1);
}

void is_runtime(const tw_runtime *rt, const void *by) {
    const std::uint64_t now = changes.load();
    if (rt == nullptr || (found_last.rt == rt && found_last.changes == now))
        return;
    lock();
    const known *const it = find(rt);
    stop_if_unknown(it, rt, by);
    if (it->state == life::freed)
        stop("it is used after it was freed", rt, it, by);
    unlock();
    found_last = {rt, now};
}

// A callback that frees its runtime may do so twice, as the rest follows later on the same thread.
void is_freed(const tw_runtime *rt, const void *by) {
    if (rt == nullptr)
        return;
    lock();
    known *const it = find(rt);
    stop_if_unknown(it, rt, by);
    if (it->state == life::freed)
        stop("it is freed a second time", rt, it, by);
    if (it->state == life::being_freed && pthread_equal(it->freeing, pthread_self()) == 0)
        stop("two threads free it at the same time", rt, it, by);
    if (it->state == life::live) {
        it->state = life::being_freed;
        it->freeing = pthread_self();
        it->freed_by = by;
    }
    const bool complains = !rt->forked;
    unlock();
    if (complains)
        complain_if_never_driven(*it, const_cast<tw_runtime &>(*rt), 0);
}

void is_driven(const tw_runtime &rt) {
    const base::mutex_hold hold(&registry_mutex);
    if (known *const it = find(&rt); it != nullptr)
        it->is_driven = true;
}

void may_be_idle(tw_runtime &rt) {
    lock();
    known *const it = find(&rt);
    unlock();
    if (it != nullptr)
        complain_if_never_driven(*it, rt, patience);
}

}  // namespace tickwheel::runtime::registry

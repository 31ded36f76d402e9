// The half of the Linux port that talks to the kernel: the contended lock, which spins briefly and then
// parks on a futex, and waiting on a word. Any thread; no function changes the caller's errno.
//
// The uncontended path in port.h locks with one atomic operation, and unlocks with a store and a load.
// Unlocking is cheap because there is no barrier between the store of `held` and the load of `waiters`. But
// the processor may then do the load first, and miss a waiter that announces itself in between, still sees
// the lock held, and sleeps forever.
//
// The waiter prevents that. After it has announced itself, it makes every thread of the process pass a memory
// barrier (membarrier), and only then looks at `held` again. Take a concurrent unlock: if its load came
// before the barrier, so did its store, and the waiter finds the lock free. If its load comes after the
// barrier, it sees the waiter. So the rare waiter pays, not every unlock.
//
// An unlock that sees a waiter sets `waking`, and wakes one waiter. While `waking` is set, further unlocks do
// not call the kernel, and no waiter falls asleep. A waiter that leaves park() clears `waking`, and only then
// looks at `held` again. An unlock reads `waking` with a read-modify-write of the whole word, which cannot
// come before its store of `held`. So if it finds `waking` set, the waiter that clears `waking` finds the
// lock free, or finds a later holder, whose unlock wakes a waiter.
//
// A waiter that insists on being next sets `wanted`. Then only insisting threads can take the lock; taking it
// clears `wanted`. If the insisting thread is preempted, other waiters insist in turn.
//
// A waiter stays counted until it has the lock, so its own unlock sees the other waiters. lock.pml models
// this protocol and searches it exhaustively.
//
// Kernels before 4.14 have no membarrier; there a waiter sleeps for a millisecond at a time. So does a waiter
// that finds the 15-bit count of waiters full.
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdint>

#include "base/kept_errno.hpp"
#include "base/system_clock.hpp"
#include <tickwheel/port.h>

namespace {

using tickwheel::base::kept_errno;

// A running holder releases the lock within a few hundred nanoseconds, but a thread that makes several calls
// in a row retakes the lock at once, which gives the most throughput. So a waiter first only looks for a free
// lock, then insists on being next, and sleeps once the holder has probably been preempted.
constexpr std::int64_t patience_ns = 20'000, insistence_ns = 30'000;

// Each look takes the cache line from the holder, so a waiter doubles its pauses, up to the longest, until it
// insists.
constexpr std::int64_t shortest_pause_ns = 100, longest_pause_ns = 6'400;

// Bounds on the readings of a pause and on the looks of a wait. They matter only if the clock is coarse, or
// stands still in a program's tests.
constexpr unsigned most_readings = 250, most_looks = 500;

std::int64_t clock_ns() { return tickwheel::base::system_reading(CLOCK_MONOTONIC); }

void relax() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) || (defined(__arm__) && __ARM_ARCH >= 7)
    __asm__ volatile("yield");
#else
    __asm__ volatile("" ::: "memory");
#endif
}

// 32-bit systems have two futex calls; this picks the one that takes the timespec of this build.
#if defined(SYS_futex_time64) && defined(SYS_futex)
constexpr long futex_call = sizeof(time_t) > sizeof(long) ? SYS_futex_time64 : SYS_futex;
#elif defined(SYS_futex_time64)
constexpr long futex_call = SYS_futex_time64;
#else
constexpr long futex_call = SYS_futex;
#endif

// TW_PORT_WANTED as a part of the whole word.
constexpr std::uint32_t wanted =
    __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? TW_PORT_WANTED : TW_PORT_WANTED << 16;

// Added to the whole word: on RISC-V an atomic operation on half a word is a library call.
constexpr std::uint32_t one_waiter = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 1U << 16 : 1;

// The other parts of that half: the most waiters, and a bit that is set while one of them is being woken.
constexpr std::uint32_t most_waiters = 0x7fff * one_waiter, waking = 0x8000 * one_waiter;

// Takes the lock if it is free. A thread that insists is preferred to one that does not.
bool take_if_free(std::uint32_t *word, bool insists) {
    if (insists && (__atomic_load_n(word, __ATOMIC_RELAXED) & wanted) == 0)
        __atomic_fetch_or(word, wanted, __ATOMIC_RELAXED);
    return __atomic_load_n(tw_port_held(word), __ATOMIC_RELAXED) == 0 &&
           tw_port_take(word, insists ? TW_PORT_WANTED : 0) != 0;
}

bool look_for(std::uint32_t *word, std::int64_t patience, std::int64_t longest_pause, bool insists) {
    std::int64_t now = clock_ns();
    const std::int64_t end = now + patience;
    std::int64_t pause = shortest_pause_ns;
    for (unsigned looks = 0; now < end && looks != most_looks; ++looks) {
        const std::int64_t over = now + pause;
        for (unsigned readings = 0; now < over && readings != most_readings; ++readings) {
            relax();
            now = clock_ns();
        }
        if (take_if_free(word, insists))
            return true;
        pause += pause < longest_pause ? pause : 0;
    }
    return false;
}

// Clears `wanted` when it gives up; waiters that still insist set it again.
bool insist(std::uint32_t *word) {
    if (look_for(word, insistence_ns, shortest_pause_ns, true))
        return true;
    __atomic_fetch_and(word, ~wanted, __ATOMIC_RELAXED);
    return false;
}

// Makes every thread of the process pass a memory barrier. Returns false if the kernel cannot.
bool barrier_everywhere() {
    if (::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0)
        return true;
    return errno == EPERM &&
           ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0 &&
           ::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
}

// Counts one more waiter. Returns false if the count is full.
bool announce(std::uint32_t *word) {
    std::uint32_t seen = __atomic_load_n(word, __ATOMIC_RELAXED);
    do
        if ((seen & most_waiters) == most_waiters)
            return false;
    while (!__atomic_compare_exchange_n(word, &seen, seen + one_waiter, true, __ATOMIC_SEQ_CST,
                                        __ATOMIC_RELAXED));
    return true;
}

// Sleeps until woken, unless the lock is free or `waking` is set. The kernel compares the word with the value
// that this function has tested. So a thread only falls asleep while the lock is held and `waking` is clear,
// and the coming unlock wakes a waiter.
void park(std::uint32_t *word, const timespec *at_most) {
    const std::uint32_t seen = __atomic_load_n(word, __ATOMIC_RELAXED);
    std::uint32_t held = seen;
    if (*tw_port_held(&held) != 0 && (seen & waking) == 0)
        ::syscall(futex_call, word, FUTEX_WAIT_PRIVATE, seen, at_most, nullptr, 0);
    if ((__atomic_load_n(word, __ATOMIC_RELAXED) & waking) != 0)
        __atomic_fetch_and(word, ~waking, __ATOMIC_RELAXED);
}

}  // namespace

void tw_port_lock_contended(std::uint32_t *word) {
    if (look_for(word, patience_ns, longest_pause_ns, false) || insist(word))
        return;
    const kept_errno kept;
    const bool is_counted = announce(word);
    constexpr timespec a_millisecond = {0, 1'000'000};
    const timespec *const at_most = is_counted && barrier_everywhere() ? nullptr : &a_millisecond;
    do
        park(word, at_most);
    while (!insist(word));
    if (is_counted)
        __atomic_fetch_sub(word, one_waiter, __ATOMIC_RELAXED);
}

// Wakes one waiter at a time: until that one runs, further unlocks need not call the kernel. Clears `waking`
// if no thread waits any more, or all later unlocks would come here.
void tw_port_wake_waiter(std::uint32_t *word) {
    const std::uint32_t seen = __atomic_fetch_or(word, waking, __ATOMIC_SEQ_CST);
    if ((seen & most_waiters) == 0)
        __atomic_fetch_and(word, ~waking, __ATOMIC_RELAXED);
    if ((seen & waking) != 0 || (seen & most_waiters) == 0)
        return;
    const kept_errno kept;
    ::syscall(futex_call, word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

// Uses FUTEX_WAIT_BITSET because its deadline is absolute.
void tw_port_futex_wait(std::uint32_t *word, std::uint32_t seen, std::int64_t deadline_ns) {
    const kept_errno kept;
    const timespec deadline = {static_cast<time_t>(deadline_ns / 1'000'000'000),
                               static_cast<long>(deadline_ns % 1'000'000'000)};
    ::syscall(futex_call, word, FUTEX_WAIT_BITSET_PRIVATE, seen,
              deadline_ns == INT64_MAX ? nullptr : &deadline, nullptr, FUTEX_BITSET_MATCH_ANY);
}

void tw_port_futex_wake_all(std::uint32_t *word) {
    const kept_errno kept;
    ::syscall(futex_call, word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

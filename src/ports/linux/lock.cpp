// The Linux port's dealings with the kernel: waiting on a word, and the contended half
// of the lock, which spins briefly and then parks on a futex.
//
// No wake-up is lost, though unlock stores `held` and loads `waiters` without a
// barrier between them: a waiter that has announced itself makes every thread of
// the process pass a barrier (membarrier) before it looks at `held` again. An
// unlock that did its load before that barrier has done its store as well, and the
// waiter finds the lock free; one that does it after sees the waiter and wakes it.
// A kernel without membarrier (before 4.14) gets waits of a millisecond instead; so do
// waiters for whom there is no room in the count, which has 16 bits.
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdint>

#include "port.h"

namespace {

// A holder that runs lets go within a few hundred nanoseconds; one that was
// preempted does not, and spinning longer than this only keeps it from running.
constexpr int spins = 100;

void relax() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) || (defined(__arm__) && __ARM_ARCH >= 7)
    __asm__ volatile("yield");
#else
    __asm__ volatile("" ::: "memory");
#endif
}

// The call whose timespec is that of this build: 32-bit systems have two.
#if defined(SYS_futex_time64) && defined(SYS_futex)
constexpr long futex_call = sizeof(time_t) > sizeof(long) ? SYS_futex_time64 : SYS_futex;
#elif defined(SYS_futex_time64)
constexpr long futex_call = SYS_futex_time64;
#else
constexpr long futex_call = SYS_futex;
#endif

// To be added to the word: an atomic of half a word would be a call to a library on RISC-V.
constexpr std::uint32_t one_waiter = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 1U << 16 : 1;

// The caller's errno is its own.
class kept_errno {
  public:
    kept_errno() = default;
    ~kept_errno() { errno = before_; }
    kept_errno(const kept_errno &) = delete;
    kept_errno &operator=(const kept_errno &) = delete;

  private:
    int before_ = errno;
};

bool spin_for(std::uint32_t *word) {
    for (int spin = 0; spin < spins; ++spin) {
        relax();
        if (__atomic_load_n(tw_port_held(word), __ATOMIC_RELAXED) == 0 && tw_port_try_lock(word) != 0)
            return true;
    }
    return false;
}

// A barrier in every thread of the process; false where the kernel cannot.
bool barrier_everywhere() {
    if (::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0)
        return true;
    return errno == EPERM &&
           ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0 &&
           ::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
}

// One waiter more; false if the count can say no more.
bool announce(std::uint32_t *word) {
    std::uint32_t seen = __atomic_load_n(word, __ATOMIC_RELAXED);
    do
        if (*tw_port_waiters(&seen) == UINT16_MAX)
            return false;
    while (!__atomic_compare_exchange_n(word, &seen, seen + one_waiter, true, __ATOMIC_SEQ_CST,
                                        __ATOMIC_RELAXED));
    return true;
}

// Sleeps until woken, unless the lock is free or was let go meanwhile. One load
// decides and is what the kernel compares with: so whoever sleeps sleeps on a lock
// that is held, and the unlock to come sees the waiter.
void park(std::uint32_t *word, const timespec *at_most) {
    std::uint32_t seen = __atomic_load_n(word, __ATOMIC_RELAXED);
    if (*tw_port_held(&seen) != 0)
        ::syscall(futex_call, word, FUTEX_WAIT_PRIVATE, seen, at_most, nullptr, 0);
}

}  // namespace

void tw_port_lock_contended(std::uint32_t *word) {
    if (spin_for(word))
        return;
    const kept_errno kept;
    const bool is_counted = announce(word);
    constexpr timespec a_millisecond = {0, 1'000'000};
    const timespec *const at_most = is_counted && barrier_everywhere() ? nullptr : &a_millisecond;
    while (tw_port_try_lock(word) == 0)
        park(word, at_most);
    if (is_counted)
        __atomic_fetch_sub(word, one_waiter, __ATOMIC_RELAXED);
}

void tw_port_wake_waiter(std::uint32_t *word) {
    const kept_errno kept;
    ::syscall(futex_call, word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

// A wait with a bitset is the one whose deadline is absolute.
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

// The contended half of the Linux port's lock: spin briefly, then park on a futex.
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "port.h"

namespace {

constexpr std::uint32_t free_word = 0;
constexpr std::uint32_t held = 1;
constexpr std::uint32_t held_and_waited_for = 2;

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

// 64-bit-time builds on 32-bit boards only have the newer number; without a
// timeout the two calls are the same.
#ifdef SYS_futex
constexpr long futex_call = SYS_futex;
#else
constexpr long futex_call = SYS_futex_time64;
#endif

void futex(std::uint32_t *word, int operation, std::uint32_t value) {
    ::syscall(futex_call, word, operation | FUTEX_PRIVATE_FLAG, value, nullptr, nullptr, 0);
}

}  // namespace

void tw_port_lock_contended(std::uint32_t *word) {
    for (int spin = 0; spin < spins; ++spin) {
        relax();
        std::uint32_t expected = free_word;
        if (__atomic_load_n(word, __ATOMIC_RELAXED) == free_word &&
            __atomic_compare_exchange_n(word, &expected, held, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return;
    }
    // Taking it as "waited for" may cost one needless wake-up, never a lost one.
    while (__atomic_exchange_n(word, held_and_waited_for, __ATOMIC_ACQUIRE) != free_word)
        futex(word, FUTEX_WAIT, held_and_waited_for);
}

void tw_port_wake_waiter(std::uint32_t *word) { futex(word, FUTEX_WAKE, 1); }

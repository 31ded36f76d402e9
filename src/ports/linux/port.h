/* Linux port: a spinlock that parks. The word has two halves: `held`, 0 or 1, and the number of waiting
 * threads. Unlocking is a plain store and a load, half the price of an atomic exchange. lock.cpp has the
 * contended path, and explains why no wake-up is lost. */
#include <pthread.h>

#ifdef __cplusplus
extern "C" {
#endif
__attribute__((cold)) void tw_port_lock_contended(uint32_t *word);
__attribute__((cold)) void tw_port_wake_waiter(uint32_t *word);
void tw_port_futex_wait(uint32_t *word, uint32_t seen, int64_t deadline_ns);
void tw_port_futex_wake_all(uint32_t *word);
__attribute__((cold)) void tw_port_tell(const char *broken, const void *node, unsigned state);
/* observed.cpp */
#define TW_PORT_CAN_BE_OBSERVED
__attribute__((cold)) int tw_port_is_observed(void);
__attribute__((cold)) void tw_port_lock_observed(uint32_t *word);
__attribute__((cold)) void tw_port_unlock_observed(uint32_t *word);
__attribute__((cold)) void tw_port_hide(const void *from, size_t size);
#ifdef __cplusplus
}
#endif

#ifdef TW_CHECK
#include "check/check.h"
#endif

#define TW_PORT_TELLS /* to stderr; see tell.cpp */

typedef uint16_t __attribute__((may_alias)) tw_port_half;

static inline tw_port_half *tw_port_held(uint32_t *word) { return (tw_port_half *)word; }
static inline tw_port_half *tw_port_waiters(uint32_t *word) { return (tw_port_half *)word + 1; }

static inline void tw_port_lock_init(uint32_t *word) { *word = 0; }

/* Compilers for RISC-V would call libatomic for an atomic operation on half a word. There we lock with an
 * operation on the whole word that leaves the count of waiters unchanged. */
#if !defined(__GCC_HAVE_SYNC_COMPARE_AND_SWAP_2) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
static inline int tw_port_try_lock(uint32_t *word) {
    return (tw_port_half)__atomic_fetch_or(word, 1, __ATOMIC_ACQUIRE) == 0;
}
#else
static inline int tw_port_try_lock(uint32_t *word) {
    tw_port_half unheld = 0;
    return __atomic_compare_exchange_n(tw_port_held(word), &unheld, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}
#endif

static inline int tw_port_is_held(const uint32_t *word) {
    const tw_port_half *const half = (const tw_port_half *)word;
    return __atomic_load_n(half, __ATOMIC_RELAXED) != 0;
}

static inline void tw_port_lock(uint32_t *word) {
    if (__builtin_expect(!tw_port_try_lock(word), 0))
        tw_port_lock_contended(word);
}

static inline void tw_port_unlock(uint32_t *word) {
    __atomic_store_n(tw_port_held(word), 0, __ATOMIC_RELEASE);
    __atomic_signal_fence(__ATOMIC_SEQ_CST); /* keeps the compiler from reordering the two */
    if (__atomic_load_n(tw_port_waiters(word), __ATOMIC_RELAXED) != 0)
        tw_port_wake_waiter(word);
}

static inline uintptr_t tw_port_self(void) { return (uintptr_t)pthread_self(); }
static inline void tw_port_wait(uint32_t *word, uint32_t seen, int64_t deadline_ns) {
    tw_port_futex_wait(word, seen, deadline_ns);
}
static inline void tw_port_wake_all(uint32_t *word) { tw_port_futex_wake_all(word); }

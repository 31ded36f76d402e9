/* Linux port: a spinlock that parks. The word has three parts: a byte that is not 0 while a thread has the
 * lock; a byte that is not 0 while a thread insists on being next; and the number of waiting threads, in the
 * other half. Unlocking is a plain store and a load, half the price of an atomic exchange. lock.cpp has the
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

/* The two bytes, as values of the half that they make up. */
#define TW_PORT_HELD (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 0x1U : 0x100U)
#define TW_PORT_WANTED (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 0x100U : 0x1U)

static inline unsigned char *tw_port_held(uint32_t *word) { return (unsigned char *)word; }
static inline tw_port_half *tw_port_waiters(uint32_t *word) { return (tw_port_half *)word + 1; }

static inline void tw_port_lock_init(uint32_t *word) { *word = 0; }

/* Takes the lock if its half of the word is `seen`, 0 or TW_PORT_WANTED. Compilers for RISC-V would call
 * libatomic for an atomic operation on half a word, so there this exchanges the whole word, and also fails if
 * the other half changes meanwhile. */
#if !defined(__GCC_HAVE_SYNC_COMPARE_AND_SWAP_2) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
static inline int tw_port_take(uint32_t *word, uint32_t seen) {
    const uint32_t others = __atomic_load_n(word, __ATOMIC_RELAXED) & 0xffff0000;
    uint32_t whole = others | seen;
    return __atomic_compare_exchange_n(word, &whole, others | TW_PORT_HELD, 0, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED);
}
#else
static inline int tw_port_take(uint32_t *word, uint32_t seen) {
    tw_port_half half = (tw_port_half)seen;
    return __atomic_compare_exchange_n((tw_port_half *)word, &half, (tw_port_half)TW_PORT_HELD, 0,
                                       __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}
#endif
static inline int tw_port_try_lock(uint32_t *word) { return tw_port_take(word, 0); }

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

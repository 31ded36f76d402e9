/* A port that tells the test when its lock is taken. For one thread, which may pretend to be several. */
#include <stdint.h>

#define COUNTING_OPEN 77u /* a lock that is free; memory of any content is none */

/* Weak, because each source that includes this header defines them. */
__attribute__((weak)) uintptr_t counting_self;     /* the thread that runs */
__attribute__((weak)) void (*counting_wait)(void); /* what other threads do while this one waits */
__attribute__((weak)) unsigned counting_wakes;

#ifdef __cplusplus
extern "C" {
#endif
void counting_locked(uint32_t held); /* 1, because a lock does not nest */
void counting_unlocked(void);
#ifdef __cplusplus
}
#endif

static inline void tw_port_lock_init(uint32_t *word) { *word = COUNTING_OPEN; }

static inline void tw_port_lock(uint32_t *word) {
    *word += 1;
    counting_locked(*word - COUNTING_OPEN);
}

static inline void tw_port_unlock(uint32_t *word) {
    *word -= 1;
    counting_unlocked();
}

static inline uintptr_t tw_port_self(void) { return counting_self; }
static inline void tw_port_wait(uint32_t *word, uint32_t seen, int64_t deadline_ns) {
    (void)word, (void)seen, (void)deadline_ns;
    if (counting_wait)
        counting_wait();
}
static inline void tw_port_wake_all(uint32_t *word) {
    (void)word;
    ++counting_wakes;
}

/* Port for Zephyr: the lock is irq_lock, which nests, may be taken in interrupts, and holds for all cores.
 * Zero-latency interrupts are not masked and must not call the library. */
#include <zephyr/kernel.h>

static inline void tw_port_lock_init(uint32_t *word) { *word = 0; }

/* The word is written after masking, so it holds the mask that this caller has to restore. */
static inline void tw_port_lock(uint32_t *word) {
    const unsigned key = irq_lock();
    *word = key;
}

static inline void tw_port_unlock(uint32_t *word) { irq_unlock(*word); }

/* For tw_wait. */
static inline uintptr_t tw_port_self(void) { return (uintptr_t)k_current_get(); }

static inline void tw_port_wait(uint32_t *word, uint32_t seen, int64_t deadline_ns) {
    (void)word, (void)seen, (void)deadline_ns;
    (void)k_sleep(K_TICKS(1)); /* it may return early: tw_wait checks again */
}

static inline void tw_port_wake_all(uint32_t *word) { (void)word; }

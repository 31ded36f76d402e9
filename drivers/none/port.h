/* Port without a lock: each wheel is used by one thread only. */
static inline void tw_port_lock_init(uint32_t *word) { *word = 0; }
static inline void tw_port_lock(uint32_t *word) { (void)word; }
static inline void tw_port_unlock(uint32_t *word) { (void)word; }

/* Nobody waits for another thread: there is none. */
static inline uintptr_t tw_port_self(void) { return 0; }
static inline void tw_port_wait(uint32_t *word, uint32_t seen, int64_t deadline_ns) {
    (void)word, (void)seen, (void)deadline_ns;
}
static inline void tw_port_wake_all(uint32_t *word) { (void)word; }

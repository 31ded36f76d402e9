/* A port that tells the test when its lock is taken. For one thread. */
#ifdef __cplusplus
extern "C" {
#endif
void counting_locked(uint32_t held); /* 1, as a lock does not nest */
void counting_unlocked(void);
#ifdef __cplusplus
}
#endif

static inline void tw_port_lock_init(uint32_t *word) { *word = 0; }

static inline void tw_port_lock(uint32_t *word) {
    *word += 1;
    counting_locked(*word);
}

static inline void tw_port_unlock(uint32_t *word) {
    *word -= 1;
    counting_unlocked();
}

static inline uintptr_t tw_port_self(void) { return 0; }
static inline void tw_port_wait(uint32_t *word, uint32_t seen, int64_t deadline_ns) {
    (void)word, (void)seen, (void)deadline_ns;
}
static inline void tw_port_wake_all(uint32_t *word) { (void)word; }

/* Linux port: a spinlock that parks. The word is 0 free, 1 held, 2 held and
 * perhaps waited for. The uncontended paths are here, the rest in lock.cpp. */
#ifdef __cplusplus
extern "C" {
#endif
void tw_port_lock_contended(uint32_t *word);
void tw_port_wake_waiter(uint32_t *word);
#ifdef __cplusplus
}
#endif

static inline void tw_port_lock_init(uint32_t *word) { *word = 0; }

static inline void tw_port_lock(uint32_t *word) {
    uint32_t unheld = 0;
    if (!__atomic_compare_exchange_n(word, &unheld, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        tw_port_lock_contended(word);
}

static inline void tw_port_unlock(uint32_t *word) {
    if (__atomic_exchange_n(word, 0, __ATOMIC_RELEASE) == 2)
        tw_port_wake_waiter(word);
}

/* Port without locks, for programs that use each wheel from one thread only. */
#define TW_PORT_ONE_THREAD

static inline void tw_port_lock_init(uint32_t *word) { *word = 0; }
static inline void tw_port_lock(uint32_t *word) { (void)word; }
static inline void tw_port_unlock(uint32_t *word) { (void)word; }

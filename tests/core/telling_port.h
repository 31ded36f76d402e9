/* A port without a lock, whose tw_port_tell reports damage to the test and does not return. */
#define TW_PORT_ONE_THREAD
#define TW_PORT_TELLS

static inline void tw_port_lock_init(uint32_t *word) { *word = 0; }
static inline void tw_port_lock(uint32_t *word) { (void)word; }
static inline void tw_port_unlock(uint32_t *word) { (void)word; }

void tw_port_tell(const char *broken, const void *node, unsigned state);

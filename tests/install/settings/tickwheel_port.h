/* The project's port header, which includes others. Its lock leaves a mark, by which firmware.c knows it. */
#include <registers.h>

#include <critical.h>

#define TW_PORT_ONE_THREAD
static inline void tw_port_lock_init(uint32_t *word) { *word = 0; }
static inline void tw_port_lock(uint32_t *word) { *word = enter_critical(); }
static inline void tw_port_unlock(uint32_t *word) { (void)word; }

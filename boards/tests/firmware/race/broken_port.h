/* A deliberately broken port, to verify that the self-test and the race tests notice. BROKEN says how:
 *
 *   NO_LOCK          its lock does nothing
 *   ALWAYS_UNMASKS   its unlock does not restore the former mask
 *
 * and with TW_BASEPRI, where its lock masks by priority:
 *
 *   CLEARS_BASEPRI   its unlock does not restore the former mask
 *   LOWERS_BASEPRI   its lock overwrites a more urgent mask
 *   MASKS_TOO_LITTLE its lock lets in the most urgent priority that calls the library
 *   MASKS_TOO_MUCH   its lock keeps out interrupts that it should leave running */
#ifdef __riscv
#include <tickwheel/riscv/interrupts.h>
#define UNMASKED TW_MSTATUS_MIE
#else
#include <tickwheel/cortexm/interrupts.h>
#define UNMASKED 0u
#endif

#define TW_PORT_ONE_THREAD

enum { NO_LOCK, ALWAYS_UNMASKS, CLEARS_BASEPRI, LOWERS_BASEPRI, MASKS_TOO_LITTLE, MASKS_TOO_MUCH };

static inline void tw_port_lock_init(uint32_t *word) { *word = 0; }

#ifdef TW_BASEPRI
enum { OFF_BY = BROKEN == MASKS_TOO_LITTLE ? 0x20 : BROKEN == MASKS_TOO_MUCH ? -0x20 : 0 };

static inline void lock_by_priority(uint32_t *word) {
    const uint32_t former = tw_interrupts_mask_from((uint32_t)(TW_BASEPRI + OFF_BY));
    if (BROKEN == LOWERS_BASEPRI)
        tw_interrupts_restore_from(TW_BASEPRI);
    *word = former;
}
static inline void unlock_by_priority(const uint32_t *word) {
    tw_interrupts_restore_from(BROKEN == CLEARS_BASEPRI ? 0u : *word);
}
#else
static inline void lock_by_priority(uint32_t *word) { (void)word; }
static inline void unlock_by_priority(const uint32_t *word) { (void)word; }
#endif

static inline void tw_port_lock(uint32_t *word) {
    if (BROKEN == ALWAYS_UNMASKS)
        (void)tw_interrupts_mask();
    else if (BROKEN != NO_LOCK)
        lock_by_priority(word);
}
static inline void tw_port_unlock(uint32_t *word) {
    if (BROKEN == ALWAYS_UNMASKS)
        tw_interrupts_restore(UNMASKED);
    else if (BROKEN != NO_LOCK)
        unlock_by_priority(word);
}

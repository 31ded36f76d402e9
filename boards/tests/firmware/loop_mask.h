/* loop_mask.h - masks interrupts as a program's main loop does: by priority if the library's lock does, so
 * that more urgent interrupts are not delayed by the loop either. */
#ifndef LOOP_MASK_H
#define LOOP_MASK_H

#include <clock.h> /* tw_interrupts_mask */

#ifdef TW_BASEPRI
static inline uint32_t loop_mask(void) { return tw_interrupts_mask_from(TW_BASEPRI); }
static inline void loop_restore(uint32_t former) { tw_interrupts_restore_from(former); }
#else
static inline uint32_t loop_mask(void) { return tw_interrupts_mask(); }
static inline void loop_restore(uint32_t former) { tw_interrupts_restore(former); }
#endif

#endif

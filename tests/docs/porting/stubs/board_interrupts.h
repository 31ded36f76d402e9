/* The interrupt functions that docs/PORTING.md assumes of a board; the test implements them. */
#ifndef BOARD_INTERRUPTS_H
#define BOARD_INTERRUPTS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

uint32_t irq_save(void);
void irq_restore(uint32_t was);
void wait_for_interrupt(void);

#ifdef __cplusplus
}
#endif

#endif

/* The interrupts of a chip that the library does not know; ../../../down_counter.c simulates them. */
#ifndef TICKWHEEL_BOARD_INTERRUPTS_H
#define TICKWHEEL_BOARD_INTERRUPTS_H

#include <stdint.h>

uint32_t tw_interrupts_mask(void);
void tw_interrupts_restore(uint32_t mask);
void tw_interrupts_wait(void);

#endif

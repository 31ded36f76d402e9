/* The clock that docs/PORTING.md takes a board to have; the test plays it. */
#ifndef BOARD_CLOCK_H
#define BOARD_CLOCK_H

#include <stdint.h>

uint64_t clock_now(void);
void clock_sleep_until(uint64_t tick);

#endif

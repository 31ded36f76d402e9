/* The clock that docs/PORTING.md assumes of a board; the test implements it. */
#ifndef BOARD_CLOCK_H
#define BOARD_CLOCK_H

#include <stdint.h>

uint64_t clock_now(void);
void clock_sleep_until(uint64_t tick);

#endif

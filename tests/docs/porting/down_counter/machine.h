/* A down-counting timer without a compare register, as docs/PORTING.md has it; ../down_counter.c simulates
 * it. */
#ifndef MACHINE_H
#define MACHINE_H

#include <stdbool.h>
#include <stdint.h>

uint32_t timer_value(void);
void timer_load(uint32_t n);
bool timer_ended(void);
void timer_enable(void);

#endif

/* begin.h - between the start-up code of a CPU and what is common to all. */
#ifndef BEGIN_H
#define BEGIN_H

extern unsigned char stack_top[]; /* from firmware.ld */

/* Sets up memory, runs main(), and ends with its result. */
__attribute__((noreturn)) void begin(void);

/* Says so, and ends the image. */
__attribute__((noreturn)) void unexpected_interrupt(void);

#endif

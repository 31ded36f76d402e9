/* begin.h - the interface between the start-up code of a CPU and the code common to all. */
#ifndef BEGIN_H
#define BEGIN_H

extern unsigned char stack_top[]; /* from firmware.ld */

/* Sets up memory, runs main() and ends the image with its result. */
__attribute__((noreturn)) void begin(void);

/* Prints a message and ends the image with status 99. */
__attribute__((noreturn)) void fail_image(const char *message);
__attribute__((noreturn)) void unexpected_interrupt(void);

#endif

/* board.h - interrupts of a machine, under the same names on each. */
#ifndef BOARD_H
#define BOARD_H

#include <machine.h> /* MACHINE_NAME, CLOCK_HZ: counts per second of the tick's timer; interrupt numbers */

#ifdef __cplusplus
extern "C" {
#endif

/* The handlers. An image defines those that it uses; one that comes unasked ends it. */
void on_tick(void);   /* the timer that counts ticks */
void on_signal(void); /* raised by software */
void on_alarm(void);  /* the other timer, see timer.h */

/* The software interrupt: pending as soon as it is raised, with interrupts masked or not. */
void signal_start(void);
void signal_raise(void);

/* How often the clock has put the CPU to sleep; see wait.c. */
extern volatile unsigned waits;

#ifdef __cplusplus
}
#endif

#endif

/* board.h - the interrupts of a machine, under the same names on every machine. */
#ifndef BOARD_H
#define BOARD_H

#include <stdint.h>

#include <machine.h> /* MACHINE_NAME, CLOCK_HZ: counts per second of the tick's timer; interrupt numbers */

#ifdef __cplusplus
extern "C" {
#endif

/* Handlers. An image defines the ones it uses; an interrupt without a handler ends the image. */
void on_tick(void);   /* the timer that counts ticks */
void on_signal(void); /* the software interrupt */
void on_alarm(void);  /* the other timer, see timer.h */

/* The software interrupt. Raising it makes it pending at once, even while interrupts are masked. A machine
 * without one defines NO_SOFTWARE_INTERRUPT, for self_test.c. */
void signal_start(void);
void signal_raise(void);

/* Cortex-M: sets the priority of the software interrupt, a byte as in the registers of the NVIC. The
 * start-up code has given all interrupts the least urgent priority. */
void signal_set_priority(uint32_t priority);

/* Counts how often the clock has waited for an interrupt; see wait.c. */
extern volatile unsigned waits;

#ifdef __cplusplus
}
#endif

#endif

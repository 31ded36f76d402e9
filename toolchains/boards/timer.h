/* timer.h - another timer of the machine than the one that counts ticks: an independent
 * clock to check it by, and an interrupt at a time of one's choice. */
#ifndef TIMER_H
#define TIMER_H

#include <stdint.h>

#include <machine.h> /* STOPWATCH_HZ */

#ifdef __cplusplus
extern "C" {
#endif

/* First of all. It counts up from 0 at STOPWATCH_HZ, and wraps. */
void stopwatch_start(void);
uint32_t stopwatch_read(void);

/* Calls on_alarm() once, `counts` counts of STOPWATCH_HZ from now (some microseconds at least,
 * or it may be past before it is set); until then, a further call sets it anew. */
void alarm_start(uint32_t counts);

/* What on_alarm() begins with: takes the interrupt back. Before it has come: calls it off. */
void alarm_silence(void);

#ifdef __cplusplus
}
#endif

#endif

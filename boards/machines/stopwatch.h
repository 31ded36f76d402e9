/* stopwatch.h - a timer of the machine besides the one that counts ticks. It provides an
 * independent clock to check the first one by, and an interrupt at a chosen time. A machine without one
 * defines NO_SECOND_TIMER, for self_test.c. */
#ifndef STOPWATCH_H
#define STOPWATCH_H

#include <stdint.h>

#include <machine.h> /* STOPWATCH_HZ */

#ifdef __cplusplus
extern "C" {
#endif

/* Call stopwatch_start first. The stopwatch counts up from 0 at STOPWATCH_HZ and wraps. */
void stopwatch_start(void);
uint32_t stopwatch_read(void);

/* Calls on_alarm() once, `counts` counts of STOPWATCH_HZ from now. Allow some microseconds at
 * least, or the time may pass before the alarm is set. A further call replaces a pending
 * alarm. */
void alarm_start(uint32_t counts);

/* Acknowledges the interrupt; on_alarm() calls it first. Cancels an alarm that is still
 * pending. */
void alarm_silence(void);

#ifdef __cplusplus
}
#endif

#endif

/* BBC micro:bit, an nRF51822: a Cortex-M0. */
#ifndef MACHINE_H
#define MACHINE_H

#define MACHINE_NAME "microbit"
#define CLOCK_HZ 16000000u
#define STOPWATCH_HZ 8000000u
#define SIGNAL_IRQ 20 /* SWI0, reserved for software */
#define ALARM_IRQ 8   /* timer 0 */

#endif

/* Stellaris LM3S6965: a Cortex-M3. */
#ifndef MACHINE_H
#define MACHINE_H

#define MACHINE_NAME "lm3s6965evb"
#define CLOCK_HZ 12500000u
#define STOPWATCH_HZ CLOCK_HZ
#define SIGNAL_IRQ 33 /* the hibernation module; unused */
#define ALARM_IRQ 21  /* general-purpose timer 1 A */

#endif

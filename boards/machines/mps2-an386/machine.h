/* Arm MPS2 with AN386: a Cortex-M4F. */
#ifndef MACHINE_H
#define MACHINE_H

#define MACHINE_NAME "mps2-an386"
#define CLOCK_HZ 25000000u
#define STOPWATCH_HZ CLOCK_HZ
#define SIGNAL_IRQ 20 /* unused */
#define ALARM_IRQ 9   /* CMSDK timer 1 */

#endif

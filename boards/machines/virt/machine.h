/* The virt machine of QEMU: RV32, with the timer of a CLINT. */
#ifndef MACHINE_H
#define MACHINE_H

#define MACHINE_NAME "virt"
#define CLOCK_HZ 10000000u
#define STOPWATCH_HZ 125000000u /* in counts of 8 ns, so that 32 bits last for half a minute */
#define CLINT 0x02000000u
#define CLINT_MTIMECMP (CLINT + 0x4000u)
#define CLINT_MTIME (CLINT + 0xbff8u)

#endif

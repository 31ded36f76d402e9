/* interrupts.h - interrupts of two priorities: the alarm can interrupt the signal's handler. */
#ifndef RACE_INTERRUPTS_H
#define RACE_INTERRUPTS_H

#include <stdbool.h>
#include <stdint.h>

#include <board.h>
#include <clock.h> /* tw_interrupts_mask */

#ifdef __riscv

static inline bool masked(void) {
    uintptr_t mstatus;
    __asm__ volatile("csrr %0, mstatus" : "=r"(mstatus));
    return (mstatus & TW_MSTATUS_MIE) == 0;
}

static inline void set_priorities(void) {}

/* A trap masks all interrupts. Nested ones overwrite the registers by which this trap returns,
 * so it saves them. */
static inline void interruptibly(void (*act)(void)) {
    uintptr_t mepc, mstatus;
    __asm__ volatile("csrr %0, mepc\n\tcsrr %1, mstatus" : "=&r"(mepc), "=r"(mstatus));
    tw_interrupts_restore(TW_MSTATUS_MIE);
    act();
    (void)tw_interrupts_mask();
    __asm__ volatile("csrw mepc, %0\n\tcsrw mstatus, %1" : : "r"(mepc), "r"(mstatus));
}

#else

static inline bool masked(void) {
    uint32_t primask;
    __asm__ volatile("mrs %0, primask" : "=r"(primask));
    return primask != 0;
}

static inline void set_priorities(void) {
    volatile uint32_t *const ipr = (volatile uint32_t *)0xE000E400u;
    /* a lower value is more urgent; all are 0 at reset */
    ipr[SIGNAL_IRQ / 4] |= 0xC0u << SIGNAL_IRQ % 4 * 8;
}

static inline void interruptibly(void (*act)(void)) { act(); }

#endif

#endif

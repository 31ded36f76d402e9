/* priorities.h - interrupts of two priorities: the alarm can interrupt the signal's handler. */
#ifndef RACE_PRIORITIES_H
#define RACE_PRIORITIES_H

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

/* A trap masks all interrupts. A nested trap overwrites the registers by which this one returns, so
 * this function saves and restores them. */
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
    uint32_t mask;
#ifdef TW_BASEPRI
    __asm__ volatile("mrs %0, basepri" : "=r"(mask));
#else
    __asm__ volatile("mrs %0, primask" : "=r"(mask));
#endif
    return mask != 0;
}

static inline void set_alarm_priority(uint32_t priority) {
    volatile uint32_t *const four = (volatile uint32_t *)0xE000E400u + ALARM_IRQ / 4;
    const unsigned shift = ALARM_IRQ % 4 * 8;
    *four = (*four & ~(0xFFu << shift)) | priority << shift;
}

/* The alarm becomes more urgent than the signal, which has the least urgent priority from the start. */
static inline void set_priorities(void) { set_alarm_priority(0x80); }

static inline void interruptibly(void (*act)(void)) { act(); }

#endif

#endif

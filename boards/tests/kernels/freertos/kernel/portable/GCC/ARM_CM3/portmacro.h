/* The stand-in on a Cortex-M3; see FreeRTOS.h. Masking takes as many instructions as the kernel's. */
#ifndef PORTMACRO_H
#define PORTMACRO_H

#define portSET_INTERRUPT_MASK_FROM_ISR() raise_basepri()
#define portCLEAR_INTERRUPT_MASK_FROM_ISR(mask) set_basepri((uint32_t)(mask))

__attribute__((always_inline)) static inline uint32_t raise_basepri(void) {
    uint32_t was, raised;
    __asm__ volatile("mrs %0, basepri\n\tmov %1, %2\n\tmsr basepri, %1\n\tisb\n\tdsb"
                     : "=r"(was), "=r"(raised)
                     : "i"(configMAX_SYSCALL_INTERRUPT_PRIORITY)
                     : "memory");
    return was;
}

__attribute__((always_inline)) static inline void set_basepri(uint32_t mask) {
    __asm__ volatile("msr basepri, %0" : : "r"(mask) : "memory");
}

#endif

/* The port of the stand-in for tests on the build machine: kernel.c masks. */
#ifndef PORTMACRO_H
#define PORTMACRO_H

#ifdef __cplusplus
extern "C" {
#endif

UBaseType_t test_mask(void);
void test_unmask(UBaseType_t mask);

#ifdef __cplusplus
}
#endif

#define portSET_INTERRUPT_MASK_FROM_ISR() test_mask()
#define portCLEAR_INTERRUPT_MASK_FROM_ISR(mask) test_unmask(mask)

#endif

/* tickwheel/board/interrupts.h - masks interrupts, by the functions of the processor's family. */
#ifndef TICKWHEEL_BOARD_INTERRUPTS_H
#define TICKWHEEL_BOARD_INTERRUPTS_H

#ifdef __riscv
#include <tickwheel/riscv/interrupts.h>
#else
#include <tickwheel/cortexm/interrupts.h>
#endif

#endif

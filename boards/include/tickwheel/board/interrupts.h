/* tickwheel/board/interrupts.h - masks interrupts, by the functions of the processor's family. For another
 * family, put a header of this name, with the functions of tickwheel/riscv/interrupts.h, first on the include
 * path. */
#ifndef TICKWHEEL_BOARD_INTERRUPTS_H
#define TICKWHEEL_BOARD_INTERRUPTS_H

#ifdef __riscv
#include <tickwheel/riscv/interrupts.h>
#else
#include <tickwheel/cortexm/interrupts.h>
#endif

#endif

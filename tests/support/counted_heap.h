/* Counts calls to the heap: the linker redirects the calls that the program and the library make (--wrap, see
 * CMakeLists.txt). */
#ifndef TICKWHEEL_TESTS_COUNTED_HEAP_H
#define TICKWHEEL_TESTS_COUNTED_HEAP_H

/* Counts allocating and freeing calls. It is volatile, because compilers know that malloc does
 * not change the program's variables. */
extern volatile unsigned allocations;

#endif

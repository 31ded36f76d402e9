/* Counts the calls to the heap: the linker redirects those of the program and the library
 * (--wrap, see CMakeLists.txt). */
#ifndef TICKWHEEL_TESTS_COUNTED_HEAP_H
#define TICKWHEEL_TESTS_COUNTED_HEAP_H

/* Counts allocating and freeing calls. It is volatile, because compilers know that malloc does
 * not change the program's variables. */
extern volatile unsigned allocations;

#endif

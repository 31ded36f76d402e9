/* Counts the calls to the heap: the linker redirects those of the program and the library
 * (--wrap, see CMakeLists.txt). */
#ifndef TICKWHEEL_TESTS_COUNTED_HEAP_H
#define TICKWHEEL_TESTS_COUNTED_HEAP_H

/* Allocating and freeing calls. volatile: compilers know that malloc changes nothing of
 * the program's. */
extern volatile unsigned allocations;

#endif

/* The heap as the test's own: the linker redirects what the program and the library ask
 * of it (--wrap, see CMakeLists.txt), and each call is counted. */
#ifndef TICKWHEEL_TESTS_COUNTED_HEAP_H
#define TICKWHEEL_TESTS_COUNTED_HEAP_H

/* Allocating and freeing calls. volatile: compilers know that malloc changes nothing of
 * the program's. */
extern volatile unsigned allocations;

#endif

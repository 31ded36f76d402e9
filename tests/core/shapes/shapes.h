/* shapes.h - the wheels that a test runs on.
 *
 * The library's wheel has one shape: three levels of 256 slots, with look-ahead. A wheel with few slots
 * reaches its rare states within a few ticks. So tests of the core link `wheel_shapes` instead of the
 * library: there the functions of tw.h call those of the shape chosen last. A test of a tree, or of the
 * library itself, links one_shape.c, which has one shape for the wheel and two for a tree. A tree has no
 * slots, but the tests derive their distances from a shape all the same. */
#ifndef TICKWHEEL_TESTS_CORE_SHAPES_H
#define TICKWHEEL_TESTS_CORE_SHAPES_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct shape {
    const char *name;
    unsigned bits; /* a level has 2^bits slots */
    unsigned levels;
    bool ahead;        /* with look-ahead */
    bool is_tree;      /* a tree, which has no levels: the other fields only give distances */
    size_t wheel_size; /* bytes that the wheel takes of a struct tw */
};

/* The shape that the functions of tw.h use now; initially shape 0. */
extern const struct shape *shape;

/* Chooses shape number i, counted from 0. Returns false, and leaves the shape as it is, if there is none.
 * Wheels of another shape must not be used any more. */
bool use_shape(unsigned i);

/* Set by on_each_shape.c if the argument `unlocked` is given: tests then make their wheels without a lock. */
extern bool wheels_are_unlocked;

/* Ticks in a round of the top level, as a power of two. */
static inline unsigned shape_round_bits(void) {
    return shape->bits * shape->levels - (shape->ahead && shape->levels > 1 ? 1 : 0);
}

#ifdef __cplusplus
}
#endif

#endif

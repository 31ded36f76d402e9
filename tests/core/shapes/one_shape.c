/* The shapes of a test with a library as it is; see shapes.h. */
#include "shapes.h"

#include <tickwheel/tw.h>

#if TW_TREE
static const struct shape shapes[] = {
    {"tree, distances of 8x3", 8, 3, false, true, sizeof(struct tw)},
    {"tree, distances of 2x3", 2, 3, false, true, sizeof(struct tw)},
};
#else
static const struct shape shapes[] = {{"8x3", 8, 3, true, false, sizeof(struct tw)}};
#endif

const struct shape *shape = shapes;

bool use_shape(unsigned i) {
    if (i >= sizeof shapes / sizeof *shapes)
        return false;
    shape = &shapes[i];
    return true;
}

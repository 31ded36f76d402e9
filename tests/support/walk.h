/* walk.h - a walk over a wheel as one call, for tests. */
#ifndef TICKWHEEL_TESTS_SUPPORT_WALK_H
#define TICKWHEEL_TESTS_SUPPORT_WALK_H

#include <tickwheel/tw.h>

#if TW_RUNTIME
/* `was` is the copy of the node that the walk has made. */
typedef void walk_visitor(const struct tw_node *node, const struct tw_node *was, void *arg);

/* Calls visit(node, was, arg) for each node that a walk meets, and returns their number. */
static inline unsigned walk_through(struct tw *w, walk_visitor *visit, void *arg) {
    struct tw_walk walk;
    unsigned visits = 0;
    __builtin_memset(&walk, 0, sizeof walk);
    for (const struct tw_node *node; (node = tw_walk_next(w, &walk)) != NULL; ++visits)
        visit(node, &walk.was, arg);
    return visits;
}
#endif

#endif

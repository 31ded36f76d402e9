/* counted_walk.h - counts the visits of a walk, for tests. */
#ifndef TICKWHEEL_TESTS_SUPPORT_COUNTED_WALK_H
#define TICKWHEEL_TESTS_SUPPORT_COUNTED_WALK_H

#include <tickwheel/task.h>

/* The argument of a walk that counts visits and passes them on to `visitor`. */
struct counted_walk {
    tw_visitor *visitor;
    void *arg;
    int64_t visits;
};

static inline int count_and_visit(const struct tw_entry *entry, void *walk) {
    struct counted_walk *const counted = (struct counted_walk *)walk;
    ++counted->visits;
    return counted->visitor(entry, counted->arg);
}

/* The number of visits; or the result of the walk, if that is not 0. */
static inline int64_t counted(int result, const struct counted_walk *walk) {
    return result == 0 ? walk->visits : result;
}

#endif

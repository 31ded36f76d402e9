/* See exceptions.h. */
#include "exceptions.h"

struct passage {
    void (*left)(void *);
    void *arg;
    int has_returned;
};

/* Runs at the end of the scope, with or without an exception. */
static void clean_up(struct passage *it) {
    if (!it->has_returned)
        it->left(it->arg);
}

void tw_passing_exceptions(void (*body)(void *), void (*left)(void *), void *arg) {
    __attribute__((cleanup(clean_up))) struct passage it = {left, arg, 0};
    body(arg);
    it.has_returned = 1;
}

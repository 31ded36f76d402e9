/* See exceptions.h. */
#include "exceptions.h"

struct passage {
    void (*left)(void *);
    void *arg;
    int has_returned;
};

/* Runs at the end of the scope, with or without an exception. */
static void clean_up(struct passage *passage) {
    if (!passage->has_returned)
        passage->left(passage->arg);
}

void tw_passing_exceptions(void (*body)(void *), void (*left)(void *), void *arg) {
    __attribute__((cleanup(clean_up))) struct passage passage = {left, arg, 0};
    body(arg);
    passage.has_returned = 1;
}

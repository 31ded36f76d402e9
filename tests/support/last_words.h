/* Commits a misuse that ends the program in a child, and collects the child's last message. */
#ifndef TICKWHEEL_TESTS_SUPPORT_LAST_WORDS_H
#define TICKWHEEL_TESTS_SUPPORT_LAST_WORDS_H

#include "support/child.h"

#include <signal.h>
#include <sys/resource.h>

struct end {
    int status;
    char said[4096];
};

static inline void misuse_alone(void (*misuse)(void), int said) {
    alarm(10); /* a hang ends the child with a signal that the test does not expect */
    signal(SIGSEGV, SIG_DFL);
    signal(SIGABRT, SIG_DFL); /* not handled by CMocka */
    setrlimit(RLIMIT_CORE, &(struct rlimit){0});
    dup2(said, STDERR_FILENO);
    misuse();
    leave(0);
}

static inline struct end end_of(void (*misuse)(void)) {
    struct end end = {0};
    size_t length = 0;
    int said[2];
    assert_int_equal(pipe(said), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        misuse_alone(misuse, said[1]);
    close(said[1]);
    for (ssize_t got; (got = read(said[0], end.said + length, sizeof end.said - 1 - length)) > 0;)
        length += (size_t)got;
    close(said[0]);
    assert_int_equal(waitpid(child, &end.status, 0), child);
    return end;
}

#endif

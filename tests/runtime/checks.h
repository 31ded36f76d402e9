/* For tests of the checking build (TW_CHECK). A child plays a scene: with the mistake, it must end with a
 * message; without the mistake, it must end well and print nothing. */
#ifndef TICKWHEEL_TESTS_RUNTIME_CHECKS_H
#define TICKWHEEL_TESTS_RUNTIME_CHECKS_H

#include "support/last_words.h"
#include "support/runtime_test.h"
#include "support/sanitized.h"

/* For a function that a message must name: the program exports the function, and the compiler makes no
 * unnamed copy of it. */
#ifdef __clang__
#define EXPORTED __attribute__((noinline, visibility("default")))
#else
#define EXPORTED __attribute__((noipa, visibility("default")))
#endif

/* Asserts that the scene aborts and prints each of the words, which end with a null pointer. */
static inline void assert_said(void (*scene)(void), const char *const *words) {
    const struct end end = end_of(scene);
    for (; *words != NULL; ++words)
        if (strstr(end.said, *words) == NULL)
            fail_msg("it said \"%s\", where this was awaited: %s", end.said, *words);
    if (!WIFSIGNALED(end.status) || WTERMSIG(end.status) != SIGABRT)
        fail_msg("status %x; it said \"%s\"", (unsigned)end.status, end.said);
}
#define assert_stops(scene, ...) assert_said(scene, (const char *const[]){"tickwheel: ", __VA_ARGS__, NULL})

static inline void assert_well(void (*scene)(void)) {
    const struct end end = end_of(scene);
    if (!WIFEXITED(end.status) || WEXITSTATUS(end.status) != 0 || end.said[0] != '\0')
        fail_msg("status %x; it said \"%s\"", (unsigned)end.status, end.said);
}

#endif

/* meaning.h - what an error means in general, for tests. */
#ifndef TICKWHEEL_TESTS_SUPPORT_MEANING_H
#define TICKWHEEL_TESTS_SUPPORT_MEANING_H

#include <pthread.h>

#include <tickwheel/runtime.h>

static inline void *explain_on_thread(void *error) {
    return (void *)(uintptr_t)tw_explain(*(const int *)error); /* NOLINT(performance-no-int-to-ptr) */
}

/* The answer of tw_explain on a thread on which no call has been refused. */
static inline const char *meaning_of(int error) {
    pthread_t thread;
    void *meaning = NULL;
    if (pthread_create(&thread, NULL, explain_on_thread, &error) == 0)
        pthread_join(thread, &meaning);
    return meaning != NULL ? (const char *)meaning : "no thread";
}

#endif

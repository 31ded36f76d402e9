/* meaning.h - what an error means in general, for tests. */
#ifndef TICKWHEEL_TESTS_SUPPORT_MEANING_H
#define TICKWHEEL_TESTS_SUPPORT_MEANING_H

#include <pthread.h>

#include <tickwheel/runtime.h>

static inline void *explain_on_thread(void *error) {
    return (void *)(uintptr_t)tw_explain(*(const int *)error); /* NOLINT(performance-no-int-to-ptr) */
}

/* What tw_explain tells a thread that no call has refused anything. */
static inline const char *meaning_of(int error) {
    pthread_t thread;
    void *meaning = NULL;
    if (pthread_create(&thread, NULL, explain_on_thread, &error) == 0)
        pthread_join(thread, &meaning);
    return meaning != NULL ? (const char *)meaning : "no thread";
}

#endif

/* The state of the threads of this process, as the kernel reports it. */
#ifndef TICKWHEEL_TESTS_SUPPORT_THREADS_H
#define TICKWHEEL_TESTS_SUPPORT_THREADS_H

#include "support/test.h"

#include <dirent.h>
#include <stdbool.h>

struct thread_look {
    char state;           /* S: asleep */
    uint64_t voluntary;   /* context switches so far because the thread went to sleep */
    uint64_t involuntary; /* context switches so far because the thread was preempted */
};

/* Returns false if the thread has ended. */
static inline bool look_at_thread(long thread, struct thread_look *look) {
    char path[64], line[128];
    unsigned long long number;
    *look = (struct thread_look){.state = '?'};
    snprintf(path, sizeof path, "/proc/self/task/%ld/status", thread);
    FILE *const status = fopen(path, "re");
    if (status == NULL)
        return false;
    while (fgets(line, sizeof line, status) != NULL) {
        (void)sscanf(line, "State: %c", &look->state);
        if (sscanf(line, "voluntary_ctxt_switches: %llu", &number) == 1)
            look->voluntary = number;
        if (sscanf(line, "nonvoluntary_ctxt_switches: %llu", &number) == 1)
            look->involuntary = number;
    }
    fclose(status);
    return true;
}

static inline bool is_asleep(long thread) {
    struct thread_look look;
    return look_at_thread(thread, &look) && look.state == 'S';
}

/* Returns the thread of this process with this name, or -1 if there is none yet. */
static inline long thread_named(const char *name) {
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    long found = -1;
    for (struct dirent *task; (task = readdir(tasks)) != NULL;) {
        char path[64], comm[32] = "";
        snprintf(path, sizeof path, "/proc/self/task/%.20s/comm", task->d_name);
        FILE *file = fopen(path, "r");
        if (file == NULL)
            continue;
        if (fscanf(file, "%31s", comm) == 1 && strcmp(comm, name) == 0)
            found = atol(task->d_name);
        fclose(file);
    }
    closedir(tasks);
    return found;
}

#endif

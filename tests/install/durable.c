/* A user's program with durable timers, built with the installed library. */
#include <stdio.h>
#include <string.h>

#include <tickwheel/durable.h>

static int is_17(const struct tw_durable_entry *entry, void *arg) {
    (void)arg;
    return strcmp(entry->job.key, "17") == 0 ? 0 : 1;
}

/* durable ADDRESS... */
int main(int count, char **addresses) {
    struct tw_durable_job job = {0};
    int i;
    job.kind = "unpaid";
    job.key = "17";
    job.due_ns = 60 * TW_SECOND;
    for (i = 1; i < count; ++i) {
        struct tw_durable *jobs = NULL;
        const int error = tw_durable_open(&jobs, NULL, addresses[i], NULL);
        if (error != 0 || tw_durable_put(jobs, &job, TW_DURABLE_REPLACE) != 0 ||
            tw_durable_get(jobs, "unpaid", "17", is_17, NULL) != 0 || tw_durable_close(jobs) != 0) {
            fprintf(stderr, "%s: %s\n", addresses[i], tw_durable_explain(error));
            return 1;
        }
    }
    return 0;
}

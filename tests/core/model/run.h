/* run.h - the arguments of a random model test: [--ops N] [--seed S] [--nightly] */
#ifndef TICKWHEEL_TESTS_RUN_H
#define TICKWHEEL_TESTS_RUN_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct run {
    uint64_t operations, seed;
};

static inline uint64_t number_in(const char *name, uint64_t otherwise) {
    const char *value = getenv(name);
    return value == NULL || *value == '\0' ? otherwise : strtoull(value, NULL, 0);
}

static inline struct run read_run(int argc, char **argv) {
    bool is_nightly = number_in("TW_NIGHTLY", 0) != 0;
    struct run run = {0, number_in("TW_SEED", 1)};
    for (int i = 1; i < argc; ++i) {
        if (strcmp(argv[i], "--nightly") == 0) {
            is_nightly = true;
        } else if (strcmp(argv[i], "--ops") == 0 && i + 1 < argc) {
            run.operations = strtoull(argv[++i], NULL, 0);
        } else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
            run.seed = strtoull(argv[++i], NULL, 0);
        } else {
            fprintf(stderr, "usage: %s [--ops N] [--seed S] [--nightly]\n", argv[0]);
            exit(2);
        }
    }
    if (run.operations == 0)
        run.operations = is_nightly ? MODEL_OPS_NIGHTLY : number_in("TW_MODEL_OPS", MODEL_OPS);
    printf("%s: %" PRIu64 " operations from seed %" PRIu64 "\n", MODEL_NAME, run.operations, run.seed);
    fflush(stdout);
    return run;
}

static inline void run_failed(const struct run *run) {
    printf("%s: FAILED; again with: %s --ops %" PRIu64 " --seed %" PRIu64 "\n", MODEL_NAME, MODEL_NAME,
           run->operations, run->seed);
    exit(EXIT_FAILURE);
}

#endif

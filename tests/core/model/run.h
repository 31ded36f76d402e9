/* run.h - the arguments of a random model test: [--ops N] [--seed S] [--nightly] */
#ifndef TICKWHEEL_TESTS_RUN_H
#define TICKWHEEL_TESTS_RUN_H

#include <inttypes.h>
#include <string.h>

#include "support/environment.h"

struct run {
    const char *program;
    uint64_t operations, seed;
};

static inline uint64_t number_in(const char *name, uint64_t otherwise) {
    return is_set(name) ? strtoull(getenv(name), NULL, 0) : otherwise;
}

/* Without NDEBUG (builds without optimisation, with a sanitizer or for coverage) an operation takes several
 * times as long. */
#ifdef NDEBUG
enum { RUN_SHORTER = 1 };
#else
enum { RUN_SHORTER = 6 };
#endif

/* `operations` is the default number, which an argument or TW_MODEL_OPS overrides; a nightly run has ten
 * times as many. */
static inline struct run read_run(int argc, char **argv, uint64_t operations) {
    bool is_long = is_nightly();
    struct run run = {argv[0], 0, seed_of_run()};
    for (int i = 1; i < argc; ++i) {
        if (strcmp(argv[i], "--nightly") == 0) {
            is_long = true;
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
        run.operations = number_in("TW_MODEL_OPS", is_long ? 10 * operations : operations / RUN_SHORTER);
    printf("%s: %" PRIu64 " operations from seed %" PRIu64 "\n", argv[0], run.operations, run.seed);
    fflush(stdout);
    return run;
}

static inline void run_failed(const struct run *run) {
    printf("FAILED; again with: %s --ops %" PRIu64 " --seed %" PRIu64 "\n", run->program, run->operations,
           run->seed);
    exit(EXIT_FAILURE);
}

/* The depth of an exhaustive test: its argument, else TW_MODEL_DEPTH, else `depth`, or one less in a slower
 * build. */
static inline unsigned read_depth(int argc, char **argv, unsigned depth, unsigned most) {
    const unsigned usual = depth - (RUN_SHORTER > 1);
    const uint64_t chosen = argc > 1 ? strtoull(argv[1], NULL, 10) : number_in("TW_MODEL_DEPTH", usual);
    if (argc > 2 || chosen < 1 || chosen > most) {
        fprintf(stderr, "usage: %s [depth, 1 .. %u]\n", argv[0], most);
        exit(2);
    }
    return (unsigned)chosen;
}

#endif

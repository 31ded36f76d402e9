/* Compares random operations with the oracle. One seed determines a run:
 *     model_<variant> [--ops N] [--seed S] [--nightly] */
#include "random_source.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIFE = 2500 }; /* operations in one life, before everything restarts at the next origin */

static struct { uint64_t operations, seed; } run;

static void on_failure(struct model *m) {
    (void)m;
    printf("%s: FAILED; again with: %s --ops %" PRIu64 " --seed %" PRIu64 "\n", MODEL_NAME, MODEL_NAME,
           run.operations, run.seed);
    exit(EXIT_FAILURE);
}

static uint64_t number_in(const char *name, uint64_t otherwise) {
    const char *value = getenv(name);
    return value == NULL || *value == '\0' ? otherwise : strtoull(value, NULL, 0);
}

static void read_arguments(int argc, char **argv) {
    bool is_nightly = number_in("TW_NIGHTLY", 0) != 0;
    run.seed = number_in("TW_SEED", 1);
    run.operations = 0;
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
}

int main(int argc, char **argv) {
    read_arguments(argc, argv);
    printf("%s: %" PRIu64 " operations from seed %" PRIu64 "\n", MODEL_NAME, run.operations, run.seed);
    fflush(stdout);

    static struct model m;
    struct random_source random = random_source(run.seed);
    m.allocate = malloc;
    m.release = free;
    m.on_failure = on_failure;
    for (unsigned life = 0; m.operations < run.operations; ++life) {
        uint64_t left = run.operations - m.operations;
        play(&m, &random.source, life, left < LIFE ? left : LIFE);
    }
    printf("%s: passed: %" PRIu64 " operations, %" PRIu64 " of them in callbacks, %" PRIu64 " fires\n",
           MODEL_NAME, m.operations, m.nested, m.fires);
    return EXIT_SUCCESS;
}

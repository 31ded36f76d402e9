/* Compares random operations with the oracle. One seed determines a run:
 *     model_<variant> [--ops N] [--seed S] [--nightly] */
#include "play.h"
#include "random_source.h"
#include "run.h"

enum { LIFE = 2500 }; /* operations in one life, before everything restarts at the next origin */

static struct run run;

static void on_failure(struct model *m) {
    (void)m;
    run_failed(&run);
}

int main(int argc, char **argv) {
    run = read_run(argc, argv);

    static struct model m;
    struct random_source random = random_source_of(run.seed);
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

/* Compares random operations on wheels of each shape with the oracle. One seed determines a run:
 *     model_<library> random [--ops N] [--seed S] [--nightly], N for each shape */
#include "modes.h"
#include "play.h"

#include "shapes/shapes.h"

#include "random_source.h"
#include "run.h"

enum { LIFE = 2500 }; /* operations in one life, before everything restarts at the next origin */

static struct run run;

static void on_failure(struct model *m) {
    (void)m;
    run_failed(&run);
}

static void play_lives(void) {
    static struct model m;
    struct random_source random = random_source_of(run.seed);
    m = (struct model){.allocate = malloc, .release = free, .on_failure = on_failure};
    for (unsigned life = 0; m.operations < run.operations; ++life) {
        uint64_t left = run.operations - m.operations;
        play(&m, &random.source, life, left < LIFE ? left : LIFE);
    }
    printf("%s: %" PRIu64 " operations, %" PRIu64 " of them in callbacks, %" PRIu64 " fires\n", shape->name,
           m.operations, m.nested, m.fires);
}

int random_main(int argc, char **argv) {
    run = read_run(argc, argv, 150000);
    for (unsigned i = 0; use_shape(i); ++i)
        play_lives();
    return EXIT_SUCCESS;
}

/* Simulates a runtime on virtual time and compares it with the reference. One seed determines
 * everything that happens.
 *     simulation                           a few fixed seeds
 *     simulation --seed S --steps N        one run; --talk prints each operation
 * With TW_NIGHTLY=1 in the environment: ten times more, from random seeds. */
#include "play.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* Seed 114 once showed that tw_clear could lose the order of a tick. */
static const uint64_t seeds[] = {1, 2, 3, 4, 5, 6, 7, 114};
enum { SEEDS = sizeof seeds / sizeof seeds[0] };

static struct {
    uint64_t seed, steps;
    bool one, talks;
} run = {.steps = SIMULATION_STEPS};

static void read_arguments(int argc, char **argv) {
    for (int i = 1; i < argc; ++i) {
        if (strcmp(argv[i], "--talk") == 0) {
            run.talks = true;
        } else if (strcmp(argv[i], "--steps") == 0 && i + 1 < argc) {
            run.steps = strtoull(argv[++i], NULL, 0);
        } else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
            run.seed = strtoull(argv[++i], NULL, 0);
            run.one = true;
        } else {
            fprintf(stderr, "usage: %s [--seed S] [--steps N] [--talk]\n", argv[0]);
            exit(2);
        }
    }
}

static uint64_t simulate(uint64_t seed) {
    static struct world w;
    memset(&w, 0, sizeof w);
    w.seed = w.random = seed;
    w.talks = run.talks;
    play(&w, run.steps);
    const struct totals *t = &w.totals;
    const uint64_t events = t->operations + t->fires;
    printf("seed %" PRIu64 ": %" PRIu64 " events in %" PRIu64 " lives: %" PRIu64 " operations, %" PRIu64
           " of them in callbacks, %" PRIu64 " fires, %" PRIu64 " of them late by periods, %" PRIu64
           " stops, %" PRIu64 " sets back, %" PRIu64 " nodes freed\n",
           seed, events, t->lives, t->operations, t->nested, t->fires, t->bursts, t->stops, t->sets_back,
           t->frees);
    fflush(stdout);
    return events;
}

static uint64_t any_seed(void) {
    uint32_t seed;
    return getrandom(&seed, sizeof seed, 0) == sizeof seed ? seed : 1;
}

int main(int argc, char **argv) {
    const char *value = getenv("TW_NIGHTLY");
    const bool is_nightly = value != NULL && strcmp(value, "1") == 0;
    read_arguments(argc, argv);
    uint64_t events = 0;
    const unsigned runs = run.one ? 1 : is_nightly ? 10 * SEEDS : SEEDS;
    for (unsigned i = 0; i < runs; ++i)
        events += simulate(run.one ? run.seed : is_nightly ? any_seed() : seeds[i]);
    printf("simulation: passed: %" PRIu64 " events\n", events);
    return EXIT_SUCCESS;
}

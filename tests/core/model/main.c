/* The main of a program of the model, or of that of records: random, exhaustive or replay, see modes.h. */
#include "modes.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        int (*run)(int argc, char **argv);
    } modes[] = {{"random", random_main}, {"exhaustive", exhaustive_main}, {"replay", replay_main}};
    for (unsigned i = 0; argc > 1 && i < sizeof modes / sizeof *modes; ++i)
        if (strcmp(argv[1], modes[i].name) == 0)
            return modes[i].run(argc - 1, argv + 1);
    fprintf(stderr, "usage: %s random | exhaustive | replay ...\n", argv[0]);
    return 2;
}

/* guide PROGRAM: runs the program of this name, see cut_programs.awk. */
#include <stdio.h>
#include <string.h>

#define PROGRAM(name) int guide_##name(void);
#include "programs.h"
#undef PROGRAM

#define PROGRAM(name) {#name, guide_##name},
static const struct {
    const char *name;
    int (*main)(void);
} programs[] = {
#include "programs.h"
};

int main(int count, char **words) {
    for (size_t i = 0; count == 2 && i < sizeof programs / sizeof programs[0]; ++i)
        if (strcmp(programs[i].name, words[1]) == 0)
            return programs[i].main();
    fprintf(stderr, "there is no such program\n");
    return 2;
}

/* Random lives of handle timers: random [SEED]. Each life is played from bytes of its own, and
 * its seed is reported if it fails. Given that seed, only this life is played. */
#include "play.h"

#include "support/random.h"
#include "support/sanitized.h"

#include <stdio.h>
#include <stdlib.h>

enum { LIVES = SLOW ? 400 : 2000, BYTES = 4096 };

static struct played play_seed(uint64_t seed) {
    static uint8_t bytes[BYTES];
    static char name[64];
    snprintf(name, sizeof name, "seed %llu", (unsigned long long)seed);
    play_name = name;
    const size_t size = 64 + (size_t)random_below(&seed, BYTES - 64);
    for (size_t i = 0; i < size; ++i)
        bytes[i] = (uint8_t)random_next(&seed);
    return play_handles(bytes, size);
}

int main(int argc, char **argv) {
    struct played all = {0, 0};
    if (argc > 1) {
        all = play_seed(strtoull(argv[1], NULL, 0));
    } else {
        for (uint64_t seed = 1; seed <= LIVES; ++seed) {
            const struct played one = play_seed(seed);
            all.timers += one.timers;
            all.fires += one.fires;
        }
    }
    printf("%llu timers, %llu fires, all as expected\n", (unsigned long long)all.timers,
           (unsigned long long)all.fires);
    return all.timers > 0 && (argc > 1 || all.fires > 0) ? EXIT_SUCCESS : EXIT_FAILURE;
}

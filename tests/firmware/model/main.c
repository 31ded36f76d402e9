/* The model test of tests/model, on a board: random operations against the oracle, nodes in place.
 * One seed, so one run; the time that it took is part of what it prints, so that a run which
 * differs from another in one instruction shows. */
#include <host.h>
#include <timer.h>

#include "model/play.h"
#include "model/report.h"
#include "support/random.h"

#include <inttypes.h>

enum { LIFE = 500 }; /* operations before everything starts anew, at the next origin */

struct generator {
    struct source source;
    uint64_t state;
};

static uint64_t draw(struct source *s, uint64_t below) {
    struct generator *g = (struct generator *)s;
    return random_below(&g->state, below);
}

static bool never_empty(const struct source *s) {
    (void)s;
    return false;
}

int main(void) {
    static struct model m;
    struct generator g = {{draw, never_empty}, 1};
    stopwatch_start();
    for (unsigned life = 0; m.operations < MODEL_OPS; ++life)
        play(&m, &g.source, life, LIFE);
    report("%" PRIu64 " operations on %u bits x %u%s, %" PRIu64 " of them in callbacks, %" PRIu64 " fires; "
           "%" PRIu32 " counts\n",
           m.operations, TW_BITS, TW_LEVELS, TW_LOOKAHEAD ? " with look-ahead" : "", m.nested, m.fires,
           stopwatch_read());
    return 0;
}

/* The model test of tests/core/model, on a board: random operations against the oracle, nodes in place.
 * One seed, so one run; the time that it took is part of what it prints, so that a run which
 * differs from another in one instruction shows. */
#include <host.h>
#include <timer.h>

#include "core/model/random_source.h"
#include "core/model/report.h"

#include <inttypes.h>

enum { LIFE = 500 }; /* operations before everything starts anew, at the next origin */

int main(void) {
    static struct model m;
    struct random_source random = random_source(1);
    stopwatch_start();
    for (unsigned life = 0; m.operations < MODEL_OPS; ++life)
        play(&m, &random.source, life, LIFE);
    report("%" PRIu64 " operations on %u bits x %u%s, %" PRIu64 " of them in callbacks, %" PRIu64 " fires; "
           "%" PRIu32 " counts\n",
           m.operations, TW_BITS, TW_LEVELS, TW_LOOKAHEAD ? " with look-ahead" : "", m.nested, m.fires,
           stopwatch_read());
    return 0;
}

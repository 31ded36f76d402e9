/* The model test of tests/core/model on a board: random operations compared with the oracle,
 * nodes in place. It has one seed and so one run. It prints the time it took, so that two runs
 * that differ in one instruction differ in their output. */
#include <host.h>
#include <timer.h>

#include "core/model/play.h"
#include "core/model/random_source.h"
#include "core/model/report.h"

#include <inttypes.h>

enum { LIFE = 500 }; /* operations in one life, before everything restarts at the next origin */

int main(void) {
    static struct model m;
    struct random_source random = random_source_of(1);
    stopwatch_start();
    for (unsigned life = 0; m.operations < MODEL_OPS; ++life)
        play(&m, &random.source, life, LIFE);
    report("%" PRIu64 " operations on %u bits x %u%s, %" PRIu64 " of them in callbacks, %" PRIu64 " fires; "
           "%" PRIu32 " counts\n",
           m.operations, TW_BITS, TW_LEVELS, TW_LOOKAHEAD ? " with look-ahead" : "", m.nested, m.fires,
           stopwatch_read());
    return 0;
}

/* The model test of tests/core/model on a board: random operations compared with the oracle,
 * nodes in place. It has one seed and so one run. It prints the time it took, so that two runs
 * that differ in one instruction differ in their output. */
#include <host.h>
#include <stopwatch.h>

#include "core/model/play.h"
#include "core/model/random_source.h"
#include "core/model/report.h"
#include "core/shapes/shapes.h"

#include <inttypes.h>
#include <string.h>

enum { LIFE = 500 }; /* operations in one life, before everything restarts at the next origin */

int main(void) {
    static struct model m;
    struct random_source random = random_source_of(1);
    stopwatch_start();
    for (unsigned i = 0; use_shape(i); ++i) {
        memset(&m, 0, sizeof m);
        for (unsigned life = 0; m.operations < MODEL_OPS; ++life)
            play(&m, &random.source, life, LIFE);
        report("%" PRIu64 " operations on %s, %" PRIu64 " of them in callbacks, %" PRIu64 " fires; "
               "%" PRIu32 " counts\n",
               m.operations, shape->name, m.nested, m.fires, stopwatch_read());
    }
    return 0;
}

/* Counts how late fires were, for percentiles and a small histogram.
 *
 * One thread notes; any thread may read at the same time. Nothing is locked or allocated. */
#ifndef DEMO_LATENESS_H
#define DEMO_LATENESS_H

#include <stdatomic.h>
#include <stdint.h>

enum {
    STEPS = 16,            /* counts for each power of two; percentiles are exact to 1/16 */
    FINE_COUNTS = 61 * 16, /* enough for every int64_t */
    RANGES = 11            /* of the histogram */
};

struct lateness {
    atomic_uint_least64_t fires;
    atomic_uint_least64_t fine[FINE_COUNTS];
    atomic_uint_least64_t ranges[RANGES];
    atomic_int_least64_t max_ns;
};

/* Names of the ranges, from "on time" to "later". */
extern const char *const lateness_ranges[RANGES];

/* Counts one fire; `late_ns` is not negative. */
void lateness_note(struct lateness *lateness, int64_t late_ns);

/* Returns the lateness that `percent` of the fires did not exceed, rounded up to the end of its count.
 * Returns 0 if there were no fires. */
int64_t lateness_percentile(struct lateness *lateness, unsigned percent);

#endif

/* total_of: how many durations a histogram has counted. */
#ifndef TICKWHEEL_TESTS_OBSERVE_HISTOGRAM_H
#define TICKWHEEL_TESTS_OBSERVE_HISTOGRAM_H

#include <tickwheel/observe.h>

static inline uint64_t total_of(const struct tw_histogram *histogram) {
    uint64_t total = 0;
    for (unsigned i = 0; i < TW_BUCKETS; ++i)
        total += histogram->counts[i];
    return total;
}

#endif

#include "lateness.h"

const char *const lateness_ranges[RANGES] = {"on time", "to 5 us", "10 us", "20 us", "50 us", "100 us",
                                             "200 us",  "500 us",  "1 ms",  "5 ms",  "later"};

static const int64_t range_ends_ns[RANGES] = {0,      5000,   10000,   20000,   50000,    100000,
                                              200000, 500000, 1000000, 5000000, INT64_MAX};

static void add_one(atomic_uint_least64_t *count) {
    atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
}

static uint64_t count_of(atomic_uint_least64_t *count) {
    return atomic_load_explicit(count, memory_order_relaxed);
}

/* Below 2 * STEPS each nanosecond has its own count; above that each power of two has STEPS counts. */
static unsigned fine_index(int64_t ns) {
    unsigned doublings = 0;
    while (ns >> doublings >= INT64_C(2) * STEPS)
        ++doublings;
    return doublings * STEPS + (unsigned)(ns >> doublings);
}

/* Returns the longest lateness that is counted at an index. */
static int64_t fine_end(unsigned index) {
    if (index < 2 * STEPS)
        return index;
    unsigned doublings = index / STEPS - 1;
    return (int64_t)(((uint64_t)(index % STEPS + STEPS + 1) << doublings) - 1);
}

void lateness_note(struct lateness *lateness, int64_t late_ns) {
    unsigned range = 0;
    while (late_ns > range_ends_ns[range])
        ++range;
    add_one(&lateness->ranges[range]);
    add_one(&lateness->fine[fine_index(late_ns)]);
    add_one(&lateness->fires);
    if (late_ns > atomic_load_explicit(&lateness->max_ns, memory_order_relaxed))
        atomic_store_explicit(&lateness->max_ns, late_ns, memory_order_relaxed);
}

int64_t lateness_percentile(struct lateness *lateness, unsigned percent) {
    uint64_t fires = count_of(&lateness->fires), seen = 0;
    uint64_t wanted = (fires * percent + 99) / 100;
    unsigned index = 0;
    if (fires == 0)
        return 0;
    while ((seen += count_of(&lateness->fine[index])) < wanted && index + 1 < FINE_COUNTS)
        ++index;
    int64_t max = atomic_load_explicit(&lateness->max_ns, memory_order_relaxed), end = fine_end(index);
    return end < max ? end : max;
}

/* keyed.h: the cost of finding a key depends neither on the number of keys nor on the choice of keys. */
#include "keyed_test.h"
#include "support/sanitized.h"

/* In slow builds a fifth of each, with the same ratio of 100. */
enum { FEW = SLOW ? 2000 : 10000, MANY = 100 * FEW };

/* The time that the processor takes to set the keys, and to move them. */
static int64_t cost_in(struct bench bench, const struct tw_key *keys, unsigned count) {
    static struct probe probe;
    const int64_t began = reading_of(CLOCK_THREAD_CPUTIME_ID);
    for (unsigned i = 0; i < count; ++i)
        assert_int_equal(set_in_ms(bench.keyed, keys[i], 1000000, &probe), 0);
    for (unsigned i = 0; i < count; ++i)
        assert_int_equal(tw_keyed_move(bench.keyed, keys[i], 1000 * TW_SECOND), 0);
    return reading_of(CLOCK_THREAD_CPUTIME_ID) - began;
}

/* The least of a few runs, because the machine has other work. */
static int64_t cost_of(const struct tw_key *keys, unsigned count) {
    int64_t least = INT64_MAX;
    for (unsigned run = 0; run < 2; ++run) {
        struct bench bench = plain_bench();
        const int64_t cost = cost_in(bench, keys, count);
        least = cost < least ? cost : least;
        end_bench(bench);
    }
    return least;
}

static struct tw_key keys_of_costs[FEW];

static int64_t cost_of_drawn_keys(void) {
    uint64_t seed = 5;
    for (unsigned i = 0; i < FEW; ++i)
        keys_of_costs[i] = tw_key_number(random_next(&seed));
    return cost_of(keys_of_costs, FEW);
}

/* Only caches may make a difference. A linear search would take 100 times as long among 100 times as many
 * keys. */
TEST(finding_a_key_takes_the_same_time_among_a_million) {
    enum { CACHES = 20 };
    const int64_t few = cost_of_drawn_keys();
    struct bench bench = plain_bench();
    static struct probe probe;
    for (uint64_t key = 0; key < MANY; ++key)
        assert_int_equal(set_in_ms(bench.keyed, tw_key_number(key), 100000, &probe), 0);
    assert_true(cost_in(bench, keys_of_costs, FEW) < CACHES * few);
    assert_int_equal(tw_keyed_cancel_all(bench.keyed, NULL, NULL), MANY + FEW);
    end_bench(bench);
}

/* Keys that an unseeded table would put into few cells: they agree in their low bits, in their
 * high bits, or increase in steps. If they shared a run of cells, they would cost some hundred
 * times as much as random keys. */
TEST(chosen_keys_cost_no_more_than_others) {
    enum { NOISE = 10 };
    const unsigned shifts[] = {0, 12, 20, 32, 48};
    const int64_t drawn = cost_of_drawn_keys();
    for (unsigned s = 0; s < COUNT_OF(shifts); ++s) {
        for (unsigned i = 0; i < FEW; ++i)
            keys_of_costs[i] = tw_key_number((uint64_t)i << shifts[s]);
        assert_true(cost_of(keys_of_costs, FEW) < NOISE * drawn);
    }
}

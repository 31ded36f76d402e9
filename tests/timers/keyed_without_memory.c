/* Keyed timers when the system refuses each allocation in turn: the call changes nothing, no memory or timer
 * is lost, and the next attempt works. */
#include "keyed_test.h"
#include "support/faults.h"

enum { KEYS = 1000 };

/* Lets `first` more calls work, and then makes one fail. */
static void fail_after(int first) { inject(EVERY_CALL, USUAL_ERROR, first, 1); }

/* Returns true if a call has failed. From now on calls work. */
static bool one_failed(void) {
    const bool has_failed = injected() != 0;
    inject_nothing();
    return has_failed;
}

/* Makes a table on a new runtime while one call fails. Returns false if no call has failed. The memory for
 * the table's timers stays with the runtime and is freed with the runtime. */
static bool one_call_fails(int first, uint32_t capacity) {
    struct tw_keyed *const untouched = (struct tw_keyed *)(uintptr_t)16, *keyed = untouched;
    const struct holdings before = holdings_now();
    struct tw_runtime *rt = runtime_on("manual");
    fail_after(first);
    const int result = tw_keyed_new(&keyed, rt, &(struct tw_set_options){.capacity = capacity});
    const bool failed = one_failed();
    assert_int_equal(result, failed ? -ENOMEM : 0);
    assert_true((keyed == untouched) == failed);
    tw_runtime_free(rt);
    assert_nothing_leaked(before);
    return failed;
}

TEST(a_new_table_fails_with_each_of_its_allocations) {
    const struct {
        uint32_t capacity;
        int fewest; /* the table, the spaces of all lanes, that of the first one, the records there, the
                       store; their cells and entries */
    } kinds[] = {{0, 5}, {1, 9}, {1000, 9}};
    for (unsigned i = 0; i < COUNT_OF(kinds); ++i) {
        int failures = 0;
        while (one_call_fails(failures, kinds[i].capacity))
            ++failures;
        assert_in_range(failures, kinds[i].fewest, 100);
    }
}

/* Sets the key, and fails the first allocation, then the second, and so on, until all succeed. */
static int fail_each_of_set(struct bench bench, unsigned i, struct probe *probe, bool exists) {
    char text[40];
    const struct tw_key key = key_of_any_sort(i, text);
    for (int failures = 0;; ++failures) {
        const int64_t before = live_allocations();
        const size_t count = tw_keyed_count(bench.keyed);
        fail_after(failures);
        const int result = set_in_ms(bench.keyed, key, 5, probe);
        if (!one_failed()) {
            assert_int_equal(result, 0);
            return failures;
        }
        assert_int_equal(result, -ENOMEM);
        assert_int_equal(tw_keyed_count(bench.keyed), count);
        assert_int_equal(tw_keyed_get(bench.keyed, key, NULL), exists ? 0 : -ENOENT);
        assert_true(live_allocations() <= before + 3); /* what may stay: cells, entries, a table */
    }
}

TEST(set_fails_with_each_of_its_allocations_and_changes_nothing) {
    const struct holdings before = holdings_now();
    struct bench bench = plain_bench();
    static struct probe probes[KEYS], latter;
    int failures = 0;
    for (unsigned i = 0; i < KEYS; ++i)
        failures += fail_each_of_set(bench, i, &probes[i], false);
    assert_true(failures > KEYS / 3 + 5); /* long keys, slabs, cells */
    for (unsigned i = 0; i < KEYS; ++i)
        assert_probe(probes[i], 0, 0);
    for (unsigned i = 0; i < KEYS / 2; ++i)
        (void)fail_each_of_set(bench, i, &latter, true);
    pass_ms(bench, 5);
    for (unsigned i = 0; i < KEYS; ++i)
        assert_probe(probes[i], i >= KEYS / 2, 1);
    assert_probe(latter, KEYS / 2, KEYS / 2);
    end_bench(bench);
    assert_nothing_leaked(before);
}

static void copy_number(void *to, void *from) { memcpy(to, from, sizeof(uint64_t)); }
static unsigned dropped;
static void drop_number(UNUSED void *arg) { ++dropped; }
static void ignore(UNUSED const struct tw_event *event, UNUSED void *arg) {}

/* If the call fails after `copy`, it drops the copy; otherwise it drops nothing. */
TEST(a_set_that_fails_has_dropped_what_was_copied_or_copied_nothing) {
    struct bench bench = {virtual_runtime_with_one_lane(), NULL};
    const struct tw_set_options options = {.storage = sizeof(uint64_t)};
    assert_int_equal(tw_keyed_new(&bench.keyed, bench.rt, &options), 0);
    uint64_t number = 1;
    const struct tw_when when = in_ms(5);
    const struct tw_task task = {
        .fn = ignore, .arg = &number, .drop = drop_number, .arg_size = sizeof number, .copy = copy_number};
    unsigned failures_after_copy = 0;
    for (uint64_t i = 0; i < KEYS; ++i) {
        int failures = 0, result;
        do {
            dropped = 0;
            fail_after(failures++);
            result = tw_keyed_set(bench.keyed, tw_key_number(i), &when, &task);
            assert_int_equal(result, one_failed() ? -ENOMEM : 0);
            assert_in_range(dropped, 0, result != 0);
            failures_after_copy += dropped;
        } while (result != 0);
    }
    assert_true(failures_after_copy > 0);
    dropped = 0;
    assert_int_equal(tw_keyed_cancel_all(bench.keyed, NULL, NULL), KEYS);
    assert_int_equal(dropped, KEYS);
    end_bench(bench);
}

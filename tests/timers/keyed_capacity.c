/* keyed.h with a capacity: no more timers than that, and no allocation (P10). */
#include "keyed_test.h"
#include "support/counted_heap.h"

#include <pthread.h>

static const uint32_t capacities[] = {1, 2, 3, 63, 64, 65, 100, 128, 1000};

static struct bench with_capacity(uint32_t capacity) {
    return new_bench((struct tw_set_options){.capacity = capacity});
}

/* Sets a timer without a drop, because freeing null would also count as a call of the heap. */
static int set_plain(struct bench bench, struct tw_key key, int64_t ms, struct probe *probe) {
    return tw_keyed_after(bench.keyed, key, ms * TW_MILLISECOND, count_fire, probe);
}

static void fill_plain(struct bench bench, uint32_t count, struct probe *probe) {
    for (uint32_t i = 0; i < count; ++i)
        assert_int_equal(set_plain(bench, tw_key_number(i), 10, probe), 0);
}

static void fill(struct bench bench, uint32_t count, struct probe *probe) {
    for (uint32_t i = 0; i < count; ++i)
        assert_int_equal(set_in_ms(bench.keyed, tw_key_number(i), 10, probe), 0);
}

TEST(there_is_room_for_as_many_timers_as_the_capacity_says) {
    for (unsigned c = 0; c < COUNT_OF(capacities); ++c) {
        const uint32_t capacity = capacities[c];
        struct bench bench = with_capacity(capacity);
        struct probe probe = {0, 0}, refused = {0, 0};
        fill(bench, capacity, &probe);
        assert_int_equal(set_in_ms(bench.keyed, tw_key_number(capacity), 10, &refused), -ENOSPC);
        assert_int_equal(tw_keyed_count(bench.keyed), capacity);
        assert_int_equal(tw_keyed_cancel(bench.keyed, tw_key_number(0)), 1);
        assert_int_equal(set_in_ms(bench.keyed, tw_key_number(capacity), 10, &probe), 0);
        assert_int_equal(set_in_ms(bench.keyed, tw_key_number(0), 10, &refused), -ENOSPC);
        pass_ms(bench, 10);
        assert_probe(probe, capacity, capacity + 1);
        assert_probe(refused, 0, 0);
        fill(bench, capacity, &probe);
        end_bench(bench);
    }
}

TEST(p10_a_full_table_replaces_and_allocates_nothing) {
    for (unsigned c = 0; c < COUNT_OF(capacities); ++c) {
        const uint32_t capacity = capacities[c];
        struct bench bench = with_capacity(capacity);
        struct probe former = {0, 0}, latter = {0, 0};
        allocations = 0;
        fill_plain(bench, capacity, &former);
        fill_plain(bench, capacity, &latter);
        assert_int_equal(tw_keyed_count(bench.keyed), capacity);
        pass_ms(bench, 10);
        assert_probe(former, 0, 0);
        assert_probe(latter, capacity, 0);
        assert_int_equal(allocations, 0);
        end_bench(bench);
    }
}

static struct bench full;

enum { REPLACERS = 2, REPLACEMENTS = 50000 };

struct replacer {
    uint64_t key;
    atomic_uint *busy; /* threads that have replacements left to make */
    unsigned refused;
};

/* Replaces a timer again and again, with arguments that take a while to copy. Goes on until all threads are
 * done, so that no thread is alone. */
static void *replace_on_and_on(void *arg) {
    static char contents[4096];
    struct replacer *replacer = arg;
    const struct tw_task task = {.fn = count_fire, .arg = contents, .arg_size = sizeof contents};
    const struct tw_when when = in_ms(10);
    for (unsigned i = 0; *replacer->busy != 0; ++i) {
        replacer->refused += tw_keyed_set(full.keyed, tw_key_number(replacer->key), &when, &task) != 0;
        if (i == REPLACEMENTS)
            atomic_fetch_sub(replacer->busy, 1);
    }
    return NULL;
}

TEST(a_full_table_has_room_for_concurrent_replacements) {
    pthread_t threads[REPLACERS];
    atomic_uint busy = REPLACERS;
    struct replacer replacers[REPLACERS];
    struct probe probe = {0, 0};
    full = new_bench((struct tw_set_options){.capacity = REPLACERS, .storage = 4096});
    fill_plain(full, REPLACERS, &probe);
    for (unsigned i = 0; i < REPLACERS; ++i) {
        replacers[i] = (struct replacer){.key = i, .busy = &busy};
        assert_int_equal(pthread_create(&threads[i], NULL, replace_on_and_on, &replacers[i]), 0);
    }
    for (unsigned i = 0; i < REPLACERS; ++i)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < REPLACERS; ++i)
        assert_int_equal(replacers[i].refused, 0);
    end_bench(full);
}

static int answer;

static void replace_own(const struct tw_event *event, void *arg) {
    count_fire(event, arg);
    answer = set_plain(full, *event->key, 5, arg);
}

TEST(p10_in_a_full_table_a_callback_sets_its_own_key) {
    struct probe probe = {0, 0};
    const struct tw_task task = {.fn = replace_own, .arg = &probe};
    const struct tw_when when = in_ms(1);
    full = with_capacity(64);
    fill_plain(full, 63, &probe);
    allocations = 0;
    assert_int_equal(tw_keyed_set(full.keyed, tw_key_string("the last"), &when, &task), 0);
    pass_ms(full, 1);
    assert_int_equal(answer, 0);
    assert_int_equal(probe.fires, 1);
    assert_int_equal(tw_keyed_count(full.keyed), 64);
    assert_int_equal(allocations, 0);
    end_bench(full);
}

static int visit_nothing(UNUSED const struct tw_entry *entry, UNUSED void *visit_arg) { return 0; }

static void use_every_call(struct bench bench, struct probe *probe) {
    const struct tw_when when = every_ms(1);
    const struct tw_task task = {.fn = count_fire, .arg = probe};
    for (unsigned i = 0; i < 1000; ++i) {
        struct tw_entry timer;
        const struct tw_key number = tw_key_number(i % 50), string = tw_key_bytes("0123456789abcdef", i % 17);
        assert_ok(set_plain(bench, number, 1 + (int64_t)i % 3, probe));
        assert_ok(tw_keyed_set(bench.keyed, string, &when, &task));
        (void)tw_keyed_move(bench.keyed, number, 2 * TW_MILLISECOND);
        (void)tw_keyed_move(bench.keyed, string, 2 * TW_MILLISECOND);
        (void)tw_keyed_again(bench.keyed, number);
        IGNORE(tw_keyed_get(bench.keyed, string, &timer));
        if (i % 5 == 0)
            (void)tw_keyed_cancel(bench.keyed, number);
        if (i % 7 == 0)
            (void)tw_keyed_cancel_wait(bench.keyed, string);
        if (i % 100 == 0)
            (void)(i % 200 == 0 ? tw_keyed_cancel_all(bench.keyed, visit_nothing, NULL)
                                : tw_keyed_each(bench.keyed, visit_nothing, NULL));
        pass_ms(bench, 1);
    }
    (void)tw_keyed_cancel_all(bench.keyed, NULL, NULL);
    assert_int_equal(tw_keyed_count(bench.keyed), 0);
}

TEST(p10_with_a_capacity_no_call_allocates) {
    struct bench bench = with_capacity(100);
    struct probe probe = {0, 0};
    allocations = 0;
    use_every_call(bench, &probe);
    assert_int_equal(allocations, 0);
    assert_true(probe.fires > 1000);
    end_bench(bench);
}

TEST(p10_only_strings_of_more_than_16_bytes_are_allocated_and_they_are_freed) {
    const struct tw_key key = tw_key_bytes("0123456789abcdefg", 17);
    struct bench bench = with_capacity(1);
    struct probe probe = {0, 0};
    allocations = 0;
    assert_int_equal(tw_keyed_after(bench.keyed, key, 0, NULL, NULL), -EINVAL);
    assert_int_equal(allocations, 2);
    assert_int_equal(set_plain(bench, key, 1, &probe), 0);
    assert_int_equal(allocations, 3);
    pass_ms(bench, 1);
    assert_int_equal(allocations, 4);
    fill_plain(bench, 1, &probe);
    assert_int_equal(set_plain(bench, key, 1, &probe), -ENOSPC);
    assert_int_equal(allocations, 6);
    end_bench(bench);
}

/* Operations that keep reusing the memory of ended timers. */
TEST(p10_a_table_that_has_grown_allocates_no_more) {
    struct bench bench = plain_bench();
    struct probe probe = {0, 0};
    use_every_call(bench, &probe);
    allocations = 0;
    for (int i = 0; i < 10; ++i)
        use_every_call(bench, &probe);
    assert_int_equal(allocations, 0);
    end_bench(bench);
}

/* keyed.h: the kinds of keys, and when two keys are equal. */
#include "keyed_test.h"

static char bytes[TW_KEY_MAX + 1];

/* Sets a timer under each key, and asserts that each key finds its own. */
static void assert_all_differ(const struct tw_key *keys, unsigned count) {
    struct bench bench = plain_bench();
    struct probe *probes = calloc(count, sizeof *probes);
    for (unsigned i = 0; i < count; ++i)
        assert_int_equal(set_in_ms(bench.keyed, keys[i], 1, &probes[i]), 0);
    assert_int_equal(tw_keyed_count(bench.keyed), count);
    for (unsigned i = 0; i < count; ++i) {
        struct tw_entry timer;
        assert_int_equal(tw_keyed_get(bench.keyed, keys[i], &timer), 0);
        assert_ptr_equal(timer.arg, &probes[i]);
    }
    for (unsigned i = 0; i < count; ++i) {
        assert_int_equal(tw_keyed_cancel(bench.keyed, keys[i]), 1);
        assert_probe(probes[i], 0, 1);
        assert_int_equal(tw_keyed_get(bench.keyed, keys[i], NULL), -ENOENT);
    }
    end_bench(bench);
    free(probes);
}

TEST(strings_of_every_length_are_keys) {
    static const size_t sizes[] = {0, 1, 2, 15, 16, 17, 18, 255, 256, 257, TW_KEY_MAX - 1, TW_KEY_MAX};
    struct tw_key keys[COUNT_OF(sizes)];
    for (unsigned i = 0; i < COUNT_OF(sizes); ++i)
        keys[i] = tw_key_bytes(bytes, sizes[i]);
    assert_all_differ(keys, COUNT_OF(keys));
}

/* Differences in the first, last and middle byte, for strings that fit into the timer and for longer ones. */
TEST(strings_differ_by_any_of_their_bytes) {
    static const size_t sizes[] = {1, 16, 17, TW_KEY_MAX};
    for (unsigned i = 0; i < COUNT_OF(sizes); ++i) {
        char *copies[4];
        struct tw_key keys[4];
        for (unsigned k = 0; k < 4; ++k) {
            copies[k] = calloc(1, sizes[i]);
            keys[k] = tw_key_bytes(copies[k], sizes[i]);
        }
        copies[1][0] = 1;
        copies[2][sizes[i] - 1] = 2;
        copies[3][sizes[i] / 2] = 3;
        assert_all_differ(keys, 4);
        for (unsigned k = 0; k < 4; ++k)
            free(copies[k]);
    }
}

TEST(a_key_may_have_any_bytes_in_it) {
    const struct tw_key keys[] = {tw_key_bytes("a\0b", 3), tw_key_bytes("a\0c", 3), tw_key_string("a\0b"),
                                  tw_key_bytes("\0", 1),   tw_key_bytes("\0\0", 2), tw_key_bytes("", 0)};
    assert_all_differ(keys, COUNT_OF(keys));
}

TEST(a_number_is_no_string_of_the_same_bytes) {
    uint64_t numbers[] = {0, 1, UINT64_MAX, 0x6161616161616161};
    struct tw_key keys[2 * COUNT_OF(numbers) + 2];
    for (unsigned i = 0; i < COUNT_OF(numbers); ++i) {
        keys[2 * i] = tw_key_number(numbers[i]);
        keys[2 * i + 1] = tw_key_bytes(&numbers[i], sizeof numbers[i]);
    }
    keys[2 * COUNT_OF(numbers)] = tw_key_string("");
    keys[2 * COUNT_OF(numbers) + 1] = tw_key_string("0");
    assert_all_differ(keys, COUNT_OF(keys));
}

TEST(equal_strings_are_one_key_wherever_they_lie) {
    struct bench bench = plain_bench();
    struct probe probe = {0, 0};
    char text[64];
    for (size_t size = 0; size < sizeof text; ++size) {
        memset(text, 'x', size);
        assert_int_equal(set_in_ms(bench.keyed, tw_key_bytes(text, size), 1, &probe), 0);
        memset(text, 'y', size); /* the table has copied the text */
        memset(bytes, 'x', size);
        assert_int_equal(set_in_ms(bench.keyed, tw_key_bytes(bytes, size), 1, &probe), 0);
        assert_int_equal(tw_keyed_cancel(bench.keyed, tw_key_bytes(bytes, size)), 1);
    }
    assert_int_equal(set_in_ms(bench.keyed, tw_key_bytes(NULL, 0), 1, &probe), 0);
    assert_int_equal(set_in_ms(bench.keyed, tw_key_string(""), 1, &probe), 0);
    end_bench(bench);
}

TEST(p14_what_is_no_key_is_refused) {
    const struct tw_key none[] = {tw_key_string(NULL), tw_key_bytes(NULL, 5),
                                  tw_key_bytes(bytes, TW_KEY_MAX + 1), tw_key_bytes(bytes, SIZE_MAX)};
    struct bench bench = plain_bench();
    struct probe probe = {0, 0};
    for (unsigned i = 0; i < COUNT_OF(none); ++i) {
        assert_int_equal(set_in_ms(bench.keyed, none[i], 1, &probe), -EINVAL);
        assert_int_equal(tw_keyed_after(bench.keyed, none[i], 1, count_fire, &probe), -EINVAL);
        assert_int_equal(tw_keyed_move(bench.keyed, none[i], 1), -EINVAL);
        assert_int_equal(tw_keyed_cancel(bench.keyed, none[i]), -EINVAL);
        assert_int_equal(tw_keyed_cancel_wait(bench.keyed, none[i]), -EINVAL);
        assert_int_equal(tw_keyed_get(bench.keyed, none[i], NULL), -EINVAL);
    }
    assert_int_equal(tw_keyed_count(bench.keyed), 0);
    pass_ms(bench, 10);
    assert_probe(probe, 0, 0);
    end_bench(bench);
}

/* --- the key that a callback gets ------------------------------------------------------------ */

static struct tw_key expected;
static unsigned matches;
static int64_t due_ns;
static uint64_t overruns;

static void compare(const struct tw_event *event, UNUSED void *arg) {
    const struct tw_key *key = event->key;
    const bool is_same = key->is_number == expected.is_number && key->number == expected.number &&
                         key->size == expected.size &&
                         (key->size == 0 || memcmp(key->bytes, expected.bytes, key->size) == 0);
    const bool is_aligned =
        (uintptr_t)key->bytes % _Alignof(uint64_t) == 0; /* so it may be read as a struct */
    matches += is_same && (is_aligned || key->size % sizeof(uint64_t) != 0) && event->handle == 0;
    due_ns = event->due_ns;
    overruns = event->overruns;
}

TEST(a_callback_is_told_its_key) {
    const struct tw_key keys[] = {
        tw_key_number(0),       tw_key_number(UINT64_MAX),         tw_key_bytes(NULL, 0),
        tw_key_string("short"), tw_key_string("just 16 letters!"), tw_key_string("more than 16 letters"),
        tw_key_bytes(bytes, 8), tw_key_bytes(bytes, 24),           tw_key_bytes(bytes, TW_KEY_MAX)};
    struct bench bench = plain_bench();
    matches = 0;
    for (unsigned i = 0; i < COUNT_OF(keys); ++i) {
        expected = keys[i];
        assert_int_equal(tw_keyed_after(bench.keyed, keys[i], TW_MILLISECOND, compare, NULL), 0);
        pass_ms(bench, 1);
        assert_int_equal(matches, i + 1);
        assert_int_equal(due_ns, (i + 1) * TW_MILLISECOND);
        assert_int_equal(overruns, 0);
    }
    end_bench(bench);
}

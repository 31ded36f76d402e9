/* tw_keyed_each: who is visited, by which key, and what the visitor may do. See also handles_walk.c. */
#include "keyed_test.h"

enum { KEYS = 300 };

static struct {
    struct bench bench;
    struct probe probes[KEYS], replacing[KEYS];
    unsigned visits[KEYS];
} now;

static int make(UNUSED void **state) {
    memset(&now, 0, sizeof now);
    now.bench = plain_bench();
    return 0;
}

static int end(UNUSED void **state) {
    end_bench(now.bench);
    return 0;
}

/* Numbers, short strings, and strings that are stored elsewhere. */
static struct tw_key key_of(unsigned i, char text[40]) {
    if (i % 3 == 0)
        return tw_key_number(i);
    const char *form = i % 3 == 1 ? "%u" : "a string of more than 16 bytes, %u";
    return tw_key_bytes(text, (size_t)snprintf(text, 40, form, i));
}

static void set_all(void) {
    for (unsigned i = 0; i < KEYS; ++i) {
        char text[40];
        assert_int_equal(set_in_ms(now.bench.keyed, key_of(i, text), 10, &now.probes[i]), 0);
    }
}

/* Every visitor of this file begins with this. */
static unsigned note_visit(const struct tw_key *key, void *arg, void *visit_arg) {
    char text[40];
    assert_ptr_equal(visit_arg, &now);
    const unsigned i = (unsigned)((struct probe *)arg - now.probes);
    assert_true(i < KEYS);
    const struct tw_key expected = key_of(i, text);
    assert_int_equal(key->is_number, expected.is_number);
    assert_int_equal(key->number, expected.number);
    assert_int_equal(key->size, expected.size);
    if (key->size != 0)
        assert_memory_equal(key->bytes, expected.bytes, key->size);
    assert_int_equal(now.probes[i].drops, 0);
    ++now.visits[i];
    return i;
}

static int64_t walk(tw_keyed_visitor *visitor) { return tw_keyed_each(now.bench.keyed, visitor, &now); }

static void assert_visited_once(void) {
    for (unsigned i = 0; i < KEYS; ++i)
        assert_int_equal(now.visits[i], 1);
}

static void only_note(const struct tw_key *key, void *arg, void *visit_arg) {
    note_visit(key, arg, visit_arg);
}

FIXTURE(make, end);

TEST(each_key_is_visited_once_and_stays) {
    assert_int_equal(walk(only_note), 0);
    set_all();
    assert_int_equal(walk(only_note), KEYS);
    assert_visited_once();
    pass_ms(now.bench, 10);
    for (unsigned i = 0; i < KEYS; ++i)
        assert_probe(now.probes[i], 1, 1);
    assert_int_equal(walk(only_note), 0);
}

static void remove_it(const struct tw_key *key, void *arg, void *visit_arg) {
    const unsigned i = note_visit(key, arg, visit_arg);
    assert_int_equal((i % 2 ? tw_keyed_remove : tw_keyed_remove_wait)(now.bench.keyed, *key), 1);
    assert_int_equal(tw_keyed_get(now.bench.keyed, *key, NULL), -ENOENT);
    note_visit(key, arg, visit_arg); /* the key is still there */
    --now.visits[i];
}

TEST(a_visitor_may_remove_its_key) {
    set_all();
    assert_int_equal(walk(remove_it), KEYS);
    assert_visited_once();
    assert_int_equal(tw_keyed_count(now.bench.keyed), 0);
    for (unsigned i = 0; i < KEYS; ++i)
        assert_probe(now.probes[i], 0, 1);
}

/* The new timers may be visited too; they have other arguments. */
static void replace_it(const struct tw_key *key, void *arg, void *visit_arg) {
    struct probe *probe = arg;
    if (probe >= now.replacing && probe < now.replacing + KEYS)
        return;
    const unsigned i = note_visit(key, arg, visit_arg);
    assert_int_equal(set_in_ms(now.bench.keyed, *key, 20, &now.replacing[i]), 1);
    assert_probe(now.probes[i], 0, 0);
}

TEST(a_visitor_may_replace_its_timer) {
    set_all();
    assert_in_range(walk(replace_it), KEYS, 2 * KEYS);
    assert_visited_once();
    assert_int_equal(tw_keyed_count(now.bench.keyed), KEYS);
    pass_ms(now.bench, 20);
    for (unsigned i = 0; i < KEYS; ++i) {
        assert_probe(now.probes[i], 0, 1);
        assert_probe(now.replacing[i], 1, 1);
    }
}

static void move_it(const struct tw_key *key, void *arg, void *visit_arg) {
    const unsigned i = note_visit(key, arg, visit_arg);
    assert_int_equal(i % 2 ? tw_keyed_postpone(now.bench.keyed, *key, TW_SECOND)
                           : tw_keyed_again(now.bench.keyed, *key),
                     0);
}

TEST(a_visitor_may_move_its_timer) {
    set_all();
    pass_ms(now.bench, 5);
    assert_int_equal(walk(move_it), KEYS);
    assert_visited_once();
    pass_ms(now.bench, 10);
    for (unsigned i = 0; i < KEYS; ++i)
        assert_probe(now.probes[i], i % 2 == 0, i % 2 == 0);
}

static void drain_it(const struct tw_key *key, void *arg, void *visit_arg) {
    note_visit(key, arg, visit_arg);
    assert_int_equal(tw_keyed_drain(now.bench.keyed, NULL, NULL), KEYS);
    assert_int_equal(tw_keyed_free(now.bench.keyed), -EBUSY);
}

TEST(a_visitor_may_drain_the_table) {
    set_all();
    assert_int_equal(walk(drain_it), 1);
    assert_int_equal(tw_keyed_count(now.bench.keyed), 0);
    for (unsigned i = 0; i < KEYS; ++i)
        assert_probe(now.probes[i], 0, 1);
}

TEST(p14_no_visitor_and_no_table_are_refused) {
    assert_int_equal(tw_keyed_each(now.bench.keyed, NULL, NULL), -EINVAL);
    assert_int_equal(tw_keyed_each(NULL, only_note, NULL), -EINVAL);
}

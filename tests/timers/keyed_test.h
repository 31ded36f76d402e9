/* Shared by the tests of keys: a table on virtual time, and arguments that count their fires
 * and drops. */
#ifndef TICKWHEEL_TESTS_KEYED_TEST_H
#define TICKWHEEL_TESTS_KEYED_TEST_H

#include "support/gate.h"
#include "support/runtime_test.h"

#include <stdbool.h>

#include <tickwheel/keyed.h>

struct probe {
    atomic_uint fires, drops;
};

static inline void count_fire(UNUSED const struct tw_event *event, void *arg) {
    atomic_fetch_add(&((struct probe *)arg)->fires, 1);
}

static inline void count_drop(void *arg) { atomic_fetch_add(&((struct probe *)arg)->drops, 1); }

static inline struct tw_task counting(struct probe *probe) {
    return (struct tw_task){.fn = count_fire, .arg = probe, .drop = count_drop};
}

static inline struct tw_when in_ms(int64_t ms) { return (struct tw_when){.due_ns = ms * TW_MILLISECOND}; }

static inline struct tw_when every_ms(int64_t ms) {
    return (struct tw_when){
        .due_ns = ms * TW_MILLISECOND, .period_ns = ms * TW_MILLISECOND, .missed = TW_BURST};
}

/* A number, a short string, or a string so long that the table allocates memory for it. */
static inline struct tw_key key_of_any_sort(unsigned i, char text[40]) {
    if (i % 3 == 0)
        return tw_key_number(i);
    const char *form = i % 3 == 1 ? "%u" : "a string of more than 16 bytes, %u";
    return tw_key_bytes(text, (size_t)snprintf(text, 40, form, i));
}

static inline int set_in_ms(struct tw_keyed *keyed, struct tw_key key, int64_t ms, struct probe *probe) {
    const struct tw_when when = in_ms(ms);
    const struct tw_task task = counting(probe);
    return tw_keyed_set(keyed, key, &when, &task);
}

#define assert_probe(probe, fired, dropped) \
    do { \
        assert_int_equal((probe).fires, fired); \
        assert_int_equal((probe).drops, dropped); \
    } while (0)

/* --- a table on virtual time ------------------------------------------------------- */

struct bench {
    struct tw_runtime *rt;
    struct tw_keyed *keyed;
};

static inline struct bench new_bench(struct tw_set_options options) {
    struct bench bench = {virtual_runtime(), NULL};
    assert_int_equal(tw_keyed_new(&bench.keyed, bench.rt, &options), 0);
    return bench;
}

static inline struct bench plain_bench(void) { return new_bench((struct tw_set_options){.capacity = 0}); }

static inline void pass_ms(struct bench bench, int64_t ms) {
    assert_int_equal(tw_runtime_advance(bench.rt, ms * TW_MILLISECOND), 0);
}

static inline void end_bench(struct bench bench) {
    assert_int_equal(tw_keyed_free(bench.keyed), 0);
    assert_int_equal(tw_runtime_free(bench.rt), 0);
}

/* --- a callback on another thread that stays until the test lets it return ------------------- */

struct guest {
    struct gate gate;
    atomic_uint drops_before_it_left, drops;
};

static inline void stay(UNUSED const struct tw_event *event, void *arg) {
    pass(&((struct guest *)arg)->gate);
}

static inline void drop_guest(void *arg) {
    struct guest *guest = arg;
    atomic_fetch_add(guest->gate.passed != 0 ? &guest->drops : &guest->drops_before_it_left, 1);
}

static inline struct tw_task staying(struct guest *guest) {
    return (struct tw_task){.fn = stay, .arg = guest, .drop = drop_guest};
}

#endif

/* Arguments that the set copies into its records. */
#include "handles_test.h"

struct parcel {
    unsigned char bytes[40];
    struct parcel *seen; /* where callbacks and drop leave a copy */
    const void *at;      /* the address they were called with */
};

static void deliver(UNUSED const struct tw_event *event, void *arg) {
    struct parcel *parcel = arg;
    *parcel->seen = *parcel;
    parcel->seen->at = arg;
}

static void deliver_dropped(void *arg) { deliver(NULL, arg); }

static void copy_backwards(void *to, void *from) {
    struct parcel *copy = to;
    *copy = *(struct parcel *)from;
    for (unsigned i = 0; i < sizeof copy->bytes; ++i)
        copy->bytes[i] = ((struct parcel *)from)->bytes[sizeof copy->bytes - 1 - i];
}

static struct parcel packed(unsigned char first, struct parcel *seen) {
    struct parcel parcel = {.seen = seen};
    for (unsigned i = 0; i < sizeof parcel.bytes; ++i)
        parcel.bytes[i] = (unsigned char)(first + i);
    return parcel;
}

TEST(an_argument_is_copied_into_the_timer) {
    enum { TIMERS = 70 }; /* more than one slab */
    static struct parcel fired[TIMERS], dropped[TIMERS];
    struct tw_runtime *rt = virtual_runtime();
    struct tw_handles *set =
        new_set(rt, (struct tw_handles_options){.capacity = 2 * TIMERS, .storage = sizeof(struct parcel)});
    const struct tw_when soon = {.due_ns = MS};
    tw_handle fires, stopped;
    for (unsigned i = 0; i < TIMERS; ++i) {
        struct parcel a = packed((unsigned char)i, &fired[i]),
                      b = packed((unsigned char)(2 * i), &dropped[i]);
        const struct tw_task by_memcpy = {.fn = deliver, .arg = &a, .arg_size = sizeof a};
        const struct tw_task by_function = {
            .fn = deliver, .arg = &b, .arg_size = sizeof b, .copy = copy_backwards, .drop = deliver_dropped};
        assert_int_equal(tw_handle_start(set, &fires, &soon, &by_memcpy), 0);
        assert_int_equal(tw_handle_start(set, &stopped, &soon, &by_function), 0);
        memset(&a, 0, sizeof a);
        memset(&b, 0, sizeof b);
        assert_int_equal(tw_handle_stop(set, stopped), 1);
    }
    assert_ok(tw_runtime_advance(rt, MS));
    for (unsigned i = 0; i < TIMERS; ++i) {
        assert_int_equal((uintptr_t)fired[i].at % 16, 0);
        assert_int_equal((uintptr_t)dropped[i].at % 16, 0);
        for (unsigned b = 0; b < sizeof fired[i].bytes; ++b) {
            assert_int_equal(fired[i].bytes[b], (unsigned char)(i + b));
            assert_int_equal(dropped[i].bytes[b], (unsigned char)(2 * i + 39 - b));
        }
    }
    tw_runtime_free(rt);
}

static tw_handle told;
static void note_fire_of(const struct tw_event *event, UNUSED void *arg) { told = event->handle; }

TEST(storage_is_there_to_its_last_byte) {
    static const size_t sizes[] = {1, 15, 16, 17, 64, 4095, 4096};
    static unsigned char bytes[4096];
    struct tw_runtime *rt = virtual_runtime();
    for (unsigned s = 0; s < COUNT_OF(sizes); ++s) {
        struct tw_handles *set = new_set(rt, (struct tw_handles_options){.capacity = 2, .storage = sizes[s]});
        const struct tw_when soon = {.due_ns = MS};
        struct tw_task task = {.fn = note_fire_of, .arg = bytes, .arg_size = sizes[s]};
        tw_handle ids[2];
        for (unsigned i = 0; i < 2; ++i)
            assert_int_equal(tw_handle_start(set, &ids[i], &soon, &task), 0);
        task.arg_size = sizes[s] + 1;
        assert_int_equal(tw_handle_stop(set, ids[0]), 1);
        assert_int_equal(tw_handle_start(set, &ids[0], &soon, &task), -EINVAL);
        assert_ok(tw_runtime_advance(rt, MS));
        assert_int_equal(told, ids[1]);
        assert_int_equal(tw_handles_free(set), 0);
    }
    tw_runtime_free(rt);
}

static int64_t no_deadline(UNUSED int64_t due_ns, UNUSED void *arg) { return TW_NO_DEADLINE; }

/* A start refused before `copy` was called drops nothing; one refused after it drops the copy
 * once. */
TEST(a_start_that_fails_after_copying_drops_the_copy) {
    static struct parcel dropped;
    struct tw_runtime *rt = virtual_runtime();
    struct tw_handles *set =
        new_set(rt, (struct tw_handles_options){.capacity = 1, .storage = sizeof(struct parcel)});
    struct parcel parcel = packed(7, &dropped);
    struct tw_task task = {.fn = deliver,
                           .arg = &parcel,
                           .next = no_deadline,
                           .drop = deliver_dropped,
                           .arg_size = sizeof parcel};
    tw_handle id = 99;
    assert_int_equal(tw_handle_start(set, &id, NULL, &task), -ENOENT);
    assert_null(dropped.at); /* copied by memcpy: the argument is still the caller's */
    task.copy = copy_backwards;
    assert_int_equal(tw_handle_start(set, &id, NULL, &task), -ENOENT);
    assert_non_null(dropped.at);
    assert_int_equal(dropped.bytes[0], 46);
    assert_int_equal(id, 99);
    assert_int_equal(tw_handles_count(set), 0);
    assert_int_equal(tw_handle_after(set, &id, MS, note_fire_of, NULL), 0); /* its cell is free */
    dropped.at = NULL;
    assert_int_equal(tw_handle_start(set, &id, NULL, &task), -ENOSPC);
    assert_null(dropped.at);
    tw_runtime_free(rt);
}

/* What a program in another language can use without the headers: functions by their plain names, and sizes
 * by calls. The declarations here are such a program's; the test includes the headers only to compare. */
#include <tickwheel/tw.h>

#include "support/test.h"

int plain_init(void *wheel, tw_tick now, unsigned flags) __asm__("tw_init");
int plain_node_init(void *node, void (*fn)(void *, void *), void *arg) __asm__("tw_node_init");

TEST(sizes_are_those_of_the_headers) {
    assert_int_equal(tw_node_size(), sizeof(struct tw_node));
    assert_int_equal(tw_wheel_size(), sizeof(struct tw));
}

TEST(storage_of_malloc_is_aligned) {
    assert_true(_Alignof(struct tw_node) <= _Alignof(max_align_t));
    assert_true(_Alignof(struct tw) <= _Alignof(max_align_t));
}

TEST(the_version_is_that_of_the_headers) { assert_int_equal(tw_version(), TW_VERSION); }

static void count(UNUSED void *node, void *arg) { ++*(int *)arg; }

TEST(a_timer_fires_in_storage_by_size) {
    void *const wheel = malloc(tw_wheel_size()), *const node = malloc(tw_node_size());
    int fired = 0;
    assert_int_equal(plain_init(wheel, 0, 0), 0);
    assert_int_equal(plain_node_init(node, count, &fired), 0);
    assert_int_equal(tw_arm_after(wheel, node, 30), 0);
    assert_int_equal(tw_advance(wheel, 29, TW_UNBOUNDED), 0);
    assert_int_equal(fired, 0);
    assert_int_equal(tw_advance(wheel, 30, TW_UNBOUNDED), 0);
    assert_int_equal(fired, 1);
    free(node);
    free(wheel);
}

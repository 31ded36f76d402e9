/* tw_runtime_dump: a runtime as text. */
#include "support/runtime_test.h"

#include <tickwheel/keyed.h>
#include <tickwheel/observe.h>
#include <tickwheel/timers.h>

static char text[1 << 16];
static size_t length;

static void append(const char *piece, size_t size, UNUSED void *arg) {
    assert_true(length + size < sizeof text);
    memcpy(text + length, piece, size);
    length += size;
    text[length] = 0;
}

static const char *dump_of(struct tw_runtime *rt, size_t timers) {
    length = 0;
    assert_ok(tw_runtime_dump(rt, timers, append, NULL));
    return text;
}

static void assert_has(const char *line) {
    if (strstr(text, line) == NULL)
        fail_msg("no \"%s\" in:\n%s", line, text);
}

TEST(a_dump_tells_of_the_runtime_its_labels_and_what_is_pending) {
    struct tw_runtime *rt = new_runtime((struct tw_runtime_options){
        .driver = "manual", .thread_name = "mine", .tick_ns = 2 * TW_MILLISECOND});
    struct tw_timers *handles;
    struct tw_keyed *keyed;
    struct tw_node node;
    tw_handle id;
    char line[64];
    assert_ok(tw_timers_new(&handles, rt, NULL));
    assert_ok(tw_keyed_new(&keyed, rt, NULL));
    tw_node_init(&node, no_callback, NULL);
    assert_ok(tw_runtime_label(rt, &node, "heartbeat"));
    assert_ok(tw_runtime_every(rt, &node, TW_SECOND, TW_COALESCE));
    assert_ok(tw_timer_after(handles, &id, 90 * TW_SECOND, no_task, NULL));
    assert_ok(tw_keyed_after(keyed, tw_key_number(17), 36000 * TW_SECOND, no_task, NULL));
    assert_ok(tw_keyed_after(keyed, tw_key_bytes("name", 4), 36000 * TW_SECOND, no_task, NULL));
    tw_runtime_advance(rt, 5 * TW_SECOND);
    dump_of(rt, 100);
    assert_has("runtime \"mine\": driver manual, virtual time at 5000000000 ns, ticks of 2 ms\n");
    assert_has("4 timers pending");
    assert_has("late, woken late");
    assert_has("heartbeat                         5         0         0");
    assert_has("1 s          1 s          heartbeat                node 0x");
    snprintf(line, sizeof line, "1.42 min     once         (none)                   handle %#llx\n",
             (unsigned long long)id);
    assert_has(line);
    assert_has("key 17\n");
    assert_has("key of 4 bytes\n");
    dump_of(rt, 1);
    assert_has("and 3 more\n");
    dump_of(rt, 0);
    assert_null(strstr(text, "due in"));
    tw_runtime_cancel(rt, &node);
    tw_runtime_free(rt);
}

TEST(a_dump_cuts_labels_that_are_too_long_for_a_row) {
    static char label[4000];
    struct tw_runtime *rt = virtual_runtime();
    struct tw_node node;
    memset(label, 'x', sizeof label - 1);
    tw_node_init(&node, no_callback, NULL);
    assert_ok(tw_runtime_label(rt, &node, label));
    assert_ok(tw_runtime_after(rt, &node, TW_SECOND));
    dump_of(rt, 10);
    assert_true(length < 2000);
    tw_runtime_cancel(rt, &node);
    tw_runtime_free(rt);
}

TEST(a_dump_refuses_bad_arguments) {
    struct tw_runtime *rt = virtual_runtime();
    assert_int_equal(tw_runtime_dump(NULL, 1, append, NULL), -EINVAL);
    assert_int_equal(tw_runtime_dump(rt, 1, NULL, NULL), -EINVAL);
    assert_int_equal(tw_runtime_metrics(NULL, NULL, append, NULL), -EINVAL);
    assert_int_equal(tw_runtime_metrics(rt, NULL, NULL, NULL), -EINVAL);
    tw_runtime_free(rt);
}

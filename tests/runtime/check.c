/* tw_runtime_check finds a node that was overwritten while pending, on each timeline. */
#include "support/runtime_test.h"

#include <stdbool.h>

static struct tw_runtime *rt;
static struct tw_node first, node, last;

static void ignore(UNUSED struct tw_node *it, UNUSED void *arg) {}

static int begin(UNUSED void **state) {
    rt = new_runtime((struct tw_runtime_options){.driver = "manual", .clock = TW_CLOCK_WALL});
    struct tw_node *nodes[] = {&first, &node, &last};
    for (unsigned i = 0; i < COUNT_OF(nodes); ++i)
        tw_node_init(nodes[i], ignore, NULL);
    return 0;
}

static int end(UNUSED void **state) { return tw_runtime_free(rt); }

struct report {
    unsigned broken;
    bool names_it;
};

static void note(const char *invariant, const struct tw_node *it, void *arg) {
    struct report *const report = arg;
    assert_non_null(invariant);
    ++report->broken;
    report->names_it |= it == &node;
}

static void assert_names_node_once_overwritten(void) {
    const struct tw_node before = node;
    struct report report = {0};
    assert_int_equal(tw_runtime_check(rt, note, &report), 0);
    assert_int_equal(report.broken, 0);
    memset(&node, 0xCC, sizeof node);
    const int broken = tw_runtime_check(rt, note, &report);
    node = before;
    assert_true(broken > 0);
    assert_int_equal(broken, report.broken);
    assert_true(report.names_it);
    assert_int_equal(tw_runtime_check(rt, NULL, NULL), 0);
}

FIXTURE(begin, end);

TEST(check_of_a_runtime_names_a_node_with_a_delay) {
    assert_ok(tw_runtime_after(rt, &first, TW_SECOND));
    assert_ok(tw_runtime_after(rt, &node, TW_SECOND));
    assert_ok(tw_runtime_after(rt, &last, TW_SECOND));
    assert_names_node_once_overwritten();
}

TEST(check_of_a_runtime_names_a_node_with_a_deadline_on_the_wall_clock) {
    assert_ok(tw_runtime_after(rt, &first, TW_SECOND));
    assert_ok(tw_runtime_at(rt, &node, tw_runtime_now(rt) + TW_SECOND));
    assert_names_node_once_overwritten();
}

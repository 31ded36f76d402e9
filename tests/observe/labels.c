/* Labels: the counts for each label, over nodes, work items, handles and keys. */
#include "support/runtime_test.h"

#include <tickwheel/keyed.h>
#include <tickwheel/observe.h>
#include <tickwheel/timers.h>
#include <tickwheel/workers.h>

static struct tw_runtime *rt;
static struct tw_timers *handles;
static struct tw_keyed *keyed;

static int fresh(UNUSED void **state) {
    rt = virtual_runtime();
    assert_ok(tw_timers_new(&handles, rt, &(struct tw_set_options){.label = "of the handles"}));
    assert_ok(tw_keyed_new(&keyed, rt, NULL));
    return 0;
}

static int done(UNUSED void **state) { return tw_runtime_free(rt); }

static struct tw_label_counts counts_of(const char *label) {
    static struct tw_label_counts counts[TW_LABELS];
    const int rows = tw_runtime_labels(rt, counts, TW_LABELS);
    for (int i = 0; i < rows; ++i)
        if (label == NULL ? counts[i].label == NULL
                          : counts[i].label != NULL && strcmp(counts[i].label, label) == 0)
            return counts[i];
    fail_msg("no row for this label");
    return counts[0];
}

FIXTURE(fresh, done);

TEST(every_fire_and_cancel_of_a_node_counts_for_its_label) {
    struct tw_node node;
    tw_node_init(&node, no_callback, NULL);
    assert_ok(tw_runtime_label(rt, &node, "idle"));
    for (int i = 0; i < 3; ++i) {
        tw_runtime_after(rt, &node, TW_SECOND);
        tw_runtime_advance(rt, TW_SECOND);
    }
    tw_runtime_after(rt, &node, TW_SECOND);
    tw_runtime_cancel(rt, &node);
    tw_runtime_cancel(rt, &node); /* prevents nothing */
    assert_int_equal(counts_of("idle").fires, 3);
    assert_int_equal(counts_of("idle").cancels, 1);
    assert_int_equal(counts_of(NULL).fires, 0);
}

TEST(missed_fires_count_for_the_label) {
    static const char *const labels[] = {"often", "of the handles", "on workers"};
    struct tw_set_options options = {.label = "on workers"};
    struct tw_timers *on_workers;
    struct tw_node node;
    tw_handle id;
    tw_node_init(&node, no_callback, NULL);
    assert_ok(tw_runtime_label(rt, &node, "often"));
    assert_ok(tw_workers_new(&options.workers, rt, NULL));
    assert_ok(tw_timers_new(&on_workers, rt, &options));
    tw_runtime_every(rt, &node, TW_SECOND, TW_COALESCE);
    tw_runtime_leap(rt, 5 * TW_SECOND);
    tw_runtime_cancel(rt, &node);
    assert_ok(tw_timer_every(handles, &id, TW_SECOND, TW_COALESCE, no_task, NULL));
    assert_ok(tw_timer_every(on_workers, &id, TW_SECOND, TW_COALESCE, no_task, NULL));
    tw_runtime_leap(rt, 5 * TW_SECOND);
    for (unsigned i = 0; i < COUNT_OF(labels); ++i) {
        assert_int_equal(counts_of(labels[i]).fires, 1);
        assert_int_equal(counts_of(labels[i]).overruns, 4);
    }
}

TEST(timers_of_a_set_have_the_label_of_their_task_or_of_their_set) {
    tw_handle id;
    const struct tw_when second = {.due_ns = TW_SECOND};
    assert_ok(tw_timer_after(handles, &id, TW_SECOND, no_task, NULL));
    assert_ok(tw_timer_start(handles, &id, &second, &(struct tw_task){.fn = no_task}));
    assert_ok(tw_timer_start(handles, &id, &second, &(struct tw_task){.fn = no_task, .label = "its own"}));
    assert_ok(
        tw_keyed_set(keyed, tw_key_number(1), &second, &(struct tw_task){.fn = no_task, .label = "its own"}));
    assert_ok(tw_keyed_after(keyed, tw_key_number(2), TW_SECOND, no_task, NULL));
    tw_runtime_advance(rt, TW_SECOND);
    assert_int_equal(counts_of("of the handles").fires, 2);
    assert_int_equal(counts_of("its own").fires, 2);
    assert_int_equal(counts_of(NULL).fires, 1);
}

TEST(stopped_replaced_and_cancelled_timers_count_as_cancelled) {
    tw_handle id, with_drop;
    const struct tw_when second = {.due_ns = TW_SECOND};
    assert_ok(tw_timer_after(handles, &id, TW_SECOND, no_task, NULL));
    assert_ok(tw_timer_start(handles, &with_drop, &second, &(struct tw_task){.fn = no_task, .drop = free}));
    assert_int_equal(tw_timer_cancel(handles, id), 1);
    assert_int_equal(tw_timer_cancel(handles, with_drop), 1);
    assert_int_equal(tw_timer_cancel(handles, id), -ESTALE);
    assert_int_equal(counts_of("of the handles").cancels, 2);
    assert_ok(tw_keyed_after(keyed, tw_key_number(2), TW_SECOND, no_task, NULL));
    assert_int_equal(tw_keyed_after(keyed, tw_key_number(2), TW_SECOND, no_task, NULL), 0);
    assert_int_equal(counts_of(NULL).cancels, 1);
    assert_int_equal(tw_keyed_cancel_all(keyed, NULL, NULL), 1);
    assert_int_equal(counts_of(NULL).cancels, 2);
}

static void stop_itself(const struct tw_event *event, void *arg) {
    *(int *)arg = tw_timer_cancel(handles, event->handle);
}
static void no_drop(UNUSED void *arg) {}

TEST(a_stop_that_prevents_no_fire_does_not_count_as_a_cancel) {
    tw_handle id;
    int answers[2] = {99, 99};
    const struct tw_when second = {.due_ns = TW_SECOND};
    assert_ok(tw_timer_after(handles, &id, TW_SECOND, stop_itself, &answers[0]));
    assert_ok(tw_timer_start(handles, &id, &second,
                             &(struct tw_task){.fn = stop_itself, .arg = &answers[1], .drop = no_drop}));
    tw_runtime_advance(rt, TW_SECOND);
    assert_int_equal(answers[0], 0);
    assert_int_equal(answers[1], 0);
    assert_int_equal(counts_of("of the handles").fires, 2);
    assert_int_equal(counts_of("of the handles").cancels, 0);
}

TEST(a_work_item_counts_once_and_its_run_is_timed_on_the_worker) {
    struct tw_workers *workers;
    struct tw_work item;
    assert_ok(tw_workers_new(&workers, rt, NULL));
    assert_ok(tw_work_init(&item, workers, no_callback, NULL, 0));
    assert_ok(tw_runtime_label(rt, &item.node, "work item"));
    tw_runtime_after(rt, &item.node, TW_SECOND);
    tw_runtime_advance(rt, TW_SECOND);
    assert_ok(tw_workers_wait(workers));
    struct tw_stats observed;
    assert_ok(tw_runtime_stats(rt, &observed));
    uint64_t runs = 0;
    for (unsigned i = 0; i < TW_BUCKETS; ++i)
        runs += observed.callbacks.counts[i];
    assert_int_equal(counts_of("work item").fires, 1);
    assert_int_equal(runs, 1);
}

TEST(equal_texts_are_one_label_wherever_they_stand) {
    static const char *const texts[] = {"of the handles", "same"}; /* the first label, and the last */
    for (unsigned i = 0; i < COUNT_OF(texts); ++i) {
        struct tw_node one, other;
        char copy[16];
        strcpy(copy, texts[i]);
        tw_node_init(&one, no_callback, NULL);
        tw_node_init(&other, no_callback, NULL);
        assert_ok(tw_runtime_label(rt, &one, texts[i]));
        assert_ok(tw_runtime_label(rt, &other, copy));
        tw_runtime_after(rt, &one, TW_SECOND);
        tw_runtime_after(rt, &other, TW_SECOND);
        tw_runtime_advance(rt, TW_SECOND);
        assert_int_equal(counts_of(texts[i]).fires, 2);
    }
}

TEST(labels_beyond_what_a_runtime_tells_apart_are_counted_together) {
    static char texts[100][8];
    for (int i = 0; i < 100; ++i) {
        struct tw_node node;
        snprintf(texts[i], sizeof texts[i], "kind %d", i);
        tw_node_init(&node, no_callback, NULL);
        assert_ok(tw_runtime_label(rt, &node, texts[i]));
        tw_runtime_after(rt, &node, TW_SECOND);
        tw_runtime_advance(rt, TW_SECOND);
    }
    /* The set of handles has the last label. */
    assert_int_equal(tw_runtime_labels(rt, NULL, 0), TW_LABELS);
    assert_int_equal(counts_of("kind 60").fires, 1);
    assert_int_equal(counts_of("(other labels)").fires, 39);
}

TEST(a_label_can_be_taken_away) {
    struct tw_node node;
    tw_node_init(&node, no_callback, NULL);
    assert_ok(tw_runtime_label(rt, &node, "gone"));
    assert_ok(tw_runtime_label(rt, &node, NULL));
    tw_runtime_after(rt, &node, TW_SECOND);
    tw_runtime_advance(rt, TW_SECOND);
    assert_int_equal(counts_of("gone").fires, 0);
    assert_int_equal(counts_of(NULL).fires, 1);
}

TEST(labels_refuse_bad_arguments_and_name_the_cause) {
    struct tw_node node;
    tw_node_init(&node, no_callback, NULL);
    assert_int_equal(tw_runtime_label(NULL, &node, "x"), -EINVAL);
    assert_int_equal(tw_runtime_label(rt, NULL, "x"), -EINVAL);
    assert_int_equal(tw_runtime_label(rt, &(struct tw_node){0}, "x"), -EINVAL);
    tw_runtime_after(rt, &node, TW_SECOND);
    assert_int_equal(tw_runtime_label(rt, &node, "x"), -EBUSY);
    assert_string_equal(tw_explain(-EBUSY), "the node is pending");
    assert_int_equal(tw_runtime_labels(rt, NULL, 0), 2); /* that of the handles; "x" is none */
    tw_runtime_cancel(rt, &node);
    assert_int_equal(tw_runtime_labels(NULL, NULL, 0), -EINVAL);
    assert_int_equal(tw_runtime_labels(rt, NULL, 1), -EINVAL);
    struct tw_label_counts few[1];
    assert_true(tw_runtime_labels(rt, few, 1) > 1);
    assert_null(few[0].label);
}

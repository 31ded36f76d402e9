/* A walk over the pending timers, against threads that arm, cancel, fire, and make and free sets. The walk
 * shows only timers that exist, and shows each timer that stays. */
#include <pthread.h>

#include "support/runtime_test.h"
#include "support/sanitized.h"

#include <tickwheel/observe.h>
#include <tickwheel/timers.h>

enum { STAYING = 100, MOVING = 400, WALKS = 40 };

/* 34 years: so far away that the timers' slot does not open while the test runs (it would on a system that
 * has been up for that long). So no timer is lowered behind a walk, which would then show it twice. */
#define FAR ((INT64_C(1) << 30) * TW_SECOND)

static struct tw_runtime *rt;
static struct tw_node staying[STAYING], moving[MOVING];
static tw_handle handles_staying[STAYING];
static _Atomic int over;

static void *move_nodes(void *arg) {
    uint64_t seed = (uintptr_t)arg;
    while (!over) {
        struct tw_node *node = &moving[random_below(&seed, MOVING / 2) + (seed & 1) * (MOVING / 2)];
        if (random_below(&seed, 3) == 0)
            tw_runtime_cancel(rt, node);
        else
            tw_runtime_after(rt, node, (int64_t)random_below(&seed, 300) * TW_MILLISECOND / 20);
    }
    return NULL;
}

static void *make_and_free_sets(UNUSED void *arg) {
    while (!over) {
        struct tw_timers *set;
        tw_handle id;
        assert_ok(tw_timers_new(&set, rt, &(struct tw_set_options){.label = "short-lived"}));
        for (unsigned i = 0; i < 20; ++i)
            assert_ok(tw_timer_after(set, &id, i * TW_MILLISECOND, no_task, NULL));
        assert_ok(tw_timers_free(set));
    }
    return NULL;
}

static unsigned shown[STAYING], handles_shown[STAYING];

static int note(const struct tw_entry *timer, UNUSED void *arg) {
    if (timer->node >= staying && timer->node < staying + STAYING) {
        ++shown[timer->node - staying];
        assert_string_equal(timer->label, "staying");
    } else if (timer->node != NULL) {
        assert_true(timer->node >= moving && timer->node < moving + MOVING);
        assert_null(timer->label);
    } else if (strcmp(timer->label, "handle") == 0) {
        for (unsigned i = 0; i < STAYING; ++i)
            handles_shown[i] += handles_staying[i] == timer->handle;
    } else {
        assert_string_equal(timer->label, "short-lived");
    }
    return 0;
}

TEST(a_walk_shows_all_that_stays_while_others_come_and_go) {
    struct tw_timers *set;
    pthread_t threads[3];
    rt = started_runtime((struct tw_runtime_options){.tick_ns = 100 * TW_MICROSECOND});
    assert_ok(tw_timers_new(&set, rt, &(struct tw_set_options){.label = "handle"}));
    for (unsigned i = 0; i < STAYING; ++i) {
        tw_node_init(&staying[i], no_callback, NULL);
        assert_ok(tw_runtime_label(rt, &staying[i], "staying"));
        assert_ok(tw_runtime_after(rt, &staying[i], FAR + i % 7 * TW_SECOND));
        assert_ok(tw_timer_after(set, &handles_staying[i], FAR, no_task, NULL));
    }
    for (unsigned i = 0; i < MOVING; ++i)
        tw_node_init(&moving[i], no_callback, NULL);
    pthread_create(&threads[0], NULL, move_nodes, (void *)(uintptr_t)1);
    pthread_create(&threads[1], NULL, move_nodes, (void *)(uintptr_t)2);
    pthread_create(&threads[2], NULL, make_and_free_sets, NULL);
    for (unsigned walk = 1; walk <= WALKS; ++walk) {
        assert_int_equal(tw_runtime_each(rt, note, NULL), 0);
        for (unsigned i = 0; i < STAYING; ++i) {
            assert_int_equal(shown[i], walk);
            assert_int_equal(handles_shown[i], walk);
        }
    }
    over = 1;
    for (unsigned i = 0; i < 3; ++i)
        pthread_join(threads[i], NULL);
    assert_int_equal(tw_runtime_check(rt, NULL, NULL), 0);
    tw_runtime_free(rt);
}

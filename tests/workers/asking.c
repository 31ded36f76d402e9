/* Queries of a run, the attributes of worker threads, and refused calls. */
#define _GNU_SOURCE
#include "workers_test.h"

#include <signal.h>
#include <sys/prctl.h>

static struct tw_work item;

static void nothing(UNUSED struct tw_node *node, UNUSED void *arg) {}

struct answers {
    atomic_bool given;
    int64_t due;
    uint64_t overruns;
    void *arg;
    struct tw_node *node;
};

static void ask(struct tw_node *node, void *arg) {
    struct answers *const answers = arg;
    answers->due = tw_runtime_due(rt);
    answers->overruns = tw_runtime_overruns(rt);
    answers->arg = arg;
    answers->node = node;
    atomic_store(&answers->given, true);
}

TEST(due_and_overruns_speak_of_the_fire_that_is_run) {
    struct answers answers = {0};
    struct tw_work held;
    shut(&gate);
    rt = new_runtime(by_hand);
    pool = new_pool(rt, (struct tw_workers_options){.threads = 1});
    hold_a_worker(&held, &gate);
    init_item(&item, pool, ask, &answers);
    assert_ok(tw_runtime_every(rt, &item.node, 10 * TW_MILLISECOND, TW_COALESCE));
    assert_ok(tw_runtime_leap(rt, 35 * TW_MILLISECOND));
    atomic_store(&gate.open, true);
    wait_for(atomic_load(&answers.given));
    assert_int_equal(answers.due, 10 * TW_MILLISECOND);
    assert_int_equal(answers.overruns, 2);
    assert_ptr_equal(answers.arg, &answers);
    assert_ptr_equal(answers.node, &item.node);
    assert_int_equal(tw_runtime_due(rt), TW_NO_DEADLINE);
    assert_int_equal(tw_runtime_overruns(rt), 0);
    assert_ok(tw_runtime_free(rt));
}

TEST(due_on_the_wall_clock_is_a_reading_of_it) {
    struct answers answers = {0};
    rt = new_runtime((struct tw_runtime_options){.driver = "manual", .clock = TW_CLOCK_WALL});
    pool = new_pool(rt, (struct tw_workers_options){.threads = 1});
    assert_ok(tw_runtime_set_wall(rt, 1000 * TW_SECOND));
    init_item(&item, pool, ask, &answers);
    assert_ok(tw_runtime_at(rt, &item.node, 1001 * TW_SECOND));
    assert_ok(tw_runtime_advance(rt, 2 * TW_SECOND));
    assert_ok(tw_workers_wait(pool));
    assert_int_equal(answers.due, 1001 * TW_SECOND);
    assert_ok(tw_runtime_free(rt));
}

/* --- the threads ------------------------------------------------------------------------ */

struct seen {
    atomic_bool done;
    bool all_blocked;
    char name[16];
    int slack;
};

static void look(UNUSED struct tw_node *node, void *arg) {
    struct seen *const seen = arg;
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    /* not SIGRTMAX and SIGRTMAX - 1, which qemu-user lacks */
    seen->all_blocked = sigismember(&mask, SIGTERM) == 1 && sigismember(&mask, SIGPROF) == 1 &&
                        sigismember(&mask, SIGRTMAX - 2) == 1;
    pthread_getname_np(pthread_self(), seen->name, sizeof seen->name);
    seen->slack = prctl(PR_GET_TIMERSLACK);
    atomic_store(&seen->done, true);
}

static void look_at_a_worker(const char *name, struct seen *seen) {
    rt = new_runtime(by_hand);
    pool = new_pool(rt, (struct tw_workers_options){.threads = 1, .thread_name = name});
    init_item(&item, pool, look, seen);
    fire(&item);
    wait_for(atomic_load(&seen->done));
    assert_ok(tw_runtime_free(rt));
}

TEST(workers_have_a_name_block_signals_and_keep_the_usual_slack) {
    struct seen usual = {0}, named = {0};
    sigset_t before, after;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    look_at_a_worker(NULL, &usual);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    for (int signal = 1; signal < NSIG; ++signal)
        assert_int_equal(sigismember(&after, signal), sigismember(&before, signal));
    look_at_a_worker("fifteen-letters", &named);
    assert_string_equal(usual.name, "tickwheel-work");
    assert_string_equal(named.name, "fifteen-letters");
    assert_true(usual.all_blocked);
    assert_int_equal(usual.slack, prctl(PR_GET_TIMERSLACK));
}

/* --- refusals ----------------------------------------------------------------------------- */

static void refuses(struct tw_workers_options options) {
    struct tw_workers *untouched = (struct tw_workers *)(uintptr_t)16;
    assert_int_equal(tw_workers_new(&untouched, rt, &options), -EINVAL);
    assert_ptr_equal(untouched, (struct tw_workers *)(uintptr_t)16);
}

TEST(bad_input_is_refused) {
    rt = new_runtime(by_hand);
    refuses((struct tw_workers_options){.threads = TW_WORKERS_MAX + 1});
    refuses((struct tw_workers_options){.queue = (UINT32_C(1) << 24) + 1});
    refuses((struct tw_workers_options){.when_full = (enum tw_when_full)3});
    refuses((struct tw_workers_options){.at_stop = (enum tw_at_stop)2});
    refuses((struct tw_workers_options){.thread_name = "sixteen letters!"});
    assert_int_equal(tw_workers_new(NULL, rt, NULL), -EINVAL);
    assert_int_equal(tw_workers_new(&pool, NULL, NULL), -EINVAL);
    assert_int_equal(tw_workers_new(&pool, rt, NULL), 0);
    assert_int_equal(tw_workers_free(NULL), 0);
    assert_int_equal(tw_workers_wait(NULL), -EINVAL);
    struct tw_worker_stats stats;
    assert_int_equal(tw_workers_stats(NULL, &stats), -EINVAL);
    assert_string_equal(tw_explain(-EINVAL), "the workers are null");
    assert_int_equal(tw_workers_stats(pool, NULL), -EINVAL);
    assert_string_equal(tw_explain(-EINVAL), "stats is null");
    assert_int_equal(tw_work_init(NULL, pool, nothing, NULL, 0), -EINVAL);
    assert_int_equal(tw_work_init(&item, NULL, nothing, NULL, 0), -EINVAL);
    assert_int_equal(tw_work_init(&item, pool, NULL, NULL, 0), -EINVAL);
    assert_int_equal(tw_work_init(&item, pool, nothing, NULL, 2), -EINVAL);
    assert_int_equal(tw_work_init(&item, pool, nothing, NULL, TW_CONCURRENT), 0);
    assert_ok(tw_runtime_free(rt));
}

TEST(the_largest_pool_is_made_and_works) {
    shut(&gate);
    rt = new_runtime(by_hand);
    pool = new_pool(rt, (struct tw_workers_options){.threads = TW_WORKERS_MAX, .queue = UINT32_C(1) << 24});
    assert_ok(tw_work_init(&item, pool, wait_in_gate, &gate, TW_CONCURRENT));
    for (int i = 0; i < TW_WORKERS_MAX; ++i)
        fire(&item);
    wait_for(atomic_load(&gate.inside) == TW_WORKERS_MAX);
    atomic_store(&gate.open, true);
    assert_ok(tw_runtime_free(rt));
}

static atomic_int made;

/* Callbacks may make pools and work items. */
static void make_more(UNUSED struct tw_node *node, void *own_item) {
    struct tw_work *const another = own_item;
    struct tw_workers *more = NULL;
    atomic_store(&made, tw_workers_new(&more, rt, NULL) == 0 && tw_workers_free(more) == -EBUSY &&
                            tw_work_init(another, more, nothing, NULL, 0) == 0 &&
                            tw_runtime_after(rt, &another->node, 0) == 0);
}

TEST(a_pool_may_be_made_in_a_callback) {
    struct tw_work others[2];
    struct tw_node node;
    rt = new_runtime(by_hand);
    tw_node_init(&node, make_more, &others[0]);
    atomic_store(&made, 0);
    assert_ok(tw_runtime_after(rt, &node, 0));
    assert_ok(tw_runtime_advance(rt, 0));
    assert_int_equal(made, 1);
    pool = new_pool(rt, (struct tw_workers_options){0});
    init_item(&item, pool, make_more, &others[1]);
    atomic_store(&made, 0);
    fire(&item);
    assert_ok(tw_workers_wait(pool));
    assert_int_equal(made, 1);
    assert_ok(tw_runtime_free(rt));
}

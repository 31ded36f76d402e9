/* P7: a callback frees the runtime while another callback keeps arming on another thread, until arming
 * returns an error. The latter callback may then overwrite its node at once. */
#include "support/counted_closes.h"

#include <tickwheel/workers.h>

static struct tw_runtime *rt;
static struct tw_workers *pool;

static void never(UNUSED struct tw_node *node, UNUSED void *arg) { abort(); }

static atomic_bool runs, was_refused;
static atomic_int refusal;

/* Arms a node of its own until arming is refused. */
static void arm_until_refused(UNUSED struct tw_node *node, UNUSED void *arg) {
    struct tw_node *const own_node = malloc(sizeof *own_node);
    int result;
    tw_node_init(own_node, never, NULL);
    atomic_store(&runs, true);
    do
        result = tw_runtime_after(rt, own_node, 3600 * TW_SECOND);
    while (result >= 0);
    atomic_store(&refusal, result);
    tw_runtime_cancel(rt, own_node); /* the node may still be pending if tw_runtime_free has not returned */
    memset(own_node, 0xa5, sizeof *own_node);
    free(own_node);
    atomic_store(&was_refused, true);
}

static void free_when_the_other_runs(UNUSED struct tw_node *node, UNUSED void *arg) {
    while (!atomic_load(&runs))
        doze();
    if (tw_runtime_free(rt) != 0)
        abort();
    while (!atomic_load(&was_refused))
        doze();
}

TEST(callbacks_that_go_on_arming_get_an_error) {
    for (int by_worker = 0; by_worker <= 1; ++by_worker)
        for (unsigned times = 0; times < 20; ++times) {
            static struct tw_work arms, frees;
            static struct tw_node frees_here;
            atomic_store(&runs, false);
            atomic_store(&was_refused, false);
            rt = new_runtime(with_counted_closes("sleep"));
            assert_ok(tw_workers_new(&pool, rt, &(struct tw_workers_options){.threads = 2}));
            assert_ok(tw_work_init(&arms, pool, arm_until_refused, NULL, 0));
            assert_ok(tw_work_init(&frees, pool, free_when_the_other_runs, NULL, 0));
            tw_node_init(&frees_here, free_when_the_other_runs, NULL);
            assert_ok(tw_runtime_after(rt, &arms.node, 0));
            assert_ok(tw_runtime_after(rt, by_worker ? &frees.node : &frees_here, 0));
            assert_ok(tw_runtime_start(rt));
            wait_for(closed == 1);
            assert_int_equal(refusal, -ESHUTDOWN);
        }
}

/* P10: making a pool allocates everything it needs; jobs and runs allocate nothing. */
#include "support/counted_heap.h"
#include "workers_test.h"

enum { JOBS = 300 };
static struct tw_job jobs[JOBS];
static atomic_uint runs;

static void count(UNUSED struct tw_node *node, UNUSED void *arg) { atomic_fetch_add(&runs, 1); }

static void use_every_call(struct tw_runtime *rt, struct tw_workers *pool) {
    struct tw_worker_stats stats;
    for (unsigned i = 0; i < JOBS; ++i) {
        tw_job_init(&jobs[i], pool, count, NULL, i % 2);
        tw_runtime_every(rt, &jobs[i].node, TW_MILLISECOND, TW_BURST);
    }
    const unsigned before = atomic_load(&runs);
    while (atomic_load(&runs) < before + 20 * JOBS)
        doze();
    for (unsigned i = 0; i < JOBS; ++i)
        if (i % 3 == 0)
            tw_runtime_shutdown(rt, &jobs[i].node);
        else
            tw_runtime_cancel_wait(rt, &jobs[i].node);
    tw_workers_wait(pool);
    tw_workers_stats(pool, &stats);
}

TEST(p10_workers_stay_off_the_heap) {
    for (enum tw_when_full full = TW_FULL_INLINE; full <= TW_FULL_BLOCK; ++full) {
        struct tw_runtime *const rt = started_runtime((struct tw_runtime_options){0});
        struct tw_workers *const pool =
            new_pool(rt, (struct tw_workers_options){.threads = 2, .queue = 100, .when_full = full});
        use_every_call(rt, pool); /* by now the system has allocated what threads need */
        const unsigned before = allocations;
        use_every_call(rt, pool);
        assert_int_equal(allocations, before);
        assert_ok(tw_runtime_free(rt));
        assert_true(allocations > before);
    }
}

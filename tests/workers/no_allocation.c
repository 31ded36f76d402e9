/* P10: tw_workers_new allocates everything that the pool needs; work items and runs allocate nothing. */
#include "support/counted_heap.h"
#include "workers_test.h"

enum { ITEMS = 300 };
static struct tw_work items[ITEMS];

static void use_every_call(void) {
    struct tw_worker_stats stats;
    for (unsigned i = 0; i < ITEMS; ++i) {
        tw_work_init(&items[i], pool, count, NULL, i % 2);
        tw_runtime_every(rt, &items[i].node, TW_MILLISECOND, TW_BURST);
    }
    const int before = atomic_load(&runs);
    while (atomic_load(&runs) < before + 20 * ITEMS)
        doze();
    for (unsigned i = 0; i < ITEMS; ++i)
        if (i % 3 == 0)
            tw_runtime_retire(rt, &items[i].node);
        else
            tw_runtime_cancel_wait(rt, &items[i].node);
    tw_workers_wait(pool);
    tw_workers_stats(pool, &stats);
}

TEST(p10_workers_stay_off_the_heap) {
    for (enum tw_when_full full = TW_FULL_INLINE; full <= TW_FULL_BLOCK; ++full) {
        rt = started_runtime((struct tw_runtime_options){0});
        pool = new_pool(rt, (struct tw_workers_options){.threads = 2, .queue = 100, .when_full = full});
        use_every_call(); /* from here on, libc has allocated what threads need */
        const unsigned before = allocations;
        use_every_call();
        assert_int_equal(allocations, before);
        assert_ok(tw_runtime_free(rt));
        assert_true(allocations > before);
    }
}

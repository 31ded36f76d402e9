/* Making a pool, and reviving it after a fork, when the system refuses. */
#include "support/child.h"
#include "support/faults.h"
#include "support/sanitized.h"

#include <tickwheel/workers.h>

static atomic_int runs;

static void count(UNUSED struct tw_node *node, UNUSED void *arg) { atomic_fetch_add(&runs, 1); }

/* Returns true if the pool works. */
static bool runs_a_item(struct tw_runtime *rt, struct tw_workers *pool) {
    struct tw_work item;
    const int before = atomic_load(&runs);
    return tw_work_init(&item, pool, count, NULL, 0) == 0 && tw_runtime_after(rt, &item.node, 0) == 0 &&
           tw_runtime_advance(rt, 0) == 0 && tw_workers_wait(pool) == 0 && atomic_load(&runs) == before + 1;
}

/* clang links AddressSanitizer into the program, where each new thread then first reads its attributes by one
 * of these calls. */
#if SANITIZED && defined(__clang__)
#define CALLS_OF_THE_LIBRARY (EVERY_CALL & ~(ONLY(CALL_FUTEX_WAIT) | ONLY(CALL_ATTR_INIT)))
#else
#define CALLS_OF_THE_LIBRARY (EVERY_CALL & ~ONLY(CALL_FUTEX_WAIT))
#endif

TEST(new_returns_the_error_of_each_call_that_fails_and_leaks_nothing) {
    enum { THREADS = 5 };
    struct tw_workers *const untouched = (struct tw_workers *)(uintptr_t)16;
    struct tw_runtime *const rt = runtime_on("manual");
    const struct tw_workers_options options = {.threads = THREADS};
    const struct holdings before = holdings_now();
    struct tw_workers *pool = untouched;
    int spared = 0;
    for (;; ++spared) {
        inject(CALLS_OF_THE_LIBRARY, USUAL_ERROR, spared, 1);
        const int result = tw_workers_new(&pool, rt, &options);
        const int failed = injected();
        inject_nothing();
        if (failed == 0) {
            assert_int_equal(result, 0);
            break;
        }
        assert_int_equal(result, -injected_error());
        assert_ptr_equal(pool, untouched);
        assert_nothing_leaked(before);
    }
    assert_true(spared >= THREADS + 1);
    assert_true(runs_a_item(rt, pool));
    assert_int_equal(tw_workers_free(pool), 0);
    assert_nothing_leaked(before);
    assert_int_equal(tw_runtime_free(rt), 0);
}

/* --- in a child: returns 0, or the number of the step that failed ---------------------------- */

enum { THREADS = 3 };

static int fail_each_thread_after_fork(struct tw_runtime *rt, struct tw_workers *pool) {
    for (int spared = 0; spared < (THREADS_AFTER_FORK ? THREADS : 1); ++spared) {
        inject(ONLY(CALL_PTHREAD_CREATE), USUAL_ERROR, spared, 1);
        if (tw_runtime_after_fork(rt) != -EAGAIN || tw_workers_wait(pool) != -ECHILD)
            return 1;
    }
    inject_nothing();
    if (THREADS_AFTER_FORK && tw_runtime_after_fork(rt) != 0)
        return 2;
    wait_until_others_sleep(); /* by then, threads that had to end have ended */
    if (THREADS_AFTER_FORK && !runs_a_item(rt, pool))
        return 2;
    return tw_runtime_free(rt) == 0 ? 0 : 3;
}

TEST(after_fork_that_gets_no_thread_may_be_called_again) {
    struct tw_workers *pool = NULL;
    struct tw_runtime *const rt = runtime_on("manual");
    assert_int_equal(tw_workers_new(&pool, rt, &(struct tw_workers_options){.threads = THREADS}), 0);
    wait_until_others_sleep();
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        leave(fail_each_thread_after_fork(rt, pool));
    }
    assert_child_is_well(child);
    assert_true(runs_a_item(rt, pool));
    assert_int_equal(tw_runtime_free(rt), 0);
}

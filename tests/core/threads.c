/* P6 and P7 across threads, on one locked wheel. Barriers force the orders that must not depend on luck; the
 * other tests count. Only the main thread asserts. */
#define _DEFAULT_SOURCE
#include "promise.h"
#include "support/child.h"
#include "support/walk.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>

/* The budget of an advance, or TW_UNBOUNDED if the library has no budgets. */
static uint32_t budget_of(uint64_t limit) { return !TW_SMALL ? (uint32_t)limit : TW_UNBOUNDED; }

/* The blocker's callback waits at `running` to show that it runs, and returns when the test reaches
 * `go_on`. */
static pthread_barrier_t running, go_on;
static atomic_uint blocked_calls, neighbour_calls;

static void block(UNUSED struct tw_node *node, UNUSED void *arg) {
    atomic_fetch_add(&blocked_calls, 1);
    pthread_barrier_wait(&running);
    pthread_barrier_wait(&go_on);
}

static void count_neighbour(UNUSED struct tw_node *node, UNUSED void *arg) {
    atomic_fetch_add(&neighbour_calls, 1);
}

static int advanced; /* result of tw_advance on the other thread */

static void *advance_to_10(UNUSED void *arg) {
    advanced = tw_advance(&wheel, 10, TW_UNBOUNDED);
    return NULL;
}

static struct tw_node blocker, neighbour;
static pthread_t driver;

/* Starts the driver, and waits until a callback of its call runs. */
static void start_driver(void *(*call)(void *)) {
    pthread_barrier_init(&running, NULL, 2);
    pthread_barrier_init(&go_on, NULL, 2);
    assert_int_equal(pthread_create(&driver, NULL, call, NULL), 0);
    pthread_barrier_wait(&running);
}

/* Ends the driver's thread. REQUIRES: none of its callbacks blocks any more. */
static void join_driver(void) {
    pthread_join(driver, NULL);
    pthread_barrier_destroy(&running);
    pthread_barrier_destroy(&go_on);
}

/* Leaves the driver inside blocker's callback, with neighbour due next. */
static void enter_callback(uint64_t period) {
    atomic_store(&blocked_calls, 0);
    atomic_store(&neighbour_calls, 0);
    tw_node_init(&blocker, block, NULL);
    tw_node_init(&neighbour, count_neighbour, NULL);
    if (period)
        tw_arm_every(&wheel, &blocker, 10, period, TW_COALESCE, 0);
    else
        tw_arm_at(&wheel, &blocker, 10);
    tw_arm_at(&wheel, &neighbour, 10);
    start_driver(advance_to_10);
}

static void leave_callback(void) {
    pthread_barrier_wait(&go_on);
    join_driver();
    assert_int_equal(advanced, 0);
    assert_int_equal(blocked_calls, 1);
    assert_whole();
}

FIXTURE(fresh_wheel, NULL);

TEST(p7_the_lock_is_free_while_a_callback_runs) {
    struct tw_node mine;
    tw_node_init(&mine, count_neighbour, NULL);
    enter_callback(0);
    assert_int_equal(tw_arm_after(&wheel, &mine, 5), 0);
    assert_int_equal(tw_arm_at(&wheel, &mine, 9), 0);
    assert_int_equal(tw_cancel(&wheel, &mine), 1);
    assert_int_equal(tw_arm_at(&wheel, &mine, 10), 0);
    assert_in_range(tw_idle(&wheel, 10), 0, 1);
    assert_ptr_equal(tw_running(&wheel), &blocker);
    assert_int_equal(tw_count(&wheel), 2);
    assert_whole();
    leave_callback();
    assert_int_equal(neighbour_calls, 2);
    assert_null(tw_running(&wheel));
}

static jmp_buf outside;
static int waited_for_itself;
static void wait_and_jump(struct tw_node *node, UNUSED void *arg) {
    waited_for_itself = tw_wait(&wheel, node);
    longjmp(outside, 1);
}

TEST_IF(TW_RUNTIME, p7_a_thread_does_not_wait_for_its_own_callback_and_abandons_it_after_a_jump) {
    struct tw_node jumps, later;
    atomic_store(&neighbour_calls, 0);
    tw_node_init(&jumps, wait_and_jump, NULL);
    tw_node_init(&later, count_neighbour, NULL);
    tw_arm_at(&wheel, &jumps, 5);
    tw_arm_at(&wheel, &later, 5);
    waited_for_itself = -1;
    if (setjmp(outside) == 0)
        IGNORE(tw_advance(&wheel, 5, TW_UNBOUNDED));
    assert_int_equal(waited_for_itself, 0);
    tw_core_abandon(&wheel);
    tw_core_abandon(&wheel);
    advance(5);
    assert_int_equal(neighbour_calls, 1);
}

TEST(p7_a_second_advance_is_refused_while_a_callback_runs) {
    enter_callback(0);
    assert_int_equal(tw_advance(&wheel, 10, TW_UNBOUNDED), -EBUSY);
    assert_int_equal(tw_advance(&wheel, 20, budget_of(1)), -EBUSY);
    assert_int_equal(tw_update(&wheel), -EBUSY);
    if (TW_RUNTIME) {
        tw_core_abandon(&wheel); /* the advance is another thread's, and goes on */
        assert_int_equal(tw_update(&wheel), -EBUSY);
    }
    leave_callback();
    assert_int_equal(neighbour_calls, 1);
    assert_int_equal(tw_now(&wheel), 10);
    assert_int_equal(tw_update(&wheel), 0);
}

TEST(p6_cancel_from_another_thread_is_0_for_the_one_shot_that_runs) {
    enter_callback(0);
    assert_int_equal(tw_cancel(&wheel, &blocker), 0);
    leave_callback();
}

TEST(p6_cancel_from_another_thread_is_1_for_the_periodic_that_runs_and_ends_it) {
    enter_callback(5);
    assert_int_equal(tw_cancel(&wheel, &blocker), 1);
    assert_int_equal(tw_cancel(&wheel, &blocker), 0);
    leave_callback();
    assert_int_equal(tw_count(&wheel), 0);
}

TEST(p6_cancel_from_another_thread_is_1_for_a_node_that_is_due_and_it_is_not_called) {
    enter_callback(0);
    assert_int_equal(tw_cancel(&wheel, &neighbour), 1);
    leave_callback();
    assert_int_equal(neighbour_calls, 0);
}

TEST(p6_retire_from_another_thread_is_final_while_the_callback_runs) {
    enter_callback(5);
    assert_int_equal(tw_retire(&wheel, &blocker), 1);
    assert_int_equal(tw_arm_at(&wheel, &blocker, 50), -EPERM);
    leave_callback();
    assert_int_equal(tw_count(&wheel), 0);
}

static atomic_uint waiting, waited;
static int wait_result;

static void *wait_for(void *node) {
    atomic_fetch_add(&waiting, 1);
    wait_result = tw_wait(&wheel, node);
    atomic_fetch_add(&waited, 1);
    return NULL;
}

static void interrupt_a_wait(UNUSED int signal) {}

/* Starts a thread that waits for the node, lets it wait for a while, and interrupts the wait with signals. */
static pthread_t start_to_wait(struct tw_node *node) {
    pthread_t waiter;
    const struct sigaction action = {.sa_handler = interrupt_a_wait};
    atomic_store(&waiting, 0);
    atomic_store(&waited, 0);
    sigaction(SIGUSR1, &action, NULL);
    assert_int_equal(pthread_create(&waiter, NULL, wait_for, node), 0);
    while (!waiting) {
    }
    for (unsigned i = 0; i < 1000; ++i) { /* meanwhile a thread that did not wait would return */
        sched_yield();
        if (waited == 0)
            pthread_kill(waiter, SIGUSR1);
    }
    assert_int_equal(waited, 0);
    return waiter;
}

static void end_wait(pthread_t waiter) {
    pthread_join(waiter, NULL);
    assert_int_equal(waited, 1);
    assert_int_equal(wait_result, 0);
}

TEST(p6_wait_returns_when_the_callback_on_another_thread_has) {
    enter_callback(0);
    assert_int_equal(tw_wait(&wheel, &neighbour), 0); /* due, but not running */
    const pthread_t waiter = start_to_wait(&blocker);
    leave_callback();
    end_wait(waiter);
}

static void *cancel_all_and_block_once(UNUSED void *arg) {
    advanced = tw_cancel_all(&wheel, block, NULL);
    return NULL;
}

TEST_IF(!TW_SMALL, p6_wait_returns_when_a_cancel_all_on_another_thread_has_got_the_node_back) {
    atomic_store(&blocked_calls, 0);
    tw_node_init(&blocker, block, NULL);
    tw_arm_at(&wheel, &blocker, 10);
    start_driver(cancel_all_and_block_once);
    const pthread_t waiter = start_to_wait(&blocker);
    leave_callback();
    end_wait(waiter);
}

/* In the child of a fork, a lock holder's changes are complete, and other threads' calls are
 * over. */
TEST_IF(TW_RUNTIME, p13_a_child_may_use_a_wheel_that_another_thread_was_advancing) {
    enter_callback(0);
    tw_core_fork(&wheel, TW_CORE_FORK_PREPARE);
    const pid_t child = fork();
    if (child == 0) {
        tw_core_fork(&wheel, TW_CORE_FORK_CHILD);
        bool well = tw_running(&wheel) == NULL && tw_due(&wheel) == TW_NEVER && tw_count(&wheel) == 1 &&
                    tw_advance(&wheel, 20, TW_UNBOUNDED) == 0 && neighbour_calls == 1;
        leave(well ? 0 : 1);
    }
    tw_core_fork(&wheel, TW_CORE_FORK_PARENT);
    assert_child_is_well(child);
    leave_callback();
    assert_int_equal(neighbour_calls, 1);
}

#if TW_RUNTIME /* only a wheel with the runtime has walks */
static struct tw_node visited[40];
static struct tw_walk left_over;

/* Returns true if any word of the wheel points into this walk. */
static bool wheel_leads_to(const struct tw_walk *walk) {
    const uintptr_t begin = (uintptr_t)walk, end = (uintptr_t)(walk + 1);
    for (size_t at = 0; at < sizeof wheel; at += sizeof(uintptr_t)) {
        uintptr_t word = 0;
        memcpy(&word, (const char *)&wheel + at, sizeof word);
        if (begin <= word && word < end)
            return true;
    }
    return false;
}

/* In the child, other threads' walks are over, and the stacks that held the places of these walks may be
 * reused. */
TEST(p13_walk_leaves_nothing_in_the_child_of_a_fork) {
    memset(&left_over, 0, sizeof left_over);
    for (size_t i = 0; i < COUNT_OF(visited); ++i) {
        tw_node_init(&visited[i], count_neighbour, NULL);
        tw_arm_at(&wheel, &visited[i], 0); /* in the first slot of all */
    }
    assert_non_null(tw_walk_next(&wheel, &left_over));
    for (size_t i = 0; i < COUNT_OF(visited); ++i)
        tw_cancel(&wheel, &visited[i]);
    assert_true(wheel_leads_to(&left_over));
    tw_core_fork(&wheel, TW_CORE_FORK_PREPARE);
    tw_core_fork(&wheel, TW_CORE_FORK_CHILD);
    assert_false(wheel_leads_to(&left_over));
    assert_int_equal(tw_check(&wheel, NULL, NULL), 0);
}

static void visit_and_fork_once(UNUSED const struct tw_node *node, UNUSED const struct tw_node *was,
                                void *calls) {
    if ((*(unsigned *)calls)++ != 0)
        return;
    tw_core_fork(&wheel, TW_CORE_FORK_PREPARE);
    tw_core_fork(&wheel, TW_CORE_FORK_CHILD);
}

TEST(p13_walk_begins_its_slot_again_in_the_child_of_a_fork) {
    unsigned calls = 0;
    for (size_t i = 0; i < COUNT_OF(visited); ++i) {
        tw_node_init(&visited[i], count_neighbour, NULL);
        tw_arm_at(&wheel, &visited[i], 2 * BLOCK);
    }
    assert_int_equal(walk_through(&wheel, visit_and_fork_once, &calls), 1 + COUNT_OF(visited));
    assert_whole();
}

static atomic_uint nodes_cancelled;

static void hold_the_first(UNUSED struct tw_node *node, UNUSED void *arg) {
    if (atomic_fetch_add(&nodes_cancelled, 1) != 0)
        return;
    pthread_barrier_wait(&running);
    pthread_barrier_wait(&go_on);
}

static void *cancel_all(UNUSED void *arg) {
    tw_cancel_all(&wheel, hold_the_first, NULL);
    return NULL;
}

static void visit_and_have_all_cancelled(UNUSED const struct tw_node *node, UNUSED const struct tw_node *was,
                                         void *arg) {
    if ((*(unsigned *)arg)++ != 0)
        return;
    start_driver(cancel_all);
}

/* The cancel_all takes the walk's place out of the slot with the nodes. */
TEST_IF(!TW_SMALL, walk_ends_while_another_thread_cancels_all) {
    unsigned calls = 0;
    atomic_store(&nodes_cancelled, 0);
    for (size_t i = 0; i < COUNT_OF(visited); ++i) {
        tw_node_init(&visited[i], count_neighbour, NULL);
        tw_arm_at(&wheel, &visited[i], 2 * BLOCK);
    }
    assert_int_equal(walk_through(&wheel, visit_and_have_all_cancelled, &calls), 1);
    pthread_barrier_wait(&go_on);
    join_driver();
    assert_int_equal(nodes_cancelled, COUNT_OF(visited));
    assert_int_equal(tw_count(&wheel), 0);
}
#endif

static pid_t child_of_callback;

static void fork_inside(UNUSED struct tw_node *node, UNUSED void *arg) {
    tw_core_fork(&wheel, TW_CORE_FORK_PREPARE);
    child_of_callback = fork();
    tw_core_fork(&wheel, child_of_callback == 0 ? TW_CORE_FORK_CHILD : TW_CORE_FORK_PARENT);
}

TEST_IF(TW_RUNTIME, p13_in_a_child_of_a_callback_the_advance_calls_no_further_callback) {
    tw_node_init(&blocker, fork_inside, NULL);
    tw_node_init(&neighbour, count_neighbour, NULL);
    atomic_store(&neighbour_calls, 0);
    tw_arm_at(&wheel, &blocker, 10);
    tw_arm_at(&wheel, &neighbour, 10);
    const int result = tw_advance(&wheel, 10, TW_UNBOUNDED);
    if (child_of_callback == 0)
        leave(result == 1 && neighbour_calls == 0 ? 0 : 1);
    assert_child_is_well(child_of_callback);
    assert_int_equal(result, 0);
    assert_int_equal(neighbour_calls, 1);
}

/* --- forks during a cancel_all ---------------------------------------------------------- */

enum { TO_CANCEL = 10 };
static struct tw_node to_cancel[TO_CANCEL];

static void arm_to_cancel(void) {
    atomic_store(&neighbour_calls, 0);
    for (unsigned i = 0; i < TO_CANCEL; ++i) {
        tw_node_init(&to_cancel[i], count_neighbour, NULL);
        tw_arm_at(&wheel, &to_cancel[i], 10 + i * ROUND / 3);
    }
}

static void *cancel_all_and_block(UNUSED void *arg) {
    tw_cancel_all(&wheel, block, NULL);
    return NULL;
}

static void let_the_cancel_all_finish(void) {
    for (unsigned i = 0; i < TO_CANCEL; ++i) {
        pthread_barrier_wait(&go_on);
        if (i + 1 < TO_CANCEL)
            pthread_barrier_wait(&running);
    }
    join_driver();
}

/* One node has been handed to its callback; the others are pending in the parent, and so they are in the
 * child. */
TEST_IF(TW_RUNTIME, p13_what_another_thread_was_about_to_cancel_is_pending_in_the_child_and_fires) {
    arm_to_cancel();
    start_driver(cancel_all_and_block);
    assert_int_equal(tw_count(&wheel), TO_CANCEL - 1);
    tw_core_fork(&wheel, TW_CORE_FORK_PREPARE);
    const pid_t child = fork();
    if (child == 0) {
        tw_core_fork(&wheel, TW_CORE_FORK_CHILD);
        expect(tw_count(&wheel) == TO_CANCEL - 1);
        expect(tw_check(&wheel, NULL, NULL) == 0);
        expect(tw_next(&wheel) == 10 + ROUND / 3);
        expect(tw_advance(&wheel, TO_CANCEL * ROUND, TW_UNBOUNDED) == 0);
        expect(neighbour_calls == TO_CANCEL - 1 && tw_count(&wheel) == 0);
        leave(0);
    }
    tw_core_fork(&wheel, TW_CORE_FORK_PARENT);
    assert_child_is_well(child);
    let_the_cancel_all_finish();
    assert_int_equal(tw_count(&wheel), 0);
    assert_int_equal(neighbour_calls, 0);
}

static unsigned waits_in_cancel_all;

static void wait_for_each(UNUSED struct tw_node *node, UNUSED void *arg) {
    for (unsigned i = 0; i < TO_CANCEL; ++i)
        waits_in_cancel_all += tw_wait(&wheel, &to_cancel[i]) == 0;
}

TEST_IF(!TW_SMALL, p6_wait_does_not_wait_for_the_cancel_all_that_it_is_called_from) {
    arm_to_cancel();
    waits_in_cancel_all = 0;
    assert_int_equal(tw_cancel_all(&wheel, wait_for_each, NULL), 0);
    assert_int_equal(waits_in_cancel_all, TO_CANCEL * TO_CANCEL);
}

static pthread_barrier_t second_running, second_go_on;

static void block_the_second(UNUSED struct tw_node *node, UNUSED void *arg) {
    pthread_barrier_wait(&second_running);
    pthread_barrier_wait(&second_go_on);
}

static void *cancel_all_and_block_too(UNUSED void *arg) {
    tw_cancel_all(&wheel, block_the_second, NULL);
    return NULL;
}

/* Node 0 and so on, `of_first` of them, are armed, and the first cancel_all hands out node 0. Then one more
 * is armed, and the second cancel_all hands out node 1. */
static void begin_two_cancel_alls(pthread_t *second, tw_callback *fn, unsigned of_first) {
    pthread_barrier_init(&second_running, NULL, 2);
    pthread_barrier_init(&second_go_on, NULL, 2);
    for (unsigned i = 0; i < TO_CANCEL; ++i)
        tw_node_init(&to_cancel[i], fn, NULL);
    for (unsigned i = 0; i < of_first; ++i)
        tw_arm_at(&wheel, &to_cancel[i], 10);
    start_driver(cancel_all_and_block);
    tw_arm_at(&wheel, &to_cancel[of_first], 10);
    assert_int_equal(pthread_create(second, NULL, cancel_all_and_block_too, NULL), 0);
    pthread_barrier_wait(&second_running);
}

/* The first cancel_all hands out its last node and ends while the second is in progress. */
TEST_IF(!TW_SMALL, p7_two_threads_cancel_all_at_once_and_the_first_is_over_before_the_second) {
    pthread_t second;
    begin_two_cancel_alls(&second, count_neighbour, 1);
    pthread_barrier_wait(&go_on);
    join_driver();
    assert_whole();
    const pthread_t waiter = start_to_wait(&to_cancel[1]);
    pthread_barrier_wait(&second_go_on);
    pthread_join(second, NULL);
    end_wait(waiter);
    assert_int_equal(tw_count(&wheel), 0);
}

static struct tw_node *fired_in_child[3];
static unsigned fires_in_child;

static void note_fire(struct tw_node *node, UNUSED void *arg) {
    if (fires_in_child < COUNT_OF(fired_in_child))
        fired_in_child[fires_in_child] = node;
    ++fires_in_child;
}

TEST_IF(TW_RUNTIME, p13_what_two_cancel_alls_had_not_handed_out_fires_last_in_the_child) {
    pthread_t second;
    fires_in_child = 0;
    begin_two_cancel_alls(&second, note_fire, 3);
    tw_arm_at(&wheel, &to_cancel[4], 10);
    tw_core_fork(&wheel, TW_CORE_FORK_PREPARE);
    const pid_t child = fork();
    if (child == 0) {
        tw_core_fork(&wheel, TW_CORE_FORK_CHILD);
        expect(tw_check(&wheel, NULL, NULL) == 0);
        expect(tw_advance(&wheel, 10, TW_UNBOUNDED) == 0 && fires_in_child == 3);
        for (unsigned i = 0; i < 3; ++i)
            expect(fired_in_child[i] == &to_cancel[TW_TREE ? 2 + i : i == 0 ? 4 : 1 + i]);
        leave(0);
    }
    tw_core_fork(&wheel, TW_CORE_FORK_PARENT);
    assert_child_is_well(child);
    pthread_barrier_wait(&second_go_on);
    pthread_barrier_wait(&second_running);
    pthread_barrier_wait(&second_go_on);
    pthread_barrier_wait(&second_running);
    pthread_barrier_wait(&second_go_on);
    pthread_join(second, NULL);
    pthread_barrier_wait(&go_on);
    join_driver();
    assert_int_equal(tw_cancel(&wheel, &to_cancel[4]), 1);
    assert_int_equal(tw_count(&wheel), 0);
}

static atomic_uint waits_for_the_same;

static void wait_for_itself(struct tw_node *node, UNUSED void *arg) {
    pthread_barrier_wait(&running);
    pthread_barrier_wait(&go_on);
    atomic_fetch_add(&waits_for_the_same, tw_wait(&wheel, node) == 0);
}

static void *cancel_all_and_wait(UNUSED void *arg) {
    tw_cancel_all(&wheel, wait_for_itself, NULL);
    return NULL;
}

/* The node is armed again while the first cancel_all has it, so the second one takes it, too. */
TEST_IF(!TW_SMALL, p6_two_cancel_alls_that_have_the_same_node_do_not_wait_for_each_other) {
    pthread_t second;
    pthread_barrier_init(&running, NULL, 2);
    pthread_barrier_init(&go_on, NULL, 3);
    waits_for_the_same = 0;
    tw_node_init(&to_cancel[0], count_neighbour, NULL);
    tw_arm_at(&wheel, &to_cancel[0], 10);
    assert_int_equal(pthread_create(&driver, NULL, cancel_all_and_wait, NULL), 0);
    pthread_barrier_wait(&running);
    tw_arm_at(&wheel, &to_cancel[0], 10);
    assert_int_equal(pthread_create(&second, NULL, cancel_all_and_wait, NULL), 0);
    pthread_barrier_wait(&running);
    pthread_barrier_wait(&go_on); /* both calls have the node */
    pthread_join(driver, NULL);
    pthread_join(second, NULL);
    assert_int_equal(waits_for_the_same, 2);
    assert_whole();
}

static unsigned handed_out;
static pid_t child_of_cancel_all;

static void fork_with_the_first(UNUSED struct tw_node *node, UNUSED void *arg) {
    if (handed_out++ != 0)
        return;
    tw_core_fork(&wheel, TW_CORE_FORK_PREPARE);
    child_of_cancel_all = fork();
    tw_core_fork(&wheel, child_of_cancel_all == 0 ? TW_CORE_FORK_CHILD : TW_CORE_FORK_PARENT);
}

TEST_IF(TW_RUNTIME, p13_a_cancel_all_that_forks_goes_on_in_the_child_and_in_the_parent) {
    arm_to_cancel();
    handed_out = 0;
    const int result = tw_cancel_all(&wheel, fork_with_the_first, NULL);
    const bool well = result == 0 && handed_out == TO_CANCEL && tw_count(&wheel) == 0;
    if (child_of_cancel_all == 0)
        leave(well && tw_check(&wheel, NULL, NULL) == 0 ? 0 : 1);
    assert_child_is_well(child_of_cancel_all);
    assert_true(well);
    assert_whole();
}

TEST_IF(!TW_SMALL, p7_cancel_all_from_another_thread_takes_what_is_due) {
    enter_callback(5);
    assert_int_equal(tw_cancel_all(&wheel, NULL, NULL), 0);
    assert_int_equal(tw_count(&wheel), 0);
    leave_callback();
    assert_int_equal(neighbour_calls, 0);
}

/* Two threads work on their own nodes while a third advances time. */
#define WORKERS 2
#define OWN_NODES 64
#define STEPS 60000

struct worker {
    pthread_t thread;
    struct tw_node nodes[OWN_NODES];
    uint64_t seed, armed, cancelled, refused;
};

static struct worker workers[WORKERS];
static atomic_uint working;
static atomic_ullong fired;

static void count_fired(UNUSED struct tw_node *node, UNUSED void *arg) {
    atomic_fetch_add_explicit(&fired, 1, memory_order_relaxed);
}

/* Only this thread arms its nodes, so after -ENOENT from tw_move each arming is a new one. */
static int move_or_arm(struct worker *self, struct tw_node *node, uint64_t distance, unsigned how) {
    int answer = tw_move(&wheel, node, tw_now(&wheel) + distance);
    if (answer != -ENOENT)
        return answer;
    if (how == 3)
        answer = tw_arm_after(&wheel, node, distance);
    else if (TW_SMALL)
        answer = tw_arm_at(&wheel, node, tw_now(&wheel) + distance);
    else
        answer = tw_arm_within(&wheel, node, tw_now(&wheel) + distance, distance);
    self->armed += answer == 0;
    return answer;
}

static void take_step(struct worker *self) {
    struct tw_node *node = &self->nodes[random_below(&self->seed, OWN_NODES)];
    const uint64_t reach = random_below(&self->seed, 8) ? BLOCK : 2 * TOP_SLOT;
    const uint64_t distance = 1 + random_below(&self->seed, reach);
    int answer = 0;
    const unsigned step = (unsigned)random_below(&self->seed, 4);
    switch (step) {
    case 0:
        answer = tw_cancel(&wheel, node);
        self->cancelled += answer == 1;
        break;
    case 1:
        (void)tw_postpone(&wheel, node, tw_now(&wheel) + distance);
        break;
    default:
        answer = move_or_arm(self, node, distance, step);
    }
    self->refused += answer < 0;
}

static void *work(void *arg) {
    for (unsigned i = 0; i < STEPS; ++i)
        take_step(arg);
    atomic_fetch_sub(&working, 1);
    return NULL;
}

static void start_workers(void) {
    atomic_store(&working, WORKERS);
    atomic_store(&fired, 0);
    for (size_t i = 0; i < WORKERS; ++i) {
        struct worker *worker = &workers[i];
        memset(worker, 0, sizeof *worker);
        worker->seed = 70 + i;
        for (size_t k = 0; k < OWN_NODES; ++k)
            tw_node_init(&worker->nodes[k], count_fired, NULL);
        assert_int_equal(pthread_create(&worker->thread, NULL, work, worker), 0);
    }
}

static void assert_all_accounted_for(void) {
    uint64_t armed = 0, cancelled = 0;
    for (size_t i = 0; i < WORKERS; ++i) {
        pthread_join(workers[i].thread, NULL);
        assert_int_equal(workers[i].refused, 0);
        armed += workers[i].armed;
        cancelled += workers[i].cancelled;
    }
    assert_whole();
    assert_true(armed > STEPS / 100);
    assert_int_equal(armed, fired + cancelled + tw_count(&wheel));
    advance(tw_now(&wheel) + 8 * TOP_SLOT);
    assert_int_equal(tw_count(&wheel), 0);
    assert_int_equal(armed, fired + cancelled);
}

TEST(p6_armed_is_fired_and_cancelled_and_pending_when_threads_race) {
    uint64_t seed = 77;
    unsigned broken = 0;
    start_workers();
    for (unsigned turn = 0; working; ++turn) {
        tw_advance(&wheel, tw_now(&wheel) + random_below(&seed, 50), budget_of(random_below(&seed, 20) + 1));
        tw_idle(&wheel, (uint32_t)random_below(&seed, 10) + 1);
        if (turn % 64 == 0)
            broken += tw_check(&wheel, NULL, NULL) != 0;
    }
    assert_all_accounted_for();
    assert_int_equal(broken, 0);
}

/* All threads try to advance; one at a time succeeds, and no timer fires twice. */
static atomic_ullong took_turns;

static void *advance_too(UNUSED void *arg) {
    do {
        const uint64_t now = tw_now(&wheel);
        if (tw_advance(&wheel, now + 3, budget_of(7)) >= 0)
            atomic_fetch_add(&took_turns, 1);
    } while (working);
    return NULL;
}

TEST(p4_nothing_fires_twice_when_two_threads_try_to_advance) {
    pthread_t second;
    atomic_store(&took_turns, 0);
    start_workers();
    assert_int_equal(pthread_create(&second, NULL, advance_too, NULL), 0);
    advance_too(NULL);
    pthread_join(second, NULL);
    assert_true(took_turns > 0);
    assert_int_equal(tw_advance(&wheel, tw_now(&wheel), TW_UNBOUNDED), 0);
    assert_all_accounted_for();
}

/* P4, P6 and P7 together: threads arm, move, cancel, retire and free nodes, or cancel all, while the driver
 * fires them. A thread frees a node as soon as cancel_wait has returned. A sanitizer, or the node's mark,
 * reveals a later access. */
#include "support/runtime_test.h"
#include "support/sanitized.h"

#include <pthread.h>

/* A thread takes its share of the steps, and then goes on until it has seen ENOUGH fires and ENOUGH prevented
 * fires. Otherwise a busy machine could starve the driver, and there would be no races. */
enum { THREADS = 3, NODES = 32, STEPS = SLOW ? 100000 : 1000000, ENOUGH = 40 };

#define ALIVE 0x600D600D600D600Dull
#define DEAD 0xDEADDEADDEADDEADull

struct timer {
    struct tw_node node;
    uint64_t mark;
    atomic_uint running; /* runs of the callback at this moment, 0 or 1 */
    atomic_uint fires;
};

struct worker {
    pthread_t thread;
    struct tw_runtime *rt;
    struct timer *timers[NODES];
    uint64_t seed, armed, prevented, fired, broken;
};

static void on_fire(UNUSED struct tw_node *node, void *arg) {
    struct timer *timer = arg;
    if (timer->mark != ALIVE)
        abort();
    if (atomic_exchange(&timer->running, 1) != 0)
        abort();
    atomic_fetch_add(&timer->fires, 1);
    atomic_store(&timer->running, 0);
}

static atomic_uint taken;

static void count_taken(UNUSED struct tw_node *node, void *arg) {
    if (((struct timer *)node)->mark != ALIVE)
        abort();
    atomic_fetch_add((atomic_uint *)arg, 1);
}

static struct timer *new_timer(void) {
    struct timer *timer = calloc(1, sizeof *timer);
    if (timer == NULL)
        abort();
    timer->mark = ALIVE;
    tw_node_init(&timer->node, on_fire, timer);
    return timer;
}

/* Adds up the counts of a node that nothing uses any more, and frees the node. */
static void bury(struct worker *self, struct timer *timer) {
    self->broken += atomic_load(&timer->running);
    self->fired += atomic_load(&timer->fires);
    timer->mark = DEAD;
    free(timer);
}

static void replace(struct worker *self, unsigned i, int retires) {
    struct timer *timer = self->timers[i];
    const int prevented =
        retires ? tw_runtime_retire(self->rt, &timer->node) : tw_runtime_cancel_wait(self->rt, &timer->node);
    self->prevented += prevented == 1;
    self->broken += prevented < 0;
    bury(self, timer);
    self->timers[i] = new_timer();
}

static int64_t draw_delay(struct worker *self) {
    return (int64_t)random_below(&self->seed, random_below(&self->seed, 4) ? 300000 : 5000000);
}

/* Only this thread arms its nodes, so after -ENOENT from tw_runtime_move each arming is a new one. */
static int move_or_arm(struct worker *self, struct tw_node *node, bool is_absolute) {
    int answer = tw_runtime_move(self->rt, node, draw_delay(self));
    if (answer != -ENOENT)
        return answer;
    answer = is_absolute ? tw_runtime_at(self->rt, node, tw_runtime_now(self->rt) + draw_delay(self))
                         : tw_runtime_after(self->rt, node, draw_delay(self));
    self->armed += answer == 0;
    return answer;
}

static void step(struct worker *self) {
    const unsigned i = (unsigned)random_below(&self->seed, NODES);
    struct tw_node *node = &self->timers[i]->node;
    int answer = 0;
    if (random_below(&self->seed, 1000) == 0)
        self->broken += tw_runtime_cancel_all(self->rt, count_taken, &taken) != 0;
    switch (random_below(&self->seed, 8)) {
    case 0:
        replace(self, i, 0);
        break;
    case 1:
        replace(self, i, 1);
        break;
    case 2:
        self->prevented += tw_runtime_cancel(self->rt, node) == 1;
        break;
    case 3:
        tw_runtime_move(self->rt, node, draw_delay(self));
        break;
    case 4:
        tw_runtime_postpone(self->rt, node, draw_delay(self));
        break;
    case 5:
        answer = move_or_arm(self, node, true);
        break;
    default:
        answer = move_or_arm(self, node, false);
    }
    self->broken += answer < 0;
    IGNORE(tw_runtime_remaining(self->rt, &self->timers[i]->node));
}

static void *work(void *arg) {
    struct worker *self = arg;
    for (unsigned i = 0; i < STEPS / THREADS || self->fired < ENOUGH || self->prevented < ENOUGH; ++i)
        step(self);
    for (unsigned i = 0; i < NODES; ++i) {
        self->prevented += tw_runtime_cancel_wait(self->rt, &self->timers[i]->node) == 1;
        bury(self, self->timers[i]);
    }
    return NULL;
}

static atomic_uint working;

/* Drives a runtime that has no thread: moves its time and sets its clock. */
static void *move_time(void *arg) {
    struct tw_runtime *rt = arg;
    uint64_t seed = 66;
    while (working) {
        tw_runtime_advance(rt, (int64_t)random_below(&seed, 3000));
        if (random_below(&seed, 50) == 0)
            tw_runtime_set_wall(rt, (int64_t)random_below(&seed, 40000000));
    }
    return NULL;
}

/* Every arming ends in exactly one fire, one prevented fire or one node that tw_runtime_cancel_all took, even
 * if its node was freed long ago. */
static void race(struct tw_runtime_options options) {
    static struct worker workers[THREADS];
    const int is_manual = strcmp(options.driver, "manual") == 0;
    struct tw_runtime *rt = is_manual ? new_runtime(options) : started_runtime(options);
    uint64_t armed = 0, prevented = 0, fired = 0;
    pthread_t mover;
    atomic_store(&taken, 0);
    atomic_store(&working, 1);
    if (is_manual)
        assert_int_equal(pthread_create(&mover, NULL, move_time, rt), 0);
    for (unsigned t = 0; t < THREADS; ++t) {
        workers[t] = (struct worker){.rt = rt, .seed = 60 + t};
        for (unsigned i = 0; i < NODES; ++i)
            workers[t].timers[i] = new_timer();
        assert_int_equal(pthread_create(&workers[t].thread, NULL, work, &workers[t]), 0);
    }
    for (unsigned t = 0; t < THREADS; ++t) {
        pthread_join(workers[t].thread, NULL);
        assert_int_equal(workers[t].broken, 0);
        armed += workers[t].armed;
        prevented += workers[t].prevented;
        fired += workers[t].fired;
    }
    atomic_store(&working, 0);
    if (is_manual)
        pthread_join(mover, NULL);
    assert_int_equal(tw_runtime_count(rt), 0);
    assert_int_equal(armed, prevented + fired + taken);
    tw_runtime_free(rt);
}

TEST(p6_a_node_freed_after_cancel_wait_is_never_touched_sleep) {
    race((struct tw_runtime_options){.driver = "sleep", .tick_ns = 1000});
}
TEST(p6_a_node_freed_after_cancel_wait_is_never_touched_epoll) {
    race((struct tw_runtime_options){.driver = "epoll", .tick_ns = 10000});
}
TEST(p6_a_node_freed_after_cancel_wait_is_never_touched_timerfd) {
    race((struct tw_runtime_options){.driver = "timerfd", .tick_ns = 1000});
}
TEST(p6_a_node_freed_after_cancel_wait_is_never_touched_on_the_wall_clock) {
    race((struct tw_runtime_options){.driver = "timerfd", .tick_ns = 1000, .clock = TW_CLOCK_WALL});
}

TEST(p6_a_node_freed_after_cancel_wait_is_never_touched_in_virtual_time) {
    race((struct tw_runtime_options){.driver = "manual", .tick_ns = 1000});
}
TEST(p6_a_node_freed_after_cancel_wait_is_never_touched_while_the_wall_clock_is_set) {
    race((struct tw_runtime_options){
        .driver = "manual", .tick_ns = 1000, .clock = TW_CLOCK_WALL, .budget = 3});
}

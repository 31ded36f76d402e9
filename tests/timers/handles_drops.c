/* A timer's argument exists until its last use and is then dropped once, however the timer
 * ends. The argument is memory that `drop` frees, so the address sanitizer and the counts find
 * a later use or a second drop. On one thread: fuzz/play.c. */
#include "handles_test.h"
#include "support/gate.h"

#include <pthread.h>

enum { ALIVE = 0x600d, GONE = 0xdead };

struct argument {
    int state;
    struct tw_handles *set;
    struct tw_runtime *rt;
    unsigned fires_to_go; /* of its own schedule */
    void (*inside)(struct argument *);
};

static atomic_uint fires, drops, bad;
static tw_handle handle;
static struct tw_runtime *rt;
static struct tw_handles *set;

static void use(const struct argument *it) { atomic_fetch_add(&bad, it->state != ALIVE); }

static void fire(UNUSED const struct tw_event *event, void *arg) {
    struct argument *it = arg;
    use(it);
    if (it->inside != NULL)
        it->inside(it);
    use(it);
    atomic_fetch_add(&fires, 1);
}

static int64_t next(int64_t due_ns, void *arg) {
    struct argument *it = arg;
    use(it);
    return it->fires_to_go-- == 0 ? TW_NO_DEADLINE : due_ns + MS;
}

static void drop(void *arg) {
    struct argument *it = arg;
    use(it);
    it->state = GONE;
    free(it);
    atomic_fetch_add(&drops, 1);
}

static struct argument *new_argument(void (*inside)(struct argument *)) {
    struct argument *it = calloc(1, sizeof *it);
    assert_non_null(it);
    *it = (struct argument){.state = ALIVE, .set = set, .rt = rt, .inside = inside};
    return it;
}

static void begin(struct tw_runtime_options options) {
    fires = drops = bad = 0;
    rt = new_runtime(options);
    set = new_set(rt, (struct tw_handles_options){0});
}

static void begin_on_virtual_time(void) { begin((struct tw_runtime_options){.driver = "manual"}); }

static void start_with(struct tw_when when, struct argument *arg, tw_next_deadline *schedule) {
    const struct tw_task task = {.fn = fire, .arg = arg, .next = schedule, .drop = drop};
    assert_int_equal(tw_handle_start(set, &handle, &when, &task), 0);
}

static const struct tw_when once = {.due_ns = MS}, often = {.due_ns = MS, .period_ns = MS};

static void assert_seen(unsigned expected_fires, unsigned expected_drops) {
    assert_int_equal(fires, expected_fires);
    assert_int_equal(drops, expected_drops);
    assert_int_equal(bad, 0);
}

/* Ends the scene; freeing must not drop anything more. */
static void end_with(unsigned expected_fires, unsigned expected_drops) {
    assert_seen(expected_fires, expected_drops);
    tw_runtime_free(rt);
    assert_seen(expected_fires, expected_drops);
}

static void free_runtime(struct argument *it) { tw_runtime_free(it->rt); }

TEST(dropped_when_a_callback_frees_the_runtime) {
    const struct tw_when ways[] = {once, often, once};
    for (unsigned w = 0; w < COUNT_OF(ways); ++w) {
        begin_on_virtual_time();
        start_with(ways[w], new_argument(free_runtime), w == 2 ? next : NULL);
        start_with(once, new_argument(NULL), NULL);
        start_with(often, new_argument(NULL), NULL);
        tw_runtime_advance(rt, MS);
        assert_seen(1, 3);
    }
    begin((struct tw_runtime_options){.driver = "sleep"});
    start_with(often, new_argument(NULL), NULL);
    start_with(often, new_argument(free_runtime), NULL);
    assert_ok(tw_runtime_start(rt));
    wait_for(drops == 2);
    assert_int_equal(bad, 0);
}

/* --- stopped by another thread while the callback runs ---------------------------------- */

static struct gate gate;

static void wait_at_gate(UNUSED struct argument *it) {
    pass(&gate);
    atomic_fetch_add(&bad, atomic_load(&drops) != 0);
}

TEST(dropped_after_the_callback_during_which_others_stop_it) {
    for (unsigned w = 0; w < 3; ++w) {
        begin((struct tw_runtime_options){.driver = "sleep"});
        shut(&gate);
        start_with(w == 1 ? often : once, new_argument(wait_at_gate), w == 2 ? next : NULL);
        assert_ok(tw_runtime_start(rt));
        wait_for(gate.inside == 1);
        assert_int_equal(tw_handle_stop(set, handle), w == 0 ? 0 : 1);
        assert_seen(0, 0);
        atomic_store(&gate.open, true);
        assert_int_equal(tw_handle_stop_wait(set, handle), -ESTALE);
        end_with(1, 1);
    }
}

static void *stop_too(void *answer) {
    *(int *)answer = tw_handle_stop_wait(set, handle);
    return NULL;
}

/* When several threads stop it, only one call returns 1, and it is dropped once. */
TEST(dropped_once_when_several_stop_it_at_once) {
    begin((struct tw_runtime_options){.driver = "sleep"});
    assert_ok(tw_runtime_start(rt));
    for (unsigned round = 1; round <= 300; ++round) {
        pthread_t thread;
        int theirs = 99;
        start_with(often, new_argument(NULL), NULL);
        assert_int_equal(pthread_create(&thread, NULL, stop_too, &theirs), 0);
        const int mine = tw_handle_stop_wait(set, handle);
        assert_int_equal(drops, round);
        pthread_join(thread, NULL);
        assert_true((mine == 1 && theirs == -ESTALE) || (mine == -ESTALE && theirs == 1));
    }
    assert_int_equal(drops, 300);
    end_with(fires, 300);
}

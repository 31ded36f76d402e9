/* Programs that initialise, free or overwrite a node while it is pending. The wheel cannot continue: it ends
 * the process within seconds, with a message that contains the node's address. Each misuse happens in a
 * child. tw_check and tw_runtime_check report the damage and return. */
#include "support/last_words.h"
#include "support/runtime_test.h"
#include "support/sanitized.h"

static struct tw wheel;
static struct tw_node first, node, last; /* `node` is misused */
static struct tw_runtime *rt;

/* Asserts that the check stopped the process and named this node. */
static void assert_stopped_for(const struct tw_node *broken, void (*misuse)(void), const char *what) {
    const struct end end = end_of(misuse);
    char name[64];
    snprintf(name, sizeof name, "tickwheel: node %p, state ", (const void *)broken);
    if (!WIFSIGNALED(end.status) || WTERMSIG(end.status) != SIGABRT || strstr(end.said, name) == NULL)
        fail_msg("%s: status %x, and it said \"%s\", where this was awaited: %s", what, (unsigned)end.status,
                 end.said, name);
}

/* --- a node of a wheel ----------------------------------------------------------------------- */

enum { SOON = 5, FAR_AWAY = 3 << 16 }; /* on the lowest level, and on the highest */

/* How the test damages the node: fills it with this byte, initialises it again, or copies another pending
 * node over it.
 */
enum { INIT = -1, ANOTHER = -2 };

/* What the program does between the damage and the end of all ticks. */
static void nothing(void) {}
static void ask_for_next(void) { IGNORE(tw_next(&wheel)); }
static void arm_for_the_same_tick(void) { tw_arm_at(&wheel, &node, SOON); }
static void arm_for_a_later_tick(void) { tw_arm_at(&wheel, &node, SOON + 1); }
static void arm_for_an_earlier_tick(void) { tw_arm_at(&wheel, &node, SOON - 1); }
static void cancel(void) { tw_cancel(&wheel, &node); }
static void cancel_the_one_before(void) { tw_cancel(&wheel, &first); }
static void cancel_the_one_behind(void) { tw_cancel(&wheel, &last); }
static void cancel_both_neighbours(void) {
    cancel_the_one_before();
    cancel_the_one_behind();
}
static void cancel_all(void) { tw_cancel_all(&wheel, NULL, NULL); }
static void check(void) { expect(tw_check(&wheel, NULL, NULL) != 0); }

static const struct scene {
    const char *name;
    int damage;
    uint64_t tick;
    bool is_among_others;
    void (*then)(void);
} scenes[] = {
    {"init, then advance", INIT, SOON, false, nothing},
    {"init, then cascade", INIT, FAR_AWAY, false, nothing},
    {"init, then next", INIT, FAR_AWAY, true, ask_for_next},
    {"init, then arm for the same tick", INIT, SOON, false, arm_for_the_same_tick},
    {"init, then arm for a later tick", INIT, SOON, false, arm_for_a_later_tick},
    {"init, then arm for an earlier tick", INIT, SOON, false, arm_for_an_earlier_tick},
    {"init, then cancel the one before", INIT, SOON, true, cancel_the_one_before},
    {"init, then cancel the one behind", INIT, SOON, true, cancel_the_one_behind},
    {"init, then cancel all", INIT, SOON, true, cancel_all},
    {"init, then cancel all with it alone", INIT, SOON, false, cancel_all},
    {"another, then cancel both neighbours", ANOTHER, SOON, true, cancel_both_neighbours},
    {"another, then cancel both neighbours and advance a level", ANOTHER, FAR_AWAY, true,
     cancel_both_neighbours},
    {"zeroes, then advance", 0, SOON, true, nothing},
    {"bytes, then advance", 0xCC, SOON, false, nothing},
    {"bytes, then cascade", 0xCC, FAR_AWAY, true, nothing},
    {"bytes, then cancel a neighbour", 0xCC, SOON, true, cancel_the_one_behind},
    {"bytes, then cancel", 0xCC, SOON, false, cancel},
    {"bytes, then check", 0xCC, SOON, true, check},
};

static const struct scene *scene;

static void pend(struct tw_node *each, uint64_t tick) {
    expect(tw_node_init(each, no_callback, NULL) == 0);
    expect(tw_arm_at(&wheel, each, tick) == 0);
}

static void overwrite_with_another(void) {
    static struct tw_node another;
    pend(&another, 2 * (uint64_t)FAR_AWAY);
    node = another;
}

static void let_all_ticks_pass(void) { tw_advance(&wheel, 4 * (tw_tick)FAR_AWAY, TW_UNBOUNDED); }

static void play(void) {
    expect(tw_init(&wheel, 0, 0) == 0);
    if (scene->is_among_others)
        pend(&first, scene->tick);
    pend(&node, scene->tick);
    if (scene->is_among_others)
        pend(&last, scene->tick);
    if (scene->damage == INIT)
        tw_node_init(&node, no_callback, NULL);
    else if (scene->damage == ANOTHER)
        overwrite_with_another();
    else
        memset(&node, scene->damage, sizeof node);
    scene->then();
    let_all_ticks_pass();
}

TEST(misuse_of_a_pending_node_is_named) {
    for (scene = scenes; scene < scenes + COUNT_OF(scenes); ++scene)
        assert_stopped_for(&node, play, scene->name);
}

/* --- memory that has another owner ----------------------------------------------------------- */

/* The parent does not know the node's address, and a sanitizer may report first. */
static void assert_stopped(void (*misuse)(void)) {
    const struct end end = end_of(misuse);
    const bool told =
        strstr(end.said, "tickwheel: node ") != NULL || (SANITIZED && strstr(end.said, "Sanitizer: "));
    if (!told || (WIFEXITED(end.status) && WEXITSTATUS(end.status) == 0))
        fail_msg("status %x, and it said \"%s\"", (unsigned)end.status, end.said);
}

static void free_then_advance(void) {
    expect(tw_init(&wheel, 0, 0) == 0);
    struct tw_node *volatile freed = malloc(sizeof *freed);
    pend(freed, SOON);
    free(freed);
    memset(malloc(sizeof *freed), 0x55, sizeof *freed); /* its next owner */
    let_all_ticks_pass();
}

static __attribute__((noinline)) void pend_a_local(void) {
    struct tw_node local;
    pend(&local, SOON);
    __asm__ volatile("" : : "r"(&local) : "memory");
}

static __attribute__((noinline)) void use_the_stack(void) {
    unsigned char bytes[1024];
    memset(bytes, 0xCC, sizeof bytes);
    __asm__ volatile("" : : "r"(bytes) : "memory");
}

static void leave_scope_then_advance(void) {
    expect(tw_init(&wheel, 0, 0) == 0);
    pend_a_local();
    use_the_stack();
    let_all_ticks_pass();
}

TEST(misuse_of_a_pending_node_that_is_freed_or_out_of_scope_ends_with_a_message) {
    assert_stopped(free_then_advance);
    assert_stopped(leave_scope_then_advance);
}

/* --- on a runtime -------------------------------------------------------------------------- */

static void init_twice_on(const char *driver) {
    const struct tw_runtime_options options = {.driver = driver};
    expect(tw_runtime_new(&rt, &options) == 0);
    tw_node_init(&node, no_callback, NULL);
    expect(tw_runtime_after(rt, &node, TW_MILLISECOND) == 0);
    tw_node_init(&node, no_callback, NULL);
}

static void init_then_free_the_runtime(void) {
    init_twice_on("manual");
    tw_runtime_free(rt);
}

static void init_then_advance_the_runtime(void) {
    init_twice_on("manual");
    tw_runtime_advance(rt, TW_SECOND);
}

static void init_then_let_the_thread_find_it(void) {
    init_twice_on("sleep");
    expect(tw_runtime_start(rt) == 0);
    for (;;)
        pause();
}

TEST(misuse_of_a_node_is_named_on_a_runtime) {
    assert_stopped_for(&node, init_then_free_the_runtime, "free");
    assert_stopped_for(&node, init_then_advance_the_runtime, "advance");
    if (THREADS_AFTER_FORK)
        assert_stopped_for(&node, init_then_let_the_thread_find_it, "a thread");
}

static unsigned reports;
static bool is_named;

static void note(const char *invariant, const struct tw_node *broken, UNUSED void *arg) {
    assert_non_null(invariant);
    ++reports;
    is_named |= broken == &node;
}

TEST(check_of_a_runtime_names_a_node_of_either_timeline_that_was_overwritten) {
    for (int on_wall = 0; on_wall < 2; ++on_wall) {
        struct tw_node *const nodes[] = {&first, &node, &last};
        rt = new_runtime((struct tw_runtime_options){.driver = "manual", .clock = TW_CLOCK_WALL});
        for (unsigned i = 0; i < COUNT_OF(nodes); ++i) {
            const int64_t from = on_wall ? tw_runtime_now(rt) : 0;
            const struct tw_when when = {.due_ns = from + TW_SECOND, .absolute = on_wall};
            tw_node_init(nodes[i], no_callback, NULL);
            assert_ok(tw_runtime_arm(rt, nodes[i], &when));
        }
        reports = is_named = 0;
        assert_int_equal(tw_runtime_check(rt, note, NULL), 0);
        assert_int_equal(reports, 0);
        const struct tw_node before = node;
        memset(&node, 0xCC, sizeof node);
        const int broken = tw_runtime_check(rt, note, NULL);
        node = before;
        assert_true(broken > 0 && is_named);
        assert_int_equal(broken, reports);
        assert_int_equal(tw_runtime_check(rt, NULL, NULL), 0);
        assert_int_equal(tw_runtime_free(rt), 0);
    }
}

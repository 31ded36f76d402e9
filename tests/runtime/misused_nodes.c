/* Nodes that are initialised again, copied, freed or overwritten while pending. The wheel
 * cannot continue: it ends the process within seconds, with a message that contains the node's
 * address. A child commits each misuse. */
#include "support/last_words.h"
#include "support/runtime_test.h"
#include "support/sanitized.h"

static struct tw wheel;
static struct tw_node first, node, last, copy; /* `node` is the one misused */
static struct tw_runtime *rt;

static void ignore(UNUSED struct tw_node *it, UNUSED void *arg) {}

/* --- what the parent asserts ----------------------------------------------------------------- */

/* Asserts that the check stopped the process and named this node. */
static void assert_stopped_for(const struct tw_node *broken, void (*misuse)(void)) {
    const struct end end = end_of(misuse);
    char name[64];
    snprintf(name, sizeof name, "tickwheel: node %p, state ", (const void *)broken);
    if (!WIFSIGNALED(end.status) || WTERMSIG(end.status) != SIGABRT || strstr(end.said, name) == NULL)
        fail_msg("status %x, and it said \"%s\", where this was awaited: %s", (unsigned)end.status, end.said,
                 name);
}

/* The same where the node's address is unknown to the parent, and a sanitizer may report
 * first. */
static void assert_stopped(void (*misuse)(void)) {
    const struct end end = end_of(misuse);
    const bool told =
        strstr(end.said, "tickwheel: node ") != NULL || (SANITIZED && strstr(end.said, "Sanitizer: "));
    if (!told || (WIFEXITED(end.status) && WEXITSTATUS(end.status) == 0))
        fail_msg("status %x, and it said \"%s\"", (unsigned)end.status, end.said);
}

/* --- the scene ----------------------------------------------------------------------------- */

enum { SOON = 5, FAR_AWAY = 3 << 16 }; /* on the lowest level, and on the highest */

static void pend(struct tw_node *it, uint64_t tick) {
    expect(tw_node_init(it, ignore, NULL) == 0);
    expect(tw_arm_at(&wheel, it, tick) == 0);
}

static void alone(uint64_t tick) {
    expect(tw_init(&wheel, 0, 0) == 0);
    pend(&node, tick);
}

static void among_others(uint64_t tick) {
    expect(tw_init(&wheel, 0, 0) == 0);
    pend(&first, tick);
    pend(&node, tick);
    pend(&last, tick);
}

static void init_anew(void) { tw_node_init(&node, ignore, NULL); }
static void overwrite(int byte) { memset(&node, byte, sizeof node); }
static void go_on(void) { tw_advance(&wheel, 4 * FAR_AWAY, TW_UNBOUNDED); }

/* --- initialised again ----------------------------------------------------------------------- */

static void init_then_advance(void) {
    alone(SOON);
    init_anew();
    go_on();
}

static void init_then_cascade(void) {
    alone(FAR_AWAY);
    init_anew();
    go_on();
}

static void init_then_ask_for_next(void) {
    among_others(FAR_AWAY);
    init_anew();
    IGNORE(tw_next(&wheel));
    go_on(); /* in case tw_next answered without looking at the node */
}

static void init_then_arm_for_the_same_tick(void) {
    alone(SOON);
    init_anew();
    tw_arm_at(&wheel, &node, SOON);
    go_on();
}

static void init_then_arm_for_a_later_tick(void) {
    alone(SOON);
    init_anew();
    tw_arm_at(&wheel, &node, SOON + 1);
    go_on();
}

static void init_then_arm_for_an_earlier_tick(void) {
    alone(SOON);
    init_anew();
    tw_arm_at(&wheel, &node, SOON - 1);
    go_on();
}

static void init_then_cancel_the_one_before(void) {
    among_others(SOON);
    init_anew();
    tw_cancel(&wheel, &first);
}

static void init_then_cancel_the_one_behind(void) {
    among_others(SOON);
    init_anew();
    tw_cancel(&wheel, &last);
}

static void init_then_clear(void) {
    among_others(SOON);
    init_anew();
    tw_clear(&wheel, NULL, NULL);
}

static void init_then_clear_it_alone(void) {
    alone(SOON);
    init_anew();
    tw_clear(&wheel, NULL, NULL);
}

TEST(misuse_init_of_a_pending_node_is_named_when_its_tick_comes) {
    assert_stopped_for(&node, init_then_advance);
    assert_stopped_for(&node, init_then_cascade);
    assert_stopped_for(&node, init_then_ask_for_next);
}

TEST(misuse_init_of_a_pending_node_is_named_when_it_is_armed_again) {
    assert_stopped_for(&node, init_then_arm_for_the_same_tick);
    assert_stopped_for(&node, init_then_arm_for_a_later_tick);
    assert_stopped_for(&node, init_then_arm_for_an_earlier_tick);
}

TEST(misuse_init_of_a_pending_node_is_named_when_a_neighbour_goes) {
    assert_stopped_for(&node, init_then_cancel_the_one_before);
    assert_stopped_for(&node, init_then_cancel_the_one_behind);
}

TEST(misuse_init_of_a_pending_node_is_named_when_the_wheel_is_cleared) {
    assert_stopped_for(&node, init_then_clear);
    assert_stopped_for(&node, init_then_clear_it_alone);
}

/* --- overwritten, freed, out of scope ------------------------------------------------------ */

static void zero_then_advance(void) {
    among_others(SOON);
    overwrite(0);
    go_on();
}

static void fill_then_advance(void) {
    alone(SOON);
    overwrite(0xCC);
    go_on();
}

static void fill_then_cascade(void) {
    among_others(FAR_AWAY);
    overwrite(0xCC);
    go_on();
}

static void fill_then_cancel_a_neighbour(void) {
    among_others(SOON);
    overwrite(0xCC);
    tw_cancel(&wheel, &last);
}

static void fill_then_cancel(void) {
    alone(SOON);
    overwrite(0xCC);
    tw_cancel(&wheel, &node);
    go_on();
}

static void fill_then_check(void) {
    among_others(SOON);
    overwrite(0xCC);
    expect(tw_check(&wheel, NULL, NULL) != 0); /* reports the damage and returns */
    go_on();
}

TEST(misuse_of_a_pending_node_that_is_overwritten_is_named) {
    assert_stopped_for(&node, zero_then_advance);
    assert_stopped_for(&node, fill_then_advance);
    assert_stopped_for(&node, fill_then_cascade);
    assert_stopped_for(&node, fill_then_cancel_a_neighbour);
    assert_stopped_for(&node, fill_then_cancel);
    assert_stopped_for(&node, fill_then_check);
}

static void free_then_advance(void) {
    expect(tw_init(&wheel, 0, 0) == 0);
    struct tw_node *volatile freed = malloc(sizeof *freed);
    pend(freed, SOON);
    free(freed);
    memset(malloc(sizeof *freed), 0x55, sizeof *freed); /* its next owner */
    go_on();
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
    go_on();
}

TEST(misuse_of_a_pending_node_that_is_freed_ends_with_a_message) { assert_stopped(free_then_advance); }

TEST(misuse_of_a_pending_node_that_is_out_of_scope_ends_with_a_message) {
    assert_stopped(leave_scope_then_advance);
}

/* --- copied -------------------------------------------------------------------------------- */

static void copy_then_cancel(void) {
    alone(SOON);
    copy = node;
    tw_cancel(&wheel, &copy);
}

static void copy_then_arm(void) {
    among_others(SOON);
    copy = node;
    tw_arm_after(&wheel, &copy, 1);
}

static void copy_then_move(void) {
    among_others(FAR_AWAY);
    copy = node;
    tw_move(&wheel, &copy, SOON);
}

static void copy_then_cancel_after_the_fire(void) {
    among_others(SOON);
    copy = node;
    go_on();
    tw_cancel(&wheel, &copy);
}

TEST(misuse_of_a_copy_of_a_pending_node_is_named) {
    assert_stopped_for(&copy, copy_then_cancel);
    assert_stopped_for(&copy, copy_then_arm);
    assert_stopped_for(&copy, copy_then_move);
    assert_stopped_for(&copy, copy_then_cancel_after_the_fire);
}

/* --- on a runtime -------------------------------------------------------------------------- */

static void have_a_runtime(const char *driver) {
    const struct tw_runtime_options options = {.driver = driver};
    expect(tw_runtime_new(&rt, &options) == 0);
    init_anew();
    expect(tw_runtime_after(rt, &node, TW_MILLISECOND) == 0);
    init_anew();
}

static void init_then_free_the_runtime(void) {
    have_a_runtime("manual");
    tw_runtime_free(rt);
}

static void init_then_advance_the_runtime(void) {
    have_a_runtime("manual");
    tw_runtime_advance(rt, TW_SECOND);
}

static void init_then_let_the_thread_find_it(void) {
    have_a_runtime("sleep");
    expect(tw_runtime_start(rt) == 0);
    for (;;)
        pause();
}

TEST(misuse_of_a_node_is_named_on_a_runtime) {
    assert_stopped_for(&node, init_then_free_the_runtime);
    assert_stopped_for(&node, init_then_advance_the_runtime);
}

TEST(misuse_of_a_node_is_named_by_the_thread_of_a_runtime) {
    if (!THREADS_AFTER_FORK)
        skip();
    assert_stopped_for(&node, init_then_let_the_thread_find_it);
}

/* The checking build finds a program's mistakes with nodes, and reports nothing about correct programs. */
#include "runtime/checks.h"

#include <sys/mman.h>

#if TW_RUNTIME
#include <tickwheel/observe.h>
#include <tickwheel/workers.h>
#endif

static struct tw wheel, other_wheel;
static struct tw_node node, neighbour, copy;

EXPORTED void on_timeout(struct tw_node *fired, void *arg);
void on_timeout(UNUSED struct tw_node *fired, UNUSED void *arg) {}

EXPORTED void arm_for_tick_30(struct tw_node *armed);
void arm_for_tick_30(struct tw_node *armed) {
    expect(tw_arm_at(&wheel, armed, 30) == 0);
    __asm__ volatile("");
}

static void begin(void) {
    expect(tw_init(&wheel, 0, 0) == 0);
    expect(tw_node_init(&node, on_timeout, NULL) == 0);
}

static void pend(void) {
    begin();
    arm_for_tick_30(&node);
}

static void one_tick(void) { expect(tw_advance(&wheel, tw_now(&wheel) + 1, TW_UNBOUNDED) == 0); }
static void all_ticks(void) { expect(tw_advance(&wheel, 1000, TW_UNBOUNDED) == 0); }

#define ARMED_THERE "its callback is on_timeout", "it was armed in arm_for_tick_30", "due at tick 30"

/* --- initialised again ------------------------------------------------------------------------ */

EXPORTED void init_again(void);
void init_again(void) {
    tw_node_init(&node, on_timeout, NULL);
    __asm__ volatile("");
}

static void init_while_pending(void) {
    pend();
    init_again(); /* perhaps the wheel is gone: only its next use shows that it still exists */
    one_tick();
}

static void init_while_idle(void) {
    pend();
    expect(tw_cancel(&wheel, &node) == 1);
    init_again();
    arm_for_tick_30(&node);
    all_ticks();
    init_again();
}

static void init_after_the_wheel_was_initialised_anew(void) {
    pend();
    expect(tw_init(&wheel, 0, 0) == 0);
    init_again();
    arm_for_tick_30(&node);
    all_ticks();
}

/* A program may use static memory for something else later. */
static void init_after_a_static_wheel_has_gone(void) {
    pend();
    memset(&wheel, 0, sizeof wheel);
    init_again();
    expect(tw_init(&wheel, 0, 0) == 0);
    arm_for_tick_30(&node);
    all_ticks();
}

static void init_before_a_static_wheel_is_made_anew(void) {
    pend();
    init_again();
    expect(tw_init(&wheel, 0, 0) == 0);
    arm_for_tick_30(&node);
    all_ticks();
}

static void init_after_the_wheel_has_gone(void) {
    struct tw *const gone = malloc(sizeof *gone);
    begin();
    expect(tw_init(gone, 0, 0) == 0 && tw_arm_at(gone, &node, 30) == 0);
    free(gone);
    init_again();
    arm_for_tick_30(&node);
    all_ticks();
}

TEST(checks_name_a_pending_node_that_is_initialised_again) {
    assert_stops(init_while_pending, "it was initialised again while it was pending",
                 "its callback is on_timeout", "it was initialised again in init_again");
    assert_well(init_while_idle);
    assert_well(init_after_the_wheel_was_initialised_anew);
    assert_well(init_before_a_static_wheel_is_made_anew);
    assert_well(init_after_a_static_wheel_has_gone);
    assert_well(init_after_the_wheel_has_gone);
}

static void init_while_pending_on_a_wheel_of_the_heap(void) {
    struct tw *const there = malloc(sizeof *there);
    begin();
    expect(tw_init(there, 0, 0) == 0 && tw_arm_at(there, &node, 30) == 0);
    init_again(); /* perhaps the wheel was freed */
    expect(tw_node_init(&neighbour, on_timeout, NULL) == 0 && tw_arm_at(there, &neighbour, 900) == 0);
    tw_advance(there, 1, TW_UNBOUNDED);
}

TEST(checks_name_a_node_that_is_initialised_again_on_a_wheel_of_the_heap) {
    assert_stops(init_while_pending_on_a_wheel_of_the_heap, "it was initialised again while it was pending",
                 "it was initialised again in init_again");
}

#if TW_RUNTIME
static void work_init_while_pending(void) {
    static struct tw_work item;
    struct tw_runtime *rt;
    struct tw_workers *workers;
    expect(tw_runtime_new(&rt, &(struct tw_runtime_options){.driver = "manual"}) == 0);
    expect(tw_workers_new(&workers, rt, NULL) == 0);
    expect(tw_work_init(&item, workers, on_timeout, NULL, 0) == 0);
    expect(tw_runtime_after(rt, &item.node, TW_SECOND) == 0);
    tw_work_init(&item, workers, on_timeout, NULL, 0);
}

static void init_while_pending_on_a_runtime(void) {
    struct tw_runtime *rt;
    begin();
    expect(tw_runtime_new(&rt, &(struct tw_runtime_options){.driver = "manual"}) == 0);
    expect(tw_runtime_label(rt, &node, "idle timeout") == 0);
    expect(tw_runtime_after(rt, &node, TW_SECOND) == 0);
    init_again();
}

TEST(checks_name_a_node_that_is_initialised_again_on_a_runtime) {
    assert_stops(init_while_pending_on_a_runtime, "it was initialised again while it was pending",
                 "its label is \"idle timeout\"", "found in the call from init_again");
}

TEST(checks_name_a_pending_work_item_that_is_initialised_again) {
    if (!THREADS_AFTER_FORK)
        skip();
    assert_stops(work_init_while_pending, "it was initialised again while it was pending");
}
#endif

/* --- copied ------------------------------------------------------------------------------------- */

static void use_a_copy(void) {
    pend();
    copy = node;
    tw_cancel(&wheel, &copy);
}

/* A node's links change as its neighbours come and go, in a tree, too. */
static void use_a_copy_of_one_with_neighbours(void) {
    static struct tw_node others[8];
    pend();
    for (unsigned i = 0; i < COUNT_OF(others); ++i)
        expect(tw_node_init(&others[i], on_timeout, NULL) == 0 && tw_arm_at(&wheel, &others[i], 30 + i) == 0);
    copy = node;
    tw_cancel(&wheel, &copy);
}

static void use_an_old_copy(void) {
    pend();
    copy = node;
    all_ticks();
    tw_arm_at(&wheel, &copy, 2000);
}

static void arm_a_copy_on_another_wheel(void) {
    expect(tw_init(&other_wheel, 0, 0) == 0);
    pend();
    copy = node;
    tw_arm_at(&other_wheel, &copy, 5);
}

static void overwrite_by_another_that_is_pending(void) {
    pend();
    expect(tw_node_init(&neighbour, on_timeout, &node) == 0);
    expect(tw_arm_at(&wheel, &neighbour, 900) == 0);
    node = neighbour;
    one_tick();
}

static void overwrite_by_an_idle_one(void) {
    pend();
    expect(tw_node_init(&neighbour, on_timeout, NULL) == 0);
    node = neighbour;
    tw_cancel(&wheel, &node);
}

static void copy_while_idle(void) {
    begin();
    copy = node;
    arm_for_tick_30(&copy);
    all_ticks();
    node = copy;
    expect(tw_arm_at(&wheel, &node, 2000) == 0 && tw_cancel(&wheel, &node) == 1);
}

TEST(checks_name_a_copy_of_a_pending_node) {
    assert_stops(use_a_copy, "it is a copy of a pending node", ARMED_THERE);
    assert_stops(arm_a_copy_on_another_wheel, "it is a copy of a pending node", ARMED_THERE);
    assert_stops(use_a_copy_of_one_with_neighbours, "it is a copy of a pending node, the one at ");
    assert_stops(use_an_old_copy, "it is a copy of a node that was");
    assert_well(copy_while_idle);
}

TEST(checks_name_a_pending_node_that_another_is_copied_to) {
    assert_stops(overwrite_by_another_that_is_pending, "overwritten", "changed is its arg", ARMED_THERE);
    assert_stops(overwrite_by_an_idle_one, "overwritten", ARMED_THERE);
}

/* --- overwritten and freed ---------------------------------------------------------------------- */

static void overwrite_a_field_and_advance(void) {
    pend();
    node.expiry = 7;
    one_tick();
}

static void free_and_reuse(void) {
    begin();
    struct tw_node *volatile heap_node = malloc(sizeof *heap_node);
    expect(tw_node_init(heap_node, on_timeout, NULL) == 0);
    arm_for_tick_30(heap_node);
    free(heap_node);
    memset(malloc(sizeof *heap_node), 0x55, sizeof *heap_node);
    one_tick();
}

static void free_alone(void) {
    begin();
    struct tw_node *volatile heap_node = malloc(sizeof *heap_node);
    expect(tw_node_init(heap_node, on_timeout, NULL) == 0);
    arm_for_tick_30(heap_node);
    free(heap_node);
    one_tick();
}

static void free_and_make_another_node_there(void) {
    begin();
    static union { struct tw_node former, latter; } place;
    expect(tw_node_init(&place.former, on_timeout, NULL) == 0);
    arm_for_tick_30(&place.former);
    expect(tw_node_init(&place.latter, on_timeout, NULL) == 0);
    one_tick();
}

static void unmap(void) {
    begin();
    struct tw_node *const page_node =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    expect(page_node != MAP_FAILED && tw_node_init(page_node, on_timeout, NULL) == 0);
    arm_for_tick_30(page_node);
    munmap(page_node, 4096);
    one_tick();
}

static void cancel_and_free(void) {
    begin();
    struct tw_node *const heap_node = malloc(sizeof *heap_node);
    expect(tw_node_init(heap_node, on_timeout, NULL) == 0);
    arm_for_tick_30(heap_node);
    one_tick();
    expect(tw_cancel(&wheel, heap_node) == 1);
    free(heap_node);
    all_ticks();
}

TEST(checks_name_a_pending_node_that_is_overwritten_or_unmapped) {
    assert_stops(overwrite_a_field_and_advance, "overwritten", "changed is its expiry", ARMED_THERE);
    assert_stops(free_and_make_another_node_there, "initialised again");
    if (!EMULATED)
        assert_stops(unmap, "its memory was given back to the system", ARMED_THERE);
    assert_well(cancel_and_free);
}

/* The checking build sees that a node was freed, because glibc writes into freed memory and AddressSanitizer
 * marks it. ThreadSanitizer's heap does neither, and does not hand out the memory again soon. Under qemu-user
 * there is no process_vm_readv, which the checks need to follow links that may lead nowhere. So the test
 * skips both. */
TEST(checks_name_a_pending_node_that_is_freed) {
#ifdef __SANITIZE_THREAD__
    skip();
#endif
    if (EMULATED)
        skip();
    assert_stops(free_and_reuse, "freed", ARMED_THERE);
    assert_stops(free_alone, "freed", ARMED_THERE);
}

/* --- out of scope ----------------------------------------------------------------------------------- */

static __attribute__((noinline)) void pend_a_local(bool cancels) {
    struct tw_node local;
    unsigned char below[4096]; /* so that the next calls do not overwrite the node */
    __asm__ volatile("" : : "r"(below), "r"(&local) : "memory");
    expect(tw_node_init(&local, on_timeout, NULL) == 0);
    arm_for_tick_30(&local);
    if (cancels)
        expect(tw_cancel(&wheel, &local) == 1);
}

static void leave_scope(void) {
    begin();
    pend_a_local(false);
    one_tick();
}

static void cancel_before_leaving_scope(void) {
    begin();
    pend_a_local(true);
    all_ticks();
}

static __attribute__((noinline)) void use_a_local_wheel(void) {
    struct tw local;
    expect(tw_init(&local, 0, 0) == 0 && tw_arm_at(&local, &node, 30) == 0);
    __asm__ volatile("" : : "r"(&local) : "memory");
}

static void leave_scope_of_the_wheel(void) {
    begin();
    use_a_local_wheel();
    init_again();
    arm_for_tick_30(&node);
}

TEST(checks_name_a_pending_node_that_is_out_of_scope) {
    assert_stops(leave_scope, "while it was pending", ARMED_THERE);
    assert_well(cancel_before_leaving_scope);
    assert_well(leave_scope_of_the_wheel);
}

/* --- never initialised -------------------------------------------------------------------------------- */

static int fill; /* a byte; negative: the seed of random bytes */

static void use_what_was_never_initialised(void) {
    expect(tw_init(&wheel, 0, 0) == 0);
    uint64_t seed = (uint64_t)-fill;
    unsigned char *const bytes = (unsigned char *)&node;
    for (size_t i = 0; i < sizeof node; ++i)
        bytes[i] = (unsigned char)(fill < 0 ? random_below(&seed, 256) : (unsigned)fill);
    if (fill == 1)
        for (size_t i = 0; i < sizeof node; i += 4)
            memcpy(bytes + i, &(uint32_t){0xDEADBEEF}, 4);
    tw_arm_after(&wheel, &node, 5);
}

static void cancel_what_was_never_initialised(void) {
    expect(tw_init(&wheel, 0, 0) == 0);
    memset(&node, 0xCC, sizeof node);
    tw_cancel(&wheel, &node);
}

static void use_zeroes(void) {
    expect(tw_init(&wheel, 0, 0) == 0);
    memset(&node, 0, sizeof node);
    expect(tw_cancel(&wheel, &node) == 0);
    expect(tw_arm_after(&wheel, &node, 5) == -EINVAL);
}

TEST(checks_name_a_node_that_was_never_initialised) {
    const int fills[] = {0xCC, 0xCD, 0xAA, 1};
    for (size_t i = 0; i < COUNT_OF(fills); ++i) {
        fill = fills[i];
        assert_stops(use_what_was_never_initialised, "never initialised", "found in the call from");
    }
    for (fill = -1; fill >= -50; --fill)
        assert_stops(use_what_was_never_initialised, "never initialised");
    assert_stops(cancel_what_was_never_initialised, "never initialised");
    const struct end warned = end_of(use_zeroes);
    assert_true(WIFEXITED(warned.status) && WEXITSTATUS(warned.status) == 0);
    if (strstr(warned.said, "warning: node 0x") == NULL || strstr(warned.said, "never initialised") == NULL)
        fail_msg("it said \"%s\"", warned.said);
}

/* With tickless idle, an interrupt may come before the kernel has counted the ticks of the sleep that it
 * ended; the scheduler is suspended then. */
#include "adapter.h"
#include "scheduler.h"
#include "support/test.h"

static struct tw_freertos timers;
static struct tw_node node;

static void nothing(struct tw_node *which, void *arg) { (void)which, (void)arg; }

static int begin(UNUSED void **state) {
    return tw_freertos_init(&timers) | tw_node_init(&node, nothing, NULL);
}

FIXTURE(begin, NULL);

TEST(p01_no_interrupt_starts_a_timer_while_the_tick_count_is_behind) {
    scheduler_is_suspended = true;
    assert_int_equal(-EAGAIN, tw_freertos_start_from_isr(&timers, &node, 5, NULL));
    assert_int_equal(-EAGAIN, tw_freertos_start_every_from_isr(&timers, &node, 5, TW_COALESCE, NULL));
    assert_int_equal(0, tw_pending(&timers.wheel, &node));
    scheduler_is_suspended = false;
}

TEST(p01_interrupts_start_timers_while_the_processor_is_awake) {
    assert_int_equal(0, tw_freertos_start_from_isr(&timers, &node, 5, NULL));
    assert_int_equal(0, tw_freertos_start_every_from_isr(&timers, &node, 5, TW_COALESCE, NULL));
}

/* The clock of Zephyr, where it is not like another: on several processors it may step back, while another
 * one handles the tick's interrupt. */
#include "adapter.h"
#include "simulation.h"
#include "support/test.h"

enum { BEGIN = 1000 };

static struct tw_zephyr timers;
static struct tw_node first, second;

static void note(struct tw_node *node, void *at) {
    (void)node;
    EXPECT(*(int64_t *)at == -1);
    *(int64_t *)at = present();
}

static int64_t first_at, second_at; /* -1: not yet */

static void script(void *unused) {
    (void)unused;
    EXPECT(tw_zephyr_start(&timers, &first, 8) == 0 && tw_zephyr_start(&timers, &second, 10) == 0);
    pass(9);
    EXPECT(first_at == BEGIN + 9);
    set_present(BEGIN + 7);
    EXPECT(tw_zephyr_start(&timers, &first, 0) == 0); /* wakes the thread, whose last turn was later */
    first_at = -1;
    pass(1);
    EXPECT(first_at == -1); /* due at 8, which the wheel takes for its present, 9 */
    pass(1);
    EXPECT(first_at == BEGIN + 9 && second_at == -1);
    const unsigned before = asked.sleeps;
    pass(2);
    EXPECT(second_at == BEGIN + 11 && asked.sleeps == before + 1);
}

static void set(void) {
    first_at = second_at = -1;
    EXPECT(tw_zephyr_init(&timers) == 0);
    EXPECT(tw_node_init(&first, note, &first_at) == 0 && tw_node_init(&second, note, &second_at) == 0);
    create(run_timers, &timers);
    create(script, NULL);
}

static void check(void) { EXPECT(tw_check(&timers.wheel, NULL, NULL) == 0); }

TEST(p01_a_clock_that_steps_back_makes_nothing_early) {
    assert_int_equal(1, explore(&(struct scene){.begin = BEGIN, .length = 50, .set = set, .check = check}));
}

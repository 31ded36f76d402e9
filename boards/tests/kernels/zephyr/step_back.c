/* A clock that steps back, as Zephyr's may on one of several processors while another handles the tick's
 * interrupt. */
#include "script.h"

static void a_step_back(void) {
    EXPECT(tw_zephyr_start(&timers, &node, 8) == 0 && tw_zephyr_start(&timers, &other, 10) == 0);
    pass(9);
    EXPECT(fires == 1 && fired[0].node == &node && fired[0].after == 9);
    set_present(begin + 7);
    EXPECT(tw_zephyr_start(&timers, &node, 0) == 0); /* wakes the thread, whose last turn was later */
    pass(1);
    EXPECT(fires == 1); /* the node is due at 8, and so on the wheel at its present, 9 */
    pass(1);
    EXPECT(fires == 2 && fired[1].node == &node && fired[1].after == 9);
    const unsigned before = asked.sleeps;
    pass(2);
    EXPECT(fires == 3 && fired[2].node == &other && fired[2].after == 11 && asked.sleeps == before + 1);
}

TEST(p01_a_clock_that_steps_back_makes_nothing_early) {
    is_deferred = true;
    play_from(1000, 50, NULL, a_step_back);
}

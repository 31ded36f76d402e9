/* The main loop shown in <tickwheel/cortexm/systick.h>: the wheel, the clock, and
 * interrupts that arm timers. */
#include <tickwheel/tw.h>

#include "expect.h"
#include "loop_mask.h"
#include "measured.h"

static struct tw wheel;
static struct tw_node soon, late;
static volatile unsigned fired, signalled;
static volatile uint64_t armed_for;
static uint64_t begun;

static void note(struct tw_node *node, void *arg) {
    (void)arg;
    EXPECT(node == &soon);
    ++fired;
    EXPECT(watched() >= armed_for * WATCH_PER_TICK);      /* P1 */
    EXPECT(watched() < (armed_for + 2) * WATCH_PER_TICK); /* P2; a Cortex-M0 takes 100 us to get here */
}

static void arm_soon(void) {
    armed_for = clock_now() + 2;
    EXPECT(tw_arm_at(&wheel, &soon, (tw_tick)armed_for) == 0);
}

void on_tick(void) { clock_isr(); }

void on_signal(void) {
    ++signalled;
    arm_soon();
}

void on_alarm(void) {
    alarm_silence();
    arm_soon();
}

static void begin(void) {
    measure(1);
    signal_start();
    fired = 0;
    EXPECT(tw_init(&wheel, (tw_tick)clock_now(), 0) == 0);
    EXPECT(tw_node_init(&soon, note, NULL) == 0);
    EXPECT(tw_node_init(&late, note, NULL) == 0);
    begun = clock_now();
}

/* One turn of the loop. `between` runs at the worst moment: after tw_next, before the sleep. */
static void turn(void (*between)(void)) {
    const uint32_t mask = loop_mask();
    const tw_tick next = tw_next(&wheel);
    if (between != NULL)
        between();
    clock_sleep_until(next == TW_NEVER ? UINT64_MAX : next);
    loop_restore(mask);
    EXPECT(tw_advance(&wheel, (tw_tick)clock_now(), TW_UNBOUNDED) == 0);
}

static void arming_between_question_and_sleep_is_served(void) {
    begin();
    for (unsigned i = 1; i <= 200; ++i) {
        turn(signal_raise); /* nothing else is armed: without this arming the loop would sleep forever */
        EXPECT(signalled == i);
        EXPECT(clock_now() <= armed_for);
        while (fired < i)
            turn(NULL);
    }
}

static void arming_during_sleep_is_served(void) {
    for (unsigned i = 0; i < 200; ++i) {
        begin();
        EXPECT(tw_arm_at(&wheel, &late, (tw_tick)begun + 5000) == 0);
        alarm_start(MICROSECONDS(20) + some(3 * WATCH_PER_TICK));
        while (fired == 0)
            turn(NULL);
        EXPECT(clock_now() < begun + 10);
        EXPECT(tw_pending(&wheel, &late));
    }
}

/* P9: with one timer there is one sleep, which ends when the timer is due. */
static void sleeps_for_what_is_due_only(void) {
    begin();
    armed_for = begun + 100;
    EXPECT(tw_arm_at(&wheel, &soon, (tw_tick)armed_for) == 0);
    const unsigned before = waits;
    turn(NULL);
    /* a Cortex-M0 takes up to a tick to fire, and note() has read the clock */
    EXPECT(clock_now() - armed_for <= 1);
    EXPECT(waits - before <= MOST_WAITS(100));
    EXPECT(fired == 1);
}

int main(void) {
    arming_between_question_and_sleep_is_served();
    arming_during_sleep_is_served();
    sleeps_for_what_is_due_only();
    say("timers that interrupts armed:", 2 * 200);
    return 0;
}

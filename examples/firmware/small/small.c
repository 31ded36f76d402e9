/* Sixteen timers in a part with 16 K of flash and 4 K of RAM: each starts at another tick,
 * with another period, and is counted. Ends with 0 if all fired as often as they should. */
#include <tickwheel/tw.h>

#include <board.h>
#include <clock.h>
#include <host.h>

enum { TIMERS = 16, END = 1000 };

static struct tw wheel;
static struct timer {
    struct tw_node node;
    uint16_t fires, late;
} timers[TIMERS];
static struct tw_node end_node;
static int ended;

static tw_tick period_of(unsigned timer) { return 3 + 7 * timer; }
static tw_tick first_of(unsigned timer) { return 2 + timer; }

static void fire(struct tw_node *node, void *arg) {
    struct timer *timer = arg;
    (void)node;
    ++timer->fires;
    timer->late = (uint16_t)(timer->late + (tw_now(&wheel) != tw_due(&wheel)));
}

static void end(struct tw_node *node, void *arg) {
    (void)node, (void)arg;
    ended = 1;
}

void on_tick(void) { clock_isr(); }

static void set_up(void) {
    clock_start(CLOCK_HZ / 1000, TW_TICKLESS);
    tw_init(&wheel, 0, 0);
    for (unsigned i = 0; i < TIMERS; ++i) {
        tw_node_init(&timers[i].node, fire, &timers[i]);
        tw_arm_every(&wheel, &timers[i].node, first_of(i), period_of(i), TW_BURST, 0);
    }
    tw_node_init(&end_node, end, NULL);
    tw_arm_at(&wheel, &end_node, END);
}

static int all_fired(void) {
    for (unsigned i = 0; i < TIMERS; ++i)
        if (timers[i].fires != (END - first_of(i)) / period_of(i) + 1 || timers[i].late != 0)
            return 0;
    return 1;
}

int main(void) {
    set_up();
    while (!ended) {
        tw_advance(&wheel, (tw_tick)clock_now(), TW_UNBOUNDED);
        const uint32_t mask = tw_interrupts_mask();
        clock_sleep_until(tw_next(&wheel));
        tw_interrupts_restore(mask);
    }
    const int right = all_fired();
    host_print(right ? "16 timers fired on their ticks\n" : "wrong\n");
    return right ? 0 : 1;
}

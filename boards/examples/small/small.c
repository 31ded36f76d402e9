/* Sixteen timers in a part with 16 K of flash and 4 K of RAM. Each starts at its own tick with its own
 * period. The program counts their fires and exits with 0 if all counts are right.
 *
 * Ticks have 32 bits here. The first tick is chosen so that they wrap half way through. */
#include <tickwheel/board/deadline.h>

#include <board.h>
#include <clock.h>
#include <host.h>

enum { TIMERS = 16, END = 1000 };
#define ORIGIN ((tw_tick)0 - END / 2) /* the wheel's tick when the clock's tick is 0 */

static struct tw wheel;
static struct timer {
    struct tw_node node;
    uint16_t fires, late;
} timers[TIMERS];
static struct tw_node end_node;
static int ended;

static tw_tick period_of(unsigned timer) { return 3 + 7 * timer; }
static tw_tick first_of(unsigned timer) { return 2 + timer; } /* from the origin */
static tw_tick tick_at(uint64_t clock) { return ORIGIN + (tw_tick)clock; }

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
    tw_init(&wheel, tick_at(0), 0);
    for (unsigned i = 0; i < TIMERS; ++i) {
        tw_node_init(&timers[i].node, fire, &timers[i]);
        tw_arm_every(&wheel, &timers[i].node, tick_at(first_of(i)), period_of(i), TW_BURST, 0);
    }
    tw_node_init(&end_node, end, NULL);
    tw_arm_at(&wheel, &end_node, tick_at(END));
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
        const uint64_t now = clock_now();
        tw_advance(&wheel, tick_at(now), TW_UNBOUNDED);
        const uint32_t mask = tw_interrupts_mask();
        clock_sleep_until(tw_clock_deadline(now, tick_at(now), tw_next(&wheel)));
        tw_interrupts_restore(mask);
    }
    const int right = all_fired();
    host_print(right ? "16 timers fired on their ticks\n" : "wrong\n");
    return right ? 0 : 1;
}

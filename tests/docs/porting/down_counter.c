/* The clock of docs/PORTING.md for a timer that only counts down, on a simulated timer: the loop fires timers
 * at their ticks, and the clock is never ahead of the time that has passed. */
#undef NDEBUG
#include <assert.h>

#include <clock.h> /* the page's */
#include <tickwheel/tw.h>

enum { PER_TICK = 25000, TICKS = 2000 };

static uint64_t passed; /* counts since the start */
static uint32_t value, reload;
static bool enabled, ended, masked;
static uint64_t alarm_at = UINT64_MAX; /* when another interrupt comes, which ends a sleep */

static void pass(uint64_t counts) {
    passed += counts;
    for (; enabled && counts != 0; --counts) {
        ended = ended || value == 0;
        value = value == 0 ? reload : value - 1;
    }
}

uint32_t timer_value(void) {
    pass(1);
    return value;
}
bool timer_ended(void) {
    pass(1);
    const bool was = ended;
    ended = false;
    return was;
}
void timer_load(uint32_t n) {
    pass(1);
    value = reload = n;
    ended = false;
}
void timer_enable(void) { enabled = true; }

uint32_t tw_interrupts_mask(void) {
    const bool was = masked;
    masked = true;
    return was;
}
void tw_interrupts_restore(uint32_t mask) {
    masked = mask != 0;
    if (masked)
        return;
    if (passed >= alarm_at)
        alarm_at = UINT64_MAX; /* served */
    if (ended)
        clock_isr();
}
void tw_interrupts_wait(void) {
    assert(masked);
    while (!ended && passed < alarm_at)
        pass(1);
#ifdef UNMASKS_TO_WAIT
    tw_interrupts_restore(0); /* the handlers run before the sleep returns */
    (void)tw_interrupts_mask();
#endif
}
uint32_t irq_save(void) { return tw_interrupts_mask(); }
void irq_restore(uint32_t was) { tw_interrupts_restore(was); }

static struct tw wheel;
static tw_tick fired_at;

static void on_fire(struct tw_node *node, void *arg) {
    (void)node, (void)arg;
    fired_at = (tw_tick)clock_now();
}

static void fire(struct tw_node *node, tw_tick at) {
    assert(tw_arm_at(&wheel, node, at) == 0);
    for (fired_at = 0; fired_at == 0;) {
        const uint64_t now = clock_now();
        assert(now <= passed / PER_TICK);
        tw_advance(&wheel, (tw_tick)now, TW_UNBOUNDED);
        const uint32_t mask = tw_interrupts_mask();
        if (fired_at == 0)
            clock_sleep_until(tw_next(&wheel));
        tw_interrupts_restore(mask);
    }
    assert(fired_at == at);
}

int main(void) {
    struct tw_node node;
    assert(clock_start(PER_TICK, TW_TICKLESS) == 0);
    tw_init(&wheel, (tw_tick)clock_now(), 0);
    tw_node_init(&node, on_fire, NULL);
    for (tw_tick at = 1; at < TICKS; at += at / 2 + 1) {
        alarm_at = passed + PER_TICK * 3; /* some sleeps end early */
        fire(&node, at);
    }
    assert(passed / PER_TICK - clock_now() <= 1); /* behind by the restarts alone */
    assert(!masked);
}

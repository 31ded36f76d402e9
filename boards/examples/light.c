/* Firmware on one timer wheel: a blinking light, a debounced button, a watchdog, and a check of their
 * punctuality. Bare metal: no heap, no C library. It prints the results and exits with 0 if they are right.
 *
 * boards/machines has what a part's vendor usually supplies: start-up, linker script, ways to print. */
#include <tickwheel/tw.h>

#include <board.h>
#include <clock.h>
#include <host.h>
#include <stopwatch.h>

enum { /* ticks, of a millisecond each */
       BLINK_PERIOD = 50,
       QUIET = 20, /* a button at rest for this long has been pressed or released */
       HEARTBEAT_PERIOD = 30,
       PATIENCE = 100, /* of the watchdog, in ticks */
       HANG_AT = 800   /* from here on the demonstration no longer feeds the watchdog */
};

static struct tw wheel;

/* --- the light: a periodic node ------------------------------------------------ */

static struct tw_node blink_node;
static unsigned blinks;
static uint32_t earliest_us = UINT32_MAX, latest_us;

/* Measures by the machine's second timer, in steps of 2 us, because on one machine it counts at 12.5 MHz. */
static void measure_period(void) {
    static uint32_t last;
    const uint32_t now = stopwatch_read();
    const uint32_t period_us = (now - last) / (STOPWATCH_HZ / 500000u) * 2;
    last = now;
    if (blinks < 2) /* the first period lies between the first two blinks */
        return;
    if (period_us < earliest_us)
        earliest_us = period_us;
    if (period_us > latest_us)
        latest_us = period_us;
}

static void blink(struct tw_node *node, void *arg) {
    (void)node, (void)arg;
    ++blinks; /* a board would toggle a pin */
    measure_period();
}

/* --- the button: an interrupt at each edge arms a one-shot node again ------------ */

static struct tw_node quiet_node;
static volatile int contact; /* the level of the pin, with bounces */
static unsigned presses, edges;

void on_signal(void) {
    contact = !contact;
    ++edges;
    tw_arm_at(&wheel, &quiet_node, (tw_tick)clock_now() + QUIET + 1);
}

static void button_is_quiet(struct tw_node *node, void *arg) {
    (void)node, (void)arg;
    if (contact)
        ++presses;
}

/* The finger: two presses that bounce, as ticks between edges. */
static const uint8_t script[] = {40, 1, 2, 1, 1, 60, 2, 1, 80, 3, 1, 1, 2, 70, 1, 4};
static struct tw_node finger_node;

static void finger(struct tw_node *node, void *arg) {
    static unsigned step;
    (void)arg;
    signal_raise();
    if (++step < sizeof script)
        tw_arm_after(&wheel, node, script[step]);
}

/* --- the watchdog: postponed while the program works ---------------------------- */

static struct tw_node watchdog_node, heartbeat_node;
static tw_tick bitten_at;

static void heartbeat(struct tw_node *node, void *arg) {
    (void)arg;
    tw_postpone(&wheel, &watchdog_node, tw_now(&wheel) + PATIENCE);
    if (tw_now(&wheel) >= HANG_AT)
        tw_cancel(&wheel, node);
}

static void bite(struct tw_node *node, void *arg) {
    (void)node, (void)arg;
    bitten_at = tw_now(&wheel); /* a board would reset itself */
}

/* --------------------------------------------------------------------------------- */

void on_tick(void) { clock_isr(); }

static void set_up(void) {
    stopwatch_start();
    signal_start();
    clock_start(CLOCK_HZ / 1000, TW_TICKLESS);
    tw_init(&wheel, 0, 0);
    tw_node_init(&blink_node, blink, NULL);
    tw_node_init(&quiet_node, button_is_quiet, NULL);
    tw_node_init(&finger_node, finger, NULL);
    tw_node_init(&watchdog_node, bite, NULL);
    tw_node_init(&heartbeat_node, heartbeat, NULL);

    tw_arm_every(&wheel, &blink_node, BLINK_PERIOD, BLINK_PERIOD, TW_COALESCE, 0);
    tw_arm_after(&wheel, &finger_node, script[0]);
    tw_arm_after(&wheel, &watchdog_node, PATIENCE);
    tw_arm_every(&wheel, &heartbeat_node, HEARTBEAT_PERIOD, HEARTBEAT_PERIOD, TW_COALESCE, 0);
}

static void line(const char *before, unsigned long number, const char *after) {
    host_print(before);
    host_print_number(number);
    host_print(after);
}

static int report(void) {
    const int last_beat = (HANG_AT + HEARTBEAT_PERIOD - 1) / HEARTBEAT_PERIOD * HEARTBEAT_PERIOD;
    host_print(MACHINE_NAME "\n");
    line("light     ", blinks, " blinks, ");
    line("", earliest_us, " to ");
    line("", latest_us, " us apart\n");
    line("button    ", edges, " edges, ");
    line("", presses, " presses\n");
    line("watchdog  bit at ", (unsigned long)bitten_at, " ms\n");
    line("slept     ", waits, " times\n");
    const int right = blinks == bitten_at / BLINK_PERIOD && presses == 2 && edges == sizeof script &&
                      bitten_at == (tw_tick)last_beat + PATIENCE && earliest_us > BLINK_PERIOD * 1000 - 500 &&
                      latest_us < BLINK_PERIOD * 1000 + 500;
    return right ? 0 : 1;
}

int main(void) {
    set_up();
    while (bitten_at == 0) {
        tw_advance(&wheel, (tw_tick)clock_now(), TW_UNBOUNDED);
        const uint32_t mask = tw_interrupts_mask(); /* see the clock's header */
        clock_sleep_until(tw_next(&wheel));
        tw_interrupts_restore(mask);
    }
    return report();
}

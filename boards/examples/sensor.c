/* A sensor that sleeps: it measures ten times a second, sends once a second, and sleeps on a low-power timer
 * in between, deeply if that pays. It prints how much of the time it slept. It exits with 0 if it slept at
 * least 98.5 % of the time, at least once deeply, and measured and sent as often as it should.
 *
 * QEMU has no low-power timer, so boards/machines/low_power.c makes one of other timers. */
#include <tickwheel/board/hooks.h>
#include <tickwheel/tw.h>

#include <board.h>
#include <host.h>
#include <low_power.h>

enum {
    COUNTS_PER_TICK = 32,
    TICKS_PER_SECOND = LOW_POWER_HZ / COUNTS_PER_TICK,
    SECONDS = 5,
    DEEP_PAYS = 4 /* ticks; a board needs about as long to switch its clocks off and on again */
};

static struct tw wheel;

/* --- the work: a periodic node each ------------------------------------------------ */

static struct tw_node measure_node, send_node;
static unsigned measured, sent;

static void work_for(uint32_t microseconds) {
    const uint32_t begin = stopwatch_read();
    while (stopwatch_read() - begin < STOPWATCH_HZ / 1000000u * microseconds) {
    }
}

static void measure(struct tw_node *node, void *arg) {
    (void)node, (void)arg;
    work_for(200);
    ++measured;
}

static void send(struct tw_node *node, void *arg) {
    (void)node, (void)arg;
    work_for(3000);
    ++sent;
}

/* --- the sleep: the clock calls these hooks around each ---------------------------- */

static unsigned sleeps, deep_sleeps;
static uint32_t fell_asleep, slept;

void tw_before_sleep(uint64_t ticks) {
    ++sleeps;
    if (ticks >= DEEP_PAYS)
        ++deep_sleeps; /* a board would set SLEEPDEEP and stop its fast clock */
    fell_asleep = stopwatch_read();
}

void tw_after_sleep(void) { /* a board would start its clock again */
    slept += stopwatch_read() - fell_asleep;
}

/* ----------------------------------------------------------------------------------- */

void on_alarm(void) {
    alarm_silence();
    tw_lptimer_isr();
}

static void set_up(void) {
    low_power_start();
    tw_lptimer_start(&low_power_timer, COUNTS_PER_TICK);
    tw_init(&wheel, 0, 0);
    tw_node_init(&measure_node, measure, NULL);
    tw_node_init(&send_node, send, NULL);
    tw_arm_every(&wheel, &measure_node, TICKS_PER_SECOND / 10, TICKS_PER_SECOND / 10, TW_COALESCE, 0);
    tw_arm_every(&wheel, &send_node, TICKS_PER_SECOND, TICKS_PER_SECOND, TW_COALESCE, 0);
}

static void line(const char *before, unsigned long number, const char *after) {
    host_print(before);
    host_print_number(number);
    host_print(after);
}

static int report(uint32_t took) {
    const uint32_t permille = slept / (took / 1000u);
    host_print(MACHINE_NAME "\n");
    line("measured  ", measured, " times\n");
    line("sent      ", sent, " times\n");
    line("slept     ", permille / 10u, ".");
    line("", permille % 10u, " % of the time, ");
    line("", deep_sleeps, " times deeply, ");
    line("", sleeps - deep_sleeps, " times lightly\n");
    return sent == SECONDS && measured / 10 == SECONDS && permille >= 985 && deep_sleeps > 0 ? 0 : 1;
}

int main(void) {
    set_up();
    const uint32_t begin = stopwatch_read();
    while (sent < SECONDS) {
        tw_advance(&wheel, (tw_tick)tw_lptimer_now(), TW_UNBOUNDED);
        const uint32_t mask = tw_interrupts_mask();
        tw_lptimer_sleep_until(tw_next(&wheel));
        tw_interrupts_restore(mask); /* the interrupt that woke it runs here */
    }
    return report(stopwatch_read() - begin);
}

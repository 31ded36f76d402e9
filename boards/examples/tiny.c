/* The smallest program on a board: a wheel and timers that are ready as declared, and a loop that checks
 * whether one has fired, instead of callbacks. It blinks a hundred times, with a heartbeat at every fifth
 * blink, and exits with 0 if both counts are right. */
#include <tickwheel/board/deadline.h>
#include <tickwheel/fires.h>

#include <board.h>
#include <clock.h>
#include <host.h>

static struct tw wheel = TW_WHEEL(wheel);
static struct tw_fire_count blinks, beats;
static struct tw_node blink = TW_NODE(tw_count_fire, &blinks);
static struct tw_node beat = TW_NODE(tw_count_fire, &beats);

void on_tick(void) { clock_isr(); }

static void sleep_until_next(uint64_t now) {
    const uint32_t mask = tw_interrupts_mask();
    clock_sleep_until(tw_clock_deadline(now, (tw_tick)now, tw_next(&wheel)));
    tw_interrupts_restore(mask);
}

int main(void) {
    unsigned light = 0, sent = 0;
    clock_start(CLOCK_HZ / 1000, TW_TICKLESS);
    tw_arm_every(&wheel, &blink, 10, 10, TW_COALESCE, 0);
    tw_arm_every(&wheel, &beat, 50, 50, TW_COALESCE, 0);
    while (light < 100) {
        const uint64_t now = clock_now();
        tw_advance(&wheel, (tw_tick)now, TW_UNBOUNDED);
        light += tw_fired(&blinks); /* a board would switch its light here */
        sent += tw_fired(&beats);
        sleep_until_next(now);
    }
    host_print(sent == 20 ? "100 blinks and 20 beats\n" : "wrong\n");
    return sent == 20 ? 0 : 1;
}

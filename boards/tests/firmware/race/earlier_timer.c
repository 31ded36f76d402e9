/* P2, P3 with an interrupt: if the interrupt arms a timer earlier than others during an advance,
 * that timer fires before the others, either in that advance or because tw_next asks for another
 * advance at once. */
#include "earlier_timer.h"

#include <tickwheel/tw.h>

#include "../expect.h"
#include "sweep.h"

enum { WAITING = 6, GAP = 4, END = (WAITING + 1) * GAP };

static struct tw w;
static struct tw_node waiting[WAITING], earlier;
static tw_tick earlier_tick;                  /* armed by the interrupt */
static volatile tw_tick reached;              /* tick of the latest fire */
static volatile tw_tick may_precede;          /* timers due later than this fire after `earlier` */
static volatile bool is_armed, earlier_fired; /* state of `earlier` */
static unsigned fired;

static void on_waiting(struct tw_node *node, void *arg) {
    (void)node, (void)arg;
    const tw_tick due = tw_due(&w);
    EXPECT(due >= reached);
    EXPECT(!is_armed || earlier_fired || due <= may_precede);
    reached = due;
    ++fired;
}

static void on_earlier(struct tw_node *node, void *arg) {
    (void)node, (void)arg;
    EXPECT(tw_due(&w) == earlier_tick);
    earlier_fired = true;
}

/* Timers lie GAP ticks apart, so that blocks begin between them. */
static void open_wheel(void) {
    reached = 0;
    fired = 0;
    is_armed = earlier_fired = false;
    EXPECT(tw_init(&w, 0, 0) == 0);
    EXPECT(tw_node_init(&earlier, on_earlier, NULL) == 0);
    for (unsigned i = 0; i < WAITING; ++i) {
        EXPECT(tw_node_init(&waiting[i], on_waiting, NULL) == 0);
        EXPECT(tw_arm_at(&w, &waiting[i], GAP * (i + 1)) == 0);
    }
}

static void advance(void) { EXPECT(tw_advance(&w, END, TW_UNBOUNDED) == 0); }

/* The wheel may have reached the next tick that is due, but not passed it. */
static void arm_earlier(void) {
    tw_tick next = END;
    for (unsigned i = WAITING; i-- > 0;)
        if (tw_pending(&w, &waiting[i]))
            next = tw_expiry(&w, &waiting[i]);
    may_precede = next > earlier_tick ? next : earlier_tick;
    EXPECT(tw_arm_at(&w, &earlier, earlier_tick) == 0);
    is_armed = true;
}

static void check(void) {
    EXPECT(fired == WAITING);
    if (!earlier_fired) { /* armed when the advance had fired everything due */
        EXPECT(tw_next(&w) <= earlier_tick || tw_next(&w) == tw_now(&w));
        EXPECT(tw_advance(&w, END, TW_UNBOUNDED) == 0);
    }
    EXPECT(earlier_fired);
    EXPECT(tw_check(&w, NULL, NULL) == 0 && tw_count(&w) == 0);
}

void earlier_timers_are_in_time(void) {
    static const tw_tick ticks[] = {1, GAP * 2 - 1, GAP * 3, END - 1};
    unsigned rounds = 0;
    for (unsigned i = 0; i < sizeof ticks / sizeof *ticks; ++i) {
        earlier_tick = ticks[i];
        rounds += sweep(&(struct round){open_wheel, advance, arm_earlier, check, false});
    }
    say("rounds with an earlier timer", rounds);
}

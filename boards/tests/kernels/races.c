/* Starts and stops by a thread and an interrupt against the turns of the timers' thread, or of the tick
 * interrupt, at each place where these can meet: each timer fires once, never early, and late only by as much
 * as the scene holds it up. */
#include "adapter.h"
#include "simulation.h"
#include "support/environment.h"
#include "support/sanitized.h"
#include "support/test.h"

/* Changes of threads, or ticks, in a run that begins at an ordinary tick: two at night, otherwise one. */
static unsigned changes(void) { return is_nightly() && !SLOW ? 2 : 1; }

enum { LENGTH = 13, REST = 7, TICKS = 2 };                           /* of a scene */
enum { FAR = 6, SOONER = 1, DELAY = 2, LATER = 5, MOST_FIRES = 20 }; /* of timers, in ticks */

struct timer {
    struct tw_node node;
    int64_t period;           /* 0: one-shot */
    int64_t earliest, latest; /* of the deadline: from the ticks before and after the start */
    unsigned calls, open;     /* starts that have begun; of these, those that have not returned */
    unsigned starts;          /* that have returned */
    unsigned moves;           /* of these, those of the timer while it was pending */
    unsigned unsure;          /* of these, those that met another call or fire of the timer */
    unsigned prevented;
    unsigned fires;
    bool is_running;
};

static struct tw_kernel timers;
static struct timer far, first, second;
static bool in_thread;

static void on_fire(struct tw_node *node, void *arg) {
    struct timer *const timer = arg;
    const int64_t since = (int64_t)timer->fires * timer->period;
    EXPECT(node == &timer->node && timer->fires < MOST_FIRES);
    ++timer->fires;
    EXPECT(present() >= timer->earliest + since);
    EXPECT(timer->open != 0 || present() <= timer->latest + since + TICKS);
    timer->is_running = true;
    point();
    timer->is_running = false;
}

static void set_timer(struct timer *timer) {
    *timer = (struct timer){.earliest = INT64_MAX};
    EXPECT(tw_node_init(&timer->node, on_fire, timer) == 0);
}

/* --- what threads and interrupts do ------------------------------------------------------------ */

/* A call that starts a timer. If no other call of the timer overlaps, and no earlier start has still to fire,
 * the timer's [earliest, latest] is that of this call; otherwise it covers all of these calls. */
struct call {
    struct timer *timer;
    int64_t delay, earliest;
    unsigned number;
    bool is_alone;
    bool was_pending;
    unsigned fires, prevented; /* before the call */
};

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

static struct call will_start(struct timer *timer, int64_t delay) {
    const struct call call = {timer,
                              delay,
                              present() + delay + 1,
                              ++timer->calls,
                              timer->open == 0,
                              timer->node.state == TW_PENDING,
                              timer->fires,
                              timer->prevented};
    ++timer->open;
    timer->earliest = least(timer->earliest, call.earliest);
    return call;
}

static void has_started(struct call call, int result) {
    struct timer *const timer = call.timer;
    const int64_t latest = present() + call.delay + 1;
    EXPECT(result == 0);
    --timer->open;
    ++timer->starts;
    if (call.is_alone && call.number == timer->calls && call.fires == timer->fires &&
        call.prevented == timer->prevented)
        timer->moves += call.was_pending;
    else
        ++timer->unsure;
    const bool is_the_only_one = timer->starts - timer->moves - timer->prevented - timer->fires == 1;
    if (call.is_alone && call.number == timer->calls && is_the_only_one) {
        timer->earliest = call.earliest;
        timer->latest = latest;
    } else {
        timer->latest = most(timer->latest, latest);
    }
}

static void start(struct timer *timer, unsigned delay) {
    const struct call call = will_start(timer, delay);
    has_started(call, tw_kernel_start(&timers, &timer->node, delay));
}

static void start_from_isr(struct timer *timer, unsigned delay) {
    const struct call call = will_start(timer, delay);
    has_started(call, tw_kernel_start_from_isr(&timers, &timer->node, delay));
}

static void start_first(void) { start(&first, DELAY); }
static void start_second(void) { start(&second, SOONER); }
static void interrupt_starts_first(void) { start_from_isr(&first, DELAY); }
static void interrupt_starts_second(void) { start_from_isr(&second, SOONER); }
static void interrupt_moves_sooner(void) { start_from_isr(&first, SOONER); }
static void interrupt_moves_later(void) { start_from_isr(&first, LATER); }

static void start_periodic(void) {
    first.period = LATER;
    const struct call call = will_start(&first, LATER);
    has_started(call, tw_kernel_start_every(&timers, &first.node, LATER, TW_BURST));
}

static void interrupt_starts_periodic(void) {
    second.period = SOONER;
    const struct call call = will_start(&second, SOONER);
    has_started(call, tw_kernel_start_every_from_isr(&timers, &second.node, SOONER, TW_BURST));
}

static void stop_first(void) {
    const int result = tw_kernel_stop(&timers, &first.node);
    EXPECT(result == 0 || result == 1);
    first.prevented = (unsigned)result;
}

static void stop_and_wait(void) {
    stop_first();
    EXPECT(tw_wait(&timers.wheel, &first.node) == 0);
    EXPECT(!first.is_running);
}

static void arm_first(void) {
    const struct call call = will_start(&first, DELAY);
    const tw_tick tick = tw_kernel_now() + DELAY + 1;
    const int result = tw_arm_at(&timers.wheel, &first.node, tick);
    tw_kernel_wake_by(&timers, tick);
    has_started(call, result);
}

/* --- what must hold ---------------------------------------------------------------------------- */

/* A start that did not move the timer fires once, unless a stop prevented it. */
static void check_one_shot(const struct timer *timer) {
    const unsigned left = timer->starts - timer->moves - timer->prevented;
    EXPECT(timer->fires <= left && left <= timer->fires + timer->unsure);
}

static void check_periodic(const struct timer *timer) {
    const int64_t next = timer->latest + (int64_t)timer->fires * timer->period;
    EXPECT(timer->starts == 0 || present() <= next + TICKS);
}

static void check_all(void) {
    check_one_shot(&far);
    check_one_shot(&first);
    check_one_shot(&second);
    EXPECT(tw_count(&timers.wheel) == 0 && tw_check(&timers.wheel, NULL, NULL) == 0);
}

static void check_with_periodic(void) {
    check_one_shot(&far);
    check_periodic(&first);
    check_periodic(&second);
}

/* --- the scenes -------------------------------------------------------------------------------- */

static void (*bodies[2])(void);

static void set(void) {
    set_timer(&far);
    set_timer(&first);
    set_timer(&second);
    EXPECT(tw_kernel_init(&timers) == 0);
    if (in_thread)
        create(run_timers, &timers);
    start(&far, FAR);
    spawn(bodies[0]);
    spawn(bodies[1]);
}

static void hook(void) { tw_kernel_tick(&timers); }

/* Explores a scene with callbacks in the thread and, if there is a hook, in the tick interrupt. Begins at an
 * ordinary tick; where 32-bit ticks wrap; where they turn negative if they have a sign; and where `far` is
 * due at the value of TW_NEVER. */
static void try_all(unsigned most, void (*one)(void), void (*another)(void), void (*check)(void)) {
    static const int64_t begins[] = {1000, (int64_t)UINT32_MAX - 3, (int64_t)INT32_MAX - 2,
                                     (int64_t)UINT32_MAX - FAR - 1};
    unsigned long runs = 0;
    bodies[0] = one;
    bodies[1] = another;
    for (int mode = 0; mode <= HAS_TICK_HOOK; ++mode) {
        in_thread = mode == 0;
        for (unsigned i = 0; i < COUNT_OF(begins); ++i)
            runs += explore(&(struct scene){
                .begin = begins[i],
                .length = LENGTH,
                .rest = REST,
                .ticks = TICKS,
                .changes = i == 0 ? most : 1,
                .hook = in_thread ? NULL : hook,
                .set = set,
                .check = check,
            });
    }
    print_message("%lu runs\n", runs);
}

TEST(p04_two_earlier_starts_both_fire) {
    try_all(changes(), start_first, interrupt_starts_second, check_all);
    if (HAS_CALLS_FOR_INTERRUPTS) /* else threads would do the same */
        try_all(changes(), start_first, start_second, check_all);
}
TEST(p04_a_timer_that_two_start_fires_once) {
    try_all(changes(), start_first, interrupt_starts_first, check_all);
}
TEST(p01_a_timer_that_is_started_anew_fires_when_the_last_start_says) {
    try_all(changes(), start_first, interrupt_moves_sooner, check_all);
    try_all(changes(), start_first, interrupt_moves_later, check_all);
}
TEST(p04_a_timer_that_another_function_armed_fires) {
    try_all(changes(), arm_first, interrupt_starts_second, check_all);
}
TEST(p06_a_stop_says_whether_it_prevented_a_fire) { try_all(changes(), start_first, stop_first, check_all); }
TEST(p05_a_periodic_timer_keeps_its_grid) {
    try_all(1, start_periodic, interrupt_starts_periodic, check_with_periodic);
}

TEST(p06_after_a_wait_the_callback_has_returned) {
    try_all(changes(), interrupt_starts_first, stop_and_wait, check_all);
}

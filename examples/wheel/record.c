/* Records a turning wheel, for the page that ./dev report writes: which node stands in which slot, which
 * nodes look-ahead lowers before their slot opens, and which fire. Only the time is simulated.
 *
 *     tickwheel_wheel_record > wheel.json
 *
 * The wheel has three levels with 16 slots to a block, and look-ahead, so levels 0 and 1 have 32 slots. (The
 * library's has 256: this program is linked with the core in a smaller shape, as its tests are.) The program
 * follows a node's links to find its slot, as a debugger would: they lead to the head of the slot's ring, and
 * the heads of all slots lie one after the other in the wheel.
 *
 * The JSON has one array of events for each tick. An event is [kind, timer], and with `ARMED` and
 * `POSTPONED` the tick that the timer is due at; if the timer has changed its slot, the number of the new
 * slot follows. Events of one slot are in the order in which their timers stand in the slot. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <tickwheel/tw.h>

enum {
    BEGIN = 128, /* ticks */
    END = 416,
    BUDGET = 8,     /* steps of one tw_advance, */
    IDLE_STEPS = 2, /* and of look-ahead after it: few enough to see both at work */
    CROWD = 330,
    NOWHERE = -1
};

/* The wheel's shape, and the number of its slots: five blocks, and a far slot for each bit of a round's
 * number. */
enum { BITS = 4, LEVELS = 3, SLOTS = 5 * 16 + 64 - (BITS * LEVELS - 1) };

enum kind { ARMED, LOWERED_AHEAD, LOWERED, FIRED, CANCELLED, POSTPONED };

enum { HEARTBEAT, SESSION, RETRY, BACKUP, NAMED };
static const char *const names[NAMED] = {"heartbeat", "session", "retry", "backup"};

struct timer {
    struct tw_node node;
    int slot; /* as last recorded */
};

/* The script for the named timers. */
static const struct {
    tw_tick at;
    enum { ARM, ARM_EVERY, POSTPONE, CANCEL } what;
    unsigned who;
    tw_tick tick, period;
} script[] = {
    {BEGIN + 2, ARM_EVERY, HEARTBEAT, 152, 24},
    {BEGIN + 5, ARM, SESSION, 170, 0},
    {BEGIN + 9, ARM, BACKUP, 300, 0},
    {BEGIN + 14, ARM, RETRY, 230, 0},
    {158, POSTPONE, SESSION, 205, 0},
    {192, POSTPONE, SESSION, 240, 0},
    {206, CANCEL, RETRY, 0, 0},
    {228, POSTPONE, SESSION, 275, 0},
    {263, POSTPONE, SESSION, 322, 0},
    {310, ARM, RETRY, 390, 0},
    {312, ARM, BACKUP, 700, 0},
    {352, CANCEL, RETRY, 0, 0},
};

static struct tw wheel;
static struct timer timers[NAMED + CROWD];
static const struct tw_link *rings; /* heads of all slots */
static const char *separator = "";
static uint32_t random_state = 1;

static void tell(enum kind kind, const struct timer *timer) {
    printf("%s[%d,%d", separator, kind, (int)(timer - timers));
    separator = ",";
}

static void on_fire(struct tw_node *node, void *arg) {
    struct timer *timer = arg;
    (void)node;
    tell(FIRED, timer);
    printf("]");
    timer->slot = NOWHERE; /* a periodic timer is already in another slot, which follow() records */
}

/* Arms a node for tick 0 on an empty wheel at tick 0, which puts the node into the first of all slots. */
static void find_rings(void) {
    struct tw_node *node = &timers[0].node;
    tw_init(&wheel, 0, TW_UNLOCKED);
    tw_arm_at(&wheel, node, 0);
    rings = node->link.next;
    tw_cancel(&wheel, node);
}

/* A slot of level l is 2^(BITS l) ticks long; levels below the top have two blocks of slots. */
static bool has_opened(int slot) {
    const unsigned width = 2u << BITS, level = (unsigned)slot / width, index = (unsigned)slot % width;
    const unsigned last = level < LEVELS - 1 ? width - 1 : width / 2 - 1;
    return level < LEVELS && ((tw_now(&wheel) >> (level * BITS)) & last) == index;
}

static void tell_place(struct timer *timer, int slot) {
    if (timer->slot == NOWHERE) {
        tell(ARMED, timer);
        printf(",%" PRIu64 ",%d]", tw_expiry(&wheel, &timer->node), slot);
    } else {
        tell(has_opened(timer->slot) ? LOWERED : LOWERED_AHEAD, timer);
        printf(",%d]", slot);
    }
    timer->slot = slot;
}

/* Records which timers have changed their slot. A node begins with its link. */
static void follow(void) {
    for (int slot = 0; slot < SLOTS; ++slot)
        for (struct tw_link *link = rings[slot].next; link != &rings[slot]; link = link->next) {
            struct timer *timer = (struct timer *)link;
            if (timer->slot != slot)
                tell_place(timer, slot);
        }
}

static void postpone(struct timer *timer, tw_tick tick) {
    if (tw_postpone(&wheel, &timer->node, tick) != 0)
        return;
    tell(POSTPONED, timer);
    printf(",%" PRIu64 "]", tick);
}

static void cancel(struct timer *timer) {
    if (tw_cancel(&wheel, &timer->node) != 1)
        return;
    tell(CANCELLED, timer);
    printf("]");
    timer->slot = NOWHERE;
}

static void act(unsigned line) {
    struct timer *timer = &timers[script[line].who];
    switch (script[line].what) {
    case ARM:
        tw_arm_at(&wheel, &timer->node, script[line].tick);
        break;
    case ARM_EVERY:
        tw_arm_every(&wheel, &timer->node, script[line].tick, script[line].period, TW_BURST, 0);
        break;
    case POSTPONE:
        postpone(timer, script[line].tick);
        break;
    case CANCEL:
        cancel(timer);
        break;
    }
}

/* Only the upper bits of this generator are random enough. */
static unsigned random_below(unsigned limit) {
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 16) % limit;
}

/* Most delays are short, and some reach the top level. */
static tw_tick random_delay(void) {
    const unsigned kind = random_below(16);
    if (kind < 4)
        return 6 + random_below(24);
    return kind == 4 ? 280 + random_below(420) : 24 + random_below(200);
}

static void arm_one_of_the_crowd(void) {
    struct timer *timer = &timers[NAMED + random_below(CROWD)];
    if (!tw_pending(&wheel, &timer->node))
        tw_arm_after(&wheel, &timer->node, random_delay());
}

static void act_for_the_crowd(void) {
    for (unsigned arms = 2 + random_below(4); arms > 0; --arms)
        arm_one_of_the_crowd();
    if (random_below(3) == 0)
        cancel(&timers[NAMED + random_below(CROWD)]);
}

static void set_up(void) {
    for (unsigned i = 0; i < NAMED + CROWD; ++i) {
        tw_node_init(&timers[i].node, on_fire, &timers[i]);
        timers[i].slot = NOWHERE;
    }
    find_rings();
    tw_init(&wheel, BEGIN, TW_UNLOCKED);
    for (unsigned i = 0; i < CROWD / 3 * 2; ++i)
        arm_one_of_the_crowd();
}

static void record_tick(tw_tick now) {
    static unsigned next_line;
    separator = "";
    printf("%s\n[", now == BEGIN ? "" : ",");
    while (tw_advance(&wheel, now, BUDGET) == 1)
        ;
    (void)tw_idle(&wheel, IDLE_STEPS);
    follow();
    for (; next_line < sizeof script / sizeof *script && script[next_line].at == now; ++next_line)
        act(next_line);
    act_for_the_crowd();
    follow();
    printf("]");
}

static void print_head(void) {
    printf("{\"bits\":%d,\"levels\":%d,\"begin\":%d,\"budget\":%d,\"timers\":%d,\"names\":[", BITS, LEVELS,
           BEGIN, BUDGET, NAMED + CROWD);
    for (unsigned i = 0; i < NAMED; ++i)
        printf("%s\"%s\"", i > 0 ? "," : "", names[i]);
    printf("],\n\"kinds\":[\"armed\",\"ahead\",\"lowered\",\"fired\",\"cancelled\",\"postponed\"],\n");
}

int main(void) {
    set_up();
    print_head();
    printf("\"frames\":[");
    for (tw_tick now = BEGIN; now < END; ++now)
        record_tick(now);
    printf("],\n\"pending\":%zu}\n", tw_count(&wheel));
    return tw_check(&wheel, NULL, NULL) == 0 && !ferror(stdout) ? 0 : 1;
}

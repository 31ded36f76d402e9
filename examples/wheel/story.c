#include "story.h"

#include <inttypes.h>
#include <stdio.h>

struct tw wheel;
struct timer timers[TIMERS];

enum { HANDSHAKE, HEARTBEAT, SESSION, FLUSH_LOG, FLUSH_DB, RETRY, BACKUP, ARCHIVE };

static const struct {
    const char *name, *kind;
} cast[NAMED] = {
    [HANDSHAKE] = {"handshake", "one-shot"}, [HEARTBEAT] = {"heartbeat", "periodic"},
    [SESSION] = {"session", "one-shot"},     [FLUSH_LOG] = {"flush-log", "slack"},
    [FLUSH_DB] = {"flush-db", "slack"},      [RETRY] = {"retry", "one-shot"},
    [BACKUP] = {"backup", "one-shot"},       [ARCHIVE] = {"archive", "one-shot"},
};

/* `a` and `b` are tick and 0, first tick and period, or tick and slack. */
static const struct {
    uint64_t at;
    enum { ARM, ARM_EVERY, ARM_WITHIN, POSTPONE, CANCEL } what;
    unsigned who;
    uint64_t a, b;
} script[] = {
    {1202, ARM, HANDSHAKE, 1214, 0},
    {1204, ARM_EVERY, HEARTBEAT, 1220, 40},
    {1206, ARM, SESSION, 1250, 0},
    {1208, ARM_WITHIN, FLUSH_LOG, 1290, 40},
    {1210, ARM_WITHIN, FLUSH_DB, 1300, 40},
    {1212, ARM, RETRY, 1330, 0},
    {1214, ARM, BACKUP, 1334, 0},
    {1216, ARM, ARCHIVE, 4000, 0},
    {1236, POSTPONE, SESSION, 1276, 0},
    {1268, POSTPONE, SESSION, 1302, 0},
    {1272, CANCEL, RETRY, 0, 0},
    {1298, POSTPONE, SESSION, 1326, 0},
};

static listener *tell;
static unsigned next_line; /* of the script */

static void happened(enum what what, const struct timer *timer) {
    tell(&(struct event){.what = what, .tick = tw_now(&wheel), .timer = timer, .from = timer->place});
}

static void settle(struct timer *timer) {
    timer->place = place_of(tw_expiry(&wheel, &timer->node), tw_now(&wheel));
}

static void on_fire(struct tw_node *node, void *arg) {
    struct timer *timer = arg;
    uint64_t now = tw_now(&wheel);
    uint64_t due = timer->due + timer->fires * timer->period;
    uint64_t until = timer->due_until + timer->fires * timer->period;

    ++timer->fires;
    timer->fired = now;
    if (now > until && now - until > timer->late)
        timer->late = now - until;
    if (now < due && due - now > timer->early)
        timer->early = due - now;
    happened(EVENT_FIRE, timer);

    if (tw_pending(&wheel, node)) /* periodic, and armed again already */
        settle(timer);
    else
        timer->state = DONE;
}

static void armed(struct timer *timer, uint64_t due, uint64_t slack, uint64_t period) {
    timer->state = ARMED;
    timer->due = due;
    timer->due_until = due + slack;
    timer->period = period;
    settle(timer);
    happened(EVENT_ARM, timer);
}

static void act(unsigned line) {
    struct timer *timer = &timers[script[line].who];
    uint64_t a = script[line].a, b = script[line].b;

    switch (script[line].what) {
    case ARM:
        tw_arm_at(&wheel, &timer->node, a);
        armed(timer, a, 0, 0);
        break;
    case ARM_EVERY:
        tw_arm_every(&wheel, &timer->node, a, b, TW_BURST, 0);
        armed(timer, a, 0, b);
        break;
    case ARM_WITHIN:
        tw_arm_within(&wheel, &timer->node, a, b);
        armed(timer, a, b, 0);
        break;
    case POSTPONE: /* the node stays in its slot until the slot opens */
        tw_postpone(&wheel, &timer->node, a);
        timer->due = timer->due_until = a;
        happened(EVENT_POSTPONE, timer);
        break;
    case CANCEL:
        tw_cancel(&wheel, &timer->node);
        timer->state = CANCELLED;
        happened(EVENT_CANCEL, timer);
        break;
    }
}

/* Reports the nodes of the slots that open at `now`. The wheel lowers these nodes before anything fires. */
static void follow_cascades(uint64_t now) {
    struct event cascade[LEVELS] = {0};

    for (struct timer *timer = timers; timer < timers + TIMERS; ++timer) {
        struct place from = timer->place;
        uint64_t expiry = tw_expiry(&wheel, &timer->node);
        if (timer->state != ARMED || !place_opened(from, now) || (from.level == 0 && expiry == now))
            continue;
        timer->place = place_of(expiry, now);
        tell(&(struct event){
            .what = EVENT_MOVE, .tick = now, .timer = timer, .from = from, .to = timer->place});
        cascade[from.level].from = from;
        ++cascade[from.level].moved;
    }
    for (unsigned level = LEVELS; level-- > 1;) {
        if (cascade[level].moved == 0)
            continue;
        cascade[level].what = EVENT_CASCADE;
        cascade[level].tick = now;
        tell(&cascade[level]);
    }
}

/* Opens two connections every tick, due at scattered ticks, which are the same in every run. */
static void connect(uint64_t now) {
    static uint32_t random = 1;
    static unsigned next = NAMED;

    for (unsigned i = 0; i < 2 && next < TIMERS; ++i) {
        random = random * 1664525 + 1013904223;
        uint64_t due = now + 24 + (random >> 8) % (STORY_END - 24 - now);
        tw_arm_at(&wheel, &timers[next].node, due);
        armed(&timers[next++], due, 0, 0);
    }
}

void story_begin(listener *hears) {
    tell = hears;
    tw_init(&wheel, STORY_BEGIN, TW_UNLOCKED);
    for (unsigned i = 0; i < TIMERS; ++i) {
        struct timer *timer = &timers[i];
        tw_node_init(&timer->node, on_fire, timer);
        timer->kind = i < NAMED ? cast[i].kind : "one-shot";
        timer->fired = TW_NEVER;
        if (i < NAMED)
            snprintf(timer->name, sizeof timer->name, "%s", cast[i].name);
        else
            snprintf(timer->name, sizeof timer->name, "conn-%02u", (i - NAMED + 1) % 100);
    }
}

bool story_tick(void) {
    uint64_t now = tw_now(&wheel) + 1;
    follow_cascades(now);
    tw_update(&wheel);
    connect(now);
    while (next_line < sizeof script / sizeof *script && script[next_line].at == now)
        act(next_line++);
    return now < STORY_END;
}

uint64_t story_due(const struct timer *timer) { return tw_expiry(&wheel, &timer->node); }

void event_text(const struct event *event, char *text, unsigned size) {
    const struct timer *timer = event->timer;
    uint64_t tick = event->tick;

    switch (event->what) {
    case EVENT_ARM:
        snprintf(text, size, "%4" PRIu64 "  %s armed for %" PRIu64, tick, timer->name, story_due(timer));
        break;
    case EVENT_FIRE:
        if (timer->period != 0)
            snprintf(text, size, "%4" PRIu64 "  %s fires (%u)", tick, timer->name, timer->fires);
        else
            snprintf(text, size, "%4" PRIu64 "  %s fires", tick, timer->name);
        break;
    case EVENT_POSTPONE:
        snprintf(text, size, "%4" PRIu64 "  %s postponed to %" PRIu64, tick, timer->name, timer->due);
        break;
    case EVENT_CANCEL:
        snprintf(text, size, "%4" PRIu64 "  %s cancelled", tick, timer->name);
        break;
    case EVENT_MOVE:
        snprintf(text, size, "%4" PRIu64 "  %s moves on", tick, timer->name);
        break;
    case EVENT_CASCADE:
        snprintf(text, size, "%4" PRIu64 "  level %u, slot %u: %u %s down", tick, event->from.level,
                 event->from.slot, event->moved, event->moved == 1 ? "moves" : "move");
        break;
    }
}

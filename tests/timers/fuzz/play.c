/* The oracle knows every timer that was ever started, under a handle, a key or as a node: whether it lives,
 * when it is due, and its position in the order of arming. So it can predict the next fire and the answer of
 * every call. */
#include "play.h"
#include "support/timer_remaining.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <tickwheel/keyed.h>
#include <tickwheel/timers.h>

enum { TIMERS = 400, OPERATIONS = 1500, KEYS = 16, MOST_BITS = 44 };
enum kind { ONCE, PERIODIC, SCHEDULED };

/* Where a timer is kept: two sets of handles, a table of keys, and the runtime itself for nodes. */
enum { SETS = 2, TABLE = SETS, NODES, HOMES };

struct timer {
    tw_handle id; /* or the number of the key */
    struct tw_node node;
    unsigned home, life; /* its home, and how often that was made again */
    enum kind kind;
    bool lives, is_armed, is_inside; /* inside: its callback or `next` is running */
    bool has_drop; /* a set stores timers with only a delay, and without a drop, in less memory */
    unsigned drops;
    int64_t due, period;
    int64_t delay;       /* the delay that `again` starts; -1: none */
    unsigned fires_left; /* of a schedule: fires until the runtime asks for the next deadline */
    enum tw_missed missed;
    uint64_t place;        /* in the order of arming */
    uint8_t action;        /* the operation of its callback */
    uint8_t action_inside; /* the operation of its `next` */
};

static struct life {
    struct tw_runtime *rt;
    struct tw_timers *sets[SETS];
    struct tw_keyed *table;
    unsigned lives[HOMES];
    struct timer timers[TIMERS];
    unsigned count;
    unsigned depth; /* of callbacks */
    uint64_t places, fires;
    const uint8_t *next, *end;
} game;

static const uint32_t capacities[SETS] = {4, 0};

const char *play_name = "";

#define expect(condition) \
    do { \
        if (!(condition)) \
            fail(#condition, __LINE__); \
    } while (0)

static void fail(const char *condition, int line) {
    fprintf(stderr, "%s: after %u timers and %llu fires, line %d: not so: %s\n", play_name, game.count,
            (unsigned long long)game.fires, line, condition);
    abort();
}

static unsigned draw(unsigned below) { return game.next < game.end ? *game.next++ % below : 0; }

static int64_t now(void) { return tw_runtime_now(game.rt); }

/* --- the oracle's knowledge ------------------------------------------------------------------ */

static bool is_of(const struct timer *t, unsigned home) {
    return t->home == home && t->life == game.lives[home];
}

/* Counts the timers whose argument is still in use. */
static size_t count_of(unsigned home) {
    size_t count = 0;
    for (unsigned i = 0; i < game.count; ++i)
        count += is_of(&game.timers[i], home) && (game.timers[i].lives || game.timers[i].is_inside);
    return count;
}

/* The timer under a key, if there is one. */
static struct timer *holder_of(uint64_t key) {
    for (unsigned i = game.count; i-- != 0;)
        if (is_of(&game.timers[i], TABLE) && game.timers[i].lives && game.timers[i].id == key)
            return &game.timers[i];
    return NULL;
}

/* P3: by tick, and on one tick the timer that was armed for it, or moved to it, first. */
static bool is_before(const struct timer *a, const struct timer *b) {
    return a->due != b->due ? a->due < b->due : a->place < b->place;
}

static struct timer *next_due(void) {
    struct timer *first = NULL;
    for (unsigned i = 0; i < game.count; ++i)
        if (game.timers[i].is_armed && (first == NULL || is_before(&game.timers[i], first)))
            first = &game.timers[i];
    return first;
}

static void arm(struct timer *t, int64_t due) {
    t->is_armed = true;
    t->due = due;
    t->place = game.places++;
}

static void end(struct timer *t) { t->lives = t->is_armed = false; }

/* Returns 0 if the call finds a live timer. */
static int refusal(const struct timer *t, unsigned set) {
    if (!is_of(t, set))
        return -ENOENT;
    return t->lives ? 0 : -ESTALE;
}

/* The argument of each ended timer was dropped exactly once, when its last callback had returned; no other
 * argument was. */
static void check_all(void) {
    size_t armed = 0;
    for (unsigned i = 0; i < game.count; ++i) {
        const struct timer *t = &game.timers[i];
        expect(t->drops == (t->has_drop && !t->lives && !t->is_inside));
        armed += t->is_armed;
    }
    for (unsigned set = 0; set < SETS; ++set)
        expect(tw_timers_count(game.sets[set]) == count_of(set));
    expect(tw_keyed_count(game.table) == count_of(TABLE));
    expect(tw_runtime_count(game.rt) == armed);
    static unsigned calls; /* tw_runtime_check takes longer than everything else */
    if (++calls % 64 == 0)
        expect(tw_runtime_check(game.rt, NULL, NULL) == 0);
}

/* --- callbacks ------------------------------------------------------------------------------- */

static void operate(unsigned what, unsigned within);

/* Arms a periodic timer for its next deadline, as the library does before the callback. Returns how many
 * deadlines were missed, or follow at once in a burst. */
static uint64_t rearm(struct timer *t) {
    if (t->kind != PERIODIC)
        return 0;
    const int64_t missed = (now() - t->due) / t->period, left = --t->fires_left;
    if (left != 0 && t->missed == TW_BURST)
        arm(t, t->due + t->period);
    else if (left != 0)
        arm(t, t->missed == TW_DELAY && missed != 0 ? now() + t->period : t->due + (missed + 1) * t->period);
    return (uint64_t)(t->missed == TW_BURST && missed > left ? left : missed);
}

static void fire(struct timer *t, int64_t due, uint64_t overruns) {
    expect(t == next_due());
    expect(due == t->due && now() >= due);
    expect(t->lives && t->drops == 0 && !t->is_inside);
    t->is_armed = false;
    t->is_inside = true;
    ++game.fires;
    const uint64_t missed = rearm(t);
    expect(t->home == NODES || overruns == missed);
    ++game.depth;
    operate(t->action, t->home);
    --game.depth;
    if (t->kind != SCHEDULED || !t->lives) { /* otherwise the library asks `next` */
        t->is_inside = false;
        t->lives = t->lives && t->is_armed;
    }
}

static void on_fire(const struct tw_event *event, void *arg) {
    struct timer *t = arg;
    if (t->home == TABLE)
        expect(event->handle == 0 && event->key->is_number && event->key->number == t->id);
    else
        expect(event->handle == t->id && event->key == NULL);
    fire(t, event->due_ns, event->overruns);
}

static void on_node(struct tw_node *node, void *arg) {
    struct timer *t = arg;
    expect(node == &t->node);
    fire(t, tw_runtime_due(game.rt), 0);
}

/* The library does not call this after a cancel. The first call comes while the timer is being started. */
static int64_t next(int64_t due_ns, void *arg) {
    struct timer *t = arg;
    const bool is_start = !t->is_inside;
    expect(is_start ? due_ns == now() : t->lives && due_ns == t->due);
    ++game.depth;
    if (!is_start)
        operate(t->action_inside, t->home);
    --game.depth;
    t->is_inside = false;
    if (t->fires_left-- == 0)
        t->lives = false;
    if (!t->lives)
        return is_start || t->fires_left == UINT32_MAX ? TW_NO_DEADLINE : due_ns;
    arm(t, due_ns + t->period);
    t->delay = -1;
    return t->due;
}

static void drop(void *arg) {
    struct timer *t = arg;
    expect(!t->lives && !t->is_inside && t->drops == 0);
    t->drops = 1;
}

/* --- operations ---------------------------------------------------------------------------- */

/* A distance to any level of the wheel. */
static int64_t draw_far(void) {
    uint64_t bytes = 0;
    for (unsigned i = 0; i < 6; ++i)
        bytes = bytes << 8 | draw(256);
    return (int64_t)(bytes & ((UINT64_C(1) << draw(MOST_BITS)) - 1));
}

/* A near or far delay, or one to a tick that has timers already. */
static int64_t draw_delay(void) {
    const unsigned what = draw(8);
    const struct timer *other = &game.timers[game.count == 0 ? 0 : draw(256) % game.count];
    if (what >= 6 && other->is_armed && other->due >= now())
        return other->due - now();
    return what < 4 ? draw(40) : what < 6 ? draw_far() : 0;
}

static struct tw_when draw_times(struct timer *t) {
    struct tw_when when = {.due_ns = draw_delay()};
    t->kind = (enum kind)draw(t->home == NODES ? 2 : 3);
    t->delay = when.due_ns;
    if (t->kind != ONCE) {
        t->period = 1 + draw(20);
        t->fires_left = draw(8);
    }
    if (t->kind == PERIODIC) {
        when.fires = ++t->fires_left; /* without a bound, a leap would never end */
        t->delay = when.period_ns = t->period = draw(2) == 0 ? t->period : 1 + draw_far();
        when.missed = t->missed = t->home == NODES ? TW_BURST : (enum tw_missed)draw(3);
    }
    if (draw(8) == 0 && t->home != NODES) {
        when.absolute = 1;
        t->delay = t->kind == PERIODIC ? t->period : -1;
        when.due_ns += now();
    }
    return when;
}

/* Starts a timer in its home. A key that is in use gets the new timer instead of its own. */
static int start_in_home(struct timer *t, const struct tw_when *when) {
    const struct tw_task task = {.fn = on_fire,
                                 .arg = t,
                                 .next = t->kind == SCHEDULED ? next : NULL,
                                 .drop = t->has_drop ? drop : NULL};
    const bool is_bare = t->kind == ONCE && !when->absolute && !t->has_drop && draw(2) == 0;
    if (t->home == TABLE)
        return is_bare ? tw_keyed_after(game.table, tw_key_number(t->id), when->due_ns, on_fire, t)
                       : tw_keyed_set(game.table, tw_key_number(t->id), when, &task);
    if (t->home != NODES)
        return is_bare ? tw_timer_after(game.sets[t->home], &t->id, when->due_ns, on_fire, t)
                       : tw_timer_start(game.sets[t->home], &t->id, when, &task);
    expect(tw_node_init(&t->node, on_node, t) == 0);
    return tw_runtime_arm(game.rt, &t->node, when);
}

static void start(void) {
    if (game.count == TIMERS)
        return;
    const unsigned home = draw(HOMES);
    struct timer *t = &game.timers[game.count];
    *t = (struct timer){.home = home, .life = game.lives[home], .id = home == TABLE ? draw(KEYS) : 0};
    t->has_drop = home != NODES && draw(2) == 0;
    struct timer *const former = home == TABLE ? holder_of(t->id) : NULL;
    const struct tw_when when = draw_times(t);
    t->action = (uint8_t)draw(64);
    t->action_inside = (uint8_t)draw(64);
    const bool asks_first = t->kind == SCHEDULED && draw(2) == 0;
    const bool is_full = home < SETS && capacities[home] != 0 && count_of(home) == capacities[home];
    const bool has_first = !asks_first || t->fires_left != 0;
    const int expected = is_full ? -ENOSPC : has_first ? 0 : -ENOENT;
    t->lives = true;
    if (expected >= 0) {
        ++game.count; /* before the call returns, the timer may be dropped or looked up */
        if (!asks_first)
            arm(t, when.absolute ? when.due_ns : now() + when.due_ns);
        if (former != NULL)
            end(former);
    }
    expect(start_in_home(t, asks_first ? NULL : &when) == expected);
    if (expected < 0)
        expect(t->drops == 0 && (home == TABLE || t->id == 0));
}

static void stop(struct timer *t, unsigned set, bool waits) {
    if (t->home == NODES) {
        const bool was_armed = t->is_armed;
        if (t->is_inside)
            return;
        end(t);
        expect((waits ? tw_runtime_cancel_wait : tw_runtime_cancel)(game.rt, &t->node) == was_armed);
        return;
    }
    int expected = t->home == TABLE && !t->lives ? -ENOENT : refusal(t, set);
    if (expected == 0) {
        expected = t->is_armed || t->kind == SCHEDULED;
        end(t);
    }
    if (t->home == TABLE)
        expect((waits ? tw_keyed_cancel_wait : tw_keyed_cancel)(game.table, tw_key_number(t->id)) ==
               expected);
    else
        expect((waits ? tw_timer_cancel_wait : tw_timer_cancel)(game.sets[set], t->id) == expected);
}

enum how { MOVE, AGAIN };

static int move_in_home(struct timer *t, unsigned set, enum how how, int64_t delay) {
    const struct tw_key key = tw_key_number(t->id);
    if (t->home == NODES)
        return tw_runtime_move(game.rt, &t->node, delay);
    if (t->home == TABLE)
        return how == MOVE ? tw_keyed_move(game.table, key, delay) : tw_keyed_again(game.table, key);
    return how == MOVE ? tw_timer_move(game.sets[set], t->id, delay) : tw_timer_again(game.sets[set], t->id);
}

static void move(struct timer *t, unsigned set, enum how how) {
    if (t->home == NODES && (how != MOVE || t->is_inside || !t->is_armed))
        return;
    int64_t delay = draw_delay();
    int expected = t->home == TABLE && !t->lives ? -ENOENT : t->home == NODES ? 0 : refusal(t, set);
    if (expected == 0 && !t->is_armed)
        expected = -EBUSY;
    if (expected == 0 && how == AGAIN && t->delay < 0)
        expected = -EINVAL;
    expect(move_in_home(t, set, how, delay) == expected);
    if (how == AGAIN)
        delay = t->delay;
    if (expected == 0)
        arm(t, now() + delay);
}

static void ask(const struct timer *t, unsigned set) {
    const int64_t left = !t->is_armed || t->due < now() ? 0 : t->due - now();
    struct tw_entry seen = {.remaining_ns = 77};
    if (t->home == NODES)
        expect(t->is_inside ||
               tw_runtime_remaining(game.rt, &t->node) == (t->is_armed ? left : TW_NO_DEADLINE));
    else if (t->home != TABLE)
        expect(timer_remaining(game.sets[set], t->id) == (refusal(t, set) == 0 ? left : TW_NO_DEADLINE));
    else if (tw_keyed_get(game.table, tw_key_number(t->id), &seen) == 0)
        expect(t->lives && seen.arg == t && (seen.remaining_ns < 0 ? 0 : seen.remaining_ns) == left);
    else
        expect(!t->lives && seen.remaining_ns == 77);
}

/* Makes up a generation, cell number or tag that does not exist. */
static void use_made_up(const struct timer *t, unsigned set) {
    static const unsigned bits[] = {63, 62, 15, 14, 16, 31};
    const tw_handle id = is_of(t, set) ? t->id ^ UINT64_C(1) << bits[draw(6)] : TW_NO_HANDLE;
    if (set >= SETS)
        return;
    expect(tw_timer_cancel(game.sets[set], id) == -ENOENT);
    expect(tw_timer_cancel_wait(game.sets[set], id) == -ENOENT);
    expect(tw_timer_move(game.sets[set], id, 0) == -ENOENT);
    expect(timer_remaining(game.sets[set], id) == TW_NO_DEADLINE);
}

static void make_set(unsigned set) {
    if (set == TABLE)
        expect(tw_keyed_new(&game.table, game.rt, NULL) == 0);
    else
        expect(tw_timers_new(&game.sets[set], game.rt,
                             &(struct tw_set_options){.capacity = capacities[set]}) == 0);
    ++game.lives[set];
}

static int free_home(unsigned set) {
    return set == TABLE ? tw_keyed_free(game.table) : tw_timers_free(game.sets[set]);
}

/* The library refuses this inside a callback of one of the set's timers; `within` is the callback's home. */
static void free_set(unsigned set, unsigned within) {
    if (within == set) {
        expect(free_home(set) == -EBUSY);
        return;
    }
    for (unsigned i = 0; i < game.count; ++i)
        if (is_of(&game.timers[i], set))
            end(&game.timers[i]);
    expect(free_home(set) == 0);
    make_set(set);
}

static int64_t visits;

static void visit(unsigned home, void *arg) {
    const struct timer *t = arg;
    expect(is_of(t, home) && t->drops == 0);
    expect(free_home(home) == -EBUSY);
    ++visits;
}

static int visit_handle(const struct tw_entry *entry, void *home) {
    const struct timer *t = entry->arg;
    expect(t->id == entry->handle);
    if (!t->lives) /* the call is a cancel_all */
        expect(tw_timer_cancel(game.sets[t->home], entry->handle) == -ESTALE);
    visit(*(unsigned *)home, entry->arg);
    return 0;
}

static int visit_key(const struct tw_entry *entry, void *home) {
    expect(((struct timer *)entry->arg)->id == entry->key->number);
    visit(*(unsigned *)home, entry->arg);
    return 0;
}

/* A walk visits all live timers, and a cancel_all those that had yet to fire. */
static void walk_or_cancel_all(unsigned home, bool cancels) {
    int64_t expected = 0;
    for (unsigned i = 0; i < game.count; ++i) {
        struct timer *const t = &game.timers[i];
        if (!is_of(t, home) || !t->lives)
            continue;
        expected += !cancels || t->is_armed || t->kind == SCHEDULED;
        if (cancels)
            end(t);
    }
    visits = 0;
    const int64_t result = home == TABLE
                               ? (cancels ? tw_keyed_cancel_all(game.table, visit_key, &home)
                                          : tw_keyed_each(game.table, visit_key, &home))
                               : (cancels ? tw_timers_cancel_all(game.sets[home], visit_handle, &home)
                                          : tw_timers_each(game.sets[home], visit_handle, &home));
    expect(result == (cancels ? expected : 0));
    expect(visits == expected);
}

/* `within`: the home of the timer whose callback or `next` makes this call; HOMES if none. Does
 * nothing once all bytes are drawn: otherwise a callback that keeps moving its timer to the
 * present would never end. */
static void operate(unsigned what, unsigned within) {
    if (game.next == game.end)
        return;
    struct timer *t = game.count != 0 ? &game.timers[game.count - 1 - draw(256) % game.count] : NULL;
    if (t != NULL && t->home == TABLE) { /* a key stands for its present timer */
        struct timer *const holder = holder_of(t->id);
        t = holder != NULL ? holder : t;
    }
    const bool is_foreign = draw(8) == 0;
    const unsigned set = t == NULL ? 0 : is_foreign && t->home < SETS ? draw(SETS) : t->home;
    if (what < 16)
        start();
    else if (t == NULL)
        return;
    else if (what < 24)
        stop(t, set, what % 2 == 0);
    else if (what < 38)
        move(t, set, (enum how)(what % 2));
    else if (what < 42)
        ask(t, set);
    else if (what < 44)
        use_made_up(t, set);
    else if (set != NODES && what < 45)
        free_set(set, within);
    else if (set != NODES && what < 47)
        walk_or_cancel_all(set, what == 46);
}

/* Advances from deadline to deadline, or leaps past all of them: far, near, or to just before the next
 * one. */
static void let_time_pass(void) {
    const struct timer *first = next_due();
    const unsigned what = draw(8);
    int64_t by = what < 3 ? draw(24) : what < 6 ? draw_far() : 0;
    if (what >= 6 && first != NULL)
        by = first->due - now() - draw(2);
    by = by < 0 ? 0 : by;
    const int64_t until = now() + by;
    expect((draw(2) == 0 ? tw_runtime_advance : tw_runtime_leap)(game.rt, by) == 0);
    first = next_due();
    expect(now() == until && (first == NULL || first->due > until));
}

struct played play_timers(const uint8_t *bytes, size_t size) {
    game = (struct life){.next = bytes, .end = bytes + size};
    /* the budget is so small that turns end in the middle of a tick */
    const struct tw_runtime_options options = {.driver = "manual", .tick_ns = 1, .budget = draw(6)};
    expect(tw_runtime_new(&game.rt, &options) == 0);
    for (unsigned set = 0; set <= TABLE; ++set)
        make_set(set);
    for (unsigned n = 0; n < OPERATIONS && game.next < game.end; ++n) {
        const unsigned what = draw(64);
        if (what < 48)
            operate(what, HOMES);
        else
            let_time_pass();
        check_all();
    }
    for (unsigned i = 0; i < game.count; ++i)
        end(&game.timers[i]);
    expect(tw_runtime_free(game.rt) == 0);
    for (unsigned i = 0; i < game.count; ++i)
        expect(game.timers[i].drops == game.timers[i].has_drop);
    return (struct played){game.count, game.fires};
}

/* The oracle knows every timer that was ever started: whether it lives, when it is due, and
 * its position in the order of arming. Virtual time goes from deadline to deadline, so the
 * oracle can predict the next fire and the answer of every call. */
#include "play.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <tickwheel/handle.h>

enum { TIMERS = 400, OPERATIONS = 1500, SETS = 2, MS = 1000000 };
enum kind { ONCE, PERIODIC, SCHEDULED };

struct timer {
    tw_handle id;
    unsigned set, life; /* the set it belongs to, and how often that was remade */
    enum kind kind;
    bool lives, is_armed, is_inside; /* inside: its callback or `next` is running */
    unsigned drops;
    int64_t due, period;
    unsigned fires_left;   /* 0: unlimited */
    uint64_t place;        /* in the order of arming */
    uint8_t action;        /* the operation of its callback */
    uint8_t action_inside; /* the operation of its `next` */
};

static struct life {
    struct tw_runtime *rt;
    struct tw_handles *sets[SETS];
    unsigned lives[SETS];
    struct timer timers[TIMERS];
    unsigned count;
    uint64_t places, fires;
    const uint8_t *next, *end;
} it;

static const uint32_t capacities[SETS] = {4, 0};

const char *play_name = "";

#define expect(condition) \
    do { \
        if (!(condition)) \
            fail(#condition, __LINE__); \
    } while (0)

static void fail(const char *condition, int line) {
    fprintf(stderr, "%s: after %u timers and %llu fires, line %d: not so: %s\n", play_name, it.count,
            (unsigned long long)it.fires, line, condition);
    abort();
}

static unsigned draw(unsigned below) { return it.next < it.end ? *it.next++ % below : 0; }

static int64_t now(void) { return tw_runtime_now(it.rt); }

/* --- the oracle's knowledge ------------------------------------------------------------------ */

static bool is_of(const struct timer *t, unsigned set) { return t->set == set && t->life == it.lives[set]; }

/* Counts the timers whose argument was not dropped yet. */
static size_t count_of(unsigned set) {
    size_t count = 0;
    for (unsigned i = 0; i < it.count; ++i)
        count += is_of(&it.timers[i], set) && it.timers[i].drops == 0;
    return count;
}

static struct timer *next_due(void) {
    struct timer *first = NULL;
    for (unsigned i = 0; i < it.count; ++i) {
        struct timer *t = &it.timers[i];
        if (!t->is_armed)
            continue;
        if (first == NULL || t->due < first->due || (t->due == first->due && t->place < first->place))
            first = t;
    }
    return first;
}

static void arm(struct timer *t, int64_t due) {
    t->is_armed = true;
    t->due = due;
    t->place = it.places++;
}

static void end(struct timer *t) { t->lives = t->is_armed = false; }

/* Returns 0 if the call finds a live timer. */
static int refusal(const struct timer *t, unsigned set) {
    if (!is_of(t, set))
        return -ENOENT;
    return t->lives ? 0 : -ESTALE;
}

/* A timer that has ended was dropped exactly once, when its last callback had returned; no
 * other was dropped. */
static void check_all(void) {
    for (unsigned i = 0; i < it.count; ++i) {
        const struct timer *t = &it.timers[i];
        expect(t->drops == (!t->lives && !t->is_inside));
    }
    for (unsigned set = 0; set < SETS; ++set)
        expect(tw_handles_count(it.sets[set]) == count_of(set));
    static unsigned calls; /* the check takes longer than all else */
    if (++calls % 64 == 0)
        expect(tw_runtime_check(it.rt, NULL, NULL) == 0);
}

/* --- callbacks ------------------------------------------------------------------------------- */

static void operate(unsigned what, unsigned within);

static void fire(const struct tw_event *event, void *arg) {
    struct timer *t = arg;
    expect(t == next_due());
    expect(event->handle == t->id && event->key == NULL);
    expect(event->due_ns == t->due && now() == t->due && event->overruns == 0);
    expect(t->lives && t->drops == 0 && !t->is_inside);
    t->is_armed = false;
    t->is_inside = true;
    ++it.fires;
    if (t->kind == PERIODIC && t->fires_left != 1) {
        arm(t, t->due + t->period);
        t->fires_left -= t->fires_left != 0;
    }
    operate(t->action, t->set);
    if (t->kind != SCHEDULED || !t->lives) { /* otherwise `next` is asked */
        t->is_inside = false;
        t->lives = t->lives && t->is_armed;
    }
}

/* Not asked again after a stop. The first call comes while the timer is being started. */
static int64_t next(int64_t due_ns, void *arg) {
    struct timer *t = arg;
    const bool is_start = !t->is_inside;
    expect(is_start ? due_ns == now() : t->lives && due_ns == t->due);
    if (!is_start)
        operate(t->action_inside, t->set);
    t->is_inside = false;
    if (t->fires_left-- == 0)
        t->lives = false;
    if (!t->lives)
        return is_start || t->fires_left == UINT32_MAX ? TW_NO_DEADLINE : due_ns;
    arm(t, due_ns + t->period);
    return t->due;
}

static void drop(void *arg) {
    struct timer *t = arg;
    expect(!t->lives && !t->is_inside && t->drops == 0);
    t->drops = 1;
}

/* --- operations ---------------------------------------------------------------------------- */

static struct tw_when draw_times(struct timer *t) {
    struct tw_when when = {.due_ns = (int64_t)draw(40) * MS};
    t->kind = (enum kind)draw(3);
    if (t->kind == ONCE)
        return when;
    t->period = (int64_t)(1 + draw(20)) * MS;
    t->fires_left = draw(8);
    if (t->kind == PERIODIC) {
        when.period_ns = t->period;
        when.fires = t->fires_left;
        when.missed = (enum tw_missed)draw(3);
    }
    return when;
}

static void start(void) {
    if (it.count == TIMERS)
        return;
    const unsigned set = draw(SETS);
    const size_t before = count_of(set);
    struct timer *t = &it.timers[it.count];
    *t = (struct timer){.set = set, .life = it.lives[set], .lives = true};
    const struct tw_when when = draw_times(t);
    t->action = (uint8_t)draw(64);
    t->action_inside = (uint8_t)draw(64);
    const bool asks_first = t->kind == SCHEDULED && draw(2) == 0;
    const struct tw_task task = {
        .fn = fire, .arg = t, .next = t->kind == SCHEDULED ? next : NULL, .drop = drop};
    const bool has_room = capacities[set] == 0 || before < capacities[set];
    const bool has_first = !asks_first || t->fires_left != 0;
    const int expected = !has_room ? -ENOSPC : has_first ? 0 : -ENOENT;
    if (!asks_first)
        arm(t, now() + when.due_ns);
    expect(tw_handle_start(it.sets[set], &t->id, asks_first ? NULL : &when, &task) == expected);
    if (expected == 0)
        ++it.count;
    else
        expect(t->id == 0 && t->drops == 0);
}

static void stop(struct timer *t, unsigned set, int (*how)(struct tw_handles *, tw_handle)) {
    int expected = refusal(t, set);
    if (expected == 0) {
        expected = t->is_armed || t->kind == SCHEDULED;
        end(t);
    }
    expect(how(it.sets[set], t->id) == expected);
}

static void move(struct timer *t, unsigned set, int64_t delay) {
    int expected = refusal(t, set);
    if (expected == 0 && !t->is_armed)
        expected = -EBUSY;
    if (expected == 0)
        arm(t, now() + delay);
    expect(tw_handle_move(it.sets[set], t->id, delay) == expected);
}

static void ask(const struct timer *t, unsigned set) {
    const int64_t left = t->is_armed ? t->due - now() : 0;
    expect(tw_handle_remaining(it.sets[set], t->id) == (refusal(t, set) == 0 ? left : TW_NO_DEADLINE));
}

/* Makes up a generation, cell number or tag that does not exist. */
static void use_made_up(const struct timer *t, unsigned set) {
    static const unsigned bits[] = {63, 62, 15, 14, 16, 31};
    const tw_handle id = is_of(t, set) ? t->id ^ UINT64_C(1) << bits[draw(6)] : TW_NO_HANDLE;
    expect(tw_handle_stop(it.sets[set], id) == -ENOENT);
    expect(tw_handle_stop_wait(it.sets[set], id) == -ENOENT);
    expect(tw_handle_move(it.sets[set], id, 0) == -ENOENT);
    expect(tw_handle_remaining(it.sets[set], id) == TW_NO_DEADLINE);
}

static void make_set(unsigned set) {
    const struct tw_handles_options options = {.capacity = capacities[set]};
    expect(tw_handles_new(&it.sets[set], it.rt, &options) == 0);
    ++it.lives[set];
}

/* Refused inside a callback of one of its timers; `within` is the callback's set. */
static void free_set(unsigned set, unsigned within) {
    if (within == set) {
        expect(tw_handles_free(it.sets[set]) == -EBUSY);
        return;
    }
    for (unsigned i = 0; i < it.count; ++i)
        if (is_of(&it.timers[i], set))
            end(&it.timers[i]);
    expect(tw_handles_free(it.sets[set]) == 0);
    make_set(set);
}

/* `within`: the set of the timer whose callback or `next` makes this call; SETS if none. Does
 * nothing once all bytes are drawn: otherwise a callback that keeps moving its timer to the
 * present would never end. */
static void operate(unsigned what, unsigned within) {
    if (it.next == it.end)
        return;
    struct timer *t = it.count != 0 ? &it.timers[it.count - 1 - draw(256) % it.count] : NULL;
    const bool is_foreign = draw(8) == 0;
    const unsigned set = t == NULL ? 0 : is_foreign ? draw(SETS) : t->set;
    if (what < 16)
        start();
    else if (t == NULL)
        return;
    else if (what < 26)
        stop(t, set, what % 2 ? tw_handle_stop : tw_handle_stop_wait);
    else if (what < 36)
        move(t, set, (int64_t)draw(40) * MS);
    else if (what < 42)
        ask(t, set);
    else if (what < 44)
        use_made_up(t, set);
    else if (what < 45)
        free_set(set, within);
}

static void advance(int64_t ns) {
    const int64_t until = now() + ns;
    expect(tw_runtime_advance(it.rt, ns) == 0);
    const struct timer *left = next_due();
    expect(now() == until && (left == NULL || left->due > until));
}

struct played play_handles(const uint8_t *bytes, size_t size) {
    const struct tw_runtime_options options = {.driver = "manual"};
    it = (struct life){.next = bytes, .end = bytes + size};
    expect(tw_runtime_new(&it.rt, &options) == 0);
    for (unsigned set = 0; set < SETS; ++set)
        make_set(set);
    for (unsigned n = 0; n < OPERATIONS && it.next < it.end; ++n) {
        const unsigned what = draw(64);
        if (what < 48)
            operate(what, SETS);
        else
            advance((int64_t)draw(24) * MS);
        check_all();
    }
    for (unsigned i = 0; i < it.count; ++i)
        end(&it.timers[i]);
    expect(tw_runtime_free(it.rt) == 0);
    for (unsigned i = 0; i < it.count; ++i)
        expect(it.timers[i].drops == 1);
    return (struct played){it.count, it.fires};
}

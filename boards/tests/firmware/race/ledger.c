/* Timers, their accounts and the actions on them. See ledger.h. */
#include "ledger.h"

#include "../expect.h"
#include "priorities.h"

enum { ROUND = 64 /* ticks of a round of a wheel of 2x3 */, PERIODIC_FIRES = 3 };
enum { PERMISSION = -1, NO_ENTRY = -2, BUSY = -16, INVALID = -22 };

/* Shortly before a round ends, and before ticks of 32 bits wrap. */
#define START (TW_TICK_BITS == 32 ? (tw_tick)-3 : 61)

struct account {
    unsigned owed, prevented, fired;
    unsigned unsure; /* armings that met an interrupt which armed, fired or cancelled the same timer */
};

struct tw wheel, other_wheel;
unsigned side;

static struct tw_node nodes[TIMERS];
static struct account accounts[SIDES][TIMERS];
static volatile bool retired[TIMERS], advancing;
static bool masked_outside; /* when the running advance was called */

static struct tw *wheel_of(enum timer timer) { return timer == CHAINED ? &other_wheel : &wheel; }
static struct account *account_of(enum timer timer) { return &accounts[side][timer]; }

/* ---- Calls, and their effect on the account. */

/* An arming of a pending timer prevents its fire. The call does not report that, so before_arming looks
 * whether the timer is pending. */
struct arming {
    enum timer timer;
    bool was_pending;
    struct account of_interrupt;
};

/* Reads the account before the state: the arming then counts as unsure if an interrupt changes the state
 * after that. */
static struct arming before_arming(enum timer timer) {
    struct arming now = {timer, false, accounts[IN_INTERRUPT][timer]};
    __asm__ volatile("" ::: "memory");
    now.was_pending = nodes[timer].state == TW_PENDING;
    __asm__ volatile("" ::: "memory");
    return now;
}

static bool was_interrupted(const struct arming *arming) {
    const struct account *const now = &accounts[IN_INTERRUPT][arming->timer];
    const struct account *const then = &arming->of_interrupt;
    return side == IN_MAIN &&
           (now->owed != then->owed || now->prevented != then->prevented || now->fired != then->fired);
}

static void account_arm(const struct arming *arming, int result, unsigned fires) {
    if (result == PERMISSION && retired[arming->timer])
        return;
    EXPECT(result == 0);
    account_of(arming->timer)->owed += fires;
    if (was_interrupted(arming))
        ++account_of(arming->timer)->unsure;
    else
        account_of(arming->timer)->prevented += arming->was_pending;
}

void arm(enum timer timer, tw_tick tick) {
    const struct arming arming = before_arming(timer);
    account_arm(&arming, tw_arm_at(wheel_of(timer), &nodes[timer], tick), 1);
}

static void account_disarm(enum timer timer, int result) {
    EXPECT(result == 0 || result == 1);
    account_of(timer)->prevented += (unsigned)result;
}

void cancel(enum timer timer) { account_disarm(timer, tw_cancel(wheel_of(timer), &nodes[timer])); }

/* Ticks may wrap. */
static bool is_before(tw_tick a, tw_tick b) { return a - b > TW_NEVER / 2; }

static tw_tick after(tw_tick ticks) { return tw_now(&wheel) + ticks; }

static void move(enum timer timer, tw_tick tick) {
    const int result = tw_move(&wheel, &nodes[timer], tick);
    EXPECT(result == 0 || result == NO_ENTRY);
}

static void postpone(enum timer timer, tw_tick tick) {
    const int result = tw_postpone(&wheel, &nodes[timer], tick);
    EXPECT(result == 0 || result == NO_ENTRY || result == INVALID); /* invalid: it is already due later */
}

/* The library refuses an advance that interrupts another one. But an advance in an interrupt just before
 * main's advance calls the callbacks in its place, and main's tick may then be in the past. */
static int guarded(int (*advance)(tw_tick ticks, uint32_t budget), tw_tick ticks, uint32_t budget) {
    const bool was_advancing = advancing;
    const bool was_masked = masked_outside;
    advancing = true;
    masked_outside = masked();
    const int result = advance(ticks, budget);
    EXPECT(result >= 0 || (result == BUSY && was_advancing) || (result == INVALID && side == IN_MAIN));
    advancing = was_advancing;
    masked_outside = was_masked;
    return result;
}

static int advance_by(tw_tick ticks, uint32_t budget) { return tw_advance(&wheel, after(ticks), budget); }

static int update(tw_tick ticks, uint32_t budget) {
    (void)ticks, (void)budget;
    return tw_update(&wheel);
}

/* ---- Actions. An action does nothing if the library is built without the call. */

static void arms(void) {
    arm(FREE, after(1));
    arm(OTHER_FREE, after(18));
}

static void arms_late(void) { arm(FREE, START - 1); }

static void rearms(void) {
    arm(SOON, after(2));
    arm(HIGHER, after(1));
}

static void arms_after(void) {
    const struct arming first = before_arming(FREE);
    account_arm(&first, tw_arm_after(&wheel, &nodes[FREE], 1), 1);
    if (TW_SMALL)
        return;
    const struct arming second = before_arming(OTHER_FREE);
    account_arm(&second, tw_arm_within(&wheel, &nodes[OTHER_FREE], after(2), 9), 1);
}

static void repeats(void) {
    const struct arming arming = before_arming(PERIODIC);
    account_arm(&arming, tw_arm_every(&wheel, &nodes[PERIODIC], after(1), 2, TW_BURST, PERIODIC_FIRES),
                PERIODIC_FIRES);
}

static void cancels(void) {
    cancel(SOON);
    cancel(NEXT_BLOCK);
    cancel(FREE);
    cancel(PERIODIC);
}

static void moves(void) {
    move(WITH_SOON, after(30));
    move(HIGHER, after(1));
}

static void postpones(void) {
    postpone(SOON, after(3));
    postpone(NEXT_BLOCK, after(19));
}

static void retires(void) {
    retired[WITH_SOON] = true;
    account_disarm(WITH_SOON, tw_retire(&wheel, &nodes[WITH_SOON]));
}

static void advances(void) { EXPECT(guarded(advance_by, 20, TW_UNBOUNDED) != 1); }

static void advances_in_steps(void) {
    for (int more = !TW_SMALL ? guarded(advance_by, 9, 1) : 0; more == 1;)
        more = guarded(advance_by, 0, 2);
}

static void updates(void) { EXPECT(guarded(update, 1, TW_UNBOUNDED) != 1); }

/* Cancels the near timers, so that the search goes far, and an interrupt can arm timers where
 * it has already passed. */
static void looks_ahead(void) {
    cancel(SOON);
    cancel(WITH_SOON);
    cancel(PERIODIC);
    const tw_tick next = tw_next(&wheel);
    EXPECT(next == TW_NEVER || !is_before(next, START));
    EXPECT(tw_idle(&wheel, 3) >= 0);
}

static void account_cleared(struct tw_node *node, void *arg) {
    (void)arg;
    ++account_of((enum timer)(node - nodes))->prevented;
}

static void clears(void) { EXPECT(TW_SMALL || tw_cancel_all(&wheel, account_cleared, NULL) == 0); }

const struct action actions[] = {
    {"arm", arms},
    {"arm again", rearms},
    {"arm for the past", arms_late},
    {"arm after, within", arms_after},
    {"arm every", repeats},
    {"cancel", cancels},
    {"move", moves},
    {"postpone", postpones},
    {"retire", retires},
    {"advance", advances},
    {"advance in steps", advances_in_steps},
    {"update", updates},
    {"next, idle", looks_ahead},
    {"clear", clears},
};
const unsigned action_count = sizeof actions / sizeof *actions;

/* ---- A round. */

static void on_fire(struct tw_node *node, void *arg) {
    struct tw *w = arg;
    const enum timer timer = (enum timer)(node - nodes);
    ++account_of(timer)->fired;
    EXPECT(masked() == masked_outside); /* P7 */
    EXPECT(tw_running(w) == node);
    EXPECT(!is_before(tw_now(w), tw_due(w)));
    if (timer == NEXT_BLOCK)
        arm(CHAINED, tw_now(&other_wheel) + 3);
}

static void open_wheels(void) {
    EXPECT(tw_init(&wheel, START, 0) == 0);
    EXPECT(tw_init(&other_wheel, START, 0) == 0);
    for (unsigned i = 0; i < TIMERS; ++i) {
        EXPECT(tw_node_init(&nodes[i], on_fire, wheel_of((enum timer)i)) == 0);
        retired[i] = false;
        for (unsigned s = 0; s < SIDES; ++s)
            accounts[s][i] = (struct account){0, 0, 0, 0};
    }
}

void ledger_open(void) {
    open_wheels();
    advancing = false;
    arm(SOON, after(1));
    arm(WITH_SOON, after(1));
    arm(NEXT_BLOCK, after(4));
    arm(HIGHER, after(18));
    arm(FAR, after(ROUND + 6));
    repeats();
}

void ledger_act(const struct action *action) {
    const bool was_masked = masked();
    action->act();
    EXPECT(masked() == was_masked);
}

static void arm_on_other(const char *invariant, const struct tw_node *node, void *arg) {
    (void)invariant, (void)node;
    EXPECT(masked());
    arm(CHAINED, tw_now(&other_wheel) + 3);
    EXPECT(masked());
    ++*(unsigned *)arg;
}

void ledger_lock_both(void) {
    unsigned reports = 0;
    tw_callback *const fn = nodes[FAR].fn;
    nodes[FAR].fn = NULL; /* gives tw_check something to report */
    EXPECT(tw_check(&wheel, arm_on_other, &reports) == 1);
    EXPECT(reports == 1);
    nodes[FAR].fn = fn;
}

static void on_broken(const char *invariant, const struct tw_node *node, void *arg) {
    (void)node, (void)arg;
    host_print("tw_check: broken: ");
    host_print(invariant);
    host_print("\n");
}

static void check_wheels(void) {
    size_t pending = 0;
    for (unsigned i = 0; i < TIMERS; ++i)
        pending += tw_pending(wheel_of((enum timer)i), &nodes[i]) != 0;
    EXPECT(tw_check(&wheel, on_broken, NULL) == 0);
    EXPECT(tw_check(&other_wheel, on_broken, NULL) == 0);
    EXPECT(tw_count(&wheel) + tw_count(&other_wheel) == pending);
}

static void check_account(enum timer timer) {
    struct account sum = {0, 0, 0, 0};
    for (unsigned s = 0; s < SIDES; ++s) {
        sum.owed += accounts[s][timer].owed;
        sum.prevented += accounts[s][timer].prevented;
        sum.fired += accounts[s][timer].fired;
        sum.unsure += accounts[s][timer].unsure;
    }
    const unsigned ended = sum.fired + sum.prevented;
    if (timer == PERIODIC &&
        sum.prevented + sum.unsure != 0) /* a cancel prevents several fires, and does not say how many */
        EXPECT(ended <= sum.owed);
    else
        EXPECT(ended <= sum.owed && sum.owed <= ended + sum.unsure);
}

void ledger_close(void) {
    check_wheels();
    for (unsigned i = 0; i < 3; ++i) {
        EXPECT(guarded(advance_by, ROUND, TW_UNBOUNDED) == 0);
        EXPECT(tw_advance(&other_wheel, tw_now(&other_wheel) + ROUND, TW_UNBOUNDED) == 0);
    }
    EXPECT(tw_count(&wheel) == 0 && tw_count(&other_wheel) == 0);
    check_wheels();
    for (unsigned i = 0; i < TIMERS; ++i)
        check_account((enum timer)i);
}

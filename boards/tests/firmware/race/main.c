/* Interrupts use the wheel while main, or an interrupt of lower priority, is using it: each
 * action is interrupted by each other action, at every instruction. */
#include <host.h>

#include "../expect.h"
#include "../loop_mask.h"
#include "earlier_timer.h"
#include "ledger.h"
#include "priorities.h"
#include "sweep.h"

static const struct action *struck, *striking;

static void act(void) { ledger_act(struck); }

static void strike(void) {
    side = IN_INTERRUPT;
    ledger_act(striking);
    side = IN_MAIN;
}

static unsigned sweep_pair(const struct action *what, const struct action *by, bool in_interrupt) {
    struck = what;
    striking = by;
    return sweep(&(struct round){ledger_open, act, strike, ledger_close, in_interrupt});
}

/* Runs half of the pairs in main and the others in an interrupt, because all in both took
 * twice the time. */
static void sweep_pairs(bool in_interrupt) {
    unsigned rounds = 0;
    for (unsigned i = 0; i < action_count; ++i)
        for (unsigned j = 0; j < action_count; ++j)
            if (((i + j) % 2 != 0) == in_interrupt)
                rounds += sweep_pair(&actions[i], &actions[j], in_interrupt);
    say(in_interrupt ? "rounds in an interrupt" : "rounds in main", rounds);
}

/* Locks restore the previous mask, whether it masked interrupts or not. */
static void masks_are_restored(void) {
    for (unsigned i = 0; i < action_count; ++i) {
        ledger_open();
        EXPECT(!masked());
        ledger_act(&actions[i]);
        ledger_close();
        ledger_open();
        const uint32_t mask = loop_mask();
        ledger_act(&actions[i]);
        EXPECT(masked());
        loop_restore(mask);
        ledger_close();
    }
}

static void locks_nest(void) {
    ledger_open();
    ledger_lock_both();
    EXPECT(!masked());
    ledger_close();
}

int main(void) {
    sweep_prove();
    masks_are_restored();
    sweep_pairs(false);
    locks_nest();
    earlier_timers_are_in_time();
    sweep_pairs(true);
    return 0;
}

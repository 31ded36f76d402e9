/* With a lock by BASEPRI: nothing delays an interrupt that is more urgent than the lock, at whatever
 * instruction of an action it comes, even while the program masks as a main loop does. */
#include <host.h>

#include "../expect.h"
#include "../loop_mask.h"
#include "ledger.h"
#include "priorities.h"
#include "sweep.h"

static const struct action *struck;

static void act(void) {
    const uint32_t mask = loop_mask();
    ledger_act(struck);
    loop_restore(mask);
    ledger_act(struck);
}
static void nothing(void) {}

int main(void) {
    sweep_prove();
    set_alarm_priority(0x40);
    for (unsigned i = 0; i < action_count; ++i) {
        struck = &actions[i];
        sweep(&(struct round){ledger_open, act, nothing, ledger_close, false});
    }
    say("instructions that it was delayed for, at most:", sweep_longest_delay());
    EXPECT(sweep_longest_delay() <= 1); /* an instruction in progress always ends first */
    return 0;
}

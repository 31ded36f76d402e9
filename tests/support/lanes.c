/* See lanes.h. */
#include "lanes.h"

#include <stdbool.h>
#include <stdlib.h>

#define WEAK __attribute__((weak))
extern WEAK unsigned usual_lanes __asm__("_ZN9tickwheel7runtime11usual_lanesE");
extern WEAK bool lanes_take_turns __asm__("_ZN9tickwheel7runtime16lanes_take_turnsE");

void use_lanes_in_turn(unsigned lanes) {
    if (&usual_lanes == NULL || &lanes_take_turns == NULL)
        return;
    usual_lanes = lanes;
    lanes_take_turns = lanes != 0;
}

void choose_lanes(void) {
    const char *const lanes = getenv("TW_TEST_LANES");
    if (lanes != NULL)
        use_lanes_in_turn((unsigned)strtoul(lanes, NULL, 10));
}

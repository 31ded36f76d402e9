/* See lanes.h. */
#include "lanes.h"

#include <stdint.h>
#include <stdlib.h>

#define WEAK __attribute__((weak))
extern WEAK unsigned lanes_in_turn __asm__("_ZN9tickwheel7runtime13lanes_in_turnE");
extern WEAK __thread uint64_t own_lane __asm__("_ZN9tickwheel7runtime8own_laneE");

void use_lanes_in_turn(unsigned lanes) {
    if (&lanes_in_turn == NULL)
        return;
    lanes_in_turn = lanes;
    own_lane = 0; /* no lane yet */
}

void choose_lanes(void) {
    const char *const lanes = getenv("TW_TEST_LANES");
    use_lanes_in_turn(lanes == NULL ? 0 : (unsigned)strtoul(lanes, NULL, 10));
}

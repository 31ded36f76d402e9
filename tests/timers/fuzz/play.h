/* play.h - a life of timers behind handles, its operations drawn from bytes, against an
 * oracle. Ends the program, having said why, at the first difference. */
#ifndef TICKWHEEL_TESTS_HANDLES_PLAY_H
#define TICKWHEEL_TESTS_HANDLES_PLAY_H

#include <stddef.h>
#include <stdint.h>

/* What a failure is reported with: where the bytes come from. */
extern const char *play_name;

/* How many timers were started, and how many fires there were. */
struct played {
    uint64_t timers, fires;
};

struct played play_handles(const uint8_t *bytes, size_t size);

#endif

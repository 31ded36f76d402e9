/* play.h - a life of timers, its operations drawn from bytes and compared with an
 * oracle. The first difference ends the program with a message. */
#ifndef TICKWHEEL_TESTS_TIMERS_FUZZ_PLAY_H
#define TICKWHEEL_TESTS_TIMERS_FUZZ_PLAY_H

#include <stddef.h>
#include <stdint.h>

/* The origin of the bytes, for reports of failures. */
extern const char *play_name;

/* Counts of timers started and of fires. */
struct played {
    uint64_t timers, fires;
};

struct played play_timers(const uint8_t *bytes, size_t size);

#endif

#include "place.h"

unsigned digit(uint64_t tick, unsigned level) { return (unsigned)(tick >> (level * TW_BITS)) & (SLOTS - 1); }

struct place place_of(uint64_t tick, uint64_t now) {
    unsigned level = TW_LEVELS - 1;
    while (level > 0 && (tick ^ now) >> (level * TW_BITS) == 0)
        --level;
    return (struct place){.level = level, .slot = digit(tick, level), .tick = tick};
}

bool place_opened(struct place place, uint64_t now) {
    return place.tick >> (place.level * TW_BITS) <= now >> (place.level * TW_BITS);
}

#include "place.h"

unsigned digit(uint64_t tick, unsigned level) {
    return (unsigned)(tick >> (level * SLOT_BITS)) & (SLOTS - 1);
}

struct place place_of(uint64_t tick, uint64_t now) {
    unsigned level = LEVELS - 1;
    while (level > 0 && (tick ^ now) >> (level * SLOT_BITS) == 0)
        --level;
    return (struct place){.level = level, .slot = digit(tick, level), .tick = tick};
}

bool place_opened(struct place place, uint64_t now) {
    return place.tick >> (place.level * SLOT_BITS) <= now >> (place.level * SLOT_BITS);
}

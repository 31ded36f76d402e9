#include "sample.hpp"

#include <atomic>
#include <cstdlib>

std::atomic<int> calls;

void stop() { std::abort(); }

// The test fills no table, so mutants of the check for a full one survive.
void table::add(int value) {
    NOTED;
    CHECKED(used <= twice(bits));
    is_looked_at(*this);
    if (!has_room())
        return;
    slots[used] = value;
    ++used;
    calls.store(1, std::memory_order_release);
}

int table::sum() const {
    int total = 0;
    for (unsigned i = 0; i < used; ++i)
        total += slots[i];
    return total;
}

// The test does not try the bound itself.
int clamp(int value, int most) {
    if (value > most)
        return most;
    else
        return value;
}

// Loops forever without the line that counts down.
int rounds(int value) {
    int count = 0;
    while (value > 0) {
        value -= 3;
        ++count;
    }
    return count;
}

const char *name_of(int color) {
    switch (color) {
    case 0:
        return "red";
    case 1:
        return "blue";
    default:
        stop();
    }
}

unsigned low_bits(unsigned value) {
    if constexpr (bits > 8)
        return value;
    return value & mask<bits>();
}

// Nothing calls it.
int forgotten(int a, int b) { return a + b; }

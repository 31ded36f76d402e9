// Code of each kind that the tool mutates, and code that the tool must not mutate.
#pragma once

#include <cassert>

#define CHECKED(condition) assert(condition)
#define NOTED (void)0

constexpr unsigned bits = 3;
static_assert(bits + 1 == 4);

template <unsigned Bits> constexpr unsigned mask() { return (1U << Bits) - 1; }

// The compiler evaluates some calls, and the program makes others: the tool mutates only the latter.
constexpr unsigned twice(unsigned n) { return n * 2; }

struct table {
    int slots[twice(bits)] = {};
    unsigned used = 0;

    bool has_room() const { return used < twice(bits); }
    void add(int value);
    int sum() const;
};

inline void is_looked_at(const table &) {}  // removing a call of an empty function is no mutant
[[noreturn]] void stop();
int clamp(int value, int most);
int rounds(int value);
const char *name_of(int color);
unsigned low_bits(unsigned value);

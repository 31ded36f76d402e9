// Code with something of each kind that can be mutated, and with what must not be.
#pragma once

#include <cassert>

#define CHECKED(condition) assert(condition)
#define NOTED (void)0

constexpr unsigned bits = 3;
static_assert(bits + 1 == 4);

template <unsigned Bits> constexpr unsigned mask() { return (1U << Bits) - 1; }

// The compiler calls it, and so does the program: only the program's call is mutated.
constexpr unsigned twice(unsigned n) { return n * 2; }

struct table {
    int slots[twice(bits)] = {};
    unsigned used = 0;

    bool has_room() const { return used < twice(bits); }
    void add(int value);
    int sum() const;
};

inline void is_looked_at(const table &) {}  // its call may be left out, and is no mutant
[[noreturn]] void stop();
int clamp(int value, int most);
int rounds(int value);
const char *name_of(int color);
unsigned low_bits(unsigned value);

// Simulates a low-power timer and a CPU, cycle by cycle: a counter that the CPU may read while it changes, a
// compare register that a slow clock takes over, and delays of the CPU.
#ifndef TICKWHEEL_TESTS_LPTIMER_SIMULATED_HPP
#define TICKWHEEL_TESTS_LPTIMER_SIMULATED_HPP

#include <algorithm>

#include "support/random.h"
#include "support/test.h"

// The interrupt handlers; the test defines them.
static void serve_timer();
static void serve_other();

namespace simulated {

constexpr uint64_t NEVER = UINT64_MAX;
constexpr uint64_t COUNT = 16;   // cycles from one count to the next
constexpr uint32_t COST = 4;     // cycles of an access, including the instructions before it
constexpr uint32_t WAKING = 20;  // cycles from an interrupt to the instruction after wfi

struct state {
    uint64_t cycle, seed;
    uint64_t first;  // the count at cycle 0; the counter shows its lower bits
    uint32_t bits;
    uint32_t unsettled;  // the latest reading that was taken too soon
    uint32_t above;      // the bits above the counter's in the latest reading

    // The value that the counter is compared with, and the written one, which is active from taken_over_at
    // on.
    uint32_t active, written;
    uint64_t taken_over_at;
    uint32_t slowness;  // counts until a written value is active, at most
    uint32_t early;     // the interrupt comes this many counts before the counter meets the value

    bool pending, masked, serving;
    bool other;  // another interrupt is pending, since other_at
    uint64_t other_at;
    bool nagging;  // another interrupt comes wherever it can

    uint32_t hold_after;  // the access after this many more is delayed
    uint64_t hold_for, held_up;

    // Counts for the current sleep.
    uint32_t accesses, waits, writes, refusals;
};
static state cpu;

static uint32_t below(uint64_t bound) { return static_cast<uint32_t>(random_below(&cpu.seed, bound)); }

static uint64_t range() { return uint64_t{1} << cpu.bits; }
static uint64_t count_at(uint64_t cycle) { return cpu.first + cycle / COUNT; }
static uint64_t cycle_of(uint64_t count) { return (count - cpu.first) * COUNT; }

// Returns the first count after `count` at which the interrupt for a compare value comes.
static uint64_t match_after(uint64_t count, uint32_t value) {
    const uint64_t ahead = (value - cpu.early - count) & (range() - 1);
    return count + (ahead == 0 ? range() : ahead);
}

// Returns the count of the next interrupt, for the value that the register is about to take over, if any.
static uint64_t next_match() {
    const uint64_t count = count_at(cpu.cycle);
    return cpu.taken_over_at > count ? match_after(cpu.taken_over_at - 1, cpu.written)
                                     : match_after(count, cpu.active);
}

// Returns the cycle of the next event.
static uint64_t next_event() {
    const uint64_t count = count_at(cpu.cycle);
    uint64_t next = cycle_of(match_after(count, cpu.active));
    if (cpu.taken_over_at > count)
        next = std::min(next, cycle_of(cpu.taken_over_at));
    return cpu.other || cpu.other_at <= cpu.cycle ? next : std::min(next, cpu.other_at);
}

static void pass(uint64_t cycles) {
    for (const uint64_t end = cpu.cycle + cycles; cpu.cycle < end;) {
        const uint64_t before = count_at(cpu.cycle);
        cpu.cycle = std::min(end, next_event());
        const uint64_t count = count_at(cpu.cycle);
        if (count != before && count == cpu.taken_over_at)
            cpu.active = cpu.written;
        if (count != before && ((count + cpu.early - cpu.active) & (range() - 1)) == 0)
            cpu.pending = true;
        if (!cpu.other && cpu.cycle >= cpu.other_at)
            cpu.other = true;
    }
}

static void serve();  // see interrupts_simulated.hpp

static void run(uint64_t cycles) {
    for (const uint64_t end = cpu.cycle + cycles; cpu.cycle < end; serve())
        pass(std::min(next_event(), end) - cpu.cycle);
}

static void access() {
    if (++cpu.accesses > 100000)
        fail_msg("the clock does not finish");
    pass(1 + below(COST));
    if (cpu.hold_after > 0) {
        --cpu.hold_after;
    } else if (cpu.hold_for > 0) {
        pass(cpu.hold_for);
        cpu.held_up += cpu.hold_for;
        cpu.hold_for = 0;
    }
}

// In the first cycle of a count its bits have not settled: the value is wrong, and differs from the last
// wrong one. The bits above the counter's width change each time.
static uint32_t shown() {
    const uint32_t bits = static_cast<uint32_t>(range() - 1);
    if (cpu.cycle % COUNT == 0)
        return cpu.unsettled = (cpu.unsettled + 1 + below(bits)) & bits;
    cpu.above = ~cpu.above;
    return (static_cast<uint32_t>(count_at(cpu.cycle)) & bits) | (cpu.above & ~bits);
}

static uint32_t read() {
    access();
    const uint32_t count = shown();
    serve();
    return count;
}

static bool take(uint32_t value) {
    if (value >= range())
        fail_msg("%x for a counter of %u bits", value, cpu.bits);
    if (count_at(cpu.cycle) < cpu.taken_over_at) {
        ++cpu.refusals;
        return false;
    }
    ++cpu.writes;
    cpu.written = value;
    cpu.taken_over_at = count_at(cpu.cycle) + 1 + below(cpu.slowness);
    return true;
}

static int set_compare(uint32_t count) {
    access();
    const bool taken = take(count);
    serve();
    return taken ? 1 : 0;
}

}  // namespace simulated

#include "interrupts_simulated.hpp"

static void tw_interrupts_wait() {
    using simulated::cpu;
    ++cpu.waits;
    const uint64_t longest = cpu.cycle + simulated::range() * simulated::COUNT;
    while (!cpu.pending && !cpu.other) {
        if (cpu.cycle >= longest)
            fail_msg("sleeps through the whole range of the counter");
        simulated::pass(simulated::next_event() - cpu.cycle);
    }
    simulated::pass(simulated::below(simulated::WAKING + 1));
}

#endif

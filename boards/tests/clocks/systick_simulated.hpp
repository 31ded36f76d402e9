// Simulates SysTick (ARMv7-M, B3.3) cycle by cycle, the CPU's interrupts, and the cost of
// accesses.
#ifndef TICKWHEEL_TESTS_SYSTICK_SIMULATED_HPP
#define TICKWHEEL_TESTS_SYSTICK_SIMULATED_HPP

#include <algorithm>

#include "support/random.h"
#include "support/test.h"

// The interrupt handlers; the test defines them.
static void serve_timer();
static void serve_other();

namespace simulated {

constexpr uint64_t NEVER = UINT64_MAX;
constexpr uint32_t COST = 4;      // cycles of an access, including the instructions before it
constexpr uint32_t WAKING = 20;   // cycles from an interrupt to the instruction after wfi
constexpr uint32_t HELD_UP = 90;  // cycles that a busy bus may add to any access

struct state {
    uint64_t cycle, seed;
    uint32_t load, value;
    bool enabled, countflag, pending, masked, serving;

    bool other;  // another interrupt is pending, since other_at
    uint64_t other_at;
    bool nagging;  // another interrupt comes wherever it can

    // Delays a coming access. A delay of more than HELD_UP comes only where the clock is prepared for
    // it: from its last read of the counter to its last check whether a period ended.
    uint32_t hold_after, hold_for;
    bool wrote;

    // Counts for the current sleep.
    uint32_t accesses, waits, restarts, held_up;

    // The cost of restarts: the time since the reading, or since the missed end.
    uint64_t read_at, ended_at, since, lost, lost_most;
};
static state cpu;

static uint32_t below(uint64_t bound) { return static_cast<uint32_t>(random_below(&cpu.seed, bound)); }

static void pass(uint64_t cycles) {
    while (cycles > 0) {
        const uint64_t n = !cpu.enabled ? cycles : cpu.value == 0 ? 1 : std::min<uint64_t>(cycles, cpu.value);
        cpu.cycle += n;
        cycles -= n;
        if (!cpu.enabled)
            continue;
        if (cpu.value == 0) {
            cpu.value = cpu.load;
        } else if ((cpu.value -= static_cast<uint32_t>(n)) == 0) {
            if (!cpu.countflag)
                cpu.ended_at = cpu.cycle;
            cpu.countflag = cpu.pending = true;
        }
    }
    if (!cpu.other && cpu.cycle >= cpu.other_at)
        cpu.other = true;
}

// Returns the cycles until the next event.
static uint64_t until_next() {
    const uint64_t other = cpu.other || cpu.other_at <= cpu.cycle ? NEVER : cpu.other_at - cpu.cycle;
    return std::min<uint64_t>(other, std::max(cpu.value, 1U));
}

static void serve();  // see interrupts_simulated.hpp

static void run(uint64_t cycles) {
    for (const uint64_t end = cpu.cycle + cycles; cpu.cycle < end; serve())
        pass(std::min(until_next(), end - cpu.cycle));
}

// A write may take effect in the cycle of the access before it.
static void access(bool writes) {
    if (++cpu.accesses > 100000)
        fail_msg("the clock does not finish");
    pass(writes ? below(COST + 1) : 1 + below(COST));
    if (cpu.hold_after > 0)
        --cpu.hold_after;
    else if (cpu.hold_for > 0 && (cpu.hold_for <= HELD_UP || writes || cpu.wrote)) {
        pass(cpu.hold_for);
        cpu.held_up += cpu.hold_for;
        cpu.hold_for = 0;
    }
    cpu.wrote = writes;
}

constexpr uint32_t CONTROL_AT = 0xE000E010, LOAD_AT = 0xE000E014, VALUE_AT = 0xE000E018, ICSR_AT = 0xE000ED04;

struct reg {
    uint32_t address;

    operator uint32_t() const {
        access(false);
        uint32_t value = cpu.value;
        if (address == CONTROL_AT) {
            value = cpu.countflag ? 1U << 16 : 0U;
            if (cpu.countflag)
                cpu.since = cpu.ended_at;
            cpu.countflag = false;
        } else if (address == VALUE_AT) {
            cpu.read_at = cpu.since = cpu.cycle;
        } else {  // ICSR; either SysTick or the other interrupt is the more urgent one
            value = (cpu.pending && (!cpu.other || below(2) != 0) ? 15U : cpu.other ? 20U : 0U) << 12;
        }
        serve();
        return value;
    }

    void operator=(uint32_t value) const {
        access(address != ICSR_AT);
        if (address == CONTROL_AT) {
            cpu.enabled = (value & 1U) != 0;
        } else if (address == LOAD_AT) {
            if (value == 0 || value > 0xFFFFFF)
                fail_msg("%x for a period", static_cast<unsigned>(value));
            cpu.load = value;
        } else if (address == VALUE_AT) {
            const uint64_t lost = cpu.enabled ? cpu.cycle - cpu.since : 0;
            cpu.lost += lost;
            cpu.lost_most = std::max(cpu.lost_most, lost);
            ++cpu.restarts;
            cpu.value = 0;
            cpu.countflag = false;
        } else if ((value & 1U << 25) != 0) {
            cpu.pending = false;
        }
        serve();
    }
};

}  // namespace simulated

#include "interrupts_simulated.hpp"

static void tw_interrupts_wait() {
    ++simulated::cpu.waits;
    while (!simulated::cpu.pending && !simulated::cpu.other)
        simulated::pass(simulated::until_next());
    simulated::pass(simulated::below(simulated::WAKING + 1));
}

#endif

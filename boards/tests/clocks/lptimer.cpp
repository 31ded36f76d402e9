// boards/common/lptimer.c: the clock's readings and the ends of sleeps, exact to the count. Exhaustive on a
// counter of 8 bits, over every count, every moment (cycle) within a count and every distance; wider counters
// and mixed operations are random with fixed seeds.
#include "lptimer_simulated.hpp"

#define TW_SLEEP_HOOKS
#include "common/lptimer.c"
#include "support/sanitized.h"

namespace {

using simulated::below;
using simulated::COUNT;
using simulated::count_at;
using simulated::cpu;

// Clocks start at every count of the counter; in a slow build at every fifth, so at odd and even counts.
constexpr uint64_t STEP = SLOW ? 5 : 1;

// From a deadline, or another interrupt, to the return of the sleep: about 30 accesses.
constexpr uint64_t LATEST = simulated::WAKING + 30 * simulated::COST;

struct {
    tw_lptimer timer;
    uint64_t begin;  // the count at which tick 0 began
    uint64_t last;   // the clock's latest reading
    bool asleep;
    unsigned writes;  // of the compare register, by the latest sleep
} run;

#define REQUIRE(condition) \
    do \
        if (!(condition)) \
            fail_msg("%s; %u bits, ticks of %u, least ahead %u, at count %llu, %llu cycles into it", \
                     #condition, cpu.bits, static_cast<unsigned>(counter.counts_per_tick), \
                     static_cast<unsigned>(run.timer.least_ahead), \
                     static_cast<unsigned long long>(count_at(cpu.cycle)), \
                     static_cast<unsigned long long>(cpu.cycle % COUNT)); \
    while (false)

uint64_t begin_of(uint64_t tick) { return simulated::cycle_of(run.begin + tick * counter.counts_per_tick); }
uint64_t tick_of(uint64_t cycle) { return (count_at(cycle) - run.begin) / counter.counts_per_tick; }
uint64_t longest_sleep() { return uint64_t{counter.longest} * counter.counts_per_tick; }

// Compares the clock with the counter (L1), and checks that an interrupt comes in time to keep L1 (L2).
void look() {
    const uint64_t begun_at = run.begin + counter.tick * counter.counts_per_tick;
    const uint64_t count = count_at(cpu.cycle);
    REQUIRE(((begun_at - counter.begun_at) & counter.top) == 0);
    REQUIRE(begun_at <= count && count - begun_at < simulated::range());
    REQUIRE(cpu.pending || simulated::next_match() <= begun_at + longest_sleep());
}

uint64_t now() {
    const uint64_t last = run.last;
    const uint64_t least = tick_of(cpu.cycle);
    const uint64_t n = tw_lptimer_now();
    REQUIRE(n >= least && n <= tick_of(cpu.cycle));
    REQUIRE(n >= last);
    run.last = std::max(run.last, n);
    return n;
}

struct setting {
    uint32_t bits, counts_per_tick, slowness, early;
};

// Starts a counter at `first` and the clock on it.
void start(const setting &s, uint64_t first, uint64_t seed) {
    cpu = {};
    cpu.seed = seed;
    cpu.bits = s.bits;
    cpu.first = first;
    cpu.slowness = s.slowness;
    cpu.early = s.early;
    cpu.other_at = simulated::NEVER;
    cpu.masked = true;
    run.timer = {s.bits, s.slowness + s.early, simulated::read, simulated::set_compare};
    const uint64_t least = count_at(cpu.cycle);
    assert_int_equal(tw_lptimer_start(&run.timer, s.counts_per_tick), 0);
    run.begin = least + ((counter.begun_at - least) & counter.top);
    run.last = 0;
    REQUIRE(run.begin <= count_at(cpu.cycle));
    REQUIRE(longest_sleep() > 3 * (simulated::range() / 4) - s.counts_per_tick);
    look();
    tw_interrupts_restore(0);
}

// One call of the clock, as a main loop makes it.
void sleep_once(uint64_t deadline) {
    const uint32_t mask = tw_interrupts_mask();
    const uint64_t entered = cpu.cycle;
    const bool pending = cpu.pending || cpu.other;
    cpu.accesses = cpu.waits = cpu.writes = cpu.refusals = 0;
    tw_lptimer_sleep_until(deadline);
    run.writes = cpu.writes;  // without the writes of the interrupt that comes afterwards
    REQUIRE(cpu.waits <= 1);
    REQUIRE(run.writes <= 2);
    REQUIRE(tick_of(entered) < deadline || cpu.waits == 0);
    // The call waits, unless an interrupt is pending, the deadline is near or the register is busy.
    const uint64_t near = simulated::cycle_of(count_at(cpu.cycle) + run.timer.least_ahead + 1);
    REQUIRE(pending || cpu.waits == 1 || cpu.refusals > 0 || deadline <= tick_of(near));
    tw_interrupts_restore(mask);
    now();
}

// Sleeps repeatedly until the deadline: never ends early, and late only by the way out of the last sleep.
void sleep_until(uint64_t deadline) {
    const uint64_t from = cpu.cycle;
    uint64_t waits = 0;
    const unsigned others = cpu.other_at != simulated::NEVER ? 1 : 0;
    cpu.held_up = 0;
    while (now() < deadline) {
        sleep_once(deadline);
        waits += cpu.waits;
        REQUIRE(cpu.cycle <= begin_of(deadline) + LATEST + cpu.held_up);
    }
    REQUIRE(cpu.cycle >= begin_of(deadline));
    // One wait for each stretch of the longest sleep. A stretch counts from the start of a tick, and that
    // tick may be over already if interrupts come early. More waits for an interrupt set earlier, or for
    // another one.
    const uint64_t stretch = longest_sleep() - counter.counts_per_tick;
    REQUIRE(waits <= 3 + others + (cpu.cycle - from) / COUNT / stretch);
    look();
}

// Runs to this cycle, unless it has passed.
void run_to(uint64_t cycle) {
    if (cycle > cpu.cycle)
        simulated::run(cycle - cpu.cycle);
}

constexpr setting narrow[] = {{8, 1, 1, 0}, {8, 1, 3, 0},  {8, 2, 2, 1},
                              {8, 7, 3, 2}, {8, 32, 2, 0}, {8, 63, 4, 3}};
constexpr setting wide[] = {
    {16, 1, 2, 0}, {16, 32, 3, 1}, {16, 0x3FFF, 1, 0},     {24, 8, 2, 0},    {24, 32768, 3, 2},
    {32, 1, 2, 0}, {32, 33, 3, 0}, {32, 0x3FFFFFFF, 3, 0}, {31, 1000, 1, 0}, {12, 1024 - 1, 9, 0}};

TEST(now_is_exact_at_every_moment_of_every_count) {
    for (const setting &s : narrow)
        for (uint64_t first = 0; first < 256; first += STEP) {
            start(s, first, first);
            for (uint64_t moment = 0; moment < 3 * COUNT; ++moment) {
                run_to((moment + 2) * (COUNT + 1) + 200);
                now();
                look();
            }
        }
}

TEST(now_is_exact_in_interrupts_that_cut_into_it_anywhere) {
    for (const setting &s : narrow) {
        start(s, 200, 1);
        cpu.nagging = true;
        for (unsigned i = 0; i < 20000; ++i) {
            simulated::run(below(40));
            now();
            if (below(10) == 0)
                sleep_until(now() + below(4));
        }
        look();
    }
}

TEST(sleeps_from_every_moment_over_every_distance_end_in_time) {
    for (const setting &s : narrow)
        for (uint64_t first = 0; first < 256; first += STEP)
            for (uint64_t moment = 0; moment < COUNT; ++moment) {
                start(s, first, first * COUNT + moment);
                const uint64_t most = 2 * 256 / s.counts_per_tick + 3;
                for (uint64_t ticks = 0; ticks <= most; ticks += 1 + (ticks > 20 ? ticks / 7 : 0)) {
                    run_to((count_at(cpu.cycle) + 1 - cpu.first) * COUNT + moment);
                    sleep_until(tick_of(cpu.cycle) + ticks);
                }
            }
}

// Deadlines that have just not passed, at each distance in cycles instead of ticks.
TEST(sleeps_that_begin_just_before_their_deadline_are_not_missed) {
    for (const setting &s : narrow)
        for (uint64_t first = 0; first < 256; first += STEP) {
            start(s, first, first);
            for (uint64_t before = 0; before <= 8 * COUNT; ++before) {
                const uint64_t deadline = tick_of(cpu.cycle) + 3 + 9 / s.counts_per_tick;
                run_to(begin_of(deadline) - before);
                sleep_once(deadline);
                // The clock writes no value that it would have to take back.
                REQUIRE(before > (run.timer.least_ahead - 1) * COUNT || run.writes == 0);
                sleep_until(deadline);
            }
        }
}

// The program masks interrupts for as long as it may, from every moment before the clock's interrupt on.
TEST(the_counter_may_wrap_while_interrupts_are_masked) {
    for (const setting &s : narrow)
        for (uint64_t first = 0; first < 256; first += STEP) {
            start(s, first, first);
            for (uint64_t masked = 1; masked <= 256 / 4 - 8; masked += 5) {
                const uint64_t due = simulated::next_match();
                run_to(simulated::cycle_of(due - below(masked + 1)) - 8);
                const uint32_t mask = tw_interrupts_mask();
                simulated::pass(masked * COUNT);
                if (below(2) != 0)
                    now();
                tw_interrupts_restore(mask);
                now();
                look();
            }
        }
}

// Delays each access in turn by less than a quarter of the counter's range, as a debugger, an NMI or a bus
// may.
TEST(a_write_that_is_held_up_does_not_miss_its_deadline) {
    for (const setting &s : narrow)
        for (uint64_t first = 0; first < 256; first += 16 * STEP) {
            start(s, first, first);
            for (uint32_t after = 0; after < 12; ++after)
                for (uint64_t counts = 1; counts < 50; counts += 3)
                    for (uint64_t ticks = 1; ticks < 8; ++ticks) {
                        run_to(begin_of(tick_of(cpu.cycle) + 1) + below(COUNT));
                        cpu.hold_after = after;
                        cpu.hold_for = counts * COUNT - below(COUNT);
                        sleep_until(tick_of(cpu.cycle) + ticks);
                        cpu.hold_for = 0;
                    }
        }
}

// The deadline changes while the register still takes over the former one.
TEST(deadlines_that_change_faster_than_the_register_are_not_missed) {
    for (const setting &s : narrow)
        for (uint64_t first = 0; first < 256; first += 8 * STEP) {
            start(s, first, first);
            for (uint64_t gap = 0; gap <= 6 * COUNT; ++gap)
                for (uint64_t later = 3; later <= 30; later += 9) {
                    cpu.other_at = cpu.cycle + 3 * COUNT + gap;
                    sleep_once(now() + later + 8);
                    simulated::run(gap / 2);
                    sleep_until(now() + 1 + below(later));
                }
        }
}

uint64_t some_deadline(uint64_t n) {
    const uint64_t longest = counter.longest;
    const uint64_t up_to[] = {1, 2, 4, 4, 40, longest, 4 * longest};
    const uint32_t kind = below(COUNT_OF(up_to) + 2);
    if (kind < COUNT_OF(up_to))
        return n + below(up_to[kind]);
    return kind == COUNT_OF(up_to) ? longest - 1 + n + below(3) : n - std::min<uint64_t>(n, below(5));
}

void mixed_operations(const setting &s, uint64_t seed) {
    start(s, random_next(&seed) >> 30, seed);
    for (unsigned i = 0; i < 3000; ++i) {
        simulated::run(below(3) != 0 ? below(300) : below(4 * COUNT * s.counts_per_tick));
        if (below(3) == 0)
            cpu.other_at =
                cpu.cycle + 1 + (below(2) != 0 ? below(3 * COUNT * s.counts_per_tick) : below(0x2000000));
        cpu.hold_after = below(10);
        cpu.hold_for = below(2) != 0 ? below(40 * COUNT) : 0;
        if (below(2) != 0)
            sleep_until(some_deadline(now()));
        else
            sleep_once(some_deadline(now()));
        cpu.hold_for = 0;
        look();
    }
}

TEST(operations_of_all_kinds_on_counters_of_all_widths) {
    for (uint64_t seed = 0; seed < (SLOW ? 4 : 20); ++seed) {
        for (const setting &s : narrow)
            mixed_operations(s, seed);
        for (const setting &s : wide)
            mixed_operations(s, seed);
    }
}

// Each write keeps a slow register busy for a while. The clock does not write a deadline out of reach.
TEST(a_deadline_is_written_once_however_often_the_sleep_is_interrupted) {
    for (const setting &s : wide) {
        start(s, 5, 1);
        sleep_once(counter.longest);
        REQUIRE(cpu.waits == 1 && run.writes == 0);
        start(s, 5, 1);
        simulated::run(s.slowness * COUNT);
        const uint64_t deadline = counter.longest - 1;
        for (unsigned i = 0; i < 5; ++i) {
            cpu.other_at = cpu.cycle + 10 * COUNT;
            sleep_once(deadline);
            REQUIRE(cpu.waits == 1 && run.writes == (i == 0 ? 1 : 0));
        }
        sleep_until(deadline);
    }
}

TEST(another_interrupt_ends_a_sleep_without_deadline) {
    for (const setting &s : wide) {
        start(s, 77, 1);
        for (unsigned i = 0; i < 200; ++i) {
            const uint64_t at = cpu.cycle + 100 + below(longest_sleep() * COUNT / 2);
            cpu.other_at = at;
            while (cpu.other_at != simulated::NEVER)
                sleep_once(UINT64_MAX);
            REQUIRE(cpu.cycle <= at + LATEST);
        }
    }
}

TEST(bad_settings_are_refused) {
    start({16, 1, 2, 0}, 0, 0);
    const tw_lptimer good = run.timer;
    const auto refuses = [](const tw_lptimer &timer, uint32_t counts_per_tick) {
        assert_int_equal(tw_lptimer_start(&timer, counts_per_tick), -22);
    };
    refuses(good, 0);
    refuses(good, 0x4000);
    for (const uint32_t bits : {0U, 7U, 33U, UINT32_MAX}) {
        tw_lptimer bad = good;
        bad.bits = bits;
        refuses(bad, 1);
    }
    for (const uint32_t least : {0U, 0x2000U, UINT32_MAX}) {
        tw_lptimer bad = good;
        bad.least_ahead = least;
        refuses(bad, 1);
    }
    now();  // the clock has not changed
    look();
    assert_int_equal(tw_lptimer_start(&good, 0x3FFF), 0);
}

}  // namespace

void tw_before_sleep(uint64_t ticks) {
    REQUIRE(!run.asleep);
    run.asleep = true;
    const uint64_t end = run.begin + (counter.tick + ticks) * counter.counts_per_tick;
    REQUIRE(ticks == 0 ? cpu.pending : cpu.pending || simulated::next_match() + cpu.early == end);
    REQUIRE(end <= run.begin + counter.tick * counter.counts_per_tick + longest_sleep());
}

void tw_after_sleep() {
    REQUIRE(run.asleep);
    run.asleep = false;
}

static void serve_timer() { tw_lptimer_isr(); }

// The other interrupt reads the clock, and holds up the code that it interrupts.
static void serve_other() {
    const uint64_t begin = cpu.cycle;
    simulated::pass(below(20));
    now();
    cpu.held_up += cpu.cycle - begin;
}

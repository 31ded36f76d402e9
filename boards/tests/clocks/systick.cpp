// boards/cortexm/systick.c: the clock's readings and the ends of sleeps, exact to the cycle.
// Sweeps over every end of a period, every cut and every delay; other values are random with
// fixed seeds.
#include "systick_simulated.hpp"

#define REGISTER(address) (simulated::reg{address})
#include "cortexm/systick.c"

namespace {

using simulated::below;
using simulated::cpu;

// From a deadline, or another interrupt, to the return of the sleep: about 30 accesses.
constexpr uint64_t LATEST = simulated::WAKING + 30 * simulated::COST;

constexpr uint32_t all_lengths[] = {256, 257, 1000, 25000, 0x7FFFFF, 0x800000, 0x1000000};

struct {
    uint64_t begin;  // of tick 0
    uint64_t lag;    // of the clock, in cycles: the total cost of cuts
    uint64_t last;   // the clock's latest reading
    uint64_t longest_service;
} run;

#define REQUIRE(condition) \
    do \
        if (!(condition)) \
            fail_msg("%s, %u cycles per tick, in tick %llu", #condition, \
                     static_cast<unsigned>(counter.cycles_per_tick), \
                     static_cast<unsigned long long>(tick_of(cpu.cycle))); \
    while (false)

uint64_t begin_of(uint64_t tick) { return run.begin + run.lag + tick * counter.cycles_per_tick; }
uint64_t tick_of(uint64_t cycle) { return (cycle - run.begin - run.lag) / counter.cycles_per_tick; }

// Compares the clock with the counter: the clock lags by the cost of its restarts, and no more.
void look_at_lag() {
    const bool loading = cpu.value == 0 && !cpu.countflag;
    const uint64_t end = cpu.cycle + (loading ? cpu.load + 1U : cpu.value);
    const uint64_t tick = counter.ends + (cpu.countflag && cpu.value != 0 ? counter.following : 0);
    run.lag = cpu.lost;
    REQUIRE(end == begin_of(tick));
    REQUIRE(cpu.load + 1 == counter.following * counter.cycles_per_tick);
    // While the processor is awake a period is a tick, unless it was too close to its end to be changed.
    REQUIRE(counter.following == 1 || cpu.value < GUARD || cpu.countflag);
}

uint64_t now() {
    const uint64_t last = run.last;
    const uint64_t least = tick_of(cpu.cycle);
    const uint64_t n = tw_systick_now();
    REQUIRE(n >= least && n <= tick_of(cpu.cycle));
    REQUIRE(n >= last);
    REQUIRE(n == tick_of(cpu.read_at) || (!cpu.masked && !cpu.serving));  // no other reading since
    run.last = n;
    look_at_lag();
    return n;
}

void start(uint32_t cycles_per_tick, tw_systick_mode mode, uint64_t seed) {
    cpu = {};
    cpu.seed = seed;
    cpu.other_at = simulated::NEVER;
    cpu.masked = true;
    assert_int_equal(tw_systick_start(cycles_per_tick, mode), 0);
    run = {cpu.cycle, 0, 0, cycles_per_tick / 4};
    tw_interrupts_restore(0);
}

void sleep_until(uint64_t deadline) {
    if (deadline == UINT64_MAX && cpu.other_at == simulated::NEVER)
        cpu.other_at = cpu.cycle + below(0x2000000);
    const uint32_t mask = tw_interrupts_mask();
    const uint64_t from = now();
    const uint64_t soonest_cut = counter.following == 1 ? counter.ends : counter.ends + counter.following;
    const bool may_cut = deadline > from && deadline < soonest_cut;
    const bool may_miss = cpu.hold_for > simulated::HELD_UP;
    const uint64_t entered = cpu.cycle;
    const uint64_t other_at = std::max(entered, cpu.other ? entered : cpu.other_at);
    cpu.accesses = cpu.waits = cpu.restarts = cpu.held_up = 0;
    cpu.lost_most = 0;

    tw_systick_sleep_until(deadline);

    look_at_lag();
    REQUIRE(cpu.restarts <= (may_cut ? 1U : 0U) + (may_miss ? 1U : 0U));
    // A cut takes a write of LOAD and one of VALUE. For a missed end, the clock reads once in between.
    REQUIRE(cpu.lost_most <= (may_miss ? 3 : 2) * simulated::COST + cpu.held_up);
    REQUIRE(cpu.other || counter.ticking || tick_of(cpu.cycle) >= deadline);
    uint64_t due = std::max(entered, deadline == UINT64_MAX ? entered : begin_of(deadline));
    if (cpu.other && (other_at < due || deadline == UINT64_MAX))
        due = other_at;
    if (counter.ticking)
        due = std::min(due, std::max(entered, begin_of(from + 1)));
    REQUIRE(cpu.cycle <= due + LATEST + cpu.held_up);
    REQUIRE(cpu.waits <= 3 + (cpu.cycle - entered) / counter.cycles_per_tick / counter.longest);
    tw_interrupts_restore(mask);
    now();
}

// Runs to the cycle at this offset from the start of a tick, unless it has passed.
void run_to(uint64_t tick, int64_t offset) {
    const uint64_t to = begin_of(tick) + static_cast<uint64_t>(offset);
    if (to > cpu.cycle)
        simulated::run(to - cpu.cycle);
}

void interrupt_at(uint64_t tick, int64_t offset) {
    cpu.other_at = std::max(cpu.cycle + 1, begin_of(tick) + static_cast<uint64_t>(offset));
}

uint64_t some_deadline(uint64_t n) {
    const uint64_t up_to[] = {1, 2, 4, 4, 40, 0x3000000 / counter.cycles_per_tick + 3};
    const uint32_t kind = below(COUNT_OF(up_to) + 2);
    if (kind < COUNT_OF(up_to))
        return n + below(up_to[kind]);
    return kind == COUNT_OF(up_to) ? UINT64_MAX : n - std::min<uint64_t>(n, below(5));
}

TEST(now_is_exact_around_each_tick_also_while_its_interrupt_is_pending) {
    for (const uint32_t length : all_lengths) {
        start(length, TW_TICKLESS, length);
        for (int64_t offset = -40; offset <= 40; ++offset) {
            run_to(run.last + 2, -100);
            const uint32_t mask = tw_interrupts_mask();
            simulated::pass(begin_of(run.last + 2) + static_cast<uint64_t>(offset) - cpu.cycle);
            now();
            now();
            tw_interrupts_restore(mask);
            now();
        }
        assert_int_equal(run.lag, 0);
    }
}

TEST(now_is_exact_in_interrupts_that_cut_into_it_anywhere) {
    for (const uint32_t length : all_lengths) {
        start(length, TW_TICKLESS, length);
        run.longest_service = 10;
        cpu.nagging = true;
        for (int64_t offset = -40; offset <= 40; ++offset) {
            run_to(run.last + 2, offset);
            now();
            sleep_until(run.last + 4);  // long enough for a long period
            now();
        }
        assert_int_equal(run.lag, 0);
    }
}

void sleep_from_any_offset(uint32_t length, tw_systick_mode mode) {
    start(length, mode, length);
    for (uint64_t ticks = 0; ticks <= 4; ++ticks)
        for (int64_t offset = -200; offset <= 20; ++offset) {
            run_to(run.last + 2, offset);
            sleep_until(tick_of(cpu.cycle) + ticks);
        }
    assert_int_equal(run.lag, 0);
}

TEST(sleeps_that_begin_at_any_offset_end_in_time) {
    for (const uint32_t length : all_lengths) {
        sleep_from_any_offset(length, TW_TICKLESS);
        sleep_from_any_offset(length, TW_TICKING);
    }
}

TEST(sleeps_cut_at_any_offset_cost_the_way_to_the_restart_and_nothing_else) {
    for (const uint32_t length : all_lengths) {
        start(length, TW_TICKLESS, length);
        for (uint64_t at = 1; at <= 6; ++at)
            for (uint64_t next = at; next <= 7; ++next)
                for (int64_t offset = -180; offset <= 60; ++offset) {
                    run_to(run.last + 2, 30);
                    const uint64_t n = now();
                    interrupt_at(n + at, offset);
                    sleep_until(n + 5);
                    run_to(n + at, offset);
                    sleep_until(n + next);
                    sleep_until(n + 8);
                }
    }
}

void held_up_sleep(uint64_t ticks, uint32_t access, uint32_t cycles) {
    cpu.hold_after = access;
    cpu.hold_for = cycles;
    sleep_until(tick_of(cpu.cycle) + ticks);
    cpu.hold_for = 0;
}

TEST(accesses_that_are_held_up_cost_no_more_than_that) {
    for (const uint32_t length : all_lengths) {
        start(length, TW_TICKLESS, length);
        for (const uint32_t held_up : {30U, 90U, 150U, 200U, 250U})
            for (uint32_t access = 0; access < 30; ++access)
                for (int64_t offset = -300; offset <= 20; offset += 7) {
                    run_to(run.last + 2, offset);
                    held_up_sleep(3, access, held_up);
                    run_to(run.last + 2, 30);
                    interrupt_at(run.last + 3, offset);
                    sleep_until(run.last + 5);
                    held_up_sleep(1, access, held_up);
                }
    }
}

TEST(sleeps_of_all_kinds_under_interrupts_and_hold_ups) {
    for (const uint32_t length : all_lengths) {
        start(length, TW_TICKLESS, length);
        for (unsigned i = 0; i < 6000; ++i) {
            simulated::run(below(3) != 0 ? below(300) : below(2 * length));
            const uint64_t deadline = some_deadline(now());
            if (below(3) == 0)
                cpu.other_at = cpu.cycle + 1 + (below(2) != 0 ? below(3 * length) : below(0x2000000));
            cpu.hold_after = below(40);
            cpu.hold_for = below(2) != 0 ? below(simulated::HELD_UP) : 0;
            sleep_until(deadline);
            if (below(2) != 0)
                sleep_until(some_deadline(now()));
        }
    }
}

}  // namespace

static void serve_timer() { tw_systick_isr(); }

// The other interrupt reads the clock. It takes long, but less time than the tick's interrupt can wait.
static void serve_other() {
    simulated::pass(below(run.longest_service));
    now();
}

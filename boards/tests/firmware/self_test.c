/* Run this first on a new board: it checks that the port's lock, the clock and the interrupts
 * behave as the library expects. It prints a line for each check, and ends with 0 if none fails.
 *
 * Needs host_print, the clock, a software interrupt (board.h) and a second timer (timer.h). For a machine
 * that lacks one of the latter two, define NO_SOFTWARE_INTERRUPT or NO_SECOND_TIMER in machine.h: the test
 * then skips the checks that need it, and calls none of its functions. The build chooses the port with
 * TW_PORT_HEADER. If the port's lock masks by BASEPRI, TW_BASEPRI must be its priority, and the start-up code
 * must give all interrupts that call the library this priority or a less urgent one. */
#include <stdbool.h>
#include <stddef.h>

#include <board.h>
#include <clock.h>
#include <host.h>
#include <stopwatch.h>

#include <tickwheel/board/deadline.h>
#include <tickwheel/port.h>
#include <tickwheel/tw.h>

#include "expect.h"

enum { TICKS_PER_SECOND = 1000 };

static volatile unsigned signals; /* software interrupts served */

void on_tick(void) { clock_isr(); }
void on_signal(void) { ++signals; }

static bool all_is_well = true, is_complete = true;

static void ask(const char *what, bool (*is_so)(void)) {
    const bool passes = is_so();
    host_print(passes ? "PASS  " : "FAIL  ");
    host_print(what);
    host_print("\n");
    all_is_well = all_is_well && passes;
}

#if defined(NO_SOFTWARE_INTERRUPT) || defined(NO_SECOND_TIMER)
static void skip(const char *what) {
    host_print("SKIP  ");
    host_print(what);
    host_print("\n");
    is_complete = false;
}
#endif

#ifdef NO_SOFTWARE_INTERRUPT

static void ask_about_lock(void) { skip("the lock: there is no software interrupt"); }
static void ask_about_pending_interrupts(void) {
    skip("a pending interrupt ends a sleep: there is no software interrupt");
}

#else

/* ---- The lock. An interrupt that is raised while the lock is held comes after the release. */

static bool serves_signals(void) {
    const unsigned before = signals;
    signal_raise();
    return signals == before + 1;
}

static bool lock_masks(void) {
    uint32_t word;
    tw_port_lock_init(&word);
    tw_port_lock(&word);
    const bool served_inside = serves_signals();
    const unsigned before = signals;
    tw_port_unlock(&word);
    return !served_inside && signals == before + 1;
}

static bool lock_lets_interrupts_in_again(void) {
    uint32_t word;
    tw_port_lock_init(&word);
    tw_port_lock(&word);
    tw_port_unlock(&word);
    return serves_signals();
}

static bool lock_leaves_masked_what_was_masked(void) {
    uint32_t word;
    tw_port_lock_init(&word);
    const uint32_t mask = tw_interrupts_mask();
    tw_port_lock(&word);
    tw_port_unlock(&word);
    const bool served = serves_signals();
    tw_interrupts_restore(mask);
    return !served;
}

static bool locks_nest(void) {
    uint32_t outer, inner;
    tw_port_lock_init(&outer);
    tw_port_lock_init(&inner);
    tw_port_lock(&outer);
    tw_port_lock(&inner);
    tw_port_unlock(&inner);
    const bool served_inside = serves_signals();
    tw_port_unlock(&outer);
    return !served_inside && serves_signals();
}

#ifdef TW_BASEPRI

/* ---- A lock by BASEPRI. The software interrupt has the most urgent priority that the lock must keep out;
 * some of these checks give the interrupt another priority for a while. */

/* The next priority more urgent than TW_BASEPRI that this part can tell apart. */
static uint32_t next_more_urgent(void) {
    const uint32_t former = tw_interrupts_mask_from(0xFF);
    const uint32_t bits = tw_interrupts_mask_from(0xFF); /* those that the part has */
    tw_interrupts_restore_from(former);
    return TW_BASEPRI - (bits & (0u - bits));
}

static bool lock_leaves_more_urgent_interrupts_running(void) {
    uint32_t word;
    tw_port_lock_init(&word);
    signal_set_priority(next_more_urgent());
    tw_port_lock(&word);
    const bool served_inside = serves_signals();
    tw_port_unlock(&word);
    signal_set_priority(TW_BASEPRI);
    return served_inside;
}

/* True if interrupts of `priority`, which the program has masked, stay masked in the lock and after it. */
static bool stays_masked(uint32_t priority) {
    uint32_t word;
    tw_port_lock_init(&word);
    signal_set_priority(priority);
    const uint32_t former = tw_interrupts_mask_from(priority);
    tw_port_lock(&word);
    const bool served_inside = serves_signals();
    tw_port_unlock(&word);
    const bool served_after = serves_signals();
    tw_interrupts_restore_from(former);
    signal_set_priority(TW_BASEPRI);
    return !served_inside && !served_after;
}

static bool lock_restores_basepri(void) { return stays_masked(TW_BASEPRI); }

/* BASEPRI cannot mask priority 0: if that comes next, there is no mask that the lock could lower. */
static bool lock_never_lowers_basepri(void) {
    const uint32_t priority = next_more_urgent();
    return priority == 0 || stays_masked(priority);
}

static void ask_about_basepri(void) {
    ask("the lock leaves more urgent interrupts running", lock_leaves_more_urgent_interrupts_running);
    ask("the lock restores a BASEPRI of its own priority", lock_restores_basepri);
    ask("the lock never lowers a more urgent BASEPRI", lock_never_lowers_basepri);
}

#else

static void ask_about_basepri(void) {}

#endif

static void ask_about_lock(void) {
#ifdef TW_BASEPRI
    signal_set_priority(TW_BASEPRI);
#endif
    signal_start();
    ask("an interrupt comes when it is raised", serves_signals);
    ask("the lock keeps interrupts out", lock_masks);
    ask("the lock lets them in again", lock_lets_interrupts_in_again);
    ask("the lock leaves masked what was masked", lock_leaves_masked_what_was_masked);
    ask("locks nest", locks_nest);
    ask_about_basepri();
}

static bool pending_interrupts_end_a_sleep(void) {
    const uint64_t now = clock_now();
    const uint32_t mask = tw_interrupts_mask();
    signal_raise();
    clock_sleep_until(now + 1000);
    tw_interrupts_restore(mask);
    return clock_now() <= now + 1;
}

static void ask_about_pending_interrupts(void) {
    ask("a pending interrupt ends a sleep", pending_interrupts_end_a_sleep);
}

#endif

/* ---- The clock. */

static bool clock_starts(void) { return clock_start(CLOCK_HZ / TICKS_PER_SECOND, TW_TICKLESS) == 0; }

static bool clock_goes_forward(void) {
    const uint64_t first = clock_now();
    for (uint64_t before = first; before < first + 5;) {
        const uint64_t now = clock_now();
        if (now < before || now > before + 1)
            return false;
        before = now;
    }
    return true;
}

static void sleep_until(uint64_t tick) {
    while (clock_now() < tick) {
        const uint32_t mask = tw_interrupts_mask();
        clock_sleep_until(tick);
        tw_interrupts_restore(mask);
    }
}

#ifdef NO_SECOND_TIMER

static void ask_about_tick_length(void) {
    skip("ticks are as long as they should be: there is no second timer");
}

#else

/* By another timer, 50 ticks are less than a tick too short or too long. */
static bool ticks_are_as_long_as_they_should_be(void) {
    sleep_until(clock_now() + 1);
    const uint32_t begin = stopwatch_read();
    sleep_until(clock_now() + 50);
    const uint32_t took = stopwatch_read() - begin;
    /* A tick is a whole number of the clock's counts, so a slow clock has ticks of another length. */
    const uint64_t counts = CLOCK_HZ / TICKS_PER_SECOND;
    const uint32_t tick = (uint32_t)(counts * STOPWATCH_HZ / CLOCK_HZ);
    const bool is_so = took > 49 * tick && took < 51 * tick;
    if (!is_so) {
        say("counts of the stopwatch in 50 ticks:", took);
        say("  there should be", 50 * tick);
    }
    return is_so;
}

static void ask_about_tick_length(void) {
    stopwatch_start();
    ask("ticks are as long as they should be", ticks_are_as_long_as_they_should_be);
}

#endif

static bool sleep_ends_at_its_tick(void) {
    const uint64_t tick = clock_now() + 20;
    sleep_until(tick);
    return clock_now() == tick;
}

/* ---- The wheel. */

static struct {
    uint32_t before;
    struct tw wheel;
    uint32_t after;
} guarded = {.before = 0x600DF00D, .after = 0x600DF00D};
static struct tw_node timer, earlier;
static volatile uint64_t fired_at;

static void on_fire(struct tw_node *node, void *arg) {
    (void)node, (void)arg;
    fired_at = clock_now();
}

static bool library_and_headers_agree(void) {
    const bool is_version = tw_version() == TW_VERSION;
    const bool is_aligned = offsetof(struct tw_node, expiry) % _Alignof(tw_tick) == 0;
    tw_init(&guarded.wheel, (tw_tick)clock_now(), 0);
    tw_node_init(&timer, on_fire, NULL);
    tw_node_init(&earlier, on_fire, NULL);
    return is_version && is_aligned && tw_check(&guarded.wheel, NULL, NULL) == 0 &&
           guarded.before == 0x600DF00D && guarded.after == 0x600DF00D;
}

/* Runs a program's main loop until a timer has fired. */
static void loop(void) {
    fired_at = 0;
    while (fired_at == 0) {
        const uint64_t now = clock_now();
        tw_advance(&guarded.wheel, (tw_tick)now, TW_UNBOUNDED);
        const uint32_t mask = tw_interrupts_mask();
        if (fired_at == 0)
            clock_sleep_until(tw_clock_deadline(now, (tw_tick)now, tw_next(&guarded.wheel)));
        tw_interrupts_restore(mask);
    }
}

static bool timers_fire_at_their_tick(void) {
    const uint64_t tick = clock_now() + 30;
    tw_arm_at(&guarded.wheel, &timer, (tw_tick)tick);
    loop();
    return fired_at == tick;
}

#ifdef NO_SECOND_TIMER

static void ask_about_arming_interrupts(void) {
    skip("an interrupt arms a timer while the loop sleeps: there is no second timer");
}

#else

static volatile uint64_t earlier_tick;

void on_alarm(void) {
    alarm_silence();
    earlier_tick = clock_now() + 5;
    tw_arm_at(&guarded.wheel, &earlier, (tw_tick)earlier_tick);
}

static bool interrupts_arm_while_the_loop_sleeps(void) {
    tw_arm_at(&guarded.wheel, &timer, (tw_tick)clock_now() + 1000);
    alarm_start(STOPWATCH_HZ / TICKS_PER_SECOND * 7);
    loop();
    return fired_at == earlier_tick && tw_cancel(&guarded.wheel, &timer) == 1 &&
           tw_check(&guarded.wheel, NULL, NULL) == 0;
}

static void ask_about_arming_interrupts(void) {
    ask("an interrupt arms a timer while the loop sleeps", interrupts_arm_while_the_loop_sleeps);
}

#endif

/* ---- All of them. */

int main(void) {
    ask_about_lock();
    ask("the clock starts", clock_starts);
    ask("the clock goes forward, tick by tick", clock_goes_forward);
    ask_about_tick_length();
    ask("a sleep ends at its tick", sleep_ends_at_its_tick);
    ask_about_pending_interrupts();
    ask("the library and its headers agree", library_and_headers_agree);
    ask("a timer fires at its tick", timers_fire_at_their_tick);
    ask_about_arming_interrupts();
    host_print(!all_is_well  ? "this board is NOT ready\n"
               : is_complete ? "this board is ready\n"
                             : "this board is ready, except for what was skipped\n");
    return all_is_well ? 0 : 1;
}

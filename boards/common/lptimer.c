/* Ticks from a narrow counter with one compare register; lptimer.h says how to use it. One core;
 * interrupts may call tw_lptimer_now.
 *
 * The clock never writes the counter. Each reading brings the clock from the last known count to the present
 * one, which works if the counter has not gone through its whole range in between. So the compare register
 * always holds a value ahead, whose interrupt reads the counter: a deadline, or the furthest value that is
 * safe.
 *
 * Invariants, with interrupts masked
 *   L1  Tick `tick` began when the counter was at `begun_at`, and the counter has not gone through its
 *       range since. So now = tick + (counter - begun_at) / counts_per_tick, rounded down: the clock is
 *       never ahead of the counter (P1), and later readings include the rest (P5).
 *   L2  The compare register holds `compare`. Either the counter will certainly meet this value, at most
 *       `longest` ticks after a past begun_at, or it has met the value and the interrupt is pending. If the
 *       program serves that interrupt within the rest of the range, L1 continues to hold. */
#include <tickwheel/board/lptimer.h>

#include <stdbool.h>

#include <tickwheel/board/hooks.h>

static struct {
    const struct tw_lptimer *timer;
    uint64_t tick;
    uint32_t begun_at;
    uint32_t compare;
    uint32_t counts_per_tick;
    uint32_t top;     /* the highest count, 2^bits - 1 */
    uint32_t longest; /* ticks that may pass without an interrupt: at most three quarters of the range */
} counter;

/* Reads until two readings agree: a reading taken while the counter changes does not come twice. */
static uint32_t read_count(void) {
    uint32_t before = counter.timer->read() & counter.top;
    uint32_t count = counter.timer->read() & counter.top;
    while (count != before) {
        before = count;
        count = counter.timer->read() & counter.top;
    }
    return count;
}

/* Counts from begun_at on to another count. */
static uint32_t distance_to(uint32_t count) { return (count - counter.begun_at) & counter.top; }

static void catch_up(void) {
    const uint32_t passed = distance_to(read_count());
    if (passed < counter.counts_per_tick)
        return; /* the usual case; a Cortex-M0 has no division */
    const uint32_t ticks = passed / counter.counts_per_tick;
    counter.tick += ticks;
    counter.begun_at += ticks * counter.counts_per_tick;
}

/* True if the counter will meet a compare value that is written now, for the tick in `ticks` ticks. */
static bool is_far_enough(uint32_t ticks) {
    const uint32_t ahead = ticks * counter.counts_per_tick;
    const uint32_t passed = distance_to(read_count());
    return passed < ahead && ahead - passed >= counter.timer->least_ahead;
}

static bool set_compare(uint32_t ticks) {
    const uint32_t at = (counter.begun_at + ticks * counter.counts_per_tick) & counter.top;
    if (counter.timer->set_compare(at) == 0)
        return false;
    counter.compare = at;
    return true;
}

/* Makes the next interrupt come as late as it may. */
static void set_latest_compare(void) {
    while (!set_compare(counter.longest)) {
    }
}

/* Makes an interrupt come when `in_ticks` more ticks have begun, or earlier. Returns false if the counter may
 * miss the value: the caller asks again. Reads the counter again after the write, because the write may have
 * taken any time. */
static bool set_interrupt(uint64_t in_ticks) {
    if (in_ticks >= counter.longest)
        return true; /* L2 */
    const uint32_t ticks = (uint32_t)in_ticks;
    if (distance_to(counter.compare) == ticks * counter.counts_per_tick)
        return true; /* L2 */
    if (!is_far_enough(ticks) || !set_compare(ticks))
        return false;
    if (is_far_enough(ticks))
        return true;
    set_latest_compare();
    return false;
}

/* The ticks to the next interrupt; 0 if it is pending. A compare value lies at most `longest` ahead until the
 * counter meets it, and further ahead afterwards. */
static uint32_t ticks_to_interrupt(void) {
    const uint32_t ticks = distance_to(counter.compare) / counter.counts_per_tick;
    return ticks <= counter.longest ? ticks : 0u;
}

static uint32_t top_of(const struct tw_lptimer *timer) { return UINT32_MAX >> (32u - timer->bits); }

static bool is_usable(const struct tw_lptimer *timer, uint32_t counts_per_tick) {
    if (timer->bits < 8u || timer->bits > 32u)
        return false;
    const uint32_t top = top_of(timer);
    return counts_per_tick >= 1u && counts_per_tick <= top / 4u && timer->least_ahead >= 1u &&
           timer->least_ahead <= top / 8u;
}

int tw_lptimer_start(const struct tw_lptimer *timer, uint32_t counts_per_tick) {
    if (!is_usable(timer, counts_per_tick))
        return -22;
    const uint32_t mask = tw_interrupts_mask();
    counter.timer = timer;
    counter.counts_per_tick = counts_per_tick;
    counter.top = top_of(timer);
    counter.longest = (counter.top - counter.top / 4u) / counts_per_tick;
    counter.tick = 0;
    counter.begun_at = read_count();
    set_latest_compare();
    tw_interrupts_restore(mask);
    return 0;
}

uint64_t tw_lptimer_now(void) {
    const uint32_t mask = tw_interrupts_mask();
    catch_up();
    const uint64_t now = counter.tick;
    tw_interrupts_restore(mask);
    return now;
}

void tw_lptimer_isr(void) {
    const uint32_t mask = tw_interrupts_mask();
    catch_up();
    set_latest_compare();
    tw_interrupts_restore(mask);
}

void tw_lptimer_sleep_until(uint64_t deadline) {
    const uint32_t mask = tw_interrupts_mask_to_wait();
    catch_up();
    if (deadline > counter.tick && set_interrupt(deadline - counter.tick)) {
        tw_before_sleep(ticks_to_interrupt());
        tw_interrupts_wait();
        tw_after_sleep();
    }
    tw_interrupts_restore_from_wait(mask);
}

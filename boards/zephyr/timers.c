/* Timers on Zephyr; zephyr/timers.h says how to use them, and above struct tw_zephyr how turns and starts
 * agree on waking (T1 to T4, S1 to S3, K1 to K3).
 *
 * A tick of the kernel has 64 bits, even if a tick of the wheel has 32, and does not wrap. On most parts it
 * is two words, so this file reads and writes it with interrupts masked. */
#include <tickwheel/zephyr/timers.h>

#include <stdbool.h>

/* <errno.h> is not a freestanding header. */
enum { INVALID = -22, OUT_OF_RANGE = -34 };

/* The tick of the kernel that a tick of the wheel stands for, seen from the present. */
static int64_t kernel_tick(tw_tick tick, int64_t now) {
#if TW_TICK_BITS == 32
    const uint32_t ahead = tick - (uint32_t)now;
    return now + (int32_t)ahead;
#else
    (void)now;
    return tick < (tw_tick)INT64_MAX ? (int64_t)tick : INT64_MAX;
#endif
}

/* The last tick that a turn at `now` may sleep until: 32-bit ticks are in order only if they are less than
 * 2^31 after the wheel's present tick, and a delay may be half of that. */
static int64_t longest_sleep(int64_t now) {
#if TW_TICK_BITS == 32
    const tw_tick longest = TW_ZEPHYR_LONGEST / 2u;
    return now + (int64_t)longest;
#else
    (void)now;
    return TW_ZEPHYR_FOREVER;
#endif
}

int tw_zephyr_init(struct tw_zephyr *timers) {
    if (timers == NULL)
        return INVALID;
    timers->sleeps_until = TW_ZEPHYR_AWAKE; /* the first turn comes at once, so no start has to ask for it */
    (void)k_sem_init(&timers->wake, 0, 1);
    return tw_init(&timers->wheel, tw_zephyr_now(), 0);
}

tw_tick tw_zephyr_now(void) { return (tw_tick)k_uptime_ticks(); }

/* --- turns ------------------------------------------------------------------------------------- */

static void be_awake(struct tw_zephyr *timers) {
    const unsigned key = irq_lock();
    timers->sleeps_until = TW_ZEPHYR_AWAKE;
    irq_unlock(key);
}

/* Interrupts stay masked from tw_next until its result is in sleeps_until. Otherwise a start between the two
 * would compare with TW_ZEPHYR_AWAKE, and the thread would sleep on.
 *
 * After T2, tw_next may name a tick that is not after `now`: for look-ahead, or for a node that is due at
 * TW_NEVER, the next tick. Both can wait for the next tick. */
static int64_t plan_sleep(struct tw_zephyr *timers, int64_t now) {
    int64_t end = longest_sleep(now);
    const unsigned key = irq_lock();
    const tw_tick tick = tw_next(&timers->wheel);
    const int64_t next = kernel_tick(tick, now);
    if (tick != TW_NEVER && next < end)
        end = next > now ? next : now + 1;
    timers->sleeps_until = end;
    irq_unlock(key);
    return end;
}

/* The caller does T4. An absolute timeout that has passed would end only at the next tick, hence K_NO_WAIT.
 *
 * In older kernels the clock may step back on one core while another handles the tick's interrupt. tw_advance
 * then refuses the earlier tick, and tw_next names a tick that is still to come. */
k_timeout_t tw_zephyr_turn(struct tw_zephyr *timers) {
    be_awake(timers); /* T1 */
    const int64_t now = k_uptime_ticks();
    (void)tw_advance(&timers->wheel, (tw_tick)now, TW_UNBOUNDED); /* T2 */
    const int64_t end = plan_sleep(timers, now);                  /* T3 */
    if (end == TW_ZEPHYR_FOREVER)
        return K_FOREVER;
    return end > k_uptime_ticks() ? K_TIMEOUT_ABS_TICKS(end) : K_NO_WAIT;
}

void tw_zephyr_run(void *timers, void *unused2, void *unused3) {
    struct tw_zephyr *const self = timers;
    (void)unused2;
    (void)unused3;
    for (;;)
        (void)k_sem_take(&self->wake, tw_zephyr_turn(self));
}

/* --- waking ------------------------------------------------------------------------------------ */

static bool sleeps_beyond(struct tw_zephyr *timers, int64_t tick) {
    const unsigned key = irq_lock();
    const bool result = tick < timers->sleeps_until;
    irq_unlock(key);
    return result;
}

/* Not with interrupts masked: the kernel would not switch to the thread then, nor when the mask is lifted. */
static void wake(struct tw_zephyr *timers) { k_sem_give(&timers->wake); }

void tw_zephyr_wake_by(struct tw_zephyr *timers, tw_tick tick) {
    if (sleeps_beyond(timers, kernel_tick(tick, k_uptime_ticks())))
        wake(timers);
}

/* --- starts ------------------------------------------------------------------------------------ */

/* Returns 0, or the error of a start with this `delay`. */
static int check_start(const struct tw_zephyr *timers, tw_tick delay) {
    if (timers == NULL)
        return INVALID;
    return delay > TW_ZEPHYR_LONGEST ? OUT_OF_RANGE : 0;
}

/* S3. Returns the result of S2. */
static int started(struct tw_zephyr *timers, int result, int64_t due) {
    if (result >= 0 && sleeps_beyond(timers, due))
        wake(timers);
    return result;
}

int tw_zephyr_start(struct tw_zephyr *timers, struct tw_node *node, tw_tick delay) {
    const int error = check_start(timers, delay);
    if (error < 0)
        return error;
    const int64_t due = k_uptime_ticks() + (int64_t)delay + 1;        /* S1 */
    const int result = tw_arm_at(&timers->wheel, node, (tw_tick)due); /* S2 */
    return started(timers, result, due);
}

int tw_zephyr_start_every(struct tw_zephyr *timers, struct tw_node *node, tw_tick period,
                          enum tw_missed missed) {
    const int error = check_start(timers, period);
    if (error < 0)
        return error;
    const int64_t due = k_uptime_ticks() + (int64_t)period + 1;
    return started(timers, tw_arm_every(&timers->wheel, node, (tw_tick)due, period, missed, 0), due);
}

int tw_zephyr_stop(struct tw_zephyr *timers, struct tw_node *node) {
    return timers == NULL ? INVALID : tw_cancel(&timers->wheel, node);
}

/* tickwheel/zephyr/timers.h - timers on Zephyr: a wheel in the kernel's ticks, and a thread that advances it.
 *
 *     static struct tw_zephyr timers;
 *     static struct tw_node retry;
 *     int main(void) {
 *         tw_zephyr_init(&timers);
 *         tw_node_init(&retry, on_retry, &modem);
 *         tw_zephyr_start(&timers, &retry, k_ms_to_ticks_ceil32(30));   // or later, also in interrupts
 *         tw_zephyr_run(&timers, NULL, NULL);                           // this thread calls on_retry
 *     }
 *
 * The thread sleeps until the tick that tw_next names. Starting a timer wakes the thread only if that timer
 * is due earlier. Stopping does not wake the thread: the thread wakes once more at the tick of a stopped
 * timer, finds nothing due and goes on sleeping. Any thread may drive the timers: main's, or one of
 * k_thread_create.
 *
 * A tick of the wheel is a tick of the kernel (CONFIG_SYS_CLOCK_TICKS_PER_SEC of them are a second). With
 * TW_ENGINE=tree32 the thread also wakes once in 2^29 ticks with nothing to do.
 *
 * Conventions are those of tw.h, and:
 *   Arguments  `timers` are the timers that the call is about.
 *   Callbacks  Run in the thread, at its priority, one after the other; threads and interrupts of a higher
 *              priority delay them.
 *   Wheel      All of tw.h may be called on `timers->wheel` except tw_init, tw_advance and tw_update. After
 *              arming there, call tw_zephyr_wake_by.
 *   Interrupts May call tw_zephyr_start, tw_zephyr_start_every, tw_zephyr_stop, tw_zephyr_wake_by and
 *              tw_zephyr_now; zero-latency interrupts must not.
 *   Clock      A delay counts from the end of the tick that k_uptime_ticks() shows, so no timer is early.
 *              In the expiry function of a k_timer, and in an interrupt of such a function, it shows the
 *              tick at which the k_timer was due, not the present one; a timer may be early by as much.
 *   -EINVAL    also: timers is null */
#ifndef TICKWHEEL_ZEPHYR_TIMERS_H
#define TICKWHEEL_ZEPHYR_TIMERS_H

#include <stdint.h>

#include <zephyr/kernel.h>

#include <tickwheel/tw.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The longest delay and period, in ticks: 2^62, or 2^30 with TW_ENGINE=tree32. */
#define TW_ZEPHYR_LONGEST (TW_NEVER / 4u + 1u)

/* Timers, in the caller's storage. All fields but `wheel` and `wake` are private.
 *
 * How a turn of the thread and a start agree on waking:
 *
 *     a turn                                        a start, in a thread or an interrupt
 *     T1  sleeps_until = TW_ZEPHYR_AWAKE            S1  due = the kernel's tick + delay + 1
 *     T2  advances the wheel to the present         S2  arms the node at due
 *     T3  sleeps_until = the tick of tw_next        S3  wakes, if due is before sleeps_until
 *     T4  sleeps until that tick, or woken
 *
 * To wake is to give `wake`. T1, T3, S2 and the comparison of S3 run with interrupts masked.
 *
 * Invariants
 *   K1  Only turns write sleeps_until, and there is one at a time.
 *   K2  During T4, each pending node is due at sleeps_until or later, or a wake ends the sleep, or a start
 *       of that node has not finished S3.
 *   K3  32-bit ticks stand for ticks that are less than 2^31 away: a sleep is then 2^29 ticks at most, a
 *       delay 2^30, and a turn may be late by the rest.
 *
 * K2 holds: if S2 comes before T3, the tw_next of T3 knows the node. Otherwise S3 compares with the value
 * that T3 wrote, or with the value of a later turn, whose T3 knows the node. A wake between T1 and T4 ends
 * the sleep at once. Between T1 and T3 no start wakes the thread, because no node is due before
 * TW_ZEPHYR_AWAKE; T3, which follows, knows the node. */
struct tw_zephyr {
    struct tw wheel;
    struct k_sem wake;    /* 1 from when S3 gives it until T4 takes it */
    int64_t sleeps_until; /* a tick of the kernel, TW_ZEPHYR_AWAKE, or TW_ZEPHYR_FOREVER: no tick */
};

#define TW_ZEPHYR_AWAKE ((int64_t)-1)
#define TW_ZEPHYR_FOREVER INT64_MAX

/* Initialises `timers`, with none pending, and returns 0. Call it before all other functions. */
int tw_zephyr_init(struct tw_zephyr *timers);

/* The function of the thread, for k_thread_create and K_THREAD_DEFINE; a thread may also call it. It takes
 * turns and sleeps between them, and never returns. The thread's stack also carries the callbacks. The kernel
 * passes `unused2` and `unused3`, too. */
void tw_zephyr_run(void *timers, void *unused2, void *unused3);

/* Takes one turn, for a thread that waits for other things too: calls the callbacks that are due, and returns
 * how long the thread may sleep. The thread must wait for `wake` no longer than that, by
 * k_sem_take(&timers->wake, ...) or k_poll, and then take the next turn. One thread takes all turns. */
TW_MUST_CHECK k_timeout_t tw_zephyr_turn(struct tw_zephyr *timers);

/* Starts a one-shot timer: its node is due when at least `delay` ticks have passed. A node that is pending
 * starts again. Wakes the thread if it would sleep for longer. Returns 0.
 *   -EBUSY   the node is pending on another wheel
 *   -EPERM   the node is retired
 *   -ERANGE  the delay is longer than TW_ZEPHYR_LONGEST */
int tw_zephyr_start(struct tw_zephyr *timers, struct tw_node *node, tw_tick delay);

/* Starts a periodic timer: its node is due first when at least `period` ticks have passed, and then every
 * `period` ticks, without drift. `missed` says what becomes of missed fires. Otherwise as
 * tw_zephyr_start. Returns 0.
 *   -EINVAL  also: the period is 0, or `missed` is unknown
 *   -EBUSY   the node is pending on another wheel
 *   -EPERM   the node is retired
 *   -ERANGE  the period is longer than TW_ZEPHYR_LONGEST */
int tw_zephyr_start_every(struct tw_zephyr *timers, struct tw_node *node, tw_tick period,
                          enum tw_missed missed);

/* Stops a timer, as tw_cancel does on its wheel. Returns 1 if this prevented a fire, else 0; the callback may
 * be running in the thread. tw_wait on the wheel waits for that, in threads.
 *   -EBUSY   the node is pending on another wheel */
int tw_zephyr_stop(struct tw_zephyr *timers, struct tw_node *node);

/* Wakes the thread if it would sleep beyond `tick`. Call this after a function of tw.h has armed or moved a
 * node on `timers->wheel`, with the first tick at which the node may fire: for at least d ticks from now,
 * tw_zephyr_now() + d + 1. */
void tw_zephyr_wake_by(struct tw_zephyr *timers, tw_tick tick);

/* Returns the tick that has begun. */
tw_tick tw_zephyr_now(void);

#ifdef __cplusplus
}
#endif

#endif

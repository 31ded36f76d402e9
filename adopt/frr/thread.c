/* The timers of FRR's event loop on a wheel of Tickwheel: this file replaces lib/thread.c, and includes that
 * file under the name thread_original.c.
 *
 * The original keeps its timers in a heap and works on it with functions that DECLARE_HEAP defines. Here
 * functions of the same names work on a wheel. One tick is a microsecond. The mutex of the master protects
 * the wheel.
 *
 * What changes: a master grows by the wheel, and a struct thread by the node. Timers that are due in the same
 * microsecond run in the order in which they were added, and so do those whose time had passed when they were
 * added. When many timers lie far ahead, the loop may wake before the first one is due; it then runs nothing
 * and sleeps on. "show thread timers" holds the mutex of the master that it shows. */
#include <zebra.h>

#include "frr_pthread.h"
#include "thread.h"

#define LOOKS 32 /* at the first timers, for the exact time of the first */

static void unused(struct tw_node *node, void *arg) { (void)node, (void)arg; }

static tw_tick tick_of(const struct timeval *time) {
    if (time->tv_sec < 0 || (time->tv_sec == 0 && time->tv_usec < 0))
        return 0;
    if ((tw_tick)time->tv_sec >= TW_NEVER / TIMER_SECOND_MICRO)
        return TW_NEVER - 1;
    return (tw_tick)time->tv_sec * TIMER_SECOND_MICRO + time->tv_usec;
}

static void thread_timer_list_init(struct thread_timer_list_head *timers) {
    struct timeval now;
    monotime(&now);
    tw_init(&timers->wheel, tick_of(&now), TW_UNLOCKED);
}

static size_t thread_timer_list_count(struct thread_timer_list_head *timers) {
    return tw_count(&timers->wheel);
}

static void thread_timer_list_add(struct thread_timer_list_head *timers, struct thread *thread) {
    const tw_tick due = tick_of(&thread->u.sands);
    tw_node_init(&thread->timeritem.node, unused, thread);
    tw_arm_at(&timers->wheel, &thread->timeritem.node, due);
    if (due < timers->earliest) {
        timers->earliest = due;
        timers->first = thread;
    }
}

static void thread_timer_list_del(struct thread_timer_list_head *timers, struct thread *thread) {
    tw_cancel(&timers->wheel, &thread->timeritem.node);
    if (thread == timers->first) {
        timers->earliest = 0;
        timers->first = NULL;
    }
}

/* Returns the first timer, or if the wheel has no cheap answer a stand-in. Only its time may be used. */
static struct thread *first(struct thread_timer_list_head *timers) {
    static _Thread_local struct thread stand_in;
    if (timers->earliest == 0) {
        const struct tw_node *node = tw_first(&timers->wheel, LOOKS);
        timers->first = node != NULL ? node->arg : NULL;
        timers->earliest = node != NULL ? tw_expiry(&timers->wheel, node) : tw_next(&timers->wheel);
    }
    if (timers->first != NULL)
        return timers->first;
    stand_in.u.sands.tv_sec = timers->earliest / TIMER_SECOND_MICRO;
    stand_in.u.sands.tv_usec = timers->earliest % TIMER_SECOND_MICRO;
    return &stand_in;
}

/* Takes the first timer off the wheel if it is due, for thread_timer_list_pop. */
static struct thread *due_by(struct thread_timer_list_head *timers, const struct timeval *time) {
    const tw_tick now = tick_of(time);
    struct tw_fire due;
    if (now < timers->earliest)
        return NULL;
    timers->earliest = 0;
    timers->first = NULL;
    timers->taken = tw_take(&timers->wheel, now, &due) == 1 ? due.arg : NULL;
    return timers->taken;
}

/* In the function of the original that has a parameter `timenow`, this asks for a timer that is due by then;
 * elsewhere, for the first timer. */
#define thread_timer_list_first(timers) (timenow != NULL ? due_by(timers, timenow) : first(timers))
static const struct timeval *const timenow = NULL;

static struct thread *walk(struct thread_timer_list_head *timers) {
    const struct tw_node *node = tw_walk_next(&timers->wheel, &timers->walk);
    if (node != NULL)
        return node->arg;
    timers->walk = (struct tw_walk){0}; /* the next call begins another walk */
    return NULL;
}

/* Returns another timer, in a loop over all timers that begins with the first. */
static struct thread *thread_timer_list_next(struct thread_timer_list_head *timers,
                                             const struct thread *thread) {
    struct thread *next = walk(timers);
    (void)thread;
    return next != NULL && next == timers->first ? walk(timers) : next;
}

/* Only thread_master_free pops without asking for the first timer; it pops all timers, in any order. */
static struct thread *thread_timer_list_pop(struct thread_timer_list_head *timers) {
    struct thread *thread = timers->taken != NULL ? timers->taken : walk(timers);
    if (thread != NULL && thread != timers->taken)
        tw_cancel(&timers->wheel, &thread->timeritem.node);
    timers->taken = NULL;
    return thread;
}

#undef DECLARE_HEAP
#define DECLARE_HEAP(prefix, type, field, compare) static __typeof__(compare) compare __attribute__((unused))
#undef frr_each
#define frr_each(prefix, timers, thread) frr_with_mutex(&m->mtx) while ((thread = walk(timers)) != NULL)
#include "thread_original.c"

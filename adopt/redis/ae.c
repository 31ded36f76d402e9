/* The time events of Redis's event loop on a wheel of Tickwheel: this file replaces src/ae.c, and includes
 * that file under the name ae_original.c.
 *
 * The original keeps time events in an unsorted list, and goes through all of them twice in each turn. Here
 * the list has a single entry, the alarm, which fires the due timers of the wheel. One tick is a
 * microsecond.
 *
 * What changes: time events that are due in the same turn run by deadline, not the newest first; time events
 * that become due meanwhile run in the next turn. A deleted time event is finalized at once, or when its
 * function returns, not in the next turn. aeProcessEvents counts all time events of a turn as one. */
#define aeCreateTimeEvent create_in_list
#define aeDeleteEventLoop delete_loop
#define aeDeleteTimeEvent delete_in_list
#include "ae_original.c"
#undef aeCreateTimeEvent
#undef aeDeleteEventLoop
#undef aeDeleteTimeEvent

#include <tickwheel/tw.h>

#define LOOKS 32                                 /* at the first timers, for an exact deadline */
#define LONGEST_SLEEP (INT64_C(86400) * 1000000) /* the loop counts its sleep in milliseconds, in an int */
#define NEXT_LIFE (INT64_C(1) << 32)

struct timer {
    struct tw_node node;
    long long id; /* low half: the index; high half: how many time events have used this struct before */
    aeEventLoop *loop;
    aeTimeProc *function; /* null: no time event uses this struct */
    aeEventFinalizerProc *finalizer;
    void *data;
    struct timer *next_free;
};

struct timers {
    struct tw wheel;
    struct timer **all, *free;
    uint32_t count;
};

static int ring(aeEventLoop *loop, long long id, void *data);

static aeTimeEvent *alarm_of(const aeEventLoop *loop) {
    aeTimeEvent *entry = loop->timeEventHead;
    while (entry != NULL && entry->id == AE_DELETED_EVENT_ID)
        entry = entry->next;
    return entry;
}

static struct timers *timers_of(aeEventLoop *loop) {
    const aeTimeEvent *alarm = alarm_of(loop);
    struct timers *timers;
    if (alarm != NULL)
        return alarm->clientData;
    timers = zcalloc(sizeof *timers);
    tw_init(&timers->wheel, getMonotonicUs(), TW_UNLOCKED);
    create_in_list(loop, LONGEST_SLEEP / 1000, ring, timers, NULL);
    return timers;
}

static struct timer *find(struct timers *timers, long long id) {
    const uint32_t index = (uint32_t)id;
    struct timer *timer = index < timers->count ? timers->all[index] : NULL;
    return timer != NULL && timer->id == id && timer->function != NULL ? timer : NULL;
}

static void arm(struct timers *timers, struct timer *timer, tw_tick due) {
    const tw_tick now = tw_now(&timers->wheel);
    /* A time event started by another time event never runs in the same turn. */
    tw_arm_at(&timers->wheel, &timer->node, due > now ? due : now + 1);
}

static void end(struct timers *timers, struct timer *timer) {
    timer->function = NULL;
    timer->id = (timer->id + NEXT_LIFE) & INT64_MAX;
    if (timer->finalizer != NULL)
        timer->finalizer(timer->loop, timer->data);
    timer->next_free = timers->free;
    timers->free = timer;
}

static void fire(struct tw_node *node, void *arg) {
    struct timer *timer = arg;
    struct timers *timers = timers_of(timer->loop);
    const int wait = timer->function(timer->loop, timer->id, timer->data);
    (void)node;
    if (timer->function == NULL || wait == AE_NOMORE)
        end(timers, timer);
    else
        arm(timers, timer, getMonotonicUs() + wait * 1000LL);
}

static struct timer *add(struct timers *timers) {
    struct timer *timer = timers->free;
    if (timer != NULL) {
        timers->free = timer->next_free;
        return timer;
    }
    if ((timers->count & (timers->count - 1)) == 0)
        timers->all = zrealloc(timers->all, 2 * (timers->count + 1) * sizeof(struct timer *));
    timer = zcalloc(sizeof *timer);
    tw_node_init(&timer->node, fire, timer);
    timer->id = timers->count;
    timers->all[timers->count++] = timer;
    return timer;
}

/* Sets the alarm to the time when the wheel needs attention. */
static void set_alarm(aeTimeEvent *alarm, struct timers *timers) {
    const struct tw_node *first = tw_first(&timers->wheel, LOOKS);
    const tw_tick next = first != NULL ? tw_expiry(&timers->wheel, first) : tw_next(&timers->wheel);
    const tw_tick latest = getMonotonicUs() + LONGEST_SLEEP;
    alarm->when = next < latest ? next : latest;
}

/* Fires the due timers. The list would set the alarm in whole milliseconds, so a new alarm replaces it. */
static int ring(aeEventLoop *loop, long long id, void *data) {
    struct timers *timers = data;
    const tw_tick now = getMonotonicUs();
    struct tw_fire due;
    (void)id;
    while (tw_take(&timers->wheel, now, &due) == 1)
        due.fn(due.node, due.arg);
    alarm_of(loop)->when = UINT64_MAX; /* the deleted alarm must not wake the loop */
    create_in_list(loop, 0, ring, timers, NULL);
    set_alarm(loop->timeEventHead, timers);
    return AE_NOMORE;
}

long long aeCreateTimeEvent(aeEventLoop *loop, long long milliseconds, aeTimeProc *function, void *data,
                            aeEventFinalizerProc *finalizer) {
    struct timers *timers = timers_of(loop);
    aeTimeEvent *alarm = alarm_of(loop);
    struct timer *timer = add(timers);
    const tw_tick due = getMonotonicUs() + milliseconds * 1000;
    timer->loop = loop;
    timer->function = function;
    timer->finalizer = finalizer;
    timer->data = data;
    arm(timers, timer, due);
    if (due < alarm->when)
        alarm->when = due;
    return timer->id;
}

int aeDeleteTimeEvent(aeEventLoop *loop, long long id) {
    struct timers *timers = timers_of(loop);
    struct timer *timer = find(timers, id);
    if (timer == NULL)
        return AE_ERR;
    if (tw_cancel(&timers->wheel, &timer->node) == 1)
        end(timers, timer);
    else
        timer->function = NULL; /* its function runs now; fire() ends it */
    return AE_OK;
}

void aeDeleteEventLoop(aeEventLoop *loop) {
    struct timers *timers = timers_of(loop);
    uint32_t i;
    for (i = 0; i < timers->count; i++)
        zfree(timers->all[i]);
    zfree(timers->all);
    zfree(timers);
    delete_loop(loop);
}

/* Timers on FreeRTOS and ESP-IDF; freertos/timers.h says how to use them, and above struct tw_freertos how
 * turns and starts agree on waking (T1 to T5, S1 to S3, K1 to K4).
 *
 * A tick has 32 bits: it wraps, and the processor reads or writes it in one access. */
#include <tickwheel/freertos/timers.h>

#include <stdbool.h>

#if TW_TICK_BITS != 32
#error "timers on FreeRTOS need TW_ENGINE=tree32: a tick is a TickType_t, and wraps like one"
#endif
/* ESP-IDF counts the ticks of a sleep before any interrupt runs. */
#if configUSE_TICKLESS_IDLE != 0 && !defined(ESP_PLATFORM)
#define COUNT_MAY_BE_BEHIND 1
#else
#define COUNT_MAY_BE_BEHIND 0
#endif
#if COUNT_MAY_BE_BEHIND && INCLUDE_xTaskGetSchedulerState != 1 && configUSE_TIMERS != 1
#error "FreeRTOSConfig.h: with tickless idle, timers of Tickwheel need INCLUDE_xTaskGetSchedulerState 1"
#endif
extern char tw_freertos_ticks_have_32_bits[sizeof(TickType_t) == sizeof(tw_tick) ? 1 : -1];

/* <errno.h> is not a freestanding header. */
enum { TRY_AGAIN = -11, INVALID = -22, OUT_OF_RANGE = -34 };

#define LONGEST_SLEEP (TW_FREERTOS_LONGEST / 2u)

static bool is_before(tw_tick a, tw_tick b) { return (tw_tick)(a - b) >> 31 != 0u; }

int tw_freertos_init(struct tw_freertos *timers) {
    if (timers == NULL)
        return INVALID;
    const tw_tick now = xTaskGetTickCount();
    timers->is_woken = 0;
    timers->sleeps_until = now + LONGEST_SLEEP; /* a tick interrupt leaves the wheel alone meanwhile */
    timers->task = NULL;
    const int result = tw_init(&timers->wheel, now, 0);
    timers->sleeps_until = now; /* the first turn comes at once, so no start has to ask for it */
    return result;
}

/* --- turns ------------------------------------------------------------------------------------- */

/* After T2, tw_next may name `now` itself, for a node that is due at TW_NEVER, the next tick. The node can
 * wait for that tick. */
static void take_turn(struct tw_freertos *timers, tw_tick now) {
    timers->sleeps_until = now;                          /* T1 */
    (void)tw_advance(&timers->wheel, now, TW_UNBOUNDED); /* T2 */
    timers->sleeps_until = now + LONGEST_SLEEP;          /* T3 */
    const tw_tick next = tw_next(&timers->wheel);
    if (next != TW_NEVER && is_before(next, now + LONGEST_SLEEP))
        timers->sleeps_until = is_before(now, next) ? next : now + 1u; /* T4 */
}

/* The caller does T5. Ticks between this function's last reading of the count and the kernel's make that
 * sleep longer by as much. */
TickType_t tw_freertos_turn(struct tw_freertos *timers) {
    timers->task = xTaskGetCurrentTaskHandle();
    take_turn(timers, xTaskGetTickCount());
    const tw_tick end = timers->sleeps_until;
    const tw_tick now = xTaskGetTickCount();
    return is_before(now, end) ? end - now : 0u;
}

void tw_freertos_run(void *timers) {
    for (;;)
        (void)ulTaskNotifyTake(pdTRUE, tw_freertos_turn(timers));
}

#if configUSE_TICKLESS_IDLE == 0 && !defined(ESP_PLATFORM)
void tw_freertos_tick(struct tw_freertos *timers) {
    const tw_tick now = xTaskGetTickCountFromISR();
    if (timers->is_woken == 0u && is_before(now, timers->sleeps_until))
        return;
    timers->is_woken = 0;
    if (timers->task == NULL)
        take_turn(timers, now);
}
#endif

/* --- waking ------------------------------------------------------------------------------------ */

static bool sleeps_beyond(const struct tw_freertos *timers, tw_tick tick) {
    return is_before(tick, timers->sleeps_until);
}

static void wake(struct tw_freertos *timers) {
    if (timers->task != NULL)
        (void)xTaskNotifyGive(timers->task);
    else
        timers->is_woken = 1;
}

static void wake_from_isr(struct tw_freertos *timers, BaseType_t *woken) {
    if (timers->task != NULL) {
        vTaskNotifyGiveFromISR(timers->task, woken);
    } else {
        timers->is_woken = 1;
    }
}

void tw_freertos_wake_by(struct tw_freertos *timers, TickType_t tick) {
    if (sleeps_beyond(timers, tick))
        wake(timers);
}

void tw_freertos_wake_by_from_isr(struct tw_freertos *timers, TickType_t tick, BaseType_t *woken) {
    if (sleeps_beyond(timers, tick))
        wake_from_isr(timers, woken);
}

/* --- starts ------------------------------------------------------------------------------------ */

/* Returns 0, or the error of a start with this `delay`. */
static int check_start(const struct tw_freertos *timers, TickType_t delay) {
    if (timers == NULL)
        return INVALID;
    return delay > TW_FREERTOS_LONGEST ? OUT_OF_RANGE : 0;
}

/* The same for interrupts, which may come before the kernel has counted the ticks of a sleep. */
static int check_start_from_isr(const struct tw_freertos *timers, TickType_t delay) {
    const int error = check_start(timers, delay);
#if COUNT_MAY_BE_BEHIND
    if (error == 0 && xTaskGetSchedulerState() == taskSCHEDULER_SUSPENDED)
        return TRY_AGAIN;
#endif
    return error;
}

/* S3. Returns the result of S2. */
static int started(struct tw_freertos *timers, int result, tw_tick due) {
    if (result >= 0 && sleeps_beyond(timers, due))
        wake(timers);
    return result;
}

static int started_from_isr(struct tw_freertos *timers, int result, tw_tick due, BaseType_t *woken) {
    if (result >= 0 && sleeps_beyond(timers, due))
        wake_from_isr(timers, woken);
    return result;
}

int tw_freertos_start(struct tw_freertos *timers, struct tw_node *node, TickType_t delay) {
    const int error = check_start(timers, delay);
    if (error < 0)
        return error;
    const tw_tick due = xTaskGetTickCount() + delay + 1u;    /* S1 */
    const int result = tw_arm_at(&timers->wheel, node, due); /* S2 */
    return started(timers, result, due);
}

int tw_freertos_start_from_isr(struct tw_freertos *timers, struct tw_node *node, TickType_t delay,
                               BaseType_t *woken) {
    const int error = check_start_from_isr(timers, delay);
    if (error < 0)
        return error;
    const tw_tick due = xTaskGetTickCountFromISR() + delay + 1u;
    return started_from_isr(timers, tw_arm_at(&timers->wheel, node, due), due, woken);
}

int tw_freertos_start_every(struct tw_freertos *timers, struct tw_node *node, TickType_t period,
                            enum tw_missed missed) {
    const int error = check_start(timers, period);
    if (error < 0)
        return error;
    const tw_tick due = xTaskGetTickCount() + period + 1u;
    return started(timers, tw_arm_every(&timers->wheel, node, due, period, missed, 0), due);
}

int tw_freertos_start_every_from_isr(struct tw_freertos *timers, struct tw_node *node, TickType_t period,
                                     enum tw_missed missed, BaseType_t *woken) {
    const int error = check_start_from_isr(timers, period);
    if (error < 0)
        return error;
    const tw_tick due = xTaskGetTickCountFromISR() + period + 1u;
    return started_from_isr(timers, tw_arm_every(&timers->wheel, node, due, period, missed, 0), due, woken);
}

int tw_freertos_stop(struct tw_freertos *timers, struct tw_node *node) {
    return timers == NULL ? INVALID : tw_cancel(&timers->wheel, node);
}

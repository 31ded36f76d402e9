/* Measures libwebsockets' timers through its public interface, with the same source before and after: the
 * cost of moving one of n pending timers, and the worst lateness among 50,000 timers that are due at random
 * times. */
#include <libwebsockets.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CROWD = 50000, RUN_S = 10, MOVES = 64, BATCHES = 1001 };

static lws_sorted_usec_list_t sul[CROWD], last; /* zero: idle */
static lws_usec_t due[CROWD], latest, end;
static int finished;
static struct lws_context *context;
static uint64_t state = 1;

static uint64_t any(void) { /* xorshift64 */
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static void on_never(lws_sorted_usec_list_t *which) { (void)which, abort(); }

static int by_value(const void *a, const void *b) {
    const double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static double ns_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

/* Moves one of n timers to a random time, one to two minutes ahead, which does not come while this runs. */
static void move(size_t n) {
    static double ns[BATCHES];
    for (size_t i = 0; i < n; i++)
        lws_sul_schedule(context, 0, &sul[i], on_never, LWS_US_PER_SEC + (lws_usec_t)(any() % 60000000));
    for (size_t batch = 0; batch < BATCHES; batch++) {
        const double before = ns_now();
        for (size_t i = 0; i < MOVES; i++)
            lws_sul_schedule(context, 0, &sul[any() % n], on_never,
                             60 * LWS_US_PER_SEC + (lws_usec_t)(any() % 60000000));
        ns[batch] = (ns_now() - before) / MOVES;
    }
    qsort(ns, BATCHES, sizeof *ns, by_value);
    printf("move one of %zu timers\t%.1f\tns\n", n, ns[BATCHES / 2]);
    for (size_t i = 0; i < n; i++)
        lws_sul_cancel(&sul[i]);
}

static void on_end(lws_sorted_usec_list_t *which) { (void)which, finished = 1; }

static void arm(size_t i, lws_usec_t time);

static void on_due(lws_sorted_usec_list_t *which) {
    const size_t i = (size_t)(which - sul);
    const lws_usec_t now = lws_now_usecs();
    if (now - due[i] > latest)
        latest = now - due[i];
    if (now < end)
        arm(i, now + 1 + (lws_usec_t)(any() % 5000000));
}

static void arm(size_t i, lws_usec_t time) {
    due[i] = time;
    lws_sul_schedule(context, 0, &sul[i], on_due, time - lws_now_usecs());
}

static int latest_first(const void *a, const void *b) {
    const lws_usec_t left = *(const lws_usec_t *)a, right = *(const lws_usec_t *)b;
    return (left < right) - (left > right);
}

/* Each of the timers waits for up to 5 s, again and again: 20,000 fire per second. */
static void lateness(void) {
    const lws_usec_t start = lws_now_usecs() + LWS_US_PER_SEC;
    for (size_t i = 0; i < CROWD; i++)
        due[i] = start + (lws_usec_t)(any() % 5000000);
    qsort(due, CROWD, sizeof *due, latest_first); /* a list inserts a new first timer at once */
    end = start + RUN_S * LWS_US_PER_SEC;
    for (size_t i = 0; i < CROWD; i++)
        arm(i, due[i]);
    lws_sul_schedule(context, 0, &last, on_end, end + 6 * LWS_US_PER_SEC - lws_now_usecs());
    while (!finished && lws_service(context, 0) >= 0) {
    }
    printf("the latest of %d timers\t%.3f\tms\n", CROWD, (double)latest / 1000);
}

int main(void) {
    struct lws_context_creation_info info;
    memset(&info, 0, sizeof info);
    info.port = CONTEXT_PORT_NO_LISTEN;
    lws_set_log_level(LLL_ERR, NULL);
    context = lws_create_context(&info);
    if (context == NULL)
        return 1;
    move(10);
    move(10000);
    lateness();
    lws_context_destroy(context);
    return 0;
}

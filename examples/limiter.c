/* A rate limiter that sleeps: it admits two requests a second, and up to three at once.
 *
 *     tickwheel_limiter            sixteen seconds of it
 *     tickwheel_limiter virtual    the same at once
 *
 * No periodic timer refills the bucket, because that would wake the program forever. The level of the
 * bucket follows from the time. The timer is armed only while requests wait, for the moment at which the
 * first of them may go. */
#include "passing.h"

#include <stdbool.h>

enum { BURST = 3, MOST_WAITING = 16 };
static const int64_t interval = 500 * TW_MILLISECOND; /* between two tokens */

struct request {
    unsigned number;
    int64_t asked;
};

static struct limiter {
    int64_t full_at;                      /* when the bucket is full again, or became full */
    struct request waiting[MOST_WAITING]; /* a ring, the oldest at `first` */
    unsigned first, count;
    struct tw_node token; /* pending while a request waits */
} limiter;

static struct tw_runtime *rt;
static unsigned requests, wakeups;

/* Returns the time at which there is a token again. */
static int64_t next_token(void) { return limiter.full_at - (BURST - 1) * interval; }

static void serve(struct request request) {
    int64_t now = tw_runtime_now(rt), waited = now - request.asked;
    limiter.full_at = (limiter.full_at > now ? limiter.full_at : now) + interval;
    printf("%5.1f s  request %u goes", since_begin(rt), request.number);
    if (waited >= interval / 10)
        printf(" after %.1f s", (double)waited / (double)TW_SECOND);
    printf("\n");
}

static void on_token(struct tw_node *node, void *arg) {
    (void)arg;
    ++wakeups;
    serve(limiter.waiting[limiter.first++ % MOST_WAITING]);
    if (--limiter.count > 0)
        tw_runtime_at(rt, node, next_token());
}

static void ask(void) {
    struct request request = {.number = ++requests, .asked = tw_runtime_now(rt)};
    if (limiter.count == 0 && next_token() <= request.asked) {
        serve(request);
    } else if (limiter.count == MOST_WAITING) {
        printf("%5.1f s  request %u is refused: too many wait\n", since_begin(rt), request.number);
    } else {
        limiter.waiting[(limiter.first + limiter.count++) % MOST_WAITING] = request;
        if (limiter.count == 1)
            tw_runtime_at(rt, &limiter.token, next_token());
    }
}

/* A number of clients that come at once. */
struct crowd {
    int64_t when;
    unsigned size;
    struct tw_node arrival;
};

static void on_arrival(struct tw_node *node, void *arg) {
    (void)node;
    struct crowd *crowd = arg;
    printf("%5.1f s  %u ask at once\n", since_begin(rt), crowd->size);
    for (unsigned i = 0; i < crowd->size; ++i)
        ask();
}

static struct crowd crowds[] = {
    {.when = 0, .size = 6}, {.when = 1200 * TW_MILLISECOND, .size = 2}, {.when = 10 * TW_SECOND, .size = 2}};
enum { CROWDS = sizeof crowds / sizeof crowds[0] };

int main(int argc, char **argv) {
    rt = passing_runtime(argc, argv);
    limiter.full_at = tw_runtime_now(rt);
    tw_node_init(&limiter.token, on_token, NULL);
    for (int i = 0; i < CROWDS; ++i) {
        tw_node_init(&crowds[i].arrival, on_arrival, &crowds[i]);
        tw_runtime_after(rt, &crowds[i].arrival, crowds[i].when);
    }
    let_pass(rt, 16 * TW_SECOND);
    tw_runtime_stop(rt);
    printf("%5.1f s  %u requests, %u wake-ups for tokens; a timer that refills would have had %d\n",
           since_begin(rt), requests, wakeups, (int)(16 * TW_SECOND / interval));
    printf("        no request waits, %u timers are armed\n", (unsigned)tw_runtime_count(rt));
    tw_runtime_free(rt);
}

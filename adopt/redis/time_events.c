/* Measures the time events of Redis's event loop, in nanoseconds of processor time. */
#include "ae.h"
#include "zmalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* For ae.c: the rest of Redis is not in this program. */
void _serverPanic(const char *file, int line, const char *text, ...) {
    fprintf(stderr, "%s:%d: %s\n", file, line, text);
    abort();
}

static double cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static int end(aeEventLoop *loop, long long id, void *data) {
    (void)loop, (void)id, (void)data;
    return AE_NOMORE;
}

static void turn(aeEventLoop *loop) { aeProcessEvents(loop, AE_TIME_EVENTS | AE_DONT_WAIT); }

static long long some_time(void) { return 3600 * 1000 + random() % 3600000; }

static void measure(long pending) {
    aeEventLoop *loop = aeCreateEventLoop(64);
    const long turns = pending < 1000 ? 1000000 : 100000000 / pending, pairs = turns / 100;
    double begin;
    long i;
    for (i = 0; i < pending; i++)
        aeCreateTimeEvent(loop, some_time(), end, NULL, NULL);
    begin = cpu_ns();
    for (i = 0; i < turns; i++)
        turn(loop);
    printf("a turn with %ld time event%s\t%.1f\tns\n", pending, pending == 1 ? "" : "s",
           (cpu_ns() - begin) / turns);
    begin = cpu_ns();
    for (i = 0; i < pairs; i++) {
        const long long id = aeCreateTimeEvent(loop, some_time(), end, NULL, NULL);
        aeCreateTimeEvent(loop, 0, end, NULL, NULL);
        aeDeleteTimeEvent(loop, id);
        turn(loop);
        turn(loop);
    }
    printf("create two, delete one, fire one, with %ld\t%.1f\tns\n", pending, (cpu_ns() - begin) / pairs);
    aeDeleteEventLoop(loop);
}

int main(void) {
    measure(1);
    measure(100);
    measure(10000);
    return 0;
}

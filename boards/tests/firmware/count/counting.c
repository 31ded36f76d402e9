/* Counts instructions by the stopwatch. See counting.h. */
#include "counting.h"

#include <stdint.h>

#include <host.h>
#include <stopwatch.h>

#include "../expect.h"

/* Rounds to the nearest, because the timer may be off by a count at either end. */
static unsigned instructions(uint32_t counts) {
    const uint64_t per_second = (uint64_t)INSTRUCTION_NS * STOPWATCH_HZ;
    return (unsigned)(((uint64_t)counts * 1000000000u + per_second / 2) / per_second);
}

/* Returns the instructions from before a call to after it. All calls of a kind share this
 * code, so that its own cost is the same for each. */
__attribute__((noinline)) static unsigned span_of_arming(arming *call, struct tw *w, struct tw_node *n,
                                                         tw_tick tick) {
    const uint32_t before = stopwatch_read();
    call(w, n, tick);
    return instructions(stopwatch_read() - before);
}

__attribute__((noinline)) static unsigned span_of_node(of_node *call, struct tw *w, struct tw_node *n) {
    const uint32_t before = stopwatch_read();
    call(w, n);
    return instructions(stopwatch_read() - before);
}

__attribute__((noinline)) static unsigned span_of_wheel(of_wheel *call, struct tw *w) {
    const uint32_t before = stopwatch_read();
    call(w);
    return instructions(stopwatch_read() - before);
}

__attribute__((noinline)) static unsigned span_of_asking(asking *call, struct tw *w) {
    const uint32_t before = stopwatch_read();
    call(w);
    return instructions(stopwatch_read() - before);
}

/* ---- The cost of measuring: the count for empty calls. */

static struct { unsigned arming, of_node, of_wheel, asking; } cost;

static int empty_arming(struct tw *w, struct tw_node *n, tw_tick tick) {
    (void)w, (void)n, (void)tick;
    return 0;
}

static int empty_of_node(struct tw *w, struct tw_node *n) {
    (void)w, (void)n;
    return 0;
}

static int empty_of_wheel(struct tw *w) {
    (void)w;
    return 0;
}

static tw_tick empty_asking(struct tw *w) {
    (void)w;
    return 0;
}

static int hundred(struct tw *w) {
    (void)w;
    __asm__ volatile(".rept 100\n\tnop\n\t.endr");
    return 0;
}

void counting_start(void) {
    stopwatch_start();
    cost.arming = span_of_arming(empty_arming, NULL, NULL, 0);
    cost.of_node = span_of_node(empty_of_node, NULL, NULL);
    cost.of_wheel = span_of_wheel(empty_of_wheel, NULL);
    cost.asking = span_of_asking(empty_asking, NULL);
    EXPECT(span_of_wheel(hundred, NULL) - cost.of_wheel == 100);
}

/* ---- Figures. */

struct figure figure_none(void) {
    return (struct figure){UINT32_MAX, 0};
}

static void take(struct figure *f, unsigned count) {
    if (count < f->least)
        f->least = count;
    if (count > f->most)
        f->most = count;
}

void count_arming(struct figure *f, arming *call, struct tw *w, struct tw_node *n, tw_tick tick) {
    take(f, span_of_arming(call, w, n, tick) - cost.arming);
}

void count_of_node(struct figure *f, of_node *call, struct tw *w, struct tw_node *n) {
    take(f, span_of_node(call, w, n) - cost.of_node);
}

void count_of_wheel(struct figure *f, of_wheel *call, struct tw *w) {
    take(f, span_of_wheel(call, w) - cost.of_wheel);
}

void count_asking(struct figure *f, asking *call, struct tw *w) {
    take(f, span_of_asking(call, w) - cost.asking);
}

void print_figure(const char *what, const struct figure *f) {
    host_print(what);
    host_print(": ");
    host_print_number(f->least);
    host_print(" ");
    host_print_number(f->most);
    host_print("\n");
}

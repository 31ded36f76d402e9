/* A slow callback delays no other timer: while each of 100 work items sleeps for 100 ms, a timer of 1 ms
 * keeps firing, and its lateness does not change. On the runtime's thread, a single callback of this kind
 * would stop the timer, and all of them would make every beat late. The bound on the lateness is below 100
 * ms. It applies to the median of three measurements, because a busy machine may stall that long once. */
#include "workers_test.h"

enum { BEATS = 400, SLEEPERS = 100, MEASUREMENTS = 3 };

struct beat {
    struct tw_node node;
    int64_t lateness[BEATS];
    atomic_int beats;
};

static void note_lateness(UNUSED struct tw_node *node, void *arg) {
    struct beat *const self = arg;
    const int beat = atomic_load(&self->beats);
    if (beat == BEATS)
        return;
    self->lateness[beat] = tw_runtime_now(rt) - tw_runtime_due(rt);
    atomic_store(&self->beats, beat + 1);
}

static int by_size(const void *a, const void *b) {
    const int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

/* Every beat fires, late or not, so a stall of the thread shows in all later beats. */
static int64_t p99_of_lateness(void) {
    static struct beat beat;
    atomic_store(&beat.beats, 0);
    tw_node_init(&beat.node, note_lateness, &beat);
    assert_ok(tw_runtime_every(rt, &beat.node, TW_MILLISECOND, TW_BURST));
    wait_for(atomic_load(&beat.beats) == BEATS);
    tw_runtime_cancel_wait(rt, &beat.node);
    qsort(beat.lateness, BEATS, sizeof *beat.lateness, by_size);
    return beat.lateness[BEATS * 99 / 100];
}

static int64_t middle_p99_of_lateness(void) {
    int64_t p99[MEASUREMENTS];
    for (unsigned i = 0; i < MEASUREMENTS; ++i)
        p99[i] = p99_of_lateness();
    qsort(p99, MEASUREMENTS, sizeof *p99, by_size);
    return p99[MEASUREMENTS / 2];
}

/* Fires every millisecond while there are sleepers. */
static struct tw_node pulse;
static atomic_uint pulses;
static atomic_int slept, saw_a_pulse;

static void count_pulse(UNUSED struct tw_node *node, UNUSED void *arg) { atomic_fetch_add(&pulses, 1); }

static void sleep_long(UNUSED struct tw_node *node, UNUSED void *arg) {
    const unsigned before = atomic_load(&pulses);
    const int64_t patience = monotonic() + 60 * TW_SECOND;
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    while (atomic_load(&pulses) == before && monotonic() < patience)
        doze();
    atomic_fetch_add(&saw_a_pulse, atomic_load(&pulses) != before);
    atomic_fetch_add(&slept, 1);
}

TEST(callbacks_that_sleep_do_not_move_the_p99_of_a_timer) {
    static struct tw_work sleepers[SLEEPERS];
    rt = started_runtime((struct tw_runtime_options){0});
    pool = new_pool(rt, (struct tw_workers_options){.threads = 8});
    const int64_t alone = middle_p99_of_lateness();
    tw_node_init(&pulse, count_pulse, NULL);
    assert_ok(tw_runtime_every(rt, &pulse, TW_MILLISECOND, TW_COALESCE));
    for (unsigned i = 0; i < SLEEPERS; ++i) {
        init_item(&sleepers[i], pool, sleep_long, NULL);
        assert_ok(tw_runtime_after(rt, &sleepers[i].node, (int64_t)(i % 10) * 10 * TW_MILLISECOND));
    }
    const int64_t beside_sleepers = middle_p99_of_lateness();
    wait_for(atomic_load(&slept) == SLEEPERS);
    assert_ok(tw_workers_wait(pool));
    const struct tw_worker_stats stats = stats_of(pool);
    assert_int_equal(saw_a_pulse, SLEEPERS);
    assert_int_equal(stats.inlined + stats.rejected + stats.blocked, 0);
    print_message("p99 of lateness: %lld us alone, %lld us beside them\n", (long long)alone / 1000,
                  (long long)beside_sleepers / 1000);
    assert_true(beside_sleepers < 2 * alone + 90 * TW_MILLISECOND);
    assert_ok(tw_runtime_free(rt));
}

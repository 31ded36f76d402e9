/* Recordings of fires: any thread and callback may begin and end one, its size is bounded, and a reader may
 * read while fires are recorded. */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "support/child.h"
#include "support/runtime_test.h"
#include "support/sanitized.h"

#include <tickwheel/driver.h>
#include <tickwheel/trace.h>
#include <tickwheel/workers.h>

#define MS TW_MILLISECOND

/* The text that the library has written, cut if it is long. */
struct text {
    char bytes[1 << 20];
    size_t size;
};
static struct text written;

static void keep(const char *bytes, size_t size, void *arg) {
    struct text *const text = arg;
    const size_t room = sizeof text->bytes - 1 - text->size;
    memcpy(text->bytes + text->size, bytes, size < room ? size : room);
    text->size += size < room ? size : room;
    text->bytes[text->size] = 0;
}

static int64_t write_trace(struct tw_runtime *rt) {
    written.size = 0;
    return tw_trace_write(rt, keep, &written);
}

/* The number behind this name, where it stands first. */
static long long number_of(const char *name) {
    const char *const at = strstr(written.bytes, name);
    assert_non_null(at);
    return strtoll(at + strlen(name), NULL, 10);
}

static void count(UNUSED struct tw_node *node, void *arg) { ++*(atomic_int *)arg; }

static struct {
    struct tw_node node;
    atomic_int fires;
} ticking;

/* A runtime on virtual time, and a timer in it that fires every millisecond. */
static struct tw_runtime *ticking_runtime(void) {
    struct tw_runtime *const rt = virtual_runtime();
    ticking.fires = 0;
    tw_node_init(&ticking.node, count, &ticking.fires);
    assert_ok(tw_runtime_every(rt, &ticking.node, MS, TW_BURST));
    return rt;
}

TEST(is_refused) {
    struct tw_runtime *const rt = virtual_runtime();
    assert_int_equal(tw_trace_start(NULL, 1), -EINVAL);
    assert_int_equal(tw_trace_start(rt, 0), -ENOENT);
    assert_int_equal(tw_trace_start(rt, 0), -ENOENT);
    assert_int_equal(tw_trace_write(rt, keep, &written), -ENOENT);
    assert_ok(tw_trace_start(rt, 8));
    assert_int_equal(tw_trace_start(rt, 9), -ENOSPC);
    assert_int_equal(tw_trace_write(rt, NULL, NULL), -EINVAL);
    assert_ok(tw_trace_start(rt, 0));
    assert_int_equal(tw_trace_start(rt, 0), -ENOENT);
    assert_ok(tw_runtime_free(rt));
}

/* The runtime whose recording begins when this thread next reads a clock, as if another thread began it. */
static _Thread_local struct tw_runtime *begun_meanwhile;

int __real_clock_gettime(clockid_t clock, struct timespec *reading);
int __wrap_clock_gettime(clockid_t clock, struct timespec *reading);
int __wrap_clock_gettime(clockid_t clock, struct timespec *reading) {
    struct tw_runtime *const rt = begun_meanwhile;
    begun_meanwhile = NULL;
    if (rt != NULL)
        assert_ok(tw_trace_start(rt, 8));
    return __real_clock_gettime(clock, reading);
}

TEST(is_refused_if_another_thread_begins_one_meanwhile) {
    struct tw_runtime *const rt = ticking_runtime();
    begun_meanwhile = rt; /* begins between the allocation for 16 fires and the start */
    assert_int_equal(tw_trace_start(rt, 16), -ENOSPC);
    assert_ok(tw_runtime_advance(rt, 5 * MS));
    assert_int_equal(write_trace(rt), 5);
    assert_ok(tw_runtime_free(rt));
}

TEST(tells_of_overruns_where_there_are_any) {
    struct tw_runtime *const rt = ticking_runtime();
    assert_ok(tw_trace_start(rt, 8));
    assert_ok(tw_runtime_leap(rt, 5 * MS));
    assert_int_equal(write_trace(rt), 5); /* a burst: each fire has one overrun less than the previous one */
    assert_int_equal(number_of("\"overruns\":"), 4);
    assert_null(strstr(written.bytes, "\"overruns\":0"));
    assert_ok(tw_runtime_free(rt));
}

TEST(drops_the_oldest) {
    struct tw_runtime *const rt = ticking_runtime();
    assert_ok(tw_trace_start(rt, 8));
    assert_ok(tw_runtime_advance(rt, 20 * MS));
    assert_int_equal(write_trace(rt), 8);
    assert_int_equal(number_of("\"fires_lost\":"), 12);
    assert_int_equal(number_of("\"due_ns\":\""), 13 * MS);
    assert_null(strstr(written.bytes, "\"due_ns\":\"12000000\""));
    assert_non_null(strstr(written.bytes, "\"due_ns\":\"20000000\""));
    assert_ok(tw_runtime_free(rt));
}

TEST(stays_when_stopped_and_begins_again) {
    struct tw_runtime *const rt = ticking_runtime();
    assert_ok(tw_trace_start(rt, 64));
    assert_ok(tw_runtime_advance(rt, 5 * MS));
    assert_ok(tw_trace_start(rt, 0));
    assert_ok(tw_runtime_advance(rt, 5 * MS));
    assert_int_equal(write_trace(rt), 5);
    assert_ok(tw_trace_start(rt, 16));
    assert_int_equal(write_trace(rt), 0);
    assert_ok(tw_runtime_advance(rt, 3 * MS));
    assert_int_equal(write_trace(rt), 3);
    assert_int_equal(number_of("\"due_ns\":\""), 11 * MS);
    assert_int_equal(ticking.fires, 13);
    assert_ok(tw_runtime_free(rt));
}

static void start_in_callback(UNUSED struct tw_node *node, void *rt) { assert_ok(tw_trace_start(rt, 4)); }
static void stop_in_callback(UNUSED struct tw_node *node, void *rt) { assert_ok(tw_trace_start(rt, 0)); }

TEST(begins_and_ends_inside_callbacks) {
    struct tw_runtime *const rt = virtual_runtime();
    struct tw_node start, middle, stop, after;
    atomic_int fires = 0;
    tw_node_init(&start, start_in_callback, rt);
    tw_node_init(&middle, count, &fires);
    tw_node_init(&stop, stop_in_callback, rt);
    tw_node_init(&after, count, &fires);
    struct tw_node *const nodes[] = {&start, &middle, &stop, &after};
    for (int i = 0; i < 4; ++i)
        assert_ok(tw_runtime_after(rt, nodes[i], (i + 1) * MS));
    assert_ok(tw_runtime_advance(rt, 5 * MS));
    assert_int_equal(write_trace(rt), 1); /* without the fires that began and ended the recording */
    assert_ok(tw_runtime_free(rt));
}

/* The next recording may get the memory of one that was freed. */
TEST(names_the_thread_in_each_recording) {
    char name[64];
    snprintf(name, sizeof name, "\"tid\":%d,\"name\":\"thread_name\"", getpid());
    for (int i = 0; i < 3; ++i) {
        struct tw_runtime *const rt = ticking_runtime();
        assert_ok(tw_trace_start(rt, 8));
        assert_ok(tw_runtime_advance(rt, 5 * MS));
        assert_int_equal(write_trace(rt), 5);
        assert_non_null(strstr(written.bytes, name));
        assert_ok(tw_runtime_free(rt));
    }
}

TEST(is_json_whatever_the_name_of_the_driver) {
    struct tw_driver driver = *tw_driver_named("manual");
    driver.name = "my \"own\"";
    struct tw_runtime *const rt = new_runtime((struct tw_runtime_options){.own_driver = &driver});
    assert_ok(tw_trace_start(rt, 8));
    assert_int_equal(write_trace(rt), 0);
    assert_non_null(strstr(written.bytes, "\"driver\":\"my \\\"own\\\"\""));
    assert_ok(tw_runtime_free(rt));
}

static void free_on_first(UNUSED const char *bytes, UNUSED size_t size, void *arg) {
    struct tw_runtime **const rt = arg;
    if (*rt != NULL)
        assert_ok(tw_runtime_free(*rt));
    *rt = NULL;
}

TEST(is_freed_while_it_is_written) {
    struct tw_runtime *rt = ticking_runtime();
    assert_ok(tw_trace_start(rt, 64));
    assert_ok(tw_runtime_advance(rt, 64 * MS));
    struct tw_runtime *freed = rt;
    assert_int_equal(tw_trace_write(rt, free_on_first, &freed), 64);
    assert_null(freed);
}

TEST(is_empty_in_the_child_of_a_fork) {
    struct tw_runtime *const rt = ticking_runtime();
    assert_ok(tw_trace_start(rt, 16));
    assert_ok(tw_runtime_advance(rt, 4 * MS));
    const pid_t child = fork();
    if (child == 0) {
        char process[32];
        expect(tw_trace_start(rt, 16) == -ECHILD && tw_trace_write(rt, keep, &written) == -ECHILD);
        expect(tw_runtime_after_fork(rt) == 0);
        tw_node_init(&ticking.node, count, &ticking.fires);
        expect(tw_runtime_every(rt, &ticking.node, MS, TW_BURST) == 0);
        expect(tw_runtime_advance(rt, MS) == 0 && write_trace(rt) == 0 && tw_trace_start(rt, 0) == -ENOENT);
        expect(tw_trace_start(rt, 16) == 0 && tw_runtime_advance(rt, 2 * MS) == 0 && write_trace(rt) == 2);
        snprintf(process, sizeof process, "\"tid\":%d,\"name\":\"thread_name\"", getpid());
        expect(strstr(written.bytes, process) != NULL);
        leave(0);
    }
    assert_child_is_well(child);
    assert_ok(tw_runtime_advance(rt, MS));
    assert_int_equal(write_trace(rt), 5);
    assert_ok(tw_runtime_free(rt));
}

/* --- against each other ------------------------------------------------------------------ */

static struct {
    struct tw_runtime *rt;
    atomic_bool is_over;
} race;

static void *write_again_and_again(void *arg) {
    struct text *const text = arg;
    while (!race.is_over) {
        text->size = 0;
        assert_true(tw_trace_write(race.rt, keep, text) >= 0);
        assert_non_null(strstr(text->bytes, "\"otherData\""));
        assert_null(strstr(text->bytes, "\"dur\":-"));
    }
    return NULL;
}

static void *start_and_stop(UNUSED void *arg) {
    while (!race.is_over) {
        IGNORE(tw_trace_start(race.rt, 0));
        assert_ok(tw_trace_start(race.rt, 32));
        doze();
    }
    return NULL;
}

TEST(is_read_while_it_is_written) {
    enum { ITEMS = 8 };
    static struct text texts[2];
    struct tw_runtime *const rt = race.rt = started_runtime((struct tw_runtime_options){.tick_ns = 100000});
    struct tw_workers *workers = NULL;
    struct tw_work items[ITEMS];
    struct tw_node node;
    pthread_t threads[3];
    atomic_int fires = 0;
    assert_ok(tw_workers_new(&workers, rt, &(struct tw_workers_options){.threads = 3}));
    assert_ok(tw_trace_start(rt, 64)); /* so small that the ring wraps all the time */
    tw_node_init(&node, count, &fires);
    assert_ok(tw_runtime_every(rt, &node, MS / 10, TW_BURST));
    for (int i = 0; i < ITEMS; ++i) {
        assert_ok(tw_work_init(&items[i], workers, count, &fires, TW_CONCURRENT));
        assert_ok(tw_runtime_every(rt, &items[i].node, MS / 10, TW_BURST));
    }
    assert_int_equal(pthread_create(&threads[0], NULL, write_again_and_again, &texts[0]), 0);
    assert_int_equal(pthread_create(&threads[1], NULL, write_again_and_again, &texts[1]), 0);
    assert_int_equal(pthread_create(&threads[2], NULL, start_and_stop, NULL), 0);
    wait_for(fires > (SLOW ? 3000 : 20000));
    race.is_over = true;
    for (int i = 0; i < 3; ++i)
        pthread_join(threads[i], NULL);
    assert_ok(tw_runtime_stop(rt));
    assert_ok(tw_runtime_free(rt));
}

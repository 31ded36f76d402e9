/* A process is stopped for two seconds and continued, as by a debugger, a terminal or a
 * suspended container. Missed deadlines are caught up on by each node's policy, in order.
 * Virtual time that leaps does the same. */
#include "support/faults.h"

#include <signal.h>
#include <sys/wait.h>

#define PERIOD (100 * TW_MILLISECOND)
#define STALL (2 * TW_SECOND)
#define MISSED 15 /* at least this many fires in that time */
#define ONESHOTS 200

enum { BURST, SKIP, DELAY, PERIODICS };

/* One fire, as the child saw it. */
struct fire {
    int64_t due, at;
    uint64_t overruns;
    unsigned node; /* one of the above, or PERIODICS + the oneshot's index */
};

static struct tw_runtime *rt;
static struct tw_node nodes[PERIODICS + ONESHOTS];
static struct fire fires[2000];
static atomic_size_t logged;
static unsigned caught_up[PERIODICS]; /* 0: no stall yet; else fires since */
static atomic_uint through;           /* periodic nodes that have caught up */

static void log_fire(struct tw_node *node, UNUSED void *arg) {
    const unsigned which = (unsigned)(node - nodes);
    const size_t place = atomic_load(&logged);
    if (place == COUNT_OF(fires))
        return;
    fires[place] = (struct fire){tw_runtime_due(rt), tw_runtime_now(rt), tw_runtime_overruns(rt), which};
    atomic_store(&logged, place + 1);
    if (which < PERIODICS && (caught_up[which] != 0 || fires[place].overruns >= MISSED))
        if (++caught_up[which] == MISSED + 10)
            atomic_fetch_add(&through, 1);
}

static bool has_begun(void) { return atomic_load(&logged) >= 3; }
static bool is_through(void) {
    return atomic_load(&through) == PERIODICS || atomic_load(&logged) == COUNT_OF(fires);
}

static void arm_all(void) {
    const int64_t now = tw_runtime_now(rt);
    for (unsigned i = 0; i < COUNT_OF(nodes); ++i) {
        tw_node_init(&nodes[i], log_fire, NULL);
        if (i < PERIODICS)
            tw_runtime_every(rt, &nodes[i], PERIOD, (enum tw_missed)(TW_BURST + i));
        else
            tw_runtime_at(rt, &nodes[i], now + (i - PERIODICS + 1) * PERIOD / 4);
    }
}

/* --- judging what was logged ------------------------------------------------------------ */

/* P1 and P3; and each oneshot is in its place. */
static void assert_in_order(size_t count) {
    unsigned next_oneshot = PERIODICS;
    for (size_t i = 0; i < count; ++i) {
        assert_true(fires[i].at >= fires[i].due);
        assert_true(i == 0 || fires[i].due >= fires[i - 1].due);
        if (fires[i].node >= PERIODICS)
            assert_int_equal(fires[i].node, next_oneshot++);
    }
}

/* Returns true if `next` may follow `fire` under this policy. */
static bool may_follow(unsigned policy, const struct fire *fire, const struct fire *next) {
    const int64_t missed = (int64_t)fire->overruns * PERIOD;
    const int64_t distance = next->due - fire->due;
    if (policy == BURST)
        return distance == PERIOD;
    if (policy == SKIP || missed == 0)
        return distance == missed + PERIOD;
    return distance >= missed + PERIOD && next->due <= fire->at + PERIOD;
}

/* Returns the largest number of fires that were missed or burst at once. */
static uint64_t judge_policy(unsigned policy, size_t count) {
    const struct fire *last = NULL;
    uint64_t most = 0;
    for (size_t i = 0; i < count; ++i) {
        if (fires[i].node != policy)
            continue;
        if (last != NULL)
            assert_true(may_follow(policy, last, &fires[i]));
        last = &fires[i];
        most = most > last->overruns ? most : last->overruns;
    }
    return most;
}

static void judge_log(size_t count) {
    assert_true(count < COUNT_OF(fires));
    assert_in_order(count);
    for (unsigned policy = BURST; policy < PERIODICS; ++policy)
        assert_true(judge_policy(policy, count) >= MISSED);
}

/* --- a child that is stopped -------------------------------------------------------------- */

static void write_all(int fd, const void *from, size_t size) {
    for (const char *at = from; size > 0;) {
        const ssize_t written = write(fd, at, size);
        if (written <= 0)
            _exit(3);
        at += written;
        size -= (size_t)written;
    }
}

static void run_child(const struct way *way, int report) {
    rt = runtime_on(way->driver);
    arm_all();
    set_going(way, rt);
    if (!go_on_until(way, rt, has_begun))
        _exit(1);
    write_all(report, "!", 1);
    if (!go_on_until(way, rt, is_through))
        _exit(2);
    tw_runtime_stop(rt);
    write_all(report, fires, atomic_load(&logged) * sizeof fires[0]);
    tw_runtime_free(rt);
    _exit(0);
}

struct child {
    pid_t pid;
    int report;
};

static struct child begin_child(const struct way *way) {
    int ends[2];
    struct child child = {0, 0};
    assert_int_equal(pipe(ends), 0);
    child.pid = fork();
    assert_true(child.pid >= 0);
    if (child.pid == 0) {
        close(ends[0]);
        run_child(way, ends[1]);
    }
    close(ends[1]);
    child.report = ends[0];
    return child;
}

static void stop_child(struct child child) {
    char begun;
    int status;
    assert_int_equal(read(child.report, &begun, 1), 1);
    assert_int_equal(kill(child.pid, SIGSTOP), 0);
    assert_int_equal(waitpid(child.pid, &status, WUNTRACED), child.pid);
    assert_true(WIFSTOPPED(status));
}

static size_t read_log(struct child child) {
    size_t size = 0;
    int status;
    for (ssize_t got = 1; got > 0; size += (size_t)got) {
        got = read(child.report, (char *)fires + size, sizeof fires - size);
        assert_true(got >= 0);
    }
    close(child.report);
    assert_int_equal(waitpid(child.pid, &status, 0), child.pid);
    assert_int_equal(status, 0);
    return size / sizeof fires[0];
}

/* All at once, because they need the same two seconds. */
TEST(sigstop_and_sigcont_are_caught_up_on_by_policy_and_in_order) {
    struct child children[4];
    for (size_t i = 0; i < COUNT_OF(children); ++i)
        children[i] = begin_child(&ways[i]);
    for (size_t i = 0; i < COUNT_OF(children); ++i)
        stop_child(children[i]);
    pause_ms(STALL / TW_MILLISECOND);
    for (size_t i = 0; i < COUNT_OF(children); ++i)
        assert_int_equal(kill(children[i].pid, SIGCONT), 0);
    for (size_t i = 0; i < COUNT_OF(children); ++i)
        judge_log(read_log(children[i]));
}

/* The last one, as it does not fork: a child would inherit what it logs. */
TEST(a_leap_of_virtual_time_is_caught_up_on_by_policy_and_in_order) {
    rt = runtime_on("manual");
    arm_all();
    assert_true(go_on_until(&ways[4], rt, has_begun));
    assert_int_equal(tw_runtime_leap(rt, STALL), 0);
    assert_true(go_on_until(&ways[4], rt, is_through));
    judge_log(atomic_load(&logged));
    tw_runtime_free(rt);
}

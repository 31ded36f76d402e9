/* The features of godis' wheel: a job has a key; a new job under the same key replaces it; a
 * job is removed by its key; jobs run concurrently, and a failing one does not affect the
 * others. (In godis a job's panic is caught; tests/cpp covers exceptions from C++ callbacks.
 * The failure that C can survive is a job that does not return.) */
#include "support/gate.h"
#include "systems.h"

#include <tickwheel/keyed.h>
#include <tickwheel/workers.h>

/* A job that counts its runs. */
struct job {
    atomic_uint runs, drops;
    _Atomic int64_t due_ns;
};

static struct tw_keyed *wheel;

static void run(const struct tw_event *event, void *arg) {
    struct job *job = arg;
    atomic_store(&job->due_ns, event->due_ns);
    atomic_fetch_add(&job->runs, 1);
}

static void drop(void *arg) { atomic_fetch_add(&((struct job *)arg)->drops, 1); }

static int add(const char *key, int64_t delay_ns, tw_task_callback *fn, struct job *job) {
    const struct tw_when when = {.due_ns = delay_ns};
    const struct tw_task task = {.fn = fn, .arg = job, .drop = drop};
    return tw_keyed_set(wheel, tw_key_string(key), &when, &task);
}

static int remove_job(const char *key) { return tw_keyed_remove(wheel, tw_key_string(key)); }

/* --- keys --------------------------------------------------------------------------------- */

static int empty(void **state) {
    at_zero(state);
    return tw_keyed_new(&wheel, rt, NULL);
}

FIXTURE(empty, freed);

TEST(godis_add_under_a_key_replaces) {
    struct job former = {0}, latter = {0};
    assert_int_equal(add("session", 5 * TW_SECOND, run, &former), 0);
    assert_int_equal(add("session", 9 * TW_SECOND, run, &latter), 1);
    assert_int_equal(former.drops, 1);
    assert_int_equal(tw_keyed_count(wheel), 1);
    let_pass(8 * TW_SECOND);
    assert_int_equal(former.runs + latter.runs, 0);
    let_pass(TW_SECOND);
    assert_int_equal(former.runs, 0);
    assert_int_equal(latter.runs, 1);
    assert_int_equal(latter.due_ns, 9 * TW_SECOND);
    assert_int_equal(latter.drops, 1);
    assert_int_equal(tw_keyed_count(wheel), 0);
}

TEST(godis_remove_by_key) {
    struct job removed = {0}, other = {0};
    assert_int_equal(add("removed", 5 * TW_SECOND, run, &removed), 0);
    assert_int_equal(add("other", 5 * TW_SECOND, run, &other), 0);
    assert_int_equal(remove_job("removed"), 1);
    assert_int_equal(remove_job("removed"), -ENOENT);
    assert_int_equal(remove_job("never there"), -ENOENT);
    let_pass(10 * TW_SECOND);
    assert_int_equal(removed.runs, 0);
    assert_int_equal(removed.drops, 1);
    assert_int_equal(other.runs, 1);
    assert_int_equal(remove_job("other"), -ENOENT);
}

TEST(godis_a_key_is_free_again_once_its_job_has_run) {
    struct job job = {0};
    for (unsigned n = 1; n <= 3; ++n) {
        assert_int_equal(add("again", TW_SECOND, run, &job), 0);
        let_pass(TW_SECOND);
        assert_int_equal(job.runs, n);
        assert_int_equal(job.drops, n);
    }
}

/* godis expires its keys this way. */
TEST(godis_ten_thousand_keys_expire_each_in_its_time) {
    enum { KEYS = 10000 };
    static struct job jobs[KEYS];
    char key[32];
    for (int i = 0; i < KEYS; ++i) {
        snprintf(key, sizeof key, "a key of redis, %d", i);
        assert_int_equal(add(key, (1 + i * (int64_t)7919 % KEYS) * TW_SECOND, run, &jobs[i]), 0);
    }
    for (int i = 0; i < KEYS; i += 4) { /* persist */
        snprintf(key, sizeof key, "a key of redis, %d", i);
        assert_int_equal(remove_job(key), 1);
    }
    let_pass(KEYS * TW_SECOND);
    for (int i = 0; i < KEYS; ++i) {
        assert_int_equal(jobs[i].runs, i % 4 != 0);
        assert_int_equal(jobs[i].due_ns, i % 4 == 0 ? 0 : (1 + i * (int64_t)7919 % KEYS) * TW_SECOND);
        assert_int_equal(jobs[i].drops, 1);
    }
}

/* --- jobs on workers: on real time ---------------------------------------------------------- */

static struct tw_workers *workers;
static atomic_uint met;
static struct gate gate;

static int on_two_workers(UNUSED void **state) {
    atomic_store(&met, 0);
    shut(&gate);
    rt = started_runtime((struct tw_runtime_options){0});
    assert_int_equal(tw_workers_new(&workers, rt, &(struct tw_workers_options){.threads = 2}), 0);
    return tw_keyed_new(&wheel, rt, &(struct tw_keyed_options){.workers = workers});
}

static void meet(const struct tw_event *event, void *arg) {
    atomic_fetch_add(&met, 1);
    wait_for(met == 2);
    run(event, arg);
}

FIXTURE(on_two_workers, freed);

TEST(godis_jobs_run_concurrently) {
    struct job jobs[2] = {{0}};
    assert_int_equal(add("one", TW_MILLISECOND, meet, &jobs[0]), 0);
    assert_int_equal(add("two", TW_MILLISECOND, meet, &jobs[1]), 0);
    wait_for(jobs[0].drops == 1 && jobs[1].drops == 1);
    assert_int_equal(jobs[0].runs + jobs[1].runs, 2);
}

static void hang(const struct tw_event *event, void *arg) {
    pass(&gate);
    run(event, arg);
}

TEST(godis_a_job_that_does_not_return_delays_no_other) {
    struct job hanging = {0}, others[100] = {{0}};
    char key[16];
    assert_int_equal(add("hangs", 0, hang, &hanging), 0);
    wait_for(gate.inside == 1);
    for (unsigned i = 0; i < COUNT_OF(others); ++i) {
        snprintf(key, sizeof key, "other %u", i);
        assert_int_equal(add(key, i % 5 * TW_MILLISECOND, run, &others[i]), 0);
    }
    for (unsigned i = 0; i < COUNT_OF(others); ++i)
        wait_for(others[i].drops == 1);
    assert_int_equal(hanging.runs, 0);
    assert_int_equal(remove_job("hangs"), 0); /* too late to prevent it; does not wait */
    assert_int_equal(hanging.drops, 0);
    atomic_store(&gate.open, true);
    wait_for(hanging.drops == 1);
    assert_int_equal(hanging.runs, 1);
}

/* A new job under the key of one that hangs runs concurrently with it. */
TEST(godis_the_key_of_a_job_that_does_not_return_can_be_used_again) {
    struct job hanging = {0}, next = {0};
    assert_int_equal(add("key", 0, hang, &hanging), 0);
    wait_for(gate.inside == 1);
    assert_true(add("key", 0, run, &next) >= 0);
    wait_for(next.drops == 1);
    assert_int_equal(hanging.drops, 0);
    atomic_store(&gate.open, true);
    wait_for(hanging.drops == 1);
}

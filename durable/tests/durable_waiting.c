/* Threads that wait: puts that wait for a slow one, and handlers that run for longer than their member
 * exists. Real threads and real time: some tests take a few tenths of a second. */
#define _GNU_SOURCE
#include "memory/memory_store.h"
#include "support/child.h"
#include "support/gate.h"
#include "support/runtime_test.h"

#include <pthread.h>
#include <semaphore.h>
#include <sys/resource.h>

#include <tickwheel/durable_store.h>
#include <tickwheel/workers.h>

static const char *const address = "memory:waiting";

static const struct tw_store *inner_store(void) { return &memory_store; }

/* --- puts that wait for another ------------------------------------------------------------------ */

/* The first put waits until the test posts `go_on`. The database refuses the key "bad". */
static sem_t go_on;
static unsigned transactions, jobs_in_last;

static int slow_put(void *of, struct tw_store_put *puts, size_t count, int keep,
                    const struct tw_store_member *member) {
    if (transactions++ == 0)
        sem_wait(&go_on);
    jobs_in_last = (unsigned)count;
    for (size_t i = 0; i < count; ++i) {
        if (strcmp(puts[i].job->key, "bad") == 0)
            return -EINVAL;
        assert_int_equal(strcmp(puts[i].job->kind, "kept") == 0, keep);
    }
    return inner_store()->put(of, puts, count, keep, member);
}

static const char *explain(UNUSED void *of) { return "no such letter"; }

struct putter {
    struct tw_durable *jobs;
    const char *kind, *key;
    int result;
    char why[64];
    pthread_t thread;
};

static void *put_one(void *arg) {
    struct putter *putter = arg;
    const struct tw_durable_job job = {.kind = putter->kind, .key = putter->key};
    const bool keeps = strcmp(putter->kind, "kept") == 0;
    putter->result = tw_durable_put(putter->jobs, &job, keeps ? TW_DURABLE_KEEP : TW_DURABLE_REPLACE);
    snprintf(putter->why, sizeof putter->why, "%s", tw_durable_explain(putter->result));
    return NULL;
}

/* Makes all of them put at the same time, while an earlier put is in progress. */
static void put_together(struct putter *putters, size_t count) {
    struct tw_durable *jobs = NULL;
    struct tw_store store = *inner_store();
    store.put = slow_put;
    store.explain = explain;
    transactions = 0;
    assert_int_equal(sem_init(&go_on, 0, 0), 0);
    assert_int_equal(open_in_memory(&jobs, NULL, address, (struct tw_durable_options){.store = &store}), 0);
    struct putter first = {.jobs = jobs, .kind = "replaced", .key = "first"};
    assert_int_equal(pthread_create(&first.thread, NULL, put_one, &first), 0);
    wait_until_others_sleep();
    for (size_t i = 0; i < count; ++i) {
        putters[i].jobs = jobs;
        assert_int_equal(pthread_create(&putters[i].thread, NULL, put_one, &putters[i]), 0);
        wait_until_others_sleep();
    }
    sem_post(&go_on);
    pthread_join(first.thread, NULL);
    for (size_t i = 0; i < count; ++i)
        pthread_join(putters[i].thread, NULL);
    assert_int_equal(first.result, 0);
    assert_int_equal(tw_durable_close(jobs), 0);
    sem_destroy(&go_on);
}

TEST(puts_of_several_threads_share_a_transaction) {
    struct putter putters[] = {{.kind = "replaced", .key = "1"},
                               {.kind = "replaced", .key = "2"},
                               {.kind = "replaced", .key = "3"},
                               {.kind = "replaced", .key = "1"}};
    put_together(putters, COUNT_OF(putters));
    assert_int_equal(transactions, 2);
    assert_int_equal(jobs_in_last, COUNT_OF(putters));
    for (size_t i = 0; i < COUNT_OF(putters); ++i)
        assert_int_equal(putters[i].result, 0);
}

TEST(puts_that_replace_and_puts_that_keep_do_not_share_a_transaction) {
    struct putter putters[] = {{.kind = "replaced", .key = "1"},
                               {.kind = "kept", .key = "2"},
                               {.kind = "kept", .key = "2"},
                               {.kind = "replaced", .key = "3"}};
    put_together(putters, COUNT_OF(putters));
    assert_int_equal(transactions, 4);
    for (size_t i = 0; i < COUNT_OF(putters); ++i)
        assert_int_equal(putters[i].result, 0);
}

TEST(a_job_that_the_database_refuses_fails_only_its_own_put) {
    struct putter putters[] = {{.kind = "replaced", .key = "1"},
                               {.kind = "replaced", .key = "bad"},
                               {.kind = "replaced", .key = "3"}};
    put_together(putters, COUNT_OF(putters));
    assert_int_equal(transactions, 5); /* the first put, the three together, and each of the three alone */
    for (size_t i = 0; i < COUNT_OF(putters); ++i)
        assert_int_equal(putters[i].result, i == 1 ? -EINVAL : 0);
    assert_string_equal(putters[1].why, "no such letter");
}

/* --- handlers that take long --------------------------------------------------------------------- */

static struct gate gate;
static atomic_uint fires, claims;
static atomic_llong lease_at_end;

static enum tw_durable_answer wait_and_look(struct tw_durable_fire *fire, UNUSED void *arg) {
    if (atomic_fetch_add(&fires, 1) == 0) {
        pass(&gate);
        atomic_store(&lease_at_end, tw_durable_lease(fire));
    }
    return TW_DURABLE_DONE;
}

static enum tw_durable_answer wait_in(UNUSED struct tw_durable_fire *fire, UNUSED void *arg) {
    pass(&gate);
    return TW_DURABLE_DONE;
}

static int counted_claim(void *of, const struct tw_store_claim *claim, tw_store_taker *each, void *arg,
                         struct tw_store_look *look) {
    atomic_fetch_add(&claims, 1);
    return inner_store()->claim(of, claim, each, arg, look);
}

static struct tw_durable_counts stats_of(struct tw_durable *jobs) {
    struct tw_durable_counts counts;
    assert_int_equal(tw_durable_stats(jobs, &counts), 0);
    return counts;
}

static struct tw_store counting_store;

/* A process with one worker, whose first job is in its handler and stays there until the gate opens. */
static struct tw_durable *begin_busy(struct tw_runtime *rt) {
    struct tw_durable *jobs = NULL;
    const struct tw_durable_job job = {.kind = "slow", .key = "first"};
    shut(&gate);
    atomic_store(&fires, 0);
    counting_store = *inner_store();
    counting_store.claim = counted_claim;
    const struct tw_durable_options options = {
        .store = &counting_store, .lease_ns = TW_SECOND, .poll_ns = 10 * TW_MILLISECOND, .threads = 1};
    assert_int_equal(open_in_memory(&jobs, rt, address, options), 0);
    assert_int_equal(tw_durable_register(jobs, "slow", wait_and_look, NULL, NULL), 0);
    assert_int_equal(tw_durable_put(jobs, &job, TW_DURABLE_REPLACE), 0);
    wait_for(atomic_load(&gate.inside) == 1);
    return jobs;
}

static int64_t an_hour_later(UNUSED void *arg) { return reading_of(CLOCK_BOOTTIME) + 3600 * TW_SECOND; }

/* Declares the member dead and releases its job, as another process does after the end of the lease. */
static void declare_dead(void) {
    char why[64];
    void *another = NULL;
    const struct tw_store_place place = {
        .address = address, .schema = "tickwheel", .local_now = an_hour_later};
    assert_int_equal(inner_store()->open(&another, &place, why, sizeof why), 0);
    assert_int_equal(inner_store()->bury(another, 1000), 1);
    inner_store()->close(another);
}

TEST(an_answer_of_a_member_that_has_died_meanwhile_counts_for_nothing) {
    struct tw_runtime *rt = started_runtime((struct tw_runtime_options){0});
    struct tw_durable *jobs = begin_busy(rt);
    declare_dead();
    wait_for(stats_of(jobs).lost_leases == 1);
    assert_int_equal(stats_of(jobs).unmatched, 0);
    atomic_store(&gate.open, true);
    wait_for(atomic_load(&fires) == 2 && tw_durable_count(jobs, NULL) == 0);
    assert_int_equal(atomic_load(&lease_at_end), 0);
    assert_int_equal(stats_of(jobs).unmatched, 1);
    assert_int_equal(tw_durable_close(jobs), 0);
    tw_runtime_free(rt);
}

/* The put must wake enough workers at once. A poll would also wake them, but much later. */
TEST(jobs_of_one_put_run_at_the_same_time) {
    struct tw_runtime *rt = started_runtime((struct tw_runtime_options){0});
    struct tw_durable *jobs = NULL;
    const struct tw_durable_job all[] = {
        {.kind = "slow", .key = "1"}, {.kind = "slow", .key = "2"}, {.kind = "slow", .key = "3"}};
    shut(&gate);
    assert_int_equal(
        open_in_memory(&jobs, rt, address,
                       (struct tw_durable_options){.threads = COUNT_OF(all), .poll_ns = 30 * TW_SECOND}),
        0);
    assert_int_equal(tw_durable_register(jobs, "slow", wait_in, NULL, NULL), 0);
    wait_for(stats_of(jobs).clock_uncertainty_ns >= 0);
    assert_int_equal(tw_durable_put_many(jobs, all, COUNT_OF(all), TW_DURABLE_REPLACE), 0);
    wait_for(atomic_load(&gate.inside) == COUNT_OF(all));
    atomic_store(&gate.open, true);
    wait_for(tw_durable_count(jobs, NULL) == 0);
    assert_int_equal(tw_durable_close(jobs), 0);
    tw_runtime_free(rt);
}

/* Other processes may be idle, so a process takes only as many jobs as it can run within a quarter of a
 * second. Its first guess is 10 ms for each job, which allows 25, and two more for each worker. */
TEST(a_busy_process_leaves_jobs_that_are_ready_to_others) {
    struct tw_runtime *rt = started_runtime((struct tw_runtime_options){0});
    struct tw_durable *jobs = begin_busy(rt);
    char key[16];
    for (unsigned i = 0; i < 200; ++i) {
        snprintf(key, sizeof key, "%u", i);
        const struct tw_durable_job job = {.kind = "slow", .key = key};
        assert_int_equal(tw_durable_put(jobs, &job, TW_DURABLE_REPLACE), 0);
    }
    const unsigned before = atomic_load(&claims);
    wait_for(stats_of(jobs).running >= 25 || atomic_load(&claims) > before + 10);
    assert_in_range(stats_of(jobs).running, 20, 27);
    atomic_store(&gate.open, true);
    wait_for(tw_durable_count(jobs, NULL) == 0);
    assert_int_equal(atomic_load(&fires), 201);
    assert_int_equal(tw_durable_close(jobs), 0);
    tw_runtime_free(rt);
}

/* --- a close while the database takes no answers ---------------------------------------------------- */

static atomic_uint refused_answers, answers_to_refuse;

static void (*_Atomic when_refused_in_close)(void); /* called once, at a refusal on the thread that closes */
static pthread_t closer;

static int refusing_settle(void *of, const struct tw_store_member *member, struct tw_store_outcome *outcomes,
                           size_t count) {
    if (atomic_load(&answers_to_refuse) <= atomic_load(&refused_answers))
        return inner_store()->settle(of, member, outcomes, count);
    atomic_fetch_add(&refused_answers, 1);
    if (pthread_equal(pthread_self(), closer)) {
        void (*const call)(void) = atomic_exchange(&when_refused_in_close, NULL);
        if (call != NULL)
            call();
    }
    return -EBUSY;
}

/* Begins a process with a job whose answer the database has refused at least once. The database refuses
 * `refusals` times in all. */
static struct tw_durable *begin_refused(struct tw_runtime *rt, unsigned refusals, int64_t timeout_ns) {
    static struct tw_store store;
    struct tw_durable *jobs = NULL;
    const struct tw_durable_job job = {.kind = "mail", .key = "17"};
    shut(&gate);
    atomic_store(&gate.open, true);
    atomic_store(&refused_answers, 0);
    atomic_store(&answers_to_refuse, refusals);
    closer = pthread_self();
    store = *inner_store();
    store.settle = refusing_settle;
    assert_int_equal(open_in_memory(&jobs, rt, address,
                                    (struct tw_durable_options){.store = &store, .timeout_ns = timeout_ns}),
                     0);
    assert_int_equal(tw_durable_register(jobs, "mail", wait_in, NULL, NULL), 0);
    assert_int_equal(tw_durable_put(jobs, &job, TW_DURABLE_REPLACE), 0);
    wait_for(atomic_load(&refused_answers) > 0);
    return jobs;
}

TEST(a_close_waits_until_the_database_takes_the_answers) {
    struct tw_runtime *rt = started_runtime((struct tw_runtime_options){0});
    struct tw_durable *keeper = NULL;
    assert_int_equal(open_in_memory(&keeper, NULL, address, (struct tw_durable_options){0}), 0);
    struct tw_durable *jobs = begin_refused(rt, 6, 0);
    assert_int_equal(tw_durable_close(jobs), 0);
    assert_int_equal(atomic_load(&refused_answers), 6);
    assert_int_equal(tw_durable_count(keeper, NULL), 0);
    assert_int_equal(tw_durable_close(keeper), 0);
    tw_runtime_free(rt);
}

TEST(a_close_says_that_answers_have_not_reached_the_database) {
    struct tw_runtime *rt = started_runtime((struct tw_runtime_options){0});
    struct tw_durable *keeper = NULL;
    assert_int_equal(open_in_memory(&keeper, NULL, address, (struct tw_durable_options){0}), 0);
    struct tw_durable *jobs = begin_refused(rt, UINT32_MAX, 200 * TW_MILLISECOND);
    assert_int_equal(tw_durable_close(jobs), -ETIMEDOUT);
    assert_non_null(strstr(tw_durable_explain(-ETIMEDOUT), "have not reached"));
    assert_int_equal(tw_durable_count(keeper, NULL), 1); /* the job will fire again */
    assert_int_equal(tw_durable_close(keeper), 0);
    tw_runtime_free(rt);
}

/* The membership finds that its member was declared dead, and drops the answers. */
TEST(a_close_says_that_others_took_over_before_the_answers_were_taken) {
    struct tw_runtime *rt = started_runtime((struct tw_runtime_options){0});
    struct tw_durable *jobs = begin_refused(rt, UINT32_MAX, 5 * TW_SECOND);
    atomic_store(&when_refused_in_close, declare_dead);
    assert_int_equal(tw_durable_close(jobs), -ETIMEDOUT);
    tw_runtime_free(rt);
}

/* --- the caller's own workers --------------------------------------------------------------------- */

static enum tw_durable_answer note_thread(UNUSED struct tw_durable_fire *fire, void *name) {
    pthread_getname_np(pthread_self(), name, 16);
    atomic_fetch_add(&fires, 1);
    return TW_DURABLE_DONE;
}

/* The pool runs one job, a second one fills its queue, and the pool rejects all others. */
TEST(handlers_wait_for_room_in_the_callers_pool) {
    struct tw_runtime *rt = started_runtime((struct tw_runtime_options){0});
    struct tw_workers *pool = NULL;
    struct tw_durable *jobs = NULL;
    struct tw_worker_stats stats = {0};
    struct tw_work busy;
    char name[16] = "";
    const struct tw_durable_job job = {.kind = "slow", .key = "first"};
    const struct tw_workers_options options = {
        .threads = 1, .queue = 1, .when_full = TW_FULL_REJECT, .thread_name = "mine"};
    shut(&gate);
    atomic_store(&fires, 0);
    assert_ok(tw_workers_new(&pool, rt, &options));
    assert_ok(tw_work_init(&busy, pool, wait_in_gate, &gate, 0));
    assert_ok(tw_runtime_every(rt, &busy.node, TW_MILLISECOND, TW_COALESCE));
    wait_for(tw_workers_stats(pool, &stats) == 0 && stats.running == 1 && stats.waiting == 1);
    assert_int_equal(
        open_in_memory(&jobs, rt, address, (struct tw_durable_options){.workers = pool, .threads = 1}), 0);
    assert_int_equal(tw_durable_register(jobs, "slow", note_thread, name, NULL), 0);
    assert_int_equal(tw_durable_put(jobs, &job, TW_DURABLE_REPLACE), 0);
    wait_for(tw_workers_stats(pool, &stats) == 0 && stats.rejected >= 2);
    assert_int_equal(atomic_load(&fires), 0);
    tw_runtime_cancel(rt, &busy.node);
    atomic_store(&gate.open, true);
    wait_for(atomic_load(&fires) == 1);
    assert_string_equal(name, "mine");
    assert_int_equal(tw_durable_close(jobs), 0);
    tw_runtime_free(rt);
}

/* --- a process that may open no more files ----------------------------------------------------------- */

static int lowest_descriptor(void) {
    const int lowest = dup(0);
    assert_true(lowest >= 0);
    close(lowest);
    return lowest;
}

TEST(a_connection_is_not_opened_halfway_without_descriptors) {
    struct tw_runtime *rt = started_runtime((struct tw_runtime_options){0});
    struct tw_durable *jobs = NULL;
    struct rlimit usual;
    const int lowest = lowest_descriptor();
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
    int result = -EMFILE;
    for (unsigned spare = 0; result == -EMFILE; ++spare) { /* each of its two threads needs one */
        struct rlimit few = {.rlim_cur = (rlim_t)lowest + spare, .rlim_max = usual.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        result = open_in_memory(&jobs, rt, address, (struct tw_durable_options){0});
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
        assert_int_equal(result, spare < 2 ? -EMFILE : 0);
        assert_true((jobs != NULL) == (result == 0));
    }
    assert_int_equal(tw_durable_close(jobs), 0);
    assert_int_equal(lowest_descriptor(), lowest);
    tw_runtime_free(rt);
}

/* --- a member that resumes while its dispatcher waits for the database ----------------------------- */

/* A call of the dispatcher that waits in the database, and then times out without any effect. */
struct stop {
    atomic_bool is_planned, is_inside;
    sem_t go_on;
};
static struct stop at_start, at_settle;
static atomic_bool loses_an_answer, refuses_members;

static int stop_at(struct stop *stop) {
    if (!atomic_exchange(&stop->is_planned, false))
        return 0;
    atomic_store(&stop->is_inside, true);
    sem_wait(&stop->go_on);
    return -ETIMEDOUT;
}

static int stopping_start(void *of, const struct tw_store_member *member, struct tw_store_start *starts,
                          size_t count, int64_t *now_ns) {
    const int error = stop_at(&at_start);
    return error != 0 ? error : inner_store()->start(of, member, starts, count, now_ns);
}

static int stopping_settle(void *of, const struct tw_store_member *member, struct tw_store_outcome *outcomes,
                           size_t count) {
    const int error = stop_at(&at_settle);
    return error != 0 ? error : inner_store()->settle(of, member, outcomes, count);
}

static int losing_put(void *of, struct tw_store_put *puts, size_t count, int keep,
                      const struct tw_store_member *member) {
    const int result = inner_store()->put(of, puts, count, keep, member);
    return atomic_exchange(&loses_an_answer, false) ? -EIO : result;
}

static int refusing_join(void *of, const char *name, int64_t lease_ns, struct tw_store_member *member) {
    return atomic_load(&refuses_members) ? -EBUSY : inner_store()->join(of, name, lease_ns, member);
}

static enum tw_durable_answer count_first(struct tw_durable_fire *fire, UNUSED void *arg) {
    atomic_fetch_add(&fires, strcmp(fire->key, "first") == 0);
    return TW_DURABLE_DONE;
}

static struct tw_durable *begin_stopping(struct tw_runtime *rt) {
    static struct tw_store store;
    struct tw_durable *jobs = NULL;
    atomic_store(&fires, 0);
    store = *inner_store();
    store.start = stopping_start;
    store.settle = stopping_settle;
    store.put = losing_put;
    store.join = refusing_join;
    assert_int_equal(open_in_memory(&jobs, rt, address, (struct tw_durable_options){.store = &store}), 0);
    assert_int_equal(tw_durable_register(jobs, "slow", count_first, NULL, NULL), 0);
    wait_for(stats_of(jobs).clock_uncertainty_ns >= 0);
    return jobs;
}

/* Puts the first job, and waits until the dispatcher stops at this call for it. */
static void put_first(struct tw_durable *jobs, struct stop *stop) {
    const struct tw_durable_job first = {.kind = "slow", .key = "first", .due_ns = 20 * TW_MILLISECOND};
    assert_int_equal(sem_init(&stop->go_on, 0, 0), 0);
    atomic_store(&stop->is_inside, false);
    atomic_store(&stop->is_planned, true);
    assert_int_equal(tw_durable_put(jobs, &first, TW_DURABLE_REPLACE), 0);
    wait_for(atomic_load(&stop->is_inside));
}

/* Puts another job, whose answer is lost, so that the member resumes. */
static void have_resume(struct tw_durable *jobs) {
    const struct tw_durable_job other = {.kind = "slow", .key = "other", .due_ns = 20 * TW_MILLISECOND};
    atomic_store(&loses_an_answer, true);
    assert_int_equal(tw_durable_put(jobs, &other, TW_DURABLE_REPLACE), -EIO);
    wait_for(stats_of(jobs).claimed == 2);
}

static void go_on_and_end(struct tw_durable *jobs, struct stop *stop, struct tw_runtime *rt,
                          uint64_t unmatched) {
    sem_post(&stop->go_on);
    wait_for(tw_durable_count(jobs, NULL) == 0);
    assert_int_equal(stats_of(jobs).unmatched, unmatched);
    assert_int_equal(tw_durable_close(jobs), 0);
    sem_destroy(&stop->go_on);
    tw_runtime_free(rt);
}

/* The start gets no answer, so the dispatcher goes on alone. But the member has already forgotten the job. */
TEST(a_job_that_is_forgotten_while_its_start_is_asked_for_does_not_fire) {
    struct tw_runtime *rt = started_runtime((struct tw_runtime_options){0});
    struct tw_durable *jobs = begin_stopping(rt);
    put_first(jobs, &at_start);
    assert_int_equal(tw_durable_cancel(jobs, "slow", "first"), 1);
    have_resume(jobs);
    assert_int_equal(stats_of(jobs).taken_back, 1);
    go_on_and_end(jobs, &at_start, rt, 0);
    assert_int_equal(atomic_load(&fires), 0);
}

/* The job waits, because the only worker is busy. */
TEST(a_started_job_that_the_member_no_longer_holds_when_it_resumes_does_not_fire) {
    struct tw_runtime *rt = started_runtime((struct tw_runtime_options){0});
    struct tw_durable *jobs = begin_busy(rt), *keeper = NULL;
    const struct tw_durable_job waits = {.kind = "slow", .key = "waits"};
    counting_store.put = losing_put;
    assert_int_equal(open_in_memory(&keeper, NULL, address, (struct tw_durable_options){0}), 0);
    assert_int_equal(tw_durable_put(jobs, &waits, TW_DURABLE_REPLACE), 0);
    wait_for(stats_of(jobs).running == 2);
    assert_int_equal(tw_durable_cancel(keeper, "slow", "waits"), 0);
    atomic_store(&loses_an_answer, true);
    const struct tw_durable_job lost = {.kind = "slow", .key = "lost", .due_ns = 20 * TW_MILLISECOND};
    assert_int_equal(tw_durable_put(jobs, &lost, TW_DURABLE_REPLACE), -EIO);
    wait_for(stats_of(jobs).taken_back == 1);
    atomic_store(&gate.open, true);
    wait_for(tw_durable_count(jobs, NULL) == 0);
    assert_int_equal(atomic_load(&fires), 2);
    assert_int_equal(stats_of(jobs).unmatched, 0);
    assert_int_equal(tw_durable_close(jobs), 0);
    assert_int_equal(tw_durable_close(keeper), 0);
    tw_runtime_free(rt);
}

static atomic_bool refuses_starts;
static atomic_uint resumes;

static int refusing_start(void *of, const struct tw_store_member *member, struct tw_store_start *starts,
                          size_t count, int64_t *now_ns) {
    return atomic_load(&refuses_starts) ? -ETIMEDOUT
                                        : inner_store()->start(of, member, starts, count, now_ns);
}

static int counted_resume(void *of, struct tw_store_member *member, const int64_t *started, size_t count,
                          tw_store_visitor *each, void *arg) {
    const int error = inner_store()->resume(of, member, started, count, each, arg);
    atomic_fetch_add(&resumes, 1);
    return error;
}

/* The job waits, because the only worker is busy. */
TEST(a_job_that_starts_without_the_database_and_waits_for_a_worker_counts_as_started_after_a_resume) {
    struct tw_runtime *rt = started_runtime((struct tw_runtime_options){0});
    struct tw_durable *jobs = begin_busy(rt), *keeper = NULL;
    const struct tw_durable_job waits = {.kind = "slow", .key = "waits", .due_ns = 20 * TW_MILLISECOND};
    counting_store.start = refusing_start;
    counting_store.resume = counted_resume;
    atomic_store(&resumes, 0);
    atomic_store(&refuses_starts, true);
    assert_int_equal(open_in_memory(&keeper, NULL, address, (struct tw_durable_options){0}), 0);
    assert_int_equal(tw_durable_put(jobs, &waits, TW_DURABLE_REPLACE), 0);
    wait_for(stats_of(jobs).unconfirmed == 1);
    atomic_store(&refuses_starts, false);
    wait_for(atomic_load(&resumes) != 0);
    assert_int_equal(tw_durable_cancel(keeper, "slow", "waits"), 0); /* too late to prevent the fire */
    atomic_store(&gate.open, true);
    wait_for(atomic_load(&fires) == 2 && tw_durable_count(jobs, NULL) == 0);
    assert_int_equal(tw_durable_close(jobs), 0);
    assert_int_equal(tw_durable_close(keeper), 0);
    tw_runtime_free(rt);
}

/* The database still holds the job for the member, and the member must recognize it as its own. */
TEST(a_job_whose_answer_is_on_its_way_while_the_member_resumes_is_not_released) {
    struct tw_runtime *rt = started_runtime((struct tw_runtime_options){0});
    struct tw_durable *jobs = begin_stopping(rt);
    put_first(jobs, &at_settle);
    have_resume(jobs);
    go_on_and_end(jobs, &at_settle, rt, 0);
    assert_int_equal(atomic_load(&fires), 1);
}

/* The database notifies the membership of the released job, so the membership finds that its member is dead.
 * The membership cannot join again yet. */
TEST(an_answer_that_is_on_its_way_as_its_member_is_declared_dead_counts_for_nothing) {
    struct tw_runtime *rt = started_runtime((struct tw_runtime_options){0});
    struct tw_durable *jobs = begin_stopping(rt);
    put_first(jobs, &at_settle);
    atomic_store(&refuses_members, true);
    declare_dead();
    wait_for(stats_of(jobs).lost_leases == 1);
    assert_int_equal(stats_of(jobs).unsettled, 1);
    sem_post(&at_settle.go_on);
    wait_for(stats_of(jobs).unsettled == 0);
    assert_int_equal(atomic_load(&fires), 1);
    atomic_store(&refuses_members, false);
    go_on_and_end(jobs, &at_settle, rt, 1); /* the database did not take the first answer */
    assert_int_equal(atomic_load(&fires), 2);
}

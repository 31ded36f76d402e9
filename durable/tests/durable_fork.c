/* A fork of a process that handles jobs: the child can only close the connection, and the parent goes on.
 * With real threads, on the databases that need no server. */
#include "memory/memory_store.h"
#include "support/child.h"
#include "support/runtime_test.h"

#include <tickwheel/durable.h>

static atomic_uint fires;

static enum tw_durable_answer count_fire(UNUSED struct tw_durable_fire *fire, UNUSED void *arg) {
    atomic_fetch_add(&fires, 1);
    return TW_DURABLE_DONE;
}

static int visit(UNUSED const struct tw_durable_entry *entry, UNUSED void *arg) { return 0; }
static void write_nothing(UNUSED const char *text, UNUSED size_t size, UNUSED void *arg) {}

static void refuse_all_and_close(struct tw_durable *jobs) {
    const struct tw_durable_job job = {.kind = "mail", .key = "child"};
    struct tw_durable_counts counts;
    expect(tw_durable_put(jobs, &job, TW_DURABLE_REPLACE) == -ECHILD);
    expect(tw_durable_put_many(jobs, &job, 1, TW_DURABLE_REPLACE) == -ECHILD);
    expect(tw_durable_cancel(jobs, "mail", "17") == -ECHILD);
    expect(tw_durable_requeue(jobs, NULL, NULL) == -ECHILD);
    expect(tw_durable_get(jobs, "mail", "17", visit, NULL) == -ECHILD);
    expect(tw_durable_list(jobs, NULL, visit, NULL) == -ECHILD);
    expect(tw_durable_count(jobs, NULL) == -ECHILD);
    expect(tw_durable_now(jobs) == -ECHILD);
    expect(tw_durable_register(jobs, "bill", count_fire, NULL, NULL) == -ECHILD);
    expect(tw_durable_stats(jobs, &counts) == -ECHILD);
    expect(tw_durable_dump(jobs, write_nothing, NULL) == -ECHILD);
    expect(strlen(tw_durable_explain(-ECHILD)) > 5);
    expect(tw_durable_close(jobs) == 0);
    leave(0);
}

static void put_now(struct tw_durable *jobs, const char *key) {
    const struct tw_durable_job job = {.kind = "mail", .key = key};
    assert_int_equal(tw_durable_put(jobs, &job, TW_DURABLE_REPLACE), 0);
}

static void fork_with(const char *address, const struct tw_store *store) {
    struct tw_runtime *rt = started_runtime((struct tw_runtime_options){0});
    struct tw_durable *jobs = NULL;
    atomic_store(&fires, 0);
    const struct tw_durable_options options = {.poll_ns = 30 * TW_SECOND, .store = store};
    assert_int_equal(tw_durable_open(&jobs, rt, address, &options), 0);
    assert_int_equal(tw_durable_register(jobs, "mail", count_fire, NULL, NULL), 0);
    put_now(jobs, "16");
    wait_for(atomic_load(&fires) == 1 && tw_durable_count(jobs, NULL) == 0);
    wait_until_others_sleep();

    fflush(NULL);
    const pid_t child = fork();
    if (child == 0)
        refuse_all_and_close(jobs);
    assert_child_is_well(child);

    put_now(jobs, "17");
    wait_for(atomic_load(&fires) == 2 && tw_durable_count(jobs, NULL) == 0);
    assert_int_equal(tw_durable_close(jobs), 0);
    tw_runtime_free(rt);
}

TEST(the_child_of_a_process_with_jobs_in_memory_is_inert) { fork_with("memory:fork", &memory_store); }

TEST(the_child_of_a_process_with_jobs_in_a_file_is_inert) {
    struct tw_durable *jobs = NULL;
    char folder[] = "/tmp/tickwheel-fork-XXXXXX", address[64], file[64];
    const char *const ends[] = {"", "-wal", "-shm"};
    assert_non_null(mkdtemp(folder));
    snprintf(address, sizeof address, "sqlite:%s/jobs.db", folder);
    const int error = tw_durable_open(&jobs, NULL, address, NULL);
    if (error == 0) {
        assert_int_equal(tw_durable_close(jobs), 0);
        fork_with(address, NULL);
    }
    for (size_t i = 0; i < COUNT_OF(ends); ++i) {
        snprintf(file, sizeof file, "%s/jobs.db%s", folder, ends[i]);
        unlink(file);
    }
    rmdir(folder);
    if (error == -EOPNOTSUPP)
        skip();
    assert_int_equal(error, 0);
}

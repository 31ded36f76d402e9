// Databases in memory: sqlite::memory:NAME.
#include <atomic>

#include <tickwheel/durable.h>

#include "sqlite_test.hpp"

namespace tickwheel::durable::tests {
namespace {

TEST(a_database_in_memory_is_shared_by_its_name_and_gone_with_its_last_connection) {
    {
        connection one(":memory:a"), another(":memory:a"), stranger(":memory:b"), nameless(":memory:");
        assert_int_equal(one.put("17"), 0);
        assert_true(another.has("17"));
        assert_int_equal(stranger.count(), 0);
        assert_int_equal(nameless.count(), 0);
        assert_int_equal(connection(":memory:a", second, true).error(), 0);
    }
    assert_int_equal(connection(":memory:a", second, true).error(), -ENOENT);
    assert_int_equal(connection(":memory:a").count(), 0);
}

TEST(another_process_does_not_see_a_database_in_memory) {
    connection here(":memory:a");
    assert_int_equal(here.put("17"), 0);
    const int count = in_child([] { return static_cast<int>(connection(":memory:a").count()); });
    assert_int_equal(count, 0);
}

tw_durable_answer count_fire(tw_durable_fire *, void *fires) {
    ++*static_cast<std::atomic<unsigned> *>(fires);
    return TW_DURABLE_DONE;
}

tw_durable_job job_of(const char *key, std::int64_t delay) {
    tw_durable_job job{};
    job.kind = "mail";
    job.key = key;
    job.due_ns = delay;
    return job;
}

TEST(jobs_in_memory_follow_virtual_time) {
    constexpr std::int64_t day = 86400 * second;
    std::atomic<unsigned> fires = 0;
    tw_runtime *rt = nullptr;
    tw_durable *jobs = nullptr;
    tw_runtime_options virtual_time{};
    virtual_time.driver = "manual";
    tw_durable_options options{};
    options.single_thread = 1;
    options.lease_ns = 600 * second;
    options.poll_ns = 30 * second;
    assert_int_equal(tw_runtime_new(&rt, &virtual_time), 0);
    assert_int_equal(tw_durable_open(&jobs, rt, "sqlite::memory:", &options), 0);
    assert_int_equal(tw_durable_register(jobs, "mail", count_fire, &fires, nullptr), 0);

    const tw_durable_job once = job_of("once", 20 * day);
    tw_durable_job daily = job_of("daily", 0);
    daily.cron = "30 9 * * *";
    assert_int_equal(tw_durable_put(jobs, &once, TW_DURABLE_REPLACE), 0);
    assert_int_equal(tw_runtime_advance(rt, 20 * day - 1), 0);
    assert_int_equal(fires, 0);
    assert_int_equal(tw_runtime_advance(rt, second), 0);
    assert_int_equal(fires, 1);
    assert_int_equal(tw_durable_put(jobs, &daily, TW_DURABLE_REPLACE), 0);
    assert_int_equal(tw_runtime_advance(rt, 30 * day), 0);
    assert_int_equal(fires, 31);
    assert_int_equal(tw_durable_close(jobs), 0);
    tw_runtime_free(rt);
}

TEST(a_put_into_memory_by_another_connection_is_noticed_at_once) {
    std::atomic<unsigned> fires = 0;
    tw_runtime *rt = nullptr;
    tw_durable *jobs = nullptr, *putter = nullptr;
    tw_durable_options options{};
    options.poll_ns = 30 * second;
    assert_int_equal(tw_runtime_new(&rt, nullptr), 0);
    assert_int_equal(tw_runtime_start(rt), 0);
    assert_int_equal(tw_durable_open(&jobs, rt, "sqlite::memory:shop", &options), 0);
    assert_int_equal(tw_durable_open(&putter, nullptr, "sqlite::memory:shop", nullptr), 0);
    assert_int_equal(tw_durable_register(jobs, "mail", count_fire, &fires, nullptr), 0);
    assert_true(tw_durable_now(putter) > 1'700'000'000 * second);  // the machine's clock
    for (unsigned round = 1; round <= 20; ++round) {
        const tw_durable_job now = job_of("now", 0);
        assert_true(tw_durable_put(putter, &now, TW_DURABLE_REPLACE) >= 0);
        for (int waits = 0; fires < round && waits < 5000; ++waits)
            usleep(1000);
        assert_int_equal(fires, round);
    }
    assert_int_equal(tw_durable_close(putter), 0);
    assert_int_equal(tw_durable_close(jobs), 0);
    tw_runtime_free(rt);
}

}  // namespace
}  // namespace tickwheel::durable::tests

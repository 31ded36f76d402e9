// Calls that run out of memory. The tests refuse each allocation of a call once. The call must then return
// -ENOMEM and change nothing, or succeed without that memory. Only operator new refuses: the library of jobs
// and the store in memory allocate by it.
#include <cstdint>

#include <tickwheel/durable.h>

// After those of C++, because CMocka defines `fail`.
#include "memory/memory_store.h"
#include "support/refused_memory.hpp"
#include "support/test.h"

namespace {

using namespace refused_memory;

struct process {
    tw_runtime *rt = nullptr;
    tw_durable *jobs = nullptr, *keeper = nullptr;
    unsigned fires = 0;
};

tw_durable_answer count_fire(tw_durable_fire *, void *arg) {
    ++static_cast<process *>(arg)->fires;
    return TW_DURABLE_DONE;
}

int open(process &self) {
    tw_durable_options options = {};
    options.single_thread = 1;
    return open_in_memory(&self.jobs, self.rt, "memory:test", options);
}

void begin(process &self) {
    tw_runtime_options options = {};
    options.driver = "manual";
    assert_int_equal(tw_runtime_new(&self.rt, &options), 0);
    assert_int_equal(open_in_memory(&self.keeper, nullptr, "memory:test", {}), 0);
}

void end(process &self) {
    assert_int_equal(tw_durable_close(self.jobs), 0);
    assert_int_equal(tw_durable_close(self.keeper), 0);
    tw_runtime_free(self.rt);
}

const char *const long_key = "a key that is longer than what fits into a string without memory";

tw_durable_job job_of(const char *key) {
    tw_durable_job job = {};
    job.kind = "a kind that is longer than what fits into a string without memory";
    job.key = key;
    return job;
}

// --- the tests -------------------------------------------------------------------------------

TEST(a_connection_is_opened_or_not) {
    process self;
    begin(self);
    const int refused = refuse_each([&] { return open(self); },
                                    [&](int result) {
                                        assert_int_equal(result, -ENOMEM);
                                        assert_null(self.jobs);
                                    });
    assert_in_range(refused, 3, 100);
    end(self);
}

TEST(a_handler_is_there_or_not) {
    process self;
    begin(self);
    assert_int_equal(open(self), 0);
    const tw_durable_job job = job_of(long_key);
    const int refused =
        refuse_each([&] { return tw_durable_register(self.jobs, job.kind, count_fire, &self, nullptr); },
                    [](int result) { assert_int_equal(result, -ENOMEM); });
    assert_in_range(refused, 2, 100);
    end(self);
}

TEST(jobs_are_put_or_not) {
    process self;
    begin(self);
    assert_int_equal(open(self), 0);
    const tw_durable_job jobs[] = {job_of(long_key), job_of("another")};
    const int refused =
        refuse_each([&] { return tw_durable_put_many(self.jobs, jobs, 2, TW_DURABLE_REPLACE); },
                    [&](std::int64_t result) {
                        assert_int_equal(result, -ENOMEM);
                        assert_int_equal(tw_durable_count(self.jobs, nullptr), 0);
                    });
    assert_in_range(refused, 3, 100);
    assert_int_equal(tw_durable_count(self.jobs, nullptr), 2);
    end(self);
}

int visit(const tw_durable_entry *, void *count) { return ++*static_cast<int *>(count), 0; }

TEST(a_walk_goes_on_or_says_so) {
    process self;
    begin(self);
    assert_int_equal(open(self), 0);
    const tw_durable_job job = job_of(long_key);
    assert_int_equal(tw_durable_put(self.jobs, &job, TW_DURABLE_REPLACE), 0);
    int visits = 0;
    const int refused = refuse_each(
        [&] {
            visits = 0;
            return tw_durable_list(self.jobs, nullptr, visit, &visits);
        },
        [](int) {});
    assert_in_range(refused, 1, 100);
    assert_int_equal(visits, 1);
    assert_int_equal(tw_durable_cancel(self.jobs, job.kind, job.key), 1);
    end(self);
}

TEST(a_claim_without_memory_is_made_again) {
    process self;
    begin(self);
    assert_int_equal(open(self), 0);
    tw_durable_job job = job_of(long_key);
    job.due_ns = 10 * TW_SECOND;  // so that its put does not claim it
    assert_int_equal(tw_durable_register(self.jobs, job.kind, count_fire, &self, nullptr), 0);
    assert_int_equal(tw_runtime_advance(self.rt, TW_SECOND), 0);
    unsigned expected = 0;
    for (int which = 0; which < 20; ++which) {
        assert_int_equal(tw_durable_put(self.jobs, &job, TW_DURABLE_REPLACE), 0);
        spared = which;
        assert_int_equal(tw_runtime_advance(self.rt, 9 * TW_SECOND), 0);
        spared = never;
        assert_int_equal(tw_runtime_advance(self.rt, 30 * TW_SECOND), 0);
        assert_int_equal(self.fires, ++expected);
        assert_int_equal(tw_durable_count(self.jobs, nullptr), 0);
    }
    end(self);
}

// Whatever the put returns, the job fires once if the put has stored it, and not at all otherwise.
TEST(what_a_put_holds_without_memory_fires) {
    process self;
    begin(self);
    assert_int_equal(open(self), 0);
    const tw_durable_job job = job_of(long_key);
    assert_int_equal(tw_durable_register(self.jobs, job.kind, count_fire, &self, nullptr), 0);
    assert_int_equal(tw_runtime_advance(self.rt, TW_SECOND), 0);
    const auto put_and_run = [&](int may_allocate) {
        const unsigned before = self.fires;
        has_refused = false;
        spared = may_allocate;
        const int result = tw_durable_put(self.jobs, &job, TW_DURABLE_REPLACE);
        spared = never;
        const std::int64_t there = tw_durable_count(self.keeper, nullptr);
        assert_int_equal(tw_runtime_advance(self.rt, 30 * TW_SECOND), 0);
        assert_int_equal(self.fires - before, there);
        assert_int_equal(tw_durable_count(self.keeper, nullptr), 0);
        assert_true(result == 0 ? there == 1 : result == -ENOMEM);
    };
    int refused = -1;
    do
        put_and_run(++refused);
    while (has_refused);
    assert_in_range(refused, 5, 100);
    end(self);
}

}  // namespace

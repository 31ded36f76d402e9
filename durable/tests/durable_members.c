/* How a member looks for jobs, and what happens to the jobs, answers and leases of dead members. */
#include "scripted_store.h"

/* --- a member that is declared dead ------------------------------------------------------------ */

/* The process learns of it by a renewal; or, if the connection has broken, when the member resumes. */
TEST(a_member_that_was_declared_dead_forgets_what_it_held_and_joins_again) {
    for (unsigned resumes = 0; resumes < 2; ++resumes) {
        begin_scripted((struct tw_durable_options){.horizon_ns = MINUTE, .poll_ns = 20 * MS});
        put_mail(self, "17", 20 * SECOND);
        put_mail(self, "18", 20 * SECOND);
        const int64_t token = entry_of(self, "17").token;
        declare_all_dead();
        assert_int_equal(entry_of(self, "17").state, TW_DURABLE_PENDING);
        assert_int_equal(tw_durable_cancel(self->keeper, "mail", "18"), 1);
        script.claim = resumes ? broken(1, -ENOTCONN) : broken(0, 0);
        script.join = broken(3, REFUSAL);
        advance(self, 150 * MS);
        struct tw_durable_counts now = stats_of(self);
        assert_int_equal(now.lost_leases, 1);
        assert_int_equal(now.taken_back, 2);
        assert_int_equal(now.held, 0);
        assert_int_equal(now.lease_ns, 0);
        advance(self, SECOND);
        now = stats_of(self);
        assert_int_equal(now.lost_leases, 1);
        assert_int_equal(now.held, 1);
        assert_in_range(now.lease_ns, 13 * SECOND, 15 * SECOND);
        assert_int_equal(entry_of(self, "17").state, TW_DURABLE_HELD);
        assert_true(entry_of(self, "17").token > token);
        advance(self, HOUR);
        assert_int_equal(self->count, 1);
        assert_fired(self, 0, 21 * SECOND);
    }
}

TEST(an_answer_that_was_not_settled_when_its_member_was_declared_dead_counts_for_nothing) {
    begin_scripted((struct tw_durable_options){0});
    script.settle = broken(each_time, REFUSAL);
    put_mail(self, "17", 0);
    advance(self, 0);
    assert_int_equal(self->count, 1);
    assert_int_equal(stats_of(self).unsettled, 1);
    declare_all_dead();
    script.claim = broken(each_time, REFUSAL);
    advance(self, 6 * SECOND);
    assert_int_equal(stats_of(self).unsettled, 0);
    assert_int_equal(stats_of(self).unmatched, 1);
    script.claim.times = script.settle.times = 0;
    advance(self, MINUTE);
    assert_int_equal(self->count, 2);
    assert_int_equal(self->fires[1].attempt, 2); /* the try of the dead member counts */
    assert_false(exists(self, "17"));
}

static int is_failed_for_deaths(const struct tw_durable_entry *entry, UNUSED void *arg) {
    assert_int_equal(entry->state, TW_DURABLE_FAILED);
    assert_non_null(strstr(entry->error, "has ended before"));
    return 77;
}

TEST(a_job_whose_process_ends_in_each_try_has_failed) {
    begin_scripted((struct tw_durable_options){0});
    assert_int_equal(
        tw_durable_register(self->jobs, "bill", note, self, &(struct tw_durable_handling){.attempts = 2}), 0);
    script.settle = broken(each_time, REFUSAL);
    assert_int_equal(put(self, (struct tw_durable_job){.kind = "bill", .key = "17"}), 0);
    for (unsigned tries = 1; tries <= 2; ++tries) {
        advance(self, 10 * SECOND);
        assert_int_equal(self->count, tries);
        assert_int_equal(self->fires[tries - 1].attempt, tries);
        declare_all_dead();
    }
    script.settle.times = 0;
    advance(self, 10 * SECOND);
    assert_int_equal(self->count, 2);
    assert_int_equal(stats_of(self).failed, 1);
    assert_int_equal(tw_durable_get(self->jobs, "bill", "17", is_failed_for_deaths, NULL), 77);
}

static int has_an_error(const struct tw_durable_entry *entry, UNUSED void *arg) {
    return entry->error != NULL;
}

/* For example, a job in a time zone that only another machine has. */
TEST(a_job_whose_dates_this_machine_cannot_read_waits_a_minute) {
    struct tw_durable_job job = mail("17", tw_runtime_now(self->rt));
    struct tw_store_put put = {.job = &job};
    void *const another = open_another();
    job.absolute = 1;
    job.payload = "";
    job.cron = "* * * * *";
    job.zone = "Atlantis/Capital";
    assert_int_equal(inner_store()->put(another, &put, 1, 0, NULL), 0);
    inner_store()->close(another);
    advance(self, 15 * SECOND);
    assert_int_equal(self->count, 0);
    assert_int_equal(stats_of(self).retried, 1);
    assert_int_equal(tw_durable_get(self->jobs, "mail", "17", has_an_error, NULL), 1);
    const struct tw_durable_entry entry = entry_of(self, "17");
    assert_int_equal(entry.attempts, 0);
    assert_int_equal(entry.job.due_ns, job.due_ns);
    assert_in_range(entry.ready_ns, job.due_ns + MINUTE, job.due_ns + MINUTE + 15 * SECOND);
}

/* --- a member that renews its lease ------------------------------------------------------------- */

/* For example, because another transaction has locked the jobs, or a right on them is missing. */
TEST(a_lease_lasts_whatever_else_the_database_refuses) {
    const int64_t leases[] = {SECOND, 3 * SECOND, 15 * SECOND};
    const struct {
        struct plan claim, resume, bury;
    } cases[] = {
        {.claim = broken(each_time, REFUSAL)},
        {.claim = broken(each_time, REFUSAL), .resume = broken(each_time, REFUSAL)},
        {.claim = broken(each_time, REFUSAL), .resume = unanswered(1, REFUSAL)},
        {.claim = broken(each_time, REFUSAL), .resume = unanswered(each_time, REFUSAL)},
        {.claim = broken(each_time, REFUSAL), .resume = broken(each_time, -EACCES)},
        {.bury = broken(each_time, REFUSAL)},
    };
    for (size_t i = 0; i < COUNT_OF(leases) * COUNT_OF(cases); ++i) {
        const int64_t lease = leases[i / COUNT_OF(cases)];
        begin_scripted((struct tw_durable_options){.lease_ns = lease, .poll_ns = 20 * MS});
        put_mail(self, "17", MINUTE);
        script.claim = cases[i % COUNT_OF(cases)].claim;
        script.resume = cases[i % COUNT_OF(cases)].resume;
        script.bury = cases[i % COUNT_OF(cases)].bury;
        for (int64_t passed = 0; passed < 40 * SECOND; passed += 100 * MS) {
            advance(self, 100 * MS);
            assert_true(stats_of(self).lease_ns > lease / 3);
        }
        assert_int_equal(stats_of(self).lost_leases, 0);
        script.claim.times = script.resume.times = script.bury.times = 0;
        advance(self, 21 * SECOND);
        assert_int_equal(self->count, 1); /* on time */
    }
}

TEST(no_call_of_the_membership_takes_longer_than_a_third_of_the_lease) {
    begin_scripted((struct tw_durable_options){.lease_ns = 1500 * MS, .timeout_ns = SECOND});
    assert_int_equal(script.shortest_timeout_ns, 500 * MS);
}

/* --- dead members ------------------------------------------------------------------------------ */

/* `other` becomes a member that holds `count` jobs. Its own time then stands still, so it does no more. */
static void begin_dead(unsigned count) {
    other = begin_another((struct tw_durable_options){.lease_ns = SECOND, .horizon_ns = MINUTE});
    put_many(other->jobs, count, mail(NULL, SECOND));
    advance(other, 0);
    assert_int_equal(tw_durable_count(self->keeper, &(struct tw_durable_filter){.states = TW_DURABLE_HELD}),
                     count);
}

TEST(a_poll_finds_out_about_the_dead_before_the_next_renewal_does) {
    begin_with((struct tw_durable_options){.poll_ns = 100 * MS});
    begin_dead(1);
    advance(self, 1300 * MS);
    assert_int_equal(self->count, 1);
    assert_int_equal(stats_of(self).released, 1);
}

TEST(all_jobs_of_the_dead_are_released_however_many) {
    begin_with((struct tw_durable_options){.poll_ns = 100 * MS, .horizon_ns = MINUTE});
    begin_dead(1500);
    advance(self, 1300 * MS);
    assert_int_equal(stats_of(self).released, 1500);
    advance(self, 2 * SECOND);
    assert_int_equal(self->count, 1500);
}

TEST(a_burial_that_fails_is_repeated) {
    begin_scripted((struct tw_durable_options){.poll_ns = 100 * MS});
    begin_dead(1);
    script.bury = broken(each_time, REFUSAL);
    advance(self, 3 * SECOND);
    assert_int_equal(stats_of(self).released, 0);
    script.bury.times = 0;
    advance(self, 3 * SECOND);
    assert_int_equal(stats_of(self).released, 1);
    assert_int_equal(self->count, 1);
}

/* --- looking for jobs --------------------------------------------------------------------------- */

static const struct tw_store *silent_store(void) {
    static struct tw_store silent;
    silent = *inner_store();
    silent.listen = NULL;
    return &silent;
}

TEST(a_process_that_puts_a_job_claims_it_one_horizon_before_it_is_due) {
    begin_with((struct tw_durable_options){
        .store = silent_store(), .horizon_ns = 10 * SECOND, .poll_ns = 30 * SECOND});
    put_mail(self, "17", 25 * SECOND);
    advance(self, 15 * SECOND - LATE);
    assert_int_equal(entry_of(self, "17").state, TW_DURABLE_PENDING);
    advance(self, 2 * LATE);
    assert_int_equal(entry_of(self, "17").state, TW_DURABLE_HELD);
}

TEST(a_database_that_tells_nobody_is_asked_every_100_ms) {
    begin_with((struct tw_durable_options){.store = silent_store()});
    assert_int_equal(put_elsewhere(self, "17", 0), 0);
    advance(self, 100 * MS + LATE);
    assert_int_equal(self->count, 1);
}

TEST(room_for_a_job_that_was_removed_is_used_soon) {
    begin_with((struct tw_durable_options){.hold = 1, .horizon_ns = MINUTE, .poll_ns = 30 * SECOND});
    put_mail(self, "17", 20 * SECOND);
    put_mail(self, "18", 5 * SECOND);
    advance(self, SECOND);
    assert_int_equal(entry_of(self, "18").state, TW_DURABLE_PENDING);
    assert_int_equal(tw_durable_cancel(self->jobs, "mail", "17"), 1);
    advance(self, 10 * SECOND);
    assert_int_equal(self->count, 1);
    assert_fired(self, 0, 6 * SECOND);
}

TEST(an_answer_that_is_not_settled_takes_up_room) {
    begin_scripted((struct tw_durable_options){.hold = 1, .poll_ns = 20 * MS});
    script.settle = broken(each_time, REFUSAL);
    put_mail(self, "17", 0);
    put_mail(self, "18", 0);
    advance(self, SECOND);
    assert_int_equal(self->count, 1);
    assert_int_equal(stats_of(self).unsettled, 1);
    script.settle.times = 0;
    advance(self, SECOND);
    assert_int_equal(self->count, 2);
}

TEST(a_put_claims_what_is_due_within_the_horizon) {
    begin_with((struct tw_durable_options){.horizon_ns = 10 * SECOND});
    put_mail(self, "17", 10 * SECOND);
    put_mail(self, "18", 10 * SECOND + TW_MICROSECOND);
    assert_int_equal(stats_of(self).held, 1);
}

TEST(a_put_leaves_half_of_the_room_to_other_jobs) {
    for (uint32_t room = 8; room <= 9; ++room) {
        begin_with((struct tw_durable_options){.hold = room});
        put_many(self->jobs, 20, mail(NULL, SECOND));
        assert_int_equal(stats_of(self).held, (room + 1) / 2);
        advance(self, 0);
        assert_int_equal(stats_of(self).held, room);
        advance(self, MINUTE);
        assert_int_equal(self->count, 20);
    }
}

TEST(jobs_of_one_moment_are_claimed_started_and_fired_together) {
    begin_scripted((struct tw_durable_options){0});
    char key[8];
    for (unsigned i = 0; i < 100; ++i) {
        snprintf(key, sizeof key, "%u", i);
        put_mail(self, key, 10 * SECOND);
    }
    script.claim = script.start = broken(0, 0);
    advance(self, 10 * SECOND + LATE);
    assert_int_equal(self->count, 100);
    for (unsigned i = 0; i < 100; ++i)
        assert_fired(self, i, 11 * SECOND);
    assert_in_range(script.claim.calls, 1, 4);
    assert_in_range(script.start.calls, 1, 2);
}

TEST(jobs_that_come_due_one_after_the_other_are_claimed_in_portions) {
    begin_scripted((struct tw_durable_options){0});
    char key[8];
    for (unsigned i = 0; i < 100; ++i) {
        snprintf(key, sizeof key, "%u", i);
        put_mail(self, key, 10 * SECOND + i * 50 * MS);
    }
    script.claim = broken(0, 0);
    advance(self, 16 * SECOND);
    assert_int_equal(self->count, 100);
    assert_in_range(script.claim.calls, 5, 25); /* every half second, a quarter of the horizon */
}

/* A process first guesses that a job takes 10 ms. Each job that has taken no time lowers the guess by an
 * eighth. There are four workers, and two more jobs may wait for each. */
static void claim_for_horizon(unsigned jobs_before, uint64_t expected) {
    enum { COUNT = 2000 };
    begin_with((struct tw_durable_options){.horizon_ns = 2 * SECOND, .poll_ns = 20 * MS});
    for (unsigned i = 0; i < jobs_before; ++i) {
        put_mail(self, "17", 0);
        advance(self, 0);
    }
    struct tw_durable_job job = mail(NULL, tw_runtime_now(self->rt) + 2 * SECOND - MS);
    job.absolute = 1;
    put_many(self->keeper, COUNT, job);
    advance(self, SECOND);
    assert_int_equal(stats_of(self).held, expected);
    advance(self, 5 * SECOND);
    assert_int_equal(self->count, jobs_before + COUNT);
}

TEST(no_more_jobs_are_claimed_than_can_run_within_the_horizon) {
    claim_for_horizon(0, 807);
    claim_for_horizon(1, 922);
}

/* --- idle processes ------------------------------------------------------------------------------- */

TEST(an_idle_process_asks_the_database_at_most_five_times_a_minute) {
    begin_scripted((struct tw_durable_options){0});
    advance(self, MINUTE);
    const unsigned before = script.claim.calls + script.renew.calls;
    advance(self, HOUR);
    const unsigned calls = script.claim.calls + script.renew.calls - before;
    assert_in_range(calls, 60, 5 * 60);
    assert_int_equal(script.bury.calls + script.resume.calls + script.start.calls + script.settle.calls, 0);
}

/* The lease of an idle process is long, but that of a process that holds jobs is as the options say. */
TEST(an_idle_process_holds_jobs_no_longer_than_its_usual_lease) {
    for (unsigned is_claim = 0; is_claim < 2; ++is_claim) {
        begin_with(
            (struct tw_durable_options){.poll_ns = 20 * MS}); /* on virtual time nothing wakes the process */
        advance(self, 10 * MINUTE);
        assert_true(stats_of(self).lease_ns > 30 * SECOND);
        struct tw_durable_job job = mail(NULL, tw_runtime_now(self->rt) + SECOND);
        job.absolute = 1;
        put_many(is_claim ? self->keeper : self->jobs, 1, job);
        advance(self, 100 * MS);
        assert_int_equal(stats_of(self).held, 1);
        assert_in_range(stats_of(self).lease_ns, 10 * SECOND, 15 * SECOND);
        advance(self, SECOND);
        assert_int_equal(self->count, 1);
    }
}

TEST(after_an_idle_time_the_second_put_holds_its_job) {
    begin_scripted((struct tw_durable_options){0});
    advance(self, 10 * MINUTE);
    put_mail(self, "17", SECOND);
    advance(self, 100 * MS);
    script.claim = broken(0, 0);
    put_mail(self, "18", SECOND);
    assert_int_equal(stats_of(self).held, 2);
    assert_int_equal(script.claim.calls, 0);
}

/* Nobody announces that a member has begun to hold jobs, so idle processes must look often enough. */
TEST(an_idle_process_takes_over_from_a_dead_one_within_a_lease_and_a_third) {
    for (int64_t i = 0; i < 20; ++i) {
        begin();
        advance(self, 10 * MINUTE + i * SECOND);
        other = begin_another((struct tw_durable_options){0});
        put_mail(other, "17", SECOND); /* held, and never fired, because the time of `other` stands still */
        advance(self, 15 * SECOND + 5 * SECOND + LATE);
        assert_int_equal(self->count, 1);
    }
}

/* --- a backlog ------------------------------------------------------------------------------------ */

/* Puts jobs that became ready one after the other, a millisecond apart, and the last of them a minute ago. */
static void put_backlog(unsigned count) {
    static char keys[5000][16];
    static struct tw_durable_job jobs[5000];
    assert_true(count <= COUNT_OF(jobs));
    for (unsigned i = 0; i < count; ++i) {
        snprintf(keys[i], sizeof keys[i], "late %05u", i);
        jobs[i] = mail(keys[i], tw_runtime_now(self->rt) - MINUTE - (int64_t)(count - i) * MS);
        jobs[i].absolute = 1;
    }
    assert_int_equal(tw_durable_put_many(self->keeper, jobs, count, TW_DURABLE_REPLACE), 0);
}

TEST(a_backlog_runs_in_the_order_in_which_its_jobs_were_ready) {
    begin_with((struct tw_durable_options){.poll_ns = 20 * MS});
    advance(self, HOUR);
    put_backlog(90);
    advance(self, 10 * SECOND);
    assert_int_equal(self->count, 90);
    for (unsigned i = 1; i < self->count; ++i)
        assert_true(strcmp(self->fires[i - 1].key, self->fires[i].key) < 0);
}

/* With a limit of the backlog, only so many of its jobs are held at a time; other jobs need not wait for
 * them. */
TEST(a_backlog_takes_no_more_than_its_part_of_the_room) {
    begin_with((struct tw_durable_options){.poll_ns = 20 * MS, .backlog = 7});
    advance(self, HOUR);
    script.settle = broken(0, 0);
    put_backlog(1000);
    put_mail(self, "present", SECOND);
    uint64_t most = 0;
    for (unsigned i = 0; i < 100; ++i) {
        advance(self, 20 * MS);
        if (stats_of(self).held > most)
            most = stats_of(self).held;
    }
    assert_in_range(most, 1, 8); /* and the present one */
    advance(self, MINUTE);
    assert_int_equal(stats_of(self).started, 1001);
}

/* Periodic jobs: their due times, and those that passed while nobody was there. */
#include "durable_test.h"

static struct tw_durable_job every(int64_t period, enum tw_durable_missed missed, int64_t grace) {
    struct tw_durable_job job = mail("17", period);
    job.period_ns = period;
    job.missed = missed;
    job.grace_ns = grace;
    return job;
}

/* --- due times ----------------------------------------------------------------------------- */

TEST(a_period_does_not_drift) {
    struct process *it = begin();
    const int64_t period = 7 * SECOND + 123457 * TW_MICROSECOND, first = tw_runtime_now(it->rt) + period;
    assert_int_equal(put(it, every(period, TW_DURABLE_COALESCE, 0)), 0);
    advance(it, 100 * period + LATE);
    assert_int_equal(it->count, 100);
    for (unsigned i = 0; i < 100; ++i) {
        assert_fired(it, i, first + i * period);
        assert_int_equal(it->fires[i].overruns, 0);
    }
    end(it);
}

TEST(a_period_rounds_up_to_microseconds) {
    struct process *it = begin();
    struct tw_durable_job job = every(MS + 1, TW_DURABLE_BURST, 0);
    job.due_ns = 0;
    assert_int_equal(put(it, job), 0);
    assert_int_equal(entry_of(it, "17").job.period_ns, MS + TW_MICROSECOND);
    advance(it, SECOND);
    assert_in_range(it->count, 900, 1000);
    end(it);
}

TEST(the_first_due_time_has_a_delay_of_its_own) {
    struct process *it = begin();
    struct tw_durable_job job = every(HOUR, TW_DURABLE_COALESCE, 0);
    const int64_t now = tw_runtime_now(it->rt);
    job.due_ns = MINUTE;
    assert_int_equal(put(it, job), 0);
    advance(it, 2 * HOUR);
    assert_int_equal(it->count, 2);
    assert_fired(it, 0, now + MINUTE);
    assert_fired(it, 1, now + MINUTE + HOUR);
    end(it);
}

TEST(a_cron_job_fires_when_its_expression_is_true) {
    struct process *it = begin();
    const struct tw_durable_job job = {.kind = "mail", .key = "17", .cron = "30 4 * * *"};
    assert_int_equal(put(it, job), 0);
    advance(it, 72 * HOUR);
    assert_int_equal(it->count, 3);
    for (unsigned i = 0; i < 3; ++i)
        assert_fired(it, i, (int64_t)i * 24 * HOUR + 4 * HOUR + 30 * MINUTE);
    end(it);
}

TEST(a_cron_job_goes_by_its_time_zone) {
    struct process *it = begin();
    const struct tw_durable_job job = {
        .kind = "mail", .key = "17", .cron = "30 4 * * *", .zone = "Asia/Kolkata"};
    assert_int_equal(put(it, job), 0);
    advance(it, 25 * HOUR);
    assert_int_equal(it->count, 1);
    assert_fired(it, 0, 23 * HOUR);
    end(it);
}

/* --- due times that passed ------------------------------------------------------------------- */

/* A job of a period of an hour that was away for ten and a half of its due times. */
static struct process *miss_ten(enum tw_durable_missed missed, int64_t grace) {
    struct process *it = begin();
    assert_int_equal(put(it, every(HOUR, missed, grace)), 0);
    go_away(it, 10 * HOUR + 30 * MINUTE);
    come_back(it);
    return it;
}

TEST(missed_due_times_fire_as_one) {
    struct process *it = miss_ten(TW_DURABLE_COALESCE, 0);
    advance(it, MINUTE);
    assert_int_equal(it->count, 1);
    assert_int_equal(it->fires[0].due_ns, SECOND + 10 * HOUR);
    assert_int_equal(it->fires[0].overruns, 9);
    advance(it, HOUR);
    assert_int_equal(it->count, 2);
    assert_fired(it, 1, SECOND + 11 * HOUR);
    assert_int_equal(it->fires[1].overruns, 0);
    end(it);
}

TEST(each_missed_due_time_fires) {
    struct process *it = miss_ten(TW_DURABLE_BURST, 0);
    advance(it, MINUTE);
    assert_int_equal(it->count, 10);
    for (unsigned i = 0; i < 10; ++i) {
        assert_int_equal(it->fires[i].due_ns, SECOND + (i + 1) * HOUR);
        assert_int_equal(it->fires[i].overruns, 0);
    }
    end(it);
}

TEST(missed_due_times_are_skipped) {
    struct process *it = miss_ten(TW_DURABLE_SKIP, 0);
    advance(it, MINUTE);
    assert_int_equal(it->count, 0);
    assert_true(stats_of(it).skipped >= 1);
    assert_int_equal(entry_of(it, "17").job.due_ns, SECOND + 11 * HOUR);
    advance(it, 30 * MINUTE);
    assert_int_equal(it->count, 1);
    assert_fired(it, 0, SECOND + 11 * HOUR);
    end(it);
}

TEST(due_times_within_the_grace_fire_one_by_one) {
    struct process *it = miss_ten(TW_DURABLE_COALESCE, 3 * HOUR);
    advance(it, MINUTE);
    assert_int_equal(it->count, 4);
    assert_int_equal(it->fires[0].due_ns, SECOND + 7 * HOUR);
    assert_int_equal(it->fires[0].overruns, 6);
    for (unsigned i = 1; i < 4; ++i) {
        assert_int_equal(it->fires[i].due_ns, SECOND + (7 + i) * HOUR);
        assert_int_equal(it->fires[i].overruns, 0);
    }
    end(it);
}

TEST(due_times_within_the_grace_are_not_skipped) {
    struct process *it = miss_ten(TW_DURABLE_SKIP, 3 * HOUR);
    advance(it, MINUTE);
    assert_int_equal(it->count, 3);
    assert_int_equal(it->fires[0].due_ns, SECOND + 8 * HOUR);
    end(it);
}

TEST(a_oneshot_that_was_missed_fires) {
    struct process *it = begin();
    put_mail(it, "17", HOUR);
    go_away(it, 240 * HOUR);
    come_back(it);
    advance(it, 0);
    assert_int_equal(it->count, 1);
    assert_int_equal(it->fires[0].due_ns, SECOND + HOUR);
    end(it);
}

TEST(a_missed_cron_job_fires_as_one) {
    struct process *it = begin();
    const struct tw_durable_job job = {.kind = "mail", .key = "17", .cron = "0 * * * *"};
    assert_int_equal(put(it, job), 0);
    go_away(it, 5 * HOUR + MINUTE);
    come_back(it);
    advance(it, 0);
    assert_int_equal(it->count, 1);
    assert_int_equal(it->fires[0].due_ns, 5 * HOUR);
    assert_int_equal(it->fires[0].overruns, 4);
    end(it);
}

static enum tw_durable_answer fail_once(struct tw_durable_fire *fire, struct process *it) {
    return it->count == 1 ? tw_durable_failed(fire, "busy") : TW_DURABLE_DONE;
}

static enum tw_durable_answer again_once(struct tw_durable_fire *fire, struct process *it) {
    return it->count == 1 ? tw_durable_again(fire, 150 * MINUTE) : TW_DURABLE_DONE;
}

TEST(another_try_is_for_its_due_time_however_late_it_is) {
    const struct tw_durable_retries slow = {.backoff_ns = 150 * MINUTE, .backoff_max_ns = 150 * MINUTE};
    for (unsigned fails = 0; fails < 2; ++fails) {
        struct process *it = begin();
        it->inside = fails ? fail_once : again_once;
        assert_int_equal(tw_durable_handle(it->jobs, "bill", note, it, &slow), 0);
        struct tw_durable_job job = every(HOUR, TW_DURABLE_COALESCE, 0);
        job.kind = "bill";
        assert_int_equal(put(it, job), 0);
        advance(it, 3 * HOUR + 45 * MINUTE);
        assert_int_equal(it->count, 3);
        assert_int_equal(it->fires[1].due_ns, it->fires[0].due_ns);
        assert_int_equal(it->fires[1].attempt, fails + 1);
        assert_int_equal(it->fires[2].due_ns,
                         it->fires[0].due_ns + 2 * HOUR); /* of the two that were missed */
        assert_int_equal(it->fires[2].overruns, 1);
        end(it);
    }
}

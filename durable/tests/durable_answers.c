/* Jobs that fire, the effects of their handlers' answers, and the due times of periodic jobs. */
#include "durable_test.h"

/* --- done ---------------------------------------------------------------------------------- */

TEST(a_job_fires_once_when_it_is_due) {
    const int64_t due = tw_runtime_now(self->rt) + 10 * MINUTE;
    put_mail(self, "17", 10 * MINUTE);
    advance(self, 10 * MINUTE - 1);
    assert_int_equal(self->count, 0);
    advance(self, HOUR);
    assert_int_equal(self->count, 1);
    assert_fired(self, 0, due);
}

TEST(a_job_of_all_zeroes_fires_at_once) {
    const int64_t now = tw_runtime_now(self->rt);
    put_mail(self, "17", 0);
    advance(self, 0);
    assert_int_equal(self->count, 1);
    assert_int_equal(self->fires[0].at_ns, now);
}

TEST(a_job_can_be_due_at_a_time) {
    struct tw_durable_job job = mail("17", 3 * HOUR);
    job.absolute = 1;
    assert_int_equal(put(self, job), 0);
    advance(self, 4 * HOUR);
    assert_int_equal(self->count, 1);
    assert_fired(self, 0, 3 * HOUR);
}

TEST(a_time_that_has_passed_fires_at_once) {
    struct tw_durable_job job = mail("17", 1);
    job.absolute = 1;
    assert_int_equal(put(self, job), 0);
    advance(self, 0);
    assert_int_equal(self->count, 1);
    assert_int_equal(self->fires[0].due_ns, TW_MICROSECOND);
}

TEST(a_job_that_is_done_is_gone) {
    put_mail(self, "17", SECOND);
    assert_true(exists(self, "17"));
    advance(self, MINUTE);
    assert_false(exists(self, "17"));
    assert_int_equal(stats_of(self).done, 1);
}

static unsigned char every_byte[TW_DURABLE_PAYLOAD_MAX];

static enum tw_durable_answer compare_payload(struct tw_durable_fire *fire, UNUSED struct process *process) {
    assert_int_equal(fire->size, sizeof every_byte);
    assert_memory_equal(fire->payload, every_byte, sizeof every_byte);
    return TW_DURABLE_DONE;
}

TEST(a_payload_arrives_byte_for_byte) {
    self->inside = compare_payload;
    for (size_t i = 0; i < sizeof every_byte; ++i)
        every_byte[i] = (unsigned char)(i * 7 + i / 256);
    struct tw_durable_job job = mail("17", 0);
    job.payload = every_byte;
    job.size = sizeof every_byte;
    assert_int_equal(put(self, job), 0);
    advance(self, 0);
    assert_int_equal(self->count, 1);
}

static enum tw_durable_answer ask_lease(struct tw_durable_fire *fire, UNUSED struct process *process) {
    assert_in_range(tw_durable_lease(fire), 9 * SECOND, 15 * SECOND);
    return TW_DURABLE_DONE;
}

TEST(a_handler_can_ask_for_how_long_it_has_its_job) {
    self->inside = ask_lease;
    put_mail(self, "17", MINUTE);
    advance(self, 2 * MINUTE);
    assert_int_equal(self->count, 1);
}

/* --- again --------------------------------------------------------------------------------- */

static enum tw_durable_answer again_twice(struct tw_durable_fire *fire, struct process *process) {
    return process->count < 3 ? tw_durable_again(fire, HOUR) : TW_DURABLE_DONE;
}

TEST(a_job_fires_again_for_the_same_due_time_and_that_is_no_failure) {
    self->inside = again_twice;
    put_mail(self, "17", 0);
    advance(self, 5 * HOUR);
    assert_int_equal(self->count, 3);
    for (unsigned i = 0; i < 3; ++i) {
        assert_int_equal(self->fires[i].due_ns, self->fires[0].due_ns);
        assert_int_equal(self->fires[i].attempt, 1);
        assert_in_range(self->fires[i].at_ns, SECOND + i * HOUR, SECOND + i * (HOUR + LATE));
    }
    assert_true(self->fires[0].token < self->fires[1].token && self->fires[1].token < self->fires[2].token);
    assert_int_equal(stats_of(self).again, 2);
    assert_int_equal(stats_of(self).retried, 0);
}

static enum tw_durable_answer again_long_ago(struct tw_durable_fire *fire, struct process *process) {
    return process->count < 3 ? tw_durable_again(fire, -HOUR) : TW_DURABLE_DONE;
}

TEST(a_negative_delay_is_none) {
    self->inside = again_long_ago;
    put_mail(self, "17", 0);
    advance(self, SECOND);
    assert_int_equal(self->count, 3);
}

/* --- later --------------------------------------------------------------------------------- */

static struct tw_durable_fire *unanswered[64];
static unsigned unanswered_count;

static enum tw_durable_answer answer_later(struct tw_durable_fire *fire, UNUSED struct process *process) {
    unanswered[unanswered_count++] = fire;
    return TW_DURABLE_LATER;
}

/* The process puts this many mails, whose handlers answer later. */
static void fire_unanswered(unsigned count) {
    unanswered_count = 0;
    self->inside = answer_later;
    put_many(self->jobs, count, mail(NULL, 0));
    advance(self, SECOND);
    assert_int_equal(unanswered_count, count);
}

TEST(an_answer_can_come_later) {
    fire_unanswered(3);
    assert_int_equal(stats_of(self).running, 3);
    assert_int_equal(entry_of(self, "0").state, TW_DURABLE_STARTED);
    advance(self, HOUR);
    assert_in_range(tw_durable_lease(unanswered[0]), 9 * SECOND, 15 * SECOND);
    assert_string_equal(unanswered[0]->key, "0");
    assert_int_equal(tw_durable_answer_later(self->jobs, unanswered[0], TW_DURABLE_DONE), 0);
    assert_int_equal(
        tw_durable_answer_later(self->jobs, unanswered[1], tw_durable_again(unanswered[1], HOUR)), 0);
    assert_int_equal(
        tw_durable_answer_later(self->jobs, unanswered[2], tw_durable_failed(unanswered[2], "no paper")), 0);
    self->inside = NULL;
    advance(self, 0);
    assert_false(exists(self, "0"));
    assert_in_range(entry_of(self, "1").ready_ns, 2 * HOUR, 2 * HOUR + MINUTE);
    assert_int_equal(entry_of(self, "2").attempts, 1);
    assert_int_equal(stats_of(self).running, 0);
    assert_int_equal(stats_of(self).done + stats_of(self).again + stats_of(self).retried, 3);
    advance(self, 2 * HOUR);
    assert_int_equal(self->count, 5);
    assert_int_equal(tw_durable_count(self->jobs, NULL), 0);
}

static enum tw_durable_answer answer_early(struct tw_durable_fire *fire, struct process *process) {
    assert_int_equal(tw_durable_answer_later(process->jobs, fire, TW_DURABLE_LATER), -EINVAL);
    assert_int_equal(tw_durable_answer_later(process->jobs, fire, tw_durable_failed(fire, "early")), 0);
    assert_int_equal(tw_durable_answer_later(process->jobs, fire, TW_DURABLE_DONE), -EALREADY);
    assert_int_equal(tw_durable_answer_later(process->jobs, NULL, TW_DURABLE_DONE), -EINVAL);
    return TW_DURABLE_LATER;
}

TEST(an_answer_can_come_before_the_handler_has_returned) {
    self->inside = answer_early;
    put_mail(self, "17", 0);
    advance(self, 0);
    assert_int_equal(self->count, 1);
    assert_int_equal(entry_of(self, "17").attempts, 1);
    assert_int_equal(stats_of(self).running, 0);
}

/* A process with one worker still claims, fires and finishes other jobs. */
TEST(a_fire_without_an_answer_does_not_hold_a_worker) {
    begin_with((struct tw_durable_options){.threads = 1, .hold = 70});
    fire_unanswered(64);
    self->inside = NULL;
    put_mail(self, "other", 0);
    assert_int_equal(put_elsewhere(self, "another", 10 * SECOND), 0);
    advance(self, MINUTE);
    assert_false(exists(self, "other"));
    assert_false(exists(self, "another"));
    for (unsigned i = 0; i < unanswered_count; ++i)
        assert_int_equal(tw_durable_answer_later(self->jobs, unanswered[i], TW_DURABLE_DONE), 0);
    advance(self, 0);
    assert_int_equal(tw_durable_count(self->jobs, NULL), 0);
}

TEST(fires_without_an_answer_count_as_held) {
    begin_with((struct tw_durable_options){.hold = 10});
    self->inside = answer_later;
    unanswered_count = 0;
    put_many(self->jobs, 12, mail(NULL, 0));
    advance(self, MINUTE);
    assert_int_equal(unanswered_count, 10);
    assert_int_equal(tw_durable_answer_later(self->jobs, unanswered[0], TW_DURABLE_DONE), 0);
    advance(self, MINUTE);
    assert_int_equal(unanswered_count, 11);
    for (unsigned i = 1; i < 11; ++i)
        assert_int_equal(tw_durable_answer_later(self->jobs, unanswered[i], TW_DURABLE_DONE), 0);
    advance(self, MINUTE);
    assert_int_equal(unanswered_count, 12);
    assert_int_equal(tw_durable_answer_later(self->jobs, unanswered[11], TW_DURABLE_DONE), 0);
}

TEST(an_answer_to_a_replaced_job_is_ignored) {
    fire_unanswered(1);
    self->inside = NULL;
    put_mail(self, "0", HOUR);
    assert_int_equal(tw_durable_answer_later(self->jobs, unanswered[0], TW_DURABLE_DONE), 0);
    advance(self, MINUTE);
    assert_true(exists(self, "0"));
    assert_int_equal(stats_of(self).unmatched, 1);
    advance(self, HOUR);
    assert_false(exists(self, "0"));
}

/* With `single_thread`: nothing else could give the answers meanwhile. */
TEST(a_close_on_one_thread_leaves_fires_unanswered) {
    fire_unanswered(1);
    assert_int_equal(tw_durable_close(self->jobs), -ETIMEDOUT);
    assert_non_null(strstr(tw_durable_explain(-ETIMEDOUT), "have yet to give them"));
    self->inside = NULL;
    come_back(self);
    advance(self, SECOND);
    assert_int_equal(self->count, 2);
    assert_int_equal(self->fires[1].due_ns, self->fires[0].due_ns);
    assert_false(exists(self, "0"));
}

/* --- failed -------------------------------------------------------------------------------- */

static enum tw_durable_answer fail_each(struct tw_durable_fire *fire, UNUSED struct process *process) {
    return tw_durable_failed(fire, "no such address");
}

/* The process handles "bill" like this, and fails. */
static void begin_failing(struct tw_durable_handling how) {
    self->inside = fail_each;
    assert_int_equal(tw_durable_register(self->jobs, "bill", note, self, &how), 0);
}

static void put_bill(int64_t delay, int64_t period) {
    assert_int_equal(
        put(self, (struct tw_durable_job){.kind = "bill", .key = "17", .due_ns = delay, .period_ns = period}),
        0);
}

TEST(delays_between_tries_double_up_to_the_longest) {
    begin_failing(
        (struct tw_durable_handling){.attempts = 7, .backoff_ns = 10 * SECOND, .backoff_max_ns = MINUTE});
    put_bill(0, 0);
    advance(self, HOUR);
    const int64_t delays[] = {10, 20, 40, 60, 60, 60};
    assert_int_equal(self->count, 7);
    for (unsigned i = 0; i < 6; ++i) {
        const int64_t delay = self->fires[i + 1].at_ns - self->fires[i].at_ns;
        assert_in_range(delay, delays[i] * SECOND, delays[i] * SECOND + LATE);
        assert_int_equal(self->fires[i + 1].attempt, i + 2);
        assert_int_equal(self->fires[i + 1].due_ns, self->fires[0].due_ns);
    }
}

TEST(by_default_a_job_has_20_tries_and_waits_from_a_second_to_an_hour_between_them) {
    self->inside = fail_each;
    put_mail(self, "17", 0);
    advance(self, 24 * HOUR);
    assert_int_equal(self->count, 20);
    assert_int_equal(stats_of(self).failed, 1);
    assert_in_range(self->fires[1].at_ns - self->fires[0].at_ns, SECOND, SECOND + LATE);
    assert_in_range(self->fires[19].at_ns - self->fires[18].at_ns, HOUR, HOUR + LATE);
}

static enum tw_durable_answer again_at_second(struct tw_durable_fire *fire, struct process *process) {
    return process->count == 2 ? tw_durable_again(fire, SECOND) : tw_durable_failed(fire, "no such address");
}

TEST(again_neither_counts_as_a_failure_nor_makes_up_for_one) {
    begin_failing((struct tw_durable_handling){.attempts = 3});
    self->inside = again_at_second;
    put_bill(0, 0);
    advance(self, HOUR);
    const unsigned attempts[] = {1, 2, 2, 3};
    assert_int_equal(self->count, COUNT_OF(attempts));
    for (unsigned i = 0; i < COUNT_OF(attempts); ++i)
        assert_int_equal(self->fires[i].attempt, attempts[i]);
}

static int is_failed_bill(const struct tw_durable_entry *entry, UNUSED void *arg) {
    assert_int_equal(entry->state, TW_DURABLE_FAILED);
    assert_int_equal(entry->attempts, 2);
    assert_string_equal(entry->error, "no such address");
    assert_null(entry->holder);
    return 77;
}

TEST(after_its_last_try_a_job_has_failed_until_it_is_requeued) {
    begin_failing((struct tw_durable_handling){.attempts = 2});
    put_bill(0, 0);
    advance(self, HOUR);
    assert_int_equal(self->count, 2);
    assert_int_equal(tw_durable_get(self->jobs, "bill", "17", is_failed_bill, NULL), 77);
    assert_int_equal(stats_of(self).failed, 1);
    assert_int_equal(stats_of(self).retried, 1);

    self->inside = NULL;
    assert_int_equal(tw_durable_requeue(self->jobs, "bill", "17"), 1);
    advance(self, 0);
    assert_int_equal(self->count, 3);
    assert_int_equal(self->fires[2].attempt, 1);
    assert_int_equal(self->fires[2].due_ns, self->fires[0].due_ns);
    assert_int_equal(tw_durable_get(self->jobs, "bill", "17", NULL, NULL), -ENOENT);
}

TEST(all_failed_jobs_are_requeued_at_once) {
    begin_failing((struct tw_durable_handling){.attempts = 1});
    put_bill(0, 0);
    advance(self, SECOND);
    self->inside = NULL;
    assert_int_equal(tw_durable_requeue(self->jobs, NULL, NULL), 1);
    advance(self, 0);
    assert_int_equal(self->count, 2);
    assert_int_equal(tw_durable_requeue(self->jobs, NULL, NULL), 0);
}

static int has_error(const struct tw_durable_entry *entry, void *arg) {
    assert_int_equal(entry->state, TW_DURABLE_GIVEN_UP);
    assert_int_equal(entry->attempts, 0);
    return strcmp(entry->error, arg) == 0;
}

TEST(a_periodic_job_whose_last_try_has_failed_goes_on) {
    begin_failing(
        (struct tw_durable_handling){.attempts = 3, .backoff_ns = MINUTE, .backoff_max_ns = MINUTE});
    put_bill(HOUR, HOUR);
    advance(self, 2 * HOUR + 30 * MINUTE);
    assert_int_equal(self->count, 6);
    assert_int_equal(self->fires[3].due_ns, self->fires[0].due_ns + HOUR);
    assert_int_equal(self->fires[3].attempt, 1);
    assert_int_equal(stats_of(self).failed, 2);
    assert_int_equal(tw_durable_get(self->jobs, "bill", "17", has_error, "no such address"), 1);
}

static enum tw_durable_answer answer_nonsense(UNUSED struct tw_durable_fire *fire, struct process *process) {
    int nonsense = 4711;
    enum tw_durable_answer answer = TW_DURABLE_DONE;
    memcpy(&answer, &nonsense, sizeof answer);
    return process->count == 1 ? answer : TW_DURABLE_DONE;
}

TEST(an_answer_that_is_none_is_a_failure) {
    self->inside = answer_nonsense;
    put_mail(self, "17", 0);
    advance(self, MINUTE);
    assert_int_equal(self->count, 2);
    assert_int_equal(self->fires[1].attempt, 2);
}

static enum tw_durable_answer fail_without_why(struct tw_durable_fire *fire, UNUSED struct process *process) {
    return tw_durable_failed(fire, NULL);
}

static int print_error_length(const struct tw_durable_entry *entry, UNUSED void *arg) {
    assert_non_null(entry->error);
    return (int)strlen(entry->error);
}

TEST(a_failure_without_a_text_has_one_all_the_same) {
    self->inside = fail_without_why;
    put_mail(self, "17", 0);
    advance(self, 0);
    assert_true(tw_durable_get(self->jobs, "mail", "17", print_error_length, NULL) > 0);
}

static enum tw_durable_answer fail_at_length(struct tw_durable_fire *fire, UNUSED struct process *process) {
    char why[4096];
    memset(why, 'x', sizeof why);
    memcpy(why + 199, "\xc3\xa9", 2); /* a letter of two bytes, the 200th and the 201st */
    why[sizeof why - 1] = 0;
    return tw_durable_failed(fire, why);
}

TEST(of_a_long_text_200_bytes_are_kept) {
    self->inside = fail_at_length;
    put_mail(self, "17", 0);
    advance(self, 0);
    const int length = tw_durable_get(self->jobs, "mail", "17", print_error_length, NULL);
    assert_in_range(length, 199, 203);
}

/* --- kinds --------------------------------------------------------------------------------- */

TEST(each_kind_has_its_handler) {
    join((struct tw_durable_options){0});
    assert_int_equal(tw_durable_register(self->jobs, "bill", note, other, NULL), 0);
    put_mail(self, "17", SECOND);
    put_bill(SECOND, 0);
    advance(self, MINUTE);
    assert_int_equal(self->count, 1);
    assert_string_equal(self->fires[0].kind, "mail");
    assert_int_equal(other->count, 1);
    assert_string_equal(other->fires[0].kind, "bill");
}

TEST(a_kind_without_a_handler_waits_for_one) {
    put_bill(SECOND, 0);
    advance(self, HOUR);
    assert_int_equal(self->count, 0);
    assert_int_equal(stats_of(self).claimed, 0);
    handle(self, "bill");
    advance(self, 0);
    assert_int_equal(self->count, 1);
}

static struct tw_durable_job every(int64_t period, enum tw_durable_missed missed) {
    struct tw_durable_job job = mail("17", period);
    job.period_ns = period;
    job.missed = missed;
    return job;
}

/* --- due times of periodic jobs ------------------------------------------------------------ */

TEST(a_period_does_not_drift) {
    const int64_t period = 7 * SECOND + 123457 * TW_MICROSECOND, first = tw_runtime_now(self->rt) + period;
    assert_int_equal(put(self, every(period, TW_DURABLE_COALESCE)), 0);
    advance(self, 100 * period + LATE);
    assert_int_equal(self->count, 100);
    for (unsigned i = 0; i < 100; ++i) {
        assert_fired(self, i, first + i * period);
        assert_int_equal(self->fires[i].overruns, 0);
    }
}

TEST(a_period_rounds_up_to_microseconds) {
    struct tw_durable_job job = every(MS + 1, TW_DURABLE_BURST);
    job.due_ns = 0;
    assert_int_equal(put(self, job), 0);
    assert_int_equal(entry_of(self, "17").job.period_ns, MS + TW_MICROSECOND);
    advance(self, SECOND);
    assert_in_range(self->count, 900, 1000);
}

TEST(the_first_due_time_has_a_delay_of_its_own) {
    struct tw_durable_job job = every(HOUR, TW_DURABLE_COALESCE);
    const int64_t now = tw_runtime_now(self->rt);
    job.due_ns = MINUTE;
    assert_int_equal(put(self, job), 0);
    advance(self, 2 * HOUR);
    assert_int_equal(self->count, 2);
    assert_fired(self, 0, now + MINUTE);
    assert_fired(self, 1, now + MINUTE + HOUR);
}

TEST(a_cron_job_fires_when_its_expression_is_true) {
    const struct tw_durable_job job = {.kind = "mail", .key = "17", .cron = "30 4 * * *"};
    assert_int_equal(put(self, job), 0);
    advance(self, 72 * HOUR);
    assert_int_equal(self->count, 3);
    for (unsigned i = 0; i < 3; ++i)
        assert_fired(self, i, (int64_t)i * 24 * HOUR + 4 * HOUR + 30 * MINUTE);
}

TEST(a_cron_job_goes_by_its_time_zone) {
    const struct tw_durable_job job = {
        .kind = "mail", .key = "17", .cron = "30 4 * * *", .zone = "Asia/Kolkata"};
    assert_int_equal(put(self, job), 0);
    advance(self, 25 * HOUR);
    assert_int_equal(self->count, 1);
    assert_fired(self, 0, 23 * HOUR);
}

/* --- missed due times; schedule.cpp tests each policy, with a grace and with dates ----------- */

/* A job with a period of an hour, whose process is away for ten and a half hours. */
static void miss_ten(enum tw_durable_missed missed) {
    assert_int_equal(put(self, every(HOUR, missed)), 0);
    go_away(self, 10 * HOUR + 30 * MINUTE);
    come_back(self);
}

TEST(missed_due_times_fire_as_one) {
    miss_ten(TW_DURABLE_COALESCE);
    advance(self, MINUTE);
    assert_int_equal(self->count, 1);
    assert_int_equal(self->fires[0].due_ns, SECOND + 10 * HOUR);
    assert_int_equal(self->fires[0].overruns, 9);
    advance(self, HOUR);
    assert_int_equal(self->count, 2);
    assert_fired(self, 1, SECOND + 11 * HOUR);
    assert_int_equal(self->fires[1].overruns, 0);
}

TEST(missed_due_times_are_skipped) {
    miss_ten(TW_DURABLE_SKIP);
    advance(self, MINUTE);
    assert_int_equal(self->count, 0);
    assert_true(stats_of(self).skipped >= 1);
    assert_int_equal(entry_of(self, "17").job.due_ns, SECOND + 11 * HOUR);
    advance(self, 30 * MINUTE);
    assert_int_equal(self->count, 1);
    assert_fired(self, 0, SECOND + 11 * HOUR);
}

static enum tw_durable_answer fail_once(struct tw_durable_fire *fire, struct process *process) {
    return process->count == 1 ? tw_durable_failed(fire, "busy") : TW_DURABLE_DONE;
}

static enum tw_durable_answer again_once(struct tw_durable_fire *fire, struct process *process) {
    return process->count == 1 ? tw_durable_again(fire, 150 * MINUTE) : TW_DURABLE_DONE;
}

TEST(another_try_is_for_its_due_time_however_late_it_is) {
    const struct tw_durable_handling slow = {.backoff_ns = 150 * MINUTE, .backoff_max_ns = 150 * MINUTE};
    for (unsigned fails = 0; fails < 2; ++fails) {
        begin();
        self->inside = fails ? fail_once : again_once;
        assert_int_equal(tw_durable_register(self->jobs, "bill", note, self, &slow), 0);
        struct tw_durable_job job = every(HOUR, TW_DURABLE_COALESCE);
        job.kind = "bill";
        assert_int_equal(put(self, job), 0);
        advance(self, 3 * HOUR + 45 * MINUTE);
        assert_int_equal(self->count, 3);
        assert_int_equal(self->fires[1].due_ns, self->fires[0].due_ns);
        assert_int_equal(self->fires[1].attempt, fails + 1);
        assert_int_equal(self->fires[2].due_ns,
                         self->fires[0].due_ns + 2 * HOUR); /* of the two that were missed */
        assert_int_equal(self->fires[2].overruns, 1);
    }
}

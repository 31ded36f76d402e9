/* Jobs that fire, and what becomes of them by their handlers' answers. */
#include "durable_test.h"

/* --- done ---------------------------------------------------------------------------------- */

TEST(a_job_fires_once_when_it_is_due) {
    struct process *it = begin();
    const int64_t due = tw_runtime_now(it->rt) + 10 * MINUTE;
    put_mail(it, "17", 10 * MINUTE);
    advance(it, 10 * MINUTE - 1);
    assert_int_equal(it->count, 0);
    advance(it, HOUR);
    assert_int_equal(it->count, 1);
    assert_fired(it, 0, due);
    end(it);
}

TEST(a_job_of_all_zeroes_fires_at_once) {
    struct process *it = begin();
    const int64_t now = tw_runtime_now(it->rt);
    put_mail(it, "17", 0);
    advance(it, 0);
    assert_int_equal(it->count, 1);
    assert_int_equal(it->fires[0].at_ns, now);
    end(it);
}

TEST(a_job_can_be_due_at_a_time) {
    struct process *it = begin();
    struct tw_durable_job job = mail("17", 3 * HOUR);
    job.absolute = 1;
    assert_int_equal(put(it, job), 0);
    advance(it, 4 * HOUR);
    assert_int_equal(it->count, 1);
    assert_fired(it, 0, 3 * HOUR);
    end(it);
}

TEST(a_time_that_has_passed_fires_at_once) {
    struct process *it = begin();
    struct tw_durable_job job = mail("17", 1);
    job.absolute = 1;
    assert_int_equal(put(it, job), 0);
    advance(it, 0);
    assert_int_equal(it->count, 1);
    assert_int_equal(it->fires[0].due_ns, TW_MICROSECOND);
    end(it);
}

TEST(a_job_that_is_done_is_gone) {
    struct process *it = begin();
    put_mail(it, "17", SECOND);
    assert_true(exists(it, "17"));
    advance(it, MINUTE);
    assert_false(exists(it, "17"));
    assert_int_equal(stats_of(it).done, 1);
    end(it);
}

static unsigned char every_byte[TW_DURABLE_PAYLOAD_MAX];

static enum tw_durable_answer compare_payload(struct tw_durable_fire *fire, UNUSED struct process *it) {
    assert_int_equal(fire->size, sizeof every_byte);
    assert_memory_equal(fire->payload, every_byte, sizeof every_byte);
    return TW_DURABLE_DONE;
}

TEST(a_payload_arrives_byte_for_byte) {
    struct process *it = begin();
    it->inside = compare_payload;
    for (size_t i = 0; i < sizeof every_byte; ++i)
        every_byte[i] = (unsigned char)(i * 7 + i / 256);
    struct tw_durable_job job = mail("17", 0);
    job.payload = every_byte;
    job.size = sizeof every_byte;
    assert_int_equal(put(it, job), 0);
    advance(it, 0);
    assert_int_equal(it->count, 1);
    end(it);
}

static enum tw_durable_answer ask_lease(struct tw_durable_fire *fire, UNUSED struct process *it) {
    assert_in_range(tw_durable_lease(fire), 9 * SECOND, 15 * SECOND);
    return TW_DURABLE_DONE;
}

TEST(a_handler_can_ask_for_how_long_it_has_its_job) {
    struct process *it = begin();
    it->inside = ask_lease;
    put_mail(it, "17", MINUTE);
    advance(it, 2 * MINUTE);
    assert_int_equal(it->count, 1);
    end(it);
}

/* --- again --------------------------------------------------------------------------------- */

static enum tw_durable_answer again_twice(struct tw_durable_fire *fire, struct process *it) {
    return it->count < 3 ? tw_durable_again(fire, HOUR) : TW_DURABLE_DONE;
}

TEST(a_job_fires_again_for_the_same_due_time_and_that_is_no_failure) {
    struct process *it = begin();
    it->inside = again_twice;
    put_mail(it, "17", 0);
    advance(it, 5 * HOUR);
    assert_int_equal(it->count, 3);
    for (unsigned i = 0; i < 3; ++i) {
        assert_int_equal(it->fires[i].due_ns, it->fires[0].due_ns);
        assert_int_equal(it->fires[i].attempt, 1);
        assert_in_range(it->fires[i].at_ns, SECOND + i * HOUR, SECOND + i * (HOUR + LATE));
    }
    assert_true(it->fires[0].token < it->fires[1].token && it->fires[1].token < it->fires[2].token);
    assert_int_equal(stats_of(it).again, 2);
    assert_int_equal(stats_of(it).retried, 0);
    end(it);
}

static enum tw_durable_answer again_long_ago(struct tw_durable_fire *fire, struct process *it) {
    return it->count < 3 ? tw_durable_again(fire, -HOUR) : TW_DURABLE_DONE;
}

TEST(a_negative_delay_is_none) {
    struct process *it = begin();
    it->inside = again_long_ago;
    put_mail(it, "17", 0);
    advance(it, SECOND);
    assert_int_equal(it->count, 3);
    end(it);
}

/* --- failed -------------------------------------------------------------------------------- */

static enum tw_durable_answer fail_each(struct tw_durable_fire *fire, UNUSED struct process *it) {
    return tw_durable_failed(fire, "no such address");
}

/* A process that handles "bill" with these retries, and fails. */
static struct process *begin_failing(struct tw_durable_retries retries) {
    struct process *it = begin();
    it->inside = fail_each;
    assert_int_equal(tw_durable_handle(it->jobs, "bill", note, it, &retries), 0);
    return it;
}

static void put_bill(struct process *it, int64_t delay, int64_t period) {
    assert_int_equal(
        put(it, (struct tw_durable_job){.kind = "bill", .key = "17", .due_ns = delay, .period_ns = period}),
        0);
}

TEST(delays_between_tries_double_up_to_the_longest) {
    struct process *it = begin_failing(
        (struct tw_durable_retries){.attempts = 7, .backoff_ns = 10 * SECOND, .backoff_max_ns = MINUTE});
    put_bill(it, 0, 0);
    advance(it, HOUR);
    const int64_t delays[] = {10, 20, 40, 60, 60, 60};
    assert_int_equal(it->count, 7);
    for (unsigned i = 0; i < 6; ++i) {
        const int64_t delay = it->fires[i + 1].at_ns - it->fires[i].at_ns;
        assert_in_range(delay, delays[i] * SECOND, delays[i] * SECOND + LATE);
        assert_int_equal(it->fires[i + 1].attempt, i + 2);
        assert_int_equal(it->fires[i + 1].due_ns, it->fires[0].due_ns);
    }
    end(it);
}

static enum tw_durable_answer again_at_second(struct tw_durable_fire *fire, struct process *it) {
    return it->count == 2 ? tw_durable_again(fire, SECOND) : tw_durable_failed(fire, "no such address");
}

TEST(again_neither_counts_as_a_failure_nor_makes_up_for_one) {
    struct process *it = begin_failing((struct tw_durable_retries){.attempts = 3});
    it->inside = again_at_second;
    put_bill(it, 0, 0);
    advance(it, HOUR);
    const unsigned attempts[] = {1, 2, 2, 3};
    assert_int_equal(it->count, COUNT_OF(attempts));
    for (unsigned i = 0; i < COUNT_OF(attempts); ++i)
        assert_int_equal(it->fires[i].attempt, attempts[i]);
    end(it);
}

static int is_failed_bill(const struct tw_durable_entry *entry, UNUSED void *arg) {
    assert_int_equal(entry->state, TW_DURABLE_FAILED);
    assert_int_equal(entry->attempts, 2);
    assert_string_equal(entry->error, "no such address");
    assert_null(entry->holder);
    return 77;
}

TEST(after_its_last_try_a_job_has_failed_until_it_is_requeued) {
    struct process *it = begin_failing((struct tw_durable_retries){.attempts = 2});
    put_bill(it, 0, 0);
    advance(it, HOUR);
    assert_int_equal(it->count, 2);
    assert_int_equal(tw_durable_get(it->jobs, "bill", "17", is_failed_bill, NULL), 77);
    assert_int_equal(stats_of(it).failed, 1);
    assert_int_equal(stats_of(it).retried, 1);

    it->inside = NULL;
    assert_int_equal(tw_durable_requeue(it->jobs, "bill", "17"), 1);
    advance(it, 0);
    assert_int_equal(it->count, 3);
    assert_int_equal(it->fires[2].attempt, 1);
    assert_int_equal(it->fires[2].due_ns, it->fires[0].due_ns);
    assert_int_equal(tw_durable_get(it->jobs, "bill", "17", NULL, NULL), -ENOENT);
    end(it);
}

TEST(all_failed_jobs_are_requeued_at_once) {
    struct process *it = begin_failing((struct tw_durable_retries){.attempts = 1});
    put_bill(it, 0, 0);
    advance(it, SECOND);
    it->inside = NULL;
    assert_int_equal(tw_durable_requeue(it->jobs, NULL, NULL), 1);
    advance(it, 0);
    assert_int_equal(it->count, 2);
    assert_int_equal(tw_durable_requeue(it->jobs, NULL, NULL), 0);
    end(it);
}

static int has_error(const struct tw_durable_entry *entry, void *arg) {
    assert_int_equal(entry->state, TW_DURABLE_PENDING);
    assert_int_equal(entry->attempts, 0);
    return strcmp(entry->error, arg) == 0;
}

TEST(a_periodic_job_whose_last_try_has_failed_goes_on) {
    struct process *it = begin_failing(
        (struct tw_durable_retries){.attempts = 3, .backoff_ns = MINUTE, .backoff_max_ns = MINUTE});
    put_bill(it, HOUR, HOUR);
    advance(it, 2 * HOUR + 30 * MINUTE);
    assert_int_equal(it->count, 6);
    assert_int_equal(it->fires[3].due_ns, it->fires[0].due_ns + HOUR);
    assert_int_equal(it->fires[3].attempt, 1);
    assert_int_equal(stats_of(it).failed, 2);
    assert_int_equal(tw_durable_get(it->jobs, "bill", "17", has_error, "no such address"), 1);
    end(it);
}

static enum tw_durable_answer answer_nonsense(UNUSED struct tw_durable_fire *fire, struct process *it) {
    int nonsense = 4711;
    enum tw_durable_answer answer = TW_DURABLE_DONE;
    memcpy(&answer, &nonsense, sizeof answer);
    return it->count == 1 ? answer : TW_DURABLE_DONE;
}

TEST(an_answer_that_is_none_is_a_failure) {
    struct process *it = begin();
    it->inside = answer_nonsense;
    put_mail(it, "17", 0);
    advance(it, MINUTE);
    assert_int_equal(it->count, 2);
    assert_int_equal(it->fires[1].attempt, 2);
    end(it);
}

static enum tw_durable_answer fail_without_why(struct tw_durable_fire *fire, UNUSED struct process *it) {
    return tw_durable_failed(fire, NULL);
}

static int print_error_length(const struct tw_durable_entry *entry, UNUSED void *arg) {
    assert_non_null(entry->error);
    return (int)strlen(entry->error);
}

TEST(a_failure_without_a_text_has_one_all_the_same) {
    struct process *it = begin();
    it->inside = fail_without_why;
    put_mail(it, "17", 0);
    advance(it, 0);
    assert_true(tw_durable_get(it->jobs, "mail", "17", print_error_length, NULL) > 0);
    end(it);
}

static enum tw_durable_answer fail_at_length(struct tw_durable_fire *fire, UNUSED struct process *it) {
    char why[4096];
    memset(why, 'x', sizeof why);
    memcpy(why + 199, "\xc3\xa9", 2); /* a letter across the end of what is kept */
    why[sizeof why - 1] = 0;
    return tw_durable_failed(fire, why);
}

TEST(of_a_long_text_200_bytes_are_kept) {
    struct process *it = begin();
    it->inside = fail_at_length;
    put_mail(it, "17", 0);
    advance(it, 0);
    const int length = tw_durable_get(it->jobs, "mail", "17", print_error_length, NULL);
    assert_in_range(length, 199, 203);
    end(it);
}

/* --- kinds --------------------------------------------------------------------------------- */

TEST(each_kind_has_its_handler) {
    struct process *it = begin(), *other = join(it, (struct tw_durable_options){0});
    assert_int_equal(tw_durable_handle(it->jobs, "bill", note, other, NULL), 0);
    put_mail(it, "17", SECOND);
    put_bill(it, SECOND, 0);
    advance(it, MINUTE);
    assert_int_equal(it->count, 1);
    assert_string_equal(it->fires[0].kind, "mail");
    assert_int_equal(other->count, 1);
    assert_string_equal(other->fires[0].kind, "bill");
    part(other);
    end(it);
}

TEST(a_kind_without_a_handler_waits_for_one) {
    struct process *it = begin();
    put_bill(it, SECOND, 0);
    advance(it, HOUR);
    assert_int_equal(it->count, 0);
    assert_int_equal(stats_of(it).claimed, 0);
    handle(it, "bill");
    advance(it, 0);
    assert_int_equal(it->count, 1);
    end(it);
}

/* Calls that the library refuses change nothing, and say why. */
#include "durable_test.h"
#include "support/meaning.h"

#include <tickwheel/durable_store.h>

/* Asserts that a call is refused with this error and an explanation, and leaves no job. */
#define assert_refused(call, error) \
    do { \
        assert_int_equal(call, error); \
        assert_true(strlen(tw_durable_explain(error)) > 5); \
        assert_int_equal(tw_durable_count(self->jobs, NULL), 0); \
    } while (0)

static const char *too_long(void) {
    static char name[TW_DURABLE_NAME_MAX + 2];
    memset(name, 'x', sizeof name - 1);
    return name;
}

static const char *longest(void) { return too_long() + 1; }

/* --- opening ------------------------------------------------------------------------------- */

static int try_open(struct tw_durable_options options) {
    struct tw_durable *const untouched = (struct tw_durable *)(uintptr_t)16, *jobs = untouched;
    options.single_thread = 1;
    const int result = open_in_memory(&jobs, self->rt, database, options);
    if (result == 0)
        assert_int_equal(tw_durable_close(jobs), 0);
    else
        assert_ptr_equal(jobs, untouched);
    return result;
}

#define assert_option_refused(...) \
    assert_int_equal(try_open((struct tw_durable_options){__VA_ARGS__}), -EINVAL)
#define assert_option_taken(...) assert_int_equal(try_open((struct tw_durable_options){__VA_ARGS__}), 0)

TEST(options_out_of_range_are_refused) {
    assert_option_refused(.lease_ns = SECOND - 1);
    assert_option_refused(.lease_ns = HOUR + 1);
    assert_option_refused(.lease_ns = -1);
    assert_option_refused(.poll_ns = 10 * MS - 1);
    assert_option_refused(.poll_ns = 30 * SECOND + 1);
    assert_option_refused(.horizon_ns = 10 * MS - 1);
    assert_option_refused(.horizon_ns = MINUTE + 1);
    assert_option_refused(.timeout_ns = 10 * MS - 1);
    assert_option_refused(.timeout_ns = MINUTE + 1, .lease_ns = HOUR);
    assert_option_refused(.timeout_ns = 15 * SECOND + 1);
    assert_option_refused(.timeout_ns = SECOND + 1, .lease_ns = SECOND);
    assert_option_refused(.hold = (1U << 20) + 1);
    assert_option_refused(.threads = 257);
    assert_option_refused(.name = "");
    assert_option_refused(.name = "\xff");
}

TEST(options_at_the_ends_of_their_ranges_are_taken) {
    assert_option_taken(.lease_ns = SECOND);
    assert_option_taken(.lease_ns = HOUR);
    assert_option_taken(.poll_ns = 10 * MS);
    assert_option_taken(.poll_ns = 30 * SECOND);
    assert_option_taken(.horizon_ns = 10 * MS);
    assert_option_taken(.horizon_ns = MINUTE);
    assert_option_taken(.timeout_ns = 10 * MS);
    assert_option_taken(.timeout_ns = MINUTE, .lease_ns = MINUTE);
    assert_option_taken(.timeout_ns = 15 * SECOND);
    assert_option_taken(.hold = 1);
    assert_option_taken(.hold = 1U << 20);
    assert_option_taken(.threads = 256);
    assert_option_taken(.schema = "abcdefghijklmnopqrstuvwxyz012345");
}

TEST(malformed_schemas_are_refused) {
    const char *const schemas[] = {"",    "A",   "a b",      "a;b", "a\"b",
                                   "a'b", "a.b", "\xc3\xa9", "1a",  "abcdefghijklmnopqrstuvwxyz0123456"};
    for (size_t i = 0; i < COUNT_OF(schemas); ++i)
        assert_option_refused(.schema = schemas[i]);
}

TEST(a_connection_needs_a_place_and_an_address) {
    struct tw_durable *jobs = NULL;
    assert_int_equal(tw_durable_open(NULL, self->rt, database, NULL), -EINVAL);
    assert_int_equal(tw_durable_open(&jobs, self->rt, NULL, NULL), -EINVAL);
    assert_int_equal(tw_durable_open(&jobs, self->rt, "nosuchstore:test", NULL), -EOPNOTSUPP);
    assert_int_equal(tw_durable_open(&jobs, self->rt, "", NULL), -EOPNOTSUPP);
    assert_int_equal(tw_durable_open(&jobs, NULL, database, &(struct tw_durable_options){.single_thread = 1}),
                     -EINVAL);
    assert_null(jobs);
    assert_int_equal(tw_durable_close(NULL), 0);
}

/* The explanation is that of the error, also if the last call returned another error. */
TEST(errors_of_databases_have_explanations_of_their_own) {
    const int of_databases[] = {-ENOTCONN, -ETIMEDOUT, -EBUSY,  -EACCES, -EROFS,
                                -ENOSPC,   -EBADMSG,   -EPROTO, -EIO};
    assert_int_equal(tw_durable_open(NULL, NULL, NULL, NULL), -EINVAL);
    for (size_t i = 0; i < COUNT_OF(of_databases); ++i)
        assert_string_not_equal(tw_durable_explain(of_databases[i]), meaning_of(of_databases[i]));
    assert_string_equal(tw_durable_explain(-ENOENT), meaning_of(-ENOENT));
}

/* --- names --------------------------------------------------------------------------------- */

TEST(malformed_names_are_refused_everywhere) {
    /* An overlong form, surrogates, a code beyond the last character, a cut character, a character without
     * its first byte. */
    const char *const names[] = {NULL,
                                 "",
                                 too_long(),
                                 "\xff",
                                 "\xc0\x80",
                                 "\xc1\xbf",
                                 "\xe0\x9f\xbf",
                                 "\xf0\x8f\xbf\xbf",
                                 "\xed\xa0\x80",
                                 "\xf4\x90\x80\x80",
                                 "\xf5\x80\x80\x80",
                                 "\xc3",
                                 "\xe2\x82",
                                 "\xf0\x9f\x95",
                                 "\x80"};
    for (size_t i = 0; i < COUNT_OF(names); ++i) {
        const char *const bad = names[i];
        assert_refused(put(self, (struct tw_durable_job){.kind = bad, .key = "17"}), -EINVAL);
        assert_refused(put(self, (struct tw_durable_job){.kind = "mail", .key = bad}), -EINVAL);
        assert_refused(tw_durable_cancel(self->jobs, bad, "17"), -EINVAL);
        assert_refused(tw_durable_cancel(self->jobs, "mail", bad), -EINVAL);
        assert_refused(tw_durable_get(self->jobs, bad, "17", NULL, NULL), -EINVAL);
        assert_refused(tw_durable_get(self->jobs, "mail", bad, NULL, NULL), -EINVAL);
        assert_refused(tw_durable_register(self->jobs, bad, note, self, NULL), -EINVAL);
        if (bad == NULL)
            continue;
        const struct tw_durable_filter kind = {.kind = bad}, after = {.kind = "mail", .after = bad};
        assert_refused(tw_durable_count(self->jobs, &kind), -EINVAL);
        assert_refused(tw_durable_count(self->jobs, &after), -EINVAL);
        assert_refused(tw_durable_list(self->jobs, &kind, copy_entry, NULL), -EINVAL);
        assert_refused(tw_durable_requeue(self->jobs, bad, NULL), -EINVAL);
        assert_refused(tw_durable_requeue(self->jobs, "mail", bad), -EINVAL);
    }
    assert_refused(tw_durable_requeue(self->jobs, NULL, "17"), -EINVAL);
    assert_refused(tw_durable_count(self->jobs, &(struct tw_durable_filter){.after = "17"}), -EINVAL);
    assert_refused(tw_durable_count(self->jobs, &(struct tw_durable_filter){.states = 64}), -EINVAL);
    const struct tw_durable_filter malformed[] = {{.after_kind = "mail"},
                                                  {.kind = "mail", .after_kind = "post", .after = "17"},
                                                  {.after_kind = "\xff", .after = "17"},
                                                  {.ready_from_ns = 1},
                                                  {.ready_before_ns = -1}};
    for (size_t i = 0; i < COUNT_OF(malformed); ++i) {
        assert_refused(tw_durable_count(self->jobs, &malformed[i]), -EINVAL);
        assert_refused(tw_durable_cancel_many(self->jobs, &malformed[i]), -EINVAL);
        assert_refused(tw_durable_requeue_many(self->jobs, &malformed[i]), -EINVAL);
    }
    assert_refused(tw_durable_cancel_many(self->jobs, NULL), -EINVAL);
    assert_refused(tw_durable_list(self->jobs, NULL, NULL, NULL), -EINVAL);
}

TEST(the_longest_names_and_the_first_and_last_characters_of_each_length_are_taken) {
    const char *const names[] = {longest(), "\x01\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80",
                                 "\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"};
    for (size_t i = 0; i < COUNT_OF(names); ++i) {
        const struct tw_durable_job job = {.kind = names[i], .key = names[i], .due_ns = HOUR};
        assert_int_equal(put(self, job), 0);
        assert_int_equal(tw_durable_cancel(self->jobs, names[i], names[i]), 1);
    }
}

/* --- jobs ---------------------------------------------------------------------------------- */

#define assert_job_refused(...) \
    assert_refused(put(self, (struct tw_durable_job){.kind = "mail", .key = "17", __VA_ARGS__}), -EINVAL)

/* For other bad schedules see schedule.cpp, cron.cpp and zone.cpp. */
TEST(payloads_and_schedules_out_of_range_are_refused) {
    char payload[1] = {0};
    assert_job_refused(.payload = payload, .size = TW_DURABLE_PAYLOAD_MAX + 1);
    assert_job_refused(.payload = payload, .size = SIZE_MAX);
    assert_job_refused(.payload = NULL, .size = 1);
    assert_job_refused(.period_ns = -1);
    assert_job_refused(.cron = "60 * * * *");
}

TEST(of_many_jobs_one_that_is_refused_has_none_put) {
    const struct tw_durable_job jobs[] = {mail("a", HOUR), mail("b", HOUR), mail("", HOUR)};
    assert_refused(tw_durable_put_many(self->jobs, jobs, 3, TW_DURABLE_REPLACE), -EINVAL);
    assert_refused(tw_durable_put_many(self->jobs, NULL, 1, TW_DURABLE_REPLACE), -EINVAL);
    assert_refused(tw_durable_put_many(self->jobs, jobs, 2, TW_DURABLE_ADD), -EINVAL);
    assert_refused(tw_durable_put(self->jobs, jobs, (enum tw_durable_existing)3), -EINVAL);
    assert_refused(tw_durable_put(self->jobs, NULL, TW_DURABLE_REPLACE), -EINVAL);
}

TEST(what_is_not_there_is_not_found) {
    assert_refused(tw_durable_cancel(self->jobs, "mail", "17"), -ENOENT);
    assert_refused(tw_durable_get(self->jobs, "mail", "17", NULL, NULL), -ENOENT);
    assert_refused(tw_durable_requeue(self->jobs, "mail", "17"), -ENOENT);
    assert_int_equal(tw_durable_requeue(self->jobs, "mail", NULL), 0);
}

/* --- handling ------------------------------------------------------------------------------ */

TEST(handlers_out_of_range_are_refused) {
    const struct tw_durable_handling wrong[] = {
        {.backoff_ns = -1},
        {.backoff_max_ns = -1},
        {.backoff_ns = HOUR, .backoff_max_ns = MINUTE},
        {.backoff_max_ns = TW_STORE_TIME_MAX / 2 + 1},
        {.attempts = UINT32_C(1) << 31},
        {.rate = 1, .per_ns = MS - 1},
        {.rate = 1, .per_ns = 366 * 24 * HOUR + 1},
    };
    const struct tw_durable_handling most = {
        .backoff_ns = TW_STORE_TIME_MAX / 2, .backoff_max_ns = TW_STORE_TIME_MAX / 2, .attempts = INT32_MAX};
    for (size_t i = 0; i < COUNT_OF(wrong); ++i)
        assert_refused(tw_durable_register(self->jobs, "bill", note, self, &wrong[i]), -EINVAL);
    assert_refused(tw_durable_register(self->jobs, "bill", NULL, self, NULL), -EINVAL);
    assert_refused(tw_durable_register(self->jobs, "mail", note, self, NULL), -EEXIST);
    assert_refused(tw_durable_register(self->keeper, "bill", note, self, NULL), -EPERM);
    assert_int_equal(tw_durable_register(self->jobs, "bill", note, self, &most), 0);
}

TEST(a_null_connection_is_refused) {
    const struct tw_durable_job job = mail("17", 0);
    struct tw_durable_counts counts;
    assert_int_equal(tw_durable_register(NULL, "mail", note, NULL, NULL), -EINVAL);
    assert_int_equal(tw_durable_put(NULL, &job, TW_DURABLE_REPLACE), -EINVAL);
    assert_int_equal(tw_durable_put_many(NULL, &job, 1, TW_DURABLE_REPLACE), -EINVAL);
    assert_int_equal(tw_durable_cancel(NULL, "mail", "17"), -EINVAL);
    assert_int_equal(tw_durable_requeue(NULL, NULL, NULL), -EINVAL);
    assert_int_equal(tw_durable_get(NULL, "mail", "17", NULL, NULL), -EINVAL);
    assert_int_equal(tw_durable_list(NULL, NULL, copy_entry, NULL), -EINVAL);
    assert_int_equal(tw_durable_count(NULL, NULL), -EINVAL);
    assert_int_equal(tw_durable_now(NULL), -EINVAL);
    assert_int_equal(tw_durable_stats(NULL, &counts), -EINVAL);
    assert_int_equal(tw_durable_dump(NULL, NULL, NULL), -EINVAL);
}

TEST(statistics_need_a_place_and_a_dump_a_function) {
    assert_refused(tw_durable_stats(self->jobs, NULL), -EINVAL);
    assert_refused(tw_durable_dump(self->jobs, NULL, NULL), -EINVAL);
}

/* --- visitors ------------------------------------------------------------------------------ */

static int call_back(UNUSED const struct tw_durable_entry *entry, void *arg) {
    struct process *process = arg;
    const struct tw_durable_job job = mail("18", 0);
    assert_int_equal(tw_durable_put(process->jobs, &job, TW_DURABLE_REPLACE), -EDEADLK);
    assert_int_equal(tw_durable_put_many(process->jobs, &job, 1, TW_DURABLE_REPLACE), -EDEADLK);
    assert_int_equal(tw_durable_cancel(process->jobs, "mail", "17"), -EDEADLK);
    assert_int_equal(tw_durable_requeue(process->jobs, NULL, NULL), -EDEADLK);
    assert_int_equal(tw_durable_get(process->jobs, "mail", "17", NULL, NULL), -EDEADLK);
    assert_int_equal(tw_durable_list(process->jobs, NULL, call_back, process), -EDEADLK);
    assert_int_equal(tw_durable_count(process->jobs, NULL), -EDEADLK);
    assert_int_equal(tw_durable_count(process->keeper, NULL), 1); /* a visitor may use another connection */
    return 17;
}

TEST(a_visitor_that_calls_back_is_refused) {
    put_mail(self, "17", HOUR);
    assert_int_equal(tw_durable_list(self->jobs, NULL, call_back, self), 17);
    assert_int_equal(tw_durable_get(self->jobs, "mail", "17", call_back, self), 17);
    assert_int_equal(tw_durable_count(self->jobs, NULL), 1);
}

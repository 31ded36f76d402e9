/* What a process tells of jobs and members, on virtual time; and fires on demand. */
#include "scripted_store.h"

static char text[1024];

static const char *why_of(struct tw_durable *jobs, const char *key) {
    const int error = tw_durable_why(jobs, "mail", key, text, sizeof text);
    assert_true(error == 0 || error == -ENOENT);
    return text;
}

#define assert_why(process, key, part) \
    if (strstr(why_of((process)->jobs, key), part) == NULL) \
    fail_msg("%s", text)

static enum tw_durable_answer fails(struct tw_durable_fire *fire, UNUSED struct process *process) {
    return tw_durable_failed(fire, "no paper");
}

static enum tw_durable_answer says_again(struct tw_durable_fire *fire, UNUSED struct process *process) {
    return tw_durable_again(fire, 10 * MINUTE);
}

static int takes(UNUSED const struct tw_durable_entry *entry, UNUSED int64_t row, UNUSED void *arg) {
    return 0;
}

/* --- why ----------------------------------------------------------------------------------- */

TEST(a_job_that_is_not_due_says_when) {
    put(self, mail("17", HOUR));
    assert_why(self, "17", "It is not due: it fires in 1 h");
    assert_why(self, "18", "There is no job of this name");
    assert_int_equal(tw_durable_why(self->jobs, "mail", "18", text, sizeof text), -ENOENT);
}

/* The connection `keeper` has no virtual time, so for it the database's clock is decades behind. */
TEST(a_clock_that_is_ahead_of_the_databases_is_told) {
    struct tw_durable_job job = mail("17", 10000 * 24 * HOUR); /* in 1997 */
    job.absolute = 1;
    put(self, job);
    if (strstr(why_of(self->keeper, "17"), "The clock of this machine is ") == NULL)
        fail_msg("%s", text);
    assert_non_null(strstr(text, " ahead of the database's, which is the one that counts."));
}

TEST(a_held_job_says_who_fires_it_and_how_long_the_lease_lasts) {
    begin_with((struct tw_durable_options){.name = "A", .horizon_ns = MINUTE});
    put(self, mail("17", 30 * SECOND));
    advance(self, SECOND);
    assert_why(self, "17", "A holds it, and fires it in 2");
    assert_why(self, "17", "The lease of A lasts until 1970-");
}

TEST(a_failed_try_says_why_and_when_the_next_is) {
    self->inside = fails;
    put(self, mail("17", 0));
    advance(self, 100 * MS);
    assert_why(self, "17", " holds it, and fires it in 900 ms");
    assert_why(self, "17", " Try 1 of 20 has failed with \"no paper\".");
    advance(self, 4 * SECOND);
    assert_why(self, "17", "It waits for its next try, in 2.9 s, at ");
    assert_why(self, "17", ", because try 3 of 20 has failed with \"no paper\".");
}

TEST(a_job_that_fires_again_says_that_its_handler_said_so) {
    self->inside = says_again;
    put(self, mail("17", 0));
    advance(self, SECOND);
    assert_why(self, "17", "It fires again in 9 min 59 s");
    assert_why(self, "17", "as its handler answered.");
}

TEST(a_failed_job_says_what_its_last_try_said) {
    const struct tw_durable_handling once = {.attempts = 1};
    assert_int_equal(tw_durable_register(self->jobs, "bill", note, self, &once), 0);
    self->inside = fails;
    assert_int_equal(put(self, (struct tw_durable_job){.kind = "bill", .key = "17"}), 0);
    advance(self, SECOND);
    assert_int_equal(tw_durable_why(self->jobs, "bill", "17", text, sizeof text), 0);
    assert_non_null(strstr(text, "It has failed: try 1 of 1 was the last one, and ended with \"no paper\""));
}

TEST(a_due_time_that_was_given_up_is_told) {
    const struct tw_durable_handling once = {.attempts = 1};
    assert_int_equal(tw_durable_register(self->jobs, "bill", note, self, &once), 0);
    self->inside = fails;
    assert_int_equal(put(self, (struct tw_durable_job){.kind = "bill", .key = "17", .period_ns = HOUR}), 0);
    advance(self, SECOND);
    assert_int_equal(tw_durable_why(self->jobs, "bill", "17", text, sizeof text), 0);
    assert_non_null(strstr(text, "the last one was given up, because the last try ended with \"no paper\"."));
}

TEST(a_kind_that_nobody_handles_is_told) {
    assert_int_equal(put(self, (struct tw_durable_job){.kind = "post", .key = "17"}), 0);
    advance(self, 5 * SECOND);
    assert_int_equal(tw_durable_why(self->jobs, "post", "17", text, sizeof text), 0);
    assert_non_null(strstr(text, "It has been due for 5.0 s, and nobody handles its kind: "));
    assert_non_null(strstr(text, ", the only process that is alive, does not."));
}

TEST(no_process_that_is_alive_is_told) {
    go_away(self, 0);
    connect_with(self, (struct tw_durable_options){0}); /* without a handler it is no member */
    put(self, mail("17", 0));
    advance(self, 3 * MINUTE);
    assert_why(self, "17", "It has been due for 3 min, and no process is alive to handle it.");
}

/* A member that handles "mail", whose lease lasts for hours. */
static void join_as(const char *name) {
    const char *const kind = "mail";
    void *const another = open_another();
    struct tw_store_member member;
    assert_int_equal(inner_store()->join(another, name, 9 * HOUR, &member), 0);
    assert_int_equal(inner_store()->announce(another, &member, &kind, 1, 0), 0);
    inner_store()->close(another);
}

TEST(a_holder_whose_lease_has_ended_says_who_takes_over) {
    begin_scripted((struct tw_durable_options){.name = "A", .horizon_ns = MINUTE});
    put(self, mail("17", 50 * SECOND));
    advance(self, SECOND);
    script.clock_ahead_ns = 40 * SECOND;
    assert_why(self, "17", "A holds it, but the lease of A ended 2");
    assert_why(self, "17", " ago; no other process is alive to take over.");
    join_as("B");
    assert_why(self, "17", " ago; B will take over, after the next renewal of its lease.");
    script.clock_ahead_ns = 0;
}

TEST(handlers_that_are_busy_or_about_to_claim_are_told) {
    begin_scripted((struct tw_durable_options){.name = "A"});
    go_away(self, 0);
    connect_with(self, (struct tw_durable_options){.store = scripted_store()});
    join_as("B");
    put(self, mail("17", 0));
    advance(self, 5 * SECOND);
    assert_why(self, "17",
               "It has been due for 5.0 s, and B, which handles its kind, has not claimed it yet;");
    const char *const kind = "mail";
    void *const another = open_another();
    struct tw_store_member member;
    struct tw_store_look look;
    assert_int_equal(inner_store()->join(another, "C", 9 * HOUR, &member), 0);
    assert_int_equal(inner_store()->announce(another, &member, &kind, 1, 0), 0);
    const struct tw_store_claim claim = {.member = member, .kinds = &kind, .kinds_count = 1, .limit = 1};
    assert_int_equal(inner_store()->claim(another, &claim, takes, NULL, &look), 0);
    inner_store()->close(another);
    assert_why(self, "17", "C has started its handler, which runs or waits for a worker there");
    put(self, mail("18", 0));
    assert_why(self, "18",
               ", which handle its kind, have not claimed it yet; C runs 1 and holds 0 more. It waits if all "
               "workers are busy; if they are not, look at the log");
}

/* Two processes of one name, each of which has started a job; the lease of the second has ended. */
TEST(a_holder_is_not_mistaken_for_another_of_its_name) {
    const char *const kind = "mail";
    begin_scripted((struct tw_durable_options){.name = "A"});
    go_away(self, 0);
    connect_with(self, (struct tw_durable_options){.store = scripted_store()});
    void *const another = open_another();
    for (unsigned i = 0; i < 2; ++i) {
        struct tw_store_member member;
        struct tw_store_look look;
        put(self, mail(i == 0 ? "17" : "18", 0));
        assert_int_equal(inner_store()->join(another, "C", i == 0 ? 9 * HOUR : HOUR, &member), 0);
        const struct tw_store_claim claim = {.member = member, .kinds = &kind, .kinds_count = 1, .limit = 1};
        assert_int_equal(inner_store()->claim(another, &claim, takes, NULL, &look), 0);
    }
    inner_store()->close(another);
    script.clock_ahead_ns = 4 * HOUR;
    assert_why(self, "17", "C has started its handler, which runs or waits for a worker there");
    assert_why(self, "18", "C has started its handler, but the lease of C ended ");
    script.clock_ahead_ns = 0;
}

TEST(an_outage_is_told_since_when) {
    begin_scripted(watchful);
    put(self, mail("17", HOUR));
    assert_int_equal(tw_durable_why(self->jobs, "mail", "17", text, 8), 0);
    assert_string_equal(text, "It is n");
    script.outage = -ENOTCONN;
    script.open = broken(each_time, -ENOTCONN);
    advance(self, 2 * SECOND);
    script.now = broken(each_time, -ENOTCONN);
    assert_int_equal(tw_durable_why(self->jobs, "mail", "17", text, sizeof text), -ENOTCONN);
    assert_non_null(strstr(text, "The database has not been reached since 20"));
    script.outage = 0;
    script.open = script.now = (struct plan){0};
}

/* --- fires on demand ----------------------------------------------------------------------- */

TEST(a_job_fires_on_demand_and_once) {
    put(self, mail("17", HOUR));
    const int64_t due = tw_durable_now(self->jobs) + HOUR;
    assert_int_equal(tw_durable_fire_now(self->jobs, "mail", "17"), 1);
    advance(self, 100 * MS);
    assert_int_equal(self->count, 1);
    assert_in_range(self->fires[0].due_ns, due - MS, due + MS);
    assert_int_equal(tw_durable_fire_now(self->jobs, "mail", "17"), -ENOENT);
    advance(self, 2 * HOUR);
    assert_int_equal(self->count, 1);
}

TEST(a_job_that_this_process_holds_fires_on_demand) {
    begin_with((struct tw_durable_options){.horizon_ns = MINUTE});
    put(self, mail("17", 50 * SECOND));
    advance(self, SECOND);
    assert_int_equal(tw_durable_fire_now(self->jobs, "mail", "17"), 1);
    advance(self, 100 * MS);
    assert_int_equal(self->count, 1);
    advance(self, 2 * MINUTE);
    assert_int_equal(self->count, 1);
}

/* Fires a job with an hour's period, or at each full hour, in between; and then at its own time. */
static void assert_keeps_schedule(struct tw_durable_job job) {
    put(self, job);
    struct tw_durable_filter all = {0};
    assert_int_equal(tw_durable_count(self->jobs, &all), 1);
    advance(self, 10 * MINUTE);
    const unsigned before = self->count;
    assert_int_equal(tw_durable_fire_now(self->jobs, "mail", job.key), 1);
    advance(self, SECOND);
    assert_int_equal(self->count, before + 1);
    advance(self, 2 * HOUR);
    assert_int_equal(self->count, before + 3);
    assert_int_equal(self->fires[before + 2].due_ns - self->fires[before + 1].due_ns, HOUR);
    assert_true(self->fires[before + 1].due_ns > self->fires[before].due_ns);
    assert_int_equal(tw_durable_cancel(self->jobs, "mail", job.key), 1);
}

TEST(a_fire_on_demand_leaves_the_schedule_as_it_is) {
    struct tw_durable_job job = {.kind = "mail", .key = "period", .due_ns = HOUR, .period_ns = HOUR};
    job.missed = TW_DURABLE_SKIP;
    assert_keeps_schedule(job);
    job =
        (struct tw_durable_job){.kind = "mail", .key = "cron", .cron = "@hourly", .missed = TW_DURABLE_SKIP};
    assert_keeps_schedule(job);
}

TEST(a_fire_on_demand_long_before_the_first_due_time_leaves_it_as_it_is) {
    const struct tw_durable_job job = {.kind = "mail", .key = "1", .due_ns = 5 * HOUR, .period_ns = HOUR};
    const int64_t first = tw_durable_now(self->jobs) + 5 * HOUR;
    put(self, job);
    assert_int_equal(tw_durable_fire_now(self->jobs, "mail", "1"), 1);
    advance(self, SECOND);
    assert_int_equal(self->count, 1);
    advance(self, 4 * HOUR);
    assert_int_equal(self->count, 1);
    advance(self, HOUR);
    assert_int_equal(self->count, 2);
    assert_in_range(self->fires[1].due_ns, first - MS, first + MS);
}

static int tries_to_fire;

static enum tw_durable_answer fires_itself(struct tw_durable_fire *fire, struct process *process) {
    tries_to_fire = tw_durable_fire_now(process->jobs, fire->kind, fire->key);
    return TW_DURABLE_DONE;
}

TEST(a_started_job_cannot_be_made_to_fire) {
    self->inside = fires_itself;
    tries_to_fire = -1;
    put(self, mail("17", 0));
    advance(self, SECOND);
    assert_int_equal(self->count, 1);
    assert_int_equal(tries_to_fire, 0);
}

/* --- many ---------------------------------------------------------------------------------- */

static void put_hundreds(unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
        char key[16];
        snprintf(key, sizeof key, "%04u", i);
        assert_int_equal(put(self, (struct tw_durable_job){.kind = "post", .key = key, .due_ns = HOUR}), 0);
    }
}

TEST(many_jobs_are_removed_at_once) {
    put_hundreds(2100);
    put(self, mail("17", HOUR));
    struct tw_durable_filter filter = {.kind = "post", .limit = 1500};
    assert_int_equal(tw_durable_requeue_many(self->jobs, &filter), 0);
    assert_int_equal(tw_durable_cancel_many(self->jobs, &filter), 1500);
    filter.limit = 0;
    assert_int_equal(tw_durable_cancel_many(self->jobs, &filter), 600);
    assert_int_equal(tw_durable_count(self->jobs, NULL), 1);
}

TEST(many_failed_jobs_are_requeued_at_once) {
    const struct tw_durable_handling once = {.attempts = 1};
    assert_int_equal(tw_durable_register(self->jobs, "post", note, self, &once), 0);
    self->inside = fails;
    put_hundreds(3);
    put(self, mail("17", 2 * HOUR));
    advance(self, HOUR + MINUTE);
    const struct tw_durable_filter any = {0}, pending = {.states = TW_DURABLE_PENDING};
    assert_int_equal(tw_durable_requeue_many(self->jobs, &pending), 0);
    self->inside = NULL;
    assert_int_equal(tw_durable_requeue_many(self->jobs, &any), 3);
    advance(self, MINUTE);
    assert_int_equal(tw_durable_count(self->jobs, NULL), 1);
}

/* The last claimed jobs of another process. */
static struct tw_store_outcome failures[2000];
static char failed_keys[2000][16];
static size_t failed_count;

static int take_to_fail(const struct tw_durable_entry *entry, int64_t row, UNUSED void *arg) {
    snprintf(failed_keys[failed_count], sizeof failed_keys[0], "%s", entry->job.key);
    failures[failed_count] = (struct tw_store_outcome){.kind = "post",
                                                       .key = failed_keys[failed_count],
                                                       .token = entry->token,
                                                       .row = row,
                                                       .what = TW_STORE_FAIL,
                                                       .due_ns = entry->job.due_ns,
                                                       .ready_ns = entry->job.due_ns};
    ++failed_count;
    return 0;
}

/* Another process claims all jobs that are ready, and its handlers fail at once. */
static void fail_all(void) {
    void *const another = open_another();
    const char *const kind = "post";
    struct tw_store_claim claim = {.kinds = &kind, .kinds_count = 1, .limit = 2000};
    struct tw_store_look look;
    failed_count = 0;
    assert_int_equal(inner_store()->join(another, "B", HOUR, &claim.member), 0);
    assert_int_equal(inner_store()->claim(another, &claim, take_to_fail, NULL, &look), 0);
    assert_int_equal(inner_store()->settle(another, &claim.member, failures, failed_count), 0);
    assert_int_equal(inner_store()->leave(another, &claim.member), 0);
    inner_store()->close(another);
}

TEST(a_requeue_of_many_ends_although_their_handlers_fail_at_once) {
    begin_scripted((struct tw_durable_options){0});
    put_hundreds(1001);
    advance(self, HOUR);
    fail_all();
    assert_int_equal(failed_count, 1001);
    script.change = (struct plan){.times = 5, .act = fail_all};
    assert_int_equal(tw_durable_requeue_many(self->jobs, &(struct tw_durable_filter){0}), 1001);
    assert_int_equal(failed_count, 1);
    script.change = (struct plan){.times = 5, .act = fail_all};
    const struct tw_durable_filter oldest_first = {.ready_before_ns = TW_NO_DEADLINE};
    assert_int_equal(tw_durable_requeue_many(self->jobs, &oldest_first), 1001);
    script.change = (struct plan){0};
}

TEST(a_held_job_that_is_removed_with_others_leaves_the_process) {
    begin_with((struct tw_durable_options){.horizon_ns = MINUTE});
    put(self, mail("17", 50 * SECOND));
    advance(self, SECOND);
    struct tw_durable_counts stats;
    tw_durable_stats(self->jobs, &stats);
    assert_int_equal(stats.held, 1);
    assert_int_equal(tw_durable_cancel_many(self->jobs, &(struct tw_durable_filter){0}), 1);
    tw_durable_stats(self->jobs, &stats);
    assert_int_equal(stats.held, 0);
}

/* --- members ------------------------------------------------------------------------------- */

static int has_kinds(const struct tw_durable_member *member, void *arg) {
    assert_true(member->knows_kinds);
    *(size_t *)arg = member->kinds_count;
    assert_string_equal(member->kinds[0], "mail");
    return 7;
}

TEST(a_process_tells_the_kinds_that_it_handles) {
    size_t kinds = 0;
    assert_int_equal(tw_durable_members(self->jobs, has_kinds, &kinds), 7);
    assert_int_equal(kinds, 1);
    handle(self, "post");
    advance(self, SECOND);
    assert_int_equal(tw_durable_members(self->jobs, has_kinds, &kinds), 7);
    assert_int_equal(kinds, 2);
}

TEST(a_process_tells_its_kinds_once) {
    begin_scripted((struct tw_durable_options){0});
    advance(self, HOUR);
    assert_int_equal(script.announce.calls, 1);
    handle(self, "post");
    advance(self, HOUR);
    assert_int_equal(script.announce.calls, 2);
}

/* --- metrics ------------------------------------------------------------------------------- */

static char written[8192];

static void append(const char *part, size_t size, UNUSED void *arg) { strncat(written, part, size); }

TEST(metrics_tell_what_this_process_did) {
    self->inside = fails;
    put(self, mail("17", 0));
    advance(self, 100 * MS);
    written[0] = '\0';
    assert_int_equal(tw_durable_metrics(self->jobs, "a \"b\"", append, NULL), 0);
    const char *const rows[] = {"\ntickwheel_durable_retries_total{name=\"a \\\"b\\\"\"} 1\n",
                                "\ntickwheel_durable_connected{name=\"a \\\"b\\\"\"} 1\n",
                                "_bucket{name=\"a \\\"b\\\"\",le=\"3600.000000\"} 1\n",
                                "_bucket{name=\"a \\\"b\\\"\",le=\"+Inf\"} 1\n",
                                "\ntickwheel_durable_late_seconds_count{name=\"a \\\"b\\\"\"} 1\n"};
    for (size_t i = 0; i < COUNT_OF(rows); ++i)
        if (strstr(written, rows[i]) == NULL)
            fail_msg("%s is not in %s", rows[i], written);
    assert_int_equal(tw_durable_metrics(self->jobs, NULL, NULL, NULL), -EINVAL);
}

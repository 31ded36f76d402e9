/* Jobs that are put, replaced and removed while they wait, are held, or run; how many jobs a process holds,
 * which process takes over, closing, and statistics. */
#include "durable_test.h"

static struct tw_durable_job with_text(const char *key, int64_t delay, const char *text) {
    struct tw_durable_job job = mail(key, delay);
    job.payload = text;
    job.size = strlen(text);
    return job;
}

static char text_seen[16];

static enum tw_durable_answer read_text(struct tw_durable_fire *fire, UNUSED struct process *process) {
    snprintf(text_seen, sizeof text_seen, "%.*s", (int)fire->size, (const char *)fire->payload);
    return TW_DURABLE_DONE;
}

/* --- putting ------------------------------------------------------------------------------- */

TEST(a_replaced_job_fires_as_the_new_one) {
    self->inside = read_text;
    assert_int_equal(put(self, with_text("17", HOUR, "old")), 0);
    assert_int_equal(put(self, with_text("17", 2 * HOUR, "new")), 0);
    advance(self, 90 * MINUTE);
    assert_int_equal(self->count, 0);
    advance(self, HOUR);
    assert_int_equal(self->count, 1);
    assert_string_equal(text_seen, "new");
}

TEST(a_job_can_be_added_if_there_is_none_of_its_name) {
    const struct tw_durable_job job = mail("17", HOUR);
    assert_int_equal(tw_durable_put(self->jobs, &job, TW_DURABLE_ADD), 0);
    assert_int_equal(tw_durable_put(self->jobs, &job, TW_DURABLE_ADD), -EEXIST);
    advance(self, 2 * HOUR);
    assert_int_equal(self->count, 1);
    assert_int_equal(tw_durable_put(self->jobs, &job, TW_DURABLE_ADD), 0);
}

TEST(a_job_that_is_kept_stays_as_it_is) {
    self->inside = read_text;
    const struct tw_durable_job old = with_text("17", HOUR, "old"), new = with_text("17", 2 * HOUR, "new");
    assert_int_equal(tw_durable_put(self->jobs, &old, TW_DURABLE_KEEP), 0);
    assert_int_equal(tw_durable_put(self->jobs, &new, TW_DURABLE_KEEP), 0);
    assert_int_equal(tw_durable_put(self->jobs, &new, TW_DURABLE_ADD), -EEXIST);
    advance(self, 90 * MINUTE);
    assert_int_equal(self->count, 1);
    assert_string_equal(text_seen, "old");
}

TEST(many_are_put_at_once_if_they_are_new) {
    put_mail(self, "b", HOUR);
    const struct tw_durable_job jobs[] = {mail("a", SECOND), mail("b", SECOND), mail("c", SECOND),
                                          mail("a", SECOND)};
    assert_int_equal(tw_durable_put_many(self->jobs, jobs, 4, TW_DURABLE_KEEP), 0);
    advance(self, MINUTE);
    assert_int_equal(self->count, 2);
    assert_int_equal(tw_durable_put_many(self->jobs, jobs, 0, TW_DURABLE_KEEP), 0);
    assert_int_equal(tw_durable_put_many(self->jobs, NULL, 0, TW_DURABLE_KEEP), 0);
}

TEST(of_jobs_of_one_name_that_are_put_at_once_the_last_fires_alone) {
    self->inside = read_text;
    const struct tw_durable_job jobs[] = {mail("18", 0), with_text("17", 0, "old"),
                                          with_text("17", 0, "new")};
    assert_int_equal(tw_durable_put_many(self->jobs, jobs, 3, TW_DURABLE_REPLACE), 0);
    advance(self, MINUTE);
    assert_int_equal(self->count, 2);
    assert_string_equal(text_seen, "new");
}

TEST(a_job_that_is_replaced_while_it_is_held_fires_as_the_new_one) {
    self->inside = read_text;
    assert_int_equal(put(self, with_text("17", 2 * SECOND, "old")), 0);
    advance(self, SECOND);
    assert_int_equal(entry_of(self, "17").state, TW_DURABLE_HELD);
    assert_int_equal(put(self, with_text("17", 3 * SECOND, "new")), 0);
    assert_int_equal(entry_of(self, "17").state, TW_DURABLE_PENDING);
    advance(self, MINUTE);
    assert_int_equal(self->count, 1);
    assert_string_equal(text_seen, "new");
    assert_int_equal(stats_of(self).taken_back, 1);
}

/* --- removing ------------------------------------------------------------------------------ */

TEST(a_job_that_is_removed_while_it_waits_does_not_fire) {
    put_mail(self, "17", HOUR);
    assert_int_equal(tw_durable_cancel(self->jobs, "mail", "17"), 1);
    assert_int_equal(tw_durable_cancel(self->jobs, "mail", "17"), -ENOENT);
    advance(self, 2 * HOUR);
    assert_int_equal(self->count, 0);
}

TEST(a_job_that_is_removed_while_it_is_held_does_not_fire) {
    put_mail(self, "17", 2 * SECOND);
    advance(self, SECOND);
    assert_int_equal(entry_of(self, "17").state, TW_DURABLE_HELD);
    assert_int_equal(tw_durable_cancel(self->jobs, "mail", "17"), 1);
    assert_int_equal(stats_of(self).held, 0);
    advance(self, MINUTE);
    assert_int_equal(self->count, 0);
    assert_int_equal(stats_of(self).taken_back, 1);
}

TEST(a_held_job_that_another_process_removes_does_not_fire) {
    put_mail(self, "17", 2 * SECOND);
    advance(self, SECOND);
    assert_int_equal(stats_of(self).held, 1);
    assert_int_equal(tw_durable_cancel(self->keeper, "mail", "17"), 1);
    advance(self, MINUTE);
    assert_int_equal(self->count, 0);
    assert_int_equal(stats_of(self).taken_back, 1);
    assert_int_equal(stats_of(self).held, 0);
}

static enum tw_durable_answer remove_own(struct tw_durable_fire *fire, struct process *process) {
    assert_int_equal(tw_durable_cancel(process->jobs, fire->kind, fire->key), 0);
    return tw_durable_again(fire, SECOND);
}

TEST(a_handler_removes_its_job_too_late_to_prevent_it_and_it_does_not_fire_again) {
    self->inside = remove_own;
    put_mail(self, "17", 0);
    advance(self, MINUTE);
    assert_int_equal(self->count, 1);
    assert_false(exists(self, "17"));
    assert_int_equal(stats_of(self).unmatched, 1);
}

/* --- in handlers --------------------------------------------------------------------------- */

static enum tw_durable_answer replace_own(struct tw_durable_fire *fire, struct process *process) {
    if (process->count > 1)
        return TW_DURABLE_DONE;
    assert_int_equal(put(process, mail(fire->key, MINUTE)), 0);
    return tw_durable_failed(fire, "counts for nothing");
}

TEST(a_job_that_its_handler_replaces_fires_as_the_new_one_with_a_higher_token) {
    self->inside = replace_own;
    put_mail(self, "17", 0);
    advance(self, SECOND);
    const struct tw_durable_entry entry = entry_of(self, "17");
    assert_int_equal(entry.state, TW_DURABLE_PENDING);
    assert_int_equal(entry.attempts, 0);
    advance(self, HOUR);
    assert_int_equal(self->count, 2);
    assert_fired(self, 1, self->fires[0].at_ns + MINUTE);
    assert_int_equal(self->fires[1].attempt, 1);
    assert_true(self->fires[1].token > self->fires[0].token);
    assert_int_equal(stats_of(self).unmatched, 1);
}

static enum tw_durable_answer put_next(struct tw_durable_fire *fire, struct process *process) {
    static const char *const keys[] = {"b", "c", "d"};
    if (process->count <= 3)
        assert_int_equal(put(process, mail(keys[process->count - 1], 0)), 0);
    assert_true(fire->token > 0);
    return TW_DURABLE_DONE;
}

TEST(a_handler_puts_other_jobs) {
    self->inside = put_next;
    put_mail(self, "a", 0);
    advance(self, 0);
    assert_int_equal(self->count, 4);
}

static enum tw_durable_answer remove_other(UNUSED struct tw_durable_fire *fire, struct process *process) {
    assert_int_equal(tw_durable_cancel(process->jobs, "mail", "other"), 1);
    return TW_DURABLE_DONE;
}

TEST(a_handler_removes_another_job_that_is_held) {
    self->inside = remove_other;
    put_mail(self, "17", SECOND);
    put_mail(self, "other", 2 * SECOND);
    advance(self, MINUTE);
    assert_int_equal(self->count, 1);
}

static enum tw_durable_answer stop_time(UNUSED struct tw_durable_fire *fire, struct process *process) {
    assert_true(tw_runtime_stop(process->rt) >= 0);
    return TW_DURABLE_DONE;
}

/* A handler that has advanced the caller's clock stops the runtime, and the next job waits until the
 * runtime's time has been advanced. */
TEST(on_virtual_time_no_job_fires_after_one_that_has_stopped_the_runtime) {
    self->inside = stop_time;
    put_mail(self, "17", SECOND);
    put_mail(self, "18", SECOND);
    advance(self, 2 * SECOND);
    assert_int_equal(self->count, 1);
    advance(self, 2 * SECOND);
    assert_int_equal(self->count, 2);
}

/* --- asking -------------------------------------------------------------------------------- */

static int count_until(const struct tw_durable_entry *entry, void *arg) {
    int *left = arg;
    assert_non_null(entry->job.kind);
    return --*left == 0 ? -4711 : 0;
}

TEST(a_walk_ends_with_what_its_visitor_returns) {
    put_mail(self, "a", HOUR);
    put_mail(self, "b", HOUR);
    put_mail(self, "c", HOUR);
    int left = 2;
    assert_int_equal(tw_durable_list(self->jobs, NULL, count_until, &left), -4711);
    assert_int_equal(left, 0);
    left = 10;
    assert_int_equal(tw_durable_list(self->jobs, NULL, count_until, &left), 0);
    assert_int_equal(left, 7);
    assert_int_equal(tw_durable_get(self->jobs, "mail", "a", NULL, NULL), 0);
}

TEST(a_job_that_is_put_again_and_again_is_held_once) {
    for (int i = 0; i < 1000; ++i) {
        assert_int_equal(put(self, mail("17", SECOND)), 0);
        advance(self, MS);
    }
    struct tw_durable_counts now = stats_of(self);
    assert_int_equal(now.held, 1);
    assert_int_equal(now.taken_back, 999);
    assert_int_equal(self->count, 0);
    advance(self, SECOND);
    now = stats_of(self);
    assert_int_equal(self->count, 1);
    assert_int_equal(now.held, 0);
}

/* --- limits -------------------------------------------------------------------------------- */

TEST(a_process_never_holds_more_than_it_may_and_the_others_fire_too) {
    begin_with((struct tw_durable_options){.hold = 3, .horizon_ns = MINUTE});
    for (char key[] = "a"; key[0] <= 'z'; ++key[0])
        put_mail(self, key, (key[0] - 'a' + 5) * SECOND);
    for (unsigned i = 0; i < 400; ++i) {
        advance(self, 100 * MS);
        assert_in_range(stats_of(self).held, 0, 3);
    }
    assert_int_equal(self->count, 26);
    for (unsigned i = 0; i < 26; ++i)
        assert_fired(self, i, (i + 6) * SECOND);
}

TEST(a_hundred_at_once_pass_through_a_hold_of_one) {
    begin_with((struct tw_durable_options){.hold = 1});
    for (unsigned i = 0; i < 100; ++i) {
        char key[16];
        snprintf(key, sizeof key, "%u", i);
        put_mail(self, key, 0);
    }
    advance(self, 2 * SECOND);
    assert_int_equal(self->count, 100);
}

TEST(a_job_is_held_when_it_is_within_the_horizon) {
    begin_with((struct tw_durable_options){.horizon_ns = 20 * SECOND});
    put_mail(self, "17", MINUTE);
    advance(self, 39 * SECOND);
    assert_int_equal(entry_of(self, "17").state, TW_DURABLE_PENDING);
    advance(self, 7 * SECOND); /* the process looks at most a quarter of the horizon later */
    assert_int_equal(entry_of(self, "17").state, TW_DURABLE_HELD);
    assert_int_equal(self->count, 0);
}

/* --- several processes ----------------------------------------------------------------------- */

TEST(what_a_process_gives_back_when_it_closes_another_fires_at_once) {
    join((struct tw_durable_options){0});
    put_mail(self, "17", 2 * SECOND);
    advance(self, SECOND);
    assert_int_equal(stats_of(self).held, 1);
    assert_int_equal(tw_durable_close(self->jobs), 0);
    self->jobs = NULL;
    handle(other, "mail");
    advance(self, SECOND + LATE);
    assert_int_equal(self->count, 0);
    assert_int_equal(other->count, 1);
    assert_fired(other, 0, 3 * SECOND);
}

TEST(two_processes_fire_each_job_once) {
    join((struct tw_durable_options){0});
    handle(other, "mail");
    for (char key[] = "a"; key[0] <= 'z'; ++key[0])
        put_mail(key[0] % 2 ? self : other, key, (key[0] - 'a') * SECOND);
    advance(self, MINUTE);
    assert_int_equal(self->count + other->count, 26);
}

/* --- closing from inside --------------------------------------------------------------------- */

static enum tw_durable_answer close_own(UNUSED struct tw_durable_fire *fire, struct process *process) {
    assert_int_equal(tw_durable_close(process->jobs), -EBUSY);
    return TW_DURABLE_DONE;
}

TEST(a_handler_cannot_close_its_connection) {
    self->inside = close_own;
    put_mail(self, "17", 0);
    advance(self, SECOND);
    assert_int_equal(self->count, 1);
    assert_false(exists(self, "17"));
}

/* --- jobs that wait for a worker --------------------------------------------------------------- */

/* Puts a job, which the put claims and starts. On virtual time no worker has called its handler yet. */
static void put_started(const char *key) {
    put_mail(self, key, 0);
    assert_int_equal(entry_of(self, key).state, TW_DURABLE_STARTED);
    assert_int_equal(stats_of(self).running, 1);
}

TEST(a_started_job_that_is_replaced_before_its_handler_begins_fires_as_the_new_one) {
    const int64_t delays[] = {0, SECOND, HOUR};
    for (size_t i = 0; i < COUNT_OF(delays); ++i) {
        begin();
        put_started("17");
        assert_int_equal(put(self, mail("17", delays[i])), 0);
        const int64_t token = entry_of(self, "17").token;
        advance(self, 2 * SECOND);
        const unsigned expected = delays[i] < HOUR;
        assert_int_equal(self->count, expected);
        assert_true(expected == 0 || self->fires[0].token == token || delays[i] > 0);
        assert_int_equal(stats_of(self).taken_back, 1);
        assert_int_equal(stats_of(self).running, 0);
        assert_int_equal(stats_of(self).unmatched, 0);
    }
}

TEST(a_started_job_that_is_removed_before_its_handler_begins_does_not_fire) {
    put_started("17");
    assert_int_equal(tw_durable_cancel(self->jobs, "mail", "17"), 0);
    advance(self, SECOND);
    assert_int_equal(self->count, 0);
    assert_int_equal(stats_of(self).taken_back, 1);
    assert_int_equal(stats_of(self).running, 0);
}

TEST(a_started_job_that_is_kept_fires) {
    const struct tw_durable_job again = mail("17", HOUR);
    put_started("17");
    assert_int_equal(tw_durable_put(self->jobs, &again, TW_DURABLE_KEEP), 0);
    advance(self, SECOND);
    assert_int_equal(self->count, 1);
}

static unsigned events;
static enum tw_durable_event last_event;

static void note_event(enum tw_durable_event event, const char *why, UNUSED void *arg) {
    assert_non_null(why);
    ++events;
    last_event = event;
    assert_int_equal(tw_durable_close(other->jobs), -EBUSY);
}

TEST(an_event_tells_of_the_connection_and_cannot_close_it) {
    join((struct tw_durable_options){.on_event = note_event});
    advance(self, SECOND);
    assert_int_equal(events, 0); /* without a handler it does not join */
    handle(other, "mail");
    advance(self, SECOND);
    assert_int_equal(events, 1);
    assert_int_equal(last_event, TW_DURABLE_CONNECTED);
}

TEST(what_a_dead_process_held_is_late_by_its_lease_and_a_third) {
    const struct tw_durable_options options = {.lease_ns = 3 * SECOND, .poll_ns = 30 * SECOND};
    begin_with(options);
    other = begin_another(options);
    put_mail(other, "17", SECOND); /* held, and never fired, because the time of `other` stands still */
    advance(self, 2 * SECOND - 1);
    assert_int_equal(self->count, 0); /* the lease of 3 s began a second before the put */
    advance(self, 2 * SECOND);
    assert_int_equal(self->count, 1);
    assert_string_equal(self->fires[0].key, "17");
    assert_int_equal(self->fires[0].attempt, 1);
}

/* --- seeing -------------------------------------------------------------------------------- */

TEST(statistics_count_what_has_happened) {
    struct tw_durable_counts now = stats_of(self);
    assert_int_equal(now.connected, 1);
    assert_int_equal(now.connects, 1);
    assert_int_equal(now.started, 0);
    assert_in_range(now.lease_ns, 10 * SECOND, 15 * SECOND);
    assert_in_range(now.clock_uncertainty_ns, 0, MS);

    struct tw_durable_job late = mail("17", tw_runtime_now(self->rt) - 500 * MS);
    late.absolute = 1;
    assert_int_equal(put(self, late), 0);
    put_mail(self, "18", SECOND);
    put_mail(self, "19", HOUR);
    advance(self, 0);
    now = stats_of(self);
    assert_int_equal(now.claimed, 2);
    assert_int_equal(now.started, 1);
    assert_int_equal(now.done, 1);
    assert_int_equal(now.held, 1);
    assert_int_equal(now.running, 0);
    assert_int_equal(now.unsettled, 0);
    assert_int_equal(now.late_count, 1);
    assert_in_range(now.late_sum_ns, 499 * MS, 500 * MS);
    assert_int_equal(now.late_max_ns, now.late_sum_ns);
    assert_int_equal(now.errors + now.unconfirmed + now.unmatched + now.taken_back, 0);

    late.due_ns = tw_runtime_now(self->rt) - 200 * MS;
    assert_int_equal(put(self, late), 0);
    advance(self, 0);
    const struct tw_durable_counts then = stats_of(self);
    assert_int_equal(then.late_count, 2);
    assert_int_equal(then.late_max_ns, now.late_max_ns);
    assert_in_range(then.late_sum_ns - now.late_sum_ns, 199 * MS, 200 * MS);
}

TEST(a_process_that_handles_nothing_is_no_member) {
    join((struct tw_durable_options){0});
    advance(self, MINUTE);
    const struct tw_durable_counts now = stats_of(other);
    assert_int_equal(now.connected, 0);
    assert_int_equal(now.connects, 0);
    assert_int_equal(now.lease_ns, 0);
    assert_int_equal(now.clock_uncertainty_ns, -1);
}

struct text {
    char all[4096];
    size_t size;
};

static void append(const char *text, size_t size, void *arg) {
    struct text *list = arg;
    assert_true(list->size + size < sizeof list->all);
    memcpy(list->all + list->size, text, size);
    list->size += size;
}

static struct text from_inside;

static enum tw_durable_answer dump(UNUSED struct tw_durable_fire *fire, struct process *process) {
    assert_int_equal(tw_durable_dump(process->jobs, append, &from_inside), 0);
    return TW_DURABLE_DONE;
}

TEST(a_dump_has_the_counts_and_the_jobs_of_the_process_and_no_control_characters) {
    begin_with((struct tw_durable_options){.name = "post\n", .schema = "letters"});
    self->inside = dump;
    from_inside.size = 0;
    struct tw_durable_job late = mail("17", tw_runtime_now(self->rt) - 500 * MS);
    late.absolute = 1;
    put_mail(self, "19", 1900 * MS);
    put_mail(self, "18 \x1b[2J", 1200 * MS);
    assert_int_equal(put(self, late), 0);
    advance(self, 100 * MS);
    from_inside.all[from_inside.size] = 0;
    assert_string_equal(from_inside.all,
                        "durable jobs, store \"memory\", schema \"letters\", member \"post?\"\n"
                        "connected; lease: 14.0 s left; its clock is known to 0.000 ms\n"
                        "holds 3, 1 of them started; 0 answers to settle\n"
                        "claimed 3, started 1 (unconfirmed 0), taken back 0\n"
                        "done 0, again 0, retried 0, failed 0, skipped 0, unmatched 0\n"
                        "connected 1 times, errors 0, leases lost 0, jobs of others set free 0\n"
                        "late by 499.900 ms on average, 499.900 ms at most\n"
                        "\n"
                        " ready in ms  stage                      token  kind and key\n"
                        "      -499.9  running                        3  mail  17\n"
                        "      1200.1  waiting                        2  mail  18 ?[2J\n"
                        "      1900.1  waiting                        1  mail  19\n");
}

TEST(a_connection_without_a_runtime_puts_and_asks) {
    struct text text = {.size = 0};
    const struct tw_durable_job job = mail("17", HOUR);
    assert_int_equal(tw_durable_put(self->keeper, &job, TW_DURABLE_REPLACE), 0);
    const struct tw_durable_job daily = {.kind = "mail", .key = "18", .cron = "30 4 * * *"};
    assert_int_equal(tw_durable_put(self->keeper, &daily, TW_DURABLE_REPLACE), 0);
    assert_int_equal(entry_of(self, "18").job.due_ns % (24 * HOUR), 4 * HOUR + 30 * MINUTE);
    assert_int_equal(tw_durable_count(self->keeper, NULL), 2);
    assert_int_equal(tw_durable_dump(self->keeper, append, &text), 0);
    assert_true(text.size > 0);
    assert_true(tw_durable_now(self->keeper) > 0);
    assert_int_equal(tw_durable_cancel(self->keeper, "mail", "17"), 1);
}

TEST(the_time_of_the_database_is_never_ahead) {
    for (unsigned i = 0; i < 100; ++i) {
        advance(self, 777 * MS);
        const int64_t now = tw_runtime_now(self->rt);
        assert_in_range(tw_durable_now(self->jobs), now - 10 * MS, now);
    }
}

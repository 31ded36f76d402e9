/* A database that goes away, loses answers, sets its clock, or declares a member dead. Each test breaks one
 * call at the moment at which a missing check would do harm; simulation.cpp breaks calls at random. */
#include "scripted_store.h"

/* --- rows of other programs -------------------------------------------------------------------- */

static int note_error(const struct tw_durable_entry *entry, void *arg) {
    char *const text = arg;
    const size_t size = strlen(text);
    snprintf(text + size, 256 - size, "%s: %s\n", entry->job.key, entry->error);
    return 0;
}

/* The database in memory accepts any name: this test puts its jobs as another program would. */
TEST(a_job_whose_texts_are_not_utf8_fails_and_stops_no_other) {
    const struct tw_durable_job jobs[] = {
        {.kind = "mail", .key = "\xff", .payload = ""},
        {.kind = "mail", .key = "17", .payload = ""},
        {.kind = "mail", .key = "cron", .payload = "", .cron = "\xff"},
        {.kind = "mail", .key = "zone", .payload = "", .cron = "@daily", .zone = "\xff"},
    };
    void *const another = open_another();
    for (size_t i = 0; i < COUNT_OF(jobs); ++i) {
        struct tw_store_put put = {.job = &jobs[i]};
        assert_int_equal(inner_store()->put(another, &put, 1, 0, NULL), 0);
    }
    inner_store()->close(another);
    advance(self, 2 * HOUR);
    char text[256] = "";
    assert_int_equal(self->count, 1);
    assert_string_equal(self->fires[0].key, "17");
    assert_int_equal(stats_of(self).failed, 3);
    assert_int_equal(tw_durable_list(self->jobs, &(struct tw_durable_filter){.states = TW_DURABLE_FAILED},
                                     note_error, text),
                     0);
    assert_string_equal(text, "cron: its key, cron expression or zone is not UTF-8\n"
                              "zone: its key, cron expression or zone is not UTF-8\n"
                              "?: its key, cron expression or zone is not UTF-8\n");
}

/* --- a member that resumes -------------------------------------------------------------------- */

/* The database holds a job for a member that does not know of it, because the answer was lost. */

TEST(a_job_whose_claim_lost_its_answer_fires_on_time_whatever_fails_next) {
    const struct {
        struct plan resume, settle;
    } cases[] = {
        {.resume = broken(0, 0)},
        {.resume = broken(1, REFUSAL)}, /* the database refuses to resume */
        {.resume = broken(3, REFUSAL)},
        {.resume = unanswered(1, REFUSAL)}, /* the member resumes, and that answer is lost, too */
        {.resume = broken(1, -ENOTCONN)},
        {.settle = broken(1, REFUSAL)}, /* the database refuses to release the job */
        {.settle = unanswered(3, REFUSAL)},
    };
    for (size_t i = 0; i < COUNT_OF(cases); ++i) {
        begin_scripted((struct tw_durable_options){0});
        put_mail(self, "17", 10 * SECOND);
        script.claim = unanswered(1, REFUSAL);
        script.resume = cases[i].resume;
        script.settle = cases[i].settle;
        advance(self, HOUR);
        assert_int_equal(self->count, 1);
        assert_fired(self, 0, 11 * SECOND);
    }
}

TEST(a_job_whose_put_lost_its_answer_fires_on_time) {
    const int errors[] = {-ENOTCONN, -ETIMEDOUT, -ENOMEM, -EIO};
    for (size_t i = 0; i < COUNT_OF(errors); ++i) {
        begin_scripted((struct tw_durable_options){0});
        script.put = unanswered(1, errors[i]);
        assert_int_equal(put(self, mail("17", SECOND)), errors[i]);
        advance(self, MINUTE);
        assert_int_equal(self->count, 1);
        assert_fired(self, 0, 2 * SECOND);
    }
}

TEST(a_put_that_has_claimed_nothing_does_not_have_the_member_resume) {
    const struct {
        struct plan put;
        int64_t delay;
        int error;
    } cases[] = {{broken(1, -EACCES), 0, -EACCES}, {unanswered(1, -EIO), HOUR, -EIO}};
    for (size_t i = 0; i < COUNT_OF(cases); ++i) {
        begin_scripted((struct tw_durable_options){0});
        script.put = cases[i].put;
        assert_int_equal(put(self, mail("17", cases[i].delay)), cases[i].error);
        advance(self, SECOND);
        assert_int_equal(script.resume.calls, 0);
    }
}

static void resume_and_claim_nothing(void) {
    script.claim = broken(each_time, REFUSAL);
    advance(self, SECOND);
}

/* The put claims the job, but before its answer arrives the member resumes and releases the job. Then another
 * process claims the job, and the first process must not fire it, even while it cannot ask the database. */
TEST(what_a_put_has_claimed_in_a_former_epoch_is_not_taken) {
    begin_scripted((struct tw_durable_options){0});
    join(watchful);
    handle(other, "mail");
    advance(self, SECOND);
    script.claim = unanswered(1, REFUSAL); /* makes the member resume in its next step */
    put_mail(self, "doubt", 3 * SECOND);
    advance(self, SECOND + LATE);
    script.put = followed_by(resume_and_claim_nothing);
    put_mail(self, "17", 2 * SECOND);
    assert_string_equal(entry_of(self, "17").holder == NULL ? "nobody" : "a process", "a process");
    assert_int_equal(stats_of(self).held, 0);
    script.outage = -ENOTCONN;
    advance(self, 5 * SECOND);
    assert_int_equal(self->count, 0);
    assert_int_equal(other->count, 2);
}

static void die_and_join_again(void) {
    declare_all_dead();
    assert_int_equal(tw_durable_cancel(self->keeper, "mail", "17"), 1);
    advance(self, 6 * SECOND);
    assert_int_equal(stats_of(self).lost_leases, 1);
}

/* The member of the new membership has the same epoch as the former one, but another number. */
TEST(what_a_put_has_claimed_for_a_former_membership_is_not_taken) {
    begin_scripted((struct tw_durable_options){.horizon_ns = MINUTE});
    script.put = followed_by(die_and_join_again);
    put_mail(self, "17", 30 * SECOND);
    assert_int_equal(stats_of(self).held, 0);
    advance(self, MINUTE);
    assert_int_equal(self->count, 0);
}

static void put_another(void) {
    assert_int_equal(put_elsewhere(self, "18", SECOND), 0);
    advance(self, 50 * MS);
}

TEST(the_room_for_what_a_put_may_claim_is_kept_free_meanwhile) {
    begin_scripted((struct tw_durable_options){.hold = 1, .poll_ns = 20 * MS});
    script.put = followed_by(put_another);
    put_mail(self, "17", SECOND);
    assert_int_equal(stats_of(self).held, 1);
    advance(self, 5 * SECOND);
    assert_int_equal(self->count, 2);
}

/* Only the renewal fails. A claim that fails would make the member resume in any case. */
TEST(after_a_broken_connection_what_is_held_is_what_the_database_says) {
    begin_scripted(
        (struct tw_durable_options){.lease_ns = 3 * SECOND, .horizon_ns = MINUTE, .poll_ns = 30 * SECOND});
    put_mail(self, "17", 10 * SECOND);
    put_mail(self, "18", 10 * SECOND);
    assert_int_equal(stats_of(self).held, 2);
    script.outage = -ENOTCONN;
    advance(self, 1500 * MS);
    assert_int_equal(put_elsewhere(self, "19", 2 * SECOND), 0);
    assert_int_equal(tw_durable_cancel(self->keeper, "mail", "17"), 1);
    script.outage = 0;
    advance(self, 1500 * MS);
    assert_int_equal(stats_of(self).held, 2);
    assert_int_equal(stats_of(self).taken_back, 1);
    assert_true(stats_of(self).lease_ns > 2 * SECOND); /* the member has also renewed its lease at once */
    advance(self, 5 * SECOND);
    script.outage = -ENOTCONN; /* so the process cannot learn now that the job was removed */
    advance(self, 2 * SECOND + LATE);
    assert_int_equal(self->count, 2);
    assert_string_equal(self->fires[0].key, "19");
    assert_string_equal(self->fires[1].key, "18");
    script.outage = 0;
}

/* Starts fail, so ready jobs wait until the member resumes or is declared dead. */
TEST(a_ready_job_that_the_member_no_longer_holds_is_forgotten) {
    for (unsigned dies = 0; dies < 2; ++dies) {
        begin_scripted(watchful);
        script.start = broken(each_time, -ENOMEM);
        put_mail(self, "17", SECOND);
        put_mail(self, "18", SECOND);
        advance(self, SECOND + LATE);
        assert_int_equal(stats_of(self).held, 2);
        assert_int_equal(tw_durable_cancel(self->keeper, "mail", "17"), 1);
        if (dies)
            declare_all_dead();
        script.renew = unanswered(1, -ENOTCONN); /* makes the member connect again, and resume */
        advance(self, 1500 * MS);
        assert_int_equal(stats_of(self).taken_back, 1 + dies);
        script.start.times = 0;
        advance(self, 5 * SECOND);
        assert_int_equal(self->count, 1);
        assert_string_equal(self->fires[0].key, "18");
        assert_int_equal(stats_of(self).held, 0);
    }
}

/* A store that has lost its last changes: it gives the job "18" the token of the job before. */
static int64_t shown(const char *key, int64_t token) { return strcmp(key, "18") == 0 ? token - 1 : token; }
static int64_t meant(const char *key, int64_t token) { return token + (token - shown(key, token)); }

struct forgetful_walk {
    tw_store_taker *take;
    tw_store_visitor *each;
    void *arg;
};

static int visit_forgetful(const struct tw_durable_entry *entry, void *arg) {
    const struct forgetful_walk *walk = arg;
    struct tw_durable_entry given = *entry;
    given.token = shown(entry->job.key, entry->token);
    return walk->each(&given, walk->arg);
}

static int take_forgetful(const struct tw_durable_entry *entry, int64_t row, void *arg) {
    const struct forgetful_walk *walk = arg;
    struct tw_durable_entry given = *entry;
    given.token = shown(entry->job.key, entry->token);
    return walk->take(&given, row, walk->arg);
}

static int forgetful_claim(void *of, const struct tw_store_claim *claim, tw_store_taker *take, void *arg,
                           struct tw_store_look *look) {
    struct forgetful_walk walk = {take, NULL, arg};
    return inner_store()->claim(of, claim, take_forgetful, &walk, look);
}

static int forgetful_resume(void *of, struct tw_store_member *member, UNUSED const int64_t *running,
                            UNUSED size_t count, tw_store_visitor *each, void *arg) {
    struct forgetful_walk walk = {NULL, each, arg};
    return inner_store()->resume(of, member, NULL, 0, visit_forgetful, &walk);
}

static int forgetful_start(void *of, const struct tw_store_member *member, struct tw_store_start *starts,
                           size_t count, int64_t *now_ns) {
    for (size_t i = 0; i < count; ++i)
        starts[i].token = meant(starts[i].key, starts[i].token);
    return inner_store()->start(of, member, starts, count, now_ns);
}

static int forgetful_settle(void *of, const struct tw_store_member *member, struct tw_store_outcome *outcomes,
                            size_t count) {
    for (size_t i = 0; i < count; ++i)
        outcomes[i].token = meant(outcomes[i].key, outcomes[i].token);
    return inner_store()->settle(of, member, outcomes, count);
}

TEST(a_token_that_comes_twice_is_an_error_and_both_jobs_fire) {
    static struct tw_store store;
    store = *inner_store();
    store.claim = forgetful_claim;
    store.resume = forgetful_resume;
    store.start = forgetful_start;
    store.settle = forgetful_settle;
    begin_with((struct tw_durable_options){.store = &store, .horizon_ns = MINUTE, .poll_ns = 20 * MS});
    put_mail(self, "17", 20 * SECOND);
    assert_int_equal(put_elsewhere(self, "18", 10 * SECOND), 0);
    advance(self, 500 * MS);
    assert_int_equal(stats_of(self).errors, 1);
    assert_int_equal(stats_of(self).held, 2); /* the member has released the job, and claimed it again */
    advance(self, MINUTE);
    assert_int_equal(self->count, 2);
    assert_fired(self, 0, 11 * SECOND);
    assert_fired(self, 1, 21 * SECOND);
    assert_int_equal(stats_of(self).unmatched, 0);
}

static void replace_and_claim(void) {
    assert_int_equal(put_elsewhere(self, "17", SECOND), 0);
    advance(self, 30 * MS);
    assert_int_equal(stats_of(self).held, 1);
}

/* Another process replaces the job, and `self` claims the new one, before the answer to the first put
 * arrives. */
TEST(a_job_that_was_replaced_before_its_put_has_returned_fires_as_the_new_one) {
    begin_scripted(watchful);
    script.put = followed_by(replace_and_claim);
    put_mail(self, "17", 2 * SECOND);
    advance(self, 10 * SECOND);
    assert_int_equal(self->count, 1);
    assert_fired(self, 0, 2 * SECOND);
}

/* --- clocks that are set ---------------------------------------------------------------------- */

/* The put claims and starts the job, which is ready by the database's clock. The process's estimate of that
 * clock is still behind, so the process must not conclude that the due time is still to come. */
TEST(a_job_that_the_database_has_started_fires_whatever_self_knows_of_the_clock) {
    begin_scripted((struct tw_durable_options){0});
    script.clock_ahead_ns = 2 * SECOND;
    struct tw_durable_job job = mail("17", tw_runtime_now(self->rt) + SECOND);
    job.absolute = 1;
    assert_int_equal(put(self, job), 0);
    advance(self, 0);
    assert_int_equal(self->count, 1);
    assert_int_equal(self->fires[0].due_ns, job.due_ns);
    assert_int_equal(stats_of(self).skipped, 0);
}

/* The clock is set back, so the job is not ready any more. The database does not answer the question about
 * the job, so the process must check the time itself before it starts the job without the database. */
TEST(a_ready_job_waits_if_the_clock_was_set_back_meanwhile) {
    begin_scripted(watchful);
    script.start = broken(each_time, -ENOMEM);
    put_mail(self, "17", SECOND);
    advance(self, SECOND + LATE);
    script.clock_ahead_ns = -MINUTE;
    advance(self, 30 * MS); /* until the next poll, which reads the clock */
    script.start = broken(each_time, -ENOTCONN);
    advance(self, 30 * SECOND);
    assert_int_equal(self->count, 0);
    advance(self, 30 * SECOND);
    assert_int_equal(self->count, 1);
    assert_int_equal(stats_of(self).unconfirmed, 1);
    assert_in_range(self->fires[0].at_ns, 2 * SECOND + MINUTE, 2 * SECOND + MINUTE + 2 * LATE);
}

/* A process notices that the clock was set when it polls, or else when it asks whether the job may start. */
TEST(a_held_job_waits_by_the_clock_that_was_set) {
    const struct {
        int64_t ahead, poll;
    } cases[] = {{-MINUTE, 20 * MS},
                 {-SECOND, 20 * MS},
                 {10 * SECOND, 20 * MS},
                 {HOUR, 20 * MS},
                 {-2020 * MS, 30 * SECOND}};
    for (size_t i = 0; i < COUNT_OF(cases); ++i) {
        begin_scripted((struct tw_durable_options){
            .lease_ns = 2 * MINUTE, .horizon_ns = MINUTE, .poll_ns = cases[i].poll});
        const int64_t now = tw_runtime_now(self->rt), due = now + 20 * SECOND - cases[i].ahead;
        put_mail(self, "17", 20 * SECOND);
        script.clock_ahead_ns = cases[i].ahead;
        advance(self, 2 * MINUTE);
        assert_int_equal(self->count, 1);
        const int64_t expected = due > now ? due : now;
        assert_in_range(self->fires[0].at_ns, expected,
                        expected + 20 * MS + LATE); /* a poll reads the clock */
    }
}

TEST(all_held_jobs_wait_by_the_clock_that_the_first_one_has_found_set) {
    begin_scripted(
        (struct tw_durable_options){.lease_ns = 2 * MINUTE, .horizon_ns = MINUTE, .poll_ns = 30 * SECOND});
    put_mail(self, "17", 3 * SECOND);
    put_mail(self, "18", 10 * SECOND);
    script.clock_ahead_ns = 5 * SECOND;
    advance(self, MINUTE);
    assert_int_equal(self->count, 2);
    assert_in_range(self->fires[1].at_ns, 6 * SECOND, 6 * SECOND + LATE);
}

/* The clock was set forward, past the end of the lease. The member must renew it before any job fires. */
TEST(a_job_that_the_database_refuses_to_start_waits_for_the_lease) {
    begin_scripted((struct tw_durable_options){0});
    put_mail(self, "17", SECOND);
    script.clock_ahead_ns = 20 * SECOND;
    advance(self, SECOND + 500 * MS);
    assert_int_equal(self->count, 0);
    assert_int_equal(stats_of(self).held, 1);
    advance(self, 5 * SECOND);
    assert_int_equal(self->count, 1);
    assert_int_equal(stats_of(self).unconfirmed, 0);
}

/* A held job waits by the database's clock, which the process does not know before the first answer. */
TEST(a_put_holds_nothing_until_the_clock_is_known) {
    begin_scripted((struct tw_durable_options){0});
    go_away(self, 0);
    script.clock_ahead_ns = HOUR;
    script.renew = broken(1, REFUSAL);
    connect_with(self, (struct tw_durable_options){.store = scripted_store()});
    handle(self, "mail");
    advance(self, 0);
    struct tw_durable_job job = mail("17", HOUR + 3 * SECOND);
    job.absolute = 1;
    assert_int_equal(put(self, job), 0);
    advance(self, 10 * SECOND);
    assert_int_equal(self->count, 1);
    assert_in_range(self->fires[0].at_ns, 3 * SECOND, 3 * SECOND + LATE);
}

/* --- a database that is away ------------------------------------------------------------------- */

static struct {
    unsigned count;
    enum tw_durable_event events[16];
    char why[256];
} told;

static void note_event(enum tw_durable_event event, const char *why, UNUSED void *arg) {
    assert_int_equal(strlen(why) > 0, event != TW_DURABLE_CONNECTED);
    told.events[told.count++ % COUNT_OF(told.events)] = event;
    snprintf(told.why, sizeof told.why, "%s", why);
}

static void assert_told(unsigned count, enum tw_durable_event last) {
    assert_int_equal(told.count, count);
    assert_int_equal(told.events[count - 1], last);
}

static void begin_told(struct tw_durable_options options) {
    options.on_event = note_event;
    told.count = 0;
    begin_scripted(options);
    assert_told(1, TW_DURABLE_CONNECTED);
}

TEST(events_tell_of_a_connection_that_breaks_and_of_a_lease_that_ends_once_each) {
    for (unsigned is_dead = 0; is_dead < 2; ++is_dead) {
        begin_told(watchful);
        for (unsigned round = 0; round < 2; ++round) {
            script.outage = -ENOTCONN;
            advance(self, SECOND);
            assert_told(3 * round + 2, TW_DURABLE_DISCONNECTED);
            assert_int_equal(stats_of(self).connected, 0);
            assert_int_equal(stats_of(self).lost_leases, round);
            assert_true(stats_of(self).lease_ns > 0);
            advance(self, 4 * MINUTE); /* the lease of an idle process is long */
            assert_told(3 * round + 3, TW_DURABLE_LEASE_LOST);
            assert_int_equal(stats_of(self).lost_leases, round + 1);
            assert_int_equal(stats_of(self).lease_ns, 0);
            if (is_dead)
                declare_all_dead();
            script.outage = 0;
            advance(self, 3 * SECOND);
            assert_told(3 * round + 4, TW_DURABLE_CONNECTED);
            assert_int_equal(stats_of(self).connected, 1);
            assert_int_equal(stats_of(self).connects, round + 2);
            assert_int_equal(stats_of(self).lost_leases, round + 1);
            assert_true(stats_of(self).lease_ns > SECOND);
        }
    }
}

static void append_to(const char *text, size_t size, void *arg) { strncat(arg, text, size); }

static bool dump_has(struct process *process, const char *words) {
    static char text[10000];
    text[0] = 0;
    assert_int_equal(tw_durable_dump(process->jobs, append_to, text), 0);
    return strstr(text, words) != NULL;
}

/* The database can be reached, but refuses one call: others have locked it, or taken a right away. */
TEST(an_event_the_statistics_and_a_dump_tell_what_the_database_refuses_and_when_it_no_longer_does) {
    struct plan *const calls[] = {&script.claim, &script.renew, &script.resume,
                                  &script.bury,  &script.start, &script.settle};
    for (size_t i = 0; i < COUNT_OF(calls); ++i) {
        begin_told(watchful);
        assert_int_equal(stats_of(self).error, 0);
        assert_string_equal(stats_of(self).why, "");
        script.resume = broken(0, 0);
        if (calls[i] == &script.resume) {
            script.put = unanswered(1, -EIO); /* makes the member resume */
            assert_int_equal(put(self, mail("17", SECOND)), -EIO);
        }
        *calls[i] = broken(each_time, REFUSAL);
        if (calls[i] == &script.bury)
            other =
                begin_another((struct tw_durable_options){.lease_ns = SECOND}); /* its time stands still */
        put_mail(self, "17", SECOND);
        assert_int_equal(put_elsewhere(self, "18", SECOND), 0); /* has the member claim */
        advance(self, 2 * SECOND);
        assert_told(2, TW_DURABLE_REFUSED);
        assert_int_equal(stats_of(self).connected, 1);
        assert_int_equal(stats_of(self).error, REFUSAL);
        assert_string_equal(stats_of(self).why, told.why);
        assert_true(dump_has(self, "connected, but the database refuses"));
        assert_true(dump_has(self, told.why));
        *calls[i] = broken(each_time, -EACCES);
        advance(self, 3 * SECOND);
        if (calls[i] != &script.renew) { /* without renewals the lease ends, which is reported, too */
            assert_told(3, TW_DURABLE_REFUSED);
            assert_int_equal(stats_of(self).error, -EACCES);
        }
        const unsigned before = told.count;
        calls[i]->times = 0;
        advance(self, 3 * SECOND);
        assert_told(before + 1, TW_DURABLE_CONNECTED);
        assert_int_equal(stats_of(self).error, 0);
        assert_true(strlen(stats_of(self).why) > 0);
        assert_true(dump_has(self, "the last error was"));
        assert_int_equal(self->count, 2);
    }
}

TEST(a_process_that_the_database_never_lets_join_is_told_why) {
    begin_scripted((struct tw_durable_options){0});
    go_away(self, 0);
    script.join = broken(each_time, -EACCES);
    told.count = 0;
    connect_with(self, (struct tw_durable_options){.store = scripted_store(), .on_event = note_event});
    handle(self, "mail");
    advance(self, MINUTE);
    assert_told(1, TW_DURABLE_REFUSED);
    assert_int_equal(stats_of(self).connected, 0);
    assert_int_equal(stats_of(self).error, -EACCES);
    script.join.times = 0;
    advance(self, 3 * SECOND);
    assert_told(2, TW_DURABLE_CONNECTED);
}

/* The membership's connection works, but the dispatcher's does not. */
TEST(a_process_that_goes_on_alone_tells_that_the_connection_is_lost) {
    begin_told((struct tw_durable_options){.poll_ns = 30 * SECOND});
    put_mail(self, "17", SECOND);
    script.start = broken(each_time, -ENOTCONN);
    script.settle = broken(each_time, -ENOTCONN);
    advance(self, 2 * SECOND);
    assert_int_equal(stats_of(self).unconfirmed, 1);
    assert_told(2, TW_DURABLE_DISCONNECTED);
    script.settle.times = 0;
    advance(self, SECOND);
    assert_told(3, TW_DURABLE_CONNECTED);
}

/* As after a restart of the server, when the dispatcher uses its old connection after the membership has
 * reconnected. */
TEST(one_broken_connection_of_the_dispatcher_is_no_event) {
    begin_told((struct tw_durable_options){0});
    script.start = script.settle = broken(1, -ENOTCONN);
    put_mail(self, "17", SECOND);
    advance(self, 2 * SECOND);
    assert_int_equal(self->count, 1);
    assert_int_equal(stats_of(self).unsettled, 0);
    assert_int_equal(stats_of(self).error, 0);
    assert_told(1, TW_DURABLE_CONNECTED);
}

/* The membership renews the lease at once on a new connection, which may lead to another server. */
TEST(errors_after_which_a_connection_is_of_no_use_close_it) {
    const struct {
        int error;
        bool closes;
    } cases[] = {{-ENOTCONN, true}, {-ETIMEDOUT, true}, {-EROFS, true},   {-EBUSY, false},
                 {-EIO, false},     {-EACCES, false},   {-ENOSPC, false}, {-ENOMEM, false}};
    for (size_t i = 0; i < COUNT_OF(cases); ++i) {
        begin_told((struct tw_durable_options){.poll_ns = 20 * MS});
        const uint64_t errors = stats_of(self).errors;
        advance(self, 3 * SECOND);
        script.claim = broken(1, cases[i].error);
        advance(self, 500 * MS);
        assert_int_equal(stats_of(self).lease_ns > 14 * SECOND, cases[i].closes);
        assert_told(3, TW_DURABLE_CONNECTED);
        const bool is_loss = cases[i].error == -ENOTCONN || cases[i].error == -ETIMEDOUT;
        assert_int_equal(told.events[1], is_loss ? TW_DURABLE_DISCONNECTED : TW_DURABLE_REFUSED);
        assert_int_equal(stats_of(self).connected, 1);
        assert_int_equal(stats_of(self).errors, errors + 1);
    }
}

/* Users' calls, jobs that wait for their start, and answers do not make the process try more often. */
TEST(a_process_tries_to_connect_in_growing_pauses_of_up_to_2_seconds) {
    for (int confirmed_only = 0; confirmed_only < 2; ++confirmed_only) {
        begin_scripted((struct tw_durable_options){.poll_ns = 20 * MS, .confirmed_only = confirmed_only});
        for (unsigned round = 0; round < 2; ++round) {
            put_mail(self, "17", 100 * MS);
            script.outage = -ENOTCONN;
            advance(self, 20 * MS);
            const unsigned before = script.open.calls, puts = 20;
            for (unsigned i = 0; i < puts; ++i) { /* the first one finds the connection open */
                assert_int_equal(put(self, mail("18", 0)), -ENOTCONN);
                advance(self, MS);
            }
            advance(self, 3200 * MS); /* after 50 ms, 100, 200, 400, 800 and 1600 */
            assert_in_range(script.open.calls - before, puts + 5, puts + 6);
            advance(self, 20 * SECOND);
            assert_in_range(script.open.calls - before, puts + 14, puts + 16);
            assert_int_equal(self->count, confirmed_only ? round : round + 1);
            script.outage = 0;
            advance(self, 3 * SECOND);
            assert_int_equal(stats_of(self).connected, 1);
            assert_int_equal(self->count, round + 1);
            assert_int_equal(tw_durable_count(self->jobs, NULL), 0);
        }
    }
}

/* A job may fire without an answer to its start only after these errors. The database itself may be up. */
TEST(a_job_whose_start_fails_fires_alone_only_if_the_connection_is_lost) {
    const struct {
        int error;
        bool fires;
    } cases[] = {{-ENOTCONN, true}, {-ETIMEDOUT, true}, {-EBUSY, false},  {-EACCES, false}, {-EROFS, false},
                 {-EIO, false},     {-ENOSPC, false},   {-EPROTO, false}, {-ESTALE, false}, {-ENOMEM, false}};
    for (size_t i = 0; i < COUNT_OF(cases); ++i) {
        begin_scripted((struct tw_durable_options){0});
        put_mail(self, "17", SECOND);
        const struct tw_durable_counts before = stats_of(self);
        script.start = broken(2, cases[i].error);
        advance(self, SECOND + 20 * MS);
        assert_int_equal(self->count, cases[i].fires);
        assert_int_equal(stats_of(self).unconfirmed - before.unconfirmed, cases[i].fires);
        advance(self, SECOND);
        assert_int_equal(self->count, 1);
        assert_int_equal(stats_of(self).errors - before.errors, 2);
    }
}

/* One connection may break while the database is up, for example because the server has closed it. */
TEST(a_start_whose_connection_breaks_is_asked_for_on_a_new_one) {
    begin_scripted((struct tw_durable_options){0});
    put_mail(self, "17", SECOND);
    put_mail(self, "18", SECOND);
    assert_int_equal(tw_durable_cancel(self->keeper, "mail", "17"), 1);
    script.start = broken(1, -ENOTCONN);
    advance(self, SECOND + LATE);
    assert_int_equal(self->count, 1);
    assert_string_equal(self->fires[0].key, "18");
    assert_int_equal(stats_of(self).unconfirmed, 0);
}

/* The errors of other transactions' locks, missing rights, and others. */
TEST(a_job_that_was_removed_does_not_fire_while_the_database_refuses_starts) {
    const int errors[] = {-EBUSY, -EACCES, -EIO};
    for (size_t i = 0; i < COUNT_OF(errors); ++i) {
        begin_scripted((struct tw_durable_options){0});
        put_mail(self, "17", SECOND);
        put_mail(self, "18", SECOND);
        assert_int_equal(tw_durable_cancel(self->keeper, "mail", "17"), 1);
        script.start = broken(each_time, errors[i]);
        advance(self, MINUTE);
        assert_int_equal(self->count, 0);
        assert_in_range(script.start.calls, 20, 60); /* with growing pauses */
        script.start.times = 0;
        advance(self, 2 * SECOND + LATE);
        assert_int_equal(self->count, 1);
        assert_string_equal(self->fires[0].key, "18");
        assert_int_equal(stats_of(self).unconfirmed, 0);
    }
}

TEST(a_job_that_is_locked_as_it_becomes_due_fires_when_the_lock_is_gone_and_delays_no_other) {
    begin_scripted((struct tw_durable_options){0});
    put_mail(self, "locked", SECOND);
    put_mail(self, "other", SECOND);
    script.locked = "locked";
    advance(self, SECOND + LATE);
    assert_int_equal(self->count, 1);
    assert_string_equal(self->fires[0].key, "other");
    advance(self, MINUTE);
    assert_int_equal(self->count, 1);
    assert_in_range(script.start.calls, MINUTE / (250 * MS), MINUTE / (150 * MS));
    assert_int_equal(stats_of(self).error, -EBUSY);
    assert_non_null(strstr(stats_of(self).why, "locked"));
    script.locked = NULL;
    advance(self, 2 * SECOND + LATE);
    assert_int_equal(self->count, 2);
    assert_int_equal(stats_of(self).unconfirmed, 0);
    assert_int_equal(stats_of(self).error, 0);
}

TEST(an_answer_to_a_locked_job_is_settled_when_the_lock_is_gone_and_delays_no_other) {
    begin_scripted((struct tw_durable_options){0});
    script.locked = "locked";
    put_mail(self, "locked", 0); /* the put claims and starts the job */
    put_mail(self, "other", 0);
    advance(self, SECOND);
    assert_int_equal(self->count, 2);
    assert_int_equal(tw_durable_count(self->jobs, NULL), 1);
    assert_int_equal(stats_of(self).unsettled, 1);
    assert_int_equal(stats_of(self).unmatched, 0);
    advance(self, MINUTE);
    assert_in_range(script.settle.calls, MINUTE / (250 * MS), MINUTE / (150 * MS));
    script.locked = NULL;
    advance(self, 2 * SECOND + LATE);
    assert_int_equal(tw_durable_count(self->jobs, NULL), 0);
    assert_int_equal(stats_of(self).unsettled, 0);
    assert_int_equal(self->count, 2);
}

/* The connection was lost, and the database then refuses to open another, or to let the member resume. */
TEST(a_job_that_was_removed_does_not_fire_while_the_database_refuses_to_take_the_process_back) {
    const struct {
        struct plan open, resume;
    } cases[] = {{.open = broken(each_time, -EACCES)}, {.resume = broken(each_time, REFUSAL)}};
    for (size_t i = 0; i < COUNT_OF(cases); ++i) {
        begin_scripted((struct tw_durable_options){.poll_ns = 20 * MS, .horizon_ns = MINUTE});
        put_mail(self, "17", 8 * SECOND);
        assert_int_equal(tw_durable_cancel(self->keeper, "mail", "17"), 1);
        script.outage = -ENOTCONN;
        advance(self, SECOND);
        script.outage = 0;
        script.open = cases[i].open;
        script.resume = cases[i].resume;
        advance(self, 9 * SECOND);
        assert_int_equal(self->count, 0);
    }
}

TEST(held_jobs_fire_unconfirmed_while_the_database_is_away_and_the_lease_lasts) {
    begin_scripted((struct tw_durable_options){.lease_ns = 6 * SECOND, .horizon_ns = MINUTE});
    put_mail(self, "in time", 3 * SECOND);
    put_mail(self, "too late", 10 * SECOND);
    script.outage = -ENOTCONN;
    advance(self, 40 * SECOND);
    assert_int_equal(self->count, 1);
    assert_fired(self, 0, 4 * SECOND);
    assert_int_equal(stats_of(self).unconfirmed, 1);
    assert_int_equal(stats_of(self).unsettled, 1);
    script.outage = 0;
    assert_int_equal(entry_of(self, "in time").state, TW_DURABLE_HELD);
    advance(self, 3 * SECOND);
    assert_int_equal(self->count, 2);
    assert_string_equal(self->fires[1].key, "too late");
    assert_int_equal(stats_of(self).unconfirmed, 1);
    assert_int_equal(stats_of(self).unsettled, 0);
    assert_int_equal(stats_of(self).unmatched, 0);
    assert_int_equal(tw_durable_count(self->jobs, NULL), 0);
}

static struct tw_durable_fire *answered_later;

static enum tw_durable_answer answer_later(struct tw_durable_fire *fire, UNUSED struct process *process) {
    answered_later = fire;
    return TW_DURABLE_LATER;
}

TEST(an_unconfirmed_fire_without_an_answer_counts_as_started_when_the_database_is_back) {
    begin_scripted((struct tw_durable_options){.horizon_ns = MINUTE});
    self->inside = answer_later;
    put_mail(self, "17", 3 * SECOND);
    script.outage = -ENOTCONN;
    advance(self, 8 * SECOND);
    assert_int_equal(stats_of(self).unconfirmed, 1);
    script.outage = 0;
    advance(self, 3 * SECOND);
    assert_int_equal(entry_of(self, "17").state, TW_DURABLE_STARTED);
    assert_int_equal(tw_durable_cancel(self->jobs, "mail", "17"), 0);
    assert_int_equal(tw_durable_answer_later(self->jobs, answered_later, TW_DURABLE_DONE), 0);
    advance(self, MINUTE);
    assert_int_equal(self->count, 1);
}

TEST(an_answer_after_a_lost_lease_counts_for_nothing) {
    begin_scripted((struct tw_durable_options){0});
    self->inside = answer_later;
    put_mail(self, "17", 0);
    advance(self, SECOND);
    struct tw_durable_fire *const first = answered_later;
    script.outage = -ENOTCONN;
    advance(self, 20 * SECOND);
    assert_int_equal(tw_durable_lease(first), 0);
    other = begin_another((struct tw_durable_options){0}); /* buries the member, and fires */
    advance(other, MINUTE);
    assert_int_equal(other->count, 1);
    script.outage = 0;
    advance(self, 10 * SECOND);
    assert_int_equal(tw_durable_answer_later(self->jobs, first, TW_DURABLE_DONE), 0);
    assert_int_equal(stats_of(self).unmatched, 1);
    assert_int_equal(stats_of(self).running, 0);
}

TEST(with_confirmed_only_nothing_fires_while_the_database_is_away) {
    begin_scripted((struct tw_durable_options){.confirmed_only = 1});
    put_mail(self, "17", SECOND);
    script.outage = -ENOTCONN;
    advance(self, 5 * SECOND);
    assert_int_equal(self->count, 0);
    script.outage = 0;
    advance(self, 3 * SECOND);
    assert_int_equal(self->count, 1);
    assert_int_equal(stats_of(self).unconfirmed, 0);
}

TEST(answers_that_wait_are_settled_by_the_close_however_many) {
    enum { COUNT = 600 };
    begin_scripted((struct tw_durable_options){0});
    script.settle = broken(each_time, REFUSAL);
    put_many(self->jobs, COUNT, mail(NULL, 0));
    advance(self, 10 * SECOND);
    assert_int_equal(stats_of(self).unsettled, COUNT);
    script.settle.times = 0;
    go_away(self, 0);
    assert_int_equal(tw_durable_count(self->keeper, NULL), 0);
}

TEST(a_close_while_the_database_is_away_does_not_look_for_it) {
    begin_scripted(watchful);
    script.outage = -ENOTCONN;
    advance(self, 10 * SECOND);
    const unsigned before = script.open.calls;
    go_away(self, 0);
    assert_int_equal(script.open.calls, before);
}

TEST(a_connection_that_cannot_be_opened_says_why) {
    struct tw_durable *jobs = NULL;
    begin_scripted((struct tw_durable_options){0});
    end(&self); /* otherwise the script would give `self` the clock of the refused connection */
    script.open = broken(1, -EACCES);
    assert_int_equal(
        tw_durable_open(&jobs, NULL, database, &(struct tw_durable_options){.store = scripted_store()}),
        -EACCES);
    assert_null(jobs);
    assert_string_equal(tw_durable_explain(-EACCES), "the script");
}

/* 510 bytes, and then a letter of two bytes. The library has room for only one of the two. */
static const char *explain_at_length(UNUSED void *of) {
    static char why[600];
    memset(why, 'x', sizeof why - 1);
    memcpy(why + 510, "\xc3\xa9", 2);
    return why;
}

TEST(a_long_explanation_is_cut_between_letters) {
    static struct tw_store store;
    begin_scripted((struct tw_durable_options){0});
    store = *scripted_store();
    store.explain = explain_at_length;
    begin_with((struct tw_durable_options){.store = &store});
    script.put = broken(1, -EACCES);
    assert_int_equal(put(self, mail("17", 0)), -EACCES);
    assert_int_equal(strlen(tw_durable_explain(-EACCES)), 510);
}

/* Without another connection the process would poll, as with a database that sends no notifications. */
TEST(a_connection_that_breaks_as_the_process_begins_to_listen_is_made_again) {
    begin_scripted((struct tw_durable_options){.lease_ns = 3 * SECOND}); /* renewed each second */
    script.outage = -ENOTCONN;
    advance(self, 5 * SECOND);
    assert_int_equal(stats_of(self).connected, 0);
    script.outage = 0;
    script.listen = broken(1, -ENOTCONN);
    advance(self, 5 * SECOND);
    assert_int_equal(stats_of(self).connected, 1);
    script.claim = broken(0, 0);
    advance(self, 5 * SECOND);
    assert_in_range(script.claim.calls, 0, 2);
}

TEST(the_default_timeout_is_not_longer_than_the_lease) {
    begin_scripted((struct tw_durable_options){.lease_ns = 2 * SECOND});
    assert_int_equal(script.longest_timeout_ns, 2 * SECOND);
    begin_scripted((struct tw_durable_options){0});
    assert_int_equal(script.longest_timeout_ns, 5 * SECOND);
}

TEST(an_answer_to_a_start_is_waited_for_no_longer_than_a_second) {
    const struct {
        int64_t given, shortest;
    } cases[] = {{0, SECOND}, {30 * SECOND, SECOND}, {200 * MS, 200 * MS}};
    for (size_t i = 0; i < COUNT_OF(cases); ++i) {
        begin_scripted((struct tw_durable_options){.timeout_ns = cases[i].given, .lease_ns = 100 * SECOND});
        assert_int_equal(script.shortest_timeout_ns, cases[i].given != 0 ? cases[i].given : 5 * SECOND);
        put_mail(self, "17", SECOND);
        advance(self, 2 * SECOND);
        assert_int_equal(script.shortest_timeout_ns, cases[i].shortest);
    }
}

/* The process cannot know how long the database took to renew the lease, so for the process the lease ends
 * earlier. */
TEST(nothing_fires_in_the_last_thousandth_of_a_lease) {
    begin_scripted((struct tw_durable_options){.lease_ns = HOUR});
    script.renew = broken(each_time, REFUSAL);
    advance(self, HOUR - 6 * SECOND);
    put_mail(self, "in time", 0);
    advance(self, 0);
    assert_int_equal(self->count, 1);
    advance(self, 3 * SECOND);
    put_mail(self, "17", 0);
    assert_int_equal(entry_of(self, "17").state, TW_DURABLE_STARTED);
    advance(self, 0);
    assert_int_equal(self->count, 1);
    assert_int_equal(stats_of(self).taken_back, 1);
    assert_int_equal(entry_of(self, "17").state, TW_DURABLE_PENDING);
    script.renew.times = 0;
    advance(self, MINUTE);
    assert_int_equal(self->count, 2);
    assert_int_equal(self->fires[1].attempt, 1);
}

/* A database that goes away, loses answers, sets its clock, or declares a member dead. Each test breaks one
 * call, at the one moment at which a missing check would do harm; simulation.cpp breaks all of them at
 * random. */
#include "scripted_store.h"

/* Fails its call and leaves the connection as it is. */
#define REFUSAL (-EBUSY)

/* Options with which a process notices soon what happens to the database. */
static const struct tw_durable_options watchful = {.lease_ns = 3 * SECOND, .poll_ns = 20 * MS};

static int64_t an_hour_later(void *rt) { return tw_runtime_now(rt) + HOUR; }

/* Does what another process does when all leases have ended. */
static void declare_all_dead(struct process *self) {
    char why[64];
    void *connection = NULL;
    const struct tw_store_place place = {.address = "memory:test",
                                         .schema = "tickwheel",
                                         .local_now = an_hour_later,
                                         .local_now_arg = self->rt};
    assert_int_equal(inner_store()->open(&connection, &place, why, sizeof why), 0);
    assert_true(inner_store()->bury(connection, 1000) >= 0);
    inner_store()->close(connection);
}

/* --- a member that resumes -------------------------------------------------------------------- */

/* The database holds a job for a member that does not know of it, because the answer was lost. */

TEST(a_job_whose_claim_lost_its_answer_fires_on_time_whatever_fails_next) {
    const struct {
        struct plan resume, settle;
    } cases[] = {
        {{0}, {0}},
        {{1, REFUSAL, 0, NULL}, {0}}, /* the database refuses to resume */
        {{3, REFUSAL, 0, NULL}, {0}},
        {{1, 0, REFUSAL, NULL}, {0}}, /* it has resumed, and that answer is lost, too */
        {{1, -ENOTCONN, 0, NULL}, {0}},
        {{0}, {1, REFUSAL, 0, NULL}}, /* it refuses to take back the job */
        {{0}, {3, 0, REFUSAL, NULL}},
    };
    for (size_t i = 0; i < COUNT_OF(cases); ++i) {
        struct process *self = begin_scripted((struct tw_durable_options){0});
        put_mail(self, "17", 10 * SECOND);
        script.claim = (struct plan){1, 0, REFUSAL, NULL};
        script.resume = cases[i].resume;
        script.settle = cases[i].settle;
        advance(self, HOUR);
        assert_int_equal(self->count, 1);
        assert_fired(self, 0, 11 * SECOND);
        end(self);
    }
}

TEST(a_job_whose_put_lost_its_answer_fires_on_time) {
    const int errors[] = {-ENOTCONN, -ETIMEDOUT, -ENOMEM, -EIO};
    for (size_t i = 0; i < COUNT_OF(errors); ++i) {
        struct process *self = begin_scripted((struct tw_durable_options){0});
        script.put = (struct plan){1, 0, errors[i], NULL};
        assert_int_equal(put(self, mail("17", SECOND)), errors[i]);
        advance(self, MINUTE);
        assert_int_equal(self->count, 1);
        assert_fired(self, 0, 2 * SECOND);
        end(self);
    }
}

static struct process *the_process;

static void resume_and_claim_nothing(void) {
    script.claim = (struct plan){each_time, REFUSAL, 0, NULL};
    advance(the_process, SECOND);
}

/* The put claims the job, but before its answer arrives the member resumes and gives the job back. Another
 * process claims it then, and the first one must not fire it, even while it cannot ask. */
TEST(what_a_put_has_claimed_in_a_former_epoch_is_not_taken) {
    struct process *self = begin_scripted((struct tw_durable_options){0}), *other = join(self, watchful);
    handle(other, "mail");
    advance(self, SECOND);
    script.claim = (struct plan){1, 0, REFUSAL, NULL}; /* has the member resume in its next step */
    put_mail(self, "doubt", 3 * SECOND);
    advance(self, SECOND + LATE);
    the_process = self;
    script.put = (struct plan){1, 0, 0, resume_and_claim_nothing};
    put_mail(self, "17", 2 * SECOND);
    assert_string_equal(entry_of(self, "17").holder == NULL ? "nobody" : "a process", "a process");
    assert_int_equal(stats_of(self).held, 0);
    script.outage = REFUSAL;
    advance(self, 5 * SECOND);
    assert_int_equal(self->count, 0);
    assert_int_equal(other->count, 2);
    part(other);
    end(self);
}

TEST(a_job_that_was_removed_while_the_connection_was_broken_is_forgotten) {
    struct process *self =
        begin_scripted((struct tw_durable_options){.horizon_ns = MINUTE, .poll_ns = 20 * MS});
    put_mail(self, "17", 10 * SECOND);
    put_mail(self, "18", 10 * SECOND);
    assert_int_equal(stats_of(self).held, 2);
    script.outage = -ENOTCONN;
    advance(self, SECOND);
    assert_int_equal(tw_durable_remove(self->keeper, "mail", "17"), 1);
    script.outage = 0;
    advance(self, 3 * SECOND);
    assert_int_equal(stats_of(self).held, 1);
    assert_int_equal(stats_of(self).taken_back, 1);
    script.outage = REFUSAL; /* so nobody says that the job was removed */
    advance(self, 7 * SECOND);
    assert_int_equal(self->count, 1);
    assert_string_equal(self->fires[0].key, "18");
    end(self);
}

/* --- clocks that are set ---------------------------------------------------------------------- */

/* The database claims and starts the job, as it is ready by the database's clock. The process still believes
 * in an earlier time, and must not take the due time for one that is still to come. */
TEST(a_job_that_the_database_has_started_fires_whatever_the_process_knows_of_the_clock) {
    struct process *self = begin_scripted((struct tw_durable_options){0});
    script.clock_ahead_ns = 2 * SECOND;
    struct tw_durable_job job = mail("17", tw_runtime_now(self->rt) + SECOND);
    job.absolute = 1;
    assert_int_equal(put(self, job), 0);
    advance(self, 0);
    assert_int_equal(self->count, 1);
    assert_int_equal(self->fires[0].due_ns, job.due_ns);
    assert_int_equal(stats_of(self).skipped, 0);
    end(self);
}

/* The job was ready by the former clock, and is not by the present one. No question that the database answers
 * says so; the process has to look itself before it goes on alone. */
TEST(a_ready_job_waits_if_the_clock_was_set_back_meanwhile) {
    struct process *self = begin_scripted(watchful);
    script.start = (struct plan){each_time, -ENOMEM, 0, NULL};
    put_mail(self, "17", SECOND);
    advance(self, SECOND + LATE);
    script.clock_ahead_ns = -MINUTE;
    advance(self, 30 * MS); /* until the next poll, which reads the clock */
    script.start = (struct plan){each_time, REFUSAL, 0, NULL};
    advance(self, 30 * SECOND);
    assert_int_equal(self->count, 0);
    advance(self, 30 * SECOND);
    assert_int_equal(self->count, 1);
    assert_int_equal(stats_of(self).unconfirmed, 1);
    assert_in_range(self->fires[0].at_ns, 2 * SECOND + MINUTE, 2 * SECOND + MINUTE + 2 * LATE);
    end(self);
}

TEST(a_held_job_waits_by_the_clock_that_was_set) {
    const int64_t ahead[] = {-MINUTE, -SECOND, 10 * SECOND, HOUR};
    for (size_t i = 0; i < COUNT_OF(ahead); ++i) {
        struct process *self =
            begin_scripted((struct tw_durable_options){.horizon_ns = MINUTE, .poll_ns = 20 * MS});
        const int64_t now = tw_runtime_now(self->rt), due = now + 30 * SECOND - ahead[i];
        put_mail(self, "17", 30 * SECOND);
        script.clock_ahead_ns = ahead[i];
        advance(self, 2 * MINUTE);
        assert_int_equal(self->count, 1);
        const int64_t expected = due > now ? due : now;
        assert_in_range(self->fires[0].at_ns, expected,
                        expected + 20 * MS + LATE); /* a poll reads the clock */
        end(self);
    }
}

/* --- a member that is declared dead ------------------------------------------------------------ */

TEST(a_member_that_was_declared_dead_forgets_what_it_held_and_joins_again) {
    struct process *self = begin_scripted((struct tw_durable_options){.horizon_ns = MINUTE});
    put_mail(self, "17", 20 * SECOND);
    const int64_t token = entry_of(self, "17").token;
    declare_all_dead(self);
    assert_int_equal(entry_of(self, "17").state, TW_DURABLE_PENDING);
    advance(self, 6 * SECOND); /* until it renews its lease */
    const struct tw_durable_counts now = stats_of(self);
    assert_int_equal(now.lost_leases, 1);
    assert_int_equal(now.taken_back, 1);
    assert_int_equal(now.held, 1);
    assert_in_range(now.lease_ns, 9 * SECOND, 15 * SECOND);
    assert_int_equal(entry_of(self, "17").state, TW_DURABLE_HELD);
    assert_true(entry_of(self, "17").token > token);
    advance(self, HOUR);
    assert_int_equal(self->count, 1);
    assert_fired(self, 0, 21 * SECOND);
    end(self);
}

TEST(an_answer_that_was_not_settled_when_its_member_was_declared_dead_counts_for_nothing) {
    struct process *self = begin_scripted((struct tw_durable_options){0});
    script.settle = (struct plan){each_time, REFUSAL, 0, NULL};
    put_mail(self, "17", 0);
    advance(self, 0);
    assert_int_equal(self->count, 1);
    assert_int_equal(stats_of(self).unsettled, 1);
    declare_all_dead(self);
    script.claim = (struct plan){each_time, REFUSAL, 0, NULL};
    advance(self, 6 * SECOND);
    assert_int_equal(stats_of(self).unsettled, 0);
    assert_int_equal(stats_of(self).unmatched, 1);
    script.claim.times = script.settle.times = 0;
    advance(self, MINUTE);
    assert_int_equal(self->count, 2);
    assert_int_equal(self->fires[1].attempt, 2); /* the try of a member that has died counts */
    assert_false(exists(self, "17"));
    end(self);
}

/* --- a database that is away ------------------------------------------------------------------- */

struct told {
    unsigned count;
    enum tw_durable_event events[16];
};

static void note_event(enum tw_durable_event event, const char *why, void *arg) {
    struct told *told = arg;
    assert_int_equal(strlen(why) > 0, event != TW_DURABLE_CONNECTED);
    told->events[told->count++ % COUNT_OF(told->events)] = event;
}

static void assert_told(const struct told *told, unsigned count, enum tw_durable_event last) {
    assert_int_equal(told->count, count);
    assert_int_equal(told->events[count - 1], last);
}

static struct process *begin_told(struct told *told, struct tw_durable_options options) {
    options.on_event = note_event;
    options.on_event_arg = told;
    struct process *self = begin_scripted(options);
    assert_told(told, 1, TW_DURABLE_CONNECTED);
    return self;
}

TEST(events_tell_of_a_connection_that_breaks_and_of_a_lease_that_ends_once_each) {
    for (unsigned is_dead = 0; is_dead < 2; ++is_dead) {
        struct told told = {0};
        struct process *self = begin_told(&told, watchful);
        for (unsigned round = 0; round < 2; ++round) {
            script.outage = -ENOTCONN;
            advance(self, SECOND);
            assert_told(&told, 3 * round + 2, TW_DURABLE_DISCONNECTED);
            assert_int_equal(stats_of(self).connected, 0);
            assert_int_equal(stats_of(self).lost_leases, round);
            assert_true(stats_of(self).lease_ns > 0);
            advance(self, MINUTE);
            assert_told(&told, 3 * round + 3, TW_DURABLE_LEASE_LOST);
            assert_int_equal(stats_of(self).lost_leases, round + 1);
            assert_int_equal(stats_of(self).lease_ns, 0);
            if (is_dead)
                declare_all_dead(self);
            script.outage = 0;
            advance(self, 3 * SECOND);
            assert_told(&told, 3 * round + 4, TW_DURABLE_CONNECTED);
            assert_int_equal(stats_of(self).connected, 1);
            assert_int_equal(stats_of(self).connects, round + 2);
            assert_int_equal(stats_of(self).lost_leases, round + 1);
            assert_true(stats_of(self).lease_ns > SECOND);
        }
        end(self);
    }
}

TEST(errors_after_which_a_connection_is_of_no_use_close_it) {
    const struct {
        int error;
        bool closes;
    } cases[] = {{-ENOTCONN, true}, {-ETIMEDOUT, true}, {-EROFS, true},   {-EBUSY, false},
                 {-EIO, false},     {-EACCES, false},   {-ENOSPC, false}, {-ENOMEM, false}};
    for (size_t i = 0; i < COUNT_OF(cases); ++i) {
        struct told told = {0};
        struct process *self = begin_told(&told, watchful);
        const uint64_t errors = stats_of(self).errors;
        script.claim = (struct plan){1, cases[i].error, 0, NULL};
        advance(self, SECOND);
        assert_int_equal(told.count, cases[i].closes ? 3 : 1);
        assert_int_equal(stats_of(self).connected, 1);
        assert_int_equal(stats_of(self).errors, errors + 1);
        end(self);
    }
}

TEST(a_process_tries_to_connect_in_growing_pauses_of_up_to_2_seconds) {
    struct process *self = begin_scripted(watchful);
    script.outage = -ENOTCONN;
    advance(self, 20 * MS);
    const unsigned before = script.opened;
    advance(self, 3200 * MS); /* 50 ms, 100, 200, 400, 800 and 1600 after one another */
    assert_in_range(script.opened - before, 6, 7);
    advance(self, 20 * SECOND);
    assert_in_range(script.opened - before, 15, 17);
    script.outage = 0;
    advance(self, 2 * SECOND);
    assert_int_equal(stats_of(self).connected, 1);
    end(self);
}

TEST(held_jobs_fire_unconfirmed_while_the_database_is_away_and_the_lease_lasts) {
    const int outages[] = {-ENOTCONN, REFUSAL};
    for (size_t i = 0; i < COUNT_OF(outages); ++i) {
        struct process *self =
            begin_scripted((struct tw_durable_options){.lease_ns = 6 * SECOND, .horizon_ns = MINUTE});
        put_mail(self, "in time", 3 * SECOND);
        put_mail(self, "too late", 10 * SECOND);
        script.outage = outages[i];
        advance(self, 40 * SECOND);
        assert_int_equal(self->count, 1);
        assert_fired(self, 0, 4 * SECOND);
        assert_int_equal(stats_of(self).unconfirmed, 1);
        assert_int_equal(stats_of(self).unsettled, 1);
        assert_int_equal(entry_of(self, "in time").state, TW_DURABLE_HELD);
        script.outage = 0;
        advance(self, 3 * SECOND);
        assert_int_equal(self->count, 2);
        assert_string_equal(self->fires[1].key, "too late");
        assert_int_equal(stats_of(self).unconfirmed, 1);
        assert_int_equal(stats_of(self).unsettled, 0);
        assert_int_equal(stats_of(self).unmatched, 0);
        assert_int_equal(tw_durable_count(self->jobs, NULL), 0);
        end(self);
    }
}

TEST(with_confirmed_only_nothing_fires_while_the_database_is_away) {
    const int outages[] = {-ENOTCONN, REFUSAL};
    for (size_t i = 0; i < COUNT_OF(outages); ++i) {
        struct process *self = begin_scripted((struct tw_durable_options){.confirmed_only = 1});
        put_mail(self, "17", SECOND);
        script.outage = outages[i];
        advance(self, 5 * SECOND);
        assert_int_equal(self->count, 0);
        script.outage = 0;
        advance(self, 3 * SECOND);
        assert_int_equal(self->count, 1);
        assert_int_equal(stats_of(self).unconfirmed, 0);
        end(self);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_whose_claim_lost_its_answer_fires_on_time_whatever_fails_next),
        cmocka_unit_test(a_job_whose_put_lost_its_answer_fires_on_time),
        cmocka_unit_test(what_a_put_has_claimed_in_a_former_epoch_is_not_taken),
        cmocka_unit_test(a_job_that_was_removed_while_the_connection_was_broken_is_forgotten),
        cmocka_unit_test(a_job_that_the_database_has_started_fires_whatever_the_process_knows_of_the_clock),
        cmocka_unit_test(a_ready_job_waits_if_the_clock_was_set_back_meanwhile),
        cmocka_unit_test(a_held_job_waits_by_the_clock_that_was_set),
        cmocka_unit_test(a_member_that_was_declared_dead_forgets_what_it_held_and_joins_again),
        cmocka_unit_test(an_answer_that_was_not_settled_when_its_member_was_declared_dead_counts_for_nothing),
        cmocka_unit_test(events_tell_of_a_connection_that_breaks_and_of_a_lease_that_ends_once_each),
        cmocka_unit_test(errors_after_which_a_connection_is_of_no_use_close_it),
        cmocka_unit_test(a_process_tries_to_connect_in_growing_pauses_of_up_to_2_seconds),
        cmocka_unit_test(held_jobs_fire_unconfirmed_while_the_database_is_away_and_the_lease_lasts),
        cmocka_unit_test(with_confirmed_only_nothing_fires_while_the_database_is_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

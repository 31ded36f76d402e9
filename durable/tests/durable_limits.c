/* Limits on the jobs of a kind, in one process and in two, on virtual time. */
#include "scripted_store.h"

/* The fires of "page", whose handler answers later: each runs until `finish`. */
static struct {
    struct tw_durable_fire *fire;
    struct process *by;
} running[16];
static unsigned running_count, most_running;

static enum tw_durable_answer begin_page(struct tw_durable_fire *fire, struct process *process) {
    if (strcmp(fire->kind, "page") != 0)
        return TW_DURABLE_DONE;
    assert_true(running_count < COUNT_OF(running));
    running[running_count].fire = fire;
    running[running_count++].by = process;
    if (running_count > most_running)
        most_running = running_count;
    return TW_DURABLE_LATER;
}

static void finish_with(unsigned which, enum tw_durable_answer answer) {
    struct process *const by = running[which].by;
    assert_int_equal(tw_durable_answer_later(by->jobs, running[which].fire, answer), 0);
    running[which] = running[--running_count];
}

static void finish(unsigned which) { finish_with(which, TW_DURABLE_DONE); }

static void finish_all(void) {
    while (running_count != 0)
        finish(0);
}

static void handle_within(struct process *process, struct tw_durable_handling how) {
    assert_int_equal(tw_durable_register(process->jobs, "page", note, process, &how), 0);
    process->inside = begin_page;
}

static void begin_within(struct tw_durable_options options, struct tw_durable_handling how) {
    running_count = most_running = 0;
    begin_scripted(options);
    handle_within(self, how);
    advance(self, 0);
}

static struct tw_durable_job page(const char *key, int64_t delay) {
    return (struct tw_durable_job){.kind = "page", .key = key, .due_ns = delay};
}

static int copy_page(const struct tw_durable_entry *entry, void *arg) {
    *(struct tw_durable_entry *)arg = *entry;
    return 0;
}

static struct tw_durable_entry page_of(struct process *process, const char *key) {
    struct tw_durable_entry entry = {0};
    assert_int_equal(tw_durable_get(process->jobs, "page", key, copy_page, &entry), 0);
    return entry;
}

/* --- how many at a time ------------------------------------------------------------------------ */

TEST(three_at_a_time_of_a_hundred) {
    unsigned rounds = 0;
    begin_within((struct tw_durable_options){0}, (struct tw_durable_handling){.running = 3});
    put_many(self->jobs, 100, page(NULL, 0));
    advance(self, 50 * MS);
    for (; self->count < 100; ++rounds) {
        assert_int_equal(running_count, 3);
        finish(rounds % 3);
        advance(self, 0); /* the next one starts at once */
    }
    assert_int_equal(rounds, 97);
    assert_int_equal(most_running, 3);
    finish_all();
}

TEST(two_processes_share_a_limit) {
    begin_within(watchful, (struct tw_durable_handling){.running = 3});
    join(watchful);
    handle_within(other, (struct tw_durable_handling){.running = 3});
    put_many(self->jobs, 60, page(NULL, 0));
    for (unsigned rounds = 0; self->count + other->count < 60; ++rounds) {
        assert_true(rounds < 1000);
        if (running_count != 0)
            finish(rounds % running_count);
        advance(self, 20 * MS);
    }
    assert_int_equal(most_running, 3);
    finish_all();
}

/* The process with the higher limit may start more, and the other one counts them. */
TEST(each_process_keeps_its_own_limit) {
    begin_within(watchful, (struct tw_durable_handling){.running = 1});
    put_many(self->jobs, 9, page(NULL, 0));
    advance(self, 100 * MS);
    assert_int_equal(running_count, 1);
    join(watchful);
    handle_within(other, (struct tw_durable_handling){.running = 3});
    advance(self, 100 * MS);
    assert_int_equal(other->count, 2);
    finish(0);
    advance(self, 0);
    assert_int_equal(self->count, 1);
    advance(self, 100 * MS);
    assert_int_equal(other->count, 3);
    finish_all();
}

TEST(a_job_that_waits_for_its_next_try_leaves_its_place_to_others) {
    begin_within((struct tw_durable_options){0},
                 (struct tw_durable_handling){.running = 1, .backoff_ns = MINUTE, .backoff_max_ns = MINUTE});
    put(self, page("1", 0));
    advance(self, 10 * MS);
    put(self, page("2", 0));
    advance(self, 10 * MS);
    assert_int_equal(self->count, 1);
    finish_with(0, TW_DURABLE_RETRY);
    advance(self, 10 * MS);
    assert_int_equal(self->count, 2);
    assert_string_equal(self->fires[1].key, "2");
    advance(self, MINUTE);
    assert_int_equal(self->count, 2); /* the retry waits for "2" */
    finish(0);
    advance(self, 10 * MS);
    assert_int_equal(self->count, 3);
    assert_int_equal(self->fires[2].attempt, 2);
    finish_all();
}

TEST(no_job_is_held_before_it_is_due) {
    begin_within((struct tw_durable_options){.horizon_ns = MINUTE},
                 (struct tw_durable_handling){.running = 1});
    put(self, page("1", SECOND));
    put(self, page("2", 2 * SECOND));
    put_mail(self, "17", SECOND);
    advance(self, 900 * MS);
    assert_int_equal(page_of(self, "1").state, TW_DURABLE_PENDING);
    assert_int_equal(entry_of(self, "17").state, TW_DURABLE_HELD);
    advance(self, 200 * MS);
    assert_int_equal(page_of(self, "1").state, TW_DURABLE_STARTED);
    assert_int_equal(self->count, 2);
    finish(0);
    advance(self, 1000 * MS);
    assert_int_equal(self->count, 3);
    assert_in_range(self->fires[2].at_ns, self->fires[2].due_ns, self->fires[2].due_ns + LATE);
    finish_all();
}

TEST(a_full_kind_delays_no_other) {
    begin_within((struct tw_durable_options){0}, (struct tw_durable_handling){.running = 1});
    put_many(self->jobs, 50, page(NULL, 0));
    advance(self, 5 * SECOND);
    assert_int_equal(self->count, 1);
    for (unsigned i = 0; i < 20; ++i) {
        put_mail(self, "17", 0);
        advance(self, 0);
        assert_int_equal(self->count, 2 + i);
    }
    finish_all();
}

/* Puts of a full kind make a process look for its jobs at most once in a while. */
TEST(puts_of_a_full_kind_cost_few_claims) {
    begin_within((struct tw_durable_options){0}, (struct tw_durable_handling){.running = 1});
    put(self, page("first", 0));
    advance(self, 100 * MS);
    script.claims_within_limits = 0;
    for (unsigned i = 0; i < 1000; ++i) {
        put(self, page("17", 0));
        advance(self, MS);
    }
    assert_in_range(script.claims_within_limits, 0, 100);
    finish_all();
}

TEST(a_replaced_job_does_not_count_although_its_handler_runs) {
    begin_within((struct tw_durable_options){0}, (struct tw_durable_handling){.running = 1});
    put(self, page("17", 0));
    advance(self, 10 * MS);
    put(self, page("17", 0));
    advance(self, 10 * MS);
    assert_int_equal(running_count, 2);
    finish_all();
}

TEST(an_answer_that_is_lost_blocks_no_place) {
    begin_within(watchful, (struct tw_durable_handling){.running = 1});
    put_many(self->jobs, 3, page(NULL, 0));
    advance(self, 10 * MS);
    script.settle = unanswered(1, -ENOTCONN);
    finish(0);
    advance(self, 5 * SECOND);
    assert_int_equal(running_count, 1);
    script.claim = unanswered(1, -ENOTCONN);
    finish(0);
    advance(self, 10 * SECOND);
    assert_int_equal(running_count, 1);
    finish(0);
    advance(self, SECOND);
    assert_int_equal(tw_durable_count(self->keeper, NULL), 0);
    finish_all();
}

/* A process that is cut off counts until its lease has ended. */
TEST(the_jobs_of_a_process_that_has_died_count_until_others_take_over) {
    begin_within(watchful, (struct tw_durable_handling){.running = 1});
    put(self, page("1", 0));
    advance(self, 10 * MS);
    join(watchful);
    handle_within(other, (struct tw_durable_handling){.running = 1});
    put(other, page("2", 0));
    advance(self, SECOND);
    assert_int_equal(other->count, 0);
    script.renew = script.claim = script.settle = script.resume = broken(each_time, -ENOTCONN);
    script.open = broken(each_time, -ENOTCONN);
    advance(self, 6 * SECOND);
    assert_int_equal(other->count, 1);
    script.renew.times = script.claim.times = script.settle.times = script.resume.times = script.open.times =
        0;
    advance(self, SECOND);
    finish_all();
}

/* --- how many in a time ------------------------------------------------------------------------ */

/* In each window that begins with a fire. */
static unsigned most_within(const struct process *process, int64_t ns) {
    unsigned most = 0;
    for (unsigned i = 0; i < process->count; ++i) {
        unsigned count = 0;
        for (unsigned j = i; j < process->count && process->fires[j].at_ns < process->fires[i].at_ns + ns;
             ++j)
            ++count;
        most = count > most ? count : most;
    }
    return most;
}

TEST(ten_a_second) {
    begin_within((struct tw_durable_options){0}, (struct tw_durable_handling){.rate = 10});
    self->inside = NULL;
    put_many(self->jobs, 200, page(NULL, 0));
    advance(self, 10 * SECOND);
    assert_in_range(self->count, 97, 100);
    assert_int_equal(most_within(self, SECOND), 10);
}

TEST(many_a_second_take_few_claims) {
    begin_within((struct tw_durable_options){0}, (struct tw_durable_handling){.rate = 1000});
    self->inside = NULL;
    put_many(self->jobs, 2000, page(NULL, 0));
    script.claim = (struct plan){0};
    advance(self, SECOND - MS);
    assert_in_range(self->count, 950, 1000);
    assert_in_range(script.claim.calls, 40, 110);
}

TEST(so_many_a_minute_after_any_pause) {
    begin_within((struct tw_durable_options){0}, (struct tw_durable_handling){.rate = 6, .per_ns = MINUTE});
    self->inside = NULL;
    put_many(self->jobs, 60, page(NULL, 0));
    advance(self, 2 * MINUTE);
    assert_in_range(self->count, 11, 12);
    advance(self, 10 * MINUTE);
    assert_int_equal(self->count, 60);
    advance(self, 10 * MINUTE); /* saves nothing up */
    put_many(self->jobs, 60, page(NULL, 0));
    advance(self, MINUTE);
    assert_int_equal(most_within(self, MINUTE), 6);
}

/* --- why --------------------------------------------------------------------------------------- */

TEST(a_job_that_waits_because_of_a_limit_says_so) {
    char text[256];
    begin_within((struct tw_durable_options){0}, (struct tw_durable_handling){.running = 1});
    put(self, page("1", 0));
    put(self, page("2", 0));
    advance(self, SECOND);
    const char *const waits = strcmp(self->fires[0].key, "1") == 0 ? "2" : "1";
    assert_int_equal(tw_durable_why(self->jobs, "page", waits, text, sizeof text), 0);
    assert_non_null(strstr(text, "waits because of a limit: 1 of 1 jobs of its kind run"));
    finish_all();
}

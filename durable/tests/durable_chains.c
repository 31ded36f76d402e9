/* Jobs that wait for a group, and puts with an end, with the whole library. */
#include "durable_test.h"

#include "scripted_store.h"

static struct tw_durable_job in_group(const char *group, const char *key, int64_t delay) {
    struct tw_durable_job job = mail(key, delay);
    job.group = group;
    return job;
}

static struct tw_durable_job waits_for(const char *group, const char *key, int64_t delay) {
    struct tw_durable_job job = mail(key, delay);
    job.waits_for = group;
    return job;
}

static void put_all(const struct tw_durable_job *jobs, size_t count) {
    assert_int_equal(tw_durable_put_many(self->jobs, jobs, count, TW_DURABLE_REPLACE), 0);
}

static void assert_order(const char *const *keys, unsigned count) {
    assert_int_equal(self->count, count);
    for (unsigned i = 0; i < count; ++i)
        assert_string_equal(self->fires[i].key, keys[i]);
}

static void assert_why(const char *key, const char *part) {
    char text[512];
    assert_int_equal(tw_durable_why(self->jobs, "mail", key, text, sizeof text), 0);
    if (strstr(text, part) == NULL)
        fail_msg("\"%s\" lacks \"%s\"", text, part);
}

TEST(a_job_fires_when_all_of_its_group_have_ended) {
    put_all((struct tw_durable_job[]){waits_for("g", "last", 0), in_group("g", "1", SECOND),
                                      in_group("g", "2", MINUTE), in_group("g", "3", 0)},
            4);
    advance(self, 30 * SECOND);
    assert_int_equal(entry_of(self, "last").state, TW_DURABLE_WAITING);
    assert_order((const char *const[]){"3", "1"}, 2);
    assert_why("last", "It waits for the group \"g\": 1 job is left.");
    advance(self, MINUTE);
    assert_order((const char *const[]){"3", "1", "2", "last"}, 4);
    assert_in_range(self->fires[3].at_ns, self->fires[2].at_ns, self->fires[2].at_ns + 2 * LATE);
}

TEST(a_diamond_fires_in_its_order) {
    struct tw_durable_job left = waits_for("start", "left", 0),
                          right = waits_for("start", "right", 10 * SECOND);
    left.group = right.group = "sides";
    put_all((struct tw_durable_job[]){waits_for("sides", "end", 0), right, left,
                                      in_group("start", "first", SECOND)},
            4);
    advance(self, MINUTE);
    assert_order((const char *const[]){"first", "left", "right", "end"}, 4);
    assert_fired(self, 2, self->fires[2].due_ns);
    assert_int_equal(tw_durable_count(self->jobs, NULL), 0);
}

TEST(a_long_chain_does_not_wait_for_polls) {
    static char names[20][8];
    struct tw_durable_job jobs[20];
    for (unsigned i = 0; i < COUNT_OF(jobs); ++i) {
        snprintf(names[i], sizeof names[i], "%u", i);
        jobs[i] = mail(names[i], 0);
        jobs[i].group = names[i];
        jobs[i].waits_for = i > 0 ? names[i - 1] : NULL;
    }
    put_all(jobs, COUNT_OF(jobs));
    advance(self, 5 * SECOND);
    assert_int_equal(self->count, COUNT_OF(jobs));
}

static enum tw_durable_answer fails_once(struct tw_durable_fire *fire, struct process *process) {
    (void)process;
    return strcmp(fire->key, "1") == 0 ? tw_durable_failed(fire, "no paper") : TW_DURABLE_DONE;
}

TEST(a_failed_job_holds_its_followers_until_it_is_requeued) {
    const struct tw_durable_retries once = {.attempts = 1};
    assert_int_equal(tw_durable_register(self->jobs, "part", note, self, &once), 0);
    self->inside = fails_once;
    struct tw_durable_job part = in_group("g", "1", 0);
    part.kind = "part";
    put_all((struct tw_durable_job[]){part, in_group("g", "2", HOUR), in_group("g", "3", HOUR),
                                      waits_for("g", "last", 0)},
            4);
    advance(self, MINUTE);
    assert_why("last",
               "It waits for the group \"g\": 3 jobs are left, 1 of them has failed, and must be requeued, "
               "replaced or removed.");
    advance(self, 2 * HOUR);
    assert_true(exists(self, "last"));
    self->inside = NULL;
    assert_int_equal(tw_durable_requeue_many(self->jobs, &(struct tw_durable_filter){.group = "g"}), 1);
    advance(self, SECOND);
    assert_false(exists(self, "last"));
}

TEST(a_group_that_is_removed_releases_its_followers) {
    put_all((struct tw_durable_job[]){in_group("g", "1", HOUR), in_group("g", "2", HOUR),
                                      waits_for("g", "last", 0)},
            3);
    advance(self, SECOND);
    assert_int_equal(tw_durable_cancel(self->jobs, "mail", "1"), 1);
    advance(self, SECOND);
    assert_int_equal(self->count, 0);
    assert_int_equal(tw_durable_cancel_many(self->jobs, &(struct tw_durable_filter){.group = "g"}), 1);
    advance(self, SECOND);
    assert_order((const char *const[]){"last"}, 1);
}

/* The first job of a group puts two more into the group. */
static enum tw_durable_answer puts_more(struct tw_durable_fire *fire, struct process *process) {
    if (strcmp(fire->key, "1") == 0) {
        assert_int_equal(put(process, in_group("g", "2", 10 * SECOND)), 0);
        assert_int_equal(put(process, in_group("g", "3", 20 * SECOND)), 0);
    }
    return TW_DURABLE_DONE;
}

TEST(a_handler_can_put_more_jobs_into_its_own_group) {
    self->inside = puts_more;
    put_all((struct tw_durable_job[]){in_group("g", "1", 0), waits_for("g", "last", 0)}, 2);
    advance(self, MINUTE);
    assert_order((const char *const[]){"1", "2", "3", "last"}, 4);
}

TEST(a_waiting_job_fires_on_demand) {
    put_all((struct tw_durable_job[]){in_group("g", "1", HOUR), waits_for("g", "last", HOUR)}, 2);
    assert_int_equal(tw_durable_fire_now(self->jobs, "mail", "last"), 1);
    advance(self, SECOND);
    assert_order((const char *const[]){"last"}, 1);
}

TEST(an_end_whose_answer_is_lost_releases_its_followers_once) {
    begin_scripted((struct tw_durable_options){0});
    put_all((struct tw_durable_job[]){in_group("g", "1", SECOND), waits_for("g", "last", 0)}, 2);
    script.settle = unanswered(1, -ENOTCONN);
    advance(self, MINUTE);
    assert_int_equal(script.settle.times, 0);
    assert_order((const char *const[]){"1", "last"}, 2);
    assert_int_equal(tw_durable_count(self->jobs, NULL), 0);
}

TEST(other_jobs_cannot_have_what_jobs_have_that_fire_once) {
    struct tw_durable_job bad[] = {in_group("", "1", 0),   waits_for("", "1", 0), in_group("\xff", "1", 0),
                                   waits_for("g", "1", 0), mail("1", 0),          in_group("g", "1", 0),
                                   waits_for("g", "1", 0), mail("1", 0)};
    bad[3].group = "g";
    bad[4].within_ns = -1;
    for (unsigned i = 5; i < COUNT_OF(bad); ++i)
        bad[i].period_ns = SECOND;
    bad[7].within_ns = SECOND;
    for (unsigned i = 0; i < COUNT_OF(bad); ++i)
        assert_int_equal(put(self, bad[i]), -EINVAL);
    assert_int_equal(tw_durable_count(self->jobs, &(struct tw_durable_filter){.group = ""}), -EINVAL);
    assert_int_equal(tw_durable_count(self->jobs, NULL), 0);
}

/* --- debounce and throttle ------------------------------------------------------------ */

static void put_every(int64_t interval, unsigned times, struct tw_durable_job job,
                      enum tw_durable_existing existing) {
    for (unsigned i = 0; i < times; ++i) {
        assert_int_equal(tw_durable_put(self->jobs, &job, existing), 0);
        advance(self, interval);
    }
}

TEST(a_debounced_job_fires_after_the_last_put_or_at_its_end) {
    struct tw_durable_job save = mail("17", 5 * SECOND);
    save.within_ns = 20 * SECOND;
    const int64_t begun = tw_runtime_now(self->rt);
    put_every(2 * SECOND, 3, save, TW_DURABLE_REPLACE);
    advance(self, 10 * SECOND);
    assert_int_equal(self->count, 1);
    assert_in_range(self->fires[0].at_ns, begun + 9 * SECOND, begun + 9 * SECOND + LATE);
    const int64_t again = tw_runtime_now(self->rt);
    put_every(2 * SECOND, 15, save, TW_DURABLE_REPLACE); /* for 30 s */
    assert_int_equal(self->count, 2);
    assert_in_range(self->fires[1].at_ns, again + 20 * SECOND, again + 20 * SECOND + LATE);
}

TEST(a_throttled_job_fires_once_in_each_interval) {
    struct tw_durable_job save = mail("17", 10 * SECOND);
    save.within_ns = 10 * SECOND;
    const int64_t begun = tw_runtime_now(self->rt);
    put_every(SECOND, 60, save, TW_DURABLE_REPLACE);
    assert_in_range(self->count, 5, 6);
    for (unsigned i = 0; i < self->count; ++i)
        assert_in_range(self->fires[i].at_ns,
                        i == 0 ? begun + 10 * SECOND : self->fires[i - 1].at_ns + 10 * SECOND,
                        begun + (i + 1) * 11 * SECOND + LATE);
    put_every(SECOND, 60, save, TW_DURABLE_KEEP); /* the same, with the first payload of each interval */
    assert_in_range(self->count, 10, 12);
}

/* Jobs that are put, replaced and removed while they wait, are held, or run. */
#include "durable_test.h"

static struct tw_durable_job with_text(const char *key, int64_t delay, const char *text) {
    struct tw_durable_job job = mail(key, delay);
    job.payload = text;
    job.size = strlen(text);
    return job;
}

static char text_seen[16];

static enum tw_durable_answer read_text(struct tw_durable_fire *fire, UNUSED struct process *it) {
    snprintf(text_seen, sizeof text_seen, "%.*s", (int)fire->size, (const char *)fire->payload);
    return TW_DURABLE_DONE;
}

/* --- putting ------------------------------------------------------------------------------- */

TEST(a_replaced_job_fires_as_the_new_one) {
    struct process *it = begin();
    it->inside = read_text;
    assert_int_equal(put(it, with_text("17", HOUR, "old")), 0);
    assert_int_equal(put(it, with_text("17", 2 * HOUR, "new")), 1);
    advance(it, 90 * MINUTE);
    assert_int_equal(it->count, 0);
    advance(it, HOUR);
    assert_int_equal(it->count, 1);
    assert_string_equal(text_seen, "new");
    end(it);
}

TEST(a_job_that_is_kept_stays_as_it_is) {
    struct process *it = begin();
    it->inside = read_text;
    const struct tw_durable_job old = with_text("17", HOUR, "old"), new = with_text("17", 2 * HOUR, "new");
    assert_int_equal(tw_durable_put(it->jobs, &old, TW_DURABLE_KEEP), 0);
    assert_int_equal(tw_durable_put(it->jobs, &new, TW_DURABLE_KEEP), 1);
    advance(it, 90 * MINUTE);
    assert_int_equal(it->count, 1);
    assert_string_equal(text_seen, "old");
    end(it);
}

TEST(many_are_put_at_once_and_counted_if_they_are_new) {
    struct process *it = begin();
    put_mail(it, "b", HOUR);
    const struct tw_durable_job jobs[] = {mail("a", SECOND), mail("b", SECOND), mail("c", SECOND),
                                          mail("a", SECOND)};
    assert_int_equal(tw_durable_put_many(it->jobs, jobs, 4, TW_DURABLE_KEEP), 2);
    advance(it, MINUTE);
    assert_int_equal(it->count, 2);
    assert_int_equal(tw_durable_put_many(it->jobs, jobs, 0, TW_DURABLE_KEEP), 0);
    assert_int_equal(tw_durable_put_many(it->jobs, NULL, 0, TW_DURABLE_KEEP), 0);
    end(it);
}

TEST(of_jobs_of_one_name_that_are_put_at_once_the_last_fires_alone) {
    struct process *it = begin();
    it->inside = read_text;
    const struct tw_durable_job jobs[] = {mail("18", 0), with_text("17", 0, "old"),
                                          with_text("17", 0, "new")};
    assert_int_equal(tw_durable_put_many(it->jobs, jobs, 3, TW_DURABLE_REPLACE), 2);
    advance(it, MINUTE);
    assert_int_equal(it->count, 2);
    assert_string_equal(text_seen, "new");
    end(it);
}

TEST(a_job_that_is_replaced_while_it_is_held_fires_as_the_new_one) {
    struct process *it = begin();
    it->inside = read_text;
    assert_int_equal(put(it, with_text("17", 2 * SECOND, "old")), 0);
    advance(it, SECOND);
    assert_int_equal(entry_of(it, "17").state, TW_DURABLE_HELD);
    assert_int_equal(put(it, with_text("17", 3 * SECOND, "new")), 1);
    assert_int_equal(entry_of(it, "17").state, TW_DURABLE_PENDING);
    advance(it, MINUTE);
    assert_int_equal(it->count, 1);
    assert_string_equal(text_seen, "new");
    assert_int_equal(stats_of(it).taken_back, 1);
    end(it);
}

/* --- removing ------------------------------------------------------------------------------ */

TEST(a_job_that_is_removed_while_it_waits_does_not_fire) {
    struct process *it = begin();
    put_mail(it, "17", HOUR);
    assert_int_equal(tw_durable_remove(it->jobs, "mail", "17"), 1);
    assert_int_equal(tw_durable_remove(it->jobs, "mail", "17"), -ENOENT);
    advance(it, 2 * HOUR);
    assert_int_equal(it->count, 0);
    end(it);
}

TEST(a_job_that_is_removed_while_it_is_held_does_not_fire) {
    struct process *it = begin();
    put_mail(it, "17", 2 * SECOND);
    advance(it, SECOND);
    assert_int_equal(entry_of(it, "17").state, TW_DURABLE_HELD);
    assert_int_equal(tw_durable_remove(it->jobs, "mail", "17"), 1);
    assert_int_equal(stats_of(it).held, 0);
    advance(it, MINUTE);
    assert_int_equal(it->count, 0);
    assert_int_equal(stats_of(it).taken_back, 1);
    end(it);
}

TEST(a_held_job_that_another_process_removes_does_not_fire) {
    struct process *it = begin();
    put_mail(it, "17", 2 * SECOND);
    advance(it, SECOND);
    assert_int_equal(stats_of(it).held, 1);
    assert_int_equal(tw_durable_remove(it->keeper, "mail", "17"), 1);
    advance(it, MINUTE);
    assert_int_equal(it->count, 0);
    assert_int_equal(stats_of(it).taken_back, 1);
    assert_int_equal(stats_of(it).held, 0);
    end(it);
}

static enum tw_durable_answer remove_own(struct tw_durable_fire *fire, struct process *it) {
    assert_int_equal(tw_durable_remove(it->jobs, fire->kind, fire->key), 0);
    return tw_durable_again(fire, SECOND);
}

TEST(a_handler_removes_its_job_too_late_to_prevent_it_and_it_does_not_fire_again) {
    struct process *it = begin();
    it->inside = remove_own;
    put_mail(it, "17", 0);
    advance(it, MINUTE);
    assert_int_equal(it->count, 1);
    assert_false(exists(it, "17"));
    assert_int_equal(stats_of(it).unmatched, 1);
    end(it);
}

/* --- in handlers --------------------------------------------------------------------------- */

static enum tw_durable_answer replace_own(struct tw_durable_fire *fire, struct process *it) {
    if (it->count > 1)
        return TW_DURABLE_DONE;
    assert_int_equal(put(it, mail(fire->key, MINUTE)), 1);
    return tw_durable_failed(fire, "counts for nothing");
}

TEST(a_job_that_its_handler_replaces_fires_as_the_new_one_with_a_higher_token) {
    struct process *it = begin();
    it->inside = replace_own;
    put_mail(it, "17", 0);
    advance(it, SECOND);
    const struct tw_durable_entry entry = entry_of(it, "17");
    assert_int_equal(entry.state, TW_DURABLE_PENDING);
    assert_int_equal(entry.attempts, 0);
    advance(it, HOUR);
    assert_int_equal(it->count, 2);
    assert_fired(it, 1, it->fires[0].at_ns + MINUTE);
    assert_int_equal(it->fires[1].attempt, 1);
    assert_true(it->fires[1].token > it->fires[0].token);
    assert_int_equal(stats_of(it).unmatched, 1);
    end(it);
}

static enum tw_durable_answer put_next(struct tw_durable_fire *fire, struct process *it) {
    static const char *const keys[] = {"b", "c", "d"};
    if (it->count <= 3)
        assert_int_equal(put(it, mail(keys[it->count - 1], 0)), 0);
    assert_true(fire->token > 0);
    return TW_DURABLE_DONE;
}

TEST(a_handler_puts_other_jobs) {
    struct process *it = begin();
    it->inside = put_next;
    put_mail(it, "a", 0);
    advance(it, 0);
    assert_int_equal(it->count, 4);
    end(it);
}

static enum tw_durable_answer remove_other(UNUSED struct tw_durable_fire *fire, struct process *it) {
    assert_int_equal(tw_durable_remove(it->jobs, "mail", "other"), 1);
    return TW_DURABLE_DONE;
}

TEST(a_handler_removes_another_job_that_is_held) {
    struct process *it = begin();
    it->inside = remove_other;
    put_mail(it, "17", SECOND);
    put_mail(it, "other", 2 * SECOND);
    advance(it, MINUTE);
    assert_int_equal(it->count, 1);
    end(it);
}

/* --- asking -------------------------------------------------------------------------------- */

static int count_until(const struct tw_durable_entry *entry, void *arg) {
    int *left = arg;
    assert_non_null(entry->job.kind);
    return --*left == 0 ? -4711 : 0;
}

TEST(a_walk_ends_with_what_its_visitor_returns) {
    struct process *it = begin();
    put_mail(it, "a", HOUR);
    put_mail(it, "b", HOUR);
    put_mail(it, "c", HOUR);
    int left = 2;
    assert_int_equal(tw_durable_list(it->jobs, NULL, count_until, &left), -4711);
    assert_int_equal(left, 0);
    left = 10;
    assert_int_equal(tw_durable_list(it->jobs, NULL, count_until, &left), 0);
    assert_int_equal(left, 7);
    assert_int_equal(tw_durable_get(it->jobs, "mail", "a", NULL, NULL), 0);
    end(it);
}

TEST(a_filter_selects_by_kind_state_and_key) {
    struct process *it = begin();
    put_mail(it, "a", HOUR);
    put_mail(it, "b", HOUR);
    assert_int_equal(put(it, (struct tw_durable_job){.kind = "bill", .key = "c"}), 0);
    put_mail(it, "held", SECOND);
    advance(it, 0);
    assert_int_equal(tw_durable_count(it->jobs, NULL), 4);
    assert_int_equal(tw_durable_count(it->jobs, &(struct tw_durable_filter){.kind = "mail"}), 3);
    assert_int_equal(tw_durable_count(it->jobs, &(struct tw_durable_filter){.states = TW_DURABLE_HELD}), 1);
    assert_int_equal(tw_durable_count(it->jobs, &(struct tw_durable_filter){.kind = "mail", .after = "a"}),
                     2);
    assert_int_equal(tw_durable_count(it->jobs, &(struct tw_durable_filter){.limit = 2}), 2);
    end(it);
}

TEST(a_job_that_is_put_again_and_again_is_held_once) {
    struct process *it = begin();
    for (int i = 0; i < 1000; ++i) {
        assert_int_equal(put(it, mail("17", SECOND)), i > 0);
        advance(it, MS);
    }
    struct tw_durable_counts now = stats_of(it);
    assert_int_equal(now.held, 1);
    assert_int_equal(now.taken_back, 999);
    assert_int_equal(it->count, 0);
    advance(it, SECOND);
    now = stats_of(it);
    assert_int_equal(it->count, 1);
    assert_int_equal(now.held, 0);
    end(it);
}

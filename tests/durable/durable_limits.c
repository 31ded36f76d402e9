/* How much a process holds and for how long, who takes over, and what it tells of itself. */
#include "durable_test.h"

/* --- limits -------------------------------------------------------------------------------- */

TEST(a_process_never_holds_more_than_it_may_and_the_others_fire_too) {
    struct process *it = begin_with((struct tw_durable_options){.hold = 3, .horizon_ns = MINUTE});
    for (char key[] = "a"; key[0] <= 'z'; ++key[0])
        put_mail(it, key, (key[0] - 'a' + 5) * SECOND);
    for (unsigned i = 0; i < 400; ++i) {
        advance(it, 100 * MS);
        assert_in_range(stats_of(it).held, 0, 3);
    }
    assert_int_equal(it->count, 26);
    for (unsigned i = 0; i < 26; ++i)
        assert_fired(it, i, (i + 6) * SECOND);
    end(it);
}

TEST(a_hundred_at_once_pass_through_a_hold_of_one) {
    struct process *it = begin_with((struct tw_durable_options){.hold = 1});
    for (unsigned i = 0; i < 100; ++i) {
        char key[16];
        snprintf(key, sizeof key, "%u", i);
        put_mail(it, key, 0);
    }
    advance(it, 2 * SECOND);
    assert_int_equal(it->count, 100);
    end(it);
}

TEST(a_job_is_held_when_it_is_within_the_horizon) {
    struct process *it = begin_with((struct tw_durable_options){.horizon_ns = 20 * SECOND});
    put_mail(it, "17", MINUTE);
    advance(it, 39 * SECOND);
    assert_int_equal(entry_of(it, "17").state, TW_DURABLE_PENDING);
    advance(it, 7 * SECOND); /* it looks a quarter of the horizon later at the latest */
    assert_int_equal(entry_of(it, "17").state, TW_DURABLE_HELD);
    assert_int_equal(it->count, 0);
    end(it);
}

/* --- several processes ----------------------------------------------------------------------- */

TEST(what_a_process_gives_back_when_it_closes_another_fires_at_once) {
    struct process *it = begin(), *other = join(it, (struct tw_durable_options){0});
    put_mail(it, "17", 2 * SECOND);
    advance(it, SECOND);
    assert_int_equal(stats_of(it).held, 1);
    assert_int_equal(tw_durable_close(it->jobs), 0);
    it->jobs = NULL;
    handle(other, "mail");
    advance(it, SECOND + LATE);
    assert_int_equal(it->count, 0);
    assert_int_equal(other->count, 1);
    assert_fired(other, 0, 3 * SECOND);
    part(other);
    end(it);
}

TEST(two_processes_fire_each_job_once) {
    struct process *it = begin(), *other = join(it, (struct tw_durable_options){0});
    handle(other, "mail");
    for (char key[] = "a"; key[0] <= 'z'; ++key[0])
        put_mail(key[0] % 2 ? it : other, key, (key[0] - 'a') * SECOND);
    advance(it, MINUTE);
    assert_int_equal(it->count + other->count, 26);
    part(other);
    end(it);
}

TEST(schemas_do_not_see_each_other) {
    struct process *it = begin(), *other = join(it, (struct tw_durable_options){.schema = "another"});
    handle(other, "mail");
    put_mail(it, "17", SECOND);
    assert_int_equal(tw_durable_count(other->jobs, NULL), 0);
    advance(it, MINUTE);
    assert_int_equal(it->count, 1);
    assert_int_equal(other->count, 0);
    part(other);
    end(it);
}

/* --- closing from inside --------------------------------------------------------------------- */

static enum tw_durable_answer close_own(UNUSED struct tw_durable_fire *fire, struct process *it) {
    assert_int_equal(tw_durable_close(it->jobs), -EBUSY);
    return TW_DURABLE_DONE;
}

TEST(a_handler_cannot_close_its_connection) {
    struct process *it = begin();
    it->inside = close_own;
    put_mail(it, "17", 0);
    advance(it, SECOND);
    assert_int_equal(it->count, 1);
    assert_false(exists(it, "17"));
    end(it);
}

struct events {
    unsigned count;
    enum tw_durable_event last;
    struct tw_durable *jobs;
};

static void note_event(enum tw_durable_event event, const char *why, void *arg) {
    struct events *it = arg;
    assert_non_null(why);
    ++it->count;
    it->last = event;
    assert_int_equal(tw_durable_close(it->jobs), -EBUSY);
}

TEST(an_event_tells_of_the_connection_and_cannot_close_it) {
    struct events events = {0};
    struct process *it = begin(),
                   *other =
                       join(it, (struct tw_durable_options){.on_event = note_event, .on_event_arg = &events});
    events.jobs = other->jobs;
    advance(it, SECOND);
    assert_int_equal(events.count, 0); /* it handles nothing yet */
    handle(other, "mail");
    advance(it, SECOND);
    assert_int_equal(events.count, 1);
    assert_int_equal(events.last, TW_DURABLE_CONNECTED);
    part(other);
    end(it);
}

TEST(what_a_dead_process_held_is_late_by_its_lease_and_a_third) {
    const struct tw_durable_options options = {.lease_ns = 3 * SECOND, .poll_ns = 30 * SECOND};
    struct process *it = begin_with(options), *dead = begin_with(options);
    put_mail(dead, "17", SECOND); /* held, and never fired, as its time stands still */
    advance(it, 2 * SECOND - 1);
    assert_int_equal(it->count, 0); /* the lease is from its first second */
    advance(it, 2 * SECOND);
    assert_int_equal(it->count, 1);
    assert_string_equal(it->fires[0].key, "17");
    assert_int_equal(it->fires[0].attempt, 1);
    end(it);
    end(dead);
}

/* --- seeing -------------------------------------------------------------------------------- */

TEST(statistics_count_what_has_happened) {
    struct process *it = begin();
    struct tw_durable_counts now = stats_of(it);
    assert_int_equal(now.connected, 1);
    assert_int_equal(now.connects, 1);
    assert_int_equal(now.started, 0);
    assert_in_range(now.lease_ns, 10 * SECOND, 15 * SECOND);
    assert_in_range(now.clock_uncertainty_ns, 0, MS);

    put_mail(it, "17", 0);
    put_mail(it, "18", SECOND);
    put_mail(it, "19", HOUR);
    advance(it, 0);
    now = stats_of(it);
    assert_int_equal(now.claimed, 2);
    assert_int_equal(now.started, 1);
    assert_int_equal(now.done, 1);
    assert_int_equal(now.held, 1);
    assert_int_equal(now.running, 0);
    assert_int_equal(now.unsettled, 0);
    assert_int_equal(now.late_count, 1);
    assert_int_equal(now.errors + now.unconfirmed + now.unmatched + now.taken_back, 0);
    end(it);
}

TEST(a_process_that_handles_nothing_is_no_member) {
    struct process *it = begin(), *other = join(it, (struct tw_durable_options){0});
    advance(it, MINUTE);
    const struct tw_durable_counts now = stats_of(other);
    assert_int_equal(now.connected, 0);
    assert_int_equal(now.connects, 0);
    assert_int_equal(now.lease_ns, 0);
    assert_int_equal(now.clock_uncertainty_ns, -1);
    part(other);
    end(it);
}

struct text {
    char all[4096];
    size_t size;
};

static void append(const char *text, size_t size, void *arg) {
    struct text *it = arg;
    assert_true(it->size + size < sizeof it->all);
    memcpy(it->all + it->size, text, size);
    it->size += size;
}

TEST(a_dump_has_what_is_held_and_no_control_characters) {
    struct process *it = begin();
    struct text text = {.size = 0};
    put_mail(it, "order \x1b[2J 17", SECOND);
    advance(it, 0);
    assert_int_equal(tw_durable_dump(it->jobs, append, &text), 0);
    assert_non_null(strstr(text.all, "memory"));
    assert_non_null(strstr(text.all, "waiting"));
    assert_non_null(strstr(text.all, "mail  order ?[2J 17"));
    assert_null(strchr(text.all, '\x1b'));
    end(it);
}

TEST(a_connection_without_a_runtime_puts_and_asks) {
    struct process *it = begin();
    struct text text = {.size = 0};
    const struct tw_durable_job job = mail("17", HOUR);
    assert_int_equal(tw_durable_put(it->keeper, &job, TW_DURABLE_REPLACE), 0);
    assert_int_equal(tw_durable_count(it->keeper, NULL), 1);
    assert_int_equal(tw_durable_dump(it->keeper, append, &text), 0);
    assert_true(text.size > 0);
    assert_true(tw_durable_now(it->keeper) > 0);
    assert_int_equal(tw_durable_remove(it->keeper, "mail", "17"), 1);
    end(it);
}

TEST(the_time_of_the_database_is_never_ahead) {
    struct process *it = begin();
    for (unsigned i = 0; i < 100; ++i) {
        advance(it, 777 * MS);
        const int64_t now = tw_runtime_now(it->rt);
        assert_in_range(tw_durable_now(it->jobs), now - 10 * MS, now);
    }
    end(it);
}

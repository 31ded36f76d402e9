/* timers.h sentence by sentence, on virtual time. */
#include "support/sanitized.h"
#include "timers_test.h"

TEST(start_takes_absolute_deadlines_and_limits_of_fires) {
    struct tw_runtime *rt = virtual_runtime();
    struct tw_timers *set = new_set(rt, (struct tw_set_options){0});
    struct probe thrice = {.rt = rt}, past = {.rt = rt};
    assert_ok(tw_runtime_advance(rt, 100 * MS));
    start(set, &thrice,
          (struct tw_when){
              .due_ns = 150 * MS, .absolute = 1, .period_ns = 7 * MS, .missed = TW_BURST, .fires = 3});
    start(set, &past, (struct tw_when){.due_ns = 20 * MS, .absolute = 1});
    assert_ok(tw_runtime_advance(rt, 0));
    assert_int_equal(past.fires, 1);
    assert_int_equal(past.due_ns, 20 * MS);
    assert_ok(tw_runtime_advance(rt, TW_SECOND));
    assert_int_equal(thrice.fires, 3);
    assert_int_equal(thrice.due_ns, 164 * MS);
    assert_int_equal(tw_timer_cancel(set, thrice.id), -ESTALE);
    assert_int_equal(tw_timers_count(set), 0);
    tw_runtime_free(rt);
}

/* Answers of the runtime to the thread that runs the callback. */
static int64_t due_inside;
static uint64_t overruns_inside;
static void ask_runtime(struct probe *timer) {
    due_inside = tw_runtime_due(timer->rt);
    overruns_inside = tw_runtime_overruns(timer->rt);
}

/* The timer has a period of 10 ms and is due at 10; then the runtime stalls for 55 ms. */
TEST(events_tell_what_was_due_and_how_much_was_missed) {
    const struct {
        enum tw_missed missed;
        unsigned fires;
        int64_t last_due, next_due;
    } rules[] = {
        {TW_BURST, 5, 50 * MS, 60 * MS},
        {TW_COALESCE, 1, 10 * MS, 60 * MS},
        {TW_DELAY, 1, 10 * MS, 65 * MS},
    };
    for (unsigned r = 0; r < COUNT_OF(rules); ++r) {
        struct tw_runtime *rt = virtual_runtime();
        struct tw_timers *set = new_set(rt, (struct tw_set_options){0});
        struct probe often = {.rt = rt, .inside = ask_runtime}, once = {.rt = rt};
        assert_int_equal(tw_timer_every(set, &often.id, 10 * MS, rules[r].missed, note_fire, &often), 0);
        start_after(set, &once, 10 * MS);
        assert_ok(tw_runtime_leap(rt, 55 * MS));
        assert_int_equal(often.fires, rules[r].fires);
        assert_int_equal(often.due_ns, rules[r].last_due);
        assert_int_equal(often.overruns, rules[r].missed == TW_BURST ? 0 : 4);
        assert_int_equal(due_inside, often.due_ns);
        assert_int_equal(overruns_inside, often.overruns);
        assert_int_equal(once.overruns, 0);
        assert_int_equal(once.due_ns, 10 * MS);
        assert_int_equal(timer_remaining(set, often.id), rules[r].next_due - 55 * MS);
        tw_runtime_free(rt);
    }
}

/* --- a runtime on the wall clock ------------------------------------------------------- */

TEST(on_the_wall_clock_absolute_deadlines_follow_it_and_delays_do_not) {
    struct tw_runtime *rt =
        new_runtime((struct tw_runtime_options){.driver = "manual", .clock = TW_CLOCK_WALL});
    struct tw_timers *set = new_set(rt, (struct tw_set_options){0});
    struct probe at_noon = {.rt = rt}, delayed = {.rt = rt}, prevented = {.rt = rt};
    assert_ok(tw_runtime_set_wall(rt, 1000 * TW_SECOND));
    start(set, &at_noon, (struct tw_when){.due_ns = 1010 * TW_SECOND, .absolute = 1});
    start(set, &prevented, (struct tw_when){.due_ns = 1010 * TW_SECOND, .absolute = 1});
    start_after(set, &delayed, 5 * TW_SECOND);
    assert_int_equal(timer_remaining(set, at_noon.id), 10 * TW_SECOND);
    assert_ok(tw_runtime_set_wall(rt, 1009 * TW_SECOND));
    assert_int_equal(timer_remaining(set, at_noon.id), TW_SECOND);
    assert_int_equal(timer_remaining(set, delayed.id), 5 * TW_SECOND);
    assert_int_equal(tw_timer_cancel_wait(set, prevented.id), 1);
    assert_ok(tw_runtime_advance(rt, TW_SECOND));
    assert_int_equal(at_noon.fires, 1);
    assert_int_equal(at_noon.due_ns, 1010 * TW_SECOND);
    assert_int_equal(delayed.fires, 0);
    assert_int_equal(tw_timer_move(set, delayed.id, TW_SECOND), 0);
    assert_ok(tw_runtime_set_wall(rt, 0));
    assert_ok(tw_runtime_advance(rt, TW_SECOND));
    assert_int_equal(delayed.fires, 1);
    assert_int_equal(delayed.due_ns, 2 * TW_SECOND);
    assert_int_equal(tw_timers_count(set), 0);
    tw_runtime_free(rt);
    assert_int_equal(prevented.fires, 0);
}

/* --- one runtime inside another ---------------------------------------------------------- */

static struct tw_runtime *inner;
static int64_t inner_due;

static void ask_due(UNUSED struct tw_node *node, UNUSED void *arg) { inner_due = tw_runtime_due(inner); }
static void advance_inner(UNUSED struct probe *timer) { assert_ok(tw_runtime_advance(inner, 7 * MS)); }

TEST(a_runtime_driven_in_a_callback_of_another_tells_its_own_deadline) {
    struct tw_runtime *const rt = virtual_runtime();
    struct tw_node node;
    struct probe probe = {.rt = rt, .inside = advance_inner};
    inner = virtual_runtime();
    assert_ok(tw_node_init(&node, ask_due, NULL));
    assert_ok(tw_runtime_after(inner, &node, 7 * MS));
    start_after(new_set(rt, (struct tw_set_options){0}), &probe, 10 * MS);
    assert_ok(tw_runtime_advance(rt, 10 * MS));
    assert_int_equal(inner_due, 7 * MS);
    tw_runtime_free(inner);
    tw_runtime_free(rt);
}

/* --- sets ------------------------------------------------------------------------------ */

/* P14: each call is refused and changes nothing. */
static void bad_sets_are_refused(struct tw_runtime *rt, struct tw_workers *of_another) {
    struct tw_timers *none = NULL;
    const struct tw_set_options bad_options[] = {
        {.capacity = TW_TIMERS_MAX + 1}, {.storage = 4097}, {.storage = SIZE_MAX}, {.workers = of_another}};
    for (unsigned i = 0; i < COUNT_OF(bad_options); ++i)
        assert_int_equal(tw_timers_new(&none, rt, &bad_options[i]), -EINVAL);
    assert_int_equal(tw_timers_new(&none, NULL, NULL), -EINVAL);
    assert_null(none);
    assert_int_equal(tw_timers_new(NULL, rt, NULL), -EINVAL);
    assert_int_equal(tw_timers_cancel_all(NULL, NULL, NULL), -EINVAL);
}

static int64_t never(UNUSED int64_t due_ns, UNUSED void *arg) { return TW_NO_DEADLINE; }

static void bad_starts_are_refused(struct tw_timers *set, struct probe *timer) {
    const struct tw_when good = {.due_ns = MS}, periodic = {.due_ns = MS, .period_ns = MS};
    const struct tw_when bad_whens[] = {{.due_ns = -1},
                                        {.slack_ns = -1},
                                        {.period_ns = -MS},
                                        {.period_ns = MS - 1},
                                        {.due_ns = INT64_MIN, .absolute = 1},
                                        {.missed = (enum tw_missed)77, .period_ns = MS},
                                        {.fires = TW_FIRES_MAX + 1, .period_ns = MS}};
    const struct tw_task task = task_of(timer);
    const struct tw_task bad_tasks[] = {
        {.arg = timer, .drop = note_drop},
        {.fn = note_fire, .arg = timer, .arg_size = 9, .drop = note_drop},
        {.fn = note_fire, .arg_size = 8, .drop = note_drop},
    };
    const struct tw_task scheduled = {.fn = note_fire, .arg = timer, .next = never, .drop = note_drop};
    tw_handle id = 99;
    for (unsigned i = 0; i < COUNT_OF(bad_whens); ++i)
        assert_int_equal(tw_timer_start(set, &id, &bad_whens[i], &task), -EINVAL);
    for (unsigned i = 0; i < COUNT_OF(bad_tasks); ++i)
        assert_int_equal(tw_timer_start(set, &id, &good, &bad_tasks[i]), -EINVAL);
    assert_int_equal(tw_timer_start(set, &id, &periodic, &scheduled), -EINVAL);
    assert_int_equal(tw_timer_start(set, &id, &good, NULL), -EINVAL);
    assert_int_equal(tw_timer_start(set, &id, NULL, &task), -EINVAL);
    assert_int_equal(tw_timer_start(set, NULL, &good, &task), -EINVAL);
    assert_int_equal(tw_timer_start(NULL, &id, &good, &task), -EINVAL);
    assert_int_equal(tw_timer_after(set, &id, -1, note_fire, timer), -EINVAL);
    assert_int_equal(tw_timer_after(set, &id, 1, NULL, timer), -EINVAL);
    assert_int_equal(tw_timer_every(set, &id, 0, TW_COALESCE, note_fire, timer), -EINVAL);
    assert_int_equal(tw_timer_every(set, &id, -MS, TW_COALESCE, note_fire, timer), -EINVAL);
    assert_int_equal(tw_timer_every(set, &id, MS / 2, TW_COALESCE, note_fire, timer), -EINVAL);
    assert_int_equal(tw_timer_every(set, &id, MS, (enum tw_missed)77, note_fire, timer), -EINVAL);
    assert_int_equal(id, 99);
}

TEST(p14_bad_input_is_refused_and_changes_nothing) {
    struct tw_runtime *rt = virtual_runtime(), *other = virtual_runtime();
    struct tw_timers *set = new_set(rt, (struct tw_set_options){.storage = 8});
    struct tw_workers *workers = NULL;
    struct probe timer = {.rt = rt};
    start_after(set, &timer, 10 * MS);
    assert_int_equal(tw_workers_new(&workers, other, NULL), 0);

    bad_sets_are_refused(rt, workers);
    bad_starts_are_refused(set, &timer);
    assert_int_equal(tw_timer_move(set, timer.id, -1), -EINVAL);
    assert_int_equal(tw_timer_move(NULL, timer.id, 1), -EINVAL);
    assert_int_equal(tw_timer_again(NULL, timer.id), -EINVAL);
    assert_int_equal(tw_timer_cancel(NULL, timer.id), -EINVAL);
    assert_int_equal(tw_timer_cancel_wait(NULL, timer.id), -EINVAL);
    assert_int_equal(timer_remaining(NULL, timer.id), TW_NO_DEADLINE);
    assert_int_equal(tw_timers_count(NULL), 0);

    assert_int_equal(tw_timers_count(set), 1);
    assert_int_equal(tw_runtime_count(rt), 1);
    assert_int_equal(timer_remaining(set, timer.id), 10 * MS);
    assert_ok(tw_runtime_advance(rt, TW_SECOND));
    assert_int_equal(timer.fires, 1);
    assert_int_equal(timer.drops, 1);
    tw_runtime_free(other);
    tw_runtime_free(rt);
}

static void nothing(UNUSED struct tw_node *node, UNUSED void *arg) {}

/* A deadline that no clock reaches is valid, and differs from the answer for a timer that is gone. */
TEST(the_longest_delay_does_not_overflow) {
    struct tw_runtime *rt = virtual_runtime();
    struct tw_timers *set = new_set(rt, (struct tw_set_options){0});
    struct probe timer = {.rt = rt};
    struct tw_node node;
    start_after(set, &timer, INT64_MAX);
    assert_ok(tw_node_init(&node, nothing, NULL));
    assert_ok(tw_runtime_after(rt, &node, INT64_MAX));
    assert_int_equal(timer_remaining(set, timer.id), TW_NO_DEADLINE - 1);
    assert_int_equal(tw_runtime_remaining(rt, &node), TW_NO_DEADLINE - 1);
    assert_ok(tw_runtime_advance(rt, 1000 * TW_SECOND));
    assert_int_equal(tw_timer_move(set, timer.id, INT64_MAX), 0);
    assert_int_equal(tw_timer_move(set, timer.id, INT64_MAX), 0);
    assert_int_equal(tw_timer_again(set, timer.id), 0);
    assert_true(timer_remaining(set, timer.id) > INT64_MAX / 2);
    assert_int_equal(timer.fires, 0);
    assert_int_equal(tw_timer_move(set, timer.id, 0), 0);
    assert_ok(tw_runtime_advance(rt, 0));
    assert_int_equal(timer.fires, 1);
    tw_runtime_free(rt);
}

/* --- from inside. Callbacks that start, cancel, move, query and free sets: fuzz/play.c --------- */

static int64_t answers[3];
static void stop_twice_and_cancel_all(struct probe *timer) {
    answers[0] = tw_timer_cancel(timer->set, timer->id);
    answers[1] = tw_timer_cancel(timer->set, timer->id);
    answers[2] = tw_timers_cancel_all(timer->set, NULL, NULL);
}

TEST(a_timer_that_its_last_callback_cancels_is_gone_for_calls_from_there) {
    for (int has_drop = 0; has_drop < 2; ++has_drop) {
        struct tw_runtime *rt = virtual_runtime();
        struct tw_timers *set = new_set(rt, (struct tw_set_options){0});
        struct probe timer = {.set = set, .inside = stop_twice_and_cancel_all};
        if (has_drop)
            start_after(set, &timer, MS);
        else
            assert_int_equal(tw_timer_after(set, &timer.id, MS, note_fire, &timer), 0);
        assert_ok(tw_runtime_advance(rt, MS));
        assert_int_equal(answers[0], 0);
        assert_int_equal(answers[1], -ESTALE);
        assert_int_equal(answers[2], 0);
        assert_int_equal(timer.drops, has_drop);
        assert_int_equal(tw_timers_count(set), 0);
        tw_runtime_free(rt);
    }
}

static void restart_when_dropped(void *arg) {
    struct probe *timer = arg;
    const struct tw_task task = task_of(timer->other);
    const struct tw_when at_once = {0};
    atomic_fetch_add(&timer->drops, 1);
    timer->answer = tw_timer_start(timer->set, &timer->other->id, &at_once, &task);
}

/* It may not do so in a set that is being freed. */
TEST(drop_may_start_timers) {
    struct tw_runtime *rt = virtual_runtime();
    struct tw_timers *set = new_set(rt, (struct tw_set_options){0});
    struct probe second = {.set = set}, first = {.set = set, .answer = 99, .other = &second};
    const struct tw_when soon = {.due_ns = MS};
    const struct tw_task task = {.fn = note_fire, .arg = &first, .drop = restart_when_dropped};
    assert_int_equal(tw_timer_start(set, &first.id, &soon, &task), 0);
    assert_int_equal(tw_timer_cancel(set, first.id), 1);
    assert_int_equal(first.answer, 0);
    assert_ok(tw_runtime_advance(rt, 0));
    assert_int_equal(second.fires, 1);
    assert_int_equal(second.drops, 1);
    assert_int_equal(tw_timer_start(set, &first.id, &soon, &task), 0);
    assert_int_equal(tw_timers_free(set), 0);
    assert_int_equal(first.answer, -EPERM);
    assert_int_equal(second.drops, 1);
    tw_runtime_free(rt);
}

static void free_set_in_drop(void *arg) {
    struct probe *timer = arg;
    timer->answer = tw_timers_free(timer->set);
}

TEST(a_set_is_not_freed_from_inside_a_drop) {
    struct tw_runtime *rt = virtual_runtime();
    struct tw_timers *set = new_set(rt, (struct tw_set_options){0});
    struct probe timer = {.set = set};
    const struct tw_when soon = {.due_ns = MS};
    const struct tw_task task = {.fn = note_fire, .arg = &timer, .drop = free_set_in_drop};
    assert_int_equal(tw_timer_start(set, &timer.id, &soon, &task), 0);
    assert_ok(tw_runtime_advance(rt, MS));
    assert_int_equal(timer.answer, -EBUSY);
    assert_int_equal(tw_timers_free(set), 0);
    assert_int_equal(tw_timers_free(NULL), 0);
    tw_runtime_free(rt);
}

/* --- a custom schedule: a user's function returns the next deadline; see also fuzz/play.c ------- */

static unsigned asked;

static struct tw_timers *scheduled(struct tw_runtime *rt, struct probe *timer, tw_next_deadline *next) {
    struct tw_timers *set = new_set(rt, (struct tw_set_options){.capacity = 1});
    struct tw_task task = task_of(timer);
    task.next = next;
    asked = 0;
    assert_int_equal(tw_timer_start(set, &timer->id, NULL, &task), 0);
    return set;
}

#define HOUR (3600 * TW_SECOND)
#define DAY (24 * HOUR)

/* At 6:30 on each day except at weekends; 1970 began on a Thursday. */
static int64_t on_workdays(int64_t due_ns, UNUSED void *arg) {
    int64_t at = due_ns - due_ns % DAY + 6 * HOUR + HOUR / 2;
    while (at <= due_ns || (at / DAY + 4) % 7 % 6 == 0) /* 0 and 6: Sunday and Saturday */
        at += DAY;
    return at;
}

TEST(a_calendar_on_the_wall_clock) {
    static const int64_t days[] = {1, 4, 5, 6, 7, 8, 11};
    struct probe timer = {.fires = 0};
    struct tw_runtime *rt = new_runtime(
        (struct tw_runtime_options){.driver = "manual", .clock = TW_CLOCK_WALL, .tick_ns = TW_SECOND});
    assert_ok(tw_runtime_set_wall(rt, 7 * HOUR)); /* Thursday, after 6:30 */
    scheduled(rt, &timer, on_workdays);
    for (unsigned i = 0; i < COUNT_OF(days); ++i) {
        const int64_t due = days[i] * DAY + 6 * HOUR + HOUR / 2;
        /* as if the machine had been suspended until then */
        assert_ok(tw_runtime_set_wall(rt, due - TW_SECOND));
        assert_ok(tw_runtime_advance(rt, 0));
        assert_int_equal(timer.fires, i);
        assert_ok(tw_runtime_advance(rt, TW_SECOND));
        assert_int_equal(timer.fires, i + 1);
        assert_int_equal(timer.due_ns, due);
    }
    tw_runtime_free(rt);
}

static int64_t five_times_in_the_past(int64_t due_ns, UNUSED void *arg) {
    return ++asked > 5 ? TW_NO_DEADLINE : due_ns - TW_SECOND;
}

TEST(a_deadline_that_has_passed_fires_at_once) {
    struct probe timer = {.fires = 0};
    struct tw_runtime *rt = virtual_runtime();
    assert_ok(tw_runtime_advance(rt, MS));
    struct tw_timers *set = scheduled(rt, &timer, five_times_in_the_past); /* deadlines below 0 count as 0 */
    assert_ok(tw_runtime_advance(rt, 0));
    assert_int_equal(timer.fires, 5);
    assert_int_equal(timer.drops, 1);
    assert_int_equal(tw_timers_count(set), 0);
    tw_runtime_free(rt);
}

/* --- arguments that the set copies into its records ------------------------------------------------- */

struct parcel {
    unsigned char bytes[40];
    struct parcel *seen; /* where callbacks and drop leave a copy */
    const void *at;      /* the address that they got */
};

static void deliver(UNUSED const struct tw_event *event, void *arg) {
    struct parcel *parcel = arg;
    *parcel->seen = *parcel;
    parcel->seen->at = arg;
}

static void deliver_dropped(void *arg) { deliver(NULL, arg); }

static void copy_backwards(void *to, void *from) {
    struct parcel *copy = to;
    *copy = *(struct parcel *)from;
    for (unsigned i = 0; i < sizeof copy->bytes; ++i)
        copy->bytes[i] = ((struct parcel *)from)->bytes[sizeof copy->bytes - 1 - i];
}

static struct parcel packed(unsigned char first, struct parcel *seen) {
    struct parcel parcel = {.seen = seen};
    for (unsigned i = 0; i < sizeof parcel.bytes; ++i)
        parcel.bytes[i] = (unsigned char)(first + i);
    return parcel;
}

TEST(an_argument_is_copied_into_the_timer) {
    enum { TIMERS = 70 }; /* more than one slab */
    static struct parcel fired[TIMERS], dropped[TIMERS];
    struct tw_runtime *rt = virtual_runtime();
    struct tw_timers *set =
        new_set(rt, (struct tw_set_options){.capacity = 2 * TIMERS, .storage = sizeof(struct parcel)});
    const struct tw_when soon = {.due_ns = MS};
    tw_handle fires, stopped;
    for (unsigned i = 0; i < TIMERS; ++i) {
        struct parcel a = packed((unsigned char)i, &fired[i]),
                      b = packed((unsigned char)(2 * i), &dropped[i]);
        const struct tw_task by_memcpy = {.fn = deliver, .arg = &a, .arg_size = sizeof a};
        const struct tw_task by_function = {
            .fn = deliver, .arg = &b, .arg_size = sizeof b, .copy = copy_backwards, .drop = deliver_dropped};
        assert_int_equal(tw_timer_start(set, &fires, &soon, &by_memcpy), 0);
        assert_int_equal(tw_timer_start(set, &stopped, &soon, &by_function), 0);
        memset(&a, 0, sizeof a);
        memset(&b, 0, sizeof b);
        assert_int_equal(tw_timer_cancel(set, stopped), 1);
    }
    assert_ok(tw_runtime_advance(rt, MS));
    for (unsigned i = 0; i < TIMERS; ++i) {
        assert_int_equal((uintptr_t)fired[i].at % 16, 0);
        assert_int_equal((uintptr_t)dropped[i].at % 16, 0);
        for (unsigned b = 0; b < sizeof fired[i].bytes; ++b) {
            assert_int_equal(fired[i].bytes[b], (unsigned char)(i + b));
            assert_int_equal(dropped[i].bytes[b], (unsigned char)(2 * i + 39 - b));
        }
    }
    tw_runtime_free(rt);
}

static tw_handle told;
static void note_fire_of(const struct tw_event *event, UNUSED void *arg) { told = event->handle; }

TEST(storage_is_there_to_its_last_byte) {
    static const size_t sizes[] = {1, 15, 16, 17, 64, 4095, 4096};
    static unsigned char bytes[4096];
    struct tw_runtime *rt = virtual_runtime();
    for (unsigned s = 0; s < COUNT_OF(sizes); ++s) {
        struct tw_timers *set = new_set(rt, (struct tw_set_options){.capacity = 2, .storage = sizes[s]});
        const struct tw_when soon = {.due_ns = MS};
        struct tw_task task = {.fn = note_fire_of, .arg = bytes, .arg_size = sizes[s]};
        tw_handle ids[2];
        for (unsigned i = 0; i < 2; ++i)
            assert_int_equal(tw_timer_start(set, &ids[i], &soon, &task), 0);
        task.arg_size = sizes[s] + 1;
        assert_int_equal(tw_timer_cancel(set, ids[0]), 1);
        assert_int_equal(tw_timer_start(set, &ids[0], &soon, &task), -EINVAL);
        assert_ok(tw_runtime_advance(rt, MS));
        assert_int_equal(told, ids[1]);
        assert_int_equal(tw_timers_free(set), 0);
    }
    tw_runtime_free(rt);
}

static int64_t no_deadline(UNUSED int64_t due_ns, UNUSED void *arg) { return TW_NO_DEADLINE; }

/* A start that is refused before it calls `copy` drops nothing; a start that is refused later drops the copy
 * once. */
TEST(a_start_that_fails_after_copying_drops_the_copy) {
    static struct parcel dropped;
    struct tw_runtime *rt = virtual_runtime();
    struct tw_timers *set =
        new_set(rt, (struct tw_set_options){.capacity = 1, .storage = sizeof(struct parcel)});
    struct parcel parcel = packed(7, &dropped);
    struct tw_task task = {.fn = deliver,
                           .arg = &parcel,
                           .next = no_deadline,
                           .drop = deliver_dropped,
                           .arg_size = sizeof parcel};
    tw_handle id = 99;
    assert_int_equal(tw_timer_start(set, &id, NULL, &task), -ENOENT);
    assert_null(dropped.at); /* copied by memcpy: the caller still owns the argument */
    task.copy = copy_backwards;
    assert_int_equal(tw_timer_start(set, &id, NULL, &task), -ENOENT);
    assert_non_null(dropped.at);
    assert_int_equal(dropped.bytes[0], 46);
    assert_int_equal(id, 99);
    assert_int_equal(tw_timers_count(set), 0);
    assert_int_equal(tw_timer_after(set, &id, MS, note_fire_of, NULL), 0); /* its cell is free */
    dropped.at = NULL;
    assert_int_equal(tw_timer_start(set, &id, NULL, &task), -ENOSPC);
    assert_null(dropped.at);
    tw_runtime_free(rt);
}

static int64_t time_to_cancel_all(struct tw_timers *set, unsigned timers) {
    struct probe probe = {0};
    for (unsigned i = 0; i < timers; ++i)
        start_after(set, &probe, 3600 * TW_SECOND);
    const int64_t begin = reading_of(CLOCK_THREAD_CPUTIME_ID);
    assert_int_equal(tw_timers_cancel_all(set, NULL, NULL), timers);
    return reading_of(CLOCK_THREAD_CPUTIME_ID) - begin;
}

TEST(cancel_all_takes_no_time_for_what_was_there_before_the_set_was_empty) {
    struct tw_runtime *rt = virtual_runtime();
    struct tw_timers *set = new_set(rt, (struct tw_set_options){0});
    const int64_t time_for_many = time_to_cancel_all(set, SLOW ? 60000 : 200000);
    int64_t least = INT64_MAX;
    for (unsigned tries = 0; tries < 5; ++tries) {
        const int64_t time = time_to_cancel_all(set, 0) + time_to_cancel_all(set, 3);
        least = time < least ? time : least;
    }
    assert_true(least < time_for_many / 50);
    tw_runtime_free(rt);
}

/* Callbacks that act on timers: their own, each other's, their set and their runtime. */
#include "handles_test.h"

static void stop_itself(struct probe *it) { it->answer = tw_handle_stop(it->set, it->id); }
static void stop_and_wait_for_itself(struct probe *it) { it->answer = tw_handle_stop_wait(it->set, it->id); }
static void move_itself(struct probe *it) { it->answer = tw_handle_move(it->set, it->id, 3 * MS); }
static void stop_other(struct probe *it) { it->answer = tw_handle_stop(it->other->set, it->other->id); }
static void stop_and_wait_for_other(struct probe *it) {
    it->answer = tw_handle_stop_wait(it->other->set, it->other->id);
}

/* Returns 1 if fires were still to come, 0 if this was the last. */
TEST(stop_from_its_own_callback_says_whether_there_were_fires_to_come) {
    void (*const ways[])(struct probe *) = {stop_itself, stop_and_wait_for_itself};
    for (unsigned w = 0; w < COUNT_OF(ways); ++w) {
        struct tw_runtime *rt = virtual_runtime();
        struct tw_handles *set = new_set(rt, (struct tw_handles_options){0});
        struct probe once = {.inside = ways[w], .answer = 99}, often = once, last = once;
        start_after(set, &once, MS);
        start_every(set, &often, MS);
        start(set, &last, (struct tw_when){.due_ns = MS, .period_ns = MS, .fires = 1});
        assert_ok(tw_runtime_advance(rt, 10 * MS));
        assert_int_equal(once.answer, 0);
        assert_int_equal(often.answer, 1);
        assert_int_equal(last.answer, 0);
        assert_int_equal(once.fires + often.fires + last.fires, 3);
        assert_int_equal(once.drops + often.drops + last.drops, 3);
        assert_int_equal(tw_handles_count(set), 0);
        tw_runtime_free(rt);
    }
}

static void note_drops_inside(struct probe *it) {
    stop_itself(it);
    assert_int_equal(tw_handle_stop(it->set, it->id), -ESTALE);
    assert_int_equal(it->drops, 0); /* the argument is in use */
    assert_int_equal(tw_handles_count(it->set), 1);
}

TEST(a_timer_that_was_stopped_by_its_callback_is_dropped_after_that) {
    struct tw_runtime *rt = virtual_runtime();
    struct tw_handles *set = new_set(rt, (struct tw_handles_options){0});
    struct probe it = {.inside = note_drops_inside};
    start_every(set, &it, MS);
    assert_ok(tw_runtime_advance(rt, 10 * MS));
    assert_int_equal(it.fires, 1);
    assert_int_equal(it.drops, 1);
    tw_runtime_free(rt);
}

/* Both are due: the first callback prevents the second. */
TEST(stop_from_another_callback_on_the_same_tick_prevents_the_fire) {
    void (*const ways[])(struct probe *) = {stop_other, stop_and_wait_for_other};
    for (unsigned w = 0; w < COUNT_OF(ways); ++w) {
        struct tw_runtime *rt = virtual_runtime();
        struct tw_handles *set = new_set(rt, (struct tw_handles_options){0});
        struct probe first = {.inside = ways[w]}, second = {.rt = rt};
        first.other = &second;
        start_after(set, &first, MS);
        (w == 0 ? start_after : start_every)(set, &second, MS);
        assert_ok(tw_runtime_advance(rt, 10 * MS));
        assert_int_equal(first.answer, 1);
        assert_int_equal(second.fires, 0);
        assert_int_equal(second.drops, 1);
        tw_runtime_free(rt);
    }
}

TEST(move_from_its_own_callback) {
    struct tw_runtime *rt = virtual_runtime();
    struct tw_handles *set = new_set(rt, (struct tw_handles_options){0});
    struct probe once = {.inside = move_itself}, often = once;
    start_after(set, &once, MS);
    start(set, &often, (struct tw_when){.due_ns = MS, .period_ns = 10 * MS, .fires = 3});
    assert_ok(tw_runtime_advance(rt, MS));
    assert_int_equal(once.answer, -EBUSY); /* its last fire can no longer be moved */
    assert_int_equal(often.answer, 0);
    assert_int_equal(tw_handle_remaining(set, often.id), 3 * MS);
    assert_ok(tw_runtime_advance(rt, TW_SECOND));
    assert_int_equal(often.fires, 3);
    assert_int_equal(often.answer, -EBUSY);
    assert_int_equal(often.due_ns, 7 * MS);
    tw_runtime_free(rt);
}

static void ask_of_itself(struct probe *it) {
    it->answer = tw_handle_remaining(it->set, it->id) == 0 && tw_handles_count(it->set) == 1;
}

TEST(a_timer_whose_last_callback_runs_is_there_and_due) {
    struct tw_runtime *rt = virtual_runtime();
    struct tw_handles *set = new_set(rt, (struct tw_handles_options){0});
    struct probe it = {.inside = ask_of_itself};
    start_after(set, &it, MS);
    assert_ok(tw_runtime_advance(rt, MS));
    assert_int_equal(it.answer, 1);
    tw_runtime_free(rt);
}

/* --- starting ------------------------------------------------------------------------- */

static void start_other(struct probe *it) {
    const struct tw_task task = task_of(it->other);
    const struct tw_when at_once = {0};
    it->other->set = it->set;
    it->answer = tw_handle_start(it->set, &it->other->id, &at_once, &task);
}

TEST(callbacks_start_timers_of_their_own_set) {
    struct tw_runtime *rt = virtual_runtime();
    struct tw_handles *set = new_set(rt, (struct tw_handles_options){.capacity = 2});
    struct probe chain[3] = {{.inside = start_other}, {.inside = start_other}, {.answer = 0}};
    chain[0].other = &chain[1];
    chain[1].other = &chain[2];
    start_after(set, &chain[0], MS);
    assert_ok(tw_runtime_advance(rt, MS));
    for (unsigned i = 0; i < 3; ++i) {
        assert_int_equal(chain[i].answer, 0);
        assert_int_equal(chain[i].fires, 1);
        assert_int_equal(chain[i].drops, 1);
    }
    tw_runtime_free(rt);
}

TEST(the_timer_whose_callback_runs_has_its_place_until_it_has_returned) {
    struct tw_runtime *rt = virtual_runtime();
    struct tw_handles *set = new_set(rt, (struct tw_handles_options){.capacity = 1});
    struct probe full = {.inside = start_other}, refused = {.rt = rt};
    full.other = &refused;
    start_after(set, &full, MS);
    assert_ok(tw_runtime_advance(rt, TW_SECOND));
    assert_int_equal(full.answer, -ENOSPC);
    assert_int_equal(refused.fires + refused.drops, 0);
    tw_runtime_free(rt);
}

static void restart_when_dropped(void *arg) {
    struct probe *it = arg;
    if (atomic_fetch_add(&it->drops, 1) == 0)
        start_other(it);
}

TEST(drop_may_start_timers) {
    struct tw_runtime *rt = virtual_runtime();
    struct tw_handles *set = new_set(rt, (struct tw_handles_options){0});
    struct probe first = {.set = set}, second = {.set = set};
    first.other = &second;
    const struct tw_when soon = {.due_ns = MS};
    const struct tw_task task = {.fn = note_fire, .arg = &first, .drop = restart_when_dropped};
    assert_int_equal(tw_handle_start(set, &first.id, &soon, &task), 0);
    assert_int_equal(tw_handle_stop(set, first.id), 1);
    assert_int_equal(first.answer, 0);
    assert_ok(tw_runtime_advance(rt, 0));
    assert_int_equal(second.fires, 1);
    assert_int_equal(second.drops, 1);
    tw_runtime_free(rt);
}

/* --- freeing -------------------------------------------------------------------------- */

static void free_set(struct probe *it) { it->answer = tw_handles_free(it->set); }

static int64_t free_set_in_next(UNUSED int64_t due_ns, void *arg) {
    free_set(arg);
    return TW_NO_DEADLINE;
}

static void free_set_in_drop(void *arg) { free_set(arg); }

TEST(a_set_is_not_freed_from_inside_its_timers) {
    struct tw_runtime *rt = virtual_runtime();
    struct tw_handles *set = new_set(rt, (struct tw_handles_options){0});
    struct probe it[3] = {{.inside = free_set, .set = set}, {.set = set}, {.set = set}};
    const struct tw_when soon = {.due_ns = MS};
    const struct tw_task tasks[] = {{.fn = note_fire, .arg = &it[0]},
                                    {.fn = note_fire, .arg = &it[1], .next = free_set_in_next},
                                    {.fn = note_fire, .arg = &it[2], .drop = free_set_in_drop}};
    for (unsigned i = 0; i < 3; ++i)
        assert_int_equal(tw_handle_start(set, &it[i].id, &soon, &tasks[i]), 0);
    assert_ok(tw_runtime_advance(rt, MS));
    for (unsigned i = 0; i < 3; ++i) {
        assert_int_equal(it[i].answer, -EBUSY);
        assert_int_equal(it[i].fires, 1);
    }
    assert_int_equal(tw_handles_free(set), 0);
    tw_runtime_free(rt);
}

static void free_set_of_other(struct probe *it) { it->answer = tw_handles_free(it->other->set); }

TEST(a_set_is_freed_from_inside_timers_of_another) {
    struct tw_runtime *rt = virtual_runtime();
    struct tw_handles *sets[2] = {new_set(rt, (struct tw_handles_options){0}),
                                  new_set(rt, (struct tw_handles_options){0})};
    struct probe first = {.inside = free_set_of_other}, second = {.rt = rt};
    first.other = &second;
    start_after(sets[0], &first, MS);
    start_after(sets[1], &second, MS); /* also due */
    assert_ok(tw_runtime_advance(rt, MS));
    assert_int_equal(first.answer, 0);
    assert_int_equal(second.fires, 0);
    assert_int_equal(second.drops, 1);
    tw_runtime_free(rt);
}

static void free_runtime(struct probe *it) { it->answer = tw_runtime_free(it->rt); }

TEST(the_runtime_is_freed_from_inside_a_timer_and_all_are_dropped) {
    struct tw_runtime *rt = virtual_runtime();
    struct tw_handles *sets[2] = {new_set(rt, (struct tw_handles_options){0}),
                                  new_set(rt, (struct tw_handles_options){0})};
    struct probe first = {.inside = free_runtime, .rt = rt, .answer = 99}, due = {0}, far = {0}, often = {0};
    start_after(sets[0], &first, MS);
    start_after(sets[0], &due, MS);
    start_after(sets[1], &far, 3600 * TW_SECOND);
    start_every(sets[1], &often, MS);
    tw_runtime_advance(rt, MS); /* this call frees it */
    assert_int_equal(first.answer, 0);
    assert_int_equal(first.fires, 1);
    assert_int_equal(due.fires + far.fires + often.fires, 0);
    assert_int_equal(first.drops, 1);
    assert_int_equal(due.drops, 1);
    assert_int_equal(far.drops, 1);
    assert_int_equal(often.drops, 1);
}

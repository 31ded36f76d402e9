/* P11: the library refuses a stale handle, and a handle that never existed. The timer that now uses the cell
 * is unaffected. */
#include "support/sanitized.h"
#include "timers_test.h"

#include <pthread.h>

enum { REUSES = SLOW ? 1 << 17 : 1 << 20, BLOCK = 1024 };

static unsigned fires;

static void count(UNUSED const struct tw_event *event, UNUSED void *arg) { ++fires; }

static int64_t end_of_schedule(UNUSED int64_t due_ns, UNUSED void *arg) { return TW_NO_DEADLINE; }

static struct tw_timers *set_of(struct tw_runtime *rt, uint32_t capacity) {
    fires = 0;
    return new_set(rt, (struct tw_set_options){.capacity = capacity});
}

static tw_handle started(struct tw_timers *set, int64_t delay_ns) {
    tw_handle id = TW_NO_HANDLE;
    assert_int_equal(tw_timer_after(set, &id, delay_ns, count, NULL), 0);
    assert_true(id != TW_NO_HANDLE);
    return id;
}

/* The set's only timer is unaffected and fires when due. */
static void assert_fires_once_after(struct tw_runtime *rt, struct tw_timers *set, tw_handle id, int64_t ns) {
    const unsigned before = fires;
    assert_int_equal(tw_timers_count(set), 1);
    assert_int_equal(timer_remaining(set, id), ns);
    assert_ok(tw_runtime_advance(rt, ns - 1));
    assert_int_equal(fires, before);
    assert_ok(tw_runtime_advance(rt, 1));
    assert_int_equal(fires, before + 1);
    assert_int_equal(tw_timers_count(set), 0);
}

/* Covers every way in which a timer ends by itself. */
TEST(p11_a_timer_that_has_ended_by_itself_leaves_a_stale_handle) {
    struct tw_runtime *rt = virtual_runtime();
    struct tw_timers *set = set_of(rt, 3);
    const struct tw_when twice = {.due_ns = TW_SECOND, .period_ns = TW_SECOND, .fires = 2};
    const struct tw_when in_a_second = {.due_ns = TW_SECOND};
    const struct tw_task plain = {.fn = count}, scheduled = {.fn = count, .next = end_of_schedule};
    tw_handle ended[3];
    ended[0] = started(set, TW_SECOND);
    assert_ok(tw_timer_start(set, &ended[1], &twice, &plain));
    assert_ok(tw_timer_start(set, &ended[2], &in_a_second, &scheduled));
    assert_ok(tw_runtime_advance(rt, 2 * TW_SECOND));
    assert_int_equal(fires, 4);
    for (int has_successors = 0; has_successors < 2; ++has_successors) {
        for (unsigned i = 0; i < COUNT_OF(ended); ++i)
            assert_refused(set, ended[i], -ESTALE);
        for (unsigned i = 0; i < COUNT_OF(ended) && !has_successors; ++i)
            started(set, TW_SECOND);
    }
    assert_int_equal(tw_timers_count(set), 3);
    assert_ok(tw_runtime_advance(rt, TW_SECOND));
    assert_int_equal(fires, 7);
    tw_runtime_free(rt);
}

TEST(p11_handles_from_before_a_cancel_all_stay_refused) {
    static tw_handle before[6000], after[3000];
    struct tw_runtime *rt = virtual_runtime();
    struct tw_timers *set = set_of(rt, 0);
    for (unsigned times = 0; times < 5; ++times) {
        for (unsigned i = 0; i < COUNT_OF(before); ++i)
            before[i] = started(set, TW_SECOND);
        assert_int_equal(tw_timers_cancel_all(set, NULL, NULL), COUNT_OF(before));
        for (unsigned i = 0; i < COUNT_OF(before); ++i)
            assert_int_equal(tw_timer_cancel(set, before[i]), -ESTALE);
        for (unsigned i = 0; i < COUNT_OF(after); ++i)
            after[i] = started(set, TW_SECOND);
        for (unsigned i = 0; i < COUNT_OF(before); ++i)
            assert_int_equal(tw_timer_cancel(set, before[i]), -ESTALE);
        for (unsigned i = 0; i < COUNT_OF(after); ++i)
            assert_int_equal(tw_timer_cancel(set, after[i]), 1);
    }
    assert_int_equal(tw_timers_count(set), 0);
    tw_runtime_free(rt);
}

static int by_value(const void *a, const void *b) {
    const tw_handle x = *(const tw_handle *)a, y = *(const tw_handle *)b;
    return (x > y) - (x < y);
}

/* After each reuse, tries the first handle, the last one and a random one. */
TEST(p11_one_cell_is_reused_a_million_times) {
    static tw_handle ids[REUSES];
    uint64_t seed = 11;
    struct tw_runtime *rt = virtual_runtime();
    struct tw_timers *set = set_of(rt, 1);
    for (unsigned i = 0; i < REUSES; ++i) {
        ids[i] = started(set, TW_SECOND);
        for (unsigned tries = 0; tries < 3 && i > 0; ++tries) {
            const uint64_t old = tries == 0 ? 0 : tries == 1 ? i - 1 : random_below(&seed, i);
            assert_int_equal(tw_timer_cancel(set, ids[old]), -ESTALE);
        }
        assert_int_equal(tw_timer_move(set, ids[i / 2], 0), i == 0 ? 0 : -ESTALE);
        assert_int_equal(tw_timer_cancel(set, ids[i]), 1);
    }
    qsort(ids, REUSES, sizeof ids[0], by_value);
    for (unsigned i = 1; i < REUSES; ++i)
        assert_true(ids[i] != ids[i - 1]);
    assert_int_equal(tw_timers_count(set), 0);
    assert_int_equal(fires, 0);
    tw_runtime_free(rt);
}

TEST(p11_what_never_was_a_handle_is_refused) {
    struct tw_runtime *rt = virtual_runtime();
    struct tw_timers *set = set_of(rt, 0);
    const tw_handle id = started(set, TW_SECOND);
    assert_refused(set, TW_NO_HANDLE, -ENOENT);
    assert_refused(set, UINT64_MAX, -ENOENT);
    for (unsigned bit = 0; bit < 64; ++bit) /* from the cell's number to a future generation */
        assert_refused(set, id ^ UINT64_C(1) << bit, -ENOENT);
    for (uint64_t ahead = 1; ahead < 1000; ++ahead) {
        assert_refused(set, id + (ahead << 32), -ENOENT);
        assert_refused(set, id - (ahead << 32), -ENOENT);
        assert_refused(set, id + ahead, -ENOENT);
    }
    uint64_t seed = 1;
    for (unsigned tries = 0; tries < 100000; ++tries) {
        const tw_handle made_up = random_next(&seed);
        if (made_up != id)
            assert_int_equal(tw_timer_cancel(set, made_up), -ENOENT);
    }
    assert_fires_once_after(rt, set, id, TW_SECOND);
    tw_runtime_free(rt);
}

/* A handle of a generation that its cell has not reached yet. */
TEST(p11_a_handle_of_the_future_is_refused_until_its_time) {
    struct tw_runtime *rt = virtual_runtime();
    struct tw_timers *set = set_of(rt, 1);
    const tw_handle first = started(set, TW_SECOND);
    const tw_handle next = first + (UINT64_C(1) << 32);
    assert_refused(set, next, -ENOENT);
    assert_int_equal(tw_timer_cancel(set, first), 1);
    assert_refused(set, next, -ENOENT); /* the cell is free */
    assert_true(started(set, TW_SECOND) == next);
    assert_refused(set, first, -ESTALE);
    assert_fires_once_after(rt, set, next, TW_SECOND);
    assert_refused(set, next, -ESTALE);
    tw_runtime_free(rt);
}

TEST(p11_sets_refuse_each_others_handles) {
    struct tw_runtime *rts[2] = {virtual_runtime(), virtual_runtime()};
    struct tw_timers *sets[3] = {set_of(rts[0], 4), set_of(rts[0], 0), set_of(rts[1], 0)};
    tw_handle ids[3][4], stale[3];
    for (unsigned s = 0; s < 3; ++s) {
        stale[s] = started(sets[s], TW_SECOND);
        assert_int_equal(tw_timer_cancel(sets[s], stale[s]), 1);
        for (unsigned i = 0; i < 4; ++i)
            ids[s][i] = started(sets[s], TW_SECOND);
    }
    for (unsigned s = 0; s < 3; ++s)
        for (unsigned other = 1; other < 3; ++other) {
            for (unsigned i = 0; i < 4; ++i)
                assert_refused(sets[s], ids[(s + other) % 3][i], -ENOENT);
            assert_refused(sets[s], stale[(s + other) % 3], -ENOENT);
        }
    assert_ok(tw_runtime_advance(rts[0], TW_SECOND));
    assert_int_equal(fires, 8);
    assert_ok(tw_runtime_advance(rts[1], TW_SECOND));
    assert_int_equal(fires, 12);
    tw_runtime_free(rts[0]);
    tw_runtime_free(rts[1]);
}

TEST(p11_a_set_of_many_blocks_knows_all_its_handles) {
    enum { TIMERS = 200 * BLOCK + 100 };
    static tw_handle ids[TIMERS], stale[TIMERS / 1000 + 1];
    struct tw_runtime *rt = virtual_runtime();
    struct tw_timers *set = set_of(rt, 0), *other = set_of(rt, 0);
    for (unsigned i = 0; i < TIMERS; ++i)
        ids[i] = started(set, TW_SECOND);
    for (unsigned i = 0; i < TIMERS; i += 1000) {
        stale[i / 1000] = ids[i];
        assert_refused(other, ids[i], -ENOENT);
        assert_int_equal(timer_remaining(set, ids[i]), TW_SECOND);
        assert_int_equal(tw_timer_cancel(set, ids[i]), 1);
        assert_refused(set, ids[i], -ESTALE);
        ids[i] = started(set, TW_SECOND);
    }
    for (unsigned i = 0; i < TIMERS; i += 1000)
        assert_refused(set, stale[i / 1000], -ESTALE);
    assert_int_equal(tw_timers_count(set), TIMERS);
    for (unsigned i = 0; i < TIMERS; i += 2)
        assert_int_equal(tw_timer_cancel(set, ids[i]), 1);
    for (unsigned i = 1; i < TIMERS; i += 2)
        assert_int_equal(tw_timer_move(set, ids[i], 2 * TW_SECOND), 0);
    assert_ok(tw_runtime_advance(rt, 2 * TW_SECOND));
    assert_int_equal(fires, TIMERS / 2);
    assert_int_equal(tw_timers_free(set), 0);
    for (unsigned i = 0; i < TIMERS; i += 1000)
        assert_refused(other, stale[i / 1000], -ENOENT);
    tw_runtime_free(rt);
}

/* --- on another thread, while the cell is being reused ------------------------------------- */

static struct tw_timers *contended;
static _Atomic tw_handle newest_stale;
static atomic_bool is_over;
static atomic_uint wrong_answers, refusals;

static void *use_stale_handles(UNUSED void *arg) {
    while (!atomic_load(&is_over)) {
        const tw_handle id = atomic_load(&newest_stale);
        if (id == TW_NO_HANDLE)
            continue;
        const int stopped = tw_timer_cancel(contended, id), moved = tw_timer_move(contended, id, 0);
        if (stopped != -ESTALE || moved != -ESTALE || tw_timer_cancel_wait(contended, id) != -ESTALE)
            atomic_fetch_add(&wrong_answers, 1);
        atomic_fetch_add(&refusals, 1);
    }
    return NULL;
}

TEST(p11_stale_handles_are_refused_while_their_cell_is_reused) {
    struct tw_runtime *rt = started_runtime((struct tw_runtime_options){.driver = "sleep"});
    pthread_t thread;
    contended = set_of(rt, 1);
    assert_int_equal(pthread_create(&thread, NULL, use_stale_handles, NULL), 0);
    const int64_t patience = monotonic() + 60 * TW_SECOND;
    for (unsigned i = 0; (i < 20000 || atomic_load(&refusals) < 20000) && monotonic() < patience; ++i) {
        const tw_handle id = started(contended, 3600 * TW_SECOND);
        assert_int_equal(tw_timer_cancel(contended, id), 1);
        atomic_store(&newest_stale, id);
    }
    atomic_store(&is_over, true);
    pthread_join(thread, NULL);
    assert_true(refusals >= 20000);
    assert_int_equal(wrong_answers, 0);
    tw_runtime_free(rt);
}

/* --- threads that grow one set at once ------------------------------------------------------- */

enum { GROWERS = 4, EACH = 40000 };
static struct tw_timers *grown;

static void *grow(void *own) {
    tw_handle *const ids = own;
    for (unsigned i = 0; i < EACH; ++i)
        if (tw_timer_after(grown, &ids[i], 3600 * TW_SECOND, count, NULL) != 0)
            return NULL;
    return own;
}

TEST(p11_threads_that_grow_a_set_at_once_have_handles_of_their_own) {
    static tw_handle ids[GROWERS][EACH];
    struct tw_runtime *rt = virtual_runtime();
    pthread_t threads[GROWERS];
    grown = set_of(rt, 0);
    for (unsigned t = 0; t < GROWERS; ++t)
        assert_int_equal(pthread_create(&threads[t], NULL, grow, ids[t]), 0);
    for (unsigned t = 0; t < GROWERS; ++t) {
        void *all_made = NULL;
        pthread_join(threads[t], &all_made);
        assert_non_null(all_made);
    }
    for (unsigned t = 0; t < GROWERS; ++t)
        for (unsigned i = 0; i < EACH; ++i)
            assert_int_equal(tw_timer_cancel(grown, ids[t][i]), 1);
    assert_int_equal(tw_timers_count(grown), 0);
    tw_runtime_free(rt);
}

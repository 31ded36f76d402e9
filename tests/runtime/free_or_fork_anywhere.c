/* P7 and P13 wherever the library calls a user's function: each such function, through each
 * call that leads to it, frees the runtime or forks. The test frees the nodes' memory as soon as
 * tw_runtime_free has returned. The library drops every argument exactly once, and not while a function that
 * uses the argument runs. */
#define _GNU_SOURCE
#include "support/child.h"
#include "support/counted_closes.h"

#include <stdbool.h>
#include <sys/eventfd.h>

#include <tickwheel/keyed.h>
#include <tickwheel/observe.h>
#include <tickwheel/timers.h>
#include <tickwheel/workers.h>

#define MS TW_MILLISECOND

/* Usable on any thread and in any process. */
#define check(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: in %s: not so: %s\n", __FILE__, __LINE__, scene->name, #condition); \
            abort(); \
        } \
    } while (0)

enum function { CALLBACK, NEXT, DROP, COPY, EACH };

enum traits {
    PLAIN = 0,
    STARTS = 1,     /* the call starts a timer; it fails if the runtime is freed, and in a child */
    ENDS_EARLY = 2, /* in a child the call returns an error */
    IS_CUT = 4,     /* the timer that was firing at the fork is not dropped in the child */
    FREES = 8,      /* the call frees the runtime */
    WALKS = 16      /* freeing the runtime ends the walk, but a cancel_all still passes on its timers */
};

struct scene {
    const char *name;
    enum function acts; /* the first of these functions to be called frees or forks */
    int (*play)(void);  /* leads to that function; returns the result of the call */
    const char *driver; /* NULL: any */
    unsigned traits;
};

static bool has(const struct scene *chosen, unsigned traits) { return (chosen->traits & traits) != 0; }

static const struct scene *scene;
static struct tw_runtime *rt;
static struct tw_timers *set, *other_set;
static struct tw_keyed *table;
static struct tw_workers *pool;
static struct tw_node node, *bystanders;
static struct tw_work item;
static void (*act)(void);
static atomic_bool has_acted;
static atomic_int calls[EACH + 1];
static void *_Atomic in_use; /* the argument of the function that runs */
static atomic_int arguments; /* not yet dropped */

/* --- the user's functions -------------------------------------------------------------------- */

static void maybe_act(enum function in) {
    atomic_fetch_add(&calls[in], 1);
    if (in == scene->acts && !atomic_exchange(&has_acted, true))
        act();
}

/* While this runs, `in_use` is the argument: just_drop checks that it is not dropped meanwhile. */
static void maybe_act_with(enum function in, void *arg) {
    atomic_store(&in_use, arg != NULL ? *(void **)arg : NULL);
    maybe_act(in);
    atomic_store(&in_use, NULL);
}

static void on_event(UNUSED const struct tw_event *event, void *arg) { maybe_act_with(CALLBACK, arg); }
static void on_node(UNUSED struct tw_node *fired, UNUSED void *arg) { maybe_act(CALLBACK); }
static void on_ready(UNUSED int fd, UNUSED uint32_t events, UNUSED void *arg) { maybe_act(CALLBACK); }

static int64_t next(int64_t due, void *arg) {
    maybe_act_with(NEXT, arg);
    return due + MS;
}

static int64_t next_is_never(UNUSED int64_t due, UNUSED void *arg) { return TW_NO_DEADLINE; }

static void just_drop(void *arg) {
    check(*(void **)arg != in_use);
    free(*(void **)arg);
    atomic_fetch_sub(&arguments, 1);
}

static void drop(void *arg) {
    maybe_act(DROP);
    just_drop(arg);
}

static void copy(void *to, void *from) {
    memcpy(to, from, sizeof(void *));
    maybe_act(COPY);
}

static int each(const struct tw_entry *entry, UNUSED void *visit_arg) {
    maybe_act_with(EACH, entry->arg);
    return 0;
}

static int each_handle(const struct tw_entry *entry, UNUSED void *visit_arg) {
    maybe_act_with(EACH, entry->arg);
    return 0;
}
static int each_pending(UNUSED const struct tw_entry *timer, UNUSED void *arg) {
    maybe_act(EACH);
    return 0;
}
static void write_text(UNUSED const char *text, UNUSED size_t size, UNUSED void *arg) { maybe_act(CALLBACK); }

/* --- timers --------------------------------------------------------------------------------- */

static const struct tw_when in_an_hour = {.due_ns = 3600 * TW_SECOND}, at_once = {0};
static const struct tw_key name = {.number = 7, .is_number = 1};

/* The argument points to memory of its own, so that a sanitizer notices a missing or second drop. */
static struct tw_task task_with(void **memory, tw_next_deadline *of_own, bool copies) {
    *memory = malloc(1);
    atomic_fetch_add(&arguments, 1);
    return (struct tw_task){.fn = on_event,
                            .arg = memory,
                            .drop = drop,
                            .arg_size = sizeof *memory,
                            .next = of_own,
                            .copy = copies ? copy : NULL};
}

/* If a start fails after copying the argument, the library drops the copy; if it fails before, the argument
 * still belongs to the caller. */
static int start_or_set(bool sets, const struct tw_when *when, tw_next_deadline *of_own, bool copies) {
    void *memory;
    tw_handle id;
    const struct tw_task task = task_with(&memory, of_own, copies);
    const int result = sets ? tw_keyed_set(table, name, when, &task) : tw_timer_start(set, &id, when, &task);
    if (result < 0 && !copies)
        drop(task.arg);
    return result;
}

static tw_handle start_in(struct tw_timers *handles, const struct tw_when *when, void (*own_drop)(void *)) {
    void *memory;
    tw_handle id = TW_NO_HANDLE;
    struct tw_task task = task_with(&memory, NULL, false);
    task.drop = own_drop;
    check(tw_timer_start(handles, &id, when, &task) == 0);
    return id;
}

static tw_handle start(const struct tw_when *when) { return start_in(set, when, drop); }

static void set_key(struct tw_key key) {
    void *memory;
    const struct tw_task task = task_with(&memory, NULL, false);
    check(tw_keyed_set(table, key, &in_an_hour, &task) == 0);
}

/* --- the calls that lead to the user's functions --------------------------------------------- */

static int fire(void) { return tw_runtime_advance(rt, MS); }

static int fire_node(void) {
    check(tw_runtime_after(rt, &node, 0) == 0);
    return fire();
}

static int fire_handle(void) {
    start(&at_once);
    return fire();
}

static int fire_periodic_handle(void) {
    start(&(struct tw_when){.due_ns = MS, .period_ns = MS});
    return fire();
}

static int fire_key(void) {
    check(tw_keyed_after(table, name, 0, on_event, NULL) == 0);
    return fire();
}

static int fire_schedule(void) {
    check(start_or_set(false, &at_once, next, false) == 0);
    return fire();
}

static int dispatch_node(void) {
    check(tw_runtime_after(rt, &node, 0) == 0);
    return tw_runtime_dispatch(rt);
}

static int stop(void) { return tw_timer_cancel(set, start(&in_an_hour)); }
static int stop_and_wait(void) { return tw_timer_cancel_wait(set, start(&in_an_hour)); }
static int free_set(void) { return tw_timers_free(set); }
static int cancel_all_keys(void) { return (int)tw_keyed_cancel_all(table, each, NULL); }
static int cancel_all_handles(void) { return (int)tw_timers_cancel_all(set, each_handle, NULL); }

static int walk_handles(void) { return tw_timers_each(set, each_handle, NULL); }
static int walk_keys(void) { return tw_keyed_each(table, each, NULL); }
static int walk_all(void) { return tw_runtime_each(rt, each_pending, NULL); }

static int walk_all_but_nodes(void) {
    check(tw_runtime_cancel_all(rt, NULL, NULL) == 0);
    return walk_all();
}

static int dump(void) { return tw_runtime_dump(rt, 100, write_text, NULL); }

static void each_node(UNUSED struct tw_node *cancelled, UNUSED void *arg) { maybe_act(EACH); }

static int cancel_all(void) {
    static struct tw_node second;
    tw_node_init(&second, on_node, NULL);
    check(tw_runtime_after(rt, &node, 1000 * TW_SECOND) == 0);
    check(tw_runtime_after(rt, &second, 1001 * TW_SECOND) == 0);
    return tw_runtime_cancel_all(rt, each_node, NULL);
}

static int free_table(void) { return tw_keyed_free(table); }
static int free_rt(void) { return tw_runtime_free(rt); }

static int remove_key(void) {
    set_key(name);
    return tw_keyed_cancel(table, name);
}

static int remove_and_wait(void) {
    set_key(name);
    return tw_keyed_cancel_wait(table, name);
}

static int replace(void) {
    set_key(name);
    return start_or_set(true, &in_an_hour, NULL, false);
}

static int start_copying(void) { return start_or_set(false, &in_an_hour, NULL, true); }
static int start_asking(void) { return start_or_set(false, NULL, next, false); }
static int set_copying(void) { return start_or_set(true, &in_an_hour, NULL, true); }
static int set_asking(void) { return start_or_set(true, NULL, next, false); }

/* A start that is refused must not wake the driver, because the runtime may be gone by then. */
static int start_what_comes_first(void) {
    wait_until_others_sleep();
    return start_or_set(false, &(struct tw_when){.due_ns = 60 * TW_SECOND}, NULL, true);
}

static int start_in_vain(void) {
    check(start_or_set(false, NULL, next_is_never, true) == -ENOENT);
    return 0;
}

/* A fire inside another one. */
static void fire_when_dropped(void *arg) {
    just_drop(arg);
    fire_node(); /* -ECHILD in a child */
}

static int stop_what_fires(void) {
    return tw_timer_cancel(set, start_in(set, &in_an_hour, fire_when_dropped));
}

static tw_handle stopped_by_drop;

static void stop_when_dropped(void *arg) {
    just_drop(arg);
    check(tw_timer_cancel(other_set, stopped_by_drop) == 1);
}

static int stop_what_stops(void) {
    stopped_by_drop = start_in(other_set, &in_an_hour, drop);
    return tw_timer_cancel(set, start_in(set, &in_an_hour, stop_when_dropped));
}

/* --- the same on the library's threads ------------------------------------------------------- */

static int node_on_thread(void) { return tw_runtime_after(rt, &node, 0); }

static int handle_on_thread(void) {
    start(&at_once);
    return 0;
}

static int schedule_on_thread(void) { return start_or_set(false, &at_once, next, false); }

static int work_item_on_worker(void) { return tw_runtime_after(rt, &item.node, 0); }

static int ready;

static int watch_on_thread(void) { return tw_runtime_watch(rt, ready, 1 /* EPOLLIN */, on_ready, NULL); }

static const struct scene here[] = {
    {"a node's callback, advance", CALLBACK, fire_node, "manual", ENDS_EARLY},
    {"a node's callback, dispatch", CALLBACK, dispatch_node, "timerfd", ENDS_EARLY},
    {"a handle's callback", CALLBACK, fire_handle, "manual", ENDS_EARLY | IS_CUT},
    {"a periodic handle's callback", CALLBACK, fire_periodic_handle, "manual", ENDS_EARLY | IS_CUT},
    {"a key's callback", CALLBACK, fire_key, "manual", ENDS_EARLY},
    {"next after a fire", NEXT, fire_schedule, "manual", ENDS_EARLY | IS_CUT},
    {"drop after a fire", DROP, fire_handle, "manual", ENDS_EARLY},
    {"drop, tw_timer_cancel", DROP, stop, NULL, PLAIN},
    {"drop, tw_timer_cancel_wait", DROP, stop_and_wait, NULL, PLAIN},
    {"drop, tw_timers_free", DROP, free_set, NULL, ENDS_EARLY},
    {"drop, tw_keyed_cancel", DROP, remove_key, NULL, PLAIN},
    {"drop, tw_keyed_cancel_wait", DROP, remove_and_wait, NULL, PLAIN},
    {"drop, tw_keyed_set that replaces", DROP, replace, NULL, PLAIN},
    {"drop, tw_keyed_cancel_all", DROP, cancel_all_keys, NULL, ENDS_EARLY},
    {"each, tw_keyed_cancel_all", EACH, cancel_all_keys, NULL, ENDS_EARLY},
    {"drop, tw_timers_cancel_all", DROP, cancel_all_handles, NULL, ENDS_EARLY},
    {"each, tw_timers_cancel_all", EACH, cancel_all_handles, NULL, ENDS_EARLY},
    {"each, tw_keyed_each", EACH, walk_keys, NULL, ENDS_EARLY | WALKS},
    {"each, tw_timers_each", EACH, walk_handles, NULL, ENDS_EARLY | WALKS},
    {"each, tw_runtime_each", EACH, walk_all, NULL, ENDS_EARLY | WALKS},
    {"each, tw_runtime_each without nodes", EACH, walk_all_but_nodes, NULL, ENDS_EARLY | WALKS},
    {"each, tw_runtime_cancel_all", EACH, cancel_all, NULL, ENDS_EARLY | WALKS},
    {"the text of tw_runtime_dump", CALLBACK, dump, NULL, PLAIN},
    {"drop, tw_keyed_free", DROP, free_table, NULL, ENDS_EARLY},
    {"drop, tw_runtime_free", DROP, free_rt, NULL, FREES},
    {"copy, tw_timer_start", COPY, start_copying, NULL, STARTS},
    {"copy, tw_timer_start of what comes first", COPY, start_what_comes_first, "sleep", STARTS},
    {"copy, tw_keyed_set", COPY, set_copying, NULL, STARTS},
    {"next, tw_timer_start", NEXT, start_asking, NULL, STARTS},
    {"next, tw_keyed_set", NEXT, set_asking, NULL, STARTS},
    {"drop, tw_timer_start that fails", DROP, start_in_vain, NULL, PLAIN},
    {"a callback in drop", CALLBACK, stop_what_fires, "manual", PLAIN},
    {"drop in drop", DROP, stop_what_stops, NULL, PLAIN},
};

static const struct scene on_threads[] = {
    {"a node's callback, sleep", CALLBACK, node_on_thread, "sleep", PLAIN},
    {"a node's callback, epoll", CALLBACK, node_on_thread, "epoll", PLAIN},
    {"a node's callback, timerfd", CALLBACK, node_on_thread, "timerfd", PLAIN},
    {"a handle's callback on the thread", CALLBACK, handle_on_thread, "sleep", PLAIN},
    {"next on the thread", NEXT, schedule_on_thread, "sleep", PLAIN},
    {"drop on the thread", DROP, handle_on_thread, "sleep", PLAIN},
    {"a watch's callback", CALLBACK, watch_on_thread, "epoll", PLAIN},
    {"a callback before next, on the thread", CALLBACK, schedule_on_thread, "sleep", PLAIN},
    {"a node's callback, uring", CALLBACK, node_on_thread, "uring", PLAIN}, /* the last */
};

static const struct scene on_workers[] = {
    {"a work item's callback", CALLBACK, work_item_on_worker, "sleep", PLAIN},
    {"a handle's callback on a worker", CALLBACK, handle_on_thread, "sleep", PLAIN},
    {"a callback before next, on a worker", CALLBACK, schedule_on_thread, "sleep", PLAIN},
    {"next on a worker", NEXT, schedule_on_thread, "sleep", PLAIN},
    {"drop on a worker", DROP, handle_on_thread, "sleep", PLAIN},
};

/* --- running a scene ------------------------------------------------------------------------- */

enum { BYSTANDERS = 3 };

static void add_bystanders(void) {
    bystanders = malloc(BYSTANDERS * sizeof *bystanders);
    for (unsigned i = 0; i < BYSTANDERS; ++i)
        tw_node_init(&bystanders[i], on_node, NULL);
    check(tw_runtime_after(rt, &bystanders[0], 1800 * TW_SECOND) == 0);
    check(tw_runtime_at(rt, &bystanders[1], tw_runtime_now(rt) + (INT64_C(1) << 50)) == 0);
    check(tw_runtime_every(rt, &bystanders[2], 1900 * TW_SECOND, TW_COALESCE) == 0);
    for (unsigned i = 0; i < 3; ++i) {
        start(&in_an_hour);
        set_key(tw_key_number(100 + i));
    }
}

static void begin(const struct scene *chosen, const char *driver, unsigned workers, void (*what)(void)) {
    scene = chosen;
    act = what;
    atomic_store(&has_acted, true); /* disabled during set-up */
    atomic_store(&arguments, 0);
    rt = new_runtime(with_counted_closes(driver));
    pool = NULL;
    if (workers != 0)
        assert_ok(tw_workers_new(&pool, rt, &(struct tw_workers_options){.threads = workers}));
    const struct tw_set_options options = {.workers = pool, .storage = sizeof(void *)};
    const struct tw_set_options of_table = {.workers = pool, .storage = sizeof(void *)};
    assert_ok(tw_timers_new(&set, rt, &options));
    assert_ok(tw_keyed_new(&table, rt, &of_table));
    assert_ok(tw_timers_new(&other_set, rt, &options));
    tw_node_init(&node, on_node, NULL);
    if (workers != 0)
        assert_ok(tw_work_init(&item, pool, on_node, NULL, 0));
    add_bystanders();
    memset(calls, 0, sizeof calls);
    atomic_store(&has_acted, false);
}

static const char *const drivers_of_calls[] = {"manual", "sleep"};

/* Runs each scene that is a call on this thread, with and without a second thread that waits. */
static void for_each_call(void (*put_on)(const struct scene *, const char *driver)) {
    for (unsigned s = 0; s < COUNT_OF(here); ++s)
        for (unsigned d = 0; d < COUNT_OF(drivers_of_calls); ++d)
            if (here[s].driver == NULL || d == 0)
                put_on(&here[s], here[s].driver != NULL ? here[s].driver : drivers_of_calls[d]);
}

static void start_if_it_can(const char *driver) {
    if (strcmp(driver, "sleep") == 0)
        assert_ok(tw_runtime_start(rt));
}

/* --- freeing --------------------------------------------------------------------------------- */

static void free_runtime(void) {
    struct tw_node late;
    tw_node_init(&late, on_node, NULL);
    check(tw_runtime_free(rt) == 0);
    memset(bystanders, 0xa5, BYSTANDERS * sizeof *bystanders); /* from here on, the nodes' owner may do so */
    free(bystanders);
    check(tw_runtime_after(rt, &late, 0) == -ESHUTDOWN);
}

static void free_in_call(const struct scene *chosen, const char *driver) {
    begin(chosen, driver, 0, free_runtime);
    start_if_it_can(driver);
    const int result = chosen->play();
    assert_true(has_acted && (!has(chosen, WALKS) || calls[EACH] == 1));
    assert_true(has(chosen, STARTS) ? result == -ESHUTDOWN : result >= 0);
    assert_int_equal(closed, 1); /* as the call returns, not later */
    assert_int_equal(arguments, 0);
}

TEST(p7_every_function_that_a_call_leads_to_may_free_the_runtime) { for_each_call(free_in_call); }

/* Runs each scene of the library's threads. */
static void for_each_thread(void (*put_on)(const struct scene *, bool has_workers)) {
    ready = eventfd(1, 0);
    for (unsigned s = 0; s < COUNT_OF(on_threads) - !has_uring(); ++s)
        put_on(&on_threads[s], false);
    for (unsigned s = 0; s < COUNT_OF(on_workers); ++s)
        put_on(&on_workers[s], true);
    close(ready);
}

static void free_on_thread(const struct scene *chosen, bool has_workers) {
    begin(chosen, chosen->driver, has_workers ? 2 : 0, free_runtime);
    assert_ok(chosen->play()); /* before the start: no call is in progress when rt is freed */
    assert_ok(tw_runtime_start(rt));
    wait_for(closed == 1);
    assert_int_equal(arguments, 0);
}

TEST(p7_every_function_on_a_thread_of_the_librarys_may_free_the_runtime) { for_each_thread(free_on_thread); }

/* --- forking --------------------------------------------------------------------------------- */

static bool is_child;
static pid_t child;

static void fork_here(void) {
    wait_until_others_sleep();
    child = fork();
    is_child = child == 0;
    if (is_child)
        alarm(60);
    if (is_child && !has(scene, FREES))
        check(tw_runtime_after_fork(rt) == -EBUSY);
}

/* Runs in the child after it has left the call. */
static void go_on_in_child(const struct scene *chosen, int result, bool revives) {
    const int left = has(chosen, IS_CUT) ? 1 : 0;
    check(has(chosen, STARTS | ENDS_EARLY) ? result == -ECHILD : result >= 0);
    check(chosen->acts != EACH || calls[EACH] == 1);
    if (!has(chosen, FREES) && revives) {
        check(tw_runtime_after_fork(rt) == 0);
        check(arguments == left);
        const tw_handle id = start(&in_an_hour);
        check(tw_timer_cancel(set, id) == 1);
        set_key(name);
        check(tw_keyed_cancel_all(table, NULL, NULL) == 1);
        check(tw_runtime_count(rt) == 0);
        atomic_store(&closed, 0); /* the parent's */
    }
    if (!has(chosen, FREES))
        check(tw_runtime_free(rt) == 0);
    check(closed == 1);
    check(arguments == left);
    leave(0);
}

static void fork_in_call_and_then(const struct scene *chosen, const char *driver, bool revives) {
    begin(chosen, driver, 0, fork_here);
    start_if_it_can(driver);
    if (strcmp(chosen->name, "a node's callback, dispatch") == 0)
        assert_true(tw_runtime_fd(rt) >= 0);
    const int result = chosen->play();
    assert_true(has_acted);
    if (is_child)
        go_on_in_child(chosen, result, revives);
    assert_child_is_well(child);
    assert_true(result >= 0); /* the parent is unaffected */
    if (!has(chosen, FREES))
        assert_ok(tw_runtime_free(rt));
    assert_int_equal(closed, 1);
    assert_int_equal(arguments, 0);
    free(bystanders);
}

static void fork_in_call(const struct scene *chosen, const char *driver) {
    for (int revives = 0; revives < 2; ++revives)
        fork_in_call_and_then(chosen, driver, revives);
}

TEST(p13_every_function_that_a_call_leads_to_may_fork_and_return_in_the_child) {
    for_each_call(fork_in_call);
}

enum { LEAVES, RETURNS, FREES_AND_RETURNS };

static int child_does;
static atomic_bool has_forked;
static struct tw_work beside;
static int fires_at_fork;

static void fire_beside(UNUSED struct tw_node *fired, UNUSED void *arg) {
    atomic_fetch_add(&calls[CALLBACK], 1);
}

static int fires(void) { return calls[CALLBACK] + calls[NEXT]; }

/* The child's only thread ends with this function, and so does the process. */
static void end_child(void) {
    check(fires() == fires_at_fork);
    if (child_does != FREES_AND_RETURNS)
        check(tw_runtime_free(rt) == 0);
    if (child_does != LEAVES) {
        check(closed == 1);
        check(arguments <= 1); /* the argument of the function that forked */
    }
    leave(0);
}

static void fork_and_end(void) {
    fork_here();
    if (!is_child) {
        atomic_store(&has_forked, true);
        return;
    }
    fires_at_fork = fires();
    if (child_does == LEAVES)
        end_child();
    if (child_does == FREES_AND_RETURNS)
        check(tw_runtime_free(rt) == 0);
    atexit(end_child);
}

/* If it has workers, only one, so that fires wait behind the function that forks. */
static void fork_on_thread_and(const struct scene *chosen, bool has_workers) {
    begin(chosen, chosen->driver, has_workers, fork_and_end);
    atomic_store(&has_forked, false);
    if (has_workers)
        assert_ok(tw_work_init(&beside, pool, fire_beside, NULL, 0));
    else
        assert_ok(tw_node_init(&beside.node, fire_beside, NULL));
    assert_ok(tw_runtime_every(rt, &beside.node, MS, TW_COALESCE));
    assert_ok(tw_runtime_start(rt));
    assert_ok(chosen->play());
    wait_for(has_forked);
    assert_child_is_well(child);
    const int before = fires();
    wait_for(fires() > before + 20); /* the parent is unaffected */
    if (chosen->play == watch_on_thread)
        assert_ok(tw_runtime_unwatch(rt, ready));
    assert_ok(tw_runtime_free(rt));
    assert_int_equal(closed, 1);
    assert_int_equal(arguments, 0);
    free(bystanders);
}

static void fork_on_thread(const struct scene *chosen, bool has_workers) {
    for (child_does = LEAVES; child_does <= (THREADS_AFTER_FORK ? FREES_AND_RETURNS : LEAVES); ++child_does)
        fork_on_thread_and(chosen, has_workers);
}

TEST(p13_every_function_on_a_thread_of_the_librarys_may_fork) { for_each_thread(fork_on_thread); }

/* --- in the child of a fork, while it is being revived --------------------------------------- */

static const struct scene reviving = {"drop, tw_runtime_after_fork", DROP, NULL, NULL, FREES};

static void free_in_child(void) { check(tw_runtime_free(rt) == 0); }

static void revive_and(void (*what)(void), bool has_workers, int drivers_closed) {
    begin(&reviving, "epoll", has_workers, what);
    wait_until_others_sleep();
    const pid_t revived = fork();
    if (revived == 0) {
        alarm(60);
        is_child = false;
        check(tw_runtime_after_fork(rt) == 0);
        check(has_acted && arguments == 0);
        if (what == fork_here) {
            check(tw_runtime_after(rt, &node, TW_SECOND) == 0);
            check(tw_runtime_free(rt) == 0);
            if (!is_child)
                assert_child_is_well(child);
        }
        check(closed == drivers_closed);
        leave(0);
    }
    assert_child_is_well(revived);
    atomic_store(&has_acted, true); /* it acts in the child only */
    assert_ok(tw_runtime_free(rt));
    assert_int_equal(arguments, 0);
    free(bystanders);
}

TEST(p13_drop_may_free_or_fork_while_a_child_is_revived) {
    for (int has_workers = 0; has_workers <= THREADS_AFTER_FORK; ++has_workers) {
        revive_and(free_in_child, has_workers, 2); /* the parent's driver, and the child's own */
        revive_and(fork_here, has_workers, 2);
    }
}

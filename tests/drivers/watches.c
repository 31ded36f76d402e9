/* Watched descriptors: adding, modifying and removing them, and what that does to the batch of events that
 * the driver is delivering. */
#include "watches.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>

TEST(watch_refuses_what_cannot_be_watched_and_changes_nothing) {
    const int fd = new_event(0), closed = dup(fd);
    const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    close(closed);
    const struct {
        int fd, error;
        tw_watch_callback *fn;
    } refused[] = {
        {-1, -EINVAL, note_event},        {fd, -EINVAL, NULL},
        {closed, -EBADF, note_event},     {file, -EPERM, note_event},
        {1000000000, -EBADF, note_event}, {INT32_MAX, -EBADF, note_event},
    };
    const struct holdings before = holdings_now();
    for (size_t i = 0; i < COUNT_OF(refused); ++i) {
        assert_int_equal(tw_runtime_watch(rt, refused[i].fd, EPOLLIN, refused[i].fn, NULL), refused[i].error);
        assert_true(tw_runtime_unwatch(rt, refused[i].fd) < 0);
    }
    assert_non_null(
        strstr(tw_explain(tw_runtime_watch(rt, file, EPOLLIN, note_event, NULL)), "regular file"));
    assert_true(live_allocations() <= before.allocations + 1);
    close(fd);
    close(file);
}

TEST(watch_knows_what_it_watches) {
    const int fd = new_event(0);
    struct note note = {0};
    assert_int_equal(tw_runtime_watch_modify(rt, fd, EPOLLIN), -ENOENT);
    assert_int_equal(tw_runtime_unwatch(rt, fd), -ENOENT);
    watch(fd, EPOLLIN, note_event, &note);
    assert_int_equal(tw_runtime_watch(rt, fd, EPOLLIN, note_event, &note), -EEXIST);
    assert_int_equal(tw_runtime_watch_modify(rt, fd, EPOLLOUT), 0);
    assert_int_equal(tw_runtime_unwatch(rt, fd), 0);
    assert_int_equal(tw_runtime_unwatch(rt, fd), -ENOENT);
    assert_int_equal(tw_runtime_watch_modify(rt, fd, EPOLLIN), -ENOENT);
    assert_int_equal(tw_runtime_watch_modify(rt, -1, EPOLLIN), -EINVAL);
    assert_int_equal(tw_runtime_unwatch(rt, -1), -EINVAL);
    watch(fd, EPOLLIN, note_event, &note);
    close(fd);
}

TEST(watch_that_the_system_refuses_leaves_things_as_they_were) {
    const int fd = new_event(1);
    struct note note = {0};
    inject(ONLY(CALL_CALLOC), USUAL_ERROR, 0, 1);
    assert_int_equal(tw_runtime_watch(rt, fd, EPOLLIN, note_event, &note), -ENOMEM);
    inject(ONLY(CALL_EPOLL_CTL), USUAL_ERROR, 0, 1);
    assert_int_equal(tw_runtime_watch(rt, fd, EPOLLIN, note_event, &note), -ENOSPC);
    inject_nothing();
    assert_int_equal(tw_runtime_unwatch(rt, fd), -ENOENT);
    watch(fd, EPOLLIN, note_event, &note);
    inject(ONLY(CALL_EPOLL_CTL), ENOMEM, 0, 1);
    assert_int_equal(tw_runtime_watch_modify(rt, fd, 0), -ENOMEM);
    inject_nothing();
    start();
    assert_comes(&note, 1);
    assert_int_equal(tw_runtime_unwatch(rt, fd), 0);
    close(fd);
}

/* --- which callbacks run, and on which thread ------------------------------------------------ */

static pthread_t thread_of_timers;
static struct note of_timer;

static void note_thread(UNUSED struct tw_node *node, UNUSED void *arg) {
    thread_of_timers = pthread_self();
    atomic_fetch_add(&of_timer.calls, 1);
}

TEST(callbacks_run_on_the_runtimes_thread_and_are_told_what_happened) {
    const int fd = new_event(1);
    struct note note = {0};
    struct tw_node node;
    tw_node_init(&node, note_thread, NULL);
    memset(&of_timer, 0, sizeof of_timer);
    watch(fd, EPOLLIN | EPOLLOUT | EPOLLET, note_event, &note);
    start();
    assert_int_equal(tw_runtime_after(rt, &node, 0), 0);
    assert_comes(&of_timer, 1);
    assert_comes(&note, 1);
    tw_runtime_stop(rt);
    assert_int_equal(note.calls, 1); /* edge-triggered */
    assert_int_equal(note.fd, fd);
    assert_int_equal(note.events, EPOLLIN | EPOLLOUT);
    assert_true(pthread_equal(note.on, thread_of_timers));
    close(fd);
}

TEST(modify_changes_the_events_and_keeps_the_callback) {
    const int fd = new_event(0);
    struct note note = {0};
    watch(fd, EPOLLIN, note_event, &note);
    start();
    assert_int_equal(tw_runtime_watch_modify(rt, fd, EPOLLOUT | EPOLLONESHOT), 0);
    assert_comes(&note, 1);
    assert_int_equal(note.events, EPOLLOUT);
    make_readable(fd);
    assert_int_equal(tw_runtime_watch_modify(rt, fd, EPOLLIN | EPOLLONESHOT), 0);
    assert_comes(&note, 2);
    assert_int_equal(note.events, EPOLLIN);
    assert_int_equal(tw_runtime_unwatch(rt, fd), 0);
    close(fd);
}

TEST(a_descriptor_closed_while_watched_can_be_watched_again_under_its_number) {
    struct note former = {0}, latter = {0};
    const int fd = new_event(0);
    watch(fd, EPOLLIN, note_event, &former);
    start();
    close(fd);
    assert_int_equal(new_event(0), fd);
    watch(fd, EPOLLIN | EPOLLET, note_event, &latter);
    make_readable(fd);
    assert_comes(&latter, 1);
    assert_int_equal(former.calls, 0);
    assert_int_equal(tw_runtime_unwatch(rt, fd), 0);
    close(fd);
}

/* --- changes while a batch is delivered ----------------------------------------------------- */

/* All these descriptors are readable before the thread first looks, so they form one batch. */
#define BATCH 16

static int batch[BATCH];
static struct note notes[BATCH], of_new_one, of_end;
static atomic_int done_once; /* 0 or 1; an int, because RISC-V has no smaller atomic exchange */

static void prepare_batch(tw_watch_callback *fn) {
    memset(notes, 0, sizeof notes);
    memset(&of_new_one, 0, sizeof of_new_one);
    memset(&of_end, 0, sizeof of_end);
    atomic_store(&done_once, 0);
    for (int i = 0; i < BATCH; ++i) {
        batch[i] = new_event(1);
        watch(batch[i], EPOLLIN | EPOLLET, fn, &notes[i]);
    }
    largest_batch();
}

static void close_batch(void) {
    for (int i = 0; i < BATCH; ++i)
        close(batch[i]);
}

static unsigned calls_in_all(void) {
    unsigned calls = 0;
    for (int i = 0; i < BATCH; ++i)
        calls += atomic_load(&notes[i].calls);
    return calls;
}

/* When its callback has run, the batch is finished. */
static int watch_the_end(void) {
    const int fd = new_event(1);
    watch(fd, EPOLLIN | EPOLLET, note_event, &of_end);
    return fd;
}

static void deliver_to_the_end(void) {
    start();
    assert_comes(&of_end, 1);
    tw_runtime_stop(rt);
    if (batches_are_seen)
        assert_true(largest_batch() > BATCH);
}

static void remove_all_others(int fd, uint32_t events, void *arg) {
    note_event(fd, events, arg);
    for (int i = 0; i < BATCH; ++i)
        if (batch[i] != fd)
            tw_runtime_unwatch(rt, batch[i]);
}

TEST(a_neighbour_removed_within_the_batch_is_not_called) {
    prepare_batch(remove_all_others);
    const int end = watch_the_end();
    deliver_to_the_end();
    assert_int_equal(calls_in_all(), 1);
    close(end);
    close_batch();
}

static void remove_itself(int fd, uint32_t events, void *arg) {
    struct note *note = arg;
    note_event(fd, events, arg);
    note->result = tw_runtime_unwatch(rt, fd);
    close(fd);
}

TEST(each_removes_and_closes_itself_inside_its_callback) {
    prepare_batch(remove_itself);
    const int end = watch_the_end();
    deliver_to_the_end();
    assert_int_equal(calls_in_all(), BATCH);
    for (int i = 0; i < BATCH; ++i)
        assert_int_equal(notes[i].result, 0);
    close(end);
}

/* The rest of the batch belongs to descriptors that were closed. New descriptors, which are
 * not readable, have the same numbers. */
static void replace_all_others(int fd, uint32_t events, void *arg) {
    note_event(fd, events, arg);
    if (atomic_exchange(&done_once, 1))
        return;
    for (int i = 0; i < BATCH; ++i) {
        if (batch[i] == fd)
            continue;
        tw_runtime_unwatch(rt, batch[i]);
        const int fresh = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        dup2(fresh, batch[i]);
        close(fresh);
        IGNORE(tw_runtime_watch(rt, batch[i], EPOLLIN | EPOLLET, note_event, &of_new_one));
    }
}

TEST(a_number_used_again_within_the_batch_gets_no_event_of_its_predecessor) {
    prepare_batch(replace_all_others);
    const int end = watch_the_end();
    deliver_to_the_end();
    assert_int_equal(calls_in_all(), 1);
    assert_int_equal(of_new_one.calls, 0);
    start();
    for (int i = 0; i < BATCH; ++i)
        make_readable(batch[i]);
    assert_comes(&of_new_one, BATCH - 1);
    close(end);
    close_batch();
}

static void silence_all_others(int fd, uint32_t events, void *arg) {
    note_event(fd, events, arg);
    for (int i = 0; i < BATCH; ++i)
        if (batch[i] != fd)
            IGNORE(tw_runtime_watch_modify(rt, batch[i], EPOLLPRI));
}

TEST(a_neighbour_modified_within_the_batch_is_not_called_for_its_former_events) {
    prepare_batch(silence_all_others);
    const int end = watch_the_end();
    deliver_to_the_end();
    assert_int_equal(calls_in_all(), 1);
    close(end);
    close_batch();
}

static void remove_and_watch_again(int fd, uint32_t events, void *arg) {
    struct note *note = arg;
    note_event(fd, events, arg);
    if (atomic_load(&note->calls) < 3)
        note->result |= tw_runtime_unwatch(rt, fd) |
                        tw_runtime_watch(rt, fd, EPOLLIN | EPOLLET, remove_and_watch_again, note);
}

TEST(a_callback_removes_itself_and_watches_again) {
    prepare_batch(remove_and_watch_again);
    start();
    for (int i = 0; i < BATCH; ++i)
        assert_comes(&notes[i], 3);
    tw_runtime_stop(rt);
    for (int i = 0; i < BATCH; ++i) {
        assert_int_equal(notes[i].calls, 3);
        assert_int_equal(notes[i].result, 0);
    }
    close_batch();
}

/* --- stop and free ------------------------------------------------------------------------------ */

static void stop_at_first(int fd, uint32_t events, void *arg) {
    if (!atomic_exchange(&done_once, 1))
        tw_runtime_stop(rt);
    note_event(fd, events, arg);
}

TEST(stop_inside_is_the_end_and_what_is_left_of_the_batch_comes_after_the_next_start) {
    prepare_batch(stop_at_first);
    start();
    wait_for(calls_in_all() > 0);
    assert_int_equal(tw_runtime_stop(rt), 0);
    assert_int_equal(calls_in_all(), 1);
    start();
    wait_for(calls_in_all() == BATCH);
    close_batch();
}

static void free_at_first(UNUSED int fd, UNUSED uint32_t events, void *arg) {
    tw_runtime_free(rt);
    atomic_fetch_add(&((struct note *)arg)->calls, 1);
}

TEST(free_inside_is_the_end_of_the_batch) {
    tw_runtime_free(rt);
    const struct holdings before = holdings_now();
    rt = runtime_on(watching_driver);
    prepare_batch(free_at_first);
    const struct holdings without_it = {before.descriptors + BATCH, before.allocations};
    start();
    wait_for(has_nothing_leaked(without_it));
    rt = NULL;
    assert_int_equal(calls_in_all(), 1);
    close_batch();
}

/* --- removal by another thread -------------------------------------------------------------------- */

static atomic_bool is_inside, may_leave, has_left, has_removed;
static bool had_left_when_removed;
static int removed_with;

static void linger(int fd, UNUSED uint32_t events, void *removes_itself) {
    if (removes_itself != NULL)
        tw_runtime_unwatch(rt, fd);
    atomic_store(&is_inside, true);
    while (!atomic_load(&may_leave))
        sched_yield();
    atomic_store(&has_left, true);
}

static void *remove_it(void *fd) {
    removed_with = tw_runtime_unwatch(rt, *(int *)fd);
    had_left_when_removed = atomic_load(&has_left);
    atomic_store(&has_removed, true);
    return NULL;
}

static void remove_while_it_runs(void *removes_itself, int expected) {
    pthread_t remover;
    int fd = new_event(1);
    atomic_store(&is_inside, false);
    atomic_store(&may_leave, false);
    atomic_store(&has_left, false);
    atomic_store(&has_removed, false);
    watch(fd, EPOLLIN | EPOLLET, linger, removes_itself);
    start();
    wait_for(is_inside);
    assert_int_equal(pthread_create(&remover, NULL, remove_it, &fd), 0);
    pause_ms(20); /* time in which a removal that did not wait would return */
    const bool did_not_wait = atomic_load(&has_removed);
    atomic_store(&may_leave, true);
    pthread_join(remover, NULL);
    assert_false(did_not_wait);
    assert_true(had_left_when_removed);
    assert_int_equal(removed_with, expected);
    close(fd);
}

TEST(removal_by_another_thread_waits_for_the_callback) { remove_while_it_runs(NULL, 0); }

TEST(removal_waits_also_for_a_callback_that_has_removed_itself) { remove_while_it_runs(&rt, -ENOENT); }

/* --- while a callback runs ------------------------------------------------------------------------ */

static void stay_inside(UNUSED struct tw_node *node, UNUSED void *arg) {
    atomic_store(&is_inside, true);
    while (!atomic_load(&may_leave))
        sched_yield();
}

/* The driver keeps no reference that would hold the file open. */
TEST(a_descriptor_that_is_removed_and_closed_is_closed_at_once) {
    int ends[2];
    char byte;
    struct note note = {0};
    struct tw_node node;
    assert_int_equal(pipe(ends), 0);
    watch(ends[1], EPOLLERR, note_event, &note);
    atomic_store(&is_inside, false);
    atomic_store(&may_leave, false);
    tw_node_init(&node, stay_inside, NULL);
    start();
    pause_ms(5); /* the thread has waited for the descriptor by now */
    assert_int_equal(tw_runtime_after(rt, &node, 0), 0);
    wait_for(is_inside);
    const int removed = tw_runtime_unwatch(rt, ends[1]);
    close(ends[1]);
    struct pollfd end_of_file = {ends[0], POLLIN, 0};
    const int ended = poll(&end_of_file, 1, 5000);
    atomic_store(&may_leave, true);
    assert_int_equal(removed, 0);
    assert_int_equal(ended, 1);
    assert_int_equal(read(ends[0], &byte, 1), 0);
    close(ends[0]);
}

static atomic_int polled;

static void poll_inside(UNUSED struct tw_node *node, UNUSED void *arg) {
    atomic_store(&is_inside, true);
    atomic_store(&polled, epoll_wait(*(int *)arg, &(struct epoll_event){0}, 1, 100));
    atomic_store(&has_left, true);
}

/* Descriptors that become ready, wakes and deadlines do not interrupt the callback's own waits. */
TEST(a_callback_is_not_disturbed_by_what_the_thread_waits_for) {
    int idle_set = epoll_create1(EPOLL_CLOEXEC);
    const int fd = new_event(0);
    struct note note = {0};
    struct tw_node node, other;
    watch(fd, EPOLLIN | EPOLLET, note_event, &note);
    atomic_store(&is_inside, false);
    atomic_store(&has_left, false);
    tw_node_init(&node, poll_inside, &idle_set);
    tw_node_init(&other, note_thread, NULL);
    start();
    assert_int_equal(tw_runtime_after(rt, &other, 50 * TW_MILLISECOND), 0);
    assert_int_equal(tw_runtime_after(rt, &node, TW_MILLISECOND), 0);
    wait_for(is_inside);
    pause_ms(5);
    make_readable(fd);
    wait_for(has_left);
    assert_int_equal(polled, 0);
    assert_comes(&note, 1);
    tw_runtime_cancel_wait(rt, &other);
    close(fd);
    close(idle_set);
}

/* --- the program -------------------------------------------------------------------------------- */

const char *watching_driver;
bool batches_are_seen;
struct tw_runtime *rt;

int new_watching_runtime(UNUSED void **state) {
    const struct tw_runtime_options options = {.driver = watching_driver};
    return tw_runtime_new(&rt, &options);
}

int free_watching_runtime(UNUSED void **state) { return tw_runtime_free(rt); }

/* Runs all tests on each driver; on "uring" twice: on this kernel, and as if on a kernel whose ring cannot
 * fetch events (before Linux 6.15). */
int main(void) {
    watching_driver = "epoll";
    batches_are_seen = true;
    int failed = run_registered_tests("on epoll", NULL);
    watching_driver = "uring";
    if (!has_uring())
        return failed;
    batches_are_seen = false;
    failed += run_registered_tests("on uring", NULL);
    batches_are_seen = true;
    hide_fetching(true);
    return failed + run_registered_tests("on uring, where the ring cannot fetch events", NULL);
}

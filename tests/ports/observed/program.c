/* A user's program. A callback reads what a thread wrote before it armed the timer. After a wait for the
 * callback, the thread reads what the callback wrote, and frees the memory. The program has no lock or atomic
 * of its own that would order these accesses: the library orders them. Race detectors must stay silent about
 * the program.
 *
 * With an argument the program is incorrect: main and a callback write one variable without any order. The
 * detectors must find this race despite the library's own annotations.
 *
 * This test is only about the detectors' output; other tests cover the library's behaviour. */
#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <tickwheel/keyed.h>
#include <tickwheel/observe.h>
#include <tickwheel/runtime.h>
#include <tickwheel/timers.h>
#include <tickwheel/workers.h>

enum { rounds = 12, arming_threads = 3 };

struct scene {
    struct tw_runtime *rt;
    struct tw_timers *timers, *worked_timers;
    struct tw_keyed *names;
    struct tw_workers *pool;
};

static void check(int result) {
    if (result < 0)
        abort();
}

/* Lets some timers fire before the thread ends them, and others not. */
static void let_some_fire(int round) { poll(NULL, 0, round % 4); }

static void wait_for(sem_t *event) {
    while (sem_wait(event) != 0) /* interrupted by a signal */
        ;
}

/* --- nodes, and work items on workers ------------------------------------------------------ */

struct session {
    struct tw_work item; /* its node first */
    int written, read;
};

static void on_session(struct tw_node *node, void *arg) {
    struct session *session = arg;
    (void)node;
    session->read += session->written;
    session->written = 0;
}

static struct session *new_session(int written) {
    struct session *session = calloc(1, sizeof *session);
    if (session == NULL)
        abort();
    session->written = written;
    return session;
}

static void end_session(struct tw_runtime *rt, struct session *session) {
    check(tw_runtime_cancel_wait(rt, &session->item.node));
    assert(session->read + session->written >= 0);
    memset(session, 0x55, sizeof *session);
    free(session);
}

static void with_nodes(struct scene *scene, int round) {
    struct session *soon = new_session(round), *later = new_session(round), *often = new_session(round);
    check(tw_node_init(&soon->item.node, on_session, soon));
    check(tw_node_init(&later->item.node, on_session, later));
    check(tw_node_init(&often->item.node, on_session, often));
    check(tw_runtime_after(scene->rt, &soon->item.node, 0));
    check(tw_runtime_after(scene->rt, &later->item.node, 3600 * TW_SECOND));
    check(tw_runtime_every(scene->rt, &often->item.node, TW_MILLISECOND, round % 2 ? TW_COALESCE : TW_BURST));
    tw_runtime_move(scene->rt, &later->item.node, 2 * TW_MILLISECOND);
    tw_runtime_postpone(scene->rt, &later->item.node, 3 * TW_MILLISECOND);
    let_some_fire(round);
    end_session(scene->rt, soon);
    check(tw_runtime_every(scene->rt, &often->item.node, 2 * TW_MILLISECOND, TW_DELAY));
    end_session(scene->rt, often);
    end_session(scene->rt, later);
}

static void with_work_items(struct scene *scene, int round) {
    struct session *once = new_session(round), *often = new_session(round);
    check(tw_work_init(&once->item, scene->pool, on_session, once, 0));
    check(tw_work_init(&often->item, scene->pool, on_session, often, 0));
    check(tw_runtime_after(scene->rt, &once->item.node, 0));
    check(tw_runtime_every(scene->rt, &often->item.node, TW_MILLISECOND, TW_COALESCE));
    check(tw_runtime_every(scene->rt, &often->item.node, TW_MILLISECOND, TW_BURST));
    let_some_fire(round);
    end_session(scene->rt, once);
    end_session(scene->rt, often);
}

/* --- timers that the library keeps --------------------------------------------------------- */

struct message {
    int written, read;
    sem_t *dropped;
};

static void on_message(const struct tw_event *event, void *arg) {
    struct message *message = arg;
    (void)event;
    message->read += message->written++;
}

/* The last access to the message, on any thread. */
static void drop_message(void *arg) {
    struct message *message = arg;
    sem_t *dropped = message->dropped;
    message->written = message->read = -1;
    free(message);
    sem_post(dropped);
}

static struct tw_task task_of(sem_t *dropped, int written) {
    struct message *message = calloc(1, sizeof *message);
    if (message == NULL)
        abort();
    message->written = written;
    message->dropped = dropped;
    return (struct tw_task){.fn = on_message, .arg = message, .drop = drop_message};
}

static void with_handles(struct tw_timers *timers, int round) {
    const struct tw_when at_once = {0}, soon = {.due_ns = TW_MILLISECOND, .period_ns = TW_MILLISECOND},
                         never = {.due_ns = 3600 * TW_SECOND};
    const struct tw_when *const whens[] = {&at_once, &soon, &never};
    tw_handle handles[3];
    sem_t dropped;
    sem_init(&dropped, 0, 0);
    for (int i = 0; i < 3; i++) {
        const struct tw_task task = task_of(&dropped, round);
        check(tw_timer_start(timers, &handles[i], whens[i], &task));
    }
    tw_timer_move(timers, handles[2], (round & 1) * TW_MILLISECOND);
    let_some_fire(round);
    for (int i = 0; i < 3; i++)
        tw_timer_cancel_wait(timers, handles[i]); /* unless the timer has ended by itself */
    for (int i = 0; i < 3; i++)
        wait_for(&dropped);
    sem_destroy(&dropped);
}

/* The arming threads replace each other's timers. */
static void with_keys(struct tw_keyed *names, int round) {
    static const char long_name[] = "a name that is longer than sixteen bytes";
    struct tw_entry timer;
    const struct tw_when when = {.due_ns = (round % 3) * TW_MILLISECOND};
    const struct tw_key keys[] = {tw_key_number((uint64_t)round % 2),
                                  tw_key_bytes(long_name, sizeof long_name)};
    sem_t dropped;
    sem_init(&dropped, 0, 0);
    for (int i = 0; i < 2; i++) {
        const struct tw_task task = task_of(&dropped, round);
        check(tw_keyed_set(names, keys[i], &when, &task));
    }
    (void)!tw_keyed_get(names, keys[0], &timer); /* another thread may have removed it */
    let_some_fire(round);
    for (int i = 0; i < 2; i++)
        tw_keyed_cancel_wait(names, keys[i]);
    for (int i = 0; i < 2; i++)
        wait_for(&dropped);
    sem_destroy(&dropped);
}

/* Makes and frees so many sets that later ones reuse the tags of earlier ones. */
static void with_own_handles(struct scene *scene, int round) {
    struct tw_timers *own = NULL;
    for (int i = 0; i < 8; i++) {
        check(tw_timers_new(&own, scene->rt, NULL));
        if (i == 0)
            with_handles(own, round);
        check(tw_timers_free(own));
    }
}

/* --- descriptors, where the driver watches them -------------------------------------------- */

struct inlet {
    int ends[2], written, read;
};

static void on_readable(int fd, uint32_t events, void *arg) {
    struct inlet *inlet = arg;
    char byte;
    (void)events;
    inlet->read += inlet->written + (read(fd, &byte, 1) == 1);
}

static void with_descriptors(struct scene *scene, int round) {
    struct inlet *inlet = malloc(sizeof *inlet);
    if (inlet == NULL || pipe(inlet->ends) != 0)
        abort();
    inlet->written = round;
    inlet->read = 0;
    if (tw_runtime_watch(scene->rt, inlet->ends[0], EPOLLIN, on_readable, inlet) == 0) {
        assert(write(inlet->ends[1], "", 1) == 1);
        let_some_fire(round);
        check(tw_runtime_unwatch(scene->rt, inlet->ends[0]));
    }
    assert(inlet->read <= round + 1);
    close(inlet->ends[0]);
    close(inlet->ends[1]);
    free(inlet);
}

/* --- everything, on several threads ---------------------------------------------------------- */

static void *arm_and_end(void *arg) {
    struct scene *scene = arg;
    for (int round = 0; round < rounds; round++) {
        struct tw_stats stats;
        with_nodes(scene, round);
        with_work_items(scene, round);
        with_handles(scene->timers, round);
        with_handles(scene->worked_timers, round);
        with_own_handles(scene, round);
        with_keys(scene->names, round);
        with_descriptors(scene, round);
        check(tw_runtime_stats(scene->rt, &stats));
        (void)!tw_runtime_count(scene->rt);
    }
    return NULL;
}

static void play(const struct tw_runtime_options *options) {
    struct scene scene = {0};
    const struct tw_workers_options of_pool = {.threads = 2};
    pthread_t threads[arming_threads];
    check(tw_runtime_new(&scene.rt, options));
    check(tw_workers_new(&scene.pool, scene.rt, &of_pool));
    check(tw_timers_new(&scene.timers, scene.rt, NULL));
    check(tw_timers_new(&scene.worked_timers, scene.rt, &(struct tw_set_options){.workers = scene.pool}));
    check(tw_keyed_new(&scene.names, scene.rt, NULL));
    check(tw_runtime_start(scene.rt));
    for (int i = 0; i < arming_threads; i++)
        pthread_create(&threads[i], NULL, arm_and_end, &scene);
    for (int i = 0; i < arming_threads; i++)
        pthread_join(threads[i], NULL);
    check(tw_timers_free(scene.timers));
    check(tw_runtime_stop(scene.rt));
    check(tw_runtime_start(scene.rt));
    check(tw_runtime_free(scene.rt)); /* also frees the other set, the table and the workers */
}

/* A wheel of the program's own: one thread arms and waits, the other advances. */
struct own_wheel {
    struct tw wheel;
    sem_t armed;
};

static void *advance(void *arg) {
    struct own_wheel *own = arg;
    for (int round = 1; round <= rounds; round++) {
        wait_for(&own->armed);
        check(tw_advance(&own->wheel, (tw_tick)round, TW_UNBOUNDED));
    }
    return NULL;
}

static void play_with_own_wheel(void) {
    static struct own_wheel own;
    pthread_t thread;
    check(tw_init(&own.wheel, 0, 0));
    sem_init(&own.armed, 0, 0);
    pthread_create(&thread, NULL, advance, &own);
    for (int round = 1; round <= rounds; round++) {
        struct session *session = new_session(round);
        check(tw_node_init(&session->item.node, on_session, session));
        check(tw_arm_at(&own.wheel, &session->item.node, (tw_tick)round));
        sem_post(&own.armed);
        while (tw_pending(&own.wheel, &session->item.node))
            sched_yield();
        check(tw_wait(&own.wheel, &session->item.node));
        free(session);
    }
    pthread_join(thread, NULL);
    sem_destroy(&own.armed);
}

/* --- a race ---------------------------------------------------------------------------------- */

static volatile int written_by_both;

static void race_on_time(struct tw_node *node, void *arg) {
    (void)node, (void)arg;
    written_by_both++;
}

static void race(void) {
    struct tw_runtime *rt = NULL;
    struct tw_node node;
    check(tw_runtime_new(&rt, NULL));
    check(tw_runtime_start(rt));
    check(tw_node_init(&node, race_on_time, NULL));
    check(tw_runtime_every(rt, &node, TW_MILLISECOND, TW_COALESCE));
    for (int i = 0; i < 100; i++) {
        written_by_both++;
        poll(NULL, 0, 2);
    }
    check(tw_runtime_free(rt));
}

int main(int argc, char **argv) {
    (void)argv;
    if (argc > 1) {
        race();
        return 0;
    }
    play(NULL);
    play(&(struct tw_runtime_options){.driver = "epoll", .clock = TW_CLOCK_WALL});
    play(&(struct tw_runtime_options){.driver = "timerfd", .tick_ns = 50000});
    play_with_own_wheel();
    return 0;
}

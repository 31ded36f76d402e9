/* See simulation.h. The first thread of control is the caller of `explore`; it stands for the idle thread.
 * The others have stacks of their own, which are abandoned at the end of a run. */
#include "simulation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { THREADS = 6, IDLE = 0, CHOICES = 512 };

enum state { FREE, TO_COME, RUNNABLE, ASLEEP };

struct thread {
    ucontext_t context;
    enum state state;
    void (*body)(void);
    void (*function)(void *); /* instead of `body` */
    void *arg;
    int64_t wakes_at;
    const unsigned *awaits; /* or null */
    unsigned signal;
};

struct asked asked;

static struct thread threads[THREADS];
static unsigned running;
static const struct scene *scene;
static int64_t now;
static unsigned ticks_left, changes_left;
static unsigned masks;
static bool in_tick;

int64_t present(void) { return now; }
void set_present(int64_t to) { now = to; }

/* --- choices ----------------------------------------------------------------------------------- */

static struct {
    unsigned char taken[CHOICES], possible[CHOICES];
    unsigned known; /* how many choices of this run are laid down */
    unsigned made;  /* how many it has made so far */
} choices;

/* Returns a number below `possible`: at first 0, in later runs with the same beginning the others. */
static unsigned choose(unsigned possible) {
    if (possible < 2 || scene->changes == 0)
        return 0;
    if (choices.made == CHOICES)
        expectation_failed(__FILE__, __LINE__, "a run of fewer choices");
    if (choices.made == choices.known) {
        choices.taken[choices.known] = 0;
        choices.possible[choices.known++] = (unsigned char)possible;
    }
    return choices.taken[choices.made++];
}

/* Lays down the choices of the next run; false if there is none. */
static bool next_choices(void) {
    unsigned last = choices.made;
    while (last != 0 && choices.taken[last - 1] + 1 == choices.possible[last - 1])
        --last;
    if (last == 0)
        return false;
    ++choices.taken[last - 1];
    choices.known = last;
    return true;
}

void expectation_failed(const char *file, int line, const char *condition) {
    fprintf(stderr, "%s:%d: expected %s\nat tick %lld, after the choices (all others are 0)", file, line,
            condition, (long long)now);
    for (unsigned i = 0; i < choices.made; ++i)
        if (choices.taken[i] != 0)
            fprintf(stderr, " %u:%u", i, choices.taken[i]);
    fprintf(stderr, "\n");
    exit(1);
}

/* --- threads ----------------------------------------------------------------------------------- */

struct thread *this_thread(void) {
    return &threads[running];
}
unsigned *signal_of(struct thread *thread) { return &thread->signal; }

static void switch_to(unsigned next) {
    const unsigned self = running;
    running = next;
    if (next != self && swapcontext(&threads[self].context, &threads[next].context) != 0)
        abort();
}

static bool can_run(unsigned i, bool with_those_to_come) {
    struct thread *const thread = &threads[i];
    const bool is_signalled = thread->awaits != NULL && *thread->awaits != 0;
    if (thread->state == ASLEEP && (is_signalled || now >= thread->wakes_at))
        thread->state = RUNNABLE;
    return thread->state == RUNNABLE || (with_those_to_come && thread->state == TO_COME &&
                                         now - scene->begin < scene->length - scene->rest);
}

/* The threads other than the running one that can go on now. */
static unsigned others(unsigned *list, bool with_those_to_come) {
    unsigned count = 0;
    for (unsigned i = IDLE + 1; i < THREADS; ++i)
        if (i != running && can_run(i, with_those_to_come))
            list[count++] = i;
    return count;
}

/* Gives the processor to a runnable thread, else to the idle thread. */
static void hand_on(void) {
    unsigned list[THREADS];
    const unsigned count = others(list, false);
    switch_to(count == 0 ? IDLE : list[choose(count)]);
}

static void tick(void) {
    ++now;
    in_tick = true;
    if (scene->hook != NULL)
        scene->hook();
    in_tick = false;
}

void point(void) {
    unsigned list[THREADS];
    if (masks != 0 || changes_left == 0)
        return;
    const unsigned count = others(list, true);
    const bool may_tick = ticks_left != 0 && !in_tick;
    const unsigned choice = choose(1 + count + may_tick);
    if (choice == 0)
        return;
    --changes_left;
    if (choice <= count) {
        switch_to(list[choice - 1]);
    } else {
        --ticks_left;
        tick();
    }
}

void sleep_until(int64_t end, const unsigned *signal) {
    struct thread *const self = &threads[running];
    EXPECT(running != IDLE && masks == 0);
    self->state = ASLEEP;
    self->wakes_at = end;
    self->awaits = signal;
    if (!can_run(running, false))
        hand_on();
}

void pass(int64_t ticks) {
    point();
    sleep_until(now + ticks, NULL);
}

static void live(void) {
    struct thread *const self = &threads[running];
    self->state = RUNNABLE;
    if (self->function != NULL)
        self->function(self->arg);
    else
        self->body();
    self->state = FREE;
    hand_on();
}

static void give_stack(unsigned i) {
    static char stacks[THREADS][64 * 1024];
    ucontext_t *const context = &threads[i].context;
    EXPECT(getcontext(context) == 0);
    context->uc_stack.ss_sp = stacks[i];
    context->uc_stack.ss_size = sizeof stacks[i];
    makecontext(context, live, 0);
}

static struct thread *new_thread(enum state state) {
    unsigned i = IDLE + 1;
    while (i < THREADS && threads[i].state != FREE)
        ++i;
    EXPECT(i < THREADS);
    memset(&threads[i], 0, sizeof threads[i]);
    give_stack(i);
    threads[i].state = state;
    return &threads[i];
}

void spawn(void (*body)(void)) { new_thread(TO_COME)->body = body; }

struct thread *create(void (*function)(void *), void *arg) {
    struct thread *const thread = new_thread(RUNNABLE);
    thread->function = function;
    thread->arg = arg;
    return thread;
}

/* --- the mask ---------------------------------------------------------------------------------- */

bool is_masked(void) { return masks != 0; }

unsigned mask(void) {
    point();
    ++asked.locks;
    return masks++;
}

void unmask(unsigned was) {
    EXPECT(masks == was + 1);
    masks = was;
    point();
}

/* --- the idle thread --------------------------------------------------------------------------- */

/* Lets a tick pass; or, if nothing can come before, all ticks until a thread wakes. */
static void pass_time(bool may_leap) {
    int64_t leap = scene->begin + scene->length - now;
    for (unsigned i = IDLE + 1; i < THREADS; ++i)
        if (threads[i].state == ASLEEP && threads[i].wakes_at - now < leap)
            leap = threads[i].wakes_at - now;
    if (may_leap)
        now += leap - 1;
    tick();
}

/* Runnable threads go first. Spawned threads may begin at any tick. */
static void idle(void) {
    for (;;) {
        unsigned list[THREADS];
        unsigned count = others(list, false);
        if (count != 0) {
            switch_to(list[choose(count)]);
            continue;
        }
        count = others(list, true);
        const unsigned choice = choose(1 + count);
        if (choice != 0)
            switch_to(list[choice - 1]);
        else if (now - scene->begin >= scene->length)
            return;
        else
            pass_time(scene->hook == NULL && count == 0);
    }
}

static void run(void) {
    choices.made = 0;
    now = scene->begin;
    ticks_left = scene->ticks;
    changes_left = 0; /* during `set` */
    running = IDLE;
    masks = 0;
    memset(&asked, 0, sizeof asked);
    scene->set();
    changes_left = scene->changes;
    idle();
    for (unsigned i = IDLE + 1; i < THREADS; ++i)
        threads[i].state = FREE;
    scene->check();
}

unsigned long explore(const struct scene *all_of) {
    unsigned long runs = 0;
    scene = all_of;
    choices.known = 0;
    do {
        run();
        ++runs;
    } while (next_choices());
    return runs;
}

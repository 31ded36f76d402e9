/* simulation.h - a kernel for tests: threads, ticks, a mask, and every order in which they can meet. Each
 * kernel.c implements the functions of its kernel by these.
 *
 * Ticks are virtual. Of the threads of control, which are tasks and interrupts, one runs at a time. Wherever
 * it calls the kernel, another may run instead, or a tick may come; this covers two threads, a thread and an
 * interrupt, and two cores. While interrupts are masked, no other thread runs and no tick comes. Between two
 * calls of the kernel a thread reads or writes at most one variable that others use, so the runs cover
 * everything that can happen with as many changes as the scene allows. */
#ifndef TICKWHEEL_TESTS_KERNELS_SIMULATION_H
#define TICKWHEEL_TESTS_KERNELS_SIMULATION_H

#include <stdbool.h>
#include <stdint.h>

/* Every run begins with `set` and ends with `check`. Threads that `set` spawns begin at any time before the
 * rest, or never; threads that it creates begin at once. Without changes there is one run: of all threads
 * that can run, the one created first does. */
struct scene {
    int64_t begin;      /* the tick at the beginning of a run */
    int64_t length;     /* ticks in a run */
    int64_t rest;       /* of these, the last ones, in which nothing new begins */
    unsigned ticks;     /* how many may come while a thread could go on */
    unsigned changes;   /* how often a tick may come, or another thread go on, where the running one could */
    void (*hook)(void); /* called in each tick interrupt; or null */
    void (*set)(void);
    void (*check)(void);
};

/* Makes all runs of a scene, and returns how many there were. An EXPECT that fails prints the choices that
 * led there, and ends the program. */
unsigned long explore(const struct scene *scene);

/* For `set`. */
void spawn(void (*body)(void));
struct thread *create(void (*function)(void *), void *arg);

/* present returns the present tick, without a change of threads; set_present lets the clock step. */
int64_t present(void);
void set_present(int64_t now);

/* A place at which others may go on instead. */
void point(void);

/* Lets time pass: the thread sleeps. */
void pass(int64_t ticks);

/* Counts the calls of the kernel in this run. */
extern struct asked {
    unsigned locks;
    unsigned wakes, wakes_from_isr; /* the second: by calls that are for interrupts alone */
    unsigned sleeps;
    int64_t last_sleep; /* ticks; INT64_MAX: forever */
} asked;

#define EXPECT(condition) ((condition) ? (void)0 : expectation_failed(__FILE__, __LINE__, #condition))
__attribute__((noreturn)) void expectation_failed(const char *file, int line, const char *condition);

/* --- for kernels ------------------------------------------------------------------------------- */

/* Masks interrupts, and returns what `unmask` restores. Masks nest. */
unsigned mask(void);
void unmask(unsigned was);
bool is_masked(void);

/* The running thread, and the signal of a thread that others may set. */
struct thread *this_thread(void);
unsigned *signal_of(struct thread *thread);

/* Sleeps until that tick, or until the signal is not 0. A null signal is 0. */
void sleep_until(int64_t end, const unsigned *signal);

#endif

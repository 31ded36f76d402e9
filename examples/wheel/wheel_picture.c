/* Shows the turning wheel in a terminal: timers fill the slots of three levels, move down a level as their
 * time comes nearer, and fire.
 *
 * Time is virtual: each frame is one tick. The picture uses only the public interface (tw_now, tw_expiry)
 * and the documented rule of placement. The program links a small wheel of three levels with 16 slots each,
 * so that every slot fits on the screen, and without look-ahead, so that the rule gives the exact slot of a
 * timer.
 *
 * If stdout is not a terminal, the program prints the events line by line. With --frames, it prints the
 * frames of the moving picture without a pause. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "picture.h"
#include "screen.h"
#include "story.h"

enum { FRAME_NANOSECONDS = 80 * 1000 * 1000 };

static volatile sig_atomic_t interrupted;

static void on_signal(int number) { interrupted = number; }

static void watch_signals(void) {
    struct sigaction action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
}

static void wait_for_frame(struct timespec *frame) {
    frame->tv_nsec += FRAME_NANOSECONDS;
    if (frame->tv_nsec >= 1000000000) {
        frame->tv_nsec -= 1000000000;
        ++frame->tv_sec;
    }
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, frame, NULL);
}

static void run_on_screen(bool waits) {
    struct timespec frame;
    watch_signals();
    screen_open();
    story_begin(picture_hear);
    clock_gettime(CLOCK_MONOTONIC, &frame);
    bool more = true;
    while (more && !interrupted) {
        more = story_tick();
        picture_draw();
        if (waits)
            wait_for_frame(&frame);
    }
    screen_close();
}

static void print_event(const struct event *event) {
    char text[80];
    if (event->what == EVENT_MOVE && event->from.level > 0)
        return; /* its cascade has a line */
    event_text(event, text, sizeof text);
    puts(text);
}

static void run_plainly(void) {
    printf("(In a terminal of %d x %d or more this is a moving picture.)\n\n", COLUMNS, ROWS);
    puts("tick  what happens");
    story_begin(print_event);
    while (story_tick())
        ;
    puts("");
}

static void print_row(const struct timer *timer) {
    char due[24], fired[24] = "-", late[24] = "-";
    const char *note = timer->state == ARMED ? "  still armed" : "";
    uint64_t last = timer->fires > 0 ? timer->due + (timer->fires - 1) * timer->period : timer->due;

    if (timer->due_until != timer->due)
        snprintf(due, sizeof due, "%" PRIu64 "-%" PRIu64, timer->due, timer->due_until);
    else
        snprintf(due, sizeof due, "%" PRIu64, last);
    if (timer->fires > 0) {
        snprintf(fired, sizeof fired, "%" PRIu64, timer->fired);
        snprintf(late, sizeof late, "%" PRIu64, timer->late);
    }
    printf("%-14s %-10s %10s %8s %8s %6u%s\n", timer->name, timer->kind, due, fired, late, timer->fires,
           note);
}

/* Prints when each timer fired. Returns the number of timers that fired early or late. */
static unsigned print_table(void) {
    unsigned wrong = 0, fires = 0;
    uint64_t late = 0;

    printf("%-14s %-10s %10s %8s %8s %6s\n", "timer", "kind", "due", "fired", "late by", "fires");
    for (unsigned i = 0; i < NAMED; ++i)
        print_row(&timers[i]);
    for (unsigned i = 0; i < TIMERS; ++i) {
        wrong += timers[i].late != 0 || timers[i].early != 0;
        if (i < NAMED)
            continue;
        fires += timers[i].fires;
        if (timers[i].late > late)
            late = timers[i].late;
    }
    char name[32];
    snprintf(name, sizeof name, "conn-01 to %d", CONNECTIONS);
    printf("%-14s %-10s %10s %8s %8" PRIu64 " %6u\n", name, "one-shot", "each", "each", late, fires);
    printf("\nA row shows its timer's last fire; \"late by\" is the worst of all, in ticks.\n");
    return wrong;
}

int main(int count, char **arguments) {
    bool frames_only = count == 2 && strcmp(arguments[1], "--frames") == 0;
    if (count > 1 && !frames_only) {
        fprintf(stderr, "usage: %s [--frames]\n", arguments[0]);
        return 2;
    }
    if (frames_only || screen_usable())
        run_on_screen(!frames_only);
    else
        run_plainly();
    if (interrupted)
        return 128 + (int)interrupted;
    return print_table() == 0 ? 0 : 1;
}

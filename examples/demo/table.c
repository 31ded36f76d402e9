#include "table.h"

#include <inttypes.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../terminal.h"

enum { ROWS = 24, COLUMNS = 80, BAR = 6 };

enum style { PLAIN, FAINT, BOLD, GOOD, BAD };

static bool is_live, has_colour;
static const char *block = "#";
static unsigned lines; /* printed of the present frame */

static void style(enum style style) {
    static const char *const codes[] = {
        [PLAIN] = "", [FAINT] = ";90", [BOLD] = ";1", [GOOD] = ";1;32", [BAD] = ";1;31"};
    if (has_colour)
        printf("\033[0%sm", codes[style]);
}

static void end_line(void) {
    style(PLAIN);
    fputs(is_live ? "\033[K\n" : "\n", stdout);
    ++lines;
}

static void text_line(enum style how, const char *text) {
    style(how);
    fputs(text, stdout);
    end_line();
}

/* Prints a time span with up to three digits and a suitable unit. */
static void put_time(int width, int64_t ns) {
    static const struct {
        int64_t ns;
        const char *name;
    } units[] = {{TW_SECOND * 86400 * 365, "year"},
                 {TW_SECOND * 86400, "days"},
                 {TW_SECOND, "s"},
                 {TW_MILLISECOND, "ms"},
                 {TW_MICROSECOND, "us"},
                 {1, "ns"}};
    unsigned i = 0;
    while (ns < units[i].ns && units[i].ns > 1)
        ++i;
    double value = (double)ns / (double)units[i].ns;
    char text[32];
    snprintf(text, sizeof text, "%.*f %s", value < 10 && units[i].ns > 1 ? 1 : 0, value, units[i].name);
    printf("%*s", width, text);
}

static void heading(void) {
    style(BOLD);
    fputs("Tickwheel", stdout);
    style(FAINT);
    printf("  %d timers, armed from C, on each driver in turn", TIMERS);
    end_line();
    end_line();
    text_line(FAINT, "driver       ran   fires late: p50     p99     max  wake-ups  drift in periods");
}

static void row(struct trial *trial) {
    struct lateness *late = &trial->lateness;
    if (trial->state == WAITING) {
        text_line(FAINT, trial->driver);
        return;
    }
    if (trial->state == REFUSED) {
        style(FAINT);
        printf("%-7s  refused: %s", trial->driver, trial->refusal);
        end_line();
        return;
    }
    style(trial->state == RUNNING ? BOLD : PLAIN);
    printf("%-7s", trial->driver);
    put_time(9, trial_ran(trial));
    printf("%8" PRIu64, (uint64_t)late->fires);
    put_time(10, lateness_percentile(late, 50));
    put_time(8, lateness_percentile(late, 99));
    put_time(8, late->max_ns);
    printf("%10" PRIu64, trial_wakeups(trial));
    put_time(8, trial->drift_ns);
    printf(" in %6u", trial->periods);
    end_line();
}

/* Draws a range's share of a driver's fires. The driver's largest range fills the bar. */
static void bar(struct lateness *late, unsigned range) {
    uint64_t count = late->ranges[range], fires = late->fires, most = 1;
    for (unsigned i = 0; i < RANGES; ++i)
        if (late->ranges[i] > most)
            most = late->ranges[i];
    char share[8] = "";
    int cells = 0;
    if (count > 0) {
        snprintf(share, sizeof share, count * 200 < fires ? "<1%%" : "%.0f%%",
                 100.0 * (double)count / (double)fires);
        cells = (int)((count * BAR + most / 2) / most);
    }
    printf("  %4s ", share);
    for (int i = 0; i < BAR; ++i)
        fputs(i < cells ? block : " ", stdout);
}

static void histogram(struct trial trials[], unsigned count) {
    end_line();
    style(FAINT);
    printf("%-12s", "how late");
    for (unsigned i = 0; i < count; ++i)
        printf("  %-*s", BAR + 5, trials[i].driver);
    end_line();
    for (unsigned range = 0; range < RANGES; ++range) {
        style(FAINT);
        printf("%12s", lateness_ranges[range]);
        style(PLAIN);
        for (unsigned i = 0; i < count; ++i)
            bar(&trials[i].lateness, range);
        end_line();
    }
    end_line();
}

static void frame(struct trial trials[], unsigned count) {
    if (lines > 0)
        printf("\033[%uA", lines);
    lines = 0;
    heading();
    for (unsigned i = 0; i < count; ++i)
        row(&trials[i]);
    histogram(trials, count);
}

static void show_cursor(void) { fputs("\033[?25h", stdout); }

void table_open(void) {
    setlocale(LC_CTYPE, "");
    is_live = terminal_is_usable(ROWS, COLUMNS);
    has_colour = is_live && terminal_wants_colour();
    if (strcmp(nl_langinfo(CODESET), "UTF-8") == 0)
        block = "\u2588";
    static char buffer[1 << 15]; /* a frame is one write */
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    if (is_live) {
        fputs("\033[?25l", stdout);
        atexit(show_cursor);
    }
}

void table_draw(struct trial trials[], unsigned count, const char *status) {
    if (!is_live)
        return;
    frame(trials, count);
    text_line(FAINT, status);
    fflush(stdout);
}

void table_print_row(struct trial trials[], unsigned which) {
    if (is_live)
        return;
    if (which == 0)
        heading();
    row(&trials[which]);
    fflush(stdout);
}

void table_close(struct trial trials[], unsigned count, const char *verdict, bool good) {
    if (is_live)
        frame(trials, count);
    else
        histogram(trials, count);
    text_line(good ? GOOD : BAD, verdict);
    fflush(stdout);
}

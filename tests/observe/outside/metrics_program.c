/* metrics_program: prints a runtime's metrics, then a line of dashes, and then the same counters from the
 * program's own queries, one in each line: NAME, a tab, LABEL in hexadecimal, a tab, and the number. The
 * program's locale writes numbers with a comma, if the system has such a locale. */
#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tickwheel/observe.h>

#define MS TW_MILLISECOND

static void need(bool is_true) {
    if (!is_true)
        abort();
}

static void nothing(struct tw_node *node, void *arg) {
    (void)node;
    (void)arg;
}

static void print(const char *text, size_t size, void *arg) {
    (void)arg;
    need(fwrite(text, 1, size, stdout) == size);
}

static void say(const char *name, const char *label, double value) {
    printf("%s\t", name);
    for (; label != NULL && *label != 0; ++label)
        printf("%02x", (unsigned)(unsigned char)*label);
    printf("\t%.17g\n", value);
}

static void say_histogram(const char *cause, const struct tw_histogram *histogram) {
    char name[64];
    for (unsigned i = 0; i < TW_BUCKETS; ++i) {
        snprintf(name, sizeof name, "bucket %u", i);
        say(name, cause, (double)histogram->counts[i]);
    }
    say("sum", cause, (double)histogram->sum_ns);
}

/* More labels than the runtime counts apart, so that the rest share a row; one label has the name of that
 * row. */
static struct tw_node nodes[70];
static char many[70][8];
static const char *const hostile[] = {
    "quo\"te", "back\\name", "new\nline", "\xc3\xa9t\xc3\xa9 \xe2\x82\xac", "broken \xff\xc3", "",
    "(other labels)", "{}=,\t# \x01", "broken \\xff\\xc3",
    /* The first and last character of each length in UTF-8, and the invalid bytes just beyond. */
    "\xc2\x80\xc1\xbf\xdf\xbf\xe0\xa0\x80\xe0\x9f\xbf\xed\x9f\xbf\xed\xa0\x80\xef\xbf\xbf",
    "\xf0\x90\x80\x80\xf0\x8f\xbf\xbf\xf3\xbf\xbf\xbf\xf4\x8f\xbf\xbf\xf4\x90\x80\x80\xf5\x80\x80\x80"};
enum { HOSTILE = sizeof hostile / sizeof *hostile };

int main(void) {
    static const char *const locales[] = {"de_DE.UTF-8", "fr_FR.UTF-8"};
    for (unsigned i = 0; i < 2 && setlocale(LC_ALL, locales[i]) == NULL; ++i) {
    }
    struct tw_runtime *rt = NULL;
    need(tw_runtime_new(&rt, &(struct tw_runtime_options){.driver = "manual"}) == 0);
    for (unsigned i = 0; i < 70; ++i) {
        snprintf(many[i], sizeof many[i], "many %u", i);
        tw_node_init(&nodes[i], nothing, NULL);
        need(tw_runtime_label(rt, &nodes[i], i < HOSTILE ? hostile[i] : i == HOSTILE ? NULL : many[i]) == 0);
        /* Some timers of the labels that share a row have overruns, too. */
        const enum tw_missed missed = i < HOSTILE || i % 2 == 0 ? TW_COALESCE : TW_BURST;
        need(tw_runtime_every(rt, &nodes[i], (i % 7 + 1) * MS, missed) == 0);
    }
    need(tw_runtime_advance(rt, 50 * MS) == 0 && tw_runtime_leap(rt, 50 * MS) == 0);
    for (unsigned i = 0; i < 70; i += 3)
        need(tw_runtime_cancel(rt, &nodes[i]) == 1);
    need(tw_runtime_metrics(rt, "a \"name\" \\ \n \xff", print, NULL) == 0);

    setlocale(LC_ALL, "C");
    struct tw_label_counts counts[TW_LABELS];
    const int rows = tw_runtime_labels(rt, counts, TW_LABELS);
    struct tw_stats observed;
    struct tw_stats stats;
    need(tw_runtime_stats(rt, &observed) == 0 && tw_runtime_stats(rt, &stats) == 0);
    printf("----\n");
    for (int i = 0; i < rows; ++i) {
        say("tickwheel_fires_total", counts[i].label, (double)counts[i].fires);
        say("tickwheel_cancels_total", counts[i].label, (double)counts[i].cancels);
        say("tickwheel_overruns_total", counts[i].label, (double)counts[i].overruns);
        say("tickwheel_label_callback_seconds_total", counts[i].label,
            (double)counts[i].callback_sum_ns * 1e-9);
    }
    say("tickwheel_pending", NULL, (double)tw_runtime_count(rt));
    say("tickwheel_wakeups_total", NULL, (double)stats.wakeups);
    say("tickwheel_wakes_total", NULL, (double)stats.wakes);
    say("tickwheel_clock_sets_total", NULL, (double)stats.clock_sets);
    say("tickwheel_wait_errors_total", NULL, (double)stats.wait_errors);
    for (unsigned i = 0; i + 1 < TW_BUCKETS; ++i) {
        char name[32];
        snprintf(name, sizeof name, "limit %u", i);
        say(name, NULL, (double)tw_bucket_limit(i));
    }
    say_histogram("callback", &observed.callbacks);
    say_histogram("waking", &observed.late[TW_LATE_WAKING]);
    say_histogram("callbacks", &observed.late[TW_LATE_CALLBACKS]);
    say_histogram("budget", &observed.late[TW_LATE_BUDGET]);
    need(tw_runtime_free(rt) == 0);
    return 0;
}

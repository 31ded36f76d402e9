/* Reminders that survive their process: three processes that share a database remind customers who have not
 * paid. Every second the first process kills one of them, as kill -9 does, and starts it again.
 *
 *     tickwheel_orders                      some ten seconds, with SQLite, in a temporary file
 *     tickwheel_orders postgresql://...     on a server
 *
 * When the lease of a killed process has ended, the others take over its jobs. If the process was killed
 * after its handler had done its work, but before the database had the answer, the work is done twice. So
 * handlers must tolerate that: `fire->attempt` counts the tries, and by the token the systems that a handler
 * writes to can refuse a late one. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <tickwheel/durable.h>
#include <time.h>
#include <unistd.h>

enum { ORDERS = 80, PROCESSES = 3, LONGEST_S = 60 };

/* What a process writes to the pipe for each reminder; the first process reads it. */
struct reminded {
    int order;
    int64_t late_ns;
};

static void must(int64_t result) {
    if (result >= 0)
        return;
    fprintf(stderr, "%s\n", tw_durable_explain((int)result));
    exit(1);
}

/* --- one of the processes ------------------------------------------------------------------ */

static enum tw_durable_answer on_reminder(struct tw_durable_fire *fire, void *jobs) {
    struct reminded reminder = {.order = (int)strtol(fire->key, NULL, 10),
                                .late_ns = tw_durable_now(jobs) - fire->due_ns};
    nanosleep(&(struct timespec){.tv_nsec = 20 * TW_MILLISECOND}, NULL); /* sends a mail */
    if (write(STDOUT_FILENO, &reminder, sizeof reminder) != sizeof reminder)
        return tw_durable_failed(fire, "nobody listens");
    return TW_DURABLE_DONE;
}

static int serve(const char *address) {
    struct tw_durable_options options = {.lease_ns = TW_SECOND}; /* how soon others take over */
    struct tw_durable *jobs;
    struct tw_runtime *rt;
    char end;
    if (tw_runtime_new(&rt, NULL) != 0 || tw_runtime_start(rt) != 0)
        return 1;
    must(tw_durable_open(&jobs, rt, address, &options));
    must(tw_durable_register(jobs, "reminder", on_reminder, jobs, NULL));
    while (read(STDIN_FILENO, &end, 1) > 0) /* until the first process has closed its end of the pipe */
        ;
    tw_durable_close(jobs);
    tw_runtime_free(rt);
    return 0;
}

/* --- the first process --------------------------------------------------------------------- */

static int to_them[2], from_them[2]; /* pipes */

static pid_t start_process(const char *address) {
    const pid_t process = fork();
    if (process != 0)
        return process;
    dup2(to_them[0], STDIN_FILENO);
    dup2(from_them[1], STDOUT_FILENO);
    close(to_them[1]); /* so that only the first process keeps this end open */
    execl("/proc/self/exe", "tickwheel_orders", "serve", address, (char *)NULL);
    _exit(1);
}

static void put_orders(struct tw_durable *jobs) {
    static char keys[ORDERS][16];
    static struct tw_durable_job orders[ORDERS];
    for (int i = 0; i < ORDERS; ++i) {
        snprintf(keys[i], sizeof keys[i], "%d", i);
        orders[i] = (struct tw_durable_job){
            .kind = "reminder", .key = keys[i], .due_ns = TW_SECOND + i * (8 * TW_SECOND / ORDERS)};
    }
    must(tw_durable_put_many(jobs, orders, ORDERS, TW_DURABLE_REPLACE)); /* on disk from here on */
}

/* Counts the reminders that arrive within a second. */
static void listen(int times[ORDERS], int64_t *latest_ns) {
    const time_t end = time(NULL) + 1;
    struct pollfd ready = {.fd = from_them[0], .events = POLLIN};
    struct reminded reminder;
    while (time(NULL) < end && poll(&ready, 1, 100) >= 0) {
        if ((ready.revents & POLLIN) == 0 ||
            read(from_them[0], &reminder, sizeof reminder) != sizeof reminder)
            continue;
        ++times[reminder.order];
        *latest_ns = reminder.late_ns > *latest_ns ? reminder.late_ns : *latest_ns;
    }
}

static int reminded_of(const int times[ORDERS]) {
    int count = 0;
    for (int i = 0; i < ORDERS; ++i)
        count += times[i] > 0;
    return count;
}

static int report(const int times[ORDERS], int kills, int64_t latest_ns) {
    const int reminded = reminded_of(times);
    int once = 0;
    for (int i = 0; i < ORDERS; ++i)
        once += times[i] == 1;
    printf(
        "%s of %d orders was reminded, while %d processes were killed: %d once, %d more often; %.3f s late "
        "at most\n",
        reminded == ORDERS ? "each" : "NOT each", ORDERS, kills, once, reminded - once,
        (double)latest_ns / 1e9);
    return reminded == ORDERS ? 0 : 1;
}

static int share(const char *address) {
    struct tw_durable *jobs;
    pid_t processes[PROCESSES];
    int times[ORDERS] = {0}, kills = 0;
    int64_t latest_ns = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (pipe(to_them) != 0 || pipe(from_them) != 0)
        return 1;
    must(tw_durable_open(&jobs, NULL, address, NULL)); /* without a runtime: it only puts */
    put_orders(jobs);
    for (int i = 0; i < PROCESSES; ++i)
        processes[i] = start_process(address);
    for (; tw_durable_count(jobs, &(struct tw_durable_filter){.kind = "reminder"}) > 0 && kills < LONGEST_S;
         ++kills) {
        pid_t *const victim = &processes[kills % PROCESSES];
        listen(times, &latest_ns);
        kill(*victim, SIGKILL);
        waitpid(*victim, NULL, 0);
        printf("%2d of %d orders reminded; a process is killed\n", reminded_of(times), ORDERS);
        *victim = start_process(address);
    }
    listen(times, &latest_ns);
    close(to_them[1]); /* ends all processes */
    while (wait(NULL) > 0)
        ;
    tw_durable_close(jobs);
    return report(times, kills, latest_ns);
}

int main(int argc, char **argv) {
    char folder[] = "/tmp/tickwheel-orders-XXXXXX", address[64];
    if (argc == 3 && strcmp(argv[1], "serve") == 0)
        return serve(argv[2]);
    if (argc == 2)
        return share(argv[1]);
    if (mkdtemp(folder) == NULL)
        return 1;
    snprintf(address, sizeof address, "sqlite:%s/jobs.db", folder);
    const int end = share(address);
    unlink(address + strlen("sqlite:"));
    rmdir(folder);
    return end;
}

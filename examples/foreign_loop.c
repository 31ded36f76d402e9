/* Timers in the program's own loop, without another thread.
 *
 * The timerfd driver lends a descriptor that is readable when a timer is due. poll stands here for any
 * loop; libuv, libevent, sd-event, GLib and Asio work as well. */
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <tickwheel/runtime.h>
#include <unistd.h>

enum { MESSAGES = 5 };

static struct tw_runtime *rt;
static struct tw_node sender, end;
static int channel[2]; /* stands for everything else that the loop serves */
static unsigned messages;
static bool ended;

static void on_send(struct tw_node *node, void *arg) {
    (void)node, (void)arg;
    if (write(channel[1], "m", 1) != 1)
        perror("write");
}

static void on_end(struct tw_node *node, void *arg) {
    (void)node, (void)arg;
    ended = true;
}

/* The loop's own code may arm timers anywhere; the descriptor follows. */
static void on_message(void) {
    char byte;
    if (read(channel[0], &byte, 1) == 1)
        printf("message %u\n", ++messages);
    if (messages == MESSAGES)
        tw_runtime_after(rt, &end, 30 * TW_MILLISECOND);
}

static void loop(int timers) {
    struct pollfd ready[] = {{.fd = timers, .events = POLLIN}, {.fd = channel[0], .events = POLLIN}};
    while (!ended && poll(ready, 2, -1) >= 0) {
        if (ready[0].revents != 0)
            tw_runtime_dispatch(rt); /* callbacks run here */
        if (ready[1].revents != 0)
            on_message();
    }
}

int main(void) {
    struct tw_runtime_options options = {.driver = "timerfd"};
    struct tw_when five_times = {
        .due_ns = 20 * TW_MILLISECOND, .period_ns = 20 * TW_MILLISECOND, .fires = MESSAGES};
    int error = tw_runtime_new(&rt, &options);
    int timers = error == 0 ? tw_runtime_fd(rt) : error;
    if (timers < 0 || pipe(channel) != 0) {
        fprintf(stderr, "no loop: %s\n", timers < 0 ? tw_explain(timers) : "no pipe");
        return 1;
    }
    tw_node_init(&sender, on_send, NULL);
    tw_node_init(&end, on_end, NULL);
    tw_runtime_arm(rt, &sender, &five_times);

    loop(timers);
    printf("%u messages, %zu timers left\n", messages, tw_runtime_count(rt));
    bool good = ended && messages == MESSAGES && tw_runtime_count(rt) == 0;
    tw_runtime_free(rt);
    return good ? 0 : 1;
}

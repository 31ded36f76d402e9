#include <inttypes.h>
#include <stdio.h>
#include <tickwheel/tw.h>

struct session {
    const char *name;
    struct tw_node timeout; /* lives in your struct; the wheel allocates nothing */
};

static struct tw wheel;

static void on_timeout(struct tw_node *node, void *arg) {
    struct session *session = arg;
    printf("tick %" PRIu64 ": %s%s\n", tw_now(&wheel), session->name,
           tw_pending(&wheel, node) ? " (again)" : "");
}

int main(void) {
    struct session login = {.name = "login timed out"}, ping = {.name = "ping"},
                   upload = {.name = "upload stalled"};
    tw_init(&wheel, 0, 0);
    tw_node_init(&login.timeout, on_timeout, &login);
    tw_node_init(&ping.timeout, on_timeout, &ping);
    tw_node_init(&upload.timeout, on_timeout, &upload);

    tw_arm_after(&wheel, &login.timeout, 30);
    tw_arm_every(&wheel, &ping.timeout, 20, 20, TW_COALESCE, 3); /* at 20, 40, 60 */
    tw_arm_after(&wheel, &upload.timeout, 1000);
    tw_postpone(&wheel, &upload.timeout, 5000); /* data came in */
    tw_cancel(&wheel, &login.timeout);          /* the password was right */

    while (tw_count(&wheel) > 0) /* here a program would sleep until tw_next() */
        tw_advance(&wheel, tw_next(&wheel), TW_UNBOUNDED);
}

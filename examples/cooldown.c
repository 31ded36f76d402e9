/* Skills with cooldowns, as games have them.
 *
 *     tickwheel_cooldown                     keys q, w, e and r cast; x ends
 *     tickwheel_cooldown "q w +3 q +11 q"    the same on virtual time; + lets seconds pass
 *
 * At the keyboard everything happens on one thread: the epoll driver watches the terminal
 * next to the timers, so nothing here needs a lock. */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <termios.h>
#include <tickwheel/runtime.h>
#include <unistd.h>

enum { SKILLS = 4, CTRL_D = 4, LONGEST_PAUSE = 1000000 };

static struct skill {
    const char key, *name;
    int64_t cooldown;
    struct tw_node ready; /* pending while the skill is on cooldown */
} skills[SKILLS] = {
    {.key = 'q', .name = "Frost Arrow", .cooldown = 14 * TW_SECOND},
    {.key = 'w', .name = "Stone Shield", .cooldown = 35 * TW_SECOND},
    {.key = 'e', .name = "Light Step", .cooldown = 14 * TW_SECOND},
    {.key = 'r', .name = "Thunderstorm", .cooldown = 75 * TW_SECOND},
};
static struct tw_runtime *rt;
static int64_t begin; /* reading of the clock when the game began */

static void say(const struct skill *skill, const char *what, int64_t in) {
    printf("%7.1f s  %c  %-12s  %s", (double)(tw_runtime_now(rt) - begin) / 1e9, skill->key, skill->name,
           what);
    if (in > 0) /* rounds up, because with 0.0 s left the skill would be ready */
        printf(" %.1f s", (double)(in + 49 * TW_MILLISECOND) / 1e9);
    printf("\n");
}

static void on_ready(struct tw_node *node, void *skill) {
    (void)node;
    say(skill, "is ready again", 0);
}

static void cast(struct skill *skill) {
    int64_t left = tw_runtime_remaining(rt, &skill->ready);
    if (left != TW_NO_DEADLINE) {
        say(skill, "not yet, ready in", left);
        return;
    }
    tw_runtime_after(rt, &skill->ready, skill->cooldown);
    say(skill, "is cast, ready in", skill->cooldown);
}

/* Returns false if no skill has this key. */
static bool press(char key) {
    for (int i = 0; i < SKILLS; ++i)
        if (skills[i].key == key)
            return cast(&skills[i]), true;
    return false;
}

/* Ends the game as ctrl-C does, with a signal that play waits for. */
static void on_keys(int fd, uint32_t events, void *arg) {
    (void)events, (void)arg;
    char keys[32];
    ssize_t count = read(fd, keys, sizeof keys), i = 0;
    while (i < count && keys[i] != 'x' && keys[i] != CTRL_D)
        press(keys[i++]);
    if (i < count || count <= 0) {
        tw_runtime_unwatch(rt, fd);
        kill(getpid(), SIGTERM);
    }
}

/* If stdin is no terminal, the calls that change one do nothing. */
static int play(void) {
    struct termios before = {0};
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigprocmask(SIG_BLOCK, &ends, NULL); /* sigwait takes them, so that the terminal is restored */
    tcgetattr(STDIN_FILENO, &before);
    struct termios raw = before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO); /* keys arrive at once, without echo */
    tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    printf("q, w, e and r cast a skill, x ends.\n");
    int error = tw_runtime_watch(rt, STDIN_FILENO, EPOLLIN, on_keys, NULL);
    if (error == 0 && (error = tw_runtime_start(rt)) == 0)
        sigwait(&ends, &(int){0});
    tcsetattr(STDIN_FILENO, TCSANOW, &before);
    return error;
}

static bool follow(const char *script) {
    for (char *end; *script != 0 && *script != 'x'; ++script)
        if (*script == '+') {
            long pause = strtol(script + 1, &end, 10);
            if (end == script + 1 || pause < 0 || pause > LONGEST_PAUSE)
                return false;
            tw_runtime_advance(rt, pause * TW_SECOND);
            script = end - 1;
        } else if (*script != ' ' && !press(*script))
            return false;
    return true;
}

int main(int argc, char **argv) {
    int error = tw_runtime_new(&rt, &(struct tw_runtime_options){.driver = argc > 1 ? "manual" : "epoll"});
    for (int i = 0; i < SKILLS; ++i)
        tw_node_init(&skills[i].ready, on_ready, &skills[i]);
    begin = tw_runtime_now(rt);
    bool good = error == 0 && (argc > 1 ? follow(argv[1]) : (error = play()) == 0);
    tw_runtime_free(rt); /* from here on no callback runs */
    if (!good)
        fprintf(stderr, "%s\n", error != 0 ? tw_explain(error) : "keys: q w e r x, or +SECONDS");
    return good ? 0 : 1;
}

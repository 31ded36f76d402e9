/* The program of docs/PORTING.md on each kernel. A task asks the modem at three moments, and the modem
 * answers the first time. Ticks of 32 bits wrap meanwhile. */
#include "program.h"
#include "simulation.h"

void begin_timers(void);
void modem_ask(void);
void modem_has_answered(void);

enum { MS = TICKS_PER_MS };
static const int64_t begin = (int64_t)UINT32_MAX - 500 * MS;

static int blinks, sent, answers_missed;
static int64_t missed_at;

void modem_send(void) { ++sent; }

void on_blink(struct tw_node *node, void *arg) {
    (void)node, (void)arg;
    ++blinks;
    EXPECT(present() == begin + (int64_t)blinks * 500 * MS + 1);
}

void on_no_answer(struct tw_node *node, void *arg) {
    (void)node, (void)arg;
    ++answers_missed;
    missed_at = present() - begin;
}

static void use_modem(void *unused) {
    (void)unused;
    pass(100 * MS);
    modem_ask();
    pass(29 * MS);
    modem_has_answered();
    pass(471 * MS);
    modem_ask();
    pass(100 * MS);
    EXPECT(sent == 2 && answers_missed == 1 && missed_at == 630 * MS + 1);
    pass(300 * MS);
    modem_ask();
    pass(100 * MS);
    EXPECT(sent == 3 && answers_missed == 2 && missed_at == 1030 * MS + 1);
}

static void run_program(void *unused) {
    (void)unused;
    begin_timers();
}

static void set(void) {
    create(run_program, NULL);
    create(use_modem, NULL);
}

static void check(void) { EXPECT(sent == 3 && blinks == 4); }

int main(void) {
    const struct scene scene = {.begin = begin, .length = 2100 * MS, .set = set, .check = check};
    return explore(&scene) == 1 ? 0 : 1;
}

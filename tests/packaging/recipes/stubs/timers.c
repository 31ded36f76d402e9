/* A program whose thread fires two timers, the later of which it starts first: succeeds if the library
 * contains the adapter to the kernel, and the adapter fits the library's wheel. */
#include "adapter.h"
#include "simulation.h"

enum { BEGIN = 1000 };

static struct tw_kernel timers;
static struct tw_node first, second;
static int64_t first_at, second_at;

static void on_fire(struct tw_node *node, void *at) {
    (void)node;
    *(int64_t *)at = present();
}

static void use_timers(void *unused) {
    (void)unused;
    EXPECT(tw_kernel_start(&timers, &second, 50) == 0);
    pass(10);
    EXPECT(tw_kernel_start_from_isr(&timers, &first, 10) == 0);
    pass(50);
}

static void set(void) {
    EXPECT(tw_kernel_init(&timers) == 0);
    EXPECT(tw_node_init(&first, on_fire, &first_at) == 0 && tw_node_init(&second, on_fire, &second_at) == 0);
    create(run_timers, &timers);
    create(use_timers, NULL);
}

static void check(void) { EXPECT(first_at == BEGIN + 21 && second_at == BEGIN + 51); }

int main(void) {
    const struct scene scene = {.begin = BEGIN, .length = 100, .set = set, .check = check};
    return explore(&scene) == 1 ? 0 : 1;
}

/* The two main loops of docs/PORTING.md, one program each: two timers, one of which an interrupt arms while
 * the program sleeps until the other. */
#undef NDEBUG
#include <assert.h>
#include <stdbool.h>

#include <board_clock.h>
#include <board_interrupts.h>
#include <tickwheel/tw.h>

enum { FIRST_DELAY = 100, INTERRUPT_AFTER = 50, SECOND_DELAY = 10 };

extern struct tw wheel; /* defined by the page's code */
static tw_tick begin, now;
static bool masked, interrupted;
static struct tw_node first, second;
static tw_tick first_at, second_at;

static bool mask(void) {
    const bool was = masked;
    masked = true;
    return was;
}

static void note(struct tw_node *node, void *at) {
    (void)node;
    assert(!masked);
    *(tw_tick *)at = now;
}

static void set_scene(tw_tick at) {
    begin = now = at;
    tw_init(&wheel, now, 0);
    tw_node_init(&first, note, &first_at);
    tw_node_init(&second, note, &second_at);
}

static bool scene_is_over(void) { return first_at != 0 && second_at != 0; }

/* The interrupt's handler. */
static void arm_second(void) { assert(tw_arm_at(&wheel, &second, now + SECOND_DELAY + 1) == 0); }

/* Sleeps until the tick. If the interrupt comes first, it ends the sleep. */
static void sleep_to(tw_tick tick) {
    const tw_tick comes = begin + INTERRUPT_AFTER;
    if (!interrupted && tick - begin >= INTERRUPT_AFTER) {
        now = comes;
        interrupted = true;
        arm_second();
    } else {
        now = tick;
    }
}

/* Each timer fired on its tick: its delay, plus the rest of the tick in which it was armed. */
static void check_scene(void) {
    assert(first_at == begin + FIRST_DELAY + 1);
    assert(second_at == begin + INTERRUPT_AFTER + SECOND_DELAY + 1);
    assert(!masked);
    masked = true; /* interrupts that were masked stay masked */
    assert(tw_count(&wheel) == 0 && masked);
}

void main_loop_turn(void);

uint32_t irq_save(void) { return mask(); }
void irq_restore(uint32_t was) { masked = was != 0; }

#ifdef TICKLESS
uint64_t clock_now(void) { return now; }

void clock_sleep_until(uint64_t tick) {
    assert(masked); /* the loop masked interrupts before tw_next, which takes and releases the lock */
    sleep_to(tick);
}
void wait_for_interrupt(void) {}
#else
void tick_interrupt(void);
tw_tick ticks_now(void);

void wait_for_interrupt(void) {
    assert(!masked);
    tick_interrupt();
    sleep_to(ticks_now());
}
#endif

int main(void) {
#ifdef TICKLESS
    set_scene(12345);
#else
    set_scene(0);
#endif
    assert(tw_arm_at(&wheel, &first, now + FIRST_DELAY + 1) == 0);
    while (!scene_is_over())
        main_loop_turn();
    check_scene();
}

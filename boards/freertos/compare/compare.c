/* Compares the timers of FreeRTOS with those of Tickwheel on one kernel; compare.sh builds the images.
 *
 * Without MEASURES the image is a program with one timer of a kind, or with none, for its size. With MEASURES
 * a task counts all instructions until a call returns, including those of the tasks that the call wakes,
 * which have a higher priority. The tick interrupt is off meanwhile, and the task passes ticks itself. */
#include <FreeRTOS.h>
#include <stdbool.h>
#include <task.h>

#include <host.h>
#include <stopwatch.h>

#include "boards/tests/firmware/expect.h"

#if configUSE_TIMERS == 1
#include <timers.h>
#endif
#ifdef TICKWHEEL
#include <tickwheel/freertos/timers.h>
#endif

enum { DEPTH = 256 };

/* --- the interrupts, which the kernel's port expects in a table -------------------------------- */

void vPortSVCHandler(void);
void xPortPendSVHandler(void);
void xPortSysTickHandler(void);
extern char stack_top[];

static void fault(void) {
    host_print("a fault\n");
    host_exit(99);
}

typedef void handler(void);
static const struct {
    void *stack;
    handler *exceptions[15];
} vectors __attribute__((aligned(256))) = {
    .stack = stack_top,
    .exceptions = {[0 ... 9] = fault,
                   [10] = vPortSVCHandler,
                   [11 ... 12] = fault,
                   [13] = xPortPendSVHandler,
                   [14] = xPortSysTickHandler},
};

#define VTOR (*(const void *volatile *)0xE000ED08u)
#define SYST_CSR (*(volatile uint32_t *)0xE000E010u)

/* --- what the kernel asks for ------------------------------------------------------------------ */

void vApplicationGetIdleTaskMemory(StaticTask_t **task, StackType_t **stack, configSTACK_DEPTH_TYPE *depth);
void vApplicationGetIdleTaskMemory(StaticTask_t **task, StackType_t **stack, configSTACK_DEPTH_TYPE *depth) {
    static StaticTask_t idle;
    static StackType_t words[configMINIMAL_STACK_SIZE];
    *task = &idle;
    *stack = words;
    *depth = configMINIMAL_STACK_SIZE;
}

#if configUSE_TIMERS == 1
void vApplicationGetTimerTaskMemory(StaticTask_t **task, StackType_t **stack, configSTACK_DEPTH_TYPE *depth);
void vApplicationGetTimerTaskMemory(StaticTask_t **task, StackType_t **stack, configSTACK_DEPTH_TYPE *depth) {
    static StaticTask_t daemon;
    static StackType_t words[configTIMER_TASK_STACK_DEPTH];
    *task = &daemon;
    *stack = words;
    *depth = configTIMER_TASK_STACK_DEPTH;
}
#endif

/* --- one timer of each kind -------------------------------------------------------------------- */

enum { MORE = 500, SOON = 100, LATE = 1000 };

#if configUSE_TIMERS == 1
static StaticTimer_t kernel_storage;
static TimerHandle_t kernel_timer;

static void on_kernel_timer(TimerHandle_t timer) { (void)timer; }

static TimerHandle_t new_kernel_timer(StaticTimer_t *storage) {
    return xTimerCreateStatic("timer", LATE, pdFALSE, NULL, on_kernel_timer, storage);
}

static void set_kernel_timers(void) { kernel_timer = new_kernel_timer(&kernel_storage); }
static void kernel_start(void) { (void)xTimerStart(kernel_timer, 0); }
static void kernel_stop(void) { (void)xTimerStop(kernel_timer, 0); }
#endif

#ifdef TICKWHEEL
static struct tw_freertos timers;
static struct tw_node node;

static void on_node(struct tw_node *which, void *arg) { (void)which, (void)arg; }

static void set_tickwheel(void) {
    static StaticTask_t task;
    static StackType_t stack[DEPTH];
    EXPECT(tw_freertos_init(&timers) == 0 && tw_node_init(&node, on_node, NULL) == 0);
    (void)xTaskCreateStatic(tw_freertos_run, "timers", DEPTH, &timers, configTIMER_TASK_PRIORITY, stack,
                            &task);
}

static void tickwheel_start(void) { (void)tw_freertos_start(&timers, &node, LATE); }
static void tickwheel_stop(void) { (void)tw_freertos_stop(&timers, &node); }
#endif

#ifdef MEASURES
/* --- measuring --------------------------------------------------------------------------------- */

typedef void something(void);

__attribute__((noinline)) static uint32_t span(something *call) {
    const uint32_t before = stopwatch_read();
    call();
    return stopwatch_read() - before;
}

static void nothing(void) {}

/* Prints the least and the most instructions of a call. `undo` follows each call. */
static void measure(const char *what, something *call, something *undo) {
    const uint64_t per_second = (uint64_t)INSTRUCTION_NS * STOPWATCH_HZ;
    uint64_t least = UINT64_MAX, most = 0;
    const uint32_t empty = span(nothing);
    for (unsigned i = 0; i < 50; ++i) {
        const uint64_t counts = span(call) - empty;
        const uint64_t count = (counts * 1000000000u + per_second / 2) / per_second;
        least = count < least ? count : least;
        most = count > most ? count : most;
        undo();
    }
    host_print(what);
    host_print(": ");
    host_print_number((unsigned long)least);
    host_print(" ");
    host_print_number((unsigned long)most);
    host_print("\n");
}

static void pass_tick(void) {
    const UBaseType_t mask = taskENTER_CRITICAL_FROM_ISR();
    (void)xTaskIncrementTick();
    taskEXIT_CRITICAL_FROM_ISR(mask);
}

static struct tw_freertos timers_of_hook;
static struct tw_node node_of_hook;

static void tickwheel_start_earlier(void) { (void)tw_freertos_start(&timers, &node, SOON / 2); }
static void hook(void) { tw_freertos_tick(&timers_of_hook); }

static void kernel_start_earlier(void) { (void)xTimerChangePeriod(kernel_timer, SOON / 2, 0); }
static void kernel_stop_and_lengthen(void) {
    (void)xTimerChangePeriod(kernel_timer, LATE, 0);
    kernel_stop();
}

/* Starts many timers of each kind, of which one is due soon. */
static void start_many(void) {
    static StaticTimer_t kernel_timers[MORE];
    static struct tw_node nodes[MORE];
    for (unsigned i = 0; i < MORE; ++i) {
        const TickType_t delay = i == 0 ? SOON : LATE / 2 + i * 7;
        EXPECT(xTimerChangePeriod(new_kernel_timer(&kernel_timers[i]), delay, 0) == pdPASS);
        EXPECT(tw_node_init(&nodes[i], on_node, NULL) == 0);
        EXPECT(tw_freertos_start(&timers, &nodes[i], delay) == 0);
    }
    EXPECT(tw_node_init(&node_of_hook, on_node, NULL) == 0 && tw_freertos_init(&timers_of_hook) == 0);
    EXPECT(tw_freertos_start(&timers_of_hook, &node_of_hook, LATE) == 0);
    hook();
}

static void run(void *unused) {
    (void)unused;
    SYST_CSR = 0;
    stopwatch_start();
    set_kernel_timers();
    start_many();
    measure("FreeRTOS, start, not earlier", kernel_start, kernel_stop);
    measure("FreeRTOS, start, earlier", kernel_start_earlier, kernel_stop_and_lengthen);
    kernel_start();
    measure("FreeRTOS, stop", kernel_stop, kernel_start);
    measure("Tickwheel, start, not earlier", tickwheel_start, tickwheel_stop);
    measure("Tickwheel, start, earlier", tickwheel_start_earlier, tickwheel_stop);
    tickwheel_start();
    measure("Tickwheel, stop", tickwheel_stop, tickwheel_start);
    measure("the kernel, a tick with nothing due", pass_tick, nothing);
    measure("Tickwheel, the hook in such a tick", hook, nothing);
    host_print("bytes of RAM for a timer, FreeRTOS and Tickwheel: ");
    host_print_number(sizeof(StaticTimer_t));
    host_print(" ");
    host_print_number(sizeof(struct tw_node));
    host_print("\n");
    host_exit(0);
}
#else
/* --- a program, for its size ------------------------------------------------------------------- */

static void run(void *unused) {
    (void)unused;
#if configUSE_TIMERS == 1
    set_kernel_timers();
    kernel_start();
    kernel_stop();
#endif
#ifdef TICKWHEEL
    tickwheel_start();
    tickwheel_stop();
#endif
    host_exit(0);
}
#endif

int main(void) {
    static StaticTask_t task;
    static StackType_t stack[DEPTH];
    VTOR = &vectors;
#ifdef TICKWHEEL
    set_tickwheel();
#endif
    (void)xTaskCreateStatic(run, "compare", DEPTH, NULL, 1, stack, &task);
    vTaskStartScheduler();
    return 1;
}

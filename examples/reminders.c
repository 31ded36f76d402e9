/* Reminders under keys: an order that is not paid within 3 minutes is cancelled, a customer
 * who stays for 15 is rewarded, and a warranty ends after two years.
 *
 *     tickwheel_reminders            half a minute, in which a minute takes a second
 *     tickwheel_reminders virtual    two years at once
 *
 * A key identifies its timer, so the program stores neither handles nor nodes: paying removes the timer of
 * that order, and coming back restarts that customer's timer. */
#include "passing.h"

#include <tickwheel/keyed.h>

enum { KEY_ROOM = 32 };

static struct tw_runtime *rt;
static struct tw_keyed *orders;    /* by their number */
static struct tw_keyed *customers; /* by customer and purpose: "anna's reward" */
static int64_t minute;

static double minutes(int64_t ns) { return (double)ns / (double)minute; }

static void say_when(void) {
    double now = minutes(tw_runtime_now(rt) - passing_begin), day = 24 * 60;
    printf("%6.1f %-4s  ", now < day ? now : now / day, now < day ? "min" : "days");
}

/* Without a capacity, a table grows, which needs memory and may fail. */
static int must(int result) {
    if (result < 0)
        passing_failed(result);
    return result;
}

/* --- orders ------------------------------------------------------------------------ */

static void on_unpaid(const struct tw_event *event, void *arg) {
    (void)arg;
    say_when();
    printf("order %d is not paid: cancelled\n", (int)event->key->number);
}

static void order(uint64_t number) {
    say_when();
    printf("order %d\n", (int)number);
    must(tw_keyed_after(orders, tw_key_number(number), 3 * minute, on_unpaid, NULL));
}

static void pay(uint64_t number) {
    int prevented = tw_keyed_cancel(orders, tw_key_number(number));
    say_when();
    printf("order %d is paid%s\n", (int)number, prevented == 1 ? "" : " too late");
}

/* --- customers ---------------------------------------------------------------------- */

static void on_customer(const struct tw_event *event, void *text) {
    say_when();
    printf("%.*s: %s\n", (int)event->key->size, (const char *)event->key->bytes, (const char *)text);
}

static struct tw_key key_of(char room[KEY_ROOM], const char *customer, const char *what) {
    snprintf(room, KEY_ROOM, "%s's %s", customer, what);
    return tw_key_string(room); /* the table copies it */
}

static void come(const char *customer) {
    char room[KEY_ROOM];
    const struct tw_key key = key_of(room, customer, "reward");
    const int is_again = tw_keyed_get(customers, key, NULL) == 0;
    must(tw_keyed_after(customers, key, 15 * minute, on_customer, "here you are"));
    say_when();
    printf("%s comes in%s\n", customer, is_again ? " again, and waits from here" : "");
}

static void buy(const char *customer) {
    char room[KEY_ROOM];
    struct tw_entry timer = {0};
    struct tw_key key = key_of(room, customer, "warranty");
    must(tw_keyed_after(customers, key, minute * 2 * 365 * 24 * 60, on_customer, "it has ended"));
    must(tw_keyed_get(customers, key, &timer));
    say_when();
    printf("%s has a warranty for %.0f days\n", customer, minutes(timer.remaining_ns) / (24 * 60));
}

int main(int argc, char **argv) {
    rt = passing_runtime(argc, argv);
    int is_virtual = tw_runtime_advance(rt, 0) == 0;
    minute = is_virtual ? 60 * TW_SECOND : TW_SECOND;
    if (tw_keyed_new(&orders, rt, NULL) != 0 || tw_keyed_new(&customers, rt, NULL) != 0)
        return 1;
    come("anna");
    come("bert");
    order(1001);
    order(1002);
    let_pass(rt, 2 * minute);
    pay(1001);
    buy("anna");
    let_pass(rt, 2 * minute);
    pay(1002);
    let_pass(rt, 3 * minute);
    come("bert");
    let_pass(rt, 20 * minute);
    if (is_virtual)
        let_pass(rt, minute * 3 * 365 * 24 * 60);
    tw_runtime_stop(rt);
    say_when();
    printf("the end; timers left: %d of orders, %d of customers\n", (int)tw_keyed_count(orders),
           (int)tw_keyed_count(customers));
    tw_runtime_free(rt); /* and both tables with it */
}

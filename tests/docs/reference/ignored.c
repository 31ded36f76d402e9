/* Ignores a result of each kind. The compiler has to warn at the lines that say so, and only there; see
 * must_check.sh. */
#include <tickwheel/keyed.h>
#include <tickwheel/timers.h>
#include <tickwheel/workers.h>

static void f(const struct tw_event *event, void *arg) { (void)event, (void)arg; }

void wheel(struct tw *w, struct tw_node *node);
void wheel(struct tw *w, struct tw_node *node) {
    tw_pending(w, node); /* warns */
    tw_next(w);          /* warns */
    tw_running(w);       /* warns */
    tw_arm_after(w, node, 1);
    tw_cancel(w, node);
    tw_advance(w, 1, TW_UNBOUNDED);
}

void runtime(struct tw_runtime *rt, struct tw_node *node, struct tw_workers *pool);
void runtime(struct tw_runtime *rt, struct tw_node *node, struct tw_workers *pool) {
    tw_driver_named("sleep");          /* warns */
    tw_runtime_new(&rt, NULL);         /* warns */
    tw_runtime_start(rt);              /* warns */
    tw_runtime_after_fork(rt);         /* warns */
    tw_runtime_watch_modify(rt, 0, 0); /* warns */
    tw_runtime_fd(rt);                 /* warns */
    tw_runtime_now(rt);                /* warns */
    tw_explain(0);                     /* warns */
    tw_workers_new(&pool, rt, NULL);   /* warns */
    tw_runtime_after(rt, node, 0);
    tw_runtime_cancel_wait(rt, node);
    tw_runtime_stop(rt);
    tw_runtime_free(rt);
}

void records(struct tw_runtime *rt, struct tw_timers *set, struct tw_keyed *table);
void records(struct tw_runtime *rt, struct tw_timers *set, struct tw_keyed *table) {
    tw_handle handle;
    tw_timers_new(&set, rt, NULL);                       /* warns */
    tw_timer_after(set, &handle, 0, f, NULL);            /* warns */
    tw_keyed_after(table, tw_key_number(1), 0, f, NULL); /* warns */
    tw_keyed_get(table, tw_key_number(1), NULL);         /* warns */
    tw_timer_move(set, 1, 0);
    tw_timer_cancel(set, 1);
    tw_keyed_cancel(table, tw_key_number(1));
}

/* world.h - a runtime on virtual time and its reference, side by side. The world makes each operation on both
 * and compares the answers; each callback must be one that the reference expects next. The first difference
 * ends the program with the seed and the step that reproduce it. play.c chooses the operations. */
#ifndef TICKWHEEL_TESTS_WORLD_H
#define TICKWHEEL_TESTS_WORLD_H

#include <tickwheel/timers.h>

#include "reference.h"

enum running { AT_REST, ADVANCING, LEAPING };

struct world;

struct body {
    struct tw_node *node; /* on the heap, so that it can be freed */
    struct world *world;
    unsigned timer;
};

struct totals {
    uint64_t operations, nested, fires, bursts, stops, sets_back, frees, lives;
};

struct world {
    uint64_t seed, step, random;
    bool talks; /* prints each operation */

    struct tw_runtime *rt;
    struct tw_timers *handles; /* null: this life has only nodes */
    unsigned handles_pending;
    struct body bodies[MOST_TIMERS];
    struct reference ref;

    enum running running;
    bool inside;            /* inside a callback */
    enum line_id on;        /* the line of that callback */
    bool stopped, is_freed; /* set by a callback of this run */
    bool ends_inside;       /* the next callback frees the runtime */
    unsigned fired;         /* fires in this run */
    int64_t run_end;        /* steady reading, ns */

    uint64_t sets_seen;       /* set backs that the runtime has noticed */
    int64_t wall_seen;        /* the last reading of the wall clock */
    uint64_t set_back_so_far; /* ticks */

    struct totals totals;
};

/* Ends the program if `truth` does not hold. */
void require(struct world *w, bool truth, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Prints a line about the run if the user asked for it. */
void tell(const struct world *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

struct life {
    int64_t unit;
    uint32_t budget;
    bool has_wall, has_handles;
    unsigned timers;
};

void world_begin(struct world *w, const struct life *life);
void world_end(struct world *w);

/* With slack, the deadline is in the future. */
void world_arm(struct world *w, unsigned timer, const struct tw_when *when);
void world_move(struct world *w, unsigned timer, int64_t delay);
void world_postpone(struct world *w, unsigned timer, int64_t delay);
void world_cancel(struct world *w, unsigned timer);
void world_cancel_wait(struct world *w, unsigned timer);
void world_retire(struct world *w, unsigned timer);
void world_renew(struct world *w, unsigned timer); /* calls tw_node_init once the node is not pending */
void world_free(struct world *w, unsigned timer);  /* frees its storage and allocates a new node */
void world_start_handle(struct world *w,
                        const struct tw_when *when); /* a one-shot timer alongside the nodes */
void world_run(struct world *w, enum running how, int64_t by);
void world_set_wall(struct world *w, int64_t to); /* in a callback: call world_stop next */
void world_stop(struct world *w);
void world_free_inside(struct world *w); /* frees the runtime from a callback, which is its last */
void world_check(struct world *w);

/* play.c: acts inside a callback. */
void play_inside(struct world *w, unsigned timer);

#endif

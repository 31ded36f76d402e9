/* tickwheel/tw.h - the timer wheel and its nodes.
 *
 * A wheel places nodes in time, says when something is next due, and runs what
 * is due when it is told how far time has come. It reads no clock, starts no
 * thread and allocates nothing: time is an argument, storage is the caller's.
 *
 *     struct tw wheel;
 *     struct tw_node node;
 *     tw_init(&wheel, 0, 0);
 *     tw_node_init(&node, on_timeout, &session);
 *     tw_arm_after(&wheel, &node, 30);         // due at tick 30
 *     tw_advance(&wheel, 30, TW_UNBOUNDED);    // calls on_timeout(&node, &session)
 *
 * Conventions, for every function here
 *   Ticks      Counts of a unit that the caller chooses. Valid ticks are
 *              0 .. TW_NEVER - 1; TW_NEVER says "no tick". 64 bits wide; for
 *              small parts there are 32-bit ones that wrap, see tw_tick.
 *   Results    Negative: an errno value, negated; then nothing has changed.
 *              Zero or positive: success, or a count or truth as documented.
 *              -EINVAL stands for a null pointer, a wheel that tw_init never saw
 *              at this address (forgotten, or a copy), a node that is all zeroes
 *              (tw_node_init forgotten) and an option out of range, everywhere.
 *              Queries answer 0, NULL or TW_NEVER instead.
 *   Storage    A wheel and a pending node stay where they are: do not copy, move
 *              or free them. A node that is not pending may be freed at any
 *              time, also inside its own callback, provided that its callback
 *              is not running on another thread: cancelling does not wait. A
 *              wheel may be freed once every call on it has returned.
 *              A pending node that was copied, freed, overwritten or given to tw_node_init
 *              all the same is found when it or a neighbour is next touched: the
 *              program is stopped, on Linux with a message that has its address (small
 *              parts: in builds without NDEBUG).
 *   Threads    Any call from any thread, callbacks included. A wheel initialised
 *              with TW_UNLOCKED is used by one thread at a time. tw_advance and
 *              tw_update run one at a time: a second one gets -EBUSY. A node is
 *              used with one wheel at a time: -EBUSY for a node that is pending
 *              on another wheel finds mistakes, it does not settle races (and is
 *              not to be had with 32-bit ticks, whose nodes do not name their wheel).
 *   Callbacks  Run on the thread that advances, with no lock held, and may call
 *              anything here on any node or wheel, except advance their own wheel.
 *              They return; what leaves one by an exception or a longjmp calls
 *              tw_abandon then.
 *   Order      By tick, where one that is not in the future counts as the tick that
 *              the wheel has come to; on one tick, by arming (a periodic node arms itself
 *              again just before its callback runs; moving a node arms it anew).
 */
#ifndef TICKWHEEL_TW_H
#define TICKWHEEL_TW_H

#include <stddef.h>
#include <stdint.h>

#include <tickwheel/config.h>
#include <tickwheel/version.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tw_node;

/* A tick, or a number of ticks. The 32-bit ones of a library built with TW_TICK_BITS=32
 * go round: a tick is the nearest one of its value, before or after tw_now(). So
 * everything that pends is less than 2^31 ticks away, ahead or overdue (-ERANGE for delays,
 * periods and slack that are not), time moves on by less than 2^31 at once, what an advance
 * left undone included, and TW_NEVER is a tick as well: whoever arms at it gets it, and
 * tw_next names the tick before it. */
#if TW_TICK_BITS == 32
typedef uint32_t tw_tick;
#define TW_NEVER UINT32_MAX /* no tick */
#else
typedef uint64_t tw_tick;
#define TW_NEVER UINT64_MAX /* no tick */
#endif

/* `node` is no longer pending if it is a oneshot or this was its last fire, and
 * already armed for its next tick otherwise. `arg` is what tw_node_init got.
 * tw_now() is then the tick advanced to, which may be later than tw_due(), the one
 * it was due at. */
typedef void tw_callback(struct tw_node *node, void *arg);

/* One broken invariant, in words; `node` is where it showed, or NULL if it is no node's. Of a
 * node that was freed only the address can be relied on. Called with the wheel's lock held: it
 * must not use that wheel. */
typedef void tw_report(const char *invariant, const struct tw_node *node, void *arg);

#define TW_UNBOUNDED UINT32_MAX /* as a budget: no bound */
#define TW_FIRES_MAX UINT16_MAX /* most fires that a periodic node can be limited to */

/* tw_init flags. */
enum {
    TW_UNLOCKED = 1 /* one thread at a time uses this wheel; takes no lock */
};

/* What a periodic node does if, when it fires, further due ticks have come, up to
 * and including tw_now(). tw_overruns() tells the callback how many. */
enum tw_missed {
    TW_BURST, /* fire once for each, in tick order with everything else */
    TW_SKIP,  /* leave them out; the next fire is the next one of the same grid */
    TW_DELAY  /* leave them out; a new grid begins, a full period after now */
};

/* Where a node is in its life. */
enum tw_state {
    TW_IDLE,    /* on no ring: never armed, or fired, or cancelled */
    TW_PENDING, /* on a ring of its wheel: queued, or due and not yet called */
    TW_SHUT     /* idle, and refuses to be armed */
};

struct tw_link {
    struct tw_link *next, *prev;
};

/* A timer, in the caller's storage. The fields are the wheel's: read them in a
 * debugger, change them through the functions below. */
struct tw_node {
    struct tw_link link; /* in a ring of the wheel while pending */
    tw_tick expiry;      /* tick it is due at */
    tw_tick period;      /* ticks; 0: oneshot */
    tw_callback *fn;     /* NULL: not initialised */
    void *arg;
#if TW_TICK_BITS != 32
    struct tw *wheel; /* the wheel it is, or was last, armed on */
#endif
    uint16_t fires_left; /* 0: no limit */
    uint8_t missed;      /* enum tw_missed */
    uint8_t state;       /* enum tw_state */
#if TW_RUNTIME
    uint32_t part; /* 0: `period` counts ticks. Else it counts parts of a tick, and the
                      deadline is part - 1 of them before `expiry`: see tw_arm_grid */
#endif
};

/* The size of a wheel follows from the geometry in config.h: its slots are two
 * pointers each, its bitmap one bit each. With look-ahead every level but the
 * top one has two blocks of slots. Beyond the levels' ticks, a round, there is a
 * slot for each bit of a tick, and where ticks wrap one more. The library checks
 * this at compile time. */
#define TW_ROUND_BITS (TW_BITS * TW_LEVELS - (TW_LOOKAHEAD && TW_LEVELS > 1 ? 1 : 0))
#define TW_FAR_SLOTS (TW_TICK_BITS - TW_ROUND_BITS + (TW_TICK_BITS == 32))
#define TW_SLOTS (((TW_LEVELS + (TW_LOOKAHEAD ? TW_LEVELS - 1 : 0)) << TW_BITS) + TW_FAR_SLOTS)
#define TW_BITMAP_WORDS ((TW_SLOTS + 8 * sizeof(size_t) - 1) / (8 * sizeof(size_t)))
#define TW_STORAGE \
    ((6 + TW_RUNTIME) * sizeof(tw_tick) + (14 + 3 * TW_RUNTIME) * sizeof(size_t) + \
     TW_BITMAP_WORDS * sizeof(size_t) + (TW_SLOTS + 1) * sizeof(struct tw_link))

/* A wheel, in the caller's storage. */
struct tw {
    union {
        uint64_t alignment;
        unsigned char bytes[TW_STORAGE];
    } storage;
};

/* A program and the library that it is linked with have the same config.h: wheels and nodes begin
 * their lives in functions whose names, for the linker, tell what config.h said. Where they
 * differ it finds none, such as tw_init_bits8_levels3_lookahead1_ticks64_runtime1. The library
 * also has them by their plain names, for languages that do without this header. */
#if defined(__GNUC__) && defined(__ELF__)
#define TW_TEXT_OF(number) #number
#define TW_TEXT(number) TW_TEXT_OF(number)
#define TW_NODE_NAME "_ticks" TW_TEXT(TW_TICK_BITS) "_runtime" TW_TEXT(TW_RUNTIME)
#define TW_GEOMETRY_NAME \
    "_bits" TW_TEXT(TW_BITS) "_levels" TW_TEXT(TW_LEVELS) "_lookahead" TW_TEXT(TW_LOOKAHEAD) TW_NODE_NAME
#define TW_LINKED_AS(name) __asm__(name)
#else
#define TW_LINKED_AS(name)
#endif

/* Makes an empty wheel whose time is `now`; returns 0. `flags`: 0 or TW_UNLOCKED.
 * Not for a wheel that has pending nodes: tw_clear it first, or give each of them
 * to tw_node_init again.
 *   -EINVAL  w is null, now is TW_NEVER, an unknown flag */
int tw_init(struct tw *w, tw_tick now, unsigned flags) TW_LINKED_AS("tw_init" TW_GEOMETRY_NAME);

/* Makes an idle node that will call fn(node, arg); returns 0. Not for a pending node.
 *   -EINVAL  node or fn is null */
int tw_node_init(struct tw_node *node, tw_callback *fn, void *arg) TW_LINKED_AS("tw_node_init" TW_NODE_NAME);

/* Arming. A pending node is moved: it forgets its former tick, period and place
 * in the order of arming. Each returns 1 if the node was pending, else 0.
 *   -EINVAL  see Conventions; a node that was never initialised
 *   -EBUSY   the node is pending on another wheel
 *   -EPERM   the node was shut down
 *   -ERANGE  the tick asked for, with its slack, is beyond TW_NEVER - 1 */

/* Due `delay` ticks from tw_now(w), the tick of the last tw_advance: after a sleep,
 * advance first, or use tw_arm_at with the present tick plus the delay. The present
 * tick has partly passed, so to wait at least d ticks, ask for d + 1.
 *   -EINVAL  also: a delay of 0, the usual trace of a duration that was rounded
 *            down. To fire at once, arm at tw_now(w). */
int tw_arm_after(struct tw *w, struct tw_node *node, tw_tick delay);

/* Due at `tick`; at once (in the next, or the running, tw_advance) if that is
 * not in the future. A callback that wants the next turn of its loop, and not the same
 * tw_advance again, asks for tw_now(w) + 1: that is never in this one. With fine ticks
 * (1 ns will do) it is in the next, whatever the time is then. */
int tw_arm_at(struct tw *w, struct tw_node *node, tw_tick tick);

/* Due at a tick of the wheel's choice in [tick, tick + slack]: one that others
 * are already due at if that is cheap to tell, else the roundest one, so that
 * timers with slack meet on the same ticks and cascade least. */
int tw_arm_within(struct tw *w, struct tw_node *node, tw_tick tick, tw_tick slack);

/* The tick in [tick, tick + slack] that tw_arm_within would choose now; TW_NEVER if it
 * would refuse. For periodic nodes, to choose their first tick. */
tw_tick tw_choose(struct tw *w, tw_tick tick, tw_tick slack);

/* Due at first, first + period, first + 2 * period ... without drift (only
 * TW_DELAY and tw_postpone leave this grid), `fires` times (0: without end; fires
 * that were left out do not count). `first` is a tick, not a delay: tw_now(w) +
 * period begins one period from now, and TW_BURST fires once for each that is past.
 * A fire that would lie beyond TW_NEVER - 1 ends it.
 *   -EINVAL  also: a period of 0, an unknown `missed`, fires > TW_FIRES_MAX */
int tw_arm_every(struct tw *w, struct tw_node *node, tw_tick first, tw_tick period, enum tw_missed missed,
                 uint32_t fires);

#if TW_RUNTIME
/* A period that need not be a whole number of ticks: deadlines are counted in parts of a
 * tick, and each rounds up to a tick. */
struct tw_grid {
    tw_tick first;         /* the tick that the first deadline rounds up to */
    uint32_t early;        /* the parts by which the deadline itself is before that; less than `parts` */
    uint32_t parts;        /* in a tick; at least 1, less than 2^32 - 1, the same for a wheel's whole life */
    tw_tick period;        /* in parts; at least a tick */
    enum tw_missed missed; /* as in tw_arm_every, like */
    uint32_t fires;        /*   the rest */
};

/* As tw_arm_every, on such a grid: the n-th fire is due at the deadline of the first and
 * n * period after it, rounded up. TW_DELAY, tw_move and tw_postpone begin a grid whose
 * deadline is the tick. To be late by 2^64 parts or more counts as 2^64 - 1.
 *   -EINVAL  also: a field out of range; other parts than those of the wheel's grids so far */
int tw_arm_grid(struct tw *w, struct tw_node *node, const struct tw_grid *grid);
#endif

/* Puts a pending node off to a later tick, as cheaply as one store to the node:
 * it keeps its slot and moves on when that opens (which costs one wake-up). For
 * timeouts that almost always get extended. Its place among the nodes of its new
 * tick is unspecified. A periodic node's further fires move along. Returns 0.
 *   -EINVAL  also: `tick` is before the tick it is due at
 *   -ERANGE  `tick` is TW_NEVER
 *   -ENOENT  the node is not pending
 *   -EBUSY   the node is pending on another wheel */
int tw_postpone(struct tw *w, struct tw_node *node, tw_tick tick);

/* Moves a pending node to `tick`, earlier or later, and keeps its period and how many
 * fires are left; its grid moves along. In order as if it were armed now. Returns 0.
 *   -EINVAL  see Conventions
 *   -ERANGE  `tick` is TW_NEVER
 *   -ENOENT  the node is not pending
 *   -EBUSY   the node is pending on another wheel */
int tw_move(struct tw *w, struct tw_node *node, tw_tick tick);

#if TW_RUNTIME
/* Puts everything off by `by` ticks: each node that is pending now, with the further fires
 * of a periodic one, and what tw_due says in a callback that runs. For time that was set
 * back, or stood still. Nodes are pending all the while, and those of one tick keep their
 * order; but what others arm on that tick before this has returned may come before them.
 * At the latest they are due at TW_NEVER - 1. What a tw_clear that runs has not handed out
 * yet is put off with the rest, and stays pending. Takes the lock once for as many steps as
 * there are slots, then as tw_advance does. Returns 0.
 *   -EINVAL  see Conventions */
int tw_postpone_all(struct tw *w, tw_tick by);
#endif

/* Returns 1 if this prevented a fire; 0 if there was none to prevent: the node was
 * never armed, is cancelled already, or its last callback has run or is running.
 * Inside the callback of a periodic node, 1: the fires to come are prevented. Does
 * not wait: whatever it returns, another thread may be in a callback of this node;
 * tw_wait sees to that.
 *   -EBUSY   the node is pending on another wheel */
int tw_cancel(struct tw *w, struct tw_node *node);

/* Cancels for good: the node cannot be armed again until tw_node_init.
 * Returns what tw_cancel would. */
int tw_node_shutdown(struct tw *w, struct tw_node *node);

/* Returns 0 once no other thread is in a callback of the node, or hands it to the `each` of
 * tw_clear: at once if none is, or if the caller is the thread that does. After tw_cancel, or after
 * tw_node_shutdown if the callback or others may arm the node again, the node may
 * then be freed. Holds up the caller as long as the callback takes, so do not hold
 * what the callback needs. With a port without threads: always at once.
 *   -EINVAL  see Conventions */
int tw_wait(struct tw *w, const struct tw_node *node);

/* Removes every node that is pending now, those of one tick in their order, and calls
 * each(node, arg) on it with no lock held; `each` may be null. What is armed from here
 * on stays armed; what `each` cancels is not passed to it. A node that another thread cancels
 * meanwhile may be with `each`, as it may be in its callback: tw_wait sees to both. Also while
 * the wheel is being advanced. Takes the lock once for as many steps as there are slots.
 *   -EINVAL  see Conventions */
int tw_clear(struct tw *w, tw_callback *each, void *arg);

/* 1 if the node is pending on w, else 0. */
int tw_pending(struct tw *w, const struct tw_node *node);

/* The tick that the node is due at; TW_NEVER if it is not pending on w. */
tw_tick tw_expiry(struct tw *w, const struct tw_node *node);

/* Ticks from tw_now(w) until the node is due, 0 if that has passed; TW_NEVER if
 * it is not pending on w. */
tw_tick tw_remaining(struct tw *w, const struct tw_node *node);

/* How many nodes are pending; 0 also for a bad w. */
size_t tw_count(struct tw *w);

/* The latest tick that the wheel was told of; TW_NEVER for a bad w. */
tw_tick tw_now(struct tw *w);

/* The earliest tick at which tw_advance must be called: never too late, and
 * exact while the next busy slots hold no more than 32 nodes in all. tw_now(w) if
 * there is something to do at once; after a tw_advance that returned 0 this is
 * look-ahead, and calling tw_advance again, or tw_idle, gets on with it.
 * TW_NEVER if nothing is pending, or for a bad w. */
tw_tick tw_next(struct tw *w);

/* When the next callback is due, for a loop that has to fire something each time it wakes:
 * unlike tw_next it makes no room for look-ahead, nor for nodes that were postponed. It may
 * look at as many nodes as you allow, `looks`, with the lock held; TW_UNBOUNDED: those of
 * the first busy slot of each level at the most. Returns 1 with the exact tick in *tick; or 0
 * with one that is not later, if the nodes to look at were more, or a tw_advance has
 * left something undone.
 *   -EINVAL  also: looks is 0, tick is null
 *   -ENOENT  nothing is pending */
int tw_first_due(struct tw *w, uint32_t looks, tw_tick *tick);

/* In a callback: how many further due ticks of this periodic node had passed
 * when it was called. TW_BURST: the fires still to be caught up on; TW_SKIP and
 * TW_DELAY: those left out before the next. 0 for a oneshot, or outside. */
tw_tick tw_overruns(struct tw *w);

/* In a callback: the tick that its node was due at. TW_NEVER outside. */
tw_tick tw_due(struct tw *w);

/* The node whose callback runs now, NULL outside. May have been freed since. */
struct tw_node *tw_running(struct tw *w);

/* Brings the wheel to tick `now` and runs what is due by then, in order. At most
 * `budget` callbacks, node moves and opened slots are spent: returns 1 if that left
 * something undone - call again, with the same or a later `now` - and 0 when all
 * is done. The rest of a budget goes to look-ahead work, a bounded share for each
 * tick that passed, up to 64; but none for ticks before the one tw_next asked for.
 *   -EINVAL  also: `now` is before tw_now(w) or is TW_NEVER, budget is 0; with 32-bit
 *            ticks: what is undone would be 2^31 ticks old (call with tw_now(w) first)
 *   -EBUSY   the wheel is being advanced, by another thread or the caller */
int tw_advance(struct tw *w, tw_tick now, uint32_t budget);

/* One tick: tw_advance(w, tw_now(w) + 1, TW_UNBOUNDED), for a tick interrupt. Runs
 * all that is due; to bound that, use tw_advance.
 *   -EBUSY   as tw_advance
 *   -ERANGE  time has come to its end */
int tw_update(struct tw *w);

/* Look-ahead: moves at most `budget` nodes of the blocks that open next one
 * level down, so that their ticks find nothing left to do. Fires nothing. For
 * idle time. Returns 1 while there is more of this, else 0.
 *   -EINVAL  also: budget is 0 */
int tw_idle(struct tw *w, uint32_t budget);

/* Makes the tw_advance that runs, or else the next one that has somebody to call,
 * return 1 instead. From anywhere, a signal handler included. Returns 0.
 *   -EINVAL  see Conventions */
int tw_interrupt(struct tw *w);

/* Ends the tw_advance of this thread that a callback has left by an exception or a longjmp:
 * the callback counts as returned, and what is due besides is left to the next tw_advance.
 * Called from where that was caught, before the wheel is advanced again. Returns 1; or 0
 * if this thread is in no tw_advance of the wheel.
 *   -EINVAL  see Conventions */
int tw_abandon(struct tw *w);

/* The three handlers of pthread_atfork, for a wheel that other threads use. */
enum tw_fork_moment {
    TW_FORK_PREPARE, /* takes the wheel's lock, so that the child gets it in one piece */
    TW_FORK_PARENT,  /* lets it go */
    TW_FORK_CHILD    /* the same; what other threads did on the wheel is over, and a
                        tw_advance that this thread is in returns once its callback has */
};

/* Returns 0. The child owns a copy of the wheel and of its nodes, all still pending.
 *   -EINVAL  see Conventions; an unknown `moment` */
int tw_fork(struct tw *w, enum tw_fork_moment moment);

/* Walks everything and reports each broken invariant; returns how many there
 * were. `report` may be null. For tests: holds the lock the whole time. */
int tw_check(struct tw *w, tw_report *report, void *arg);

/* TW_VERSION of the library that was linked. */
int tw_version(void);

#ifdef __cplusplus
}
#endif

#endif

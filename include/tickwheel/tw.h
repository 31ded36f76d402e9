/* tickwheel/tw.h - the timer wheel and its nodes.
 *
 * A wheel orders nodes by the tick that they are due at and reports the next tick that needs
 * attention. When the caller says how far time has come, the wheel calls the callbacks that are
 * due. It reads no clock, starts no thread and allocates nothing: time is an argument, and all
 * storage belongs to the caller.
 *
 *     struct tw wheel;
 *     struct tw_node node;
 *     tw_init(&wheel, 0, 0);
 *     tw_node_init(&node, on_timeout, &session);
 *     tw_arm_after(&wheel, &node, 30);         // due at tick 30
 *     tw_advance(&wheel, 30, TW_UNBOUNDED);    // calls on_timeout(&node, &session)
 *
 * Conventions for every function here
 *   Ticks      Counts of a unit that the caller chooses. Valid ticks are 0 .. TW_NEVER - 1;
 *              TW_NEVER means "no tick". Ticks are 64 bits wide; small parts can have 32-bit
 *              ticks, which wrap (see tw_tick).
 *   Arguments  `w` is the wheel, and `node` the node that the call is about. `arg` is passed to the
 *              function that is given with it.
 *   Results    A negative result is a negated errno value, and nothing has changed. Zero or a
 *              positive result is success, or a count or truth value as documented.
 *              Every function can return:
 *   -EINVAL      a null pointer, a wheel that was not initialised at this address (tw_init
 *                forgotten, or a copy of a wheel), an option out of range. Queries return 0, NULL
 *                or TW_NEVER instead. A node that is all zeroes is idle: every call accepts the
 *                node, except that calls that arm return -EINVAL until tw_node_init
 *   Storage    Do not copy, move or free a wheel, or a node while it is pending. A node that is
 *              not pending may be freed at any time, also inside its own callback, unless its
 *              callback is running on another thread: cancelling does not wait for it, tw_wait
 *              does. A wheel may be freed once every call on it has returned.
 *              The wheel detects a pending node that was freed, overwritten or initialised again
 *              when the wheel next comes to that node, to fire or lower the node or to arm another
 *              one behind it. The wheel then stops the program; on Linux with a message that names
 *              the node's address (on small parts: only in builds without NDEBUG). Until then,
 *              cancelling one of its neighbours still writes into the node's memory. A call with
 *              the copy of a pending node returns -EBUSY.
 *   Threads    Every function may be called from any thread, callbacks included. A wheel
 *              initialised with TW_UNLOCKED must be used by one thread at a time. Only one
 *              tw_advance, tw_update or tw_take runs at a time; a second one returns -EBUSY. Use a node
 *              with one wheel at a time. The -EBUSY for a node that is pending on another wheel
 *              catches mistakes; it does not make a race between two wheels safe. With
 *              TW_SMALL, and with 32-bit ticks, whose nodes do not store their wheel, no call
 *              returns -EBUSY for such a node.
 *   Callbacks  Run on the thread that advances the wheel, with no lock held. They may call any
 *              function here, on any node or wheel, but must not advance their own wheel. They must
 *              return: no exception or longjmp may leave one. A loop that needs either calls
 *              tw_take instead.
 *   Order      Nodes fire by tick, and nodes of one tick in the order in which they were armed. A node
 *              armed for a past tick counts as due at the tick that the wheel has reached: tw_now(), or
 *              while due nodes are left a tick from that of the latest fire to that of the next one. A
 *              periodic node is armed again just before its callback runs, and moving a node arms it
 *              again.
 */
#ifndef TICKWHEEL_TW_H
#define TICKWHEEL_TW_H

#include <stddef.h>
#include <stdint.h>

#include <tickwheel/config.h>
#include <tickwheel/must_check.h>
#include <tickwheel/version.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tw_node;

/* A tick, or a number of ticks.
 *
 * In a tree with 32-bit ticks (TW_ENGINE=tree32) ticks wrap: a value stands for the nearest tick with
 * that value, before or after tw_now(). This has three consequences. Every pending node is less
 * than 2^31 ticks away, ahead or overdue; delays, periods and slack beyond that return -ERANGE.
 * Time moves on by less than 2^31 ticks at once, including the part that an earlier tw_advance
 * left unfinished. TW_NEVER is also an ordinary tick: a node can be armed for it, and tw_next
 * then reports the tick before it. */
#if TW_TICK_BITS == 32
typedef uint32_t tw_tick;
#define TW_NEVER UINT32_MAX /* no tick */
#else
typedef uint64_t tw_tick;
#define TW_NEVER UINT64_MAX /* no tick */
#endif

/* A timer's callback. `arg` is the argument given to tw_node_init. The node is already armed for
 * its next tick if it is periodic and has fires left; otherwise it is idle. Inside the callback
 * tw_now() is the tick that the wheel is being advanced to, and tw_due() is the tick that the
 * node was due at, which may be earlier. */
typedef void tw_callback(struct tw_node *node, void *arg);

/* Receives one broken invariant, in words. `node` is the node that breaks it, or NULL if the
 * invariant concerns no node; if the node was freed, only its address is meaningful. Called with
 * the wheel's lock held, so it must not use that wheel. */
typedef void tw_report(const char *invariant, const struct tw_node *node, void *arg);

#define TW_UNBOUNDED UINT32_MAX /* as a budget: no limit */
#define TW_FIRES_MAX UINT16_MAX /* highest limit on the fires of a periodic node */
#define TW_LABELS 64            /* labels are numbers below this; 0: none */
#define TW_MISSED_BITS 2        /* lowest bits of a node's missed_and_label: enum tw_missed */

/* tw_init flags. */
enum {
    TW_UNLOCKED = 1 /* take no lock: only one thread at a time uses this wheel */
};

/* What a periodic node does when it fires late, after further ticks of its grid have passed, up to
 * and including tw_now(). In the callback, tw_overruns() returns their number. */
enum tw_missed {
    TW_COALESCE, /* this fire stands for all of them; the next fire is the next one on the same grid */
    TW_DELAY,    /* this fire stands for all of them; a new grid starts one full period from now */
    TW_BURST     /* fire once for each, in tick order among all other timers */
};

/* The state of a node. */
enum tw_state {
    TW_IDLE,    /* on no ring: never armed, fired or cancelled */
    TW_PENDING, /* on a ring of its wheel: waiting, or due and not yet called */
    TW_RETIRED  /* idle, and cannot be armed until tw_node_init */
};

struct tw_link {
    struct tw_link *next, *prev;
};

/* A timer, in the caller's storage. The fields belong to the wheel: read them in a debugger, but
 * change them only through the functions below. */
struct tw_node {
    struct tw_link link; /* neighbours on its ring while pending */
#if TW_TREE
    struct tw_node *child[2]; /* children in the tree. child[0] is the node itself if the node is in
                                 the ring of another node of its tick */
#endif
#if TW_TICK_BITS != 32
    uintptr_t wheel; /* the wheel that the node is, or was last, armed on, encoded with the node's
                        address, so that a copy names no wheel */
#endif
    uint16_t fires_left;      /* 0: no limit */
    uint8_t missed_and_label; /* enum tw_missed in the lowest bits, the label above them */
    uint8_t state; /* enum tw_state; near the front, where small parts need less code to reach it */
#if TW_RUNTIME
    uint32_t part; /* 0: `period` counts ticks. Only runtimes use other numbers. UINT32_MAX: the node is
                      one-shot, and `period` is its delay plus 1. Others: `period` counts parts of a
                      tick, and the deadline lies part - 1 parts before `expiry` */
#endif
#if TW_TREE
    tw_tick key; /* the tick that decides the node's place in the tree */
#endif
    tw_tick expiry; /* the tick that the node is due at */
    tw_tick period; /* in ticks, unless `part` says otherwise; 0: one-shot */
#if TW_RUNTIME
    uint64_t order; /* its place in the order of arming */
#endif
    tw_callback *fn; /* NULL: not initialised */
    void *arg;
};

/* An initialiser for an idle node that will call function(node, argument), as tw_node_init makes
 * it. For C, and for C++14 and later.
 *
 *     static struct tw_node blink = TW_NODE(toggle, &led); */
#ifndef __cplusplus
#define TW_NODE(function, argument) \
    { .fn = (function), .arg = (argument) }
#elif __cplusplus >= 201402L
#define TW_NODE(function, argument) tw_node_of((function), (argument))

/* Returns the node that TW_NODE makes from `fn` and `arg` in C++. */
constexpr struct tw_node tw_node_of(tw_callback *fn, void *arg) {
    struct tw_node node = {};
    node.fn = fn;
    node.arg = arg;
    return node;
}
#endif

/* The size of a wheel. It has three levels of 256 slots; the lower two also have slots for the
 * block that opens next. Together the levels cover one round of 2^23 ticks; beyond a round there is
 * one far slot for each remaining bit of a tick. A slot takes two pointers and one bit of the
 * bitmap. The library checks these sizes at compile time. */
#define TW_SLOTS (5 * 256 + (64 - 23))
#define TW_BITMAP_WORDS ((TW_SLOTS + 8 * sizeof(size_t) - 1) / (8 * sizeof(size_t)))
#if TW_TREE
#define TW_STORAGE \
    (4 * sizeof(tw_tick) + 8 * sizeof(size_t) + 4 * sizeof(uint32_t) + \
     (sizeof(tw_tick) < sizeof(size_t) ? 8 : 0)) /* padding */
#else
#define TW_STORAGE \
    ((6 + 2 * TW_RUNTIME) * sizeof(tw_tick) + \
     (17 + (sizeof(size_t) == 4 ? 12 : 7) * TW_RUNTIME) * sizeof(size_t) + \
     TW_RUNTIME * sizeof(uint64_t) * (TW_LABELS + 1) + TW_BITMAP_WORDS * sizeof(size_t) + \
     (TW_SLOTS + 1) * sizeof(struct tw_link))
#endif

/* A wheel, in the caller's storage. Its contents are private to the library. */
struct tw {
    union {
#if TW_TREE
        struct {
            const struct tw *self;
            unsigned char lock;
        } first; /* the parts of a new wheel that are not 0; see TW_WHEEL */
#endif
        uint64_t alignment;
        unsigned char bytes[TW_STORAGE];
    } storage;
};

#if TW_TREE
/* An initialiser for an empty wheel at tick 0 that takes the lock; such a wheel can be used before
 * main. Unlike tw_init, an initialiser cannot call the port: so a lock whose word is 0 must be open,
 * and race detectors do not follow the lock of this wheel. The other engine has too many slots for an
 * initialiser.
 *
 *     static struct tw wheel = TW_WHEEL(wheel); */
#define TW_WHEEL(wheel) \
    { \
        { \
            { &(wheel), 1 } \
        } \
    }
#endif

/* A program must be compiled with the same config.h as the library that it links with. To enforce
 * this, the functions that initialise wheels and nodes, tw_advance and tw_update have linker
 * names that contain the settings on which sizes depend, for example tw_init_wheel_runtime1. If the
 * settings differ, linking fails. TW_SMALL and TW_VALIDATION change no size and are not compared; a
 * call to a function that they leave out does not link anyway. The library also exports the plain
 * names, for languages that do not use this header; they ask tw_node_size and tw_wheel_size how
 * much storage to provide. */
#if defined(__GNUC__) && defined(__ELF__)
#define TW_TEXT_OF(number) #number
#define TW_TEXT(number) TW_TEXT_OF(number)
#if TW_TREE
#define TW_LAYOUT_NAME "_tree_ticks" TW_TEXT(TW_TICK_BITS)
#else
#define TW_LAYOUT_NAME "_wheel_runtime" TW_TEXT(TW_RUNTIME)
#endif
#define TW_LINKED_AS(name) __asm__(name)
#else
#define TW_LINKED_AS(name)
#endif

/* Initialises an empty wheel at tick `now` and returns 0. `flags` is 0 or TW_UNLOCKED. Do not
 * call it on a wheel with pending nodes: call tw_cancel_all first, or tw_node_init on each of them
 * afterwards. Takes no lock.
 *   -EINVAL  w is null, now is TW_NEVER, or a flag is unknown */
int tw_init(struct tw *w, tw_tick now, unsigned flags) TW_LINKED_AS("tw_init" TW_LAYOUT_NAME);

/* Initialises an idle node that will call fn(node, arg), and returns 0. The node must not be
 * pending. Takes no lock.
 *   -EINVAL  node or fn is null */
int tw_node_init(struct tw_node *node, tw_callback *fn, void *arg)
    TW_LINKED_AS("tw_node_init" TW_LAYOUT_NAME);

/* Arming a pending node moves it: its former tick, period and place in the order of arming are
 * forgotten. */

/* Arms the node for `delay` ticks after tw_now(w), the tick of the last tw_advance. After a
 * sleep, advance the wheel first, or call tw_arm_at with the present tick plus the delay. Part of
 * the present tick has already passed, so to wait for at least d ticks ask for d + 1. Returns 0.
 *   -EINVAL  also: the delay is 0, which usually means that a duration was rounded down. To
 *            fire at once, arm at tw_now(w).
 *   -EBUSY   the node is pending on another wheel
 *   -EPERM   the node is retired
 *   -ERANGE  the tick is beyond TW_NEVER - 1 */
int tw_arm_after(struct tw *w, struct tw_node *node, tw_tick delay);

/* Arms the node for `tick`. If `tick` is not in the future, the node fires in the tw_advance that
 * is running, or else in the next one. A callback that wants to be called again in the next turn
 * of its loop, not in the same tw_advance, arms for tw_now(w) + 1: that tick never belongs to the
 * running tw_advance, and with fine ticks (such as 1 ns) it always belongs to the next one. Returns 0.
 *   -EBUSY   the node is pending on another wheel
 *   -EPERM   the node is retired
 *   -ERANGE  the tick is beyond TW_NEVER - 1 */
int tw_arm_at(struct tw *w, struct tw_node *node, tw_tick tick);

/* Arms the node for a tick in [tick, tick + slack] that the wheel chooses: a tick at which other
 * nodes are already due, if one is cheap to find; otherwise the tick with the most trailing zero
 * bits. Timers with slack thus share ticks, and are lowered least often. Returns 0.
 *   -EBUSY   the node is pending on another wheel
 *   -EPERM   the node is retired
 *   -ERANGE  tick + slack is beyond TW_NEVER - 1 */
int tw_arm_within(struct tw *w, struct tw_node *node, tw_tick tick, tw_tick slack);

/* Arms a periodic node: due at first, first + period, first + 2 * period and so on, without
 * drift. Only TW_DELAY, tw_move and tw_postpone shift this grid. The node fires
 * `fires` times, or without end if that is 0; skipped fires do not count. `first` is a tick, not
 * a delay: tw_now(w) + period starts one period from now, and a `first` in the past makes
 * TW_BURST fire once for each tick of the grid that has passed. The node becomes idle when its
 * next tick would lie beyond TW_NEVER - 1. Returns 0.
 *   -EINVAL  also: the period is 0, `missed` is unknown, or fires > TW_FIRES_MAX
 *   -EBUSY   the node is pending on another wheel
 *   -EPERM   the node is retired
 *   -ERANGE  `first` is beyond TW_NEVER - 1 */
int tw_arm_every(struct tw *w, struct tw_node *node, tw_tick first, tw_tick period, enum tw_missed missed,
                 uint32_t fires);

/* Postpones a pending node to a later tick by storing that tick in the node. The node keeps its
 * slot and moves on when the slot opens, which costs one wake-up; in a tree it moves at once.
 * Meant for timeouts that are almost always extended. The node's place among the nodes of its new tick is
 * unspecified. The further fires of a periodic node shift by the same amount. A node that is already due
 * at that tick or later stays as it is. Returns 0.
 *   -ERANGE  `tick` is TW_NEVER
 *   -ENOENT  the node is not pending
 *   -EBUSY   the node is pending on another wheel */
int tw_postpone(struct tw *w, struct tw_node *node, tw_tick tick);

/* Moves a pending node to `tick`, earlier or later. The node keeps its period and the number of
 * fires left; its grid shifts to the new tick. In the order of its tick, the node counts as armed now.
 * Returns 0.
 *   -EINVAL  see Conventions
 *   -ERANGE  `tick` is TW_NEVER
 *   -ENOENT  the node is not pending
 *   -EBUSY   the node is pending on another wheel */
int tw_move(struct tw *w, struct tw_node *node, tw_tick tick);

/* Cancels a node. Returns 1 if this prevented a fire, or 0 if there was none to prevent: the node
 * was never armed, is already cancelled, or its last callback has run or is running. Inside the
 * callback of a periodic node with fires left the result is 1. tw_cancel does not wait: whatever it
 * returns, another thread may still be running a callback of this node; tw_wait waits for that.
 *   -EINVAL  see Conventions
 *   -EBUSY   the node is pending on another wheel */
int tw_cancel(struct tw *w, struct tw_node *node);

/* Cancels a node and retires it: arming it returns -EPERM until tw_node_init. Returns 1 if this
 * prevented a fire, else 0; see tw_cancel.
 *   -EINVAL  see Conventions
 *   -EBUSY   the node is pending on another wheel */
int tw_retire(struct tw *w, struct tw_node *node);

/* Waits until no other thread is running the node's callback or the `each` of a tw_cancel_all with this
 * node, and returns 0. Returns at once if the caller is the thread that runs it, and on a port
 * without threads. After tw_cancel and tw_wait the node may be freed; if the callback or another
 * thread may arm the node again, use tw_retire and tw_wait. Do not hold a lock that the
 * callback or `each` takes.
 *   -EINVAL  see Conventions */
int tw_wait(struct tw *w, const struct tw_node *node);

/* Cancels every node that is pending now and calls each(node, arg) on it with no lock held, on nodes
 * of one tick in their order. `each` may be null. Nodes that are armed from now on stay armed, and
 * `each` does not get nodes that it has cancelled itself. Moving a node that `each` has not got yet
 * arms the node again, so it stays armed; in a tree, so does postponing it. If another thread cancels a node
 * meanwhile, `each` may still be running with that node; tw_wait waits for it. May be called while
 * the wheel is being advanced. `each` must return: no exception or longjmp may leave it. Holds the
 * lock once for as many steps as the wheel has slots (a tree: for one step), then once for each
 * node. Returns 0.
 *   -EINVAL  see Conventions */
int tw_cancel_all(struct tw *w, tw_callback *each, void *arg);

#if TW_RUNTIME
/* A walk over the pending nodes of a wheel. All zeroes: the walk begins; one that has ended stays so. Do not
 * copy, move or free a walk that has begun and not ended. */
struct tw_walk {
    struct tw_node was;        /* a copy of the node that tw_walk_next has last returned, made at
                                  that moment */
    struct tw_node place, end; /* the rest is private */
    uint32_t slots_done, times_emptied;
    int has_end;
};

/* Returns the next pending node, in no particular order; NULL at the end, or for an invalid w. Holds no lock
 * when it returns: another thread may cancel and free the node, so unless your program prevents that, use
 * only its address and the copy. Between two calls you may do anything to the wheel. The walk
 * returns once each node that stays pending throughout and that no call arms or moves, with these
 * exceptions. It returns a node twice if the wheel lowers the node during the walk. It may miss a node
 * if the node is periodic and fires during the walk, or if an earlier tw_postpone or a tw_set_back takes
 * effect during the walk. It does not return nodes that are armed while the walk is in their slot. */
TW_MUST_CHECK struct tw_node *tw_walk_next(struct tw *w, struct tw_walk *walk);

/* Ends a walk early. Returns 0.
 *   -EINVAL  see Conventions */
int tw_walk_end(struct tw *w, struct tw_walk *walk);

/* Sets the wheel back to tick `now`, for a clock that was set back. Every node stays pending for the
 * tick that it is due at. Nodes of one tick keep their order; a node that another thread arms for the
 * same tick before the call returns may fire before them. Holds the lock once for as many steps as the
 * wheel has slots, then in short stretches as tw_advance does. Nodes that a tw_cancel_all under way has not
 * yet handed out stay pending. Returns 0.
 *   -EINVAL  also: `now` is after tw_now(w)
 *   -EBUSY   the wheel is being advanced, by another thread or by the caller */
int tw_set_back(struct tw *w, tw_tick now);
#endif

/* Returns 1 if the node is pending on w, else 0. */
TW_MUST_CHECK int tw_pending(struct tw *w, const struct tw_node *node);

/* Returns the tick that the node is due at, or TW_NEVER if it is not pending on w. */
TW_MUST_CHECK tw_tick tw_expiry(struct tw *w, const struct tw_node *node);

/* Returns the wheel that a node is, or was last, armed on; NULL if the node never was armed. Takes no
 * lock. In a callback, this is the wheel that calls the callback. Once the node is no longer pending, only
 * your program knows whether the wheel still exists. For a copy of a node the result is meaningless, and the
 * wheel of a node that a runtime has armed is private to the runtime. Nodes with 32-bit ticks do not store
 * their wheel, so the function is left out there. */
TW_MUST_CHECK struct tw *tw_wheel_of(const struct tw_node *node);

/* Returns the number of pending nodes; 0 for an invalid w. */
TW_MUST_CHECK size_t tw_count(struct tw *w);

/* Returns the wheel's present tick, to which tw_init, tw_advance, tw_update, tw_take or tw_set_back has
 * last set it, even if work is left for that tick; TW_NEVER for an invalid w. */
TW_MUST_CHECK tw_tick tw_now(struct tw *w);

/* Returns the tick at which tw_advance must next be called. It is never too late, and is exact
 * while the next busy slots hold no more than 32 nodes in all; in a tree it is always exact. It is
 * tw_now(w) if there is work to do at once; after a tw_advance that returned 0 that work is
 * look-ahead, which another tw_advance, tw_take or tw_idle continues. TW_NEVER if nothing is pending, or for
 * an invalid w. */
TW_MUST_CHECK tw_tick tw_next(struct tw *w);

#if TW_RUNTIME || TW_TREE
/* Returns a node that fires first: no pending node is due before it. Unlike tw_next, tw_first leaves out
 * the wake-ups that look-ahead and postponed nodes need, so a loop that sleeps until the tick of this node
 * fires something each time that it wakes. Examines at most `looks` nodes with the lock held; with
 * TW_UNBOUNDED, those of the first busy slot of each level, and of further slots if nodes were postponed.
 * NULL does not mean that nothing is pending, only that there is no cheap answer: the looks were not enough,
 * or a tw_advance has left work. Then ask tw_next. A tree always finds the node, with one look. */
TW_MUST_CHECK struct tw_node *tw_first(struct tw *w, uint32_t looks);
#endif

/* In a callback: returns how many further ticks of this periodic node's grid had passed when the
 * callback was called. With TW_BURST these fires follow; with TW_COALESCE and TW_DELAY they are skipped.
 * Returns 0 for a one-shot node, and outside callbacks. */
TW_MUST_CHECK tw_tick tw_overruns(struct tw *w);

/* In a callback: returns the tick that its node was due at. TW_NEVER outside callbacks. */
TW_MUST_CHECK tw_tick tw_due(struct tw *w);

/* Returns the node whose callback is running, or NULL if none is. The callback may have freed it. */
TW_MUST_CHECK struct tw_node *tw_running(struct tw *w);

/* Advances the wheel to tick `now` and calls the callbacks that are due by then, in order. It
 * spends at most `budget` callbacks, node moves and opened slots; in a tree only callbacks count. Returns
 * 0 when all is done, or 1 if work is left; then call it again with the same or a later `now`. The
 * rest of the budget goes to look-ahead: a bounded share for each tick that passed, for up to 64
 * ticks, but none for the ticks before the one that tw_next asked for.
 *   -EINVAL  also: `now` is before tw_now(w) or is TW_NEVER, or budget is 0; with TW_SMALL:
 *            budget is not TW_UNBOUNDED; with 32-bit ticks: pending work would lag 2^31 ticks (call
 *            it with tw_now(w) first)
 *   -EBUSY   the wheel is already being advanced, by another thread or by the caller */
int tw_advance(struct tw *w, tw_tick now, uint32_t budget) TW_LINKED_AS("tw_advance" TW_LAYOUT_NAME);

/* A fire that the caller makes by calling `fn`. */
struct tw_fire {
    struct tw_node *node;
    tw_callback *fn; /* as given to tw_node_init, like `arg` */
    void *arg;
    tw_tick due;      /* the tick that the node was due at */
    tw_tick overruns; /* as tw_overruns returns it in a callback */
};

/* Advances the wheel to tick `now`, but hands out the first fire that is due instead of making it, for
 * a loop that decides itself what runs, when and in which order:
 *
 *     while (tw_take(w, now, &fire) == 1)
 *         fire.fn(fire.node, fire.arg);
 *
 * does what tw_advance(w, now, TW_UNBOUNDED) does. To the wheel, the callback has already returned:
 * tw_due, tw_overruns, tw_running and tw_wait do not see the fire, and between two calls the
 * caller may do anything, including throw an exception. A periodic node is armed again. Returns 1,
 * or 0 if nothing is due by `now`. One call moves as many nodes as it must, in short holds of the
 * lock.
 *   -EINVAL  also: `now` is before tw_now(w) or is TW_NEVER, or fire is null; with 32-bit ticks:
 *            pending work would lag 2^31 ticks
 *   -EBUSY   the wheel is already being advanced, by another thread or by the caller */
int tw_take(struct tw *w, tw_tick now, struct tw_fire *fire);

/* Advances the wheel by one tick, for a tick interrupt: tw_advance(w, tw_now(w) + 1,
 * TW_UNBOUNDED). Calls everything that is due; to limit that, use tw_advance. Returns 0.
 *   -EINVAL  also: with 32-bit ticks, pending work would lag 2^31 ticks
 *   -EBUSY   the wheel is already being advanced, by another thread or by the caller
 *   -ERANGE  tw_now(w) is the last tick */
int tw_update(struct tw *w) TW_LINKED_AS("tw_update" TW_LAYOUT_NAME);

/* Does look-ahead in idle time: lowers at most `budget` nodes of the slots that open next, so that
 * no later tick has to wait for that. Fires nothing. Returns 1 while more of this work is left,
 * else 0. A tree has no such work: there it returns 0 at once.
 *   -EINVAL  also: budget is 0 */
int tw_idle(struct tw *w, uint32_t budget);

/* Checks all invariants of the wheel and its nodes, calls report(invariant, node, arg) for each
 * broken one, and returns how many there were. `report` may be null. For tests: it holds the lock
 * throughout. */
TW_MUST_CHECK int tw_check(struct tw *w, tw_report *report, void *arg);

/* The linked library, for languages that do not use this header. */

/* Returns the size of a struct tw_node, or of a struct tw, in bytes. Memory of that size, aligned
 * as malloc aligns it, can hold one; initialise it with tw_node_init or tw_init. */
TW_MUST_CHECK size_t tw_node_size(void);
TW_MUST_CHECK size_t tw_wheel_size(void);

/* Returns the TW_VERSION of the linked library: major * 10000 + minor * 100 + patch. */
TW_MUST_CHECK int tw_version(void);

#ifdef __cplusplus
}
#endif

#endif

/* Nodes fire while other threads, and callbacks, end them and wait (tw_runtime_cancel_wait,
 * tw_runtime_retire) in order to free them.
 *
 * Claims
 *   - After cancel_wait has returned, while no thread arms the node again, no callback of the node runs
 *     or begins on another thread. After retire this holds even if other threads try to arm it.
 *   - So the node may be freed: the library does not access a freed node, whether a waiter or the node's
 *     own callback frees it.
 *   - No waiter sleeps forever; a call inside a callback does not wait.
 *
 * The scene: two threads and the callback of `neighbour` end `target`; the last of them to be
 * done with it frees it. Or none of them uses it, and its own callback frees it.
 *
 * Simplifications
 *   - A critical section of the wheel's lock is one step (lock.pml). A pending node is always due. */

#define FIRES 3 /* at most */
#define ADVANCER 2 /* the thread that fires; the others are 0 and 1 */

#define target 0
#define neighbour 1
#define NONE 2

mtype = { IDLE, PENDING, RETIRED };
mtype state[2] = PENDING;
bool is_periodic; /* target */

byte running = NONE; /* src/core/wheel_state.hpp: "tw_node *running;" */
byte returned;       /* src/core/wheel_state.hpp: "std::uint32_t returned;" */
byte waiters;       /* src/core/wheel_state.hpp: "std::uint32_t waiters;" */

bool for_good; /* target is retired, and its callback arms it again; else it is cancelled */
byte users; /* threads and callbacks that have yet to end target */
bool is_ended; /* a user has ended target, whose callback may not begin any more */
bool freed;
byte in_callback = NONE;

bool in_kernel[3]; /* sleeps on `returned` */
bool woken_for_nothing; /* the kernel has woken a sleeper early, which it does at most once */

#define touch(node) assert(node != target || !freed)

/* --- ending target --------------------------------------------------------------------------- */

inline arm(node) {
    d_step {                            /* src/core/api.hpp: "if (const int error = check_armable(*node); error != 0)" */
        touch(node);
        if
#ifndef BREAK_ARMS_WHAT_IS_RETIRED
        :: state[node] == RETIRED
#endif
        :: else -> state[node] = PENDING
        fi
    }
}

inline take_off(node) {
    d_step {                            /* src/runtime/nodes.cpp: "how(&timeline_of(rt, node).wheel, node)" */
        touch(node);
        if
        :: for_good -> state[node] = RETIRED        /* src/core/change.hpp: "node.state = TW_RETIRED;" */
        :: !for_good && state[node] == PENDING ->
            state[node] = IDLE          /* src/core/wheel.hpp: "node.state = TW_IDLE;" */
        :: else
        fi
    }
}

/* FUTEX_WAIT compares the word and falls asleep in one step. */
inline kernel_waits() {
    atomic {                            /* src/core/callback_wait.hpp: "tw_port_wait(&events, seen" */
        if
        :: returned == seen -> in_kernel[me] = true
        :: else
        fi
    }
    if
    :: !in_kernel[me]
    :: atomic { in_kernel[me] && !woken_for_nothing -> woken_for_nothing = true; in_kernel[me] = false }
    fi
}

inline wait_for_next() {
    do
    :: kernel_waits();
#ifdef BREAK_TRUSTS_EVERY_WAKE
        waiters--;
        break
#else
        atomic {                        /* src/core/callback_wait.hpp: "while (events == seen);" */
            if
            :: returned != seen -> waiters--; break
            :: else
            fi
        }
#endif
    od
}

#ifdef BREAK_WAITS_FOR_ITSELF
#define must_wait(node) (running == node)
#else
/* src/core/callback_wait.hpp: "wheel.running == node && wheel.advancer != tw_port_self()" */
#define must_wait(node) (running == node && me != ADVANCER)
#endif

inline wait_for_callback(node) {
    atomic {
        if
        :: must_wait(node) ->
            waits = true;
            waiters++;                 /* src/core/callback_wait.hpp: "++wheel.waiters;" */
#ifndef BREAK_COUNTS_WITHOUT_THE_LOCK
            seen = returned             /* src/core/callback_wait.hpp: "seen = events;" */
#endif
        :: else
        fi
    }
    if
    :: waits ->
#ifdef BREAK_COUNTS_WITHOUT_THE_LOCK
        seen = returned;
#endif
        wait_for_next()
    :: else
    fi;
    waits = false;
    seen = 0
}

inline end_and_wait() {
#ifdef BREAK_WAITS_BEFORE_IT_CANCELS
    wait_for_callback(target);
    take_off(target);
#else
    take_off(target);
    wait_for_callback(target);                   /* src/runtime/nodes.cpp: "wait_for_callback(*rt, node);" */
#endif
    atomic {
        assert(in_callback != target || me == ADVANCER);
        is_ended = true;
        users--;
        if
        :: users == 0 -> freed = true
        :: else
        fi
    }
}

proctype other(byte me) {
    byte seen;
    bool waits;
    end_and_wait()
}

/* --- firing --------------------------------------------------------------------------------------- */

inline take_due() {
    touch(node);                        /* src/core/advance.hpp: "node = wheel.take_due();" */
    if
#ifndef BREAK_ARMS_AGAIN_AFTERWARDS
    :: node == target && is_periodic    /* src/core/wheel.hpp: "rearm(*this, node)" */
#endif
    :: else -> state[node] = IDLE       /* src/core/wheel.hpp: "node.state = TW_IDLE;" */
    fi
}

/* A callback may act on either node. */
inline callback_of_target() {
    if
    :: skip
    :: for_good -> arm(target)
    :: users > 0 -> take_off(target); wait_for_callback(target)
    :: users == 0 && !freed -> take_off(target); wait_for_callback(target); freed = true
    fi
}

/* The callback counts as one more user, if target still exists. */
inline callback_of_neighbour() {
    if
    :: skip
    :: atomic { users > 0 -> users++ }; end_and_wait()
    fi
}

inline call() {
    atomic {                            /* src/core/api_guard.hpp: "fn(node, arg);" */
        assert(node != target || !(freed || is_ended));
        in_callback = node
    }
    if
    :: node == target -> callback_of_target()
    :: node == neighbour -> callback_of_neighbour()
    fi;
    in_callback = NONE
}

inline kernel_wakes_all() {
    d_step {                            /* src/core/callback_wait.hpp: "tw_port_wake_all(&events);" */
        in_kernel[0] = false;
        in_kernel[1] = false;
        in_kernel[ADVANCER] = false
    }
}

inline fire() {
    atomic {
        if
        :: state[target] == PENDING -> node = target
        :: state[neighbour] == PENDING -> node = neighbour
        :: else -> break                /* src/core/advance.hpp: "next == next_step::none" */
        fi;
        take_due();
#ifndef BREAK_MARKS_WITHOUT_THE_LOCK
        running = node                  /* src/core/wheel.hpp: "running = &node;" */
#endif
    }
#ifdef BREAK_MARKS_WITHOUT_THE_LOCK
    running = node;
#endif
    call();
#ifdef BREAK_WAKES_BEFORE_IT_COUNTS
    kernel_wakes_all();
#endif
    atomic {
        running = NONE;                 /* src/core/callback_wait.hpp: "wheel.running = nullptr;" */
        returned++;                     /* src/core/callback_wait.hpp: "&events, events + 1" */
        others_wait = (waiters != 0);  /* src/core/callback_wait.hpp: "if (wheel.waiters != 0)" */
#ifdef BREAK_ARMS_AGAIN_AFTERWARDS
        if
        :: node == target && is_periodic -> touch(node); state[node] = PENDING
        :: else
        fi;
#endif
        node = NONE
    }
#ifndef BREAK_WAKES_BEFORE_IT_COUNTS
    if
    :: others_wait -> kernel_wakes_all()
    :: else
    fi;
#endif
    others_wait = false
}

proctype advancer() {
    byte me = ADVANCER;
    byte node = NONE, seen, fires;
    bool waits, others_wait;
    do
    :: fires < FIRES ->
        fires++;
        fire()
    :: break
    od
}

init {
    atomic {
        if
        :: is_periodic = true
        :: skip
        fi;
        if
        :: for_good = true
        :: skip
        fi;
        if
        :: users = 2; run other(0); run other(1)
        :: for_good = false
        fi;
        run advancer()
    }
}

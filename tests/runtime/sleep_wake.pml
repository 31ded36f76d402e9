/* The runtime's thread goes to sleep on the sleep driver while others arm a node and a record, and stop it.
 *
 * Claims, at every moment
 *   - While the thread sleeps, no timer whose arming call has returned is due before it wakes up.
 *   - The thread does not sleep after a stop has woken it, and it ends.
 *
 * Simplifications
 *   - A call on the wheel is one step, because it holds the lock (lock.pml); so is arming a record, which
 *     loads `asleep_until` in the same hold. One timeline.
 *   - `asleep_until` is relaxed. So the thread's stores to it wait in a queue, in order. Others see them
 *     at the latest when the thread releases the lock of the wheel, or exchanges the driver's word or
 *     sleep_number. An armer may load it as early as while it holds the lock. All else is sequentially
 *     consistent.
 *   - Time has a few ticks; a clock that stands still is allowed. */

#define ARMERS 2
#define STOPPER 2
#define WAKERS 3
#define NODE 0
#define RECORD 1
#define LAST_TICK 2
#define NEVER 7 /* src/runtime/timeline.hpp: "tick never = TW_NEVER" */
#define AWAKE 0 /* src/runtime/timeline.hpp: "tick awake = 0" */

byte now;         /* the clock */
byte due[ARMERS]; /* on the wheel: each armer has one timer */

byte asleep_until = AWAKE;
byte woken; /* drivers/sleep.cpp: "std::uint32_t woken" */

/* src/runtime/state.hpp: "std::uint32_t> sleep_number{0}". Here: whether the number is odd, and for each
 * thread that wakes, whether the number is still the one that the thread has read. */
bool is_odd, is_same[WAKERS];
bool stopping;

mtype = { ASLEEP_UNTIL, WOKEN, IS_ODD };
chan stores = [4] of { mtype, byte }; /* made by the thread, not visible to others yet */

bool in_kernel; /* the thread sleeps, */
byte until;     /*   until this tick */
bool ended;

bool told[ARMERS]; /* the call that armed the node has returned */
bool stop_told;    /* stop has woken the thread, and waits for it */

#define missed(i) (told[i] && due[i] < until)
#define all_well (!in_kernel || !(stop_told || missed(0) || missed(1)))

inline next_number() {
    is_odd = false;
    is_same[0] = false; is_same[1] = false; is_same[STOPPER] = false
}

inline show_one_store() {
    if
    :: stores ? ASLEEP_UNTIL, value -> asleep_until = value
    :: stores ? WOKEN, value -> woken = value
    :: stores ? IS_ODD, value -> next_number()
    fi;
    value = 0
}

inline show_all_stores() {
    do
    :: nempty(stores) -> show_one_store()
    :: empty(stores) -> break
    od
}

proctype clock() {
    do
    :: now < LAST_TICK -> now++
    :: now == LAST_TICK -> break
    od
}

/* --- the thread ---------------------------------------------------------------------------------- */

#define fire_if_due(i) \
    if \
    :: due[i] <= read_at -> due[i] = NEVER \
    :: else \
    fi

inline fire_due() {
    read_at = now;                      /* src/runtime/turn.cpp: "present_to_tell(rt, line, reading)" */
    d_step {                            /* src/runtime/turn.cpp: "tw_advance(&line.wheel, present" */
        fire_if_due(NODE);
        fire_if_due(RECORD)
    }
}

inline ask() {
    d_step {                            /* src/runtime/turn.cpp: "tw_next(&line.wheel)" */
        next = (due[RECORD] < due[NODE] -> due[RECORD] : due[NODE]);
        show_all_stores()               /* src/ports/linux/port.h: "word), 0, __ATOMIC_RELEASE" */
    }
}

inline publish_next_tick() {
#ifdef BREAK_ASKS_BEFORE_IT_SAYS_SO
    ask();
#else
    stores ! ASLEEP_UNTIL, NEVER;       /* src/runtime/turn.cpp: "line.asleep_until.store(never" */
    ask();
#endif
    stores ! ASLEEP_UNTIL, next         /* src/runtime/turn.cpp: "line.asleep_until.store(next" */
}

/* FUTEX_WAIT compares the word and falls asleep in one step. */
inline kernel_waits() {
    atomic {                            /* drivers/sleep.cpp: "tw_port_wait(&woken, 0, until->" */
        if
#ifndef BREAK_WAITS_WITHOUT_COMPARING
        :: woken != 0
#endif
        :: else ->
            in_kernel = true;
            until = next;
            assert(all_well)
        fi
    }
    atomic {
        if
        :: !in_kernel                            /* woken */
        :: now >= until -> in_kernel = false     /* or the deadline has come */
        fi;
        until = 0
    }
}

inline wait_until() {
#ifdef BREAK_FORGETS_EARLY_WAKES
    woken = 0;
#endif
    if
    :: woken == 0 -> kernel_waits()     /* drivers/sleep.cpp: "__ATOMIC_ACQUIRE) == 0;" */
    :: else
    fi;
#ifdef BREAK_STORES_INSTEAD_OF_EXCHANGING
    stores ! WOKEN, 0
#else
    d_step {                            /* drivers/sleep.cpp: "__atomic_exchange_n(&woken, 0" */
        show_all_stores();
        woken = 0
    }
#endif
}

inline settle_wakes() {
#ifdef BREAK_STORES_INSTEAD_OF_EXCHANGING
    stores ! IS_ODD, false
#else
    d_step {                            /* src/runtime/turn.cpp: "exchange((sleep | woken) + 1" */
        show_all_stores();
        next_number()
    }
#endif
}

proctype thread() {
    byte read_at, next, value;
    do                                  /* src/runtime/turn.cpp: "if (must_leave(rt))" */
    :: stopping -> break
    :: else ->
        fire_due();
        if
        :: stopping -> break
        :: else
        fi;
        publish_next_tick();            /* src/runtime/turn.cpp: "sleep_in_driver(rt, publish_next_tick(rt));" */
        if
        :: next <= read_at              /* src/runtime/turn.cpp: "if (measure_before_sleep(rt, until))" */
        :: next > read_at && next <= now
        :: next > read_at -> wait_until()
        fi;
        next = 0;
        read_at = 0;
        stores ! ASLEEP_UNTIL, AWAKE;   /* src/runtime/turn.cpp: "line.asleep_until.store(awake" */
        settle_wakes()
    od;
    ended = true
}

/* --- the others ---------------------------------------------------------------------------------- */

inline kernel_wakes() {
    in_kernel = false                   /* drivers/sleep.cpp: "tw_port_wake_all(&woken);" */
}

inline call_driver() {
    woken = 1;                          /* drivers/sleep.cpp: "__atomic_store_n(&woken, 1" */
    kernel_wakes()
}

inline say_so(me) {
    d_step {                            /* src/runtime/turn.cpp: "sleep_number.compare_exchange" */
#ifndef BREAK_SAYS_SO_FOR_A_LATER_SLEEP
        is_odd = is_odd || is_same[me];
#else
        is_odd = true;
#endif
        is_same[me] = false
    }
}

inline wake(me) {
    if
    :: is_odd                           /* src/runtime/turn.cpp: "if ((sleep & woken) != 0)" */
    :: atomic { !is_odd ->              /* src/runtime/turn.cpp: "sleep_number.fetch_or(0" */
            is_same[me] = true };
#ifdef BREAK_SAYS_SO_BEFORE_IT_WAKES
        say_so(me);
#endif
        call_driver();                  /* src/runtime/turn.cpp: "rt.driver->wake(rt.driver_state);" */
        say_so(me)
    fi
}

/* src/runtime/nodes.cpp: "place_on(rt, rt.steady, node, due, wake, arming_after{delay})" */
#define arm told[me] = false; due[me] = tick

/* Makes any number of the thread's stores visible. */
inline load_asleep_until() {
    do                                  /* src/runtime/timeline.hpp: "asleep_until.load(" */
    :: nempty(stores) -> show_one_store()
    :: seen = asleep_until; break
    od
}

/* src/timers/record_start.cpp: "wake.note(plain != nullptr ? arm_plain" */
inline arm_record_and_load() {
#ifdef BREAK_LOOKS_BEFORE_IT_ARMS
    atomic { load_asleep_until() };
    arm
#else
    atomic { arm; load_asleep_until() }
#endif
}

inline arm_node_and_load() {
#ifdef BREAK_LOOKS_BEFORE_IT_ARMS
    atomic { load_asleep_until() };
    arm
#else
    if
    :: atomic { arm; load_asleep_until() }
    :: d_step { arm }; atomic { load_asleep_until() }
    fi
#endif
}

proctype armer(byte me) {
    byte tick, seen, value;
    if
    :: tick = 1
    :: tick = 2
    fi;
    if
    :: me == NODE -> arm_node_and_load()
    :: me == RECORD -> arm_record_and_load()
    fi;
    if
    :: tick < seen -> wake(me)          /* src/runtime/timeline.hpp: "due < asleep_until" */
    :: else
    fi;
    atomic {
        told[me] = true;
        assert(all_well)
    }
}

proctype stopper() {
#ifdef BREAK_WAKES_BEFORE_IT_SAYS_STOP
    wake(STOPPER);
    stopping = true;
#else
    stopping = true;                    /* src/runtime/lifetime.cpp: "rt.stopping.store(true" */
    wake(STOPPER);                      /* src/runtime/lifetime.cpp: "wake_driver(rt);" */
#endif
    atomic {
        stop_told = true;
        assert(all_well)
    }
    ended                               /* src/runtime/lifetime.cpp: "pthread_join(rt.thread" */
}

init {
    atomic {
        due[NODE] = NEVER;       /* is armed */
        due[RECORD] = LAST_TICK; /* is moved */
        told[RECORD] = true;
        run clock();
        run thread();
        run stopper();
        run armer(NODE);
        run armer(RECORD)
    }
}

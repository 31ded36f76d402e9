/* A thread waits on the timerfd driver while others arm nodes and stop the runtime. It is the
 * runtime's own thread, or a user's loop that has the descriptor (tw_runtime_fd,
 * tw_runtime_dispatch).
 *
 * Claims, at every moment
 *   - While a thread sleeps in poll, the timer is set no later than any node whose arming call has
 *     returned.
 *   - The runtime's thread does not sleep after a stop has woken it, and it ends.
 *
 * Simplifications
 *   - A call on the wheel is one step, because it holds the lock (lock.pml); so is timerfd_settime,
 *     which holds the kernel's. One timeline with one lane, and sequentially consistent memory:
 *     sleep_wake.pml has two lanes, and weaker memory.
 *   - Time has a few ticks; a clock that stands still is allowed. */

#define ARMERS 2
#define STOPPER 2
#define WAKERS 3
#define LAST_TICK 2
#define NEVER 7
#define FALLING_ASLEEP 7 /* src/runtime/timeline.hpp: "tick falling_asleep = never" */
#define AT_ONCE 0
#define AWAKE 0 /* src/runtime/timeline.hpp: "tick awake = 0" */

byte now;         /* the clock */
byte due[ARMERS]; /* the wheel: each armer has one node */
byte next = NEVER; /* src/runtime/lanes.hpp: "tick next;  // atomic; see timeline" */
bool in_turn;      /* src/runtime/turn.hpp: "return turn_number % 2 != 0;" */

byte asleep_until = AWAKE;
bool woken;                             /* drivers/timerfd.cpp: "std::uint32_t woken" */

/* src/runtime/state.hpp: "std::uint32_t> sleep_number{0}". Here: whether the number is odd, and for each
 * thread that wakes, whether the number is still the one that the thread has read. */
bool is_odd, is_same[WAKERS];
byte timer = NEVER; /* the deadline that the timerfd is set to */
bool stopping;

#define readable (timer <= now)

bool polling; /* a thread sleeps until the timerfd is readable */
bool ended;
bool told[ARMERS]; /* the call that armed the node has returned */
bool stop_told;    /* stop has woken the thread, and waits for it */

#define missed(i) (told[i] && due[i] < timer)
#define all_well (!polling || readable || !(stop_told || missed(0) || missed(1)))

proctype clock() {
    do
    :: now < LAST_TICK -> now++
    :: now == LAST_TICK -> break
    od
}

/* --- firing, on either thread ---------------------------------------------------------------- */

/* With the lock. */
inline publish_next() {
    next = (due[0] < due[1] -> due[0] : due[1]) /* src/core/door_api.hpp: "__atomic_store_n(published, next" */
}

inline fire_due() {
    d_step {
        in_turn = true;                 /* src/runtime/turn.cpp: "set_turn_number(rt, rt.turn_number | 1);" */
        read_at = now                   /* src/runtime/turn.cpp: "present_to_tell(rt, line, reading)" */
    }
    d_step {                            /* src/runtime/lanes.cpp: "tw_advance(&wheel, present, budget)" */
        if
        :: due[0] <= read_at -> due[0] = NEVER
        :: else
        fi;
        if
        :: due[1] <= read_at -> due[1] = NEVER
        :: else
        fi;
        publish_next()                  /* src/runtime/lanes.cpp: "tw_core_publish_next(&wheel, &lanes.attention[0].next);" */
    };
    in_turn = false                     /* src/runtime/turn.cpp: "set_turn_number(rt, rt.turn_number + 1);" */
}

inline find_next() {
    do
    :: until = next;                    /* src/runtime/turn.cpp: "for (tick least = least_next(lanes);;) {" */
        publish_next();                 /* src/runtime/turn.cpp: "tw_core_publish_next(&wheel, &lanes.attention" */
        again = next;                   /* src/runtime/turn.cpp: "const tick now = least_next(lanes);" */
        if
        :: d_step { again <= until -> until = again; again = 0 }; break /* src/runtime/turn.cpp: "if (now <= least)" */
        :: else
        fi
    od
}

inline publish_next_tick() {
    asleep_until = FALLING_ASLEEP;      /* src/runtime/turn.cpp: "line.asleep_until.store(falling_asleep);" */
    find_next();                        /* src/runtime/turn.cpp: "tick until = find_next(line.lanes);" */
    do                                  /* src/runtime/turn.cpp: "base::smaller(until, falling_asleep - 1)" */
    :: asleep_until = (until < NEVER -> until : NEVER - 1);
#ifdef BREAK_DOES_NOT_READ_AGAIN
        break;
#endif
        again = next;                   /* src/runtime/turn.cpp: "again = least_next(line.lanes);" */
        if
        :: again >= until -> break      /* src/runtime/turn.cpp: "if (again >= until)" */
        :: d_step { else -> until = again; again = 0 }
        fi
    od;
    again = 0;
    until = (until <= read_at -> AT_ONCE : until) /* src/runtime/turn.cpp: "return next <= present ? 0 :" */
}

inline settle_wakes() {
    d_step {                            /* src/runtime/turn.cpp: "exchange((sleep | woken) + 1" */
        is_odd = false;
        is_same[0] = false; is_same[1] = false; is_same[STOPPER] = false
    }
}

inline mark_awake() {
    asleep_until = AWAKE;               /* src/runtime/turn.cpp: "asleep_until.store(awake, std::memory_order_relaxed); });" */
#ifndef BREAK_SETTLES_BEFORE_THE_DRIVER
    settle_wakes()
#endif
}

inline settle() {
    woken = false                       /* drivers/timerfd.cpp: "__atomic_exchange_n(&s.woken, 0" */
}

inline look_at_flag() {
    was_woken = woken                   /* drivers/timerfd.cpp: "if (__atomic_load_n(&s.woken" */
}

inline program() {
#ifdef BREAK_LOOKS_BEFORE_IT_SETS
    look_at_flag();
#endif
#ifdef BREAK_FORGETS_EARLY_WAKES
    settle();
#endif
    timer = until;                      /* drivers/timerfd.cpp: "int error = s.steady.set(until->" */
#ifndef BREAK_LOOKS_BEFORE_IT_SETS
    look_at_flag();
#endif
    if
    :: was_woken -> timer = AT_ONCE     /* drivers/timerfd.cpp: "error = s.steady.set(0);" */
    :: else
    fi;
    was_woken = false
}

inline begin_poll() {
    atomic {
        polling = true;
        assert(all_well)
    }
}

inline end_poll() {
    atomic { readable -> polling = false }
}

proctype thread() {
    byte read_at, until, again;
    bool was_woken;
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
        :: until == AT_ONCE              /* src/runtime/turn.cpp: "if (measure_before_sleep(rt, until))" */
        :: until != AT_ONCE && until <= now
        :: until != AT_ONCE ->
            program();                  /* drivers/timerfd.cpp: "= program(memory, until)" */
            begin_poll();               /* drivers/timerfd.cpp: "::poll(&readable, 1, -1)" */
            end_poll();
            settle()                    /* drivers/timerfd.cpp: "    settle(s);" */
        fi;
        mark_awake();
        until = 0;
        read_at = 0
    od;
    mark_awake();
    ended = true
}

/* A user's loop. In the end it sleeps forever, with nothing armed. */
proctype loop() {
    byte read_at, until, again;
    bool was_woken;
    publish_next_tick();                /* src/runtime/descriptors.cpp: "error = program(*rt)" */
    program();
    do
    :: begin_poll();
end:
        end_poll();
#ifdef BREAK_SETTLES_BEFORE_THE_DRIVER
        settle_wakes();
#endif
#ifndef BREAK_ATTENDS_WHEN_IT_HAS_ASKED
        settle();                       /* src/runtime/descriptors.cpp: "rt->driver_state, nullptr" */
#endif
        mark_awake();                   /* src/runtime/descriptors.cpp: "mark_awake(*rt);" */
        fire_due();                     /* src/runtime/descriptors.cpp: "fire_due(*rt);" */
        publish_next_tick();            /* src/runtime/turn.cpp: "until = publish_next_tick(rt);" */
#ifdef BREAK_ATTENDS_WHEN_IT_HAS_ASKED
        settle();
#endif
        program();                      /* src/runtime/turn.cpp: "program(rt.driver_state, &until)" */
        if
        :: publish_next_tick();         /* src/runtime/descriptors.cpp: "error = program(*rt)" */
            program()                   /* asked for the descriptor once more */
        :: skip
        fi;
        until = 0;
        read_at = 0
    od
}

/* --- the others ---------------------------------------------------------------------------------- */

inline call_driver() {
#ifdef BREAK_SETS_BEFORE_IT_SAYS_SO
    timer = AT_ONCE;
    woken = true
#else
    woken = true;                       /* drivers/timerfd.cpp: "__atomic_store_n(&s.woken, 1" */
#ifdef BREAK_LEAVES_IT_TO_THE_FLAG
    skip
#else
    timer = AT_ONCE                     /* drivers/timerfd.cpp: "    s.steady.set(0);" */
#endif
#endif
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

inline lower() {
    d_step {                            /* src/runtime/state.hpp: "if (due < __atomic_load_n(&next, __ATOMIC_ACQUIRE))" */
        if                              /* src/runtime/turn.cpp: "!__atomic_compare_exchange_n(&next, &seen, due, true" */
        :: tick < next -> next = tick
        :: else
        fi
    }
}

proctype armer(byte me) {
    byte tick, seen;
    if
    :: tick = 1
    :: me == 1 -> tick = 2
    fi;
    d_step {                            /* src/runtime/nodes.cpp: "const int placed = place(&line.wheel, node, due);" */
        told[me] = false;
        due[me] = tick
    }
#ifdef BREAK_LOOKS_BEFORE_IT_LOWERS
    seen = asleep_until;
    lower();
#else
    lower();
    seen = asleep_until;                /* src/runtime/state.hpp: "const tick until = line.asleep_until.load();" */
#endif
    if                                  /* src/runtime/turn.cpp: "if (!is_in_turn(__atomic_load_n(&rt.turn_number" */
    :: tick < seen && !in_turn && seen != FALLING_ASLEEP -> wake(me) /* src/runtime/state.hpp: "return due < until &&" */
    :: else
    fi;
    atomic {
        told[me] = true;
        tick = 0;
        seen = 0;
        assert(all_well)
    }
}

proctype stopper() {
    stopping = true;                    /* src/runtime/lifetime.cpp: "rt.stopping.store(true" */
    wake(STOPPER);                      /* src/runtime/lifetime.cpp: "wake_driver(rt);" */
    atomic {
        stop_told = true;
        assert(all_well)
    }
    ended                               /* src/runtime/lifetime.cpp: "pthread_join(rt.thread" */
}

init {
    atomic {
        due[0] = NEVER;     /* is armed */
        due[1] = LAST_TICK; /* is moved */
        next = LAST_TICK;
        told[1] = true;
        run clock();
        run armer(1);
        if
        :: run loop(); run armer(0)
        :: run thread(); run stopper()
        fi
    }
}

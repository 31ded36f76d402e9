/* The runtime's thread fires, and goes to sleep on the sleep driver, while others arm two nodes in one lane
 * and a record in another one, and stop it.
 *
 * Claims, at every moment
 *   - While the thread sleeps, no timer whose arming call has returned is due before it wakes up.
 *   - In a turn, when the thread chooses the lane to fire in, it knows of each lane that has a timer for the
 *     turn whose arming call has returned. When the turn ends within its budget, no such timer is left.
 *   - The thread does not sleep after a stop has woken it, and it ends.
 *
 * Simplifications
 *   - A call on a lane's wheel is one step, because it holds the lane's lock (lock.pml). One timeline, whose
 *     lanes exist from the start.
 *   - In a lane the thread fires all that is due, or nothing if another lane was touched; it does not merge
 *     the lanes by order. A lane's `next` is never less than it has to be, except for timers that are gone.
 *   - The thread's stores to `asleep_until` and the turn's number wait in a queue, in order. Others see them
 *     at the latest when the thread releases a lane's lock, exchanges a word or loads a `next`. All else is
 *     sequentially consistent.
 *   - Time has a few ticks; a clock that stands still is allowed. */

#define ARMERS 3
#define STOPPER 3
#define WAKERS 4
#define NODE 0   /* in lane 0 */
#define OTHER 1  /* in lane 0 */
#define RECORD 2 /* in lane 1 */
#define lane_of(i) (i / 2)
#define LANES 2
#define NO_LANES 0
#define bit_of(lane) (1 << lane)
#define LAST_TICK 2
#define NEVER 7          /* src/runtime/timeline.hpp: "tick never = TW_NEVER" */
#define FALLING_ASLEEP 7 /* src/runtime/timeline.hpp: "tick falling_asleep = never" */
#define AWAKE 0          /* src/runtime/timeline.hpp: "tick awake = 0" */

byte now;         /* the clock */
byte due[ARMERS]; /* on the wheels: each armer has one timer */
byte next[LANES]; /* src/runtime/lanes.hpp: "tick next;  // atomic; see timeline" */

byte asleep_until = AWAKE;
byte woken; /* drivers/sleep.cpp: "std::uint32_t woken" */

/* src/runtime/state.hpp: "std::uint32_t> sleep_number{0}". Here: whether the number is odd, and for each
 * thread that wakes, whether the number is still the one that the thread has read. */
bool is_odd, is_same[WAKERS];
bool stopping;

bool in_turn; /* src/runtime/turn.hpp: "return turn_number % 2 != 0;" */
byte touched; /* src/runtime/lanes.hpp: "std::uint64_t touched;" Bit n: lane n */

mtype = { ASLEEP_UNTIL, IN_TURN };
chan stores = [5] of { mtype, byte }; /* made by the thread, not visible to others yet */

bool in_kernel; /* the thread sleeps, */
byte until;     /*   until this tick */
bool ended;

bool told[ARMERS]; /* the call that armed the node has returned */
bool stop_told;    /* stop has woken the thread, and waits for it */

#define missed(i) (told[i] && due[i] < until)
#define is_left(i) (told[i] && due[i] <= read_at)
#define knows(i) (!is_left(i) || (unknown & bit_of(lane_of(i))))
#define knows_all (knows(NODE) && knows(OTHER) && knows(RECORD))
#define all_well (!in_kernel || !(stop_told || missed(NODE) || missed(OTHER) || missed(RECORD)))

inline next_number() {
    is_odd = false;
    is_same[NODE] = false; is_same[OTHER] = false;
    is_same[RECORD] = false; is_same[STOPPER] = false
}

inline show_one_store() {
    if
    :: stores ? ASLEEP_UNTIL, value -> asleep_until = value
    :: stores ? IN_TURN, value -> in_turn = value
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

/* Stores the first tick of a lane in its `next`. With the lane's lock. */
inline publish(lane) {
    next[lane] = (lane == 1 -> due[RECORD] : (due[NODE] < due[OTHER] -> due[NODE] : due[OTHER]))
}

inline fire_timer(i) {
    if
    :: due[i] <= read_at -> due[i] = NEVER
    :: else
    fi
}

/* With the lane's lock, which this releases. */
inline fire_in(lane) {
    if
    :: lane == 1 -> fire_timer(RECORD)
    :: else -> fire_timer(NODE); fire_timer(OTHER)
    fi;
    show_all_stores();                  /* src/ports/linux/port.h: "word), 0, __ATOMIC_RELEASE" */
    unknown = unknown & ~bit_of(lane)
}

/* Also with the lane's lock, if another lane was touched. */
inline stop_in(lane) {
    next[lane] = read_at;
    show_all_stores();
    unknown = unknown | bit_of(lane)
}

inline advance_part(lane) {
    if
    :: d_step { touched == NO_LANES ->  /* src/runtime/lanes.cpp: "first, second))" */
            next[lane] = read_at + 1;   /* src/core/advance.hpp: "is_whole ? wheel.next() : now + 1;" */
            fire_in(lane) }
    :: d_step { touched != NO_LANES ->  /* src/core/advance.hpp: "__atomic_load_n(touched, __ATOMIC_ACQUIRE) != 0" */
            stop_in(lane) }
    fi
}

inline advance_whole(lane) {
    if
    :: !(visited & bit_of(lane))        /* src/runtime/lanes.cpp: "for_each_lane(lanes_, visited_" */
#ifndef BREAK_PUBLISHES_WITHOUT_THE_LOCK
    :: d_step { (visited & bit_of(lane)) && touched == NO_LANES -> /* src/runtime/lanes.cpp: "advance(wheel, number, whole)" */
            fire_in(lane);
            publish(lane) }             /* src/core/advance.hpp: "__atomic_store_n(part.published," */
#else
    :: d_step { visited & bit_of(lane) -> fire_in(lane); least = next[lane]; publish(lane);
            again = next[lane]; next[lane] = least; least = 0 };
        d_step { next[lane] = again; again = 0 }
#endif
    :: d_step { (visited & bit_of(lane)) && touched != NO_LANES -> stop_in(lane) }
    fi
}

inline visit(set) {
    unknown = unknown | set;            /* src/runtime/lanes.cpp: "places_[number] = unknown;" */
    visited = visited | set             /* src/runtime/lanes.cpp: "visited_ |= std::uint64_t{1} << number;" */
}

inline note_touched() {
    if                                  /* src/runtime/lanes.cpp: "if (is_any_touched())" */
    :: d_step {                         /* src/runtime/lanes.cpp: "__atomic_exchange_n(&lanes_.touched, 0" */
            touched != NO_LANES ->
            show_all_stores();
            visit(touched);
            touched = NO_LANES;
            assert(knows_all)
        }
    :: atomic { else -> assert(knows_all) }
    fi
}

inline fire_all() {
    do
    :: note_touched();                  /* src/runtime/lanes.cpp: "            note_touched();" */
        if                              /* src/runtime/lanes.cpp: "if (places_[first].tick == never)" */
        :: unknown == NO_LANES -> break
        :: unknown & bit_of(0) -> advance_part(0)
        :: unknown & bit_of(1) -> advance_part(1)
        fi
    od
}

inline end_turn() {
    visited = NO_LANES;
    unknown = NO_LANES;
    stores ! ASLEEP_UNTIL, AWAKE        /* src/runtime/turn.cpp: "line.asleep_until.store(awake, std" */
#ifndef BREAK_ENDS_THE_TURN_AFTER_IT_HAS_ASKED
    ;stores ! IN_TURN, false            /* src/runtime/turn.cpp: "set_turn_number(rt, rt.turn_number + 1);" */
#endif
}

inline look_at_next(lane) {
    d_step {                            /* src/runtime/lanes.cpp: "if (next_of(lanes_, number) <= present_" */
        show_all_stores();              /* src/runtime/lanes.hpp: "[number].next, __ATOMIC_SEQ_CST)" */
        if
        :: next[lane] <= read_at -> visit(bit_of(lane))
        :: else
        fi
    }
}

inline ask_for_touches() {
#ifndef BREAK_DOES_NOT_ASK_FOR_TOUCHES
    stores ! ASLEEP_UNTIL, read_at + 1  /* src/runtime/turn.cpp: "line.asleep_until.store(present + 1);" */
#else
    skip
#endif
}

inline advance_lanes() {
#ifdef BREAK_ASKS_FOR_TOUCHES_AFTER_IT_HAS_LOOKED
    look_at_next(0);
    look_at_next(1);
    ask_for_touches();
#else
    look_at_next(0);
    look_at_next(1);
#endif
    do
    :: atomic { skip; end_turn(); break } /* src/core/advance.hpp: "if (!is_small && budget.left == 0)" */
    :: skip;
        fire_all();                      /* src/runtime/lanes.cpp: "if (!fire_all() || !end_all())" */
        advance_whole(0);
        advance_whole(1);
        atomic {                        /* src/runtime/lanes.cpp: "while (is_any_touched());" */
            if
            :: touched != NO_LANES
            :: else ->
                assert(!is_left(NODE) && !is_left(OTHER) && !is_left(RECORD));
                end_turn();
                break
            fi
        }
    od
}

inline fire_due() {
    atomic {
        stores ! IN_TURN, true;         /* src/runtime/turn.cpp: "set_turn_number(rt, rt.turn_number | 1);" */
        read_at = now;                  /* src/runtime/turn.cpp: "present_to_tell(rt, line, reading)" */
#ifndef BREAK_ASKS_FOR_TOUCHES_AFTER_IT_HAS_LOOKED
        ask_for_touches()
#endif
    }
    advance_lanes()
}

inline load_next(lane) {
    d_step {                            /* src/runtime/lanes.hpp: "[number].next, __ATOMIC_SEQ_CST)" */
#ifndef BREAK_LOADS_BEFORE_IT_HAS_STORED
        show_all_stores();
#endif
        again = (next[lane] < again -> next[lane] : again)
    }
}

inline least_next() {
    again = NEVER;
    load_next(0);
    load_next(1)
}

inline publish_next(lane) {
    if
    :: next[lane] == least ->           /* src/runtime/turn.cpp: "if (next_of(lanes, number) == least)" */
        d_step {                        /* src/runtime/turn.cpp: "tw_core_publish_next(&wheel, &lanes.attention" */
            show_all_stores();
            publish(lane)
        }
    :: else
    fi
}

inline find_next() {
    least_next();                       /* src/runtime/turn.cpp: "for (tick least = least_next(lanes);;) {" */
    do
    :: d_step { least = again; again = 0 };
        publish_next(0);
        publish_next(1);
        least_next();                   /* src/runtime/turn.cpp: "const tick now = least_next(lanes);" */
        if
        :: again <= least -> break      /* src/runtime/turn.cpp: "if (now <= least)" */
        :: else
        fi
    od
}

inline publish_next_tick() {
    stores ! ASLEEP_UNTIL, FALLING_ASLEEP; /* src/runtime/turn.cpp: "line.asleep_until.store(falling_asleep);" */
    find_next();                        /* src/runtime/turn.cpp: "tick until = find_next(line.lanes);" */
    do
    :: d_step { least = again; again = 0 };
        stores ! ASLEEP_UNTIL, (least < NEVER -> least : NEVER - 1); /* src/runtime/turn.cpp: "base::smaller(until, falling_asleep - 1)" */
#ifdef BREAK_DOES_NOT_READ_AGAIN
        break;
#endif
        least_next();                   /* src/runtime/turn.cpp: "again = least_next(line.lanes);" */
        if
        :: again >= least -> break      /* src/runtime/turn.cpp: "if (again >= until)" */
        :: else
        fi
    od;
#ifdef BREAK_ENDS_THE_TURN_AFTER_IT_HAS_ASKED
    stores ! IN_TURN, false;
#endif
    again = 0
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
            until = least;
            assert(all_well)
        fi
    }
end:
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
    d_step {                            /* drivers/sleep.cpp: "__atomic_exchange_n(&woken, 0" */
        show_all_stores();
        woken = 0
    }
}

inline settle_wakes() {
    d_step {                            /* src/runtime/turn.cpp: "exchange((sleep | woken) + 1" */
        show_all_stores();
        next_number()
    }
}

proctype thread() {
    byte read_at, least, again, value, unknown, visited;
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
        :: least <= read_at             /* src/runtime/turn.cpp: "return next <= present ? 0 :" */
        :: least > read_at && least <= now
        :: least > read_at -> wait_until() /* src/runtime/turn.cpp: "if (measure_before_sleep(rt, until))" */
        fi;
        least = 0;
        read_at = 0;
        stores ! ASLEEP_UNTIL, AWAKE;   /* src/runtime/turn.cpp: "asleep_until.store(awake, std::memory_order_relaxed); });" */
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

/* With the lane's lock. */
inline arm() {
    d_step {                            /* src/runtime/nodes.cpp: "const int placed = place(&line.wheel, node, due);" */
        told[me] = false;               /* src/timers/record_start.cpp: "arm(*set.space, timer, when.due, when.moment);" */
        due[me] = tick
    }
}

inline lower() {
    d_step {                            /* src/runtime/state.hpp: "if (due < __atomic_load_n(&next, __ATOMIC_ACQUIRE))" */
        if                              /* src/runtime/turn.cpp: "!__atomic_compare_exchange_n(&next, &seen, due, true" */
        :: tick < next[lane_of(me)] -> next[lane_of(me)] = tick
        :: else
        fi
    }
}

/* Makes any number of the thread's stores visible. */
inline load_asleep_until() {
    do                                  /* src/runtime/state.hpp: "const tick until = line.asleep_until.load();" */
    :: nempty(stores) -> show_one_store()
    :: seen = asleep_until; break
    od
}

/* Makes any number of the thread's stores visible. */
inline load_in_turn() {
    do                                  /* src/runtime/turn.cpp: "is_in_turn(__atomic_load_n(&rt.turn_number" */
    :: nempty(stores) -> show_one_store()
    :: was_in_turn = in_turn; break
    od
}

inline touch() {
    touched = touched | bit_of(lane_of(me)) /* src/runtime/turn.cpp: "__atomic_fetch_or(&line.lanes.touched" */
}

/* Needs a wake, unless the thread is in a turn: then it looks at the lane again. */
inline touch_or_wake() {
    atomic { load_in_turn() };
    if
#if defined BREAK_NEVER_TOUCHES
    :: was_in_turn
#elif defined BREAK_TOUCHES_AFTER_THE_TURN
    :: touch()
#else
    :: was_in_turn -> touch()
#endif
#ifndef BREAK_TOUCHES_AFTER_THE_TURN
    :: !was_in_turn && seen != FALLING_ASLEEP -> /* src/runtime/turn.cpp: "return until != falling_asleep;" */
        wake(me)                        /* src/runtime/state.hpp: "~deferred_wake() { now(); }" */
    :: !was_in_turn && seen == FALLING_ASLEEP
#endif
    fi;
    was_in_turn = false
}

inline note_armed() {
#ifdef BREAK_LOOKS_BEFORE_IT_LOWERS
    atomic { load_asleep_until() };
    lower();
#else
#ifdef BREAK_TRUSTS_WHAT_ANOTHER_CALL_HAS_LOWERED
    if
    :: tick < next[lane_of(me)] -> lower(); atomic { load_asleep_until() }
    :: else
    fi;
#else
    lower();
    atomic { load_asleep_until() };
#endif
#endif
    if
    :: tick < seen -> touch_or_wake()   /* src/runtime/state.hpp: "return due < until &&" */
    :: else
    fi
}

proctype armer(byte me) {
    byte tick, seen, value;
    bool was_in_turn;
    if
    :: tick = 1
    :: me != NODE -> tick = 2
    fi;
#ifdef BREAK_LOWERS_BEFORE_IT_ARMS
    note_armed();
    arm();
#else
    arm();
    note_armed();
#endif
    atomic {
        told[me] = true;
        tick = 0;
        seen = 0;
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
        due[NODE] = NEVER;       /* are armed */
        due[OTHER] = NEVER;
        due[RECORD] = LAST_TICK; /* is moved */
        told[RECORD] = true;
        next[0] = NEVER;
        next[1] = LAST_TICK;
        run clock();
        run thread();
        if
        :: run armer(NODE); run armer(RECORD)
        :: run armer(NODE); run armer(OTHER)
        :: run armer(RECORD); run stopper()
        fi
    }
}

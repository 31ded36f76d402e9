/* The lock of the Linux port: one word, unlocked by a plain store to a part of it. An unlock wakes one waiter,
 * and sets `waking`. Until a waiter clears `waking`, further unlocks do not call the kernel. A waiter sets
 * `wanted`, to be preferred to threads that do not wait yet.
 *
 * Claims
 *   - No two threads are inside at once.
 *   - No thread sleeps forever: every interleaving lets all of them through.
 *   - When all threads are through, `waking`, `wanted` and the count of waiters are clear, so the lock is cheap
 *     again.
 *
 * Simplifications
 *   - Insisting tries once. The first looks are left out, and so are the waits of a millisecond, on kernels
 *     without membarrier and for waiters that the count has no room for.
 *   - A few sleeps end without a wake-up. If any number did, no thread would sleep forever.
 *   - A thread's store to `held` waits in its store buffer, and becomes visible at any later time; at the
 *     latest when the thread does a read-modify-write or enters the kernel's futex code, or when another
 *     thread's membarrier comes. All other stores are read-modify-writes, made after trying the lock. */

#define THREADS 3
#define TIMES 2 /* how often each takes the lock, at most; the last one once less */

#define SPURIOUS 1 /* sleeps that end without a wake-up, at most */

byte held, waiters; /* the word, as memory has it */
bool waking, wanted; /* in the word, too */
bool releasing[THREADS]; /* a store of 0 to `held` that is not visible to others yet */
bool in_kernel[THREADS];  /* sleeps on the word */
byte inside, spurious, ended;

inline drain(thread) {
    if
    :: releasing[thread] ->
        releasing[thread] = false;
        held = 0
    :: else
    fi
}

proctype store_buffer(byte thread) {
end:
    do
    :: atomic { releasing[thread] -> drain(thread) }
    od
}

inline try_lock() {
#ifdef BREAK_LOOKS_AND_THEN_TAKES
    atomic { drain(me); locked = (held == 0 && !wanted) };
    if
    :: locked -> held = 1
    :: else
    fi
#else
    atomic {                            /* src/ports/linux/port.h: "return tw_port_take(word, 0);" */
        drain(me);
        locked = (held == 0 && !wanted);
        if
        :: locked -> held = 1
        :: else
        fi
    }
#endif
}

inline insist() {
    if
    :: !wanted -> wanted = true         /* src/ports/linux/lock.cpp: "fetch_or(word, wanted" */
    :: else
    fi;
    atomic {                            /* src/ports/linux/lock.cpp: "tw_port_take(word, insists ? TW_PORT_WANTED : 0)" */
        drain(me);
        locked = (held == 0 && wanted);
        if
#ifdef BREAK_TAKES_AND_STILL_WANTS
        :: locked -> held = 1
#else
        :: locked -> held = 1; wanted = false
#endif
        :: else
        fi
    };
    if
    :: !locked -> wanted = false        /* src/ports/linux/lock.cpp: "fetch_and(word, ~wanted" */
    :: else
    fi
}

inline announce() {
    waiters++                           /* src/ports/linux/lock.cpp: "seen + one_waiter, true, __ATOMIC_SEQ_CST" */
}

inline depart() {
    waiters--                           /* src/ports/linux/lock.cpp: "fetch_sub(word, one_waiter" */
}

inline barrier_everywhere() {
#ifdef BREAK_NO_MEMBARRIER
    skip
#else
    d_step {                            /* src/ports/linux/lock.cpp: "MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0" */
        drain(0);
        drain(1);
        drain(2)
    }
#endif
}

/* FUTEX_WAIT compares the whole word and falls asleep in one step. */
inline kernel_waits() {
    atomic {                            /* src/ports/linux/lock.cpp: "FUTEX_WAIT_PRIVATE, seen, at_most" */
        if
        :: held == seen_held && waiters == seen_waiters && waking == seen_waking && wanted == seen_wanted -> in_kernel[me] = true
        :: else
        fi;
        seen_held = 0;
        seen_waiters = 0
    }
    if
    :: !in_kernel[me]
    :: atomic { in_kernel[me] && spurious < SPURIOUS -> spurious++; in_kernel[me] = false }
    fi
}

inline load_word() {
    d_step {                            /* src/ports/linux/lock.cpp: "seen = __atomic_load_n(word" */
        seen_held = held;
        seen_waiters = waiters;
        seen_waking = waking;
        seen_wanted = wanted
    }
}

inline clear_waking() {
#ifndef BREAK_NEVER_CLEARS_WAKING
    if                                  /* src/ports/linux/lock.cpp: "__atomic_load_n(word, __ATOMIC_RELAXED) & waking" */
    :: waking -> waking = false         /* src/ports/linux/lock.cpp: "fetch_and(word, ~waking, __ATOMIC_RELAXED);" */
    :: else
    fi
#else
    skip
#endif
}

inline park() {
    load_word();
    if
#ifdef BREAK_SLEEPS_WHILE_ANOTHER_IS_WOKEN
    :: seen_held != 0 ->
#else
    :: seen_held != 0 && !seen_waking -> /* src/ports/linux/lock.cpp: "&held) != 0 && (seen & waking) == 0)" */
#endif
#ifdef BREAK_DECIDES_ON_A_SECOND_LOAD
        load_word();
#endif
        kernel_waits()
    :: else
    fi;
    seen_waking = false;
    seen_wanted = false;
    clear_waking()
}

inline lock_contended() {
#ifdef BREAK_BARRIER_BEFORE_THE_ANNOUNCEMENT
    barrier_everywhere();
    announce();
#else
    announce();
    barrier_everywhere();               /* src/ports/linux/lock.cpp: "barrier_everywhere() ? nullptr" */
#endif
    do
    :: park();                          /* src/ports/linux/lock.cpp: "park(word, at_most);" */
#ifdef BREAK_DEPARTS_WHEN_WOKEN
        depart();
#endif
        insist();                       /* src/ports/linux/lock.cpp: "while (!insist(word));" */
        if
        :: locked -> break
        :: else
        fi
    od;
#ifndef BREAK_DEPARTS_WHEN_WOKEN
    depart()
#endif
}

inline lock() {
    try_lock();                         /* src/ports/linux/port.h: "!tw_port_try_lock(word)" */
    if
    :: !locked -> lock_contended()
    :: else
    fi
}

/* FUTEX_WAKE begins with a barrier, and wakes any one. */
inline kernel_wakes() {
    atomic {                            /* src/ports/linux/lock.cpp: "FUTEX_WAKE_PRIVATE, 1" */
        drain(me);
        if
        :: in_kernel[0] -> in_kernel[0] = false
        :: in_kernel[1] -> in_kernel[1] = false
        :: in_kernel[2] -> in_kernel[2] = false
        :: else
        fi
    }
}

inline set_waking() {
    d_step {                            /* src/ports/linux/lock.cpp: "fetch_or(word, waking, __ATOMIC_SEQ_CST)" */
        drain(me);
        was_waking = waking;
        seen_waiters = waiters;
        waking = true
    }
}

inline wake_waiter() {
#if defined BREAK_LOADS_WAKING_BEFORE_IT_SETS_IT
    if
    :: d_step {
            waking ->
            was_waking = true;
            seen_waiters = waiters
        }
    :: else -> set_waking()
    fi;
#elif defined BREAK_SETS_WAKING_AFTER_THE_WAKE
    d_step {
        drain(me);
        was_waking = waking;
        seen_waiters = waiters
    };
#else
    set_waking();
#endif
    if                                  /* src/ports/linux/lock.cpp: "if ((seen & most_waiters) == 0)" */
#ifndef BREAK_LEAVES_WAKING_SET
    :: d_step {
            seen_waiters == 0 ->        /* src/ports/linux/lock.cpp: "fetch_and(word, ~waking, __ATOMIC_RELAXED);" */
            drain(me);
            waking = false
        }
#endif
    :: seen_waiters != 0 && !was_waking -> kernel_wakes()
    :: else
    fi;
#ifdef BREAK_SETS_WAKING_AFTER_THE_WAKE
    if
    :: seen_waiters != 0 -> set_waking()
    :: else
    fi;
#endif
    was_waking = false
}

inline unlock() {
#ifdef BREAK_LOOKS_BEFORE_IT_LETS_GO
    seen_waiters = waiters + waking;
    releasing[me] = true;
#else
    releasing[me] = true;              /* src/ports/linux/port.h: "word), 0, __ATOMIC_RELEASE" */
    seen_waiters = waiters + waking;    /* src/ports/linux/port.h: "__atomic_load_n(tw_port_waiters(word)" */
#endif
    if
    :: seen_waiters != 0 -> wake_waiter()        /* src/ports/linux/port.h: "tw_port_wake_waiter(word);" */
    :: else
    fi;
    seen_waiters = 0
}

proctype thread(byte me) {
    bool locked, seen_waking, seen_wanted, was_waking;
    byte seen_held, seen_waiters, times = (me == 2 -> TIMES - 1 : 0);
    do
    :: times < TIMES ->
        times++;
        lock();
        atomic {
            locked = false;
            inside++;
            assert(inside == 1)
        }
        inside--;
        unlock()
    :: break
    od;
    atomic {
        ended++;
        assert(ended < THREADS || (waiters == 0 && !waking && !wanted))
    }
}

init {
    atomic {
        run thread(0);
        run thread(1);
        run thread(2);
        run store_buffer(0);
        run store_buffer(1);
        run store_buffer(2)
    }
}

/* The lock of the Linux port: a word of two halves, unlocked by a plain store.
 *
 * Claims
 *   - No two threads are inside at once.
 *   - No thread sleeps forever: every interleaving lets all of them through.
 *
 * Simplifications
 *   - Spinning is left out: it only tries again, as the loop does. So are the waits of a millisecond, on
 *     kernels without membarrier and for waiters that the count has no room for.
 *   - A thread's store to `held` waits in its store buffer, and becomes visible at any later time; at the
 *     latest when the thread does a read-modify-write or enters the kernel's futex code, or when another
 *     thread's membarrier comes. All other stores are read-modify-writes, made after trying the lock. */

#define THREADS 3
#define TIMES 2 /* how often each takes the lock, at most */

byte held, waiters; /* the word, as memory has it */
bool releasing[THREADS]; /* a store of 0 to `held` that is not visible to others yet */
bool in_kernel[THREADS];  /* sleeps on the word */
byte inside;

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
    atomic { drain(me); locked = (held == 0) };
    held = 1
#else
    atomic {                            /* src/ports/linux/port.h: "&unheld, 1, 0, __ATOMIC_ACQUIRE" */
        drain(me);
        locked = (held == 0);
        held = 1                        /* src/ports/linux/port.h: "fetch_or(word, 1, __ATOMIC_ACQUIRE" */
    }
#endif
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
        :: held == seen_held && waiters == seen_waiters -> in_kernel[me] = true
        :: else
        fi;
        seen_held = 0;
        seen_waiters = 0
    }
    !in_kernel[me]
}

inline load_word() {
    d_step {                            /* src/ports/linux/lock.cpp: "seen = __atomic_load_n(word" */
        seen_held = held;
        seen_waiters = waiters
    }
}

inline park() {
    load_word();
    if                                  /* src/ports/linux/lock.cpp: "if (*tw_port_held(&seen) != 0)" */
    :: seen_held != 0 ->
#ifdef BREAK_DECIDES_ON_A_SECOND_LOAD
        load_word();
#endif
        kernel_waits()
    :: else
    fi
}

inline lock_contended() {
#ifdef BREAK_BARRIER_BEFORE_THE_ANNOUNCEMENT
    barrier_everywhere();
    announce();
#else
    announce();
    barrier_everywhere();               /* src/ports/linux/lock.cpp: "barrier_everywhere() ? nullptr" */
#endif
    do                                  /* src/ports/linux/lock.cpp: "while (tw_port_try_lock(word) == 0)" */
    :: try_lock();
        if
        :: locked -> break
        :: else
        fi;
        park()
#ifdef BREAK_DEPARTS_WHEN_WOKEN
        ;depart()
#endif
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

inline unlock() {
#ifdef BREAK_LOOKS_BEFORE_IT_LETS_GO
    seen_waiters = waiters;
    releasing[me] = true;
#else
    releasing[me] = true;              /* src/ports/linux/port.h: "word), 0, __ATOMIC_RELEASE" */
    seen_waiters = waiters;             /* src/ports/linux/port.h: "__atomic_load_n(tw_port_waiters(word)" */
#endif
    if
    :: seen_waiters != 0 -> kernel_wakes()       /* src/ports/linux/port.h: "tw_port_wake_waiter(word);" */
    :: else
    fi;
    seen_waiters = 0
}

proctype thread(byte me) {
    bool locked;
    byte seen_held, seen_waiters, times;
    do
    :: times < TIMES ->
        times++;
        lock();
        inside++;
        assert(inside == 1);
        inside--;
        unlock()
    :: break
    od
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

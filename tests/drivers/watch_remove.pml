/* Watches are removed, modified and replaced while the driver's thread delivers a batch of events that it
 * fetched before. Both drivers that watch descriptors, epoll and uring, do it by this code.
 *
 * Claims
 *   - After a removal has returned, no callback of that watch runs or begins on another thread, so the
 *     memory that the callback uses may be freed. This also holds if the watch had removed itself, and the
 *     removal returns -ENOENT.
 *   - An event reaches the watch that it was fetched for, or none, even if the descriptor was closed and
 *     its number reused, with or without removing it first.
 *   - No event is delivered that was fetched before its watch was modified.
 *   - No removal waits forever, and a callback does not wait for itself.
 *
 * The scene: descriptors 0 and 1 are watched. One thread closes 0 and opens another file,
 * which gets the same number, watches it and removes it. Another thread, and the callbacks,
 * remove or modify 0 at any time.
 *
 * Simplifications
 *   - A critical section of the driver's mutex is one step. Descriptors are always ready; chance decides
 *     which of them are fetched. */

#define BATCHES 2
#define DRIVER 2 /* the driver's thread; the others are 0 and 1 */
#define NONE 7

/* Watches are numbered in the order they were made: 1 and 3 are of descriptor 0, 2 of
 * descriptor 1. 0: none. */
byte watch[2];  /* drivers/watches.hpp: "tw_watch_callback *fn;  // null if" */
byte number[2]; /* drivers/watches.hpp: "std::uint32_t number;" */
byte last_number, last_watch;
byte asks_for[4]; /* for each watch: how often its events were modified */

byte in_set[2]; /* the kernel: the number under which a descriptor is in the set; 0: it is not in it */
byte in_set_for[2]; /* and for which watch */

/* Of a fetched event: descriptor and number, its watch, and the watch's modification at that
 * time. */
chan batch = [2] of { byte, byte, byte, byte };

byte running = NONE;  /* drivers/watches.hpp: "int running_ TW_GUARDED_BY(mutex_);" */
byte running_watch;
byte calls;                             /* drivers/watches.hpp: "std::uint64_t calls_ TW_GUARDED_BY(mutex_);" */
byte in_callback; /* the watch whose callback is running; 0: none */
bool gone[4];         /* the watch's removal has returned */
bool on_condition[3]; /* who waits for `returned` */

/* --- changing ------------------------------------------------------------------------------------- */

inline add(fd) {
    d_step {
        last_number++;                  /* drivers/watches.cpp: "number = next_number();" */
        last_watch++;
        in_set[fd] = last_number;       /* drivers/watches.cpp: "EPOLL_CTL_ADD, fd, events, number" */
        in_set_for[fd] = last_watch;
        watch[fd] = last_watch;         /* drivers/watches.cpp: "table_[fd] = {fn, arg, number};" */
        number[fd] = last_number
    }
}

/* Modifies descriptor 0. The kernel does not know a descriptor that was closed meanwhile. */
inline modify() {
    d_step {
        if                              /* drivers/watches.cpp: "if (!is_watched(fd))" */
        :: watch[0] != 0 && in_set[0] != 0 ->
#ifndef BREAK_KEEPS_THE_NUMBER
            last_number++;
            in_set[0] = last_number;    /* drivers/watches.cpp: "EPOLL_CTL_MOD, fd, events, number" */
            number[0] = last_number;    /* drivers/watches.cpp: "table_[fd].number = number;" */
#endif
            asks_for[watch[0]]++
        :: else
        fi
    }
}

/* Sleeps with the mutex released, and continues with it held. */
inline wait_for_callback() {
#ifdef BREAK_WAITS_FOR_ITSELF
#define must_wait (running == 0 && calls == calls_seen)
#else
#define must_wait (running == 0 && calls == calls_seen && me != DRIVER)
#endif
    do                                  /* drivers/watches.cpp: "while (running_ == fd && calls_ == calls" */
    :: atomic { must_wait -> on_condition[me] = true };
        !on_condition[me]               /* drivers/watches.cpp: "pthread_cond_wait(&returned_" */
    :: atomic { !must_wait -> break }
    od
}

/* Of descriptor 0. */
inline remove() {
    d_step {
        calls_seen = calls;             /* drivers/watches.cpp: "const std::uint64_t calls = calls_;" */
        was_watched = (watch[0] != 0);  /* drivers/watches.cpp: "watched = is_watched(fd);" */
        victim = (watch[0] != 0 -> watch[0] : (running == 0 -> running_watch : 0));
        if
        :: was_watched ->
            in_set[0] = 0;              /* drivers/watches.cpp: "EPOLL_CTL_DEL, fd, 0, internal" */
            in_set_for[0] = 0
        :: else
        fi;
#if !defined BREAK_FORGETS_AFTER_WAITING && !defined BREAK_KEEPS_THE_WATCH
        watch[0] = 0                    /* drivers/watches.cpp: "table_[fd].fn = nullptr;" */
#endif
    }
#if defined BREAK_DOES_NOT_WAIT
    skip;
#elif defined BREAK_LEAVES_WHEN_NOT_WATCHED
    if
    :: was_watched -> wait_for_callback()
    :: else
    fi;
#else
    wait_for_callback();                /* drivers/watches.cpp: "    wait_for_callback(fd);" */
#endif
#ifdef BREAK_FORGETS_AFTER_WAITING
    watch[0] = 0;
#endif
    atomic {
        assert(me == DRIVER || victim == 0 || in_callback != victim);
        gone[victim] = true;
        victim = 0;
        calls_seen = 0;
        was_watched = false
    }
}

inline close() {
    d_step {
        in_set[0] = 0;
        in_set_for[0] = 0
    }
}

proctype replacer() {
    byte me = 0, victim, calls_seen;
    bool was_watched;
    if
    :: remove()
    :: skip /* closes descriptor 0 before removing it */
    fi;
    close();
    add(0);
    remove()
}

proctype changer() {
    byte me = 1, victim, calls_seen;
    bool was_watched;
    if
    :: remove()
    :: modify()
    fi
}

/* --- delivering ----------------------------------------------------------------------------------- */

inline ready(fd) {
    if
    :: in_set[fd] != 0 -> batch ! fd, in_set[fd], in_set_for[fd], asks_for[in_set_for[fd]]
    :: else
    fi
}

inline fetch() {
    d_step {                            /* drivers/epoll.cpp: "::epoll_wait(s.watched.fd(), s.watched.room()" */
        if
        :: only_0 -> ready(0)
        :: !only_0 && first_0 -> ready(0); ready(1)
        :: !only_0 && !first_0 -> ready(1); ready(0)
        fi
    }
}

inline choose_and_fetch() {
    if
    :: only_0 = true
    :: first_0 = true
    :: skip
    fi;
    fetch();
    only_0 = false;
    first_0 = false
}

inline find_and_mark() {
    atomic {
        batch ? fd, tag, fetched_for, asked_for; /* drivers/watches.hpp: "batch_[delivered_++];" */
        called = watch[fd];             /* drivers/watches.cpp: "called = table_[fd];" */
        if                              /* drivers/watches.cpp: "tag(fd, called.number) != event.data" */
#ifndef BREAK_COMPARES_NO_NUMBER
        :: called != 0 && tag != number[fd] -> called = 0
#endif
        :: else
        fi;
        if
        :: called != 0 ->
            assert(fetched_for == called);
            assert(asked_for == asks_for[called]);
#ifndef BREAK_MARKS_WITHOUT_THE_MUTEX
            running = fd;               /* drivers/watches.cpp: "running_ = fd;" */
            running_watch = called;
            calls++                     /* drivers/watches.cpp: "++calls_;" */
#endif
        :: else
        fi;
        tag = 0;
        fetched_for = 0;
        asked_for = 0
    }
}

inline call() {
    atomic {                            /* drivers/watches.cpp: "called.fn(fd, event.events" */
        assert(!gone[called]);
        in_callback = called
    }
    if
    :: skip
    :: remove() /* itself, if it is of descriptor 0 */
    :: called == 2 -> modify()
    fi;
    in_callback = 0
}

inline deliver() {
    find_and_mark();
    if
    :: called != 0 ->
#ifdef BREAK_MARKS_WITHOUT_THE_MUTEX
        atomic { running = fd; running_watch = called; calls++ };
#endif
        call();
        d_step {
            running = NONE;             /* drivers/watches.cpp: "running_ = none;" */
            running_watch = 0;
            on_condition[0] = false;    /* drivers/watches.cpp: "pthread_cond_broadcast(&returned_);" */
            on_condition[1] = false
        }
    :: else
    fi;
    called = 0;
    fd = 0
}

proctype driver() {
    byte me = DRIVER, batches;
    byte fd, tag, fetched_for, asked_for, called, victim, calls_seen;
    bool was_watched, only_0, first_0;
    do
    :: batches < BATCHES ->
        batches++;
        choose_and_fetch();
        do
        :: nempty(batch) -> deliver()
        :: empty(batch) -> break
        od
    :: batches == BATCHES -> break
    od
}

init {
    atomic {
        add(0);
        add(1);
        run driver();
        run replacer();
        run changer()
    }
}

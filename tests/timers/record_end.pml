/* A record fires, on the runtime's thread or on workers, while it is ended: by its callbacks; by a thread that
 * then waits until the record is over and starts another one, which gets the same cell; and by a thread that
 * has only the handle, or drains the set.
 *
 * Claims
 *   - The cell is freed once nothing can reach the former record: no callback of its node is about to begin,
 *     none of its fires waits or is with a worker, and no callback of the user's runs or begins (P11).
 *   - The argument is dropped once, when no callback runs.
 *   - Stop answers 1 if and only if it prevents a fire (P6), and so does a drain; stop waits for no callback.
 *     With a handle of the former record it does nothing to the record that now has the cell.
 *   - Once a drain has returned, the records that it found are over.
 *   - No thread waits for ever, and a record that is never stopped comes to its end as well.
 *
 * The stage: one cell, and records of one fire, or of two by a period. The other content of the workers' queue
 * is left to chance: it may be too full for a fire at any time.
 *
 * Simplifications
 *   - A critical section of the wheel or of the workers is one step (lock.pml); so is waiting for the node's
 *     callback (cancel_wait.pml). A pending node is always due.
 *   - A callback begins at the moment when this is decided, under the set's lock.
 *   - One drain, of one cell, without a visitor. No user schedules (`next`), keys or forks; workers discard
 *     nothing. */

#define WORKERS 2

mtype = { FREE, LIVE, ENDED };          /* src/timers/record_store.hpp: "enum class record_state : std::uint8_t" */

/* Fixed parameters. */
bool has_workers;
bool is_concurrent;
byte fires = 1; /* 2: it is periodic, */
bool is_burst;  /*   and fires that come late are kept apart */
#define is_periodic (fires == 2)

/* The set and its cell, guarded by the set's lock. */
bool locked;
mtype state = FREE;
byte generation;
byte uses;
byte begun;
bool is_last;
bool has_drop;
bool epoch, epoch_of_set;
#define is_drained (epoch != epoch_of_set)
byte waiting;                           /* src/timers/record_set.hpp: "std::uint32_t waiting;" */
byte progress;

/* The wheel, and the node's state in it. */
byte fires_left;
bool running; /* the node's callback */
byte returned;
#define pending (fires_left != 0)

/* The workers: the fires that wait, each with its record's generation and its overruns; and which worker has
 * taken one. */
chan queue = [2] of { byte, byte };
bool has_taken[WORKERS];

/* Kept by an observer, of the record that has the cell. */
byte to_come;         /* fires that have neither run nor been rejected */
byte in_callback;     /* how many callbacks run, */
bool runs_on_runtime; /*   and whether the runtime's thread is in one */
byte drops;
byte answer;          /* of the stop or drain that ended it; 2: none has */

inline lock() {
    atomic { !locked -> locked = true }
}

inline unlock() {
    locked = false
}

/* --- ending --------------------------------------------------------------------------------------- */

inline announce_progress() {
    if                                  /* src/timers/record_life.cpp: "if (set.waiting == 0)" */
    :: waiting != 0 -> progress++
    :: else
    fi
}

inline free_record() {
    d_step {
        assert(state == ENDED && uses == 0 && !pending && empty(queue));
        assert(in_callback == 0 && drops == 1);
        assert((answer == 1) == (to_come != 0));
        generation++;                   /* src/timers/record_life.cpp: "++record.generation;" */
        state = FREE;                   /* src/timers/record_life.cpp: "set.records.give_back(record);" */
#ifndef BREAK_ANNOUNCES_NOTHING
        announce_progress()
#endif
    }
}

inline finish() {
    d_step {
        drops_now = has_drop;           /* src/timers/record_life.cpp: "drop)(void *) = record.drop;" */
        has_drop = false                /* src/timers/record_life.cpp: "record.drop = nullptr;" */
    }
    if
    :: drops_now ->
        unlock();
        d_step {                        /* src/timers/record_life.cpp: "drop(record.node.arg);" */
            assert(in_callback == 0);
            drops++;
            drops_now = false
        }
        lock()
    :: else
    fi;
    free_record()
}

inline cancel() {
    d_step {                            /* src/timers/record_life.cpp: "cancel(*record.set->rt, &record.node) > 0" */
        cancelled = pending;
        fires_left = 0
    }
}

inline withdraw_fires() {
    d_step {
        taken = len(queue);             /* src/timers/record_life.cpp: "withdraw(worker_part_of(record).runnable)" */
        do
        :: nempty(queue) -> queue ? _, _
        :: empty(queue) -> break
        od;
        uses = uses - taken;            /* src/timers/record_life.cpp: "record.uses -= taken;" */
#ifndef BREAK_KEEPS_THE_LAST_THAT_IT_TAKES_BACK
        if                              /* src/timers/record_life.cpp: "record.is_last && taken == 0;" */
        :: taken != 0 -> is_last = false
        :: else
        fi
#endif
    }
}

inline has_still_to_fire() {
    d_step {
#ifdef BREAK_OVERLOOKS_FIRES_ON_THEIR_WAY
        prevented = (cancelled || taken != 0);
#else
        if                              /* src/timers/record_life.cpp: "uses > worker_part_of(record).begun;" */
        :: has_workers && uses > begun -> prevented = true
        :: else -> prevented = !is_last /* src/timers/record_life.cpp: "!record.is_last || has_run_to_begin;" */
        fi;
#endif
        taken = 0
    }
}

inline retire() {
    assert(state == LIVE);
    state = ENDED                       /* src/timers/record_life.cpp: "record.state = record_state::ended;" */
}

inline wait_for_node() {
    if
    :: atomic { running ->              /* src/core/callback_wait.hpp: "if (wheel.running() == node" */
            assert(!runs_on_runtime);
            seen = returned
        }
        atomic { returned != seen ->    /* src/core/callback_wait.hpp: "while (events == seen);" */
            seen = 0
        }
    :: !running
    fi
}

inline wait_for_node_callback() {
    if
#ifndef BREAK_WAITS_FOR_A_CALLBACK
    :: uses != 0 && !has_workers        /* src/timers/record_life.cpp: "(record.set->workers == nullptr ||" */
#endif
    :: else ->
        d_step {
#ifndef BREAK_WAITS_AND_HOLDS_NOTHING
            uses++;                     /* src/timers/record_life.cpp: "++record.uses;" */
#endif
            unlock()
        }
        wait_for_node();                /* src/timers/record_life.cpp: "wait_for_callback(*record.set->rt, &record.node)" */
        lock();
        d_step {
#ifndef BREAK_WAITS_AND_HOLDS_NOTHING
            uses--;                     /* src/timers/record_life.cpp: "--record.uses;" */
#endif
            announce_progress()         /* src/timers/record_life.cpp: "announce_progress(*record.set);" */
        }
    fi
}

inline judge_and_retire() {
    has_still_to_fire();
    d_step {
        assert(handle == generation && answer == 2);
        answer = prevented;
        prevented = false;
        retire()
    }
}

inline end_it() {
    cancel();
    withdraw_fires();
    d_step {                            /* src/timers/record_life.cpp: "!cancelled || record.node.period != 0;" */
#ifdef BREAK_TRUSTS_CANCEL_WITH_A_PERIOD
        may_be_beginning = !cancelled
#else
        may_be_beginning = !cancelled || is_periodic
#endif
    }
    judge_and_retire();
    cancelled = false;
    if
#ifndef BREAK_WAITS_FOR_NO_NODE_CALLBACK
    :: may_be_beginning -> wait_for_node_callback()
#endif
    :: else
    fi;
    may_be_beginning = false;
    if
#ifdef BREAK_FINISHES_WHAT_RUNS
    :: true -> finish()
#else
    :: uses == 0 -> finish()            /* src/timers/record_life.cpp: "if (record.uses == 0)" */
#endif
    :: else
    fi
}

/* With the lock, before and after. */
inline stop() {
    if                                  /* src/timers/handle.cpp: "generation == generation_in(handle)" */
#ifdef BREAK_COMPARES_NO_GENERATION
    :: state == LIVE -> end_it()
#else
    :: generation == handle && state == LIVE -> end_it()
#endif
    :: else
    fi
}

/* The kernel compares the word and falls asleep in one step. */
inline wait_for_progress() {
    d_step {
        seen = progress;            /* src/timers/record_life.cpp: "seen = set.progress;" */
        waiting++;                      /* src/timers/record_life.cpp: "++set.waiting;" */
        unlock()
    }
    progress != seen;               /* src/timers/record_life.cpp: "tw_port_wait(&set.progress, seen" */
    lock();
    d_step {
        waiting--;                      /* src/timers/record_life.cpp: "--set.waiting;" */
        seen = 0
    }
}

inline wait_until_over() {
    do                                  /* src/timers/record_life.cpp: "while (record.generation == generation" */
    :: generation == handle -> wait_for_progress()
    :: else -> break
    od
}

inline drain_one() {
    handle = generation;
    if
    :: state == LIVE ->
        cancel();                       /* src/timers/record_set.cpp: "cancel(*record.set->rt, &record.node);" */
        withdraw_fires()                /* src/timers/record_set.cpp: "withdraw_fires(record);" */
    :: else
    fi;
    do                                  /* src/timers/record_set.cpp: "live && record.uses != 0" */
#ifndef BREAK_DRAINS_WHAT_RUNS
    :: generation == handle && state == LIVE && uses != 0 -> wait_for_progress()
#endif
    :: else -> break
    od;
    if                                  /* src/timers/record_set.cpp: "record.generation != generation || record.state" */
    :: generation == handle && state == LIVE ->
        judge_and_retire();             /* src/timers/record_set.cpp: "had_to_fire = has_still_to_fire(record);" */
        wait_for_node_callback();              /* src/timers/record_set.cpp: "wait_for_node_callback(record, lock);" */
        if
        :: uses == 0 -> finish()        /* src/timers/record_set.cpp: "if (record.uses == 0)" */
        :: else
        fi
    :: else -> wait_until_over()        /* src/timers/record_set.cpp: "wait_until_over(record, generation, lock);" */
    fi;
    assert(generation != handle);
    taken = 0;
    cancelled = false
}

inline drain() {
    epoch_of_set = true;                /* src/timers/record_set.cpp: "set.epoch = (set.epoch + 1) & 0x7f;" */
    if                                  /* src/timers/record_set.cpp: "is_in_use(record) && is_older(record, epoch)" */
    :: state != FREE && is_drained -> drain_one()
    :: else
    fi
}

/* --- starting ------------------------------------------------------------------------------------- */

inline start() {
    d_step {
        assert(state == FREE && empty(queue));
        handle = generation;
        uses = 0;                       /* src/timers/record_start.cpp: "record.uses = 0;" */
        is_last = false;                /* src/timers/record_start.cpp: "record.is_last = false;" */
        begun = 0;                      /* src/timers/record_start.cpp: "worker_part_of(record).begun = 0;" */
        has_drop = true;                /* src/timers/record_start.cpp: "record.drop = task.drop;" */
        has_taken[0] = false;           /* src/workers/workers.cpp: "workers.runners[i].current = &freed_runnable;" */
        has_taken[1] = false;
        drops = 0;
        answer = 2;
        to_come = fires
    }
    fires_left = fires;                 /* src/timers/record_start.cpp: "prepared->arm(&fresh.node)" */
    d_step {
        state = LIVE;                   /* src/timers/record_start.cpp: "fresh.state = record_state::live;" */
        epoch = epoch_of_set            /* src/timers/record_start.cpp: "fresh.epoch = set.epoch & 0x7f;" */
    }
}

proctype replacer() {
    byte handle, taken, seen;
    bool cancelled, prevented, may_be_beginning, drops_now;
    lock();
    stop();
    wait_until_over();                  /* src/timers/handle.cpp: "wait_until_over(*found, " */
    start();
    unlock();
    state == FREE && generation == 2 && !locked
}

proctype other() {
    byte handle, taken, seen;
    bool cancelled, prevented, may_be_beginning, drops_now;
    lock();
    if
    :: stop()
    :: drain()
    fi;
    unlock()
}

/* --- firing --------------------------------------------------------------------------------------- */

inline after_fire() {
    d_step {
        uses--;                         /* src/timers/record_life.cpp: "    --record.uses;" */
        announce_progress()
    }
#ifdef BREAK_DECIDES_WITHOUT_THE_LOCK
    unlock();
    is_over = (uses == 0 && (state != LIVE || is_last));
    lock();
#elif defined BREAK_ENDS_WITH_ANY_RUN
    is_over = (state != LIVE || is_last);
#else                                   /* src/timers/record_life.cpp: "if (record.uses != 0 || (record.state ==" */
    is_over = (uses == 0 && (state != LIVE || is_last));
#endif
    if
    :: is_over ->
        is_over = false;
        if
        :: state == LIVE -> retire()    /* src/timers/record_life.cpp: "        retire(record);" */
        :: else
        fi;
        finish()
    :: else
    fi
}

/* With the lock: a fire begins, with those that it counts as overruns. */
inline begin() {
    assert(answer == 2 && !is_drained);
    to_come = to_come - 1 - overruns;
    in_callback++
}

/* A callback may stop its record. */
inline call() {
    if
    :: lock();
        handle = taken_for;
        stop();
        handle = 0;
        unlock()
    :: skip
    fi
}

inline enqueue() {
    atomic {
        if
        :: !is_burst && nempty(queue) ->
            queue ? was_for, overruns;  /* src/workers/workers.cpp: "fire_queue::join(it, " */
            queue ! was_for, overruns + 1;
            uses--                      /* src/timers/record_life.cpp: "        --record.uses;" */
        :: is_burst || empty(queue) ->
            queue ! taken_for, 0        /* src/workers/workers.cpp: "pool.queue.push(it, due, overruns);" */
        :: is_burst || empty(queue) ->
            rejected = true             /* src/workers/workers.cpp: "return enqueued::rejected;" */
        fi;
        was_for = 0;
        overruns = 0
    }
}

inline fire_on_worker() {
    enqueue();
    if
    :: rejected ->
        d_step { rejected = false; to_come-- };
        after_fire()                    /* src/timers/record_life.cpp: "        after_fire(record, due, lock);" */
    :: else
    fi
}

inline fire_here() {
    d_step {
        begin();
        runs_on_runtime = true;
        unlock()
    }
    call();                             /* src/timers/record_life.cpp: "    call(record, due, overruns, [&] {" */
    d_step {
        in_callback--;
        runs_on_runtime = false
    }
    lock();
    after_fire()
}

inline on_due() {
    lock();
    assert(taken_for == generation);
    if                                  /* src/timers/record_life.cpp: "live || is_drained(record))" */
#ifndef BREAK_FIRES_WHAT_HAS_ENDED
    :: state != LIVE || is_drained
#endif
    :: else ->
        d_step {
            uses++;                     /* src/timers/record_life.cpp: "    ++record.uses;" */
            is_last = !pending          /* src/timers/record_life.cpp: "record.is_last = is_last_fire(record);" */
        }
        if
        :: has_workers -> fire_on_worker()
        :: else -> fire_here()
        fi
    fi;
    unlock()
}

proctype runtime() {
    byte taken_for, was_for, overruns, handle, taken, seen;
    bool rejected, is_over, cancelled, prevented, may_be_beginning, drops_now;
end:
    do
    :: atomic {
            pending ->                  /* src/core/advance.hpp: "node = wheel.take_due();" */
            fires_left--;
            taken_for = generation;
            running = true              /* src/core/wheel.hpp: "running_ = &node;" */
        }
        on_due();                       /* src/core/advance.hpp: "fn(&node, arg);" */
        d_step {
            taken_for = 0;
            running = false;            /* src/core/callback_wait.hpp: "wheel.forget_running();" */
            returned++                  /* src/core/callback_wait.hpp: "&events, events + 1" */
        }
    od
}

inline run_fire() {
    lock();
    assert(taken_for == generation);
    d_step {
#ifndef BREAK_COUNTS_NO_BEGINNING
        begun++;                        /* src/timers/record_life.cpp: "++worker_part_of(record).begun;" */
#endif
        if
#ifndef BREAK_TAKES_WHAT_IS_DRAINED_FOR_RUN
        :: is_drained -> is_last = false /* src/timers/record_life.cpp: "            record.is_last = false;" */
#endif
        :: else
        fi
    }
    if
    :: state == LIVE && !is_drained ->  /* src/timers/record_life.cpp: "live && !is_drained(record)" */
        d_step { begin(); unlock() };
        call();                         /* src/timers/record_life.cpp: "call(record, due, tw_runtime_overruns(" */
        in_callback--;
        lock()
    :: else
    fi;
#ifndef BREAK_COUNTS_NO_BEGINNING
    begun--;                            /* src/timers/record_life.cpp: "--worker_part_of(record).begun;" */
#endif
    after_fire();
    unlock()
}

proctype worker(byte me) {
    byte taken_for, overruns, handle, taken, seen;
    bool is_over, cancelled, prevented, may_be_beginning, drops_now;
end:
    do
    :: atomic {                         /* src/workers/workers.cpp: "= queue.pop(it);" */
            nempty(queue) && (is_concurrent || !(has_taken[0] || has_taken[1])) ->
            queue ? taken_for, overruns;
            has_taken[me] = true        /* src/workers/workers.cpp: "me.current = &it;" */
        }
        run_fire();
        d_step {                        /* src/workers/workers.cpp: "me.current = nullptr;" */
            has_taken[me] = false;
            taken_for = 0;
            overruns = 0
        }
    od
}

init {
    byte handle;
    atomic {
        if
        :: fires = 2; is_burst = true
        :: fires = 2
        :: is_burst = true              /* src/workers/workers.cpp: "A oneshot's is TW_BURST." */
        fi;
        start();
        run runtime();
        run replacer();
        run other();
        if
        :: has_workers = true;
            if
            :: is_concurrent = true
            :: skip
            fi;
            run worker(0);
            run worker(1)
        :: skip
        fi
    }
}

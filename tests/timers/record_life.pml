/* The life of a record, which fires on the runtime's thread or on workers, while two other threads make any
 * two of these calls: stop it and wait; cancel all of its set; walk its set. Callbacks and visitors stop it or
 * cancel all of its set. Its cell is then used for another record.
 *
 * Claims
 *   - S1: the cell is freed when nothing can reach its record any more: it is on no wheel, none of its fires
 *     waits or is with a worker, no callback of it runs, and no visitor has it. So what a thread does with a
 *     record after it has released the lock, it does with the same record (P11).
 *   - S2: the argument is dropped once, when no callback runs and no visitor has it.
 *   - A stop or a cancel_all answers 1 if and only if it prevents a fire (P6). No fire follows either. A stop with a
 *     handle of the former record does nothing to the record that now has the cell.
 *   - When a stop that waits, or a cancel_all, returns, the fires, callbacks and visits that it found are over,
 *     unless one of them made the call.
 *   - No thread waits forever, and a record that no call ends comes to its end as well.
 *
 * The stage: one cell, and records with one deadline or with two: by a period, or by `next`. The other
 * content of the workers' queue is left to chance: it may be too full for a fire at any time, and its fires
 * may be discarded.
 *
 * Simplifications
 *   - While a thread has the lock, no other one does anything: the lock guards all shared state except the
 *     workers' queue, which a thread uses once in each hold. One worker runs the fires of a set that is not
 *     concurrent.
 *   - All records of the set are in one lane: cancel_all_lanes.pml has two.
 *   - An armed record is always due. A callback begins when this is decided, under the lock.
 *   - No keys, exceptions or forks; the runtime is not freed. */

#define NONE 2

/* src/timers/record.hpp: "enum class record_state : std::uint8_t { free, starting, live, last, ended };" */
mtype = { FREE, STARTING, LIVE, LAST, ENDED };
mtype = { ONCE, SKIPPED, BURST, BY_NEXT };
mtype = { STOP_WAIT, CANCEL_ALL, EACH };

/* Fixed parameters. */
bool has_workers;
mtype schedule = ONCE;

/* The set and its cell, guarded by the record lock. */
bool locked;
mtype state = FREE;
byte generation, uses, begun, epoch, epoch_of_set;
bool armed, has_drop;
byte deadlines; /* after the one that the record is armed for */
byte waiting, progress;
#define is_cancelled (epoch != epoch_of_set)
#define is_live (state == LIVE || state == LAST)

/* The workers: the fires that wait, each with its overruns. */
chan queue = [2] of { byte };

/* Kept by an observer, of the record that has the cell. */
byte to_come;          /* fires that have neither begun nor been rejected or discarded */
byte in_use;           /* the number of callbacks and visitors that use the record */
byte drops;
byte answer = NONE;    /* of the stop or cancel_all that ended the record */
bool fires_no_more;    /* a cancel_all has begun */

inline lock() {
    atomic { !locked -> locked = true }
}

inline unlock() {
    locked = false
}

/* One of the user's functions begins to use the record, and returns. */
inline enter() {
    in_use++;
    unlock()                            /* src/timers/record_life.hpp: "lock_.unlock();" */
}

inline leave() {
    atomic {                            /* src/timers/record_life.hpp: "~user_call() TW_RELEASE() { lock_.lock(); }" */
        !locked -> locked = true;
        in_use--
    }
}

/* --- waiting -------------------------------------------------------------------------------------- */

inline announce_progress() {
    if                                  /* src/timers/record_life.hpp: "if (space.waiting != 0)" */
    :: waiting != 0 -> progress++
    :: else
    fi
}

/* The kernel compares the word and falls asleep in one step. The last waiter to wake up sets the word to 0,
 * which changes nothing and makes fewer states. */
inline wait_for_progress() {
    d_step {
#ifndef BREAK_LOOKS_AFTER_IT_HAS_RELEASED_THE_LOCK
        seen = progress;                /* src/timers/record_life.cpp: "seen = space.progress;" */
#endif
        waiting++;                      /* src/timers/record_life.cpp: "++space.waiting;" */
        unlock()
    }
#ifdef BREAK_LOOKS_AFTER_IT_HAS_RELEASED_THE_LOCK
    seen = progress;
#endif
    progress != seen;                   /* src/timers/record_life.cpp: "tw_port_wait(&space.progress" */
    lock();
    d_step {
        waiting--;                      /* src/timers/record_life.cpp: "--space.waiting;" */
        seen = 0;
        if
        :: waiting == 0 -> progress = 0
        :: else
        fi
    }
}

inline wait_until_over(inside) {
    do                                  /* src/timers/record_life.cpp: "while (timer.generation == generation" */
#ifdef BREAK_WAITS_UNTIL_IT_IS_ENDED
    :: generation == mine && is_live && !inside -> wait_for_progress()
#else
    :: generation == mine && !inside -> wait_for_progress()
#endif
    :: else -> break
    od
}

/* --- ending --------------------------------------------------------------------------------------- */

inline retire() {
    assert(is_live && !armed);
    state = ENDED                       /* src/timers/record_life.cpp: "timer.state = record_state::ended;" */
}

inline free_record() {
    d_step {                            /* src/timers/record_life.hpp: "set.records->give_back(timer, in);" */
        assert(state == ENDED && uses == 0 && !armed && empty(queue));
        assert(in_use == 0 && begun == 0 && drops == 1 && (answer != NONE || to_come == 0));
        answer = NONE;
        drops = 0;
        to_come = 0;
        deadlines = 0;
        fires_no_more = false;
        generation++;                   /* src/timers/record_store.hpp: "reused = ++freed.generation" */
        state = FREE;                   /* src/timers/record_store.hpp: "freed.state = record_state::free;" */
#ifndef BREAK_ANNOUNCES_NO_END
        announce_progress()             /* src/timers/record_life.cpp: "announce_progress(*set.space);" */
#endif
    }
}

inline finish() {
    d_step {
        drops_it = has_drop;            /* src/timers/record_life.cpp: "(*const drop)(void *) = rest.drop;" */
        has_drop = false                /* src/timers/record_life.cpp: "rest.drop = nullptr;" */
    }
    if
    :: drops_it ->
        d_step {                        /* src/timers/record_life.cpp: "drop(rest.arg);" */
            assert(in_use == 0 && drops == 0);
            drops++;
            drops_it = false;
            unlock()
        }
        lock()
    :: else
    fi;
    free_record()
}

inline take_back_last() {
    if                                  /* src/timers/record_life.cpp: "if (timer.state == record_state::last)" */
    :: state == LAST -> state = LIVE
    :: else
    fi
}

inline withdraw_fires() {
    taken = len(queue);                 /* src/timers/record_life.cpp: "withdraw(worker_part_of(timer)" */
    do
    :: nempty(queue) -> queue ? _
    :: empty(queue) -> break
    od;
    uses = uses - taken;                /* src/timers/record_life.cpp: "timer.uses -= taken;" */
#ifndef BREAK_KEEPS_THE_LAST_THAT_IT_TAKES_BACK
    if                                  /* src/timers/record_life.cpp: "if (taken != 0)" */
    :: taken != 0 -> take_back_last()
    :: else
    fi;
#endif
    taken = 0
}

/* The caller's answer, which the observer compares. With `next`, a record that will still be asked for a
 * deadline has a fire to prevent. */
inline judge_and_retire() {
    assert(mine == generation && answer == NONE);
#ifdef BREAK_OVERLOOKS_FIRES_ON_THEIR_WAY
    prevented = state == LIVE;
#else                                   /* src/timers/record_life.cpp: "timer.uses > worker_part_of(timer)" */
    prevented = state == LIVE || (has_workers && uses > begun);
#endif                                  /* src/timers/record_life.cpp: "live || has_run_to_begin" */
    assert(prevented || to_come == 0);
    assert(!prevented || to_come != 0 || schedule == BY_NEXT);
    answer = prevented;
    retire()
}

inline finish_if_over() {
    if
    :: is_over ->
        is_over = false;
        if
        :: state == LAST -> retire()    /* src/timers/record_life.cpp: "        retire(set, timer);" */
        :: else
        fi;
        finish()
    :: else
    fi
}

inline end_record() {
    d_step {
        armed = false;                  /* src/timers/record_life.cpp: "    disarm(*set.space, timer);" */
        withdraw_fires();               /* src/timers/record_life.cpp: "    withdraw_fires(set, timer);" */
        judge_and_retire();             /* src/timers/record_life.cpp: "prevented = has_still_to_fire(" */
        prevented = false
    }
    if
#ifdef BREAK_FINISHES_WHAT_IS_IN_USE
    :: true -> finish()
#else
    :: uses == 0 -> finish()            /* src/timers/record_life.cpp: "    if (timer.uses == 0)" */
#endif
    :: else
    fi
}

/* With the lock, before and after. */
inline stop() {
    if                                  /* src/timers/timers.cpp: "generation == generation_in(handle) &&" */
#ifdef BREAK_COMPARES_NO_GENERATION
    :: is_live -> end_record()
#else
    :: generation == mine && is_live -> end_record()
#endif
    :: else
    fi
}

/* --- cancel_all ----------------------------------------------------------------------------------- */

/* With the lock, before and after. */
inline visit() {
    d_step {                            /* src/timers/record_set.cpp: "visitor.visit(&entry, visitor.arg)" */
        assert(mine == generation && drops == 0);
        enter()
    }
    leave()
}

/* In a cancel_all this matters only after a fork: no one else uses the record that a cancel_all retires, except the
 * function that called the cancel_all. */
inline hold() {
    uses++;                             /* src/timers/record_set.cpp: "    ++timer.uses;" */
#ifndef BREAK_TAKES_A_VISIT_FOR_A_FIRE_TO_COME
    begun = begun + has_workers         /* src/timers/record_set.cpp: "++worker_part_of(timer).begun;" */
#endif
}

inline let_go() {
    uses--;                             /* src/timers/record_set.cpp: "    --timer.uses;" */
#ifndef BREAK_TAKES_A_VISIT_FOR_A_FIRE_TO_COME
    begun = begun - has_workers         /* src/timers/record_set.cpp: "--worker_part_of(timer).begun;" */
#endif
}

inline cancel_record(inside) {
    mine = generation;                  /* src/timers/record_set.cpp: "generation = timer.generation;" */
    d_step {
        if
        :: is_live ->
            armed = false;              /* src/timers/record_set.cpp: "disarm(*set.space, timer);" */
            withdraw_fires()            /* src/timers/record_set.cpp: "withdraw_fires(set, timer);" */
        :: else
        fi
    }
    do                                  /* src/timers/record_set.cpp: "is_live(timer) && timer.uses != 0" */
#ifndef BREAK_CANCELS_WHAT_RUNS
    :: generation == mine && is_live && uses != 0 && !inside -> wait_for_progress()
#endif
    :: else -> break
    od;
    if                                  /* src/timers/record_set.cpp: "timer.generation != generation ||" */
    :: generation == mine && is_live ->
        d_step {
            judge_and_retire();         /* src/timers/record_set.cpp: "had_to_fire = has_still_to_fire(" */
            hold()                      /* src/timers/record_set.cpp: "    hold(set, timer);" */
        }
        if
        :: prevented -> prevented = false; visit()
        :: else
        fi;
        d_step { let_go() }             /* src/timers/record_set.cpp: "    let_go(set, timer);" */
        if
        :: uses == 0 -> finish()        /* src/timers/record_set.cpp: "    if (timer.uses == 0)" */
        :: else
        fi
    :: else -> wait_until_over(inside)  /* src/timers/record_set.cpp: "wait_until_over(set, timer" */
    fi;
    assert(generation != mine || inside)
}

/* Other cells come before this one, and the lock is released after each. */
inline cancel_all(inside) {
    lock();
    d_step {
        epoch_of_set++;                 /* src/timers/record_set.cpp: "records.epoch = epoch;" */
        own_epoch = epoch_of_set;
        fires_no_more = fires_no_more || is_live;
        unlock()                        /* src/timers/record_set.cpp: "lock.unlock();       // P8" */
    }
    lock();
    if                                  /* src/timers/record_set.cpp: "is_in_use(timer) && is_older(" */
    :: (is_live || state == ENDED) && epoch < own_epoch -> cancel_record(inside)
    :: else
    fi;
    own_epoch = 0;
    unlock()
}

/* --- firing --------------------------------------------------------------------------------------- */

inline ask_next() {
    d_step {                            /* src/timers/record_life.cpp: "timer.rest->next(due, timer.rest->arg);" */
        assert(drops == 0);
        has_deadline = deadlines != 0;
        deadlines = 0;
        unlock()
    }
    lock();
    d_step {
        if                              /* src/timers/record_life.cpp: "record_state::live || is_cancelled" */
#ifndef BREAK_ARMS_WHAT_NEXT_HAS_SEEN_ENDED
        :: state != LIVE || is_cancelled
#endif
        :: else ->                      /* src/timers/record_life.cpp: "!arm_at(set, timer, deadline))" */
            armed = has_deadline;
            state = (has_deadline -> LIVE : LAST)
        fi;
        has_deadline = false
    }
}

inline after_fire() {
    if                                  /* src/timers/record_life.cpp: "if (has_next(timer) && timer.state ==" */
    :: schedule == BY_NEXT && state == LIVE && !is_cancelled -> ask_next()
    :: else
    fi;
    d_step {
        uses--;                         /* src/timers/record_life.cpp: "    --timer.uses;" */
#ifndef BREAK_ANNOUNCES_NO_RUN
        announce_progress()             /* src/timers/record_life.cpp: "announce_progress(*set.space);" */
#endif
    }
#ifdef BREAK_DECIDES_WITHOUT_THE_LOCK
    unlock();
    is_over = uses == 0 && state != LIVE;
    lock();
#elif defined BREAK_ENDS_WITH_ANY_RUN
    is_over = state != LIVE;
#else                                   /* src/timers/record_life.cpp: "if (timer.uses != 0 || timer.state ==" */
    is_over = uses == 0 && state != LIVE;
#endif
    finish_if_over()
}

/* With the lock: a fire begins, and so do the fires that it counts as overruns. */
inline begin() {
    assert(mine == generation && answer == NONE && !fires_no_more && drops == 0);
    to_come = to_come - 1 - overruns;
    overruns = 0;
    enter()
}

/* What a callback or a visitor does: nothing, or a call on its own record. */
inline call() {
    if
    :: lock(); stop(); unlock()
    :: epoch_of_set == 0 -> cancel_all(true)
    :: skip
    fi;
    leave()
}

inline fire_on_worker() {
    atomic {
        if
        :: schedule == SKIPPED && nempty(queue) ->
            queue ? overruns;           /* src/workers/workers.cpp: "fire_queue::join(runnable, " */
            queue ! overruns + 1;
            uses--                      /* src/timers/record_life.cpp: "        --timer.uses;" */
        :: schedule != SKIPPED || empty(queue) ->
            queue ! 0                   /* src/workers/workers.cpp: "pool.queue.push(runnable, due, overruns);" */
        :: schedule != SKIPPED || empty(queue) ->
            is_rejected = true;         /* src/workers/workers.cpp: "return enqueued::rejected;" */
            to_come--
        fi;
        overruns = 0
    }
    if
    :: is_rejected ->
        is_rejected = false;
        after_fire()                    /* src/timers/record_life.cpp: "        after_fire(set, timer, due" */
    :: else
    fi
}

inline fire_here() {
    d_step { begin() };
    call();                             /* src/timers/record_life.cpp: "    fn(&event, arg);" */
    after_fire()                        /* src/timers/record_life.cpp: "    end_fire(space);" */
}

inline count_fire() {
    d_step {
        uses++;                         /* src/timers/record_life.cpp: "    ++timer.uses;" */
        if                              /* src/timers/record_life.cpp: "!arm_again(space, timer," */
        :: schedule != BY_NEXT && deadlines != 0 ->
            deadlines--;
            armed = true
        :: schedule != BY_NEXT && deadlines == 0 ->
            state = LAST                /* src/timers/record_life.cpp: "timer.state = record_state::last;" */
        :: else
        fi
    }
}

proctype firing_thread() {
    byte mine, taken, seen, overruns, own_epoch;
    bool is_over, prevented, drops_it, is_rejected, has_deadline;
end:
    do
    :: atomic {                         /* src/timers/record_life.cpp: "record &timer = record_of(*fired);" */
            armed && !locked ->
            locked = true;
            assert(state == LIVE);
            mine = generation;
            armed = false               /* src/core/record_placement.hpp: "record.stamp &= ~stamps::armed;" */
        }
#ifdef BREAK_RELEASES_THE_LOCK_BEFORE_IT_FIRES
        unlock();
        lock();
#endif
        if                              /* src/timers/record_life.cpp: "    if (is_cancelled(set, timer))" */
#ifndef BREAK_FIRES_WHAT_IS_CANCELLED
        :: is_cancelled
#endif
        :: else ->
            count_fire();
            if
            :: has_workers -> fire_on_worker()
            :: else -> fire_here()
            fi
        fi;
        mine = 0;
        unlock()
    od
}

/* --- on a worker ---------------------------------------------------------------------------------- */

inline run_fire() {
    d_step {
        assert(mine == generation);
#ifndef BREAK_COUNTS_NO_BEGINNING
        begun++;                        /* src/timers/record_life.cpp: "++worker_part_of(timer).begun;" */
#endif
#ifndef BREAK_TAKES_WHAT_IS_CANCELLED_FOR_RUN
        if
        :: is_cancelled -> take_back_last()
        :: else
        fi                              /* src/timers/record_life.cpp: "            take_back_last(timer);" */
#endif
    }
    if                                  /* src/timers/record_life.cpp: "live && !is_cancelled(set, timer))" */
#ifdef BREAK_RUNS_WHAT_HAS_ENDED
    :: d_step { true -> begin() }; call()
#else
    :: d_step { is_live && !is_cancelled -> begin() }; call()
#endif
    :: else
    fi;
#ifndef BREAK_COUNTS_NO_BEGINNING
    begun--;                            /* src/timers/record_life.cpp: "--worker_part_of(timer).begun;" */
#endif
    after_fire()                        /* src/timers/record_life.cpp: "    after_fire(set, timer, due" */
}

inline discard_fires() {
    d_step {
        assert(mine == generation);
        uses = uses - (discards - 1);   /* src/timers/record_life.cpp: "timer.uses -= fires - 1;" */
        if
        :: is_cancelled -> take_back_last() /* src/timers/record_life.cpp: "            take_back_last(timer);" */
        :: else -> to_come = to_come - discards - overruns
        fi
    }
    after_fire()
}

/* The oldest fire, to be run; or some, to be discarded. */
inline take() {
    atomic {                            /* src/workers/workers.cpp: "fire = queue.pop(runnable);" */
        nempty(queue) && !locked ->
        queue ? overruns;
        mine = generation;
        if
        :: skip
        :: discards = 1;
            if
            :: nempty(queue) ->         /* src/workers/workers.cpp: "            queue.pop(runnable);" */
                queue ? taken;
                overruns = overruns + taken;
                taken = 0;
                discards = 2
            :: skip
            fi
        fi
    }
}

proctype worker() {
    byte mine, taken, seen, overruns, own_epoch, discards;
    bool is_over, prevented, drops_it, has_deadline;
end:
    do
    :: take();
        lock();
        if
        :: discards != 0 -> discard_fires()
        :: else -> run_fire()
        fi;
        unlock();
        d_step {
            mine = 0;
            overruns = 0;
            discards = 0
        }
    od
}

/* --- walking and calls ----------------------------------------------------------------------------- */

inline end_visit() {
    d_step {
        assert(mine == generation);
#ifndef BREAK_WALKS_WITHOUT_A_HOLD
        let_go();
#endif
#ifndef BREAK_ANNOUNCES_NO_END_OF_A_VISIT
        announce_progress();            /* src/timers/record_set.cpp: "announce_progress(*set.space);" */
#endif
#ifdef BREAK_LEAVES_THE_LAST_FIRE_TO_OTHERS
        is_over = uses == 0 && state == ENDED
#else                                   /* src/timers/record_life.cpp: "if (timer.uses != 0 || timer.state ==" */
        is_over = uses == 0 && state != LIVE
#endif
    }
    finish_if_over()
}

inline each() {
    lock();
    if                                  /* src/timers/record_set.cpp: "is_live(timer) && !is_cancelled(set, timer))" */
    :: is_live && !is_cancelled ->
        d_step {
            mine = generation;
#ifndef BREAK_WALKS_WITHOUT_A_HOLD
            hold();                     /* src/timers/record_set.cpp: "            hold(set, timer);" */
#endif
            enter()
        }
        call();                         /* src/timers/record_set.cpp: "            visit(set, timer, visitor" */
        end_visit()                     /* src/timers/record_set.cpp: "            finish_if_over(set, timer" */
    :: else
    fi;
    unlock()
}

/* The stop has the first record's handle. */
proctype caller(mtype what) {
    byte mine, taken, seen, own_epoch;
    bool is_over, prevented, drops_it;
    if
    :: what == STOP_WAIT ->
        lock();
        stop();
        wait_until_over(false);         /* src/timers/timers.cpp: "wait_until_over(*at.records, *found," */
        assert(generation != mine);
        unlock()
    :: what == CANCEL_ALL -> cancel_all(false)
    :: what == EACH -> each()
    fi;
    mine = 0
}

/* --- starting ------------------------------------------------------------------------------------- */

inline take_record() {
    assert(state == FREE && empty(queue));
    state = STARTING;                   /* src/timers/record_store.hpp: "state = record_state::starting;" */
    uses = 0;                           /* src/timers/record_start.cpp: "timer.uses = 0;" */
    begun = 0;                          /* src/timers/record_start.cpp: "worker_part_of(timer).begun = 0;" */
    has_drop = true;                    /* src/timers/record_start.cpp: "rest.drop = task.drop;" */
    deadlines = (schedule != ONCE && generation == 0);
    to_come = deadlines + 1
}

inline go_live() {
    armed = true;                       /* src/timers/record_start.cpp: "arm(*set.space, timer, when.due" */
    state = LIVE;                       /* src/timers/record_start.cpp: "timer.state = record_state::live;" */
    epoch = epoch_of_set                /* src/timers/record_start.cpp: "timer.epoch = set.epoch;" */
}

inline abandon() {
    d_step {
        state = ENDED;                  /* src/timers/record_start.cpp: "timer.state = record_state::ended;" */
        to_come = 0
    }
    finish()                            /* src/timers/record_start.cpp: "finish(set, timer, lock);" */
}

/* Another record in the same cell. Its start calls `copy` or `next`, and may fail after that. */
proctype starter() {
    bool drops_it;
    atomic {
        state == FREE && !locked ->
        locked = true;
        take_record()
    }
    unlock();                           /* src/timers/record_start.cpp: "const user_call unlocked(" */
    lock();
    if
    :: d_step { go_live() }
    :: abandon()
    fi;
    unlock();
    state == FREE && generation == 2 && !locked
}

init {
    atomic {
        if
        :: skip
        :: schedule = SKIPPED
        :: schedule = BURST
        :: schedule = BY_NEXT
        fi;
        take_record();
        go_live();
        run firing_thread();
        run starter();
        if
        :: run caller(STOP_WAIT); run caller(STOP_WAIT)
        :: run caller(STOP_WAIT); run caller(CANCEL_ALL)
        :: run caller(STOP_WAIT); run caller(EACH)
        :: run caller(CANCEL_ALL); run caller(CANCEL_ALL)
        :: run caller(CANCEL_ALL); run caller(EACH)
        :: run caller(EACH); run caller(EACH)
        fi;
        if
        :: skip
        :: has_workers = true;
            run worker();
            if
            :: run worker()
            :: skip
            fi
        fi
    }
}

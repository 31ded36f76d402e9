/* Two threads cancel all records of a set that is in two lanes, or one of them frees the set. Meanwhile the
 * firing thread fires records, and other threads start some, in either lane. The set comes to the second lane
 * when the first record starts there.
 *
 * Claims
 *   - A cancel_all takes place at one moment. No record that was live at that moment fires after it, in any
 *     lane; all of them have ended when the cancel_all returns.
 *   - It ends no record that went live after that moment.
 *   - When a set is freed, no record is live, and none goes live after that.
 *   - No thread waits forever for a lock.
 *
 * Simplifications
 *   - While a thread has the lock of a lane, no other one touches the records there.
 *   - An armed record is always due. Its callback does nothing, and ends when it begins: record_life.pml has
 *     what runs.
 *   - Few epochs, so none of them comes again. */

#define LANES 2
#define RECORDS 3
#define FIRST 0
#define OTHER 1
#define NONE 2

mtype = { FREE, LIVE, ENDED };

/* The records of the set in each lane, guarded by the lane's lock. */
bool locked[LANES];
bool in_lanes[LANES]; /* src/timers/record_set.hpp: "in_lanes[runtime::most_lanes];" */
byte epoch[LANES];    /* src/timers/record_set.hpp: "std::uint8_t epoch" */
bool closing[LANES];  /* src/timers/record_set.hpp: "bool closing" */

mtype state[RECORDS] = FREE;
byte lane_of[RECORDS] = NONE;
byte epoch_of[RECORDS];
bool armed[RECORDS];

/* Kept by an observer. */
byte moments;          /* of cancel_alls, so far */
byte born[RECORDS];    /* after so many of them */
bool is_freed;

inline lock(lane) {
    atomic { !locked[lane] -> locked[lane] = true }
}

inline unlock(lane) {
    atomic {
        assert(locked[lane]);
        locked[lane] = false
    }
}

/* --- cancel_all ----------------------------------------------------------------------------------- */

inline lock_others() {
#ifndef BREAK_CHANGES_WITH_THE_FIRST_LOCK_ONLY
    if                                  /* src/timers/record_set.cpp: "        if (&records != &first_of(set))" */
    :: in_lanes[OTHER] -> lock(OTHER)   /* src/timers/record_set.cpp: "            lock(*records.space);" */
    :: else
    fi
#else
    skip
#endif
}

inline unlock_others() {
#ifndef BREAK_CHANGES_WITH_THE_FIRST_LOCK_ONLY
    if
    :: in_lanes[OTHER] -> unlock(OTHER) /* src/timers/record_set.cpp: "            unlock(*records.space);" */
    :: else
    fi
#else
    skip
#endif
}

inline begin_cancel_all() {
    lock(FIRST);                        /* src/timers/record_set.cpp: "    record_lock lock(*first_of(set).space);" */
    own_epoch = epoch[FIRST] + 1;       /* src/timers/record_set.cpp: "epoch = (first_of(set).epoch + 1) & 0x7f;" */
    lock_others();
    atomic {
        epoch[FIRST] = own_epoch;       /* src/timers/record_set.cpp: "records.epoch = epoch;" */
        moments++
    }
#ifdef BREAK_CHANGES_ONE_LANE_AFTER_THE_OTHER
    unlock_others();
    unlock(FIRST);
    lock(FIRST);
    lock_others();
#endif
    if                                  /* src/timers/record_set.cpp: "for_each_lane(set, change);" */
    :: in_lanes[OTHER] -> epoch[OTHER] = own_epoch
    :: else
    fi;
    unlock_others();
    unlock(FIRST)
}

/* Releases the lock after each record. */
inline cancel_in(lane) {
    number = 0;
    do
    :: number < RECORDS ->
        atomic {
            !locked[lane] ->
            if                          /* src/timers/record_set.cpp: "is_in_use(timer) && is_older(" */
            :: lane_of[number] == lane && state[number] == LIVE && epoch_of[number] < own_epoch ->
                assert(born[number] < own_epoch);
                armed[number] = false;
                state[number] = ENDED
            :: else
            fi;
            number++
        }
    :: else -> break
    od;
    number = 0
}

#define must_have_ended(i) assert(state[i] != LIVE || born[i] >= own_epoch)

inline cancel_all() {
    begin_cancel_all();
    cancel_in(FIRST);                   /* src/timers/record_set.cpp: "here = cancel_all(records, epoch, visitor);" */
#ifndef BREAK_CANCELS_IN_THE_FIRST_LANE_ONLY
    if
    :: in_lanes[OTHER] -> cancel_in(OTHER)
    :: else
    fi;
#endif
    atomic {
        must_have_ended(0);
        must_have_ended(1);
        must_have_ended(2)
    }
}

inline close() {
    lock(FIRST);                        /* src/timers/record_set.cpp: "const record_guard lock(*first_of(*set).space);" */
    lock_others();
    closing[FIRST] = true;              /* src/timers/record_set.cpp: "records.closing = true;" */
    if
    :: in_lanes[OTHER] -> closing[OTHER] = true
    :: else
    fi;
    unlock_others();
    unlock(FIRST)
}

proctype canceller() {
    byte own_epoch, number;
    cancel_all()
}

proctype freer() {
    byte own_epoch, number;
    close();
    cancel_all();                       /* src/timers/record_set.cpp: "cancelled = cancel_all(*set, {});" */
    atomic {
        assert(state[0] != LIVE && state[1] != LIVE && state[2] != LIVE);
        is_freed = true                 /* src/timers/record_set.cpp: "    destroy(*set);" */
    }
}

/* --- starting ------------------------------------------------------------------------------------- */

/* The records are made, but no other thread can find them yet. */
inline open_in_lane() {
#ifdef BREAK_TAKES_THE_EPOCH_WITHOUT_THE_LOCK
    made_epoch = epoch[FIRST];
#endif
#ifndef BREAK_OPENS_WITHOUT_THE_LOCK
    lock(FIRST);                        /* src/timers/record_set.cpp: "// so that no epoch begins meanwhile" */
#endif
    if
    :: !in_lanes[OTHER] ->              /* src/timers/record_set.cpp: "std::memory_order_relaxed) == nullptr)" */
#ifdef BREAK_PUBLISHES_WITHOUT_THE_EPOCH
        in_lanes[OTHER] = true;
#endif
#ifndef BREAK_TAKES_THE_EPOCH_WITHOUT_THE_LOCK
        made_epoch = epoch[FIRST];
#endif
        epoch[OTHER] = made_epoch;      /* src/timers/record_set.cpp: "made->epoch = first_of(set).epoch;" */
#ifndef BREAK_OPENS_WHAT_IS_CLOSING
        closing[OTHER] = closing[FIRST]; /* src/timers/record_set.cpp: "made->closing = first_of(set).closing;" */
#endif
        in_lanes[OTHER] = true          /* src/timers/record_set.cpp: "in_lanes[lane].store(made," */
    :: else                             /* src/timers/record_set.cpp: "    close(*made);" */
    fi;
#ifndef BREAK_OPENS_WITHOUT_THE_LOCK
    unlock(FIRST);
#endif
    made_epoch = 0
}

inline records_in(lane) {
    if                                  /* src/timers/record_set.hpp: "= set.in_lanes[lane].load(" */
    :: in_lanes[lane]
    :: else -> open_in_lane()           /* src/timers/record_set.hpp: "found : open_in_lane(set, lane);" */
    fi
}

inline start(lane) {
    atomic {                            /* src/timers/record_start.cpp: "record_lock lock(*set.space);" */
        !locked[lane] ->
        if                              /* src/timers/record_start.cpp: "    if (set.closing)" */
        :: closing[lane]
        :: else ->
            assert(!is_freed);
            lane_of[me] = lane;
            epoch_of[me] = epoch[lane]; /* src/timers/record_start.cpp: "timer.epoch = set.epoch;" */
            born[me] = moments;
            armed[me] = true;
            state[me] = LIVE            /* src/timers/record_start.cpp: "timer.state = record_state::live;" */
        fi
    }
}

proctype starter(byte me) {
    byte made_epoch;
    if
    :: start(FIRST)
    :: records_in(OTHER); start(OTHER)
    fi
}

/* --- firing --------------------------------------------------------------------------------------- */

inline fire(i) {
    armed[i] = false;
    if                                  /* src/timers/record_life.cpp: "    if (is_cancelled(set, timer))" */
#ifndef BREAK_FIRES_WHAT_IS_CANCELLED
    :: epoch_of[i] != epoch[lane_of[i]] /* src/timers/record_life.hpp: "return timer.epoch != set.epoch;" */
#endif
    :: else ->
        assert(born[i] == moments);
        state[i] = ENDED
    fi
}

#define can_fire(i) (armed[i] && !locked[lane_of[i]])

proctype firing_thread() {
end:
    do
    :: atomic { can_fire(0) -> fire(0) }
    :: atomic { can_fire(1) -> fire(1) }
    :: atomic { can_fire(2) -> fire(2) }
    od
}

init {
    atomic {
        in_lanes[FIRST] = true;
        run firing_thread();
        run starter(0);
        run starter(1);
        run starter(2);
        run canceller();
        if
        :: run canceller()
        :: run freer()
        fi
    }
}

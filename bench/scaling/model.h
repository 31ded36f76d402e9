// Computes how many pairs of a stop and a start threads make in a second, each thread on a processor of its
// own: with one lock, and with lanes. All processors are as far from each other as the two that were
// measured.
//
// One lock is a queue with one server. A thread works outside the lock, waits for it, and holds it; the hold
// takes longer by a handover if another thread had the lock before. A pair takes the lock twice. The mean
// value analysis of such a closed queue is exact for random times. The model knows no convoys, so locks whose
// waiters sleep do worse; and no preference for the last holder, so the library's lock does better.
//
// With lanes a thread meets only the firing thread, which looks at each lane at most a few times in each
// turn, and the threads that stop timers of its lane.
#ifndef TICKWHEEL_BENCH_SCALING_MODEL_H
#define TICKWHEEL_BENCH_SCALING_MODEL_H

namespace bench::scaling {

// Times in nanoseconds.
struct Constants {
    double one_lane = 0;      // a pair on one thread, with one lane
    double lanes = 0;         // and with lanes
    double outside = 0;       // of a pair: without any lock held
    double journey = 0;       // of a line of the cache from one processor to another
    double lock_in_turn = 0;  // of a lock that two threads take in turn, and of the line that says whose turn

    // Assumed: lines that a hold reads and another thread wrote, besides the lock's own; turns a second; how
    // often the firing thread takes a lane's lock in a turn.
    double lines = 3, turns = 1000, looks = 3;
};

// A hold of the lock that another thread had before takes longer by this.
constexpr double handover_ns(const Constants &c) { return c.lock_in_turn - c.journey + c.lines * c.journey; }

// Millions of pairs a second with one lock.
constexpr double with_one_lock(const Constants &c, unsigned threads) {
    const double outside = c.outside / 2, foreign = static_cast<double>(threads - 1) / threads;
    const double hold = (c.one_lane - c.outside) / 2 + foreign * handover_ns(c);
    double waiting = 0, holds = 0;  // threads at the lock, and holds a nanosecond
    for (unsigned n = 1; n <= threads; ++n) {
        const double stay = hold * (1 + waiting);
        holds = n / (outside + stay);
        waiting = holds * stay;
    }
    return 1e3 * holds / 2;
}

// Millions of pairs a second with lanes. `foreign`: the share of timers that another thread stops than the
// one that started them. Each moves the lane's lines to that thread's processor, and the owner gets them
// back.
constexpr double with_lanes(const Constants &c, unsigned threads, double foreign) {
    const double others = static_cast<double>(threads - 1) / threads;
    const double pair = c.lanes + 2 * foreign * others * handover_ns(c);
    const double interrupted = 1e-9 * c.turns * c.looks * 2 * handover_ns(c);
    return 1e3 * threads * (1 - interrupted) / pair;
}

// The share of a processor that the firing thread needs to look at so many lanes.
constexpr double looks_of_firing_thread(const Constants &c, unsigned lanes) {
    return 1e-9 * c.turns * c.looks * lanes * handover_ns(c);
}

}  // namespace bench::scaling

#endif

// Lanes: the wheels of a timeline, each with its own lock, so that threads that start timers do not wait for
// each other. Each thread starts its timers by handle in a lane of its own, or shares one if there are more
// threads than lanes. A key's hash chooses its lane. A set with a capacity has one lane, that of the thread
// that makes the set. A timer stays in the lane where it was started.
//
// Lane 0 is the timeline's own wheel, and always exists; nodes are there. The others are made when first
// used, and freed with the runtime. A runtime with a wall timeline has only lane 0.
//
// One order (P3). Each timer has a place in the order of arming, which counts from a reading of the steady
// clock: a timer armed after another thread's timer has the later place, whatever their lanes, if the
// clock advanced between the two readings. On virtual time a counter takes the place of the clock. On a tick
// the firing thread goes to the lane with the first place, and fires there up to the first place of the
// others (advance_lanes).
//
// Any thread, except as noted.
#pragma once

#include <atomic>
#include <cstdint>

#include "clock.hpp"
#include "core/door.h"
#include "on_stack.hpp"

struct tw_runtime;

namespace tickwheel::runtime {

inline constexpr unsigned most_lanes = 64;  // also if the options leave the number open

// For tests: if not 0, the number of lanes of a runtime whose options leave it open; then the timers by
// handle of all runtimes take their lanes in turn, and sets with a capacity are in the last lane.
extern unsigned lanes_in_turn;

// Different threads write the parts between the gaps.
struct lane_table : tw_core_lanes {
    char cursor_line[64];                          // the firing thread often writes the cursor
    const clock_source *clock;                     // fixed, like the next two
    std::uint64_t serial;                          // no other table of this process has had this one; not 0
    unsigned limit;                                // how many lanes may be made
    std::atomic<std::uint64_t> made;               // bit n: lane n exists
    std::atomic<tw *> wheels[most_lanes];          // null until made
    mutable std::atomic<std::uint64_t> count;      // of arms on virtual time
    mutable std::atomic<std::uint64_t> rotations;  // of threads that share lanes, and for lanes_in_turn
    char touched_line[64];
    std::uint64_t touched;  // atomic: lanes where timers were armed during a turn for one of the turn's ticks
    struct attention {
        char line[64 - sizeof(tick) - sizeof(void *)];
        // The thread whose lane this is, known by the address of its own_lane; null: none.
        // When it has ended, a later thread that gets the address gets the lane.
        mutable std::atomic<const void *> user;
        tick next;  // atomic; see timeline
    } attention[most_lanes];
    // When the firing thread was last in a lane, and what tw_core_placed said then.
    struct visit {
        tick at;
        std::uint32_t placed;
    } visits[most_lanes];
};

// Sets up lane 0 of a timeline that may have `limit` lanes.
void open_lanes(lane_table &lanes, tw &wheel, const clock_source &clock, unsigned limit);
void free_lanes(lane_table &lanes);

// The number of lanes for the timers with keys.
unsigned lanes_for_keys(const lane_table &lanes);

// Makes a lane of the steady timeline, unless it exists. Returns 0 or -ENOMEM.
int make_lane(tw_runtime &rt, unsigned number);

// The lane of this thread in the runtime where it used its lane last.
struct used_lane {
    std::uint64_t of;  // the table's serial; 0: none
    unsigned number;
};
extern constinit TW_THREAD_LOCAL used_lane own_lane;

// Finds the lane of this thread, or takes or shares one, and sets own_lane.
[[gnu::cold]] unsigned find_own_lane(const lane_table &lanes);

// The lane for a timer that this thread starts: its own, unless the lanes take turns.
[[gnu::cold]] unsigned find_lane_for_start(const lane_table &lanes);

inline tick next_of(const lane_table &lanes, unsigned number) {
    return __atomic_load_n(&lanes.attention[number].next, __ATOMIC_SEQ_CST);
}

// The moment of a call that has just read the steady clock; see tw_core_join_lanes.
inline std::uint64_t moment_at(const lane_table &lanes, std::int64_t reading) {
    if (lanes.limit == 1)
        return 0;
    if (lanes.clock->is_virtual()) [[unlikely]]
        return lanes.count.fetch_add(1, std::memory_order_relaxed) << 16;
    return static_cast<std::uint64_t>(reading);
}
inline std::uint64_t moment_now(const lane_table &lanes) {
    return lanes.limit == 1 ? 0 : moment_at(lanes, lanes.clock->read());
}

// Calls what(wheel, number) for each lane of this set that exists.
template <class Do> void for_each_lane(const lane_table &lanes, std::uint64_t set, Do what) {
    for (set &= lanes.made.load(); set != 0; set &= set - 1) {
        const auto number = static_cast<unsigned>(__builtin_ctzll(set));
        what(*lanes.wheels[number].load(std::memory_order_relaxed), number);
    }
}
template <class Do> void for_each_lane(const lane_table &lanes, Do what) {
    for_each_lane(lanes, ~std::uint64_t{0}, what);
}

// The firing thread: fires the due timers of all lanes, as tw_advance does on one wheel, and sets the `next`
// of each lane. Returns 0 or 1.
int advance_lanes(lane_table &lanes, tick present, std::uint32_t budget);

}  // namespace tickwheel::runtime

// See lanes.hpp.
#include "lanes.hpp"

#include <unistd.h>

#include <cassert>
#include <cstdlib>

#include "base/numbers.hpp"
#include "state.hpp"
#include "turn.hpp"

namespace tickwheel::runtime {

constinit TW_THREAD_LOCAL used_lane own_lane = {};
constinit unsigned lanes_in_turn = 0;

namespace {

std::uint64_t read_moment(const tw_core_lanes *lanes) {
    return moment_now(*static_cast<const lane_table *>(lanes));
}

// True if the lane is this thread's, or was free and now is.
bool claim(const void *thread, std::atomic<const void *> &user) {
    const void *found = user.load(std::memory_order_relaxed);
    if (found == nullptr && user.compare_exchange_strong(found, thread, std::memory_order_relaxed))
        return true;
    return found == thread;
}

unsigned rotate(const lane_table &lanes, unsigned count) {
    return static_cast<unsigned>(lanes.rotations.fetch_add(1, std::memory_order_relaxed) % count);
}

}  // namespace

// Four for each processor, so that two threads seldom need the same lane at a time. A processor that the
// process may not use now may be permitted later.
unsigned lanes_for_keys(const lane_table &lanes) {
    const long processors = sysconf(_SC_NPROCESSORS_CONF);
    const bool is_few = processors > 0 && processors < long{most_lanes / 4};
    return base::smaller(is_few ? 4 * static_cast<unsigned>(processors) : most_lanes, lanes.limit);
}

void open_lanes(lane_table &lanes, tw &wheel, const clock_source &clock, unsigned limit) {
    static constinit std::atomic<std::uint64_t> tables{0};
    lanes.clock = &clock;
    lanes.serial = 1 + tables.fetch_add(1, std::memory_order_relaxed);
    lanes.limit = limit;
    lanes.made.store(1, std::memory_order_relaxed);
    lanes.wheels[0].store(&wheel, std::memory_order_relaxed);
    for (auto &each : lanes.attention)
        each.next = never;
    lanes.moment = read_moment;
    lanes.cursor = tw_now(&wheel);
    if (limit != 1)
        tw_core_join_lanes(&wheel, &lanes);
}

void free_lanes(lane_table &lanes) {
    for_each_lane(lanes, ~std::uint64_t{1}, [](tw &wheel, unsigned) {
        TW_CHECKS(wheel_ends(&wheel));
        std::free(&wheel);
    });
}

// The components' mutex keeps forks out, and another thread that makes the same lane.
int make_lane(tw_runtime &rt, unsigned number) {
    lane_table &lanes = rt.steady.lanes;
    assert(number < lanes.limit);
    if (lanes.wheels[number].load(std::memory_order_relaxed) != nullptr)
        return 0;
    auto *const wheel = static_cast<tw *>(std::calloc(1, sizeof(tw)));
    if (wheel == nullptr)
        return -ENOMEM;
    tw_port_hide(wheel, sizeof *wheel);
    const base::mutex_hold hold(&rt.components_mutex);
    if (lanes.wheels[number].load(std::memory_order_relaxed) != nullptr) {
        std::free(wheel);
        return 0;
    }
    tw_init(wheel, __atomic_load_n(&lanes.cursor, __ATOMIC_RELAXED), 0);
    TW_CHECKS(wheel_lasts(wheel));
    tw_core_join_lanes(wheel, &lanes);
    measure_fires(rt, *wheel);
    lanes.wheels[number].store(wheel, std::memory_order_release);
    lanes.made.fetch_or(std::uint64_t{1} << number);
    if (rt.stopping)
        tw_core_interrupt(wheel);  // the stop may have come too early to see the lane
    return 0;
}

unsigned find_own_lane(const lane_table &lanes) {
    const unsigned limit = lanes.limit;
    if (limit == 1)
        return 0;
    if (lanes_in_turn != 0)
        return limit - 1;
    if (own_lane.of == lanes.serial)  // a thread that shares a lane stays there
        return own_lane.number;
    const void *const self = &own_lane;
    unsigned number = 0;
    while (number != limit && !claim(self, lanes.attention[number].user))
        ++number;
    if (number == limit)  // shares one, but not lane 0, which has the nodes
        number = 1 + rotate(lanes, limit - 1);
    own_lane = {lanes.serial, number};
    return number;
}

unsigned find_lane_for_start(const lane_table &lanes) {
    return lanes_in_turn != 0 ? rotate(lanes, lanes.limit) : find_own_lane(lanes);
}

// --- firing --------------------------------------------------------------------------------

namespace {

bool is_before(const tw_core_place &a, const tw_core_place &b) {
    return a.tick != b.tick ? a.tick < b.tick : a.order < b.order;
}

// One advance of all lanes.
class lanes_advance {
  public:
    lanes_advance(lane_table &lanes, tick present, std::uint32_t budget)
        : lanes_(lanes), present_(present), budget_(budget) {
        for (tw_core_place &each : places_)
            each = none;
    }

    // Goes back to the first step if timers come in for this advance during the second.
    int run() {
        for_each_lane(lanes_, [&](tw &wheel, unsigned number) {
            if (next_of(lanes_, number) <= present_ || may_need_look_ahead(wheel, lanes_.visits[number]))
                visit(number);
        });
        do
            if (!fire_all() || !end_all())
                return 1;
        while (is_any_touched());
        __atomic_store_n(&lanes_.cursor, present_, __ATOMIC_RELAXED);
        return 0;
    }

  private:
    static constexpr tw_core_place none = {never, 0}, unknown = {0, 0}, whole = {never, UINT64_MAX};

    bool is_any_touched() const { return __atomic_load_n(&lanes_.touched, __ATOMIC_RELAXED) != 0; }

    bool advance(tw &wheel, unsigned number, const tw_core_place &last) {
        tw_core_part part = {none, &lanes_.attention[number].next};
        const int left = tw_core_advance_part(&wheel, present_, &last, &lanes_.touched, &budget_, &part);
        places_[number] = part.next;
        return left == 0;
    }

    // Looks again at the lanes where timers were armed meanwhile.
    void note_touched() {
        if (is_any_touched())
            for_each_lane(lanes_, __atomic_exchange_n(&lanes_.touched, 0, __ATOMIC_ACQ_REL),
                          [&](tw &, unsigned number) { visit(number); });
    }

    // The `next` of a lane does not know of timers that were placed above level 0 meanwhile, and may need
    // look-ahead. A few do not matter, and many begin to need it more than so many ticks ahead. A lane that a
    // thread holds can wait for some ticks: the thread may be preempted, and timers of other lanes may be
    // due.
    bool may_need_look_ahead(tw &wheel, const lane_table::visit &last) const {
        constexpr std::uint32_t few = 32, often = 16, at_last = 128;
        const tick since = present_ - last.at;
        return since >= often && tw_core_placed(&wheel) - last.placed > few &&
               (since >= at_last || tw_core_is_busy(&wheel) == 0);
    }

    void visit(unsigned number) {
        places_[number] = unknown;
        visited_ |= std::uint64_t{1} << number;
    }

    // Fires up to the present. Returns false if the budget is used up, or the runtime is interrupted.
    bool fire_all() {
        for (;;) {
            note_touched();
            unsigned first = 0;
            tw_core_place second = none;
            for_each_lane(lanes_, visited_, [&](tw &, unsigned number) {
                if (number != 0 && is_before(places_[number], places_[first])) {
                    second = places_[first];
                    first = number;
                } else if (number != first && is_before(places_[number], second)) {
                    second = places_[number];
                }
            });
            if (places_[first].tick == never)
                return true;
            if (!advance(*lanes_.wheels[first].load(std::memory_order_relaxed), first, second))
                return false;
        }
    }

    // Lets each visited lane know that it has come to the present.
    bool end_all() {
        bool is_done = true;
        for_each_lane(lanes_, visited_, [&](tw &wheel, unsigned number) {
            lanes_.visits[number] = {present_, tw_core_placed(&wheel)};
            is_done = is_done && advance(wheel, number, whole);
        });
        return is_done;
    }

    lane_table &lanes_;
    const tick present_;
    std::uint32_t budget_;
    std::uint64_t visited_ = 0;  // the lanes that take part
    tw_core_place places_[most_lanes] = {};
};

}  // namespace

int advance_lanes(lane_table &lanes, tick present, std::uint32_t budget) {
    if (lanes.limit != 1)
        return lanes_advance(lanes, present, budget).run();
    tw &wheel = *lanes.wheels[0].load(std::memory_order_relaxed);
    const int left = tw_advance(&wheel, present, budget);
    tw_core_publish_next(&wheel, &lanes.attention[0].next);
    return left;
}

}  // namespace tickwheel::runtime

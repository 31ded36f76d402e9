// The wheel: the part that both engines share. Manages the states of nodes.
//
// No lock, no clock, no callback. The wheel owns its nodes' states while they are pending. A step moves at
// most one node, or as many as its argument permits, so that callers can release their lock between two steps
// (P8).
//
// The Engine (slot_engine.hpp, tree_engine.hpp) keeps time, and places each node by its tick:
//
//     init, go_to             start an empty wheel at a tick
//     place, take             a node, by its tick; place puts it behind all others of that tick (P3)
//     check_in_walk           stops the program if the links of the next node of a walk are broken
//     can_go_to, begin_advance    start an advance to a later tick
//     look, due_node          the next step towards that tick, and the due node
//     move_some               makes a step that moves timers; only if nodes_move (bounds.hpp)
//     pass_quietly            all of these at once, if there is nothing to do
//     begin_share, look_ahead, end_share, begin_idle    move timers early; only if nodes_move
//     next, first             when the wheel will have work; a node that fires first
//     cheapest                the tick in a range for which arming costs least
//     begin_cancel_all, next_leaving, end_cancel_all    take all nodes off at once
//     first_cancel_all        the tw_cancel_all calls under way
//     abandon_cancel_alls     forgets those of other threads (P13)
//     timers                  the number of pending timers
//
// For the runtime, slots also hold records, shift all timers and drop the places of walks; see lowering.hpp
// and record_placement.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bounds.hpp"
#include "features.hpp"
#include "periodic.hpp"
#include "wheel_state.hpp"

namespace tickwheel::core {
namespace {

template <class Engine> class wheel : public Engine {
  public:
    using Engine::count, Engine::due, Engine::now, Engine::overruns, Engine::place, Engine::rearm,
        Engine::running, Engine::take;
#if TW_RUNTIME
    using Engine::fires_record, Engine::parts;
#endif

    // --- arming ----------------------------------------------------------------------

    // These arm a node, or move a pending one: last among the nodes of its tick (P3).

    TW_INLINE_ALWAYS void arm_once(tw_node &node, tick to) {
        node.period = 0;
        node.expiry = to;
        arm(node);
    }

#if TW_RUNTIME
    // The same, and the node remembers a delay, as delay + 1: a period of 0 says that there is none.
    TW_INLINE_ALWAYS void arm_once_with_delay(tw_node &node, tick to, tick delay) {
        node.period = delay + 1;
        node.part = TW_CORE_ONCE;
        node.expiry = to;
        arm(node);
    }
#endif

    // The first call that arms a periodic node sets the rule for all of them, so that a program without
    // periodic timers does not link the rule.
    TW_INLINE_IF_SMALL void arm_every(tw_node &node, tick first, const series &next) {
        if (TW_RUNTIME == 0 || rearm == nullptr)
            rearm = rearm_in_ticks;
        make_periodic(node, next);
        node.expiry = first;
        arm(node);
    }

#if TW_RUNTIME
    // All grids of a wheel count in the same parts of a tick.
    bool accepts_parts(std::uint32_t of_grid) const { return parts == 0 || parts == of_grid; }

    // REQUIRES: accepts_parts(of_grid)
    void arm_grid(tw_node &node, tick first, const series &next, std::uint32_t early, std::uint32_t of_grid) {
        TW_ASSERT(accepts_parts(of_grid));
        parts = of_grid;
        rearm = rearm_in_parts;
        make_periodic(node, next);
        node.part = 1 + early;
        node.expiry = first;
        arm(node);
    }
#endif

    // Moves a pending node to another tick; its later fires move with it.
    void move(tw_node &node, tick to) {
        TW_ASSERT_OF(node, is_pending(node));
        begin_grid(node);
        node.expiry = to;
        arm(node);
    }

    // Does nothing unless `to` is later than the node's tick. In slots the node stays where it is, and moves
    // on when its slot opens: cheap for timeouts that are nearly always extended.
    void postpone(tw_node &node, tick to) {
        TW_ASSERT_OF(node, is_pending(node));
        if (!before_seen_from(now, node.expiry, to))
            return;
        if (!nodes_move) {
            move(node, to);
            return;
        }
        node.expiry = to;
        begin_grid(node);
        TW_CHECKS(pending(&node));
    }

    // Returns 1 if the node was pending, otherwise 0.
    TW_ONE_COPY int disarm(tw_node &node) {
        if (!is_pending(node))
            return 0;
        TW_CHECKS(kept(&node));
        remove(node);
        TW_CHECKS(idle(&node));
        return 1;
    }

    // Replaces *first by the cheapest future tick in [*first, *first + slack], or by the last tick of this
    // window if the window is in the past. Returns false and changes nothing if the window is not in_range.
    bool choose(tick *first, tick slack) const {
        if (!in_range(now, *first, slack))
            return false;
        const tick last = *first + slack;
        if (all_compare || before(now, last))
            *first = this->cheapest(before(now, *first) ? *first : now + 1, last);
        else
            *first = last;
        return true;
    }

    // --- cancel_all: all nodes leave their places at once, and the wheel one by one ----------

    // Disarms the next node to leave. Null if none is left.
    TW_INLINE_IF_SMALL tw_node *take_leaving() {
        tw_node *const node = this->next_leaving();
        if (node != nullptr) {
            check_at_end(*node);
            disarm(*node);
        }
        return node;
    }

#if TW_RUNTIME
    // --- counting -------------------------------------------------------------------

    void count_cancelled(unsigned label, std::uint64_t fires) { cancelled_[label] += fires; }
    std::uint64_t cancelled(unsigned label) const { return cancelled_[label]; }

    // Makes all pending timers due `by` ticks later, and the running callback's tick later by as much; see
    // lowering::begin_shift.
    void begin_shift(tick by) {
        Engine::begin_shift(by);
        if (this->is_in_callback())
            due = later(due, by);
    }
#endif

    // --- firing ----------------------------------------------------------------------

    // Takes out the due node, and makes it the running one. Arms a periodic node again before its callback
    // runs, so that the callback may cancel, move or free it (P7). REQUIRES: look() has just said that a node
    // fires
    TW_INLINE_IF_SMALL tw_node &take_due() {
        tw_node &node = this->due_node();
        TW_CHECKS(kept(&node));
        TW_ASSERT_OF(node, is_pending(node));
        check_at_end(node);
        remove(node);
        running = &node;
        due = node.expiry;
        if (!is_small)
            overruns = 0;
        if (is_periodic(node) && rearm(*this, node)) {
            this->begin_present_order();
            arm(node);
        } else {
            TW_CHECKS(idle(&node));
        }
        return node;
    }

#if TW_RUNTIME
    // The same for a record. REQUIRES: look() has just said that a record fires
    auto &take_due_record() {
        auto &record = Engine::take_due_record();
        fires_record = true;
        due = this->logs().due_of(record);
        overruns = 0;
        return record;
    }
#endif

  private:
    static bool rearm_in_ticks(wheel_state &w, tw_node &node) {
        return set_to_next(node, w.now, &w.overruns);
    }
#if TW_RUNTIME
    static bool rearm_in_parts(wheel_state &w, tw_node &node) {
        return set_to_next_on_grid(node, w.parts, w.now, &w.overruns);
    }
#endif

    // Checks a node that leaves because a walk has reached it. Matching links do not prove that the node is
    // intact: when both neighbours of an overwritten node leave, they write matching links into it.
    void check_at_end(const tw_node &node) {
        this->check_in_walk(node);
        if (unlikely(links_are_checked && !names(node, address_in(this->self))))  // as TW_ASSERT
            stop("it is not of this wheel: it was overwritten or freed while it was pending", &node);
    }

    TW_INLINE_IF_FAST void remove(tw_node &node) {
        TW_ASSERT_OF(node, count != 0);
        take(node);
        node.state = TW_IDLE;
        --count;
    }

    // Places a node at its expiry, behind all others of that tick. REQUIRES: the node's period is set
    TW_INLINE_IF_FAST void arm(tw_node &node) {
        if (has_room && is_pending(node)) {
            arm_again(node);
            return;
        }
        if (is_pending(node)) {
            take(node);
        } else {
            ++count;
            node.state = TW_PENDING;
        }
        this->set_order(node);
        place(node);
        TW_CHECKS(pending(&node));
    }

    // `arm` for a pending node.
    TW_APART_IF_FAST void arm_again(tw_node &node) {
        take(node);
        this->set_order(node);
        place(node);
        TW_CHECKS(pending(&node));
    }

#if TW_RUNTIME
    std::uint64_t cancelled_[TW_LABELS];  // by label
#endif
};

}  // namespace
}  // namespace tickwheel::core

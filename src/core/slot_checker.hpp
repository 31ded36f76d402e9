// Walks a whole wheel and reports each broken invariant; see slots.hpp, placement.hpp and record_logs.hpp.
// For tests, and for programs that suspect memory corruption.
#pragma once

#include "api_guard.hpp"
#include "broken.hpp"
#include "log_checker.hpp"
#include "slot_engine.hpp"

namespace tickwheel::core {
namespace {

template <class Shape> class slot_checker : private broken_invariants {
  public:
    slot_checker(const slot_engine<Shape> &w, const tw *owner, tw_report *report, void *arg)
        : broken_invariants(report, arg), w_(w), owner_(owner) {}

    int run() {
        check_time();
        check_ring(w_.leaving, nullptr);
#if TW_RUNTIME
        check_ring(w_.shifting, nullptr);
#endif
        for (unsigned level = 0; level <= Shape::top; ++level)
            for (unsigned index = 0; index < Shape::width(level); ++index)
                check_near(level, index);
        for (unsigned slot = Shape::near_slots; slot < Shape::slots; ++slot)
            check_slot(slot, opening_of_far(slot));
        expect(found_ == w_.count, "count is the number of pending nodes", nullptr);
#if TW_RUNTIME
        expect(found_places_ == w_.places, "places is the number of places of walks", nullptr);
        if (logs_.exist())
            logs_.check_whole();
#endif
        return broken_invariants::count();
    }

  private:
    // A slot, and how far ahead of the cursor it opens next; 0 if it is open.
    struct slot_opening {
        unsigned slot;
        tick opening;
    };

    void check_time() {
        expect(!before(w_.cursor, w_.origin), "the origin is not after the cursor", nullptr);
        expect(w_.open_level != 0 || w_.cursor == w_.origin, "origin is cursor unless a slot is open",
               nullptr);
        expect(!before(w_.now, w_.cursor), "the cursor is not ahead of now", nullptr);
        expect(is_tick(w_.now), "now is a tick", nullptr);
        expect(!is_quiet() || (w_.open_level == 0 && w_.cursor == w_.now), "a quiet wheel has caught up",
               nullptr);
    }

    bool is_quiet() const { return before(w_.now, w_.quiet_until); }

    tick opening_of(unsigned level, unsigned index) const {
        const unsigned on = (index - Shape::index(level, w_.here())) & (Shape::width(level) - 1);
        if (on != 0)
            return (on - 1) * Shape::span(level) + Shape::until_next(level, w_.here());
        const bool is_open = level <= w_.open_level;
        return is_open ? 0
                       : (Shape::width(level) - 1) * Shape::span(level) + Shape::until_next(level, w_.here());
    }

    tick opening_of_far(unsigned slot) const {
        const bool is_open = w_.open_level == Shape::far && slot == Shape::far_slot(w_.cursor ^ w_.origin);
        return is_open ? 0 : w_.opening_of_far(slot);
    }

    void check_near(unsigned level, unsigned index) {
        const tick opening = opening_of(level, index);
        if (!check_slot(Shape::first_slot(level) + index, opening))
            return;
        const tick next_block = Shape::ahead ? Shape::span(level + 1) : 0;
        const tick end = Shape::until_next(level + 1, w_.here()) + next_block;
        expect(opening < end, "timers stand in the running or the next block", nullptr);
    }

    // Returns true if the slot holds timers; the cursor may pass one that holds only places of walks.
    bool check_slot(unsigned slot, tick opening) {
        const slot_opening where = {slot, opening};
        const std::size_t found_before = found_;
        const std::uint32_t places_before = found_places_;
        check_ring(w_.slots.rings[slot], &where);
        bool is_busy = found_ != found_before;
        bool has_timers = found_ - found_before != found_places_ - places_before;
#if TW_RUNTIME
        const bool has_entries = logs_.exist() && logs_.check_slot(slot, opening);
        is_busy = has_entries || is_busy;
        has_timers = has_entries || has_timers;
#endif
        expect(w_.slots.busy.test(slot) == is_busy, "a slot's bit says whether it holds timers", nullptr);
        expect(!is_busy || !is_quiet() || opening >= w_.quiet_until - w_.cursor,
               "no slot opens while the wheel is quiet", nullptr);
        return has_timers;
    }

    // Checks the links and the nodes of a ring. `where` is null for a ring outside the slots.
    void check_ring(const tw_link &ring, const slot_opening *where) {
        const tw_link *last = &ring;
        for (const tw_link *link = ring.next; link != &ring; link = link->next) {
            if (link == nullptr || link->prev != last) {
                expect(false, "the links of a ring agree", node_at(link == nullptr ? last : link, ring));
                return;
            }
            last = link;
            ++found_;
            check_node(node_of(*link), where);
        }
        expect(ring.prev == last, "the links of a ring agree", node_at(last, ring));
    }

    // The node of a link; null for the head of the ring.
    static const tw_node *node_at(const tw_link *link, const tw_link &ring) {
        return link == &ring ? nullptr : &node_of(*link);
    }

    void check_node(const tw_node &node, const slot_opening *where) {
        if (is_place(node)) {
            ++found_places_;
            return;
        }
        expect(node.state == TW_PENDING, "a node in a ring is pending", &node);
        expect(names(node, owner_), "a pending node names its wheel", &node);
        expect(node.fn != nullptr, "a pending node has a callback", &node);
        expect(is_tick(node.expiry), "a pending node has a tick", &node);
        if (where == nullptr)
            return;
        const tick due_in = w_.distance_to(w_.tick_for(node));
        expect(due_in >= where->opening, "no slot opens after a node in it is due", &node);
    }

    const slot_engine<Shape> &w_;
    const tw *owner_;
    std::size_t found_ = 0;
    std::uint32_t found_places_ = 0;
#if TW_RUNTIME
    log_checker<Shape> logs_{w_, *this};
#endif
};

template <class Shape> int check(const slot_engine<Shape> &w, const tw *owner, tw_report *report, void *arg) {
    return slot_checker<Shape>(w, owner, report, arg).run();
}

}  // namespace
}  // namespace tickwheel::core

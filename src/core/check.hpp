// Walks a whole wheel and names each invariant that does not hold.
#pragma once

#include "edge.hpp"
#include "wheel.hpp"

namespace tickwheel::core {

template <class G> class checker {
  public:
    checker(const wheel<G> &w, const tw *owner, tw_report *report, void *arg)
        : w_(w), owner_(owner), report_(report), arg_(arg) {}

    int run() {
        check_time();
        check_ring(w_.leaving, nullptr);
        for (unsigned level = 0; level <= G::top; ++level)
            for (unsigned index = 0; index < G::width(level); ++index)
                check_slot(level, index);
        expect(found_ == w_.count, "count is the number of pending nodes", nullptr);
        check_mark();
        return broken_;
    }

  private:
    // A slot, and how far ahead of the cursor it opens next; 0: it is open.
    struct place {
        unsigned level;
        unsigned slot;
        tick opening;
    };

    void expect(bool holds, const char *invariant, const tw_node *node) {
        if (holds)
            return;
        ++broken_;
        if (report_ != nullptr)
            report_(invariant, node, arg_);
    }

    void check_time() {
        expect(!before(w_.cursor, w_.settled), "no slot is counted from after the cursor", nullptr);
        expect(w_.opened != 0 || w_.cursor == w_.settled, "slots are counted from the cursor", nullptr);
        expect(!before(w_.now, w_.cursor), "the cursor is not ahead of now", nullptr);
        expect(is_tick(w_.now), "now is a tick", nullptr);
        expect(!is_quiet() || (w_.opened == 0 && w_.cursor == w_.now), "a quiet wheel has caught up",
               nullptr);
    }

    bool is_quiet() const { return before(w_.now, w_.quiet_until); }

    tick opening_of(unsigned level, unsigned index) const {
        const unsigned on = (index - G::index(level, G::low(w_.cursor))) & (G::width(level) - 1);
        if (on != 0)
            return (on - 1) * G::span(level) + G::until_next(level, G::low(w_.cursor));
        const bool is_open = level == 0 || level <= w_.opened;
        return is_open ? 0 : (G::width(level) - 1) * G::span(level) + G::until_next(level, G::low(w_.cursor));
    }

    void check_slot(unsigned level, unsigned index) {
        const place where = {level, G::first_slot(level) + index, opening_of(level, index)};
        const std::size_t found_before = found_;
        check_ring(w_.slots.rings[where.slot], &where);
        if (found_ == found_before)
            return;
        expect(w_.slots.busy.test(where.slot), "a slot with nodes has its bit set", nullptr);
        expect(!is_quiet() || where.opening >= w_.quiet_until - w_.cursor,
               "no slot opens while the wheel is quiet", nullptr);
        if (level == G::top)
            return;
        const tick block = G::span(level + 1);
        const tick end = G::until_next(level + 1, G::low(w_.cursor)) + (G::ahead ? block : 0);
        expect(where.opening < end, "nodes stand in the running or the next block", nullptr);
    }

    // One ring: its links, and each of its nodes. `where` is null for those that leave.
    void check_ring(const tw_link &ring, const place *where) {
        const tw_link *last = &ring;
        for (const tw_link *link = ring.next; link != &ring; link = link->next) {
            if (link == nullptr || link->prev != last) {
                expect(false, "the links of a ring agree", nullptr);
                return;
            }
            last = link;
            if (link == &w_.slots.mark) {
                mark_found_in_ = where == nullptr ? nowhere : where->slot;
                continue;
            }
            if (++found_ > w_.count)  // also keeps a ring that closed too early from being walked for ever
                return;
            check_node(node_of(*link), where);
        }
        expect(ring.prev == last, "the links of a ring agree", nullptr);
    }

    void check_node(const tw_node &node, const place *where) {
        expect(node.state == TW_PENDING, "a node in a ring is pending", &node);
        expect(names(node, owner_), "a pending node names its wheel", &node);
        expect(node.fn != nullptr, "a pending node has a callback", &node);
        expect(is_tick(node.expiry), "a pending node has a tick", &node);
        if (where == nullptr)
            return;
        const tick due_in = w_.way_to(node.expiry);
        expect(due_in >= where->opening, "no slot opens after a node in it is due", &node);
        const bool was_passed = where->slot == w_.slots.marked && mark_found_in_ != where->slot;
        if (G::ahead && was_passed && w_.opened == 0)
            expect(due_in >= where->opening + G::span(G::top),
                   "a node that the look-ahead passed belongs to a later round", &node);
    }

    void check_mark() {
        expect(mark_found_in_ == w_.slots.marked, "the mark stands where it is said to", nullptr);
        expect(w_.opened != 0 || w_.slots.marked == w_.place_of_mark(),
               "the mark is in the top-level slot that opens next", nullptr);
    }

    static constexpr unsigned nowhere = ~0u;

    const wheel<G> &w_;
    const tw *owner_;
    tw_report *report_;
    void *arg_;
    int broken_ = 0;
    std::size_t found_ = 0;
    unsigned mark_found_in_ = nowhere;
};

}  // namespace tickwheel::core

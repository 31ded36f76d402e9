// Walks a whole wheel and names each invariant that does not hold.
#pragma once

#include "wheel.hpp"

namespace tickwheel::core {

template <class G> class checker {
  public:
    checker(const wheel<G> &w, const tw *owner, tw_report *report, void *arg)
        : w_(w), owner_(owner), report_(report), arg_(arg) {}

    int run() {
        check_time();
        check_ring(w_.due, nullptr);
        check_ring(w_.leaving, nullptr);
        for (unsigned level = 0; level <= G::top; ++level)
            for (unsigned index = 0; index < G::width(level); ++index)
                check_slot(level, index);
        expect(found_ == w_.count, "count is the number of pending nodes", nullptr);
        check_mark();
        return broken_;
    }

  private:
    // A slot, and the tick at which it opens next.
    struct place {
        unsigned level;
        unsigned slot;
        unsigned distance;
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
        expect(w_.settled <= w_.cursor, "no slot is counted from after the cursor", nullptr);
        expect(w_.cursor <= w_.now, "the cursor is not ahead of now", nullptr);
        expect(w_.now != never, "now is a tick", nullptr);
    }

    void check_slot(unsigned level, unsigned index) {
        const unsigned slot = G::first_slot(level) + index;
        const unsigned distance = (index - G::index(level, w_.cursor)) & (G::width(level) - 1);
        const tick opening = (G::block(level, w_.cursor) + distance) << G::shift(level);
        const place where = {level, slot, distance, opening};
        const std::size_t before = found_;
        check_ring(w_.slots.rings[slot], &where);
        if (found_ == before)
            return;
        expect(w_.slots.busy.test(slot), "a slot with nodes has its bit set", nullptr);
        if (level < G::top) {
            const bool open = w_.cursor == w_.settled && distance == 0;
            expect(!open, "a slot that has opened is empty", nullptr);
            const tick ahead = G::block(level + 1, opening) - G::block(level + 1, w_.cursor);
            expect(ahead <= (G::ahead ? 1 : 0), "nodes stand in the running or the next block", nullptr);
        }
    }

    // One ring: its links, and each of its nodes. `where` is null for due and leaving.
    void check_ring(const tw_link &ring, const place *where) {
        const tw_link *last = &ring;
        for (const tw_link *link = ring.next; link != &ring; link = link->next) {
            if (link == nullptr || link->prev != last) {
                expect(false, "the links of a ring agree", nullptr);
                return;
            }
            last = link;
            if (link == &w_.slots.mark) {
                mark_found_in_ = where == nullptr ? levels<G>::no_slot : where->slot;
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
        expect(node.wheel == owner_, "a pending node names its wheel", &node);
        expect(node.fn != nullptr, "a pending node has a callback", &node);
        expect(node.expiry != never, "a pending node has a tick", &node);
        if (where == nullptr)
            return;
        const bool is_open = where->distance == 0 && w_.cursor != w_.settled;
        const bool in_time = where->level == G::top && G::slot(G::top, node.expiry) == where->slot
                                 ? node.expiry > w_.cursor
                                 : node.expiry >= where->opening;
        expect(is_open || in_time, "no slot opens after a node in it is due", &node);
        if (where->slot == w_.slots.marked && mark_found_in_ != where->slot && G::ahead &&
            w_.cursor == w_.settled)
            expect(G::block(G::top, node.expiry) > G::block(G::top, where->opening),
                   "a node that the look-ahead passed belongs to a later round", &node);
    }

    void check_mark() {
        expect(mark_found_in_ == w_.slots.marked, "the mark stands where it is said to", nullptr);
        if (w_.cursor != w_.settled)
            return;
        const tick next_block = G::block(G::top, w_.cursor) + 1;
        const unsigned next_slot = G::slot(G::top, next_block << G::shift(G::top));
        expect(w_.slots.marked == (G::ahead ? next_slot : levels<G>::no_slot),
               "the mark is in the top-level slot that opens next", nullptr);
    }

    const wheel<G> &w_;
    const tw *owner_;
    tw_report *report_;
    void *arg_;
    int broken_ = 0;
    std::size_t found_ = 0;
    unsigned mark_found_in_ = levels<G>::no_slot;
};

}  // namespace tickwheel::core

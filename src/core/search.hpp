// Searches for the earliest tick at which a slot opens, look-ahead must begin, or a timer is due. Only reads.
#pragma once

#include "placement.hpp"

namespace tickwheel::core {
namespace {

// One search, from the cursor outwards. Distances are counted from the cursor.
//
// A slot only guarantees that its timers are not due before it opens; to find their ticks, the search must
// look at them. That is worth it for a few timers and too much for many (P8), so the search has a limited
// number of looks. When it has spent them, it returns the tick at which the slot opens or look-ahead into it
// must begin, which is never too late, but may be too early.
template <class Shape> class search {
    using digits = typename Shape::digits;

  public:
    // `near_lead` is the lead into near slots; 0 if look-ahead does not matter.
    search(const placement<Shape> &at, std::uint32_t looks, digits near_lead, tick limit = never)
        : best_(limit), at_(at), looks_(looks), near_lead_(near_lead) {}

    // From now on the search is for a tick to go to, and must not pass a slot with timers: a node that was
    // postponed out of its slot, and any entry of a record, counts with the opening of its slot.
    void for_opening() { for_opening_ = true; }

#if TW_RUNTIME
    // Call after run(): the node whose tick is the result. Null if there is none, or if the search might have
    // found an earlier one with more looks.
    tw_node *first() const { return is_exact_ ? first_ : nullptr; }
#endif

    // Searches the slots after the cursor's, from the lowest level up, and returns the distance to the
    // earliest tick, at most `limit`. Slots of one level open in order, and the slots of a higher level open
    // after the end of the block below it, so the search ends as soon as the best result lies before all
    // remaining slots.
    tick run() {
        const digits here = at_.here();
        for (unsigned level = 0; level <= Shape::top; ++level) {
            unsigned last = Shape::width(level) - 1;
            if (level == 0 && best_ < last)
                last = static_cast<unsigned>(best_);
            for (unsigned on = 0; (on = at_.slots.next_busy(level, here, on, last)) != 0;) {
                const digits opening = (on - 1) * Shape::span(level) + Shape::until_next(level, here);
                if (opening >= best_)
                    break;
                look_into(Shape::slot(level, here + opening), opening);
            }
            if (best_ <= Shape::until_next(level + 1, here))
                return best_;
        }
        run_far();
        return best_;
    }

    // Looks at the timers of one slot, which opens `opening` ticks after the cursor.
    [[gnu::noinline]] void look_into(unsigned slot, tick opening) {
#if TW_RUNTIME
        if (at_.slots.records.exist())
            look_into_logs(slot, opening);
#endif
        const tw_link &ring = at_.slots.rings[slot];
        for (const tw_link *last = &ring; last->next != &ring && best_ > opening;) {
            if (looks_ == 0) {
                note_unseen();
                consider(attention(slot, opening));
                return;
            }
            tw_node &node = node_of(behind(*last));
            last = &node.link;
            if (is_place(node))
                continue;
            --looks_;
            const tick due_in = at_.distance_to(node.expiry);
            const bool opens_first = has_room && for_opening_ &&
                                     !Shape::is_same_stretch((at_.cursor + due_in) ^ (at_.cursor + opening),
                                                             Shape::level_of_slot(slot), slot);
            consider(opens_first ? opening : due_in, &node);
        }
    }

  private:
#if TW_RUNTIME
    void look_into_logs(unsigned slot, tick opening) {
        const record_logs<Shape> &logs = *at_.slots.records;
        look_into_log(logs, logs.plain[slot], slot, opening);
        if (slot >= Shape::width(0))
            return;
        look_into_log(logs, logs.late[slot], slot, opening);
        if (slot == logs.queue_slot && !logs.queue.is_empty()) {  // nearly all of its entries are due
            note_unseen();
            consider(opening);
        }
    }

    // A slot with entries must open, even if all of them are stale.
    void look_into_log(const record_logs<Shape> &logs, const log &in, unsigned slot, tick opening) {
        for (const log_chunk *chunk = in.head; chunk != nullptr && best_ > opening; chunk = chunk->next)
            for (unsigned i = chunk->first; i != chunk->end && best_ > opening; ++i) {
                const entry &e = chunk->entries[i];
                if (looks_ == 0 || for_opening_) {
                    note_unseen();
                    consider(attention(slot, opening));
                    return;
                }
                --looks_;
                if (e.is_current())
                    consider(at_.distance_to(logs.due_of(*e.record)));
            }
    }
#endif

    // Far slots do not open in the order of their numbers, and the one that opens with the next round may be
    // empty. So this looks into all busy far slots, at most a few dozen.
    void run_far() {
        const unsigned next = at_.next_far();
        look_into(next, at_.next_round() - at_.cursor);
        for (unsigned slot = Shape::near_slots; slot != Shape::slots; ++slot) {
            slot = at_.slots.busy.find(slot, Shape::slots);
            if (slot == Shape::slots)
                return;
            if (slot != next)
                look_into(slot, at_.opening_of_far(slot));
        }
    }

    void consider(tick distance, [[maybe_unused]] tw_node *node = nullptr) {
#if TW_RUNTIME
        if (distance < best_)
            first_ = node;
#endif
        best_ = smaller(best_, distance);
    }

    // The search has not looked at all timers that may be earlier than the best tick.
    void note_unseen() {
#if TW_RUNTIME
        is_exact_ = false;
#endif
    }

    // The distance to the tick at which a slot needs work: look-ahead into it begins, or it opens.
    tick attention(unsigned slot, tick opening) const {
        if (!Shape::ahead || near_lead_ == 0 || slot < Shape::width(0))
            return opening;
        const unsigned level = Shape::level_of_slot(slot);
        return opening -
               smaller<tick>(smaller(at_.lead_into(level, near_lead_), Shape::span(level)), opening);
    }

    tick best_;
#if TW_RUNTIME
    tw_node *first_ = nullptr;  // the node that is due at the best tick; null if no node is
    bool is_exact_ = true;
#endif
    const placement<Shape> &at_;
    std::uint32_t looks_;
    digits near_lead_;
    bool for_opening_ = false;
};

}  // namespace
}  // namespace tickwheel::core

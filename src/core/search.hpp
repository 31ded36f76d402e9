// The search for the earliest tick that matters: at which a slot opens, look-ahead has to begin, or a timer
// is due. Reads only.
#pragma once

#include "placement.hpp"

namespace tickwheel::core {
namespace {

// One search, from the cursor outwards. Distances are counted from the cursor.
//
// A slot says only that its timers are not due before it opens; to tell when they are, the search has to look
// at them. That is worth it for a few timers and too much for many (P8), so the search has a number of looks
// to spend. When they are spent it answers with the opening of the slot, or with the tick at which look-ahead
// into it has to begin: which is never too late, only sometimes too early.
template <class Shape> class search {
    using digits = typename Shape::digits;

  public:
    // `near_lead` is the lead into near slots; 0 if look-ahead does not matter.
    search(const placement<Shape> &at, std::uint32_t looks, digits near_lead, tick limit = never)
        : best_(limit), at_(at), looks_(looks), near_lead_(near_lead) {}

    // From now on the search is for a tick to go to, and no slot with timers in it may be passed over: of one
    // whose nodes were all postponed, or with entries of records, the opening counts.
    void for_opening() { for_opening_ = true; }

    // Whether the answer is the exact tick of a timer.
    bool is_exact() const { return is_exact_; }

    // Walks the levels upwards, behind the cursor's slot, and returns the earliest tick, at most `limit`.
    // Slots of one level open in order, and everything on a higher level opens after the end of the block
    // below it, so the walk ends as soon as the best answer lies before what is left.
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
                is_exact_ = false;
                consider(attention(slot, opening));
                return;
            }
            last = &behind(*last);
            if (is_place(node_of(*last)) || is_seam(node_of(*last)))
                continue;
            --looks_;
            const tick due_in = at_.distance_to(node_of(*last).expiry);
            const bool opens_first = has_room && for_opening_ &&
                                     !Shape::is_same_stretch((at_.cursor + due_in) ^ (at_.cursor + opening),
                                                             Shape::level_with(slot), slot);
            consider(opens_first ? opening : due_in);
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
        if (slot == logs.queue_slot && !logs.queue.is_empty()) {  // nearly all of them are due
            is_exact_ = false;
            consider(opening);
        }
    }

    // A slot with entries must be opened, even if all of them are stale.
    void look_into_log(const record_logs<Shape> &logs, const log &in, unsigned slot, tick opening) {
        for (const log_chunk *chunk = in.head; chunk != nullptr && best_ > opening; chunk = chunk->next)
            for (unsigned i = chunk->first; i != chunk->end && best_ > opening; ++i) {
                const entry &e = chunk->entries[i];
                if (e.is_seam())
                    continue;
                if (looks_ == 0 || for_opening_) {
                    is_exact_ = false;
                    consider(attention(slot, opening));
                    return;
                }
                --looks_;
                if (e.is_current())
                    consider(at_.distance_to(logs.due_of(*e.record)));
            }
    }
#endif

    // Far slots do not open in the order of their numbers, and the one that opens with the next
    // round may be empty; all busy ones are looked at, of which there are at most a few dozen.
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

    void consider(tick distance) { best_ = smaller(best_, distance); }

    // How far away the tick is at which something has to be done about a slot: look-ahead into it begins, or
    // it opens.
    tick attention(unsigned slot, tick opening) const {
        if (!Shape::ahead || near_lead_ == 0 || slot < Shape::width(0))
            return opening;
        const unsigned level = Shape::level_with(slot);
        return opening -
               smaller<tick>(smaller(at_.lead_into(level, near_lead_), Shape::span(level)), opening);
    }

    tick best_;
    const placement<Shape> &at_;
    std::uint32_t looks_;
    digits near_lead_;
    bool is_exact_ = true;
    bool for_opening_ = false;
};

}  // namespace
}  // namespace tickwheel::core

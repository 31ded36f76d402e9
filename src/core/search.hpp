// The search for the earliest tick that matters: the one at which the wheel needs attention, or at which
// the next callback is due. Reads only.
#pragma once

#include <cstdint>

#include "levels.hpp"
#include "time_position.hpp"

namespace tickwheel::core {

template <class G> class wheel;

// One search, from the cursor outwards. Distances are counted from the cursor.
//
// Level 0 gives exact ticks. On a higher level a slot says only that something in it is due after
// the slot opens, and its nodes have to be looked at to tell when. That is worth it for a few nodes
// and too much for many (P8), so the search has a number of looks to spend. When they are spent it
// answers with the opening of the slot, which is never too late, only sometimes too early.
template <class G> class search {
    using digits = typename G::digits;

  public:
    // For the earliest tick that needs attention, below `limit`. `near_lead` is the lead into
    // near slots; 0 if look-ahead does not matter.
    search(const wheel<G> &wheel, std::uint32_t looks, tick limit = never, digits near_lead = 0)
        : wheel_(wheel), best_(limit), looks_(looks), near_lead_(near_lead) {}

    // From now on the search is for callbacks alone: a postponed node counts by the tick that it
    // is due at, and not by the opening of the slot that it has to leave.
    void look_for_fires() { for_fires_ = true; }

    // The answer so far, and whether it is the exact tick of a node.
    tick best() const { return best_; }
    bool is_exact() const { return is_exact_; }

    // Walks the levels upwards and returns the best answer. Slots of one level open in order, and
    // everything on a higher level opens after the end of the block below it, so the walk ends
    // as soon as the best answer lies before what is left.
    tick run() {
        const digits here = wheel_.at_.here();
        for (unsigned level = 0; level <= G::top; ++level) {
            unsigned last = G::width(level) - 1;
            if (level == 0 && best_ < last)
                last = static_cast<unsigned>(best_);
            for (unsigned on = 0; (on = wheel_.slots_.next_busy(level, here, on, last)) != 0;) {
                const digits opening = (on - 1) * G::span(level) + G::until_next(level, here);
                if (opening >= best_)
                    break;
                look_into(level, G::slot(level, here + opening), opening);
            }
            if (best_ <= G::until_next(level + 1, here))
                return best_;
        }
        run_far();
        return best_;
    }

    // Looks at the nodes of one slot, which opens `opening` ticks after the cursor.
    [[gnu::noinline]] void look_into(unsigned level, unsigned slot, tick opening) {
        if (level == 0 && !for_fires_)
            return consider(opening);
        const tw_link &ring = wheel_.slots_.rings[slot];
        for (const tw_link *link = &behind(ring); link != &ring && best_ > opening; link = &behind(*link)) {
            if (is_marker(node_of(*link)))
                continue;
            if (looks_ == 0) {
                is_exact_ = false;
                return consider(opening - smaller<tick>(lead_before_opening(level), opening));
            }
            --looks_;
            const tick due_in = wheel_.at_.distance_to(node_of(*link).expiry);
            const tick difference = (wheel_.at_.cursor + due_in) ^ (wheel_.at_.cursor + opening);
            consider(for_fires_ || wheel_.at_.is_same_stretch(difference, level, slot) ? due_in : opening);
        }
    }

  private:
    // Far slots do not open in the order of their numbers, and the one that opens with the next
    // round may be empty; all busy ones are looked at, of which there are at most a few dozen.
    void run_far() {
        const unsigned next = wheel_.at_.next_far();
        look_into(G::far, next, wheel_.at_.next_round() - wheel_.at_.cursor);
        for (unsigned slot = G::near_slots; slot != G::far_end; ++slot) {
            slot = wheel_.slots_.busy.find(slot, G::far_end);
            if (slot == G::far_end)
                return;
            if (slot != next)
                look_into(G::far, slot, wheel_.at_.opening_of_far(slot));
        }
    }

    void consider(tick distance) { best_ = smaller(best_, distance); }

    digits lead_before_opening(unsigned level) const {
        if (!G::ahead || near_lead_ == 0)
            return 0;
        return smaller(wheel_.lead_into(level, near_lead_), G::span(level));
    }

    const wheel<G> &wheel_;
    tick best_;
    std::uint32_t looks_;
    digits near_lead_;
    bool for_fires_ = false;
    bool is_exact_ = true;
};

}  // namespace tickwheel::core

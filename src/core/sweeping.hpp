// Sweeping the logs of a wheel; see sweep.hpp.
#pragma once

#include "placement.hpp"

#if TW_RUNTIME

namespace tickwheel::core {
namespace {

template <class Shape> class sweeping : public placement<Shape> {
  public:
    record_logs<Shape> &logs() const { return *this->slots.records; }

  protected:
    using placement<Shape>::slots;

    TW_INLINED void sweep_if_crowded() {
        const record_logs<Shape> &all = logs();
        const bool is_crowded = 4 * (all.entries - all.armed) > 3 * all.armed + 2 * all.spare;
        if (unlikely(is_crowded || all.going_round.is_under_way()))
            sweep_some(sweep::share);
    }

    TW_INLINED void pay_for_moves(unsigned moved) {
        if (unlikely(logs().going_round.is_under_way()))
            sweep_some(moved);
    }

    // Looks at so many entries, and at the rest of the last chunk. REQUIRES: every entry is in a log
    [[gnu::noinline]] void sweep_some(unsigned entries) {
        record_logs<Shape> &all = logs();
        sweep &at = all.going_round;
        for (unsigned looks = 0; looks < entries;) {
            if (!at.is_in_log() && !begin_next_log(at))
                return;
            log &in = all.log_at(at.swept());
            looks += at.go_on(all);
            if (in.is_empty())
                note_swept_empty(at.swept(), in);
        }
        if (at.is_in_log()) {
            fetch(*at.at());
            fetch_lines(at.at()->next);
        }
    }

    void note_swept_empty(unsigned number, const log &in) {
        if (logs().queue.owns(in))
            logs().queue.forget_if_empty(in);
        if (number != 0)
            slots.clear_if_empty(logs().slot_at(number));
    }

    // Finds the next log with entries. Returns false if the sweep is over.
    bool begin_next_log(sweep &at) {
        record_logs<Shape> &all = logs();
        for (unsigned i = at.next(); i != all.all_logs; ++i) {
            i = all.skip_to_busy(i, slots.busy);
            if (log &next = all.log_at(i); !next.is_empty()) {
                at.begin(i, next);
                return true;
            }
        }
        at.end();
        return false;
    }
};

}  // namespace
}  // namespace tickwheel::core

#endif

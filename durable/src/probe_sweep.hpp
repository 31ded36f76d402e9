// When and where the membership looks for jobs whose notification was missed: from time to time everywhere,
// also before the time at which its other looks begin.
//
// Such a look meets the rows of ended jobs that the database cannot clear away while another session reads an
// old state, and these may be millions. So if a sweep takes long, the next ones go back from the present to
// the start in pieces that take a short time each; all pieces together take a fiftieth of the time.
#pragma once

#include <algorithm>
#include <cstdint>

#include <tickwheel/durable_store.h>

namespace tickwheel::durable {

class sweep {
  public:
    // The jobs that are ready at `from` or later and before `until`; 0: no end.
    struct piece {
        std::int64_t from, until;
    };

    // The local time at which the next piece is due.
    [[nodiscard]] std::int64_t at() const { return at_; }

    [[nodiscard]] piece next(std::int64_t database_now) const {
        const std::int64_t end = until_ != 0 ? until_ : database_now;
        return {span_ < end ? end - span_ : 0, until_};
    }

    // Notes that the database has looked through a piece, between these local times. A sweep begins at the
    // earliest `pause` after the one before.
    void note(const piece &done, std::int64_t began, std::int64_t ended, std::int64_t pause) {
        const std::int64_t took = ended - began;
        if (done.until == 0)
            begun_at_ = began;
        if (took > slow_ns)
            shrink();
        else
            span_ = longer(span_, took < slow_ns / 8 ? 8 : 2);
        at_ = ended + part_of_time * took;
        until_ = done.from;
        if (until_ != 0)
            return;
        at_ = std::max(at_, begun_at_ + pause);
        if (!was_slow_)
            first_span_ = longer(first_span_, 8);
        was_slow_ = false;
        span_ = first_span_;
    }

    // Notes that the database has refused a piece, perhaps because that would have taken too long.
    void note_failure(std::int64_t began, std::int64_t ended) {
        shrink();
        at_ = ended + part_of_time * (ended - began);
    }

  private:
    // While a piece takes less, no claim is late by more than a tenth of the usual horizon. A busy machine or
    // a distant database rarely needs so long for a piece without such rows.
    static constexpr std::int64_t slow_ns = 200 * TW_MILLISECOND, part_of_time = 49;
    static constexpr std::int64_t first_guess_ns = 16 * TW_SECOND, longest_span_ns = 86400 * TW_SECOND;

    // Beyond the longest span, a piece is the rest.
    static std::int64_t longer(std::int64_t span, std::int64_t times) {
        return span > longest_span_ns ? INT64_MAX : times * span;
    }

    void shrink() {
        span_ = span_ > longest_span_ns ? first_guess_ns : std::max(TW_SECOND, span_ / 4);
        first_span_ = span_;
        was_slow_ = true;
    }

    std::int64_t at_ = 0, begun_at_ = 0;
    std::int64_t until_ = 0;  // where the last piece began; 0: the next piece is the first
    std::int64_t span_ = INT64_MAX,
                 first_span_ = INT64_MAX;  // of the next piece; of the next sweep's first piece
    bool was_slow_ = false;
};

}  // namespace tickwheel::durable

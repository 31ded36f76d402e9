// One life of a wheel of records beside the oracle. A source makes every choice, as in ../model/play.h.
#pragma once

#include "../model/source.h"
#include "model.hpp"

namespace tickwheel::core {

template <class Shape> class record_play {
    using model = record_model<Shape, MODEL_TIMERS>;
    using kind = record_op_kind;

  public:
    static constexpr unsigned origins = 64;

    record_play(model &m, source &s) : m_(m), source_(s) {}

    // Plays from origin number `origin` until so many operations are done, or the source is empty.
    void life(unsigned origin, std::uint64_t operations) {
        const std::uint64_t end = m_.operations + operations;
        m_.open(draw_start(origin % origins));
        for (unsigned i = 0; m_.operations < end && !source_.is_empty(&source_); ++i) {
            if (i % phase == 0)
                new_phase();
            m_.apply(draw_op());
        }
        end_life();
    }

  private:
    static constexpr unsigned phase = 200;          // operations between changes of what is in play
    static constexpr unsigned few = 4;              // records that a jump of any length may leave behind
    static constexpr tick longest = tick{1} << 16;  // jumps with more

    tick draw(tick below) { return source_.draw(&source_, below); }
    bool one_in(tick n) { return draw(n) == n - 1; }

    static tick sum(tick a, tick b) { return b < last_tick - a ? a + b : last_tick; }

    // Next to each carry: just before 2^origin.
    tick draw_start(unsigned origin) {
        const tick before = draw(one_in(4) ? 600 : 3);
        const tick power = tick{1} << origin;
        return power > before ? power - before : power;
    }

    // Some records, more or fewer from phase to phase; and a tick where many of them meet.
    void new_phase() {
        static const unsigned sizes[] = {1, 3, 8, 30, MODEL_TIMERS};
        const unsigned chosen = sizes[draw(5)];
        in_play_ = chosen < MODEL_TIMERS ? chosen : MODEL_TIMERS;
        for (std::uint32_t cell = in_play_; cell < MODEL_TIMERS; ++cell)
            if (m_.is_armed(cell))
                m_.apply({kind::disarm, cell, 0, 0});
        meeting_ = sum(m_.now(), draw_distance());
        if (one_in(3))
            arm_a_crowd();
        if (one_in(3))
            move_a_crowd();
    }

    void arm_a_crowd() {
        const tick length = tick{1} << draw(14);
        for (std::uint32_t cell = 0; cell < in_play_; ++cell)
            if (!m_.is_armed(cell))
                m_.apply({kind::arm, cell, sum(meeting_, draw(length)), 0});
    }

    // To one tick, in an order of its own.
    void move_a_crowd() {
        const tick to = sum(meeting_, draw(300));
        const unsigned step = one_in(2) ? 1 : 7;
        for (unsigned i = 0; i < in_play_; ++i) {
            const auto cell = static_cast<std::uint32_t>(i * step % in_play_);
            if (m_.is_armed(cell))
                m_.apply({kind::move, cell, at_least_offset(to), 0});
        }
    }

    tick draw_distance() {
        switch (draw(6)) {
        case 0:
            return draw(3);
        case 1:
            return draw(20);
        case 2:
            return draw(600);
        case 3:
            return Shape::span(static_cast<unsigned>(draw(Shape::levels))) + draw(5) - 2;
        case 4:
            return draw(tick{2} << draw(20));
        default:
            return draw(tick{2} << draw(63));
        }
    }

    tick at_least_offset(tick t) const { return larger(t, m_.offset()); }

    tick draw_tick() {
        switch (draw(8)) {
        case 0:
        case 1:
            return meeting_;
        case 2:
            return m_.cursor();
        case 3:
            return m_.now() - smaller(m_.now(), draw(10));
        case 4: {
            const auto other = static_cast<std::uint32_t>(draw(in_play_));
            return m_.is_armed(other) ? m_.tick_of(other) : m_.now();
        }
        case 5:
            return sum(m_.now(), draw_distance()) & ~(Shape::span(1) - 1);
        default:
            return sum(m_.now(), draw_distance());
        }
    }

    // Jumps that would open very many slots are shortened.
    tick draw_jump() {
        const tick now = m_.now();
        switch (draw(8)) {
        case 0:
            return now - smaller(now, draw(2));
        case 1:
        case 2:
            return sum(now, draw(3));
        case 3:
            return sum(now, draw(40));
        case 4:
            return larger(m_.next(draw(100)) - 1, now) + draw(2);
        case 5:
            return larger(now, meeting_);
        default:
            return sum(now, draw_distance());
        }
    }
    tick shortened(tick t) {
        t = smaller(t, last_tick);
        return in_play_ <= few ? t : smaller(t, sum(m_.now(), longest));
    }

    record_op draw_op() {
        const auto cell = static_cast<std::uint32_t>(draw(in_play_));
        const bool is_armed = m_.is_armed(cell);
        switch (draw(20)) {
        case 0:
        case 1:
        case 2:
        case 3:
        case 4:
            return {is_armed ? kind::move : kind::arm, cell, at_least_offset(draw_tick()), 0};
        case 5:
        case 6:
            return draw_stop_or_later(cell);
        case 7:
            return {kind::next, 0, 0, draw_lead()};
        case 8: {
            const tick first = draw_tick();
            return {kind::choose, 0, first, sum(first, draw(tick{1} << draw(12)))};
        }
        case 9:
            return {kind::lower, 0, 0, draw_lead()};
        case 10:
        case 11:
            return {kind::quiet, 0, 0, draw_lead()};
        case 12:
            return {kind::pass, 0, shortened(draw_jump()), 0};
        case 13:
            return {one_in(2) ? kind::finish : kind::tell, 0, shortened(draw_jump()), 0};
        case 14:
            return draw_shift();
        case 15:
            return {kind::tell, 0, shortened(draw_jump()), 0};
        case 16:
            return {kind::finish, 0, 0, 0};
        default:
            return {kind::step, 0, 0, 0};
        }
    }

    record_op draw_stop_or_later(std::uint32_t cell) {
        if (!m_.is_armed(cell))
            return {kind::step, 0, 0, 0};
        if (one_in(2))
            return {kind::disarm, cell, 0, 0};
        return {kind::move, cell, sum(m_.tick_of(cell), draw_distance()), 0};
    }

    record_op draw_shift() {
        const tick ticks = one_in(8) ? draw_distance() : draw(20);
        if (!one_in(4) || !m_.can_shift(ticks))
            return {kind::step, 0, 0, 0};
        return {kind::shift, 0, ticks, 0};
    }

    tick draw_lead() { return tick{1} << draw(64); }

    // Nothing is lost: what is left in the near future fires.
    void end_life() {
        m_.apply({kind::finish, 0, 0, 0});
        m_.apply({kind::tell, 0, sum(m_.now(), 3000), 0});
        m_.apply({kind::finish, 0, 0, 0});
    }

    model &m_;
    source &source_;
    unsigned in_play_ = 1;
    tick meeting_ = 0;
};

}  // namespace tickwheel::core

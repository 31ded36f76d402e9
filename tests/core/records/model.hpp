// Makes operations on a wheel of records and on the oracle of the model test (../model/oracle.h) at once.
// After each, what the wheel says is compared with the oracle, and its invariants are checked. The first
// difference ends the program with the last operations in readable form.
//
// An operation is one call of the wheel's, so others come between any two of its steps. The wheel's memory
// has as many chunks as it may need and no more.
#pragma once

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "../model/oracle.h"
#include "core/record_checker.hpp"

namespace tickwheel::core {

enum class record_op_kind { arm, move, disarm, tell, step, finish, pass, lower, quiet, next, choose, shift };

struct record_op {
    record_op_kind kind;
    std::uint32_t cell;
    tick at;    // or how many ticks
    tick lead;  // or the last tick
};

// With so many records, at most MODEL_TIMERS.
template <class Shape, unsigned Records> class record_model {
    struct records;
    using wheel = record_wheel<Shape, records>;
    using result = typename wheel::step_result;

  public:
    // P8: the most records that one call looks at, a step with what it sweeps included.
    static constexpr unsigned most_looks = 48;

    void (*on_failure)() = nullptr;  // may print how to reproduce it
    std::uint64_t operations = 0, fires = 0;

    // Begins a life. No memory is given back, so what is left of the last one does not matter.
    void open(tick now) {
        std::memset(static_cast<void *>(&state_), 0, sizeof state_);
        state_.pool.add(state_.chunks, chunk_count);
        w().init({this}, state_.pool, now);
        oracle_open(&state_.oracle, 1, Records, now);
        oracle_advance_begins(&state_.oracle, 0, now);  // for ever: any step may fire
        check();
    }

    void apply(const record_op &op) {
        history_[operations++ % history] = {op, w().now(), w().due_tick()};
        looks_ = 0;
        call(op);
        require(looks_ <= most_looks || op.kind == record_op_kind::finish,
                "a call has looked at too many records");
        check();
    }

    // What operations are chosen by.
    tick now() { return w().now(); }
    tick cursor() { return w().due_tick(); }
    tick offset() const { return state_.offset; }
    tick earliest() { return oracle_earliest(&state_.oracle, 0); }
    tick next(tick lead) { return w().next(lead); }
    bool has_caught_up() { return w().has_caught_up(); }
    bool is_armed(std::uint32_t cell) const { return state_.oracle.timers[cell].pending; }
    tick tick_of(std::uint32_t cell) const { return state_.oracle.timers[cell].expiry; }
    bool can_shift(tick ticks) const {
        for (unsigned i = 0; i < state_.oracle.count; ++i)
            if (is_armed(i) && ticks > last_tick - tick_of(i))
                return false;
        return ticks <= last_tick - state_.offset;
    }

    // For tests that go back to where they were.
    struct state {
        alignas(wheel) unsigned char storage[sizeof(wheel)];
        chunk_pool pool;
        log_chunk chunks[wheel::chunks_for(Records)];
        timing timings[Records];
        tick offset;
        std::uint64_t order;
        struct oracle oracle;  // last: timers that are not in use are left out
    };
    static constexpr std::size_t in_use = sizeof(state) - (MODEL_TIMERS - Records) * sizeof(oracle_timer);
    void save(state &to) const { std::memcpy(static_cast<void *>(&to), &state_, in_use); }
    void restore(const state &from) { std::memcpy(static_cast<void *>(&state_), &from, in_use); }
    bool is_like(const state &other) const { return std::memcmp(&state_, &other, in_use) == 0; }

    void require(bool holds, const char *what) {
        if (holds)
            return;
        print_history();
        std::fprintf(stderr, "record model: %s\n", what);
        if (on_failure != nullptr)
            on_failure();
        std::abort();
    }

  private:
    struct records {
        record_model *model;

        timing &timing_of(std::uint32_t cell) {
            ++model->looks_;
            return model->state_.timings[cell];
        }
        void prefetch(std::uint32_t cell) {
            model->require(cell < Records, "no such record is to be fetched");
        }
        tick offset() { return model->state_.offset; }
    };
    static constexpr std::size_t chunk_count = wheel::chunks_for(Records);
    static constexpr unsigned few_entries = 32;  // see next()

    wheel &w() { return *std::launder(reinterpret_cast<wheel *>(state_.storage)); }

    // --- the operations ---

    void call(const record_op &op) {
        oracle &o = state_.oracle;
        oracle_timer &timer = o.timers[op.cell];
        timing &it = state_.timings[op.cell];
        switch (op.kind) {
        case record_op_kind::arm:
            w().arm(op.cell, it, op.at - state_.offset, ++state_.order);
            return oracle_arm(&o, 0, &timer, op.at);
        case record_op_kind::move:
            w().move(op.cell, it, op.at - state_.offset, ++state_.order);
            return oracle_move(&o, 0, &timer, op.at);
        case record_op_kind::disarm:
            w().disarm(op.cell, it);
            return oracle_remove(&timer);
        case record_op_kind::tell:
            w().begin_advance(op.at);
            require(w().take_elapsed() == (op.at > o.wheels[0].now ? op.at - o.wheels[0].now : 0),
                    "begin_advance counts other ticks");
            return oracle_advance_begins(&o, 0, larger(op.at, o.wheels[0].now));
        case record_op_kind::step:
            step();
            return;
        case record_op_kind::finish:
            while (step() != result::done)
                check();
            return;
        case record_op_kind::pass:
            return pass(op.at);
        case record_op_kind::lower:
            require(w().lower_some(op.lead) <= 16, "too many entries are lowered at once");
            return;
        case record_op_kind::quiet:
            for (;;) {
                if (w().lower_some(op.lead) == 0)
                    return w().set_quiet(op.lead);
                check();
                looks_ = 0;
            }
        case record_op_kind::next:
            return ask_next(op.lead);
        case record_op_kind::choose:
            return choose(op.at, op.lead);
        case record_op_kind::shift:
            state_.offset += op.at;
            return oracle_shift(&o, 0, op.at);
        }
    }

    result step() {
        oracle &o = state_.oracle;
        looks_ = 0;
        const result said = w().step();
        oracle_learns_cursor(&o, 0, cursor());
        if (said == result::done)
            require(w().has_caught_up() && earliest() > now(), "all is said to be done, but a record is due");
        if (said != result::due)
            return said;
        const std::uint32_t cell = w().take_due();
        require(cell < o.count, "no such record fires");
        require(!is_armed(cell) || o.timers[cell].lo == cursor(),
                "a record fires at another tick than it should");
        const char *const wrong = oracle_fires(&o, 0, &o.timers[cell]);
        require(wrong == nullptr, wrong);
        oracle_callback_ends(&o, 0);
        ++fires;
        require(looks_ <= most_looks, "a step has looked at too many records");
        return said;
    }

    void pass(tick t) {
        const tick before = now();
        if (!w().pass_quietly(t))
            return require(now() == before, "time passes that is not quiet");
        require(t >= before && now() == t, "time passes backwards");
        require(earliest() > t, "a record is due while time passes quietly");
        oracle_advance_begins(&state_.oracle, 0, t);
    }

    void ask_next(tick lead) {
        const tick said = w().next(lead);
        const tick first = earliest() == never ? never : larger(earliest(), now());
        require(said >= now() && said <= first, "next() is too late, or in the past");
        require((said == never) == (first == never), "next() is wrong about whether there is one");
        require(said > now() || !w().pass_quietly(now()), "next() asks for an advance that would do nothing");
        require(!w().has_caught_up() || w().entries() >= few_entries || said == first,
                "next() is not exact though it could be");
    }

    void choose(tick first, tick last) {
        const tick chosen = w().choose(first, last);
        require(chosen == last || (chosen >= first && chosen < last),
                "a tick outside of the range is chosen");
        require(chosen >= now() || chosen == last, "a tick in the past is chosen");
    }

    // --- what holds at any time ---

    void check() {
        oracle_learns_cursor(&state_.oracle, 0, cursor());
        checked_ = this;
        record_checker<wheel>(
            w(), [](const char *broken, const tw_node *, void *) { checked_->require(false, broken); },
            nullptr)
            .run();
        require(now() == state_.oracle.wheels[0].now, "now is wrong");
        require(w().armed() == oracle_pending(&state_.oracle, 0), "armed is wrong");
        require(earliest() >= cursor(), "the cursor has passed a record");
        for (unsigned i = 0; i < state_.oracle.count; ++i)
            require(!is_armed(i) || state_.timings[i].due + state_.offset == tick_of(i),
                    "a deadline is wrong");
    }
    static inline record_model *checked_;

    // --- the history ---

    struct event {
        record_op op;
        tick now, cursor;
    };
    static constexpr unsigned history = 32;

    void print_history() const {
        static const char *const names[] = {"arm",  "move",  "disarm", "tell", "step",   "finish",
                                            "pass", "lower", "quiet",  "next", "choose", "shift"};
        const std::uint64_t first = operations > history ? operations - history : 0;
        for (std::uint64_t i = first; i < operations; ++i) {
            const event &e = history_[i % history];
            std::fprintf(
                stderr, "  %s record %u, %#" PRIx64 ", %#" PRIx64 "; cursor %#" PRIx64 ", now %#" PRIx64 "\n",
                names[static_cast<unsigned>(e.op.kind)], e.op.cell, e.op.at, e.op.lead, e.cursor, e.now);
        }
    }

    event history_[history];
    unsigned looks_ = 0;
    state state_;
};

}  // namespace tickwheel::core

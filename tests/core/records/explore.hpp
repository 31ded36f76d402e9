// Tries every sequence of operations up to a depth on a tiny wheel of records, of two slots a level. The
// wheel, its records, its chunks and the oracle are one object, which is copied before each step and restored
// after it. It stays at its address, so that links stay valid.
//
// A step that changes nothing ends its branch, because the steps after it are also tried without it.
#pragma once

#include <initializer_list>

#include "../model/run.h"
#include "model.hpp"

namespace tickwheel::core {
namespace {

using kind = record_op_kind;

// Ticks count from the wheel's now. An `arm` of a record that is armed moves it.
constexpr record_op steps[] = {
    {kind::arm, 0, 0, 0},   {kind::arm, 0, 1, 0},    {kind::arm, 0, 2, 0},    {kind::arm, 0, 5, 0},
    {kind::arm, 1, 1, 0},   {kind::arm, 1, 2, 0},    {kind::arm, 1, 9, 0},    {kind::arm, 2, 2, 0},
    {kind::arm, 2, 3, 0},   {kind::disarm, 0, 0, 0}, {kind::disarm, 1, 0, 0}, {kind::tell, 0, 1, 0},
    {kind::tell, 0, 4, 0},  {kind::step, 0, 0, 0},   {kind::finish, 0, 0, 0}, {kind::pass, 0, 1, 0},
    {kind::lower, 0, 0, 4}, {kind::quiet, 0, 0, 2},  {kind::next, 0, 0, 1},   {kind::shift, 0, 1, 0},
};

constexpr unsigned depth_max = 10;

template <bool Ahead> record_model<log_shape<1, Ahead>> model;
template <bool Ahead> typename record_model<log_shape<1, Ahead>>::state saved[depth_max];
std::uint64_t sequences;

bool is_with_a_tick(kind k) {
    return k == kind::arm || k == kind::move || k == kind::tell || k == kind::pass;
}

template <class Model> void apply(Model &m, record_op op) {
    if (is_with_a_tick(op.kind))
        op.at += m.now();
    if (op.kind == kind::arm && m.is_armed(op.cell))
        op.kind = kind::move;
    if (op.kind == kind::arm || op.kind == kind::move)
        op.at = larger(op.at, m.offset());
    if (op.kind != kind::disarm || m.is_armed(op.cell))
        m.apply(op);
}

template <bool Ahead> void explore(unsigned depth) {
    auto &before = saved<Ahead>[depth];
    model<Ahead>.save(before);
    for (const record_op &step : steps) {
        apply(model<Ahead>, step);
        ++sequences;
        if (depth > 1 && !model<Ahead>.is_like(before))
            explore<Ahead>(depth - 1);
        model<Ahead>.restore(before);
    }
}

// So many stale entries ahead that the next ones begin a sweep. The tail of a log is not taken back beyond
// the first entry of its chunk, so entries that are not the last of theirs have to go.
template <class Model> void make_stale(Model &m, unsigned count) {
    apply(m, {kind::arm, 0, 7, 0});
    for (unsigned i = 0; i < count; ++i) {
        apply(m, {kind::arm, 1, 7, 0});
        apply(m, {kind::arm, 0, 7, 0});
    }
}

}  // namespace

template <bool Ahead> void explore_all(unsigned depth) {
    sequences = 0;
    for (const tick start : {tick{0}, tick{6}, (tick{1} << 63) - 2}) {
        model<Ahead>.open(start);
        explore<Ahead>(depth);
        model<Ahead>.open(start);
        make_stale(model<Ahead>, 9);
        explore<Ahead>(depth - 1);
    }
    std::printf("%s: %" PRIu64 " sequences of up to %u out of %zu operations\n", Ahead ? "ahead" : "plain",
                sequences, depth, sizeof steps / sizeof *steps);
}

}  // namespace tickwheel::core

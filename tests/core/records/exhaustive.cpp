// Tries every sequence of operations up to a depth on a tiny wheel of records, of two slots a level. The
// wheel, its records, its chunks and the oracle are one object, which is copied before each step and restored
// after it. It stays at its address, so that links stay valid.
//
// A step that changes nothing ends its branch, because the steps after it are also tried without it.
#include <initializer_list>

#include "../model/modes.h"
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

using tiny_model = record_model<log_shape<1>, 3>;
tiny_model model;
tiny_model::state saved[depth_max];
std::uint64_t sequences;

bool is_with_a_tick(kind k) {
    return k == kind::arm || k == kind::move || k == kind::tell || k == kind::pass;
}

void apply(record_op op) {
    if (is_with_a_tick(op.kind))
        op.at += model.now();
    if (op.kind == kind::arm && model.is_armed(op.cell))
        op.kind = kind::move;
    if (op.kind == kind::arm || op.kind == kind::move)
        op.at = larger(op.at, model.offset());
    if (op.kind != kind::disarm || model.is_armed(op.cell))
        model.apply(op);
}

void explore(unsigned depth) {
    tiny_model::state &before = saved[depth];
    model.save(before);
    for (const record_op &step : steps) {
        apply(step);
        ++sequences;
        if (depth > 1 && !model.is_like(before))
            explore(depth - 1);
        model.restore(before);
    }
}

// So many stale entries ahead that the next ones begin a sweep. The tail of a log is not taken back beyond
// the first entry of its chunk, so entries that are not the last of theirs have to go.
void make_stale(unsigned count) {
    apply({kind::arm, 0, 7, 0});
    for (unsigned i = 0; i < count; ++i) {
        apply({kind::arm, 1, 7, 0});
        apply({kind::arm, 0, 7, 0});
    }
}

}  // namespace
}  // namespace tickwheel::core

int exhaustive_main(int argc, char **argv) {
    using namespace tickwheel::core;
    const unsigned depth =
        smaller(read_depth(argc, argv, 5, depth_max - 1), 4u);  // one more takes 15 times as long
    for (const tick start : {tick{0}, tick{6}, (tick{1} << 63) - 2}) {
        model.open(start);
        explore(depth);
        model.open(start);
        make_stale(9);
        explore(depth - 1);
    }
    std::printf("%" PRIu64 " sequences of up to %u out of %zu operations\n", sequences, depth,
                sizeof steps / sizeof *steps);
    return 0;
}

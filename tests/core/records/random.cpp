// Compares random operations on wheels of records, of several shapes, with the oracle. One seed determines a
// run:
//     model_records [--ops N] [--seed S] [--nightly], N for each shape of few slots
#include "../model/random_source.h"
#include "../model/run.h"
#include "play.hpp"

namespace {

using namespace tickwheel::core;

constexpr std::uint64_t life = 1500;  // operations, before everything restarts at the next origin

run arguments;

template <unsigned Bits, bool Ahead> void play_lives() {
    using shape = log_shape<Bits, Ahead>;
    // Each operation looks at all slots: that takes longer where there are many.
    const std::uint64_t operations = Bits > 3 ? arguments.operations / 5 : arguments.operations;
    static record_model<shape> model;
    random_source random = random_source_of(arguments.seed);
    model.on_failure = [] { run_failed(&arguments); };
    record_play<shape> play(model, random.source);
    for (unsigned origin = 0; model.operations < operations; ++origin)
        play.life(origin, smaller(operations - model.operations, life));
    std::printf("%u bits%s: %" PRIu64 " operations, %" PRIu64 " fires\n", Bits, Ahead ? "" : ", plain",
                model.operations, model.fires);
}

}  // namespace

int main(int argc, char **argv) {
    arguments = read_run(argc, argv, 100000);
    play_lives<1, true>();
    play_lives<1, false>();
    play_lives<2, true>();
    play_lives<2, false>();
    play_lives<3, true>();
    play_lives<8, true>();
}

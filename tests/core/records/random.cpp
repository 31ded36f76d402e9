// Compares random operations on a wheel of records with the oracle. One seed determines a run:
//     records_<variant> [--ops N] [--seed S] [--nightly]
#include "../model/random_source.h"
#include "../model/run.h"
#include "play.hpp"

namespace {

using namespace tickwheel::core;
using shape = log_shape<RECORD_BITS, RECORD_AHEAD>;

constexpr std::uint64_t life = 1500;  // operations, before everything restarts at the next origin

run arguments;
record_model<shape> model;

}  // namespace

int main(int argc, char **argv) {
    arguments = read_run(argc, argv);
    random_source random = random_source_of(arguments.seed);
    model.on_failure = [] { run_failed(&arguments); };
    record_play<shape> play(model, random.source);
    for (unsigned origin = 0; model.operations < arguments.operations; ++origin)
        play.life(origin, smaller(arguments.operations - model.operations, life));
    std::printf("%s: passed: %" PRIu64 " operations, %" PRIu64 " fires\n", MODEL_NAME, model.operations,
                model.fires);
}

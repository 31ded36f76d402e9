// Random lives of wheels of records of one shape. Each shape is instantiated in a file of its own, which the
// build writes.
#pragma once

#include "../model/random_source.h"
#include "../model/run.h"
#include "play.hpp"

namespace tickwheel::core {

template <unsigned Bits> void play_lives(const run &arguments) {
    constexpr std::uint64_t life = 1500;  // operations, before everything restarts at the next origin
    using shape = log_shape<Bits>;
    // Each operation looks at all slots: that takes longer where there are many.
    const std::uint64_t operations = Bits > 3 ? arguments.operations / 5 : arguments.operations;
    static record_model<shape, MODEL_TIMERS> model;
    static run failed_run;
    failed_run = arguments;
    random_source random = random_source_of(arguments.seed);
    model.on_failure = [] { run_failed(&failed_run); };
    record_play<shape> play(model, random.source);
    for (unsigned origin = 0; model.operations < operations; ++origin)
        play.life(origin, smaller(operations - model.operations, life));
    std::printf("%u bits: %" PRIu64 " operations, %" PRIu64 " fires\n", Bits, model.operations, model.fires);
}

}  // namespace tickwheel::core

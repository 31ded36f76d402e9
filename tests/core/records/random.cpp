// Compares random operations on wheels of records, of several shapes, with the oracle. One seed determines a
// run:
//     model_records random [--ops N] [--seed S] [--nightly], N for each shape of few slots
#include "../model/modes.h"
#include "lives.hpp"

namespace tickwheel::core {

extern template void play_lives<1>(const run &);
extern template void play_lives<2>(const run &);
extern template void play_lives<8>(const run &);

}  // namespace tickwheel::core

int random_main(int argc, char **argv) {
    using namespace tickwheel::core;
    const run arguments = read_run(argc, argv, 100000);
    play_lives<1>(arguments);
    play_lives<2>(arguments);
    play_lives<8>(arguments);
    return 0;
}

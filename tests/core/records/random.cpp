// Compares random operations on wheels of records, of several shapes, with the oracle. One seed determines a
// run:
//     model_records [--ops N] [--seed S] [--nightly], N for each shape of few slots
#include "lives.hpp"

namespace tickwheel::core {

extern template void play_lives<1, true>(const run &);
extern template void play_lives<1, false>(const run &);
extern template void play_lives<2, true>(const run &);
extern template void play_lives<2, false>(const run &);
extern template void play_lives<3, true>(const run &);
extern template void play_lives<8, true>(const run &);

}  // namespace tickwheel::core

int main(int argc, char **argv) {
    using namespace tickwheel::core;
    const run arguments = read_run(argc, argv, 100000);
    play_lives<1, true>(arguments);
    play_lives<1, false>(arguments);
    play_lives<2, true>(arguments);
    play_lives<2, false>(arguments);
    play_lives<3, true>(arguments);
    play_lives<8, true>(arguments);
}

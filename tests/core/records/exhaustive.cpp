// Tries every sequence of operations on tiny wheels of records, with look-ahead and without; see explore.hpp.
#include "explore.hpp"

namespace tickwheel::core {

extern template void explore_all<true>(unsigned);
extern template void explore_all<false>(unsigned);

}  // namespace tickwheel::core

int main(int argc, char **argv) {
    using namespace tickwheel::core;
    const unsigned depth =
        smaller(read_depth(argc, argv, 5, depth_max - 1), 4u);  // one more takes 15 times as long
    explore_all<true>(depth);
    explore_all<false>(depth);
}

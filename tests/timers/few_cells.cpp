// For p11_used_up_handles: a library with 1,024 blocks of cells instead of four million.
#include "timers/cells.hpp"

[[gnu::constructor]] static void have_few_cells() { tickwheel::timers::end_of_blocks = 1023; }

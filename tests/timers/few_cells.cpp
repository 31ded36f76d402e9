// For p11_used_up_handles: there are 1,024 blocks of cells, and not four million.
#include "timers/cells.hpp"

[[gnu::constructor]] static void have_few_cells() { tickwheel::timers::end_of_blocks = 1023; }

// Prints one line to stderr and aborts, because the wheel is broken. A single write, without stdio or the
// heap, because their memory may be what is broken.
#include <cstdlib>

#include "base/message.hpp"
#include <tickwheel/port.h>

void tw_port_tell(const char *broken, const void *node, unsigned state) {
    tickwheel::base::message said;
    said.add("tickwheel: ");
    if (node != nullptr)
        add_node(said, node, state);
    said.add(broken);
    said.add("\n");
    said.write();
    std::abort();
}

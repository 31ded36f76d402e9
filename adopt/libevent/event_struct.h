/* libevent's event2/event_struct.h, with a node in each event. */
#ifndef TICKWHEEL_ADOPT_EVENT_STRUCT_H
#define TICKWHEEL_ADOPT_EVENT_STRUCT_H

#include <tickwheel/tw.h>

#define ev_timeout_pos \
    ev_timeout_pos; \
    struct tw_node ev_node
#include "event2/event_struct_original.h"
#undef ev_timeout_pos

#endif

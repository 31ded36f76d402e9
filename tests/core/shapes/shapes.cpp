// The functions of tw.h, door.h and records.hpp for wheels of many shapes; see shapes.h.
#include "shape_api.hpp"

namespace {

const shape_api *used = all_shapes[0];

}  // namespace

extern "C" {

const struct shape *shape = all_shapes[0];

bool use_shape(unsigned i) {
    for (unsigned before = 0; before < i; ++before)
        if (all_shapes[before] == nullptr)
            return false;
    if (all_shapes[i] == nullptr)
        return false;
    shape = used = all_shapes[i];
    return true;
}

#define CALL(result, name, parameters, arguments) \
    result tw_##name parameters { return used->name arguments; }
FUNCTIONS_OF_WHEELS(CALL)

int tw_arm_every(tw *w, tw_node *node, tw_tick first, tw_tick period, tw_missed missed, uint32_t fires) {
    return used->arm_every(w, node, first, period, missed, fires);
}

int tw_node_init(tw_node *node, tw_callback *fn, void *arg) { return tickwheel::core::init(node, fn, arg); }
#if !TW_SMALL && TW_TICK_BITS != 32
tw *tw_wheel_of(const tw_node *node) { return node == nullptr ? nullptr : tickwheel::core::wheel_of(*node); }
#endif
#if TW_RUNTIME
#define CALL_FOR_DOOR(result, name, parameters, arguments) \
    result tw_core_##name parameters { return used->door.name arguments; }
FUNCTIONS_OF_DOOR(CALL_FOR_DOOR)

int tw_core_label(tw_node *node, unsigned label) { return tickwheel::core::give_label(node, label); }
int tw_core_is_in_callback(tw *w) { return tickwheel::core::state_in(w).is_in_callback() ? 1 : 0; }
void tw_core_forget_interruption(tw *w) {
    tickwheel::core::forget_interruption(tickwheel::core::state_in(w));
}
void tw_core_share_lock(tw *w, tw *with) { tickwheel::core::share_lock(w, with); }
#endif
}

#if TW_RUNTIME
namespace tickwheel::core {

#define CALL_FOR_RECORDS(result, door, name, parameters, arguments) \
    result door parameters { return used->records.name arguments; }
FUNCTIONS_OF_RECORDS(CALL_FOR_RECORDS)

}  // namespace tickwheel::core
#endif

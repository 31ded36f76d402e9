// The library's types, for the debug information of looked_at: as if the library had been built with debug
// information.
#include "runtime/state.hpp"
#include "timers/record_set.hpp"

#include "core/engine.hpp"

struct tw_timers : tickwheel::timers::timer_set {};

extern "C" {
extern const tw_runtime *tw_type_of_runtime;
extern const tw_timers *tw_type_of_handles;
const tw_runtime *tw_type_of_runtime;
const tw_timers *tw_type_of_handles;
}

__attribute__((used)) static const tickwheel::core::library_wheel *tw_type_of_wheel;
__attribute__((
    used)) static const tickwheel::core::record_logs<tickwheel::core::library_shape> *tw_type_of_logs;
static_assert(sizeof *tw_type_of_logs != 0, "the type is complete");

// The library's types, for the debug information of looked_at: as if the library had been built with it.
#include "runtime/runtime.hpp"
#include "timers/record_set.hpp"

#include "core/locked_wheel.hpp"

struct tw_handles : tickwheel::runtime::record_set {};

extern "C" {
extern const tw_runtime *tw_type_of_runtime;
extern const tw_handles *tw_type_of_handles;
extern const tickwheel::runtime::record_engine *tw_type_of_engine;
extern const tickwheel::core::locked_wheel *tw_type_of_wheel;
const tw_runtime *tw_type_of_runtime;
const tw_handles *tw_type_of_handles;
const tickwheel::runtime::record_engine *tw_type_of_engine;
const tickwheel::core::locked_wheel *tw_type_of_wheel;
}

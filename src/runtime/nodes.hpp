// What others need of the calls on nodes.
#pragma once

#include "runtime.hpp"

namespace tickwheel::runtime {

// Whether tw_runtime_arm would take it.
bool is_valid(const tw_runtime &rt, const tw_when &when);

}  // namespace tickwheel::runtime

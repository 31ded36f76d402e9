// Shows a runtime as lines of text.
#pragma once

#include <string>
#include <vector>

#include "client.hpp"

namespace tickwheel::top {

// The lines for a runtime. Rates and percentiles cover the time between the two samples; if `before` is null,
// percentiles cover the runtime's whole life and rates are 0.
std::vector<std::string> show(const sample &now, const sample *before);

// Cuts a line to at most that many columns.
std::string cut(const std::string &line, std::size_t columns);

}  // namespace tickwheel::top

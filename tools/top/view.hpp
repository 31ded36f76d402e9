// What is shown of a runtime, as lines of text.
#pragma once

#include <string>
#include <vector>

#include "client.hpp"

namespace tickwheel::top {

// The lines for a runtime. Rates and percentiles are of the time between the two samples; of its whole life,
// if there is no earlier one (null).
std::vector<std::string> show(const sample &now, const sample *before);

// A line of at most so many columns.
std::string cut(const std::string &line, std::size_t columns);

}  // namespace tickwheel::top

// The labels of a runtime: names for kinds of timers, each with its own counters. Any thread.
#pragma once

#include "state.hpp"

namespace tickwheel::runtime {

// The number that all further labels share once the others are taken.
inline constexpr unsigned other_labels = TW_LABELS - 1;

// The number of a label; a text that is not known yet becomes a new label. 0 for a null text.
unsigned label_number(tw_runtime &rt, const char *text);

// The text of a number; null if there is none.
const char *label_text(const tw_runtime &rt, unsigned number);

// Labels an idle node. Returns 0 or an error of the wheel.
int label_node(tw_runtime &rt, tw_node *node, const char *text);

// How many fires of timers with this label calls have prevented.
std::uint64_t cancels(tw_runtime &rt, unsigned number);

}  // namespace tickwheel::runtime

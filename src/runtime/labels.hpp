// The labels of a runtime: names of kinds of timers, which counters are kept for. Any thread.
#pragma once

#include "state.hpp"

namespace tickwheel::runtime {

// Timers with a label that there was no number left for.
inline constexpr unsigned other_labels = TW_LABELS - 1;

// The number of a label; of a new one, if the text is not known yet. 0 for a null text.
unsigned label_number(tw_runtime &rt, const char *text);

// The text of a number; null if there is none.
const char *label_text(const tw_runtime &rt, unsigned number);

// Labels an idle node. Returns 0 or an error of the wheel.
int label_node(tw_runtime &rt, tw_node *node, const char *text);

// How many fires of nodes with this label calls have prevented.
std::uint64_t cancels(tw_runtime &rt, unsigned number);

}  // namespace tickwheel::runtime

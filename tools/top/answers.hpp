// Reads a runtime's answers from the text that its server sends (src/observe/inspect_request.hpp). The text
// may be anything: the readers reject all that breaks the protocol, and return nothing that could harm a
// terminal.
#pragma once

#include <tickwheel/observe.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tickwheel::top {

inline constexpr std::size_t longest_answer = 64 << 10;
inline constexpr std::size_t most_rows = 64;  // of labels, and of timers

struct label_row {
    std::optional<std::string> label;  // none: timers without a label
    std::uint64_t fires, cancels, overruns;
    std::int64_t sum_ns, max_ns;  // of callbacks
};

struct timer_row {
    std::int64_t remaining_ns, period_ns;
    std::string kind;
    std::optional<std::string> label;
};

struct stats {
    std::uint64_t pid = 0;
    std::string process, runtime, driver, clock;
    std::uint64_t tick_ns = 0, pending = 0, wakeups = 0;
    tw_histogram ran = {};
    tw_histogram late[TW_LATE_CAUSES] = {};
    std::vector<label_row> labels;
};

// True if `text` is a complete answer, or too long to be one.
bool is_whole(std::string_view text);

// Return nothing if the text is not such an answer.
std::optional<stats> read_stats(std::string_view text);
std::optional<std::vector<timer_row>> read_timers(std::string_view text);

}  // namespace tickwheel::top

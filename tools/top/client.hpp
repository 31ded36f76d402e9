// Finds the runtimes that the user may inspect, and queries them.
#pragma once

#include <string>
#include <vector>

#include "answers.hpp"

namespace tickwheel::top {

// Returns the sockets in the user's folder, lowest process number first, and removes those of dead processes.
// If there is none, stores the reason in `why`.
std::vector<std::string> find_sockets(std::string &why);

// The answers of one runtime.
struct sample {
    std::string socket;
    double at;  // in seconds of the monotonic clock
    stats told;
    std::vector<timer_row> timers;
};

// With more pending timers than this, `ask` queries the next due timers only if the user wants them, because
// the server must visit every timer.
inline constexpr std::uint64_t many_timers = 100'000;

// Queries statistics and timers. Returns false, with the reason in `why`, without a valid answer within two
// seconds.
bool ask(const std::string &socket, unsigned timers, bool even_if_many, sample &to, std::string &why);

}  // namespace tickwheel::top

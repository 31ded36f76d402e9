// Finding the runtimes that may be looked at, and asking them.
#pragma once

#include <string>
#include <vector>

#include "answers.hpp"

namespace tickwheel::top {

// The sockets in the user's folder, oldest process number first; those of dead processes are removed. Empty,
// with the reason in `why`, if there is none.
std::vector<std::string> find_sockets(std::string &why);

// What one runtime has said.
struct sample {
    std::string socket;
    double at;  // in seconds of the monotonic clock
    stats told;
    std::vector<timer_row> timers;
};

// Beyond so many pending timers, the server is asked for those that are due next only if the user wants it:
// it has to look at each.
inline constexpr std::uint64_t many_timers = 100'000;

// Asks for everything. Returns false, with the reason in `why`, if there is no good answer within two
// seconds.
bool ask(const std::string &socket, unsigned timers, bool even_if_many, sample &to, std::string &why);

}  // namespace tickwheel::top

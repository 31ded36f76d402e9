// The requests of clients, for inspect.cpp. The protocol consists of lines of text:
//
//   server  tickwheel 1                when a client connects; the number is the protocol's
//   client  stats
//   server  NAME VALUE...              any number of lines; a client ignores unknown names
//   server  end
//   client  pending 5                  the timers that are due next, at most most_timers
//   server  timer REMAINING_NS PERIOD_NS KIND "label"
//   server  end
//
// Numbers are decimal, texts are JSON strings, `-` means none. The server answers any other request with
// `error` and hangs up.
//
// This file avoids the functions of std::string_view that may throw (substr and functions built on it): in an
// unoptimised build they need the C++ library.
#pragma once

#include <cstddef>
#include <string_view>

namespace tickwheel::observe::inspect {

inline constexpr std::string_view greeting = "tickwheel 1\n";
inline constexpr std::size_t longest_request = 32;  // with its line feed
inline constexpr unsigned most_timers = 64;

struct request {
    enum { incomplete, wrong, stats, pending } what;
    unsigned timers;   // of `pending`
    std::size_t size;  // length of the request in bytes
};

// Reads the first request in the bytes received so far.
constexpr request read_request(std::string_view bytes) {
    const std::size_t end = bytes.find('\n');
    if (end >= longest_request)  // or there is none
        return {bytes.size() < longest_request ? request::incomplete : request::wrong, 0, 0};
    const std::string_view line(bytes.data(), end);
    if (line == "stats")
        return {request::stats, 0, end + 1};
    constexpr std::string_view command = "pending ";
    if (line.size() <= command.size() || line.size() > command.size() + 2 ||
        std::string_view(line.data(), command.size()) != command)
        return {request::wrong, 0, 0};
    unsigned number = 0;
    for (const char digit : std::string_view(line.data() + command.size(), line.size() - command.size())) {
        if (digit < '0' || digit > '9')
            return {request::wrong, 0, 0};
        number = number * 10 + static_cast<unsigned>(digit - '0');
    }
    return {number <= most_timers ? request::pending : request::wrong, number, end + 1};
}

static_assert(read_request("stats\n").what == request::stats);
static_assert(read_request("pending 64\n").timers == 64);
static_assert(read_request("pending 65\n").what == request::wrong);
static_assert(read_request("stat").what == request::incomplete);

}  // namespace tickwheel::observe::inspect

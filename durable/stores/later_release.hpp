// The explanation of -EPROTO for tables of a later release.
#pragma once

#include <cstdint>
#include <string>

namespace tickwheel::durable {

inline std::string later_release(std::int64_t found, std::int64_t newest) {
    return "a later release has changed the tables to version " + std::to_string(found) +
           ", and this one knows version " + std::to_string(newest) +
           ": use the later release, or restore a backup from before";
}

}  // namespace tickwheel::durable

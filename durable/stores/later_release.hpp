// The explanation of -EPROTO for tables of a later release.
#pragma once

#include <cstdint>
#include <string>

namespace tickwheel::durable {

inline std::string later_release(std::int64_t found, std::int64_t newest) {
    return "the tables have version " + std::to_string(found) + ", and this release knows version " +
           std::to_string(newest) + ": use the release that changed them, or restore a backup from before";
}

}  // namespace tickwheel::durable

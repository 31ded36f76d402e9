// Time zones: how far the local clock is ahead of UTC, and when it is set. Read from the tz database of the
// system, files in the format TZif (RFC 9636).
//
// All times are in seconds. `utc` counts from 1970 in UTC. `local` is what the local clock shows, as the
// number of seconds since 1970 if it were a clock of UTC. Zones are right from 1970 to 2200.
//
// When the local clock is set forward some local times never come (a gap); when it is set back some come
// twice. Both cases ask the same of a zone: how far has the local clock come? The furthest
// local time is the latest that it has shown so far. It stands still while the clock shows times for the
// second time, and in a gap it jumps.
//
//     Z1  changes_[0].at == the_beginning, and changes_[i].at rises with i
//     Z2  offsets of neighbours differ
//     Z3  for i > 0, changes_[i].reached == max over j < i of changes_[j + 1].at + changes_[j].offset:
//         one second after the furthest local time before changes_[i]
//
// Threads: const functions can be called from any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "zone_rule.hpp"

namespace tickwheel::calendar {

// A stretch of time in which the local clock is not set: begin <= utc < end.
struct zone_span {
    std::int64_t begin;
    std::int64_t end;
    std::int32_t offset;  // local = utc + offset
};

class zone {
  public:
    // Times before and after all others, far enough from the ends of the type to be added to.
    static constexpr std::int64_t the_beginning = std::numeric_limits<std::int64_t>::min() / 4;
    static constexpr std::int64_t the_end = std::numeric_limits<std::int64_t>::max() / 4;

    static constexpr std::size_t name_max = 64;

    // UTC.
    zone();

    // Loads a zone by its name in the database, "Europe/Berlin", from the folder that $TZDIR names, or else
    // from the usual folders. "UTC" and "Etc/UTC" need no database. Returns 0, or an error and leaves `out`
    // alone.
    //   -EINVAL  the name is malformed, there is no such zone, its file is damaged, or it counts leap seconds
    //            as the files in right/ do
    //   others   the system cannot read files just now: -EMFILE, -ENFILE, -EIO, -ENOMEM
    // Throws std::bad_alloc.
    [[nodiscard]] static int load(const char *name, zone &out);

    // Reads the bytes of a file. Returns 0 or -EINVAL.
    [[nodiscard]] static int parse(std::span<const unsigned char> file, zone &out);

    // The span that a time lies in.
    [[nodiscard]] zone_span at(std::int64_t utc) const;

    // The furthest local time at a time.
    [[nodiscard]] std::int64_t furthest(std::int64_t utc) const;

    // When the furthest local time reaches or passes this one: its only or first occurrence; if it lies in a
    // gap, the first instant after the gap.
    [[nodiscard]] std::int64_t reaches(std::int64_t local) const;

  private:
    struct change {
        std::int64_t at;
        std::int64_t reached;
        std::int32_t offset;
    };

    explicit zone(std::int32_t first_offset);
    void add(const zone_change &next);
    void follow(const zone_rule &rule, std::int64_t last_listed);
    [[nodiscard]] std::size_t index_at(std::int64_t utc) const;

    std::vector<change> changes_;
};

}  // namespace tickwheel::calendar

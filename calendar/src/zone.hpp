// Time zones: how far the local clock is ahead of UTC, and when the local clock is set. The data comes from
// the system's tz database, files in the format TZif (RFC 9636).
//
// All times are in seconds. `utc` counts from 1970 in UTC. `local` is a time that the local clock shows,
// counted as if that clock were one of UTC. Zones are right from 1970 to 2200.
//
// When the local clock is set forward, it skips some local times (a gap); when the clock is set back, it
// shows some local times twice. For both cases a zone knows the furthest local time: the latest local time
// that the clock has shown so far. The furthest local time stands still while the clock shows times for the
// second time, and jumps over a gap.
//
//     Z1  changes_[0].at == the_beginning, and changes_[i].at rises with i
//     Z2  offsets of neighbours differ
//     Z3  for i > 0, changes_[i].reached == max over j < i of changes_[j + 1].at + changes_[j].offset:
//         one second after the furthest local time before changes_[i]
//
// Threads: any thread may call const functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "zone_rule.hpp"

namespace tickwheel::calendar {

// A stretch of time, begin <= utc < end, in which the offset does not change.
struct zone_span {
    std::int64_t begin;
    std::int64_t end;
    std::int32_t offset;  // local = utc + offset
};

class zone {
  public:
    // Times before and after all others. They are far enough from the limits of the type for sums and
    // differences not to overflow.
    static constexpr std::int64_t the_beginning = std::numeric_limits<std::int64_t>::min() / 4;
    static constexpr std::int64_t the_end = std::numeric_limits<std::int64_t>::max() / 4;

    static constexpr std::size_t name_max = 64;

    // UTC.
    zone();

    // Loads a zone by its name in the database, "Europe/Berlin", from the folder that $TZDIR names, or else
    // from the usual folders. "UTC" and "Etc/UTC" need no database. Returns 0; or an error, and leaves `out`
    // unchanged.
    //   -EINVAL  the name is malformed, there is no such zone, its file is damaged, or the file counts leap
    //            seconds, as the files in right/ do
    //   others   the system cannot read the file now: -EMFILE, -ENFILE, -EIO, -ENOMEM
    // Throws std::bad_alloc.
    [[nodiscard]] static int load(const char *name, zone &out);

    // Makes a zone from the bytes of its file. Returns 0; or -EINVAL, and leaves `out` unchanged.
    [[nodiscard]] static int parse(std::span<const unsigned char> file, zone &out);

    // The span that contains the time `utc`.
    [[nodiscard]] zone_span at(std::int64_t utc) const;

    // The furthest local time at the time `utc`.
    [[nodiscard]] std::int64_t furthest(std::int64_t utc) const;

    // The time at which the furthest local time reaches or passes `local`: when the clock shows `local` for
    // the first time; if `local` lies in a gap, the first instant after the gap.
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

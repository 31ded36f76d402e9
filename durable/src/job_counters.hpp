// The counters of one tw_durable. Each counter is exact, but a reader of several may see them at slightly
// different moments.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iterator>

namespace tickwheel::durable {

using counter = std::atomic<std::uint64_t>;

struct job_counters {
    counter claimed{0}, started{0}, unconfirmed{0};
    counter done{0}, again{0}, retried{0}, failed{0}, skipped{0};
    counter taken_back{0};  // held jobs lost before their start: removed, replaced, or the lease ended
    counter unmatched{0};   // answers that the database ignored, for the same reasons
    counter connects{0}, errors{0}, lost_leases{0}, released{0};
    counter late_count{0};
    std::atomic<std::int64_t> late_sum_ns{0}, late_max_ns{0};

    // late_by[i] counts calls that were late by at most late_limits[i], and the last those that were later.
    static constexpr std::int64_t late_limits[] = {1'000'000,       10'000'000,       100'000'000,
                                                   1'000'000'000,   10'000'000'000,   60'000'000'000,
                                                   600'000'000'000, 3'600'000'000'000};
    counter late_by[std::size(late_limits) + 1] = {};

    void add_late(std::int64_t late_ns) {
        ++late_count;
        const auto *const limit = std::lower_bound(std::begin(late_limits), std::end(late_limits), late_ns);
        ++late_by[limit - std::begin(late_limits)];
        late_sum_ns += late_ns;
        for (std::int64_t most = late_max_ns;
             late_ns > most && !late_max_ns.compare_exchange_weak(most, late_ns);) {
        }
    }
};

}  // namespace tickwheel::durable

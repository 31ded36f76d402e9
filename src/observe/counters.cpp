// A runtime's counts and measurements, by label and in total. Any thread.
#include "counters.hpp"

#include "runtime/labels.hpp"
#include "runtime/wall.hpp"

using namespace tickwheel;
using namespace tickwheel::observe;

namespace {

template <class Writing>
void add_to(tw_label_counts &total, const runtime::callback_counts<Writing> &counts, unsigned label) {
    const auto &of_label = counts.labels[label];
    total.fires += of_label.fires.load(std::memory_order_relaxed);
    total.overruns += of_label.overruns.load(std::memory_order_relaxed);
    total.callback_sum_ns += of_label.sum.load(std::memory_order_relaxed);
    const std::int64_t longest = of_label.max.load(std::memory_order_relaxed);
    total.callback_max_ns = longest > total.callback_max_ns ? longest : total.callback_max_ns;
}

template <class Writing> void add_to(tw_histogram &total, const runtime::callback_counts<Writing> &counts) {
    counts.durations.add_to(total);
    for (const auto &of_label : counts.labels) {
        total.sum_ns += of_label.sum.load(std::memory_order_relaxed);
        const std::int64_t longest = of_label.max.load(std::memory_order_relaxed);
        total.max_ns = longest > total.max_ns ? longest : total.max_ns;
    }
}

tw_label_counts counts_of(tw_runtime &rt, unsigned label) {
    tw_label_counts counts = {};
    counts.label = runtime::label_text(rt, label);
    counts.cancels = runtime::cancels(rt, label);
    add_to(counts, rt.meter.counts, label);
    add_to(counts, rt.on_workers, label);
    return counts;
}

}  // namespace

TW_API int tw_runtime_label(tw_runtime *rt, tw_node *node, const char *label) {
    if (const int error = runtime::check_usable(rt); error != 0)
        return error;
    const int result = runtime::label_node(*rt, node, label);
    return result == -EBUSY ? runtime::refuse(-EBUSY, "the node is pending")
                            : runtime::explain_wheel_error(result);
}

// If there are more labels than numbers, the last row is for all labels without a number of their own.
TW_API int tw_runtime_labels(tw_runtime *rt, tw_label_counts *counts, size_t room) {
    if (const int error = runtime::check_usable(rt); error != 0)
        return error;
    if (counts == nullptr && room != 0)
        return runtime::refuse(-EINVAL, "counts is null");
    const unsigned known = rt->label_count.load(std::memory_order_acquire);
    unsigned rows = 0;
    for (unsigned label = 0; label < TW_LABELS; ++label) {
        if (label > known && (label != runtime::other_labels || known != runtime::other_labels - 1))
            continue;
        if (rows < room)
            counts[rows] = counts_of(*rt, label);
        ++rows;
    }
    return static_cast<int>(rows);
}

TW_API int64_t tw_bucket_limit(unsigned bucket) { return runtime::limit_of_bucket(bucket); }

TW_API int64_t tw_histogram_quantile(const tw_histogram *histogram, double share) {
    if (histogram == nullptr)
        return 0;
    std::uint64_t total = 0;
    for (const std::uint64_t count : histogram->counts)
        total += count;
    const double rank = share * static_cast<double>(total);
    std::uint64_t seen = 0;
    for (unsigned bucket = 0; bucket < TW_BUCKETS; ++bucket) {
        seen += histogram->counts[bucket];
        if (seen == 0 || static_cast<double>(seen) < rank)
            continue;
        const std::int64_t limit = runtime::limit_of_bucket(bucket);
        return limit < histogram->max_ns ? limit : histogram->max_ns;
    }
    return histogram->max_ns;
}

tw_stats observe::stats_of(const tw_runtime &rt) {
    tw_stats stats = {};
    const runtime::runtime_counters &counters = rt.counters;
    stats.wakeups = counters.wakeups;
    stats.wakes = counters.wakes;
    stats.timed = counters.waking.times;
    stats.late_sum_ns = counters.waking.sum;
    stats.late_max_ns = counters.waking.max;
    stats.held_up = counters.held_up.times;
    stats.held_up_sum_ns = counters.held_up.sum;
    stats.held_up_max_ns = counters.held_up.max;
    stats.clock_sets = rt.absolute->times_set_back;
    stats.wait_errors = counters.wait_errors;
    add_to(stats.callbacks, rt.meter.counts);
    add_to(stats.callbacks, rt.on_workers);
    for (unsigned cause = 0; cause < TW_LATE_CAUSES; ++cause)
        rt.meter.late[cause].add_to(stats.late[cause]);
    return stats;
}

TW_API int tw_runtime_stats(tw_runtime *rt, tw_stats *stats) {
    runtime::registry::check_runtime(rt, __builtin_return_address(0));
    if (const int error = runtime::check_usable(rt); error != 0)
        return error;
    if (stats == nullptr)
        return runtime::refuse(-EINVAL, "stats is null");
    *stats = stats_of(*rt);
    return 0;
}

// Describes a runtime as text for humans. Any thread.
#include <cinttypes>

#include <tickwheel/keyed.h>

#include "counters.hpp"
#include "writing.hpp"

using namespace tickwheel;
using namespace tickwheel::observe;

namespace {

const char *name_of(tw_clock clock) {
    switch (clock) {
    case TW_CLOCK_BOOT:
        return "boot time";
    case TW_CLOCK_WALL:
        return "wall clock";
    case TW_CLOCK_VIRTUAL:
        return "virtual time";
    default:
        return "monotonic clock";
    }
}

void dump_head(tw_runtime &rt, const tw_stats &stats, text_out &out) {
    out.print("runtime \"%s\": driver %s, %s at %" PRId64 " ns, ticks of %s\n", rt.thread_name,
              rt.driver->name, name_of(rt.clock), tw_runtime_now(&rt),
              short_duration(static_cast<std::int64_t>(rt.steady.unit.ns)).text);
    out.print("%zu timers pending; woke up %" PRIu64 " times, woken by calls %" PRIu64 " times\n",
              tw_runtime_count(&rt), stats.wakeups, stats.wakes);
    if (stats.clock_sets != 0 || stats.wait_errors != 0)
        out.print("the clock was set back %" PRIu64 " times; the driver could not wait %" PRIu64 " times\n",
                  stats.clock_sets, stats.wait_errors);
}

void dump_histogram(const char *name, const tw_histogram &histogram, text_out &out) {
    std::uint64_t total = 0;
    for (const std::uint64_t count : histogram.counts)
        total += count;
    if (total == 0)
        return;
    out.print("%-24s %10" PRIu64 " %9s %9s %9s %9s\n", name, total,
              short_duration(tw_histogram_quantile(&histogram, 0.5)).text,
              short_duration(tw_histogram_quantile(&histogram, 0.99)).text,
              short_duration(histogram.max_ns).text,
              short_duration(histogram.sum_ns / static_cast<std::int64_t>(total)).text);
}

void dump_histograms(const tw_stats &stats, text_out &out) {
    out.print("\n%-24s %10s %9s %9s %9s %9s\n", "", "times", "p50", "p99", "longest", "mean");
    dump_histogram("callbacks ran for", stats.callbacks, out);
    dump_histogram("late, woken late", stats.late[TW_LATE_WAKING], out);
    dump_histogram("late, by callbacks", stats.late[TW_LATE_CALLBACKS], out);
    dump_histogram("late, by the budget", stats.late[TW_LATE_BUDGET], out);
}

void dump_label(const tw_label_counts &counts, text_out &out) {
    if (counts.fires == 0 && counts.cancels == 0)
        return;
    out.print("%-24.64s %10" PRIu64 " %9" PRIu64 " %9" PRIu64 " %9s %9s\n",
              counts.label != nullptr ? counts.label : "(none)", counts.fires, counts.cancels,
              counts.overruns, short_duration(counts.callback_max_ns).text,
              short_duration(counts.callback_sum_ns).text);
}

void dump_labels(tw_runtime &rt, text_out &out) {
    tw_label_counts counts[TW_LABELS];
    const int rows = tw_runtime_labels(&rt, counts, TW_LABELS);
    out.print("\n%-24s %10s %9s %9s %9s %9s\n", "label", "fires", "cancels", "overruns", "longest", "in all");
    for (int row = 0; row < rows; ++row)
        dump_label(counts[row], out);
}

// Prints `left` more pending timers, and counts the rest in `omitted`.
struct listing {
    text_out &out;
    std::size_t left;
    std::size_t omitted;
};

void print_name(const tw_entry &timer, text_out &out) {
    if (timer.node != nullptr)
        out.print("node %p\n", static_cast<const void *>(timer.node));
    else if (timer.key == nullptr)
        out.print("handle %#" PRIx64 "\n", timer.handle);
    else if (timer.key->is_number != 0)
        out.print("key %" PRIu64 "\n", timer.key->number);
    else
        out.print("key of %zu bytes\n", timer.key->size);
}

int dump_timer(const tw_entry *timer, void *arg) {
    listing &list = *static_cast<listing *>(arg);
    if (list.left == 0) {
        ++list.omitted;
        return 0;
    }
    --list.left;
    list.out.print("%-12s %-12s %-24.64s ",
                   timer->remaining_ns == TW_NO_DEADLINE ? "never" : short_duration(timer->remaining_ns).text,
                   timer->period_ns == 0 ? "once" : short_duration(timer->period_ns).text,
                   timer->label != nullptr ? timer->label : "(none)");
    print_name(*timer, list.out);
    return 0;
}

void dump_pending(tw_runtime &rt, std::size_t timers, text_out &out) {
    if (timers == 0)
        return;
    out.print("\n%-12s %-12s %-24s %s\n", "due in", "every", "label", "timer");
    listing list = {out, timers, 0};
    tw_runtime_each(&rt, dump_timer, &list);
    if (list.omitted != 0)
        out.print("and %zu more\n", list.omitted);
}

}  // namespace

TW_API int tw_runtime_dump(tw_runtime *rt, size_t timers, tw_text *write, void *arg) {
    return write_text(rt, write, arg, [&](text_out &out) {
        const tw_stats stats = stats_of(*rt);
        dump_head(*rt, stats, out);
        dump_histograms(stats, out);
        dump_labels(*rt, out);
        dump_pending(*rt, timers, out);
        return 0;
    });
}
